#pragma once
// Clocks: a stopwatch on wall time that can be paused (residuals are traced off the clock), and CPU time of the calling
// thread (unmoved by other programs on a busy machine).

#include <chrono>
#include <ctime>

namespace almond {

/// Runs from construction on. pause() and resume() may be called in any order and any number of times.
class Stopwatch {
 public:
  using Clock = std::chrono::steady_clock;

  void restart() {
    gathered_ = Clock::duration::zero();
    running_ = true;
    start_ = Clock::now();
  }
  void pause() {
    if (!running_) return;
    gathered_ += Clock::now() - start_;
    running_ = false;
  }
  void resume() {
    if (running_) return;
    running_ = true;
    start_ = Clock::now();
  }
  [[nodiscard]] bool running() const { return running_; }
  [[nodiscard]] double elapsed_ms() const {
    const Clock::duration now = running_ ? Clock::now() - start_ : Clock::duration::zero();
    return std::chrono::duration<double, std::milli>(gathered_ + now).count();
  }

 private:
  Clock::duration gathered_ = Clock::duration::zero();
  Clock::time_point start_ = Clock::now();
  bool running_ = true;
};

/// CPU time used so far by the calling thread [ms]; only differences mean something.
[[nodiscard]] inline double thread_cpu_ms() {
  timespec t{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
  return 1e3 * static_cast<double>(t.tv_sec) + 1e-6 * static_cast<double>(t.tv_nsec);
}

}  // namespace almond
