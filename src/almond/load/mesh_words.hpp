#pragma once
// Words and numbers of a text, whatever the locale.

#include <charconv>
#include <optional>
#include <string_view>

namespace almond {

/// Cuts the first word off, empty at the end.
inline std::string_view next_word(std::string_view& text) {
  constexpr std::string_view kSpace = " \t\r\n\f\v";
  const std::size_t begin = text.find_first_not_of(kSpace);
  if (begin == std::string_view::npos) {
    text = {};
    return {};
  }
  const std::size_t end = text.find_first_of(kSpace, begin);
  const std::string_view word = text.substr(begin, end == std::string_view::npos ? end : end - begin);
  text = end == std::string_view::npos ? std::string_view() : text.substr(end);
  return word;
}

/// Cuts the first line off, without its end.
inline std::string_view next_line(std::string_view& text) {
  const std::size_t end = text.find('\n');
  const std::string_view line = text.substr(0, end);
  text = end == std::string_view::npos ? std::string_view() : text.substr(end + 1);
  return line;
}

/// The whole word as a number, or nothing. 1e-999 is 0.
template <class Number>
std::optional<Number> to_number(std::string_view word) {
  if (!word.empty() && word[0] == '+') word.remove_prefix(1);
  Number value{};
  const auto [end, code] = std::from_chars(word.data(), word.data() + word.size(), value);
  const bool tiny = code == std::errc::result_out_of_range && word.find("e-") != std::string_view::npos;
  if (tiny && end == word.data() + word.size()) return Number{};
  if (code != std::errc() || end != word.data() + word.size()) return std::nullopt;
  return value;
}

}  // namespace almond
