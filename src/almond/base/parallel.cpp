#include "almond/base/parallel.hpp"

#include <pthread.h>
#include <sched.h>

#include <algorithm>
#include <chrono>
#include <string>

#include "almond/base/check.hpp"

namespace almond {
namespace {

// Polling must outlast a wake-up by the kernel (about 100 us in a virtual machine): otherwise, once one side has slept,
// the other falls asleep while waiting for it, and every later call pays for two wake-ups.
constexpr std::chrono::microseconds kSpinTime{400};
constexpr int kPollsPerClock = 64;

void relax_cpu() {
#if defined(__x86_64__) || defined(__i386__)
  __builtin_ia32_pause();
#elif defined(__aarch64__)
  asm volatile("yield");
#endif
}

/// Returns the value of `word` once it differs from `old`.
std::uint32_t wait_for_change(const std::atomic<std::uint32_t>& word, std::uint32_t old, bool spin) {
  using Clock = std::chrono::steady_clock;
  for (const Clock::time_point end = Clock::now() + kSpinTime; spin; spin = Clock::now() < end) {
    for (int i = 0; i < kPollsPerClock; ++i) {
      const std::uint32_t value = word.load(std::memory_order_acquire);
      if (value != old) return value;
      relax_cpu();
    }
  }
  word.wait(old, std::memory_order_acquire);
  return word.load(std::memory_order_acquire);
}

std::atomic<std::uint32_t> num_forks{0};

/// Counts what a process has lost its threads by, without a system call in every run.
void watch_forks() {
  [[maybe_unused]] static const int watching =
      pthread_atfork(nullptr, nullptr, [] { num_forks.fetch_add(1, std::memory_order_relaxed); });
}

int checked_workers(int workers) {
  require(
      workers >= 1 && workers <= WorkerPool::kMaxWorkers,
      "WorkerPool: workers is " + std::to_string(workers) + ", expected 1.." + std::to_string(WorkerPool::kMaxWorkers));
  return workers;
}

}  // namespace

WorkerPool::WorkerPool(int workers)
    : num_workers_(checked_workers(workers)), spin_(workers > 1 && workers <= num_usable_cpus()) {
  watch_forks();
  start_threads();
}

void WorkerPool::start_threads() {
  forks_ = num_forks.load(std::memory_order_relaxed);
  threads_.reserve(static_cast<std::size_t>(num_workers_ - 1));
  const std::uint32_t now = generation_.load(std::memory_order_relaxed);
  for (int worker = 1; worker < num_workers_; ++worker)
    threads_.emplace_back([this, worker, now] { worker_loop(worker, now); });
}

void WorkerPool::forget_lost_threads() {
  if (forks_ == num_forks.load(std::memory_order_relaxed)) return;
  new std::vector<std::thread>(std::move(threads_));  // they cannot be joined, and a std::thread that was not aborts
  threads_.clear();
  pending_.store(0, std::memory_order_relaxed);
}

WorkerPool::~WorkerPool() {
  forget_lost_threads();
  stop_.store(true, std::memory_order_relaxed);  // published by the release below
  generation_.fetch_add(1, std::memory_order_release);
  generation_.notify_all();
  for (std::thread& thread : threads_) thread.join();
}

void WorkerPool::run(int count, Call call, void* body) {
  forget_lost_threads();
  if (threads_.empty()) start_threads();
  ALMOND_ASSERT(pending_.load() == 0);  // not reentrant
  count_ = count;
  call_ = call;
  body_ = body;
  pending_.store(static_cast<std::uint32_t>(num_workers_ - 1), std::memory_order_relaxed);
  generation_.fetch_add(1, std::memory_order_release);
  generation_.notify_all();

  run_own_range(0);

  for (std::uint32_t pending = pending_.load(std::memory_order_acquire); pending != 0;)
    pending = wait_for_change(pending_, pending, spin_);
}

void WorkerPool::run_own_range(int worker) const {
  const int begin = range_begin(count_, worker, num_workers_);
  const int end = range_begin(count_, worker + 1, num_workers_);
  if (begin < end) call_(body_, begin, end, worker);
}

void WorkerPool::worker_loop(int worker, std::uint32_t seen) {
  while (true) {
    seen = wait_for_change(generation_, seen, spin_);
    if (stop_.load(std::memory_order_relaxed)) return;
    run_own_range(worker);
    if (pending_.fetch_sub(1, std::memory_order_release) == 1) pending_.notify_one();
  }
}

int num_usable_cpus() {
  cpu_set_t set;
  CPU_ZERO(&set);
  if (sched_getaffinity(0, sizeof set, &set) == 0) return std::max(1, CPU_COUNT(&set));
  return std::max(1, static_cast<int>(std::thread::hardware_concurrency()));
}

}  // namespace almond
