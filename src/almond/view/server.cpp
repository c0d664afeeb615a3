#include "almond/view/server.hpp"

#include <httplib.h>
#include <poll.h>
#include <sys/random.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cctype>
#include <charconv>
#include <chrono>
#include <optional>
#include <set>
#include <thread>

#include "almond/base/check.hpp"
#include "almond/base/text.hpp"
#include "almond/view/host.hpp"
#include "almond/view/request_bytes.hpp"

namespace almond {
namespace {

constexpr int kFirstPort = 8137, kTriedPorts = 50;
constexpr int kMostStreams = 48;     // each holds a thread
constexpr int kThreads = 64;         // so some are left for everything else
constexpr int kWaiting = 512;        // connections before they get one
constexpr time_t kKeepAliveS = 1;    // a connection that waits for a further request holds a thread, too
constexpr double kQuietMs = 1000.0;  // a stream without news says so after this long

/// The place of one stream among those that are open.
struct Seat {
  explicit Seat(std::atomic<int>& all) : open(all), number(++open) {}
  ~Seat() { --open; }
  Seat(const Seat&) = delete;
  Seat& operator=(const Seat&) = delete;
  std::atomic<int>& open;
  const int number;
};

/// What a stream has told already.
struct Seen {
  std::int64_t snapshot = 0, world = -1, controls = -1;
};

/// 128 random bits, for an address that nobody guesses.
std::string make_token() {
  std::array<unsigned char, 16> bits;
  require(getrandom(bits.data(), bits.size(), 0) == static_cast<ssize_t>(bits.size()), "no random numbers to be had");
  std::string text;
  for (const unsigned char byte : bits)
    for (const int digit : {byte >> 4, byte & 15}) text += "0123456789abcdef"[digit];
  return text;
}

/// Takes as long for a wrong answer as for a nearly right one.
bool same_token(const std::string& a, const std::string& b) {
  unsigned difference = a.size() == b.size() ? 0 : 1;
  for (std::size_t i = 0; i < std::min(a.size(), b.size()); ++i)
    difference |= static_cast<unsigned char>(a[i]) ^ static_cast<unsigned char>(b[i]);
  return difference == 0;
}

// What the library asks of a connection; its releases differ in which of these they know, so none says `override`.
class Connection : public httplib::Stream {
 public:
  [[nodiscard]] bool is_readable() const { return true; }
  [[nodiscard]] bool is_writable() const { return true; }
  [[nodiscard]] bool wait_readable() const { return true; }
  [[nodiscard]] bool wait_writable() const { return is_writable(); }
  [[nodiscard]] time_t duration() const { return 0; }
  void get_remote_ip_and_port(std::string& ip, int& port) const { set_nowhere(ip, port); }
  void get_local_ip_and_port(std::string& ip, int& port) const { set_nowhere(ip, port); }
  [[nodiscard]] socket_t socket() const { return INVALID_SOCKET; }

 protected:
  /// What was read, or -1 where the head has what is refused. In its first line that becomes a mark, and the request
  /// ends there: the library answers a line that it cannot understand, and none that it cannot read.
  ssize_t judge(char* bytes, ssize_t count) {
    const bool ended = head_.is_refused();
    if (count <= 0 || head_.pass({bytes, static_cast<std::size_t>(count)})) return count;
    if (!head_.is_in_request_line()) return -1;
    std::fill_n(bytes, count, '?');
    return ended ? 0 : count;
  }

 private:
  HeadCheck head_;

  static void set_nowhere(std::string& ip, int& port) {
    ip.clear();
    port = 0;
  }
};

/// A request over a socket.
class Request : public Connection {
 public:
  Request(socket_t socket, Slots& slots) : bytes_(socket, slots) {}

  [[nodiscard]] bool is_writable() const { return bytes_.is_writable(); }
  ssize_t read(char* to, std::size_t size) { return judge(to, bytes_.read(to, size)); }
  ssize_t write(const char* from, std::size_t size) { return bytes_.write(from, size); }
  [[nodiscard]] socket_t socket() const { return bytes_.socket(); }
  [[nodiscard]] const RequestBytes& bytes() const { return bytes_; }

