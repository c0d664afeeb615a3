#pragma once
// A fuzz target is one file fuzz_NAME.cpp with two functions: what it reads, and inputs to start from. fuzz_main.cpp
// makes a program of it: with libFuzzer (make fuzz), or with any compiler, where it goes through the seeds, the kept
// findings and some thousand mutations of both (ctest -R fuzz).
//
// A target has to end with no more than an almond::Error of one line. Everything else is a finding: another exception,
// what a sanitizer sees, a check() that fails, time or memory out of proportion.

#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>
#include <vector>

namespace almond::fuzz {

/// Defined by each target.
void read_input(const std::string& input);
std::vector<std::string> make_seeds();

/// Ends the program with a word on what does not hold.
void check(bool holds, const char* what);

/// How many inputs ended with an Error so far.
std::size_t& refused();

/// Numbers and texts out of an input; zeros behind its end.
class Bytes {
 public:
  explicit Bytes(std::string_view input) : rest_(input) {}

  template <class T>
  T take() {
    T value{};
    const std::size_t count = rest_.size() < sizeof(T) ? rest_.size() : sizeof(T);
    std::memcpy(&value, rest_.data(), count);
    rest_.remove_prefix(count);
    return value;
  }
  /// 0 to `most`.
  int pick(int most) { return take<std::uint8_t>() % (most + 1); }
  bool flip() { return (take<std::uint8_t>() & 1U) != 0; }
  [[nodiscard]] bool empty() const { return rest_.empty(); }
  [[nodiscard]] std::string rest() const { return std::string(rest_); }

 private:
  std::string_view rest_;
};

/// A folder of this process, made when it is first asked for and removed in the end.
const std::string& own_folder();

/// The text of a file of this repository, by its path in it.
std::string repository_file(const std::string& path);

}  // namespace almond::fuzz
