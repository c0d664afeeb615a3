#include "almond/view/request_bytes.hpp"

#include <poll.h>
#include <sys/socket.h>

#include <algorithm>
#include <cctype>
#include <utility>

namespace almond {
namespace {

constexpr std::size_t kLongestLine = 8192 + 1;  // bytes: one more than the library takes, which then answers 414
constexpr int kSlowestWriteMs = 5000;
constexpr std::chrono::milliseconds kHearOut{500};

/// What is left of a time, in whole milliseconds, at least 0.
int left_ms(Slots::Time began, std::chrono::milliseconds all) {
  const auto left = began + all - std::chrono::steady_clock::now();
  return std::max(0, static_cast<int>(std::chrono::ceil<std::chrono::milliseconds>(left).count()));
}

}  // namespace

bool HeadCheck::pass(std::string_view bytes) {
  if (part_ == Part::kBody) return true;
  refused_ = refused_ || !std::all_of(bytes.begin(), bytes.end(), [this](char c) { return take(c); });
  return !refused_;
}

bool HeadCheck::take(char c) {
  const char before = std::exchange(last_, c);
  if (part_ == Part::kBody) return true;
  if (part_ == Part::kRequestLine && ++count_ > kLongestLine) return false;
  // A return is half of the end of a line; a NUL ends texts early for some who read them.
  const bool control = (c >= '\0' && c < ' ' && c != '\t' && c != '\r' && c != '\n') || c == 0x7f;
  if (control || (before == '\r' && c != '\n')) return false;
  if (part_ == Part::kName && (c == '\r' || before == '\r')) {  // the empty line
    if (c == '\n') part_ = Part::kBody;
    return before == (c == '\n' ? '\r' : '\n');
  }
  if (part_ == Part::kName && c == ':') {
    part_ = Part::kValue;
    return !name_.empty() && name_ != "range";
  }
  if (part_ == Part::kName) {
    name_ += static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
    return c > ' ' && c < 0x7f;
  }
  if (c != '\n') return true;
  const bool whole = before == '\r' || part_ == Part::kRequestLine;  // of its first line the library judges itself
  part_ = Part::kName;
  name_.clear();
  return whole;
}

ssize_t RequestBytes::read(char* to, std::size_t size) {
  if (at_ == got_) {
    const int left = left_ms(began_, kSlowestRequest);
    const std::size_t most = std::min(buffer_.size(), kLargestRequest - total_);
    if (most == 0 || left == 0 || !slots_.wait(socket_, POLLIN, began_, left)) return -1;
    const ssize_t count = recv(socket_, buffer_.data(), most, 0);
    if (count <= 0) return count;
    at_ = 0;
    got_ = static_cast<std::size_t>(count);
    total_ += got_;
  }
  const std::size_t count = std::min(size, got_ - at_);
  std::copy_n(buffer_.data() + at_, count, to);
  at_ += count;
  return static_cast<ssize_t>(count);
}

ssize_t RequestBytes::write(const char* from, std::size_t size) {
  constexpr std::size_t kStatusAt = std::string_view("HTTP/1.1 ").size();
  if (status_ <= '1' && size > kStatusAt) status_ = from[kStatusAt];  // an answer's headers are written at once
  return is_writable() ? send(socket_, from, size, MSG_NOSIGNAL) : -1;
}

bool RequestBytes::is_writable() const { return slots_.wait(socket_, POLLOUT, began_, kSlowestWriteMs); }

void hear_out(int socket, Slots& slots) {
  ::shutdown(socket, SHUT_WR);
  std::array<char, 4096> nowhere;
  const Slots::Time began = std::chrono::steady_clock::now();
  for (std::size_t total = 0; total < kMostHeard;) {
    if (!slots.wait(socket, POLLIN, began, left_ms(began, kHearOut))) return;
    const ssize_t count = recv(socket, nowhere.data(), nowhere.size(), 0);
    if (count <= 0) return;
    total += static_cast<std::size_t>(count);
  }
}

}  // namespace almond
