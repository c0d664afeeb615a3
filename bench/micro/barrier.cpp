// What one fork-join costs: WorkerPool against OpenMP, empty and with a few microseconds of work per worker, the size
// of the loops between two barriers of SubADMM. Prints minimum and median over batches, in microseconds per call.
//
//   cmake --build build --target micro_barrier && build/bench/micro_barrier [WORKERS...]

#include <omp.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <vector>

#include "almond/base/parallel.hpp"
#include "almond/base/timer.hpp"

namespace {

constexpr int kBatches = 101;
constexpr int kCallsPerBatch = 200;

struct Cost {
  double min_us, median_us;
};

template <class F>
Cost measure(F&& call) {
  std::vector<double> us;
  for (int batch = 0; batch < kBatches; ++batch) {
    const almond::Stopwatch watch;
    for (int k = 0; k < kCallsPerBatch; ++k) call();
    us.push_back(1e3 * watch.elapsed_ms() / kCallsPerBatch);
  }
  std::sort(us.begin(), us.end());
  return {us.front(), us[us.size() / 2]};
}

void work(std::vector<double>& x, int begin, int end) {
  for (int i = begin; i < end; ++i) {
    double& y = x[static_cast<std::size_t>(i)];
    y = 0.5 * y + 1.0 / (1.0 + y * y);
  }
}

}  // namespace

int main(int argc, char** argv) {
  std::vector<int> list;
  for (int i = 1; i < argc; ++i) list.push_back(std::atoi(argv[i]));
  if (list.empty()) list = {1, 2};
  std::printf("usable CPUs: %d; microseconds per call, minimum / median of %d batches\n", almond::num_usable_cpus(),
              kBatches);
  std::printf("%8s %8s  %18s  %18s\n", "workers", "items", "WorkerPool", "OpenMP");
  for (const int workers : list) {
    for (const int items : {workers, 1000, 10000}) {
      std::vector<double> x(static_cast<std::size_t>(items), 1.0);
      Cost pool_cost{};
      {
        almond::WorkerPool pool(workers);
        pool_cost = measure([&] { pool.for_ranges(items, [&](int begin, int end, int) { work(x, begin, end); }); });
      }
      const Cost omp_cost = measure([&] {
#pragma omp parallel num_threads(workers)
        {
          const int w = omp_get_thread_num();
          work(x, almond::WorkerPool::range_begin(items, w, workers),
               almond::WorkerPool::range_begin(items, w + 1, workers));
        }
      });
      std::printf("%8d %8d  %8.2f /%8.2f  %8.2f /%8.2f\n", workers, items, pool_cost.min_us, pool_cost.median_us,
                  omp_cost.min_us, omp_cost.median_us);
    }
  }
  return 0;
}
