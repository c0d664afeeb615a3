#pragma once
// A live simulation, or a file, for browsers on this machine.
//
//   GET  /               the page
//   GET  /api/scene      the scene as it is now: the bytes of a replay with one frame
//   GET  /api/stream     server-sent events, one snapshot each; "event: scene" when the scene is another one,
//                        "event: controls" with the controls when somebody set one
//   GET  /api/controls   choices and sliders
//   GET  /api/step       the last step: contacts, traces of two solvers
//   GET  /api/problem.npz   the problem of the last step; ?step=N: of one that /api/step told of lately
//   POST /api/command    as Live::post() takes it
//
// Requests that name another host, or come from a page of another origin, are refused: no web site that happens to be
// open in the same browser can look in or push anything. Bound to another address than this machine's own, it answers
// only to who has its token: as ?token= of the page, which then has it as a cookie, or as Authorization: Bearer. Bound
// to all addresses (0.0.0.0, ::) it takes requests by any name, but still with the token alone. A request may have 80
// kB in all and take 10 seconds to come, less when all threads are taken (slots.hpp). Headers that decide about it come
// once, a body states its length first, and a refusal ends the connection (request_bytes.hpp).

#include <memory>
#include <string>

#include "almond/view/live.hpp"

namespace almond {

class Server {
 public:
  /// Listens at once. Port 0: the first free one from 8137. Throws Error when the address cannot be had.
  Server(const std::string& host, int port, std::string page, Live* live);
  ~Server();
  Server(const Server&) = delete;
  Server& operator=(const Server&) = delete;

  [[nodiscard]] int port() const;
  [[nodiscard]] std::string address() const;  // http://127.0.0.1:8137/, with ?token=... where one is needed
  /// The answer to the bytes of one request, without a network: for tests. A longer answer than `most` is cut off.
  [[nodiscard]] std::string rehearse(const std::string& request, std::size_t most);
  void stop();

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace almond