 private:
  RequestBytes bytes_;
};

/// A request from memory.
class Rehearsal : public Connection {
 public:
  Rehearsal(const std::string& bytes, std::size_t most) : rest_(bytes), most_(most) {}

  ssize_t read(char* to, std::size_t size) {
    const std::size_t count = std::min(size, rest_.size());
    std::copy_n(rest_.data(), count, to);
    rest_.remove_prefix(count);
    return judge(to, static_cast<ssize_t>(count));
  }
  ssize_t write(const char* from, std::size_t size) {
    if (answer.size() + size > most_) return -1;
    answer.append(from, size);
    return static_cast<ssize_t>(size);
  }
  std::string answer;

 private:
  std::string_view rest_;
  std::size_t most_;
};

/// The library's server over connections of our own.
class LimitedServer : public httplib::Server {
 public:
  std::string rehearse(const std::string& request, std::size_t most) {
    Rehearsal rehearsal(request, most);
    static_cast<void>(serve(rehearsal, true));
    return std::move(rehearsal.answer);
  }
  /// The library lets five connections wait to be taken; more than that try again after a second.
  void let_many_wait() { ::listen(svr_sock_, kWaiting); }

 private:
  bool serve(httplib::Stream& stream, bool last) {
    bool closed = false;
    return process(*this, stream, last, closed) && !closed;
  }
  /// Later releases want to be told who is there.
  template <class Self>
  static bool process(Self& self, httplib::Stream& stream, bool last, bool& closed) {
    if constexpr (requires { self.process_request(stream, last, closed, nullptr); }) {
      return self.process_request(stream, last, closed, nullptr);
    } else {
      return self.process_request(stream, "", 0, "", 0, last, closed, nullptr);
    }
  }

  bool process_and_close_socket(socket_t socket) override {
    const Slots::Taken taken(slots_);
    for (std::size_t left = keep_alive_max_count_; left > 0 && svr_sock_ != INVALID_SOCKET; --left) {
      if (!slots_.wait(socket, POLLIN, std::chrono::steady_clock::now(), static_cast<int>(1000 * kKeepAliveS))) break;
      Request request(socket, slots_);
      const bool open = serve(request, left == 1);
      // The library would read on as if the body of what was refused were the next request.
      if (request.bytes().is_refused()) hear_out(socket, slots_);
      if (!open || request.bytes().is_refused() || request.bytes().has_more()) break;
    }
    ::shutdown(socket, SHUT_RDWR);
    ::close(socket);
    return true;
  }

  Slots slots_{kThreads};
};

}  // namespace

struct Server::Impl {
  LimitedServer server;
  std::string host, page;
  std::string token;  // empty: none is asked for
  int port = 0;
  Live* live = nullptr;
  std::atomic<bool> stopping{false};
  std::atomic<int> streams{0};
  double quiet_ms = kQuietMs;
  std::thread thread;

  /// A page from elsewhere may reach us by its own name (DNS rebinding) or by ours (a form, a fetch): neither is heard.
  [[nodiscard]] bool names_us(const std::string& named) const {
    // Asked to listen at all addresses: any name will do, since who has not the token gets no further.
    if (is_everywhere(host)) return true;
    std::set<std::string> names = {in_brackets(host)};
    if (is_loopback(host)) names.insert({"127.0.0.1", "localhost", "[::1]"});
    const std::string suffix = ":" + std::to_string(port);
    const bool plain = port == 80 && names.count(named) > 0;  // the port that browsers leave out
    return plain || (named.ends_with(suffix) && names.count(named.substr(0, named.size() - suffix.size())) > 0);
  }

  /// What an answer says that the library gives without a word.
  static std::string reason_of(int status) {
    if (status == 404) return "no such page or call\n";
    if (status == 411) return "expected a body of a stated length\n";
    if (status == 413) return "expected a body of at most " + std::to_string(kLargestCommand) + " bytes\n";
    if (status == 414) return "expected a shorter address\n";
    return "expected a request of HTTP/1.1 that can be read: a head of lines `Name: value`, and no Range\n";
  }

