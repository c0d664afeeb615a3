#include "bench/process.hpp"

#include <fcntl.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <thread>

#include "almond/base/check.hpp"
#include "almond/load/file_io.hpp"

namespace almond::bench {
namespace {

constexpr int kNotFound = 127;  // what a shell says, too

std::function<bool()> asked_to_stop;
bool is_stopped() { return asked_to_stop && asked_to_stop(); }

/// In the child: alone, silent, with errors into a file.
void detach(const std::string& errors_path) {
  setpgid(0, 0);
  prctl(PR_SET_PDEATHSIG, SIGKILL);  // whatever ends the benchmark ends this
  const int null = open("/dev/null", O_RDWR);
  const int errors = open(errors_path.c_str(), O_WRONLY | O_CREAT | O_TRUNC, 0600);
  dup2(null, STDIN_FILENO);
  dup2(null, STDOUT_FILENO);
  dup2(errors, STDERR_FILENO);
}

/// In the child: never returns.
[[noreturn]] void become(const std::vector<std::string>& arguments) {
  // Some peers keep large matrices on the stack and crash under the usual 8 MB.
  rlimit stack{};
  if (getrlimit(RLIMIT_STACK, &stack) == 0) {
    stack.rlim_cur = stack.rlim_max;
    setrlimit(RLIMIT_STACK, &stack);
  }
  for (const char* name : {"OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"}) setenv(name, "1", 1);
  std::vector<char*> pointers;
  for (const std::string& argument : arguments) pointers.push_back(const_cast<char*>(argument.c_str()));
  pointers.push_back(nullptr);
  execvp(pointers[0], pointers.data());
  _exit(errno == ENOENT ? kNotFound : 126);
}

std::string last_line(std::string text) {
  while (!text.empty() && (text.back() == '\n' || text.back() == ' ')) text.pop_back();
  const std::size_t start = text.rfind('\n');
  return start == std::string::npos ? text : text.substr(start + 1);
}

/// Forks; the child does `inside`, which does not return.
ProcessResult run_child(const std::string& name, const std::function<void()>& inside, double timeout_ms) {
  const TemporaryFolder folder;
  const std::string errors_path = folder.path() + "/errors";
  if (is_stopped()) return {false, true, -1, kInterruptedText};
  const pid_t child = fork();
  require(child >= 0, "cannot start " + name + ": fork failed");
  if (child == 0) {
    detach(errors_path);
    inside();
  }

  using Clock = std::chrono::steady_clock;
  const Clock::time_point start = Clock::now();
  ProcessResult result;
  int status = 0;
  for (std::chrono::microseconds nap{200};; nap = std::min(2 * nap, std::chrono::microseconds{20000})) {
    const pid_t done = waitpid(child, &status, WNOHANG);
    if (done == child) break;
    if (is_stopped() || std::chrono::duration<double, std::milli>(Clock::now() - start).count() > timeout_ms) {
      kill(-child, SIGKILL);
      kill(child, SIGKILL);
      waitpid(child, &status, 0);
      result.timed_out = true;
      break;
    }
    std::this_thread::sleep_for(nap);
  }
  result.exit_code = WIFEXITED(status) ? WEXITSTATUS(status) : -WTERMSIG(status);
  result.started = result.exit_code != kNotFound;
  if (std::filesystem::exists(errors_path)) result.errors = last_line(read_file(errors_path));
  if (result.timed_out && is_stopped()) result.errors = kInterruptedText;
  return result;
}

}  // namespace

void set_process_stop(std::function<bool()> stop) { asked_to_stop = std::move(stop); }

ProcessResult run_process(const std::vector<std::string>& arguments, double timeout_ms) {
  return run_child(
      arguments[0], [&] { become(arguments); }, timeout_ms);
}

ProcessResult run_apart(const std::function<void()>& work, double timeout_ms) {
  const auto inside = [&] {
    try {
      work();
    } catch (const std::exception& error) {
      const std::string text = error.what();
      static_cast<void>(!write(STDERR_FILENO, text.data(), text.size()));
      _exit(1);
    }
    _exit(0);
  };
  return run_child("a copy of this program", inside, timeout_ms);
}

}  // namespace almond::bench
