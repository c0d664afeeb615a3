#include "almond/view/server.hpp"

#include <httplib.h>

#include <atomic>
#include <charconv>
#include <optional>
#include <set>
#include <thread>

#include "almond/base/check.hpp"
#include "almond/base/text.hpp"

namespace almond {
namespace {

constexpr int kFirstPort = 8137, kTriedPorts = 50;
constexpr int kMostStreams = 48;                // each holds a thread
constexpr std::size_t kThreads = 64;            // so some are left for everything else
constexpr time_t kKeepAliveS = 1;               // a connection that waits for a further request holds a thread, too
constexpr std::size_t kLargestCommand = 65536;  // bytes
constexpr double kQuietMs = 1000.0;             // a stream without news says so after this long

bool is_loopback(const std::string& host) { return host == "127.0.0.1" || host == "localhost" || host == "::1"; }

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

std::string in_brackets(const std::string& host) {
  return host.find(':') == std::string::npos ? host : "[" + host + "]";
}

}  // namespace

struct Server::Impl {
  httplib::Server server;
  std::string host, page;
  int port = 0;
  Live* live = nullptr;
  std::atomic<bool> stopping{false};
  std::atomic<int> streams{0};
  std::thread thread;

  /// A page from elsewhere may reach us by its own name (DNS rebinding) or by ours (a form, a fetch): neither is heard.
  [[nodiscard]] bool is_allowed(const httplib::Request& request) const {
    const std::string named = request.get_header_value("Host"), origin = request.get_header_value("Origin");
    std::set<std::string> names = {in_brackets(host)};
    if (is_loopback(host)) names.insert({"127.0.0.1", "localhost", "[::1]"});
    const std::string suffix = ":" + std::to_string(port);
    const bool plain = port == 80 && names.count(named) > 0;  // the port that browsers leave out
    const bool own =
        plain || (named.ends_with(suffix) && names.count(named.substr(0, named.size() - suffix.size())) > 0);
    const bool open =
        host == "0.0.0.0" || host == "::";  // asked to listen to everybody: any name of this machine will do
    if (!open && !own) return false;
    return origin.empty() || origin == "http://" + named;
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
    const std::string snapshot = live->wait_for_snapshot(had.snapshot, kQuietMs);
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
                                {"Referrer-Policy", "no-referrer"}});
    server.set_pre_routing_handler([this](const httplib::Request& request, httplib::Response& response) {
      if (is_allowed(request)) return httplib::Server::HandlerResponse::Unhandled;
      response.status = 403;
      response.set_content("only pages of this server on this machine are answered\n", "text/plain");
      return httplib::Server::HandlerResponse::Handled;
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
      if (!text.empty() && (error != std::errc() || stop != text.data() + text.size())) {
        response.status = 400;
        response.set_content("step " + quote(text) + ": expected a whole number\n", "text/plain");
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
      if (request.get_header_value("Content-Type").rfind("application/json", 0) != 0) {
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
    const int first = wanted > 0 ? wanted : kFirstPort, tried = wanted > 0 ? 1 : kTriedPorts;
    for (int candidate = first; candidate < first + tried; ++candidate) {
      if (!server.bind_to_port(host, candidate)) continue;
      port = candidate;
      return;
    }
    throw Error("cannot listen at " + host + ", port " + std::to_string(first) +
                (tried > 1 ? " to " + std::to_string(first + tried - 1) : "") +
                ": taken, or no address of this machine; try --port or --host");
  }
};

Server::Server(const std::string& host, int port, std::string page, Live* live) : impl_(std::make_unique<Impl>()) {
  impl_->host = host;
  impl_->page = std::move(page);
  impl_->live = live;
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
  const bool open = impl_->host == "0.0.0.0" || impl_->host == "::";
  return "http://" + in_brackets(open ? "localhost" : impl_->host) + ":" + std::to_string(impl_->port) + "/";
}

void Server::stop() {
  impl_->stopping = true;
  impl_->server.stop();
  if (impl_->thread.joinable()) impl_->thread.join();
}

}  // namespace almond
