// Runs one command and maps what went wrong to an exit code: 0 done, 1 the work failed, 2 bad usage or input,
// 130 interrupted.

#include <csignal>
#include <cstdio>
#include <exception>
#include <new>
#include <string>
#include <vector>

#include "almond/base/check.hpp"
#include "apps/commands.hpp"
#include "apps/common.hpp"

namespace almond::app {
namespace {

int complain(const std::string& message) {
  say("almond: " + message);
  return kBadInput;
}

int run(const std::vector<std::string>& arguments) {
  const Understood line = understand(arguments);
  if (line.action) return line.action();
  if (line.code == kBadInput && !arguments.empty()) return complain(line.message);
  std::fputs(line.message.c_str(), line.code == kDone ? stdout : stderr);
  return line.code;
}

}  // namespace

int run_program(const std::vector<std::string>& arguments) {
  std::signal(SIGXFSZ, SIG_IGN);  // a file that grows beyond `ulimit -f` is one that cannot be written
  try {
    const int code = run(arguments);
    if (std::fflush(stdout) == 0 && std::ferror(stdout) == 0) return code;
    std::fputs("almond: standard output could not be written\n", stderr);
    return code == kDone ? kWorkFailed : code;
  } catch (const Error& error) {
    return complain(error.what());
  } catch (const std::bad_alloc&) {
    std::fputs("almond: out of memory\n", stderr);
    return kWorkFailed;
  } catch (const std::exception& error) {
    say(std::string("almond: ") + error.what());
    return kWorkFailed;
  }
}

}  // namespace almond::app
