#pragma once
// The bytes of one HTTP request and of its answer, over a socket. The library that reads them limits the body it is
// told of in advance, but neither one that comes in chunks nor the number of headers: here all of a request is counted,
// and has to be there in time.

#include <sys/types.h>

#include <array>
#include <chrono>
#include <cstddef>
#include <string>
#include <string_view>

#include "almond/view/slots.hpp"

namespace almond {

inline constexpr std::size_t kLargestCommand = 65536;                    // bytes
inline constexpr std::size_t kLargestRequest = kLargestCommand + 16384;  // bytes, with all headers
inline constexpr std::size_t kMostHeard = 1 << 20;                       // bytes of a refused one that are taken
inline constexpr std::chrono::seconds kSlowestRequest{10};               // from its first byte to its last

/// Reads a request's head along. Refused is what the library would leave out without a word, so that others may read
/// the request differently: lines that are no `Name: value`, folded ones, spaces before the colon and control
/// characters among them. So is Range: the library takes several MB of stack to read one, and answers it in memory,
/// each of its parts anew.
class HeadCheck {
 public:
  /// False where the head is refused.
  bool pass(std::string_view bytes);
  [[nodiscard]] bool is_refused() const { return refused_; }
  /// Whether the first line has not ended yet.
  [[nodiscard]] bool is_in_request_line() const { return part_ == Part::kRequestLine; }

 private:
  bool take(char c);

  enum class Part { kRequestLine, kName, kValue, kBody } part_ = Part::kRequestLine;
  std::string name_;       // in small letters
  std::size_t count_ = 0;  // of the first line
  char last_ = '\0';
  bool refused_ = false;
};

class RequestBytes {
 public:
  RequestBytes(int socket, Slots& slots) : socket_(socket), slots_(slots) {}

  /// As recv() and send(); -1 as well when a limit is reached.
  ssize_t read(char* to, std::size_t size);
  ssize_t write(const char* from, std::size_t size);
  [[nodiscard]] bool is_writable() const;
  [[nodiscard]] int socket() const { return socket_; }
  /// Whether the next request has begun to come with this one.
  [[nodiscard]] bool has_more() const { return at_ < got_; }
  /// Whether the answer is an error: the request may not have been read to its end, so what follows need not be one.
  [[nodiscard]] bool is_refused() const { return status_ >= '4'; }

 private:
  int socket_;
  Slots& slots_;
  std::array<char, 4096> buffer_;
  std::size_t at_ = 0, got_ = 0, total_ = 0;
  char status_ = '0';  // the answer's first digit; '1' asks the other side to go on, and the answer is yet to come
  const Slots::Time began_ = std::chrono::steady_clock::now();
};

/// Says that no more is coming, and reads what does, for half a second at most. Closing while the other side still
/// sends would reset the connection, and might take the answer with it.
void hear_out(int socket, Slots& slots);

}  // namespace almond
