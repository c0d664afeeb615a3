// Proves that viewers who come and go at once, ask, command, leave in the middle of an answer or read nothing at all,
// are served or dropped without a race, and that the server ends while they are still there.

#include <arpa/inet.h>
#include <gtest/gtest.h>
#include <sys/socket.h>
#include <unistd.h>

#include <chrono>
#include <memory>
#include <thread>

#include "almond/view/server.hpp"
#include "tests/view/live_world.hpp"

#ifdef __SANITIZE_THREAD__
/// The HTTP library's own code is not instrumented: its locks are seen only in part, its copies as races. Ours is.
extern "C" const char* __tsan_default_suppressions() { return "called_from_lib:libcpp-httplib.so\n"; }
#endif

namespace almond {
namespace {

/// A viewer that speaks bytes.
class Viewer {
 public:
  explicit Viewer(int port) : socket_(::socket(AF_INET, SOCK_STREAM, 0)) {
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_port = htons(static_cast<std::uint16_t>(port));
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    open_ = ::connect(socket_, reinterpret_cast<const sockaddr*>(&address), sizeof address) == 0;
    const timeval patience{20, 0};
    ::setsockopt(socket_, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof patience);
  }
  ~Viewer() { ::close(socket_); }
  Viewer(const Viewer&) = delete;
  Viewer& operator=(const Viewer&) = delete;

  void say(const std::string& text) const {
    static_cast<void>(::send(socket_, text.data(), text.size(), MSG_NOSIGNAL));
  }
  /// What comes, up to `most` bytes or the end.
  [[nodiscard]] std::string hear(std::size_t most) const {
    std::string heard;
    char buffer[1024];
    while (heard.size() < most) {
      const ssize_t count = ::recv(socket_, buffer, std::min(sizeof buffer, most - heard.size()), 0);
      if (count <= 0) break;
      heard.append(buffer, static_cast<std::size_t>(count));
    }
    return heard;
  }
  /// Leaves at once, with what was sent to it unread.
  void reset() const {
    const linger now{1, 0};
    ::setsockopt(socket_, SOL_SOCKET, SO_LINGER, &now, sizeof now);
  }
  [[nodiscard]] bool open() const { return open_; }

 private:
  int socket_;
  bool open_ = false;
};

std::string make_request(int port, const std::string& line, const std::string& body = "") {
  return line + " HTTP/1.1\r\nHost: 127.0.0.1:" + std::to_string(port) + "\r\nConnection: close\r\n" +
         (body.empty() ? "" : "Content-Type: application/json\r\n") + "Content-Length: " + std::to_string(body.size()) +
         "\r\n\r\n" + body;
}

TEST(ServerThreads, ViewersThatComeAndGoAreServedOrDropped) {
  Live live(testing::make_ball_world);
  Server server("127.0.0.1", 0, "<!doctype html><p>page</p>", &live);
  const int port = server.port();
  std::vector<std::thread> threads;
  std::atomic<int> pages{0}, commands{0}, frames{0};
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&, t] {
      for (int i = 0; i < 6; ++i) {
        const Viewer viewer(port);
        ASSERT_TRUE(viewer.open());
        switch ((t + i) % 6) {
          case 0:
            viewer.say(make_request(port, "GET /"));
            if (viewer.hear(1 << 16).ends_with("<p>page</p>")) ++pages;
            break;
          case 1:  // leaves in the middle of a frame
            viewer.say(make_request(port, "GET /api/stream"));
            if (viewer.hear(700).find("data: {") != std::string::npos) ++frames;
            viewer.reset();
            break;
          case 2:
            viewer.say(
                make_request(port, "POST /api/command", i % 2 == 0 ? R"({"type":"step"})" : R"({"type":"reset"})"));
            if (viewer.hear(1 << 16).starts_with("HTTP/1.1 200")) ++commands;
            break;
          case 3:
            viewer.say(make_request(port, "GET /api/step"));
            static_cast<void>(viewer.hear(1 << 20));
            break;
          case 4:  // promises more than it sends
            viewer.say("POST /api/command HTTP/1.1\r\nContent-Length: 40\r\n\r\n{\"type\":");
            viewer.reset();
            break;
          default:
            viewer.say(make_request(port, "GET /api/scene"));
            static_cast<void>(viewer.hear(10));
        }
      }
    });
  }
  const Viewer idle(port);  // asks for everything, reads nothing
  idle.say(make_request(port, "GET /api/stream"));
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(pages, 4);
  EXPECT_EQ(commands, 4);
  EXPECT_EQ(frames, 4);
  live.stop();
  server.stop();
  const Viewer late(port);
  EXPECT_FALSE(late.open());
}

TEST(ServerThreads, HalfRequestsKeepNobodyOut) {
  Server server("127.0.0.1", 0, "<!doctype html><p>page</p>", nullptr);
  std::vector<std::unique_ptr<Viewer>> crowd;
  for (int i = 0; i < 150; ++i) {
    crowd.push_back(std::make_unique<Viewer>(server.port()));
    crowd.back()->say("GET / HTTP/1.1\r\nHost: 127");
  }
  const auto begin = std::chrono::steady_clock::now();
  const Viewer honest(server.port());
  honest.say(make_request(server.port(), "GET /"));
  EXPECT_TRUE(honest.hear(1 << 16).ends_with("<p>page</p>"));
  // Of the 10 s that a request may take to come; a second is what it takes on a busy machine under a sanitizer.
  EXPECT_LT(std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count(), 8.0);
}

}  // namespace
}  // namespace almond
