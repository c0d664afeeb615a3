#include "almond/view/slots.hpp"

#include <poll.h>

#include <algorithm>
#include <iterator>

namespace almond {

bool Slots::wait(int socket, short what, Time since, int timeout_ms) {
  constexpr int kLookEveryMs = 20;
  pollfd poll_socket{socket, what, 0};
  const auto ready = [&] { return (poll_socket.revents & what) != 0; };
  if (poll(&poll_socket, 1, 0) != 0) return ready();
  std::unique_lock lock(mutex_);
  const auto own = waiting_.insert(since);
  lock.unlock();
  int came = 0;
  for (int left = timeout_ms; came == 0 && left > 0; left -= kLookEveryMs) {
    came = poll(&poll_socket, 1, std::min(left, kLookEveryMs));
    if (came == 0 && is_needed(since)) break;
  }
  lock.lock();
  waiting_.erase(own);
  return came > 0 && ready();
}

bool Slots::is_needed(Time since) {
  constexpr std::ptrdiff_t kAtOnce = 8;  // so that a crowd is gone soon
  if (taken_ < count_) return false;
  const std::lock_guard lock(mutex_);
  const auto last = std::min(kAtOnce, static_cast<std::ptrdiff_t>(waiting_.size())) - 1;
  return since <= *std::next(waiting_.begin(), last);
}

}  // namespace almond