  [[nodiscard]] std::string cookie() const { return "almond_" + std::to_string(port) + "=" + token; }

  /// A page has it as a cookie, a program says `Authorization: Bearer`.
  [[nodiscard]] bool has_token(const httplib::Request& request) const {
    if (token.empty() || same_token(request.get_header_value("Authorization"), "Bearer " + token)) return true;
    std::string cookies = request.get_header_value("Cookie");
    while (!cookies.empty()) {
      const std::size_t end = std::min(cookies.find(';'), cookies.size());
      if (same_token(cookies.substr(0, end), cookie())) return true;
      cookies = cookies.substr(std::min(cookies.find_first_not_of("; ", end), cookies.size()));
    }
    return false;
  }

  /// What is wrong with the length that a request states for its body, as a status; 0: nothing. The library would read
  /// all of a body that is too long before it says so, and take what comes with a GET for the next request.
  [[nodiscard]] static int judge_length(const httplib::Request& request) {
    const bool asks = request.method == "GET" || request.method == "HEAD";
    if (request.has_header("Transfer-Encoding")) return 411;
    if (!request.has_header("Content-Length")) return asks ? 0 : 411;
    const std::string text = request.get_header_value("Content-Length");
    std::size_t length = 0;
    const auto [stop, error] = std::from_chars(text.data(), text.data() + text.size(), length);
    if (error == std::errc::invalid_argument || stop != text.data() + text.size()) return 400;
    if (error == std::errc::result_out_of_range || length > kLargestCommand) return 413;
    return asks && length > 0 ? 400 : 0;
  }

  /// Whether the request may go on to its handler; else the answer is there.
  [[nodiscard]] bool admit(const httplib::Request& request, httplib::Response& response) const {
    const auto refuse = [&](int status, const std::string& why) {
      response.status = status;
      response.set_content(why, "text/plain");
      return false;
    };
    // Whoever else reads such a request may go by the other one of the two.
    for (const char* once : {"Host", "Origin", "Authorization", "Cookie", "Content-Type", "Content-Length",
                             "Content-Encoding", "Transfer-Encoding", "Sec-Fetch-Site", "Sec-Fetch-Mode"})
      if (request.get_header_value_count(once) > 1) return refuse(400, std::string(once) + ": expected once\n");
    const std::string named = request.get_header_value("Host"), origin = request.get_header_value("Origin");
    if (!names_us(named))
      return refuse(403,
                    "Host " + quote(named) + ": expected " + in_brackets(host) + ":" + std::to_string(port) + "\n");
    if (!origin.empty() && origin != "http://" + named)
      return refuse(403, "Origin " + quote(origin) + ": expected a page of this server, or none\n");
    // What has no Origin, an image or a script of another page, browsers mark so. Links that lead here are welcome.
    const std::string site = request.get_header_value("Sec-Fetch-Site");
    const bool follows_link = request.path == "/" && request.get_header_value("Sec-Fetch-Mode") == "navigate";
    if (!site.empty() && site != "same-origin" && site != "none" && !follows_link)
      return refuse(403, "Sec-Fetch-Site " + quote(site) + ": expected a page of this server\n");
    if (!token.empty() && request.path == "/" && same_token(request.get_param_value("token"), token)) {
      // From here on the cookie is enough, and the token is not in the address that people copy and screens show.
      response.set_header("Set-Cookie", cookie() + "; Path=/; HttpOnly; SameSite=Strict");
      response.set_redirect("/", 303);
      return false;
    }
    if (!has_token(request)) return refuse(401, "open the address that almond view printed, with its token\n");
    if (request.method != "GET" && request.method != "HEAD" && request.method != "POST") {
      response.set_header("Allow", "GET, HEAD, POST");
      return refuse(405, request.method + ": expected GET, HEAD or POST\n");
    }
    // The library would unpack it, and its limits are for what is packed.
    if (request.has_header("Content-Encoding"))
      return refuse(415,
                    "Content-Encoding " + quote(request.get_header_value("Content-Encoding")) + ": expected none\n");
    const int wrong = judge_length(request);
    return wrong == 0 || refuse(wrong, reason_of(wrong));
  }

