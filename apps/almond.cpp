// The program `almond`: reads the command line, runs one command, maps what went wrong to an exit code:
// 0 done, 1 the work failed, 2 bad usage or input, 130 interrupted.

#include <algorithm>
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

int run(int argc, char** argv) {
  const std::vector<std::string> arguments(argv + 1, argv + std::max(argc, 1));
  const Understood line = understand(arguments);
  if (line.action) return line.action();
  if (line.code == kBadInput && !arguments.empty()) return complain(line.message);
  std::fputs(line.message.c_str(), line.code == kDone ? stdout : stderr);
  return line.code;
}

}  // namespace
}  // namespace almond::app

int main(int argc, char** argv) {
  std::signal(SIGXFSZ, SIG_IGN);  // a file that grows beyond `ulimit -f` is one that cannot be written
  try {
    const int code = almond::app::run(argc, argv);
    if (std::fflush(stdout) == 0 && std::ferror(stdout) == 0) return code;
    std::fputs("almond: standard output could not be written\n", stderr);
    return code == almond::app::kDone ? almond::app::kWorkFailed : code;
  } catch (const almond::Error& error) {
    return almond::app::complain(error.what());
  } catch (const std::bad_alloc&) {
    std::fputs("almond: out of memory\n", stderr);
    return almond::app::kWorkFailed;
  } catch (const std::exception& error) {
    almond::app::say(std::string("almond: ") + error.what());
    return almond::app::kWorkFailed;
  }
}
