#pragma once
// Other programs, run with a time limit: a peer that crashes or hangs is a result, not the end of a benchmark.

#include <functional>
#include <string>
#include <vector>

namespace almond::bench {

/// Asked while processes run, and answered with true: they are killed, and what is asked for later is not started.
void set_process_stop(std::function<bool()> stop);

inline constexpr const char* kInterruptedText = "interrupted";

struct ProcessResult {
  bool started = false;  // false: no such program
  bool timed_out = false;
  int exit_code = -1;  // negative: ended by that signal
  std::string errors;  // the last line on its standard error
};

/// Runs `arguments[0]` (searched in PATH) with standard output discarded, the largest stack the system allows and one
/// thread for OpenMP and BLAS. After `timeout_ms` the process and its children are killed.
[[nodiscard]] ProcessResult run_process(const std::vector<std::string>& arguments, double timeout_ms);

/// The same for work of our own, in a copy of this process: what it does to memory stays there, so that it hands its
/// results over in files. An exception is exit code 1 with its text as error.
[[nodiscard]] ProcessResult run_apart(const std::function<void()>& work, double timeout_ms);

}  // namespace almond::bench
