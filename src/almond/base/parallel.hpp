#pragma once
// WorkerPool: fork-join over a fixed partition of 0..count-1.
//
// The solvers have two barriers per iteration with a few microseconds of work between them, so a call must cost little:
// no allocation, no queue, no stealing. Worker w of W owns the contiguous range [count w / W, count (w+1) / W), always.
// A loop whose body writes only what belongs to its own index therefore gives bitwise the same result for any W; sums
// over all indices are left to the caller, serially.
//
//   caller    task_ = f; ++generation_  ──>  own range  ──>  wait until pending_ == 0
//   worker    wait for generation_      ──>  own range  ──>  --pending_
//
// Waiting means polling for a fraction of a millisecond, then sleeping in the kernel: an idle pool costs nothing.
// After fork() the child has the pool without its threads; the first call there starts new ones.

#include <atomic>
#include <cstdint>
#include <memory>
#include <thread>
#include <type_traits>
#include <vector>

namespace almond {

class WorkerPool {
 public:
  static constexpr int kMaxWorkers = 256;

  /// workers - 1 threads are started; the caller of for_ranges is worker 0. Throws Error outside 1..kMaxWorkers.
  explicit WorkerPool(int workers);
  ~WorkerPool();
  WorkerPool(const WorkerPool&) = delete;
  WorkerPool& operator=(const WorkerPool&) = delete;

  [[nodiscard]] int num_workers() const { return num_workers_; }

  /// First index of worker's range.
  [[nodiscard]] static int range_begin(int count, int worker, int workers) {
    return static_cast<int>(static_cast<std::int64_t>(count) * worker / workers);
  }

  /// Calls f(begin, end, worker) once per worker whose range is not empty and returns when all have finished. What f
  /// wrote is visible to the caller afterwards. f must not throw and must not call for_ranges of the same pool.
  template <class F>
  void for_ranges(int count, F&& f) {
    if (count <= 0) return;
    if (num_workers_ == 1 || count == 1) {
      f(0, count, 0);
      return;
    }
    using Body = std::remove_reference_t<F>;
    run(
        count, [](void* body, int begin, int end, int worker) { (*static_cast<Body*>(body))(begin, end, worker); },
        const_cast<void*>(static_cast<const void*>(std::addressof(f))));
  }

 private:
  using Call = void (*)(void* body, int begin, int end, int worker);

  void start_threads();
  void forget_lost_threads();
  void run(int count, Call call, void* body);
  void run_own_range(int worker) const;
  void worker_loop(int worker, std::uint32_t seen);

  const int num_workers_;
  const bool spin_;  // poll before sleeping; not where there are more workers than CPUs

  // The task, written by the caller before generation_ changes.
  int count_ = 0;
  Call call_ = nullptr;
  void* body_ = nullptr;

  alignas(64) std::atomic<std::uint32_t> generation_{0};
  alignas(64) std::atomic<std::uint32_t> pending_{0};
  alignas(64) std::atomic<bool> stop_{false};
  std::vector<std::thread> threads_;
  std::uint32_t forks_ = 0;  // how often this process had been forked when the threads were started
};

/// Workers that make sense here: the number of CPUs this process may use, at least 1.
[[nodiscard]] int num_usable_cpus();

}  // namespace almond