  /// application/json, with or without parameters; a type that only begins so is another one.
  [[nodiscard]] static bool is_json(std::string type) {
    type.erase(std::min(type.find(';'), type.size()));
    type.erase(type.find_last_not_of(" \t") + 1);
    std::transform(type.begin(), type.end(), type.begin(), [](unsigned char c) { return std::tolower(c); });
    return type == "application/json";
  }

  template <class Question>
  static void answer(httplib::Response& response, const char* type, const Question& question) {
    try {
      response.set_content(question(), type);
    } catch (const Error& error) {
      response.status = 409;
      response.set_content(error.what(), "text/plain");
    }
  }

  bool stream(httplib::DataSink& sink, Seen& had) const {
    if (stopping) return false;
    const std::string snapshot = live->wait_for_snapshot(had.snapshot, quiet_ms);
    const std::int64_t world = live->world_number(), controls = live->controls_number();
    std::string text = snapshot.empty() ? ": quiet\n\n" : "data: " + snapshot + "\n\n";
    if (controls != had.controls) text = "event: controls\ndata: " + live->controls() + "\n\n" + text;
    if (world != had.world && had.world >= 0) text = "event: scene\ndata: {}\n\n" + text;
    had.world = world;
    had.controls = controls;
    return sink.write(text.data(), text.size());
  }

  void set_routes() {
    server.new_task_queue = [] { return new httplib::ThreadPool(kThreads); };
    server.set_payload_max_length(kLargestCommand);
    server.set_keep_alive_max_count(1000);
    server.set_keep_alive_timeout(kKeepAliveS);
    server.set_default_headers({{"Cache-Control", "no-store"},
                                {"X-Content-Type-Options", "nosniff"},
                                {"X-Frame-Options", "DENY"},
                                {"Content-Security-Policy", "frame-ancestors 'none'"},
                                {"Cross-Origin-Resource-Policy", "same-origin"},
                                {"Referrer-Policy", "no-referrer"}});
    server.set_pre_routing_handler([this](const httplib::Request& request, httplib::Response& response) {
      return admit(request, response) ? httplib::Server::HandlerResponse::Unhandled
                                      : httplib::Server::HandlerResponse::Handled;
    });
    // Who asks first whether to send a body is told so now, or gets the answer that it would get after it.
    server.set_expect_100_continue_handler([this](const httplib::Request& request, httplib::Response& response) {
      return admit(request, response) ? 100 : response.status;
    });
    server.set_error_handler([](const httplib::Request&, httplib::Response& response) {
      if (response.body.empty()) response.set_content(reason_of(response.status), "text/plain");
    });
    // After what the library says of connections by itself.
    server.set_post_routing_handler([](const httplib::Request&, httplib::Response& response) {
      if (response.status < 400) return;
      response.headers.erase("Keep-Alive");
      response.headers.erase("Connection");
      response.set_header("Connection", "close");
    });
    server.Get("/", [this](const httplib::Request&, httplib::Response& response) {
      response.set_content(page, "text/html; charset=utf-8");
    });
    if (live == nullptr) return;
    server.Get("/api/scene", [this](const httplib::Request&, httplib::Response& response) {
      answer(response, "application/octet-stream", [&] { return live->scene(); });
    });
    server.Get("/api/controls", [this](const httplib::Request&, httplib::Response& response) {
      answer(response, "application/json", [&] { return live->controls(); });
    });
    server.Get("/api/step", [this](const httplib::Request&, httplib::Response& response) {
      answer(response, "application/json", [&] { return live->inside(); });
    });
    server.Get("/api/problem.npz", [this](const httplib::Request& request, httplib::Response& response) {
      const std::string text = request.get_param_value("step");
      std::int64_t step = 0;
      const auto [stop, error] = std::from_chars(text.data(), text.data() + text.size(), step);
      const bool whole = error == std::errc() && stop == text.data() + text.size() && step >= 0;
      if (request.has_param("step") && !whole) {
        response.status = 400;
        response.set_content("step " + quote(text) + ": expected a whole number of at least 0\n", "text/plain");
        return;
      }
      const auto asked = text.empty() ? std::nullopt : std::optional(step);
      answer(response, "application/octet-stream", [&] { return live->problem(asked); });
      if (response.status == 409) return;  // a message is no file to save
      const std::string name = asked ? "problem_step" + text : "problem";
      response.set_header("Content-Disposition", "attachment; filename=\"" + name + ".npz\"");
    });
    server.Get("/api/stream", [this](const httplib::Request&, httplib::Response& response) {
      const auto seat = std::make_shared<Seat>(streams);
      if (seat->number > kMostStreams) {
        response.status = 503;
        response.set_header("Retry-After", "5");
        response.set_content("too many pages look at this simulation: close some\n", "text/plain");
        return;
      }
      live->let_go();
      response.set_chunked_content_provider(
          "text/event-stream",
          [this, seat, had = Seen{}](std::size_t, httplib::DataSink& sink) mutable { return stream(sink, had); });
    });
    server.Post("/api/command", [this](const httplib::Request& request, httplib::Response& response) {
      // Other origins may post forms and plain text without asking; JSON they may not.
      if (!is_json(request.get_header_value("Content-Type"))) {
        response.status = 415;
        response.set_content("expected application/json\n", "text/plain");
        return;
      }
      try {
        live->post(request.body);
        response.set_content("{}", "application/json");
      } catch (const Error& error) {
        response.status = 400;
        response.set_content(std::string(error.what()) + "\n", "text/plain");
      }
    });
  }

