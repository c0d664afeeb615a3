// The live page's server: whole requests in bytes, and what a page posts. Everything is answered, nothing is let in
// that does not name this server, and the simulation goes on.

#include "almond/base/check.hpp"
#include "almond/view/live_command.hpp"
#include "almond/view/server.hpp"
#include "fuzz/fuzz.hpp"
#include "view/live_world.hpp"

namespace almond::fuzz {
namespace {

struct Everything {
  Live live{testing::make_ball_world};
  Server server{"127.0.0.1", 0, "the page", &live};
};

std::string host(Everything& all) { return "127.0.0.1:" + std::to_string(all.server.port()); }

/// Seeds cannot know the port: HOST stands for the server's own name.
std::string with_host(std::string request, const std::string& name) {
  for (std::size_t at = request.find("HOST"); at != std::string::npos; at = request.find("HOST", at + name.size()))
    request.replace(at, 4, name);
  return request;
}

}  // namespace

void read_input(const std::string& input) {
  static Everything all;
  if (input.empty() || input[0] == '{') {
    static_cast<void>(parse_command(input));
    all.live.post(input);
    return;
  }
  constexpr std::size_t kMost = 4000;
  const std::string answer = all.server.rehearse(with_host(input, host(all)), kMost);
  check(answer.empty() || answer.compare(0, 7, "HTTP/1.") == 0, "an answer is one of HTTP");
  check(answer.find(" 206 ") != 8, "nobody gets parts of an answer");
  const bool named = input.find("HOST") != std::string::npos || input.find(host(all)) != std::string::npos ||
                     input.find("localhost") != std::string::npos || input.find("::1") != std::string::npos;
  check(named || answer.find(" 200 ") != 8, "who does not name this server gets nothing");
}

std::vector<std::string> make_seeds() {
  const std::string head = " HTTP/1.1\r\nHost: HOST\r\nOrigin: http://HOST\r\n";
  std::vector<std::string> seeds = {
      R"({"type":"play"})",
      R"({"type":"pause"})",
      R"({"type":"step"})",
      R"({"type":"reset"})",
      R"({"type":"defaults"})",
      R"({"type":"set","name":"gravity","value":1.62})",
      R"({"type":"set","name":"solver","value":"pgs"})",
      R"({"type":"set","name":"dt","value":0.001})",
      R"({"type":"drag","viewer":"a","body":0,"local":[0,0,0],"target":[0.3,0.2,0.6]})",
      R"({"type":"release","viewer":"a"})",
      "GET / HTTP/1.1\r\nHost: example.org\r\n\r\n",
      "POST /api/command" + head + "Content-Type: application/json\r\nContent-Length: 15\r\n\r\n{\"type\":\"step\"}",
      "POST /api/command" + head +
          "Content-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\nf\r\n{\"type\":\"step\"}\r\n0\r\n\r\n",
      "POST /api/command" + head +
          "Content-Type: application/json\r\nContent-Encoding: gzip\r\nContent-Length: 4\r\n\r\n\x1f\x8b\x08",
      "GET /api/controls" + head + "Sec-Fetch-Site: cross-site\r\nSec-Fetch-Mode: no-cors\r\n\r\n",
      "GET /../../etc/passwd" + head + "\r\n",
      "GET /api/controls HTTP/1.1\r\nHost : example.org\r\nHost: HOST\r\n\r\n",
      "GET /api/controls" + head + " folded\r\n\r\n",
      "GET /api/problem.npz?step=3" + head + "Range: bytes=0-10,20-30\r\nAccept-Encoding: gzip\r\n\r\n",
  };
  std::string parts = "0-";
  for (int i = 0; i < 2600; ++i) parts += ",0-";
  seeds.push_back("GET /" + head + "Range: bytes=" + parts + "\r\n\r\n");
  for (const char* path : {"/", "/api/scene", "/api/controls", "/api/step", "/api/stream", "/?token=x"})
    seeds.push_back(std::string("GET ") + path + head + "Cookie: a=b; almond_1=2\r\n\r\n");
  return seeds;
}

}  // namespace almond::fuzz
