#pragma once
// The threads that serve connections. When all are taken, the connections that have been waited for longest are given
// up, so that nobody keeps others out by sending half of a request, or by not taking the answer.

#include <atomic>
#include <chrono>
#include <mutex>
#include <set>

namespace almond {

class Slots {
 public:
  using Time = std::chrono::steady_clock::time_point;

  explicit Slots(int count) : count_(count) {}

  /// Whether a socket became ready (`what`: POLLIN or POLLOUT) within the time. False as well when the thread is needed
  /// for others: all are taken, and of those that wait for somebody, few have done so since an earlier `since`.
  [[nodiscard]] bool wait(int socket, short what, Time since, int timeout_ms);

  /// One thread, for as long as it serves a connection.
  class Taken {
   public:
    explicit Taken(Slots& slots) : slots_(slots) { ++slots_.taken_; }
    ~Taken() { --slots_.taken_; }
    Taken(const Taken&) = delete;
    Taken& operator=(const Taken&) = delete;

   private:
    Slots& slots_;
  };

 private:
  [[nodiscard]] bool is_needed(Time since);

  const int count_;
  std::atomic<int> taken_{0};
  std::mutex mutex_;             // of waiting_
  std::multiset<Time> waiting_;  // since when, of each that waits
};

}  // namespace almond