  void bind(int wanted) {
    require(wanted >= 0 && wanted <= 65535, "--port " + std::to_string(wanted) + ": expected 0 to 65535");
    check_host(host);
    const int first = wanted > 0 ? wanted : kFirstPort, tried = wanted > 0 ? 1 : kTriedPorts;
    for (int candidate = first; candidate < first + tried; ++candidate) {
      if (!server.bind_to_port(host, candidate)) continue;
      port = candidate;
      server.let_many_wait();
      return;
    }
    throw Error("cannot listen at " + host + ", port " + std::to_string(first) +
                (tried > 1 ? " to " + std::to_string(first + tried - 1) : "") +
                ": taken, or not for this user; try another --port");
  }
};

Server::Server(const std::string& host, int port, std::string page, Live* live) : impl_(std::make_unique<Impl>()) {
  impl_->host = host;
  impl_->page = std::move(page);
  impl_->live = live;
  if (!is_loopback(host)) impl_->token = make_token();
  impl_->set_routes();
  // Without SO_REUSEPORT, which the library sets by itself: two servers would share a port unknowingly.
  impl_->server.set_socket_options([](socket_t socket) {
    const int yes = 1;
    setsockopt(socket, SOL_SOCKET, SO_REUSEADDR, &yes, sizeof yes);
  });
  impl_->bind(port);
  impl_->thread = std::thread([this] { impl_->server.listen_after_bind(); });
  while (!impl_->server.is_running()) std::this_thread::sleep_for(std::chrono::milliseconds(1));  // stop() needs that
}

Server::~Server() { stop(); }

int Server::port() const { return impl_->port; }

std::string Server::address() const {
  return "http://" + in_brackets(is_everywhere(impl_->host) ? reachable_address() : impl_->host) + ":" +
         std::to_string(impl_->port) + "/" + (impl_->token.empty() ? "" : "?token=" + impl_->token);
}

std::string Server::rehearse(const std::string& request, std::size_t most) {
  impl_->quiet_ms = 0.0;  // nobody is there to wait for news
  return impl_->server.rehearse(request, most);
}

void Server::stop() {
  impl_->stopping = true;
  impl_->server.stop();
  if (impl_->thread.joinable()) impl_->thread.join();
}

}  // namespace almond
