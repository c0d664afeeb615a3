#pragma once
// Ctrl-C, and whatever else raises in a signal handler of Python, while C++ works without the interpreter's lock.

#include <atomic>
#include <chrono>
#include <thread>

#include "arrays.hpp"

namespace almond::python {

constexpr auto kSignalGap = std::chrono::milliseconds(50);  // between looks

/// Python runs handlers in its main thread only: the one that makes this object looks, others learn of it.
class Signals {
 public:
  /// Whether a handler has raised. From any thread, without the interpreter's lock; looks when it is time to.
  [[nodiscard]] bool raised() {
    if (raised_.load(std::memory_order_relaxed)) return true;
    if (std::this_thread::get_id() != caller_ || Clock::now() < next_) return false;
    const nb::gil_scoped_acquire acquire;
    raised_.store(PyErr_CheckSignals() != 0);
    next_ = Clock::now() + kSignalGap;
    return raised_.load();
  }
  /// With the lock, in the thread that made it: goes on with what the handler raised, if it did.
  void rethrow() const {
    if (raised_.load()) throw nb::python_error();
  }

 private:
  using Clock = std::chrono::steady_clock;
  std::thread::id caller_ = std::this_thread::get_id();
  Clock::time_point next_ = Clock::now() + kSignalGap;
  std::atomic<bool> raised_{false};
};

}  // namespace almond::python
