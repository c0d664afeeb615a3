// WorkerPool: the ranges tile 0..count-1 exactly once, results do not depend on the number of workers, effects are
// visible to the caller, sleepers wake; the file also runs under ThreadSanitizer.
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <chrono>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <memory>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "almond/base/check.hpp"
#include "almond/base/parallel.hpp"

namespace almond {
namespace {

TEST(WorkerPool, RangesTileTheIndicesOnceAndInOrder) {
  for (int workers : {1, 2, 3, 8}) {
    WorkerPool pool(workers);
    EXPECT_EQ(pool.num_workers(), workers);
    for (int count : {1, 2, 3, 7, 8, 9, 1000}) {
      std::vector<int> owner(static_cast<std::size_t>(count), -1);
      std::vector<int> visits(static_cast<std::size_t>(count), 0);
      pool.for_ranges(count, [&](int begin, int end, int worker) {
        for (int i = begin; i < end; ++i) {
          owner[static_cast<std::size_t>(i)] = worker;
          ++visits[static_cast<std::size_t>(i)];
        }
      });
      for (int i = 0; i < count; ++i) {
        EXPECT_EQ(visits[static_cast<std::size_t>(i)], 1) << "index " << i << " of " << count;
        const int before = i > 0 ? owner[static_cast<std::size_t>(i - 1)] : 0;
        EXPECT_LE(before, owner[static_cast<std::size_t>(i)]);
      }
    }
  }
}

TEST(WorkerPool, PartitionIsFixedBalancedAndSafeForLargeCounts) {
  constexpr int kLarge = 2'000'000'000;
  for (int workers : {1, 3, 256}) {
    EXPECT_EQ(WorkerPool::range_begin(kLarge, 0, workers), 0);
    EXPECT_EQ(WorkerPool::range_begin(kLarge, workers, workers), kLarge);
    for (int w = 0; w < workers; ++w) {
      const int size = WorkerPool::range_begin(kLarge, w + 1, workers) - WorkerPool::range_begin(kLarge, w, workers);
      EXPECT_NEAR(size, kLarge / workers, 1);
    }
  }
}

TEST(WorkerPool, NothingToDoCallsNobody) {
  WorkerPool pool(3);
  std::atomic<int> calls{0};
  pool.for_ranges(0, [&](int, int, int) { ++calls; });
  pool.for_ranges(-5, [&](int, int, int) { ++calls; });
  EXPECT_EQ(calls, 0);
}

// Two barriers per iteration as in SubADMM: gather from neighbours, then update; a missed barrier changes the bits.
std::vector<double> relax_ring(int workers, int size, int iterations) {
  WorkerPool pool(workers);
  std::vector<double> x(static_cast<std::size_t>(size)), y(x.size());
  for (int i = 0; i < size; ++i) x[static_cast<std::size_t>(i)] = std::sin(0.1 * i);
  for (int k = 0; k < iterations; ++k) {
    pool.for_ranges(size, [&](int begin, int end, int) {
      for (int i = begin; i < end; ++i) {
        const auto at = [&](int j) { return x[static_cast<std::size_t>((j + size) % size)]; };
        y[static_cast<std::size_t>(i)] = 0.3 * at(i - 1) + 0.4 * at(i) + 0.3 * std::cos(at(i + 1));
      }
    });
    pool.for_ranges(size, [&](int begin, int end, int) {
      for (int i = begin; i < end; ++i) x[static_cast<std::size_t>(i)] = y[static_cast<std::size_t>(i)];
    });
  }
  return x;
}

TEST(WorkerPool, ResultIsBitwiseTheSameForAnyNumberOfWorkers) {
  const std::vector<double> serial = relax_ring(1, 101, 300);
  for (int workers : {2, 3, 5}) {
    const std::vector<double> parallel = relax_ring(workers, 101, 300);
    EXPECT_EQ(std::memcmp(serial.data(), parallel.data(), serial.size() * sizeof(double)), 0) << workers << " workers";
  }
}

TEST(WorkerPool, WakesWorkersThatFellAsleep) {
  WorkerPool pool(2);
  std::array<int, 2> hits{};
  for (int k = 0; k < 5; ++k) {
    std::this_thread::sleep_for(std::chrono::milliseconds(5));  // far beyond the spinning
    pool.for_ranges(2, [&](int begin, int, int worker) {
      EXPECT_EQ(begin, worker);
      ++hits[static_cast<std::size_t>(worker)];
    });
  }
  EXPECT_EQ(hits[0], 5);
  EXPECT_EQ(hits[1], 5);
}

TEST(WorkerPool, CallerWaitsForASlowWorker) {
  WorkerPool pool(2);
  int slow = 0;
  pool.for_ranges(2, [&](int, int, int worker) {
    if (worker == 1) {
      std::this_thread::sleep_for(std::chrono::milliseconds(5));
      slow = 1;
    }
  });
  EXPECT_EQ(slow, 1);
}

TEST(WorkerPool, ConstAndMoveOnlyBodiesWork) {
  WorkerPool pool(2);
  std::vector<int> x(10, 0);
  const auto body = [&x](int begin, int end, int) {
    for (int i = begin; i < end; ++i) x[static_cast<std::size_t>(i)] = i;
  };
  pool.for_ranges(10, body);
  EXPECT_EQ(x[9], 9);
  auto value = std::make_unique<int>(7);
  pool.for_ranges(10, [v = std::move(value), &x](int begin, int end, int) {
    for (int i = begin; i < end; ++i) x[static_cast<std::size_t>(i)] = *v;
  });
  EXPECT_EQ(x[0], 7);
  EXPECT_EQ(x[9], 7);
}

TEST(WorkerPool, ManyShortLivedPools) {
  for (int k = 0; k < 50; ++k) {
    WorkerPool pool(3);
    std::array<int, 3> x{};
    if (k % 2 == 0) pool.for_ranges(3, [&](int begin, int, int) { x[static_cast<std::size_t>(begin)] = 1; });
    EXPECT_EQ(x[0] + x[1] + x[2], k % 2 == 0 ? 3 : 0);
  }
}

// Sanitizers take none of their own locks while a process forks (GCC 12), so that a child may wait for one for ever,
// and ThreadSanitizer lets no such child start threads.
#if !defined(__SANITIZE_THREAD__) && !defined(__SANITIZE_ADDRESS__)
TEST(WorkerPool, WorksInAForkedChildAndInItsParentAfterwards) {
  const auto runs = [](WorkerPool& pool) {
    std::array<int, 12> x{};
    for (int round = 0; round < 3; ++round)
      pool.for_ranges(12, [&](int begin, int end, int worker) {
        for (int i = begin; i < end; ++i) x[static_cast<std::size_t>(i)] += 1 + worker;
      });
    for (int i = 0; i < 12; ++i)
      if (x[static_cast<std::size_t>(i)] != 3 * (1 + i / 4)) return false;
    return true;
  };
  auto pool = std::make_unique<WorkerPool>(3), idle = std::make_unique<WorkerPool>(3);  // not used by the child
  EXPECT_TRUE(runs(*pool) && runs(*idle));
  const pid_t child = fork();
  ASSERT_GE(child, 0);
  if (child == 0) {
    alarm(60);  // ends one that hangs
    const bool fine = runs(*pool);
    pool.reset();
    idle.reset();
    WorkerPool fresh(3);
    _exit(fine && runs(fresh) ? 0 : 1);
  }
  int status = -1;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_TRUE(WIFEXITED(status)) << "ended by signal " << WTERMSIG(status);
  EXPECT_EQ(WEXITSTATUS(status), 0);
  EXPECT_TRUE(runs(*pool));
}
#endif

TEST(WorkerPool, RejectsBadWorkerCounts) {
  for (int workers : {0, -1, WorkerPool::kMaxWorkers + 1}) {
    try {
      WorkerPool pool(workers);
      FAIL() << workers << " workers accepted";
    } catch (const Error& error) {
      EXPECT_EQ(std::string(error.what()), "WorkerPool: workers is " + std::to_string(workers) + ", expected 1..256");
    }
  }
}

TEST(UsableCpus, IsAtLeastOneAndAtMostWhatTheMachineHas) {
  EXPECT_GE(num_usable_cpus(), 1);
  EXPECT_LE(num_usable_cpus(), 4096);
}

}  // namespace
}  // namespace almond
