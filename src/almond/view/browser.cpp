#include "almond/view/browser.hpp"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <nlohmann/json.hpp>
#include <vector>

#include "almond/base/check.hpp"
#include "almond/view/blob.hpp"

namespace almond {
namespace {

using Json = nlohmann::json;
using Clock = std::chrono::steady_clock;

constexpr std::size_t kLongestFolder = 50;           // characters
constexpr std::int64_t kLookUpMs = 100;              // between questions whether to go on
constexpr std::size_t kLargestMessage = 256U << 20;  // bytes

std::vector<std::string> command_line(const std::string& program, const std::string& folder, int width, int height) {
  std::vector<std::string> line = {program,
                                   "--headless=new",
                                   "--remote-debugging-pipe",
                                   "--user-data-dir=" + folder + "/profile",
                                   "--window-size=" + std::to_string(width) + "," + std::to_string(height),
                                   "--hide-scrollbars",
                                   "--no-first-run",
                                   "--no-default-browser-check",
                                   "--disable-extensions",
                                   "--disable-background-networking",
                                   "--disable-dev-shm-usage",
                                   "--use-gl=angle",
                                   "--use-angle=swiftshader",
                                   "--enable-unsafe-swiftshader"};
  if (geteuid() == 0) line.emplace_back("--no-sandbox");  // Chromium refuses to run as root otherwise
  return line;
}

}  // namespace

bool have_program(const std::string& name) {
  if (name.find('/') != std::string::npos) return access(name.c_str(), X_OK) == 0;
  const char* path = std::getenv("PATH");
  std::string rest = path != nullptr ? path : "";
  while (!rest.empty()) {
    const std::size_t colon = rest.find(':');
    const std::string folder = rest.substr(0, colon);
    if (!folder.empty() && access((folder + "/" + name).c_str(), X_OK) == 0) return true;
    rest = colon == std::string::npos ? "" : rest.substr(colon + 1);
  }
  return false;
}

std::string find_chromium() {
  const char* chosen = std::getenv("ALMOND_CHROMIUM");
  if (chosen != nullptr && *chosen != '\0') return have_program(chosen) ? chosen : "";
  for (const char* name : {"chromium", "chromium-browser", "google-chrome", "google-chrome-stable"})
    if (have_program(name)) return name;
  return "";
}

Browser::Browser(int width, int height, std::function<bool()> cancelled) : cancelled_(std::move(cancelled)) {
  const std::string program = find_chromium();
  try {
    require(!program.empty(), "no Chromium found: install chromium, or name one in ALMOND_CHROMIUM");
    start(program, width, height);
    const Json target = Json::parse(call("Target.createTarget", R"({"url":"about:blank"})"));
    const Json attached =
        Json::parse(call("Target.attachToTarget", Json{{"targetId", target.at("targetId")}, {"flatten", true}}.dump()));
    session_ = attached.at("sessionId").get<std::string>();
    call("Page.enable", "{}");
    call("Emulation.setDeviceMetricsOverride",
         Json{{"width", width}, {"height", height}, {"deviceScaleFactor", 1}, {"mobile", false}}.dump());
  } catch (...) {
    end();
    throw;
  }
}

Browser::~Browser() { end(); }

void Browser::start(const std::string& program, int width, int height) {
  int in[2], out[2];
  require(pipe2(in, O_CLOEXEC) == 0 && pipe2(out, O_CLOEXEC) == 0, "cannot make a pipe");
  const std::vector<std::string> line = command_line(program, folder(), width, height);
  std::vector<char*> arguments;
  for (const std::string& word : line) arguments.push_back(const_cast<char*>(word.c_str()));
  arguments.push_back(nullptr);
  process_ = fork();
  if (process_ == 0) {
    setpgid(0, 0);
    const int read_end = fcntl(in[0], F_DUPFD, 10), write_end = fcntl(out[1], F_DUPFD, 10);
    dup2(read_end, 3);  // where Chromium listens, and where it answers
    dup2(write_end, 4);
    // What Chromium leaves behind when it is killed goes with our folder; names of sockets must stay short.
    if (folder().size() < kLongestFolder) setenv("TMPDIR", folder().c_str(), 1);
    const int null = ::open("/dev/null", O_RDWR);
    dup2(null, 0);
    dup2(null, 1);
    dup2(null, 2);
    execvp(arguments[0], arguments.data());
    _exit(127);
  }
  close(in[0]);
  close(out[1]);
  to_ = in[1];
  from_ = out[0];
  require(process_ > 0, "cannot start " + program);
}

void Browser::end() {
  if (to_ >= 0) close(to_);
  if (from_ >= 0) close(from_);
  if (process_ > 0) {
    kill(-process_, SIGKILL);
    waitpid(process_, nullptr, 0);
  }
  to_ = from_ = process_ = -1;
}

std::string Browser::call(const std::string& method, const std::string& parameters, double timeout_s) {
  const int id = next_++;
  Json message = {{"id", id}, {"method", method}, {"params", Json::parse(parameters)}};
  if (!session_.empty()) message["sessionId"] = session_;
  const std::string text = message.dump() + '\0';
  const auto previous = signal(SIGPIPE, SIG_IGN);
  for (std::size_t sent = 0; sent < text.size();) {
    const ssize_t n = write(to_, text.data() + sent, text.size() - sent);
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) signal(SIGPIPE, previous);
    require(n > 0, "Chromium has ended unexpectedly");
    sent += static_cast<std::size_t>(n);
  }
  signal(SIGPIPE, previous);
  const Clock::time_point deadline = Clock::now() + std::chrono::milliseconds(static_cast<int>(1e3 * timeout_s));
  for (;;) {
    for (std::size_t end; (end = buffer_.find('\0')) != std::string::npos;) {
      const Json reply = Json::parse(buffer_.substr(0, end), nullptr, false);
      buffer_.erase(0, end + 1);
      if (!reply.is_object() || !reply.contains("id") || reply["id"] != id) continue;  // an event
      require(!reply.contains("error"), "Chromium refuses " + method + ": " + reply.value("error", Json()).dump());
      return reply.value("result", Json::object()).dump();
    }
    const auto left = std::chrono::duration_cast<std::chrono::milliseconds>(deadline - Clock::now()).count();
    require(left > 0,
            "Chromium did not answer " + method + " within " + std::to_string(static_cast<int>(timeout_s)) + " s");
    require(!cancelled_ || !cancelled_(), "interrupted");
    pollfd wait{from_, POLLIN, 0};
    if (poll(&wait, 1, static_cast<int>(std::min<std::int64_t>(left, kLookUpMs))) <= 0) continue;
    char piece[65536];
    const ssize_t n = read(from_, piece, sizeof piece);
    if (n < 0 && errno == EINTR) continue;
    require(n > 0, "Chromium has ended unexpectedly");
    buffer_.append(piece, static_cast<std::size_t>(n));
    require(buffer_.size() < kLargestMessage, "Chromium sends too much");
  }
}

void Browser::open(const std::string& url) {
  const Json result = Json::parse(call("Page.navigate", Json{{"url", url}}.dump()));
  require(!result.contains("errorText"), url + ": " + result.value("errorText", ""));
}

std::string Browser::evaluate(const std::string& expression, double timeout_s) {
  const Json result = Json::parse(
      call("Runtime.evaluate", Json{{"expression", expression}, {"awaitPromise", true}, {"returnByValue", true}}.dump(),
           timeout_s));
  if (result.contains("exceptionDetails")) {
    const Json& details = result["exceptionDetails"];
    std::string what = details.value("text", "");
    if (details.contains("exception")) what = details["exception"].value("description", what);
    throw Error("the page fails: " + what.substr(0, what.find('\n')));
  }
  return result.at("result").value("value", Json()).dump();
}

std::string Browser::screenshot(const std::string& format) {
  Json parameters = {{"format", format}};
  if (format == "jpeg") parameters["quality"] = 93;
  const Json result = Json::parse(call("Page.captureScreenshot", parameters.dump()));
  return from_base64(result.at("data").get<std::string>(), "Chromium's picture");
}

}  // namespace almond
