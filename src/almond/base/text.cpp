#include "almond/base/text.hpp"

#include <algorithm>
#include <cctype>
#include <cstdio>

namespace almond {
namespace {

constexpr std::size_t kMaxQuoted = 64;

std::size_t edit_distance(const std::string& a, const std::string& b) {
  std::vector<std::size_t> row(b.size() + 1);
  for (std::size_t j = 0; j <= b.size(); ++j) row[j] = j;
  const auto lower = [](char c) { return std::tolower(static_cast<unsigned char>(c)); };
  for (std::size_t i = 1; i <= a.size(); ++i) {
    std::size_t diagonal = row[0];
    row[0] = i;
    for (std::size_t j = 1; j <= b.size(); ++j) {
      const std::size_t substituted = diagonal + (lower(a[i - 1]) == lower(b[j - 1]) ? 0 : 1);
      diagonal = row[j];
      row[j] = std::min({row[j] + 1, row[j - 1] + 1, substituted});
    }
  }
  return row[b.size()];
}

std::string as_hex(unsigned char byte) {
  char text[8];
  std::snprintf(text, sizeof text, "\\x%02x", byte);
  return text;
}

/// Characters that say nothing themselves but order others: control characters, ends of lines, directions of reading.
bool is_order(std::uint32_t c) {
  const bool control = c < 0x20 || (c >= 0x7f && c < 0xa0);
  const bool ends_line = c == 0x2028 || c == 0x2029;
  const bool turns =
      c == 0x061c || c == 0x200e || c == 0x200f || (c >= 0x202a && c <= 0x202e) || (c >= 0x2066 && c <= 0x2069);
  return control || ends_line || turns;
}

/// Bytes of the character that begins at `i`; 0: no UTF-8, or nothing to be seen but an order to the terminal.
std::size_t visible_bytes(const std::string& text, std::size_t i) {
  constexpr std::uint32_t kLeast[] = {0, 0, 0x80, 0x800, 0x10000};  // of 2 to 4 bytes: less is not written with so many
  const auto byte = [&](std::size_t k) { return static_cast<unsigned char>(i + k < text.size() ? text[i + k] : '\0'); };
  const std::uint32_t lead = byte(0);
  const std::size_t count = lead >= 0xf0 ? 4 : lead >= 0xe0 ? 3 : lead >= 0xc0 ? 2 : 1;
  if ((lead >= 0x80 && lead < 0xc0) || lead >= 0xf8) return 0;
  std::uint32_t c = count == 1 ? lead : lead & (0x7fU >> count);
  for (std::size_t k = 1; k < count; ++k) {
    if ((byte(k) & 0xc0) != 0x80) return 0;
    c = c << 6 | (byte(k) & 0x3f);
  }
  const bool surrogate = c >= 0xd800 && c < 0xe000;
  return c < kLeast[count] || c > 0x10ffff || surrogate || is_order(c) ? 0 : count;
}

}  // namespace

std::string printable(const std::string& name) {
  std::string text;
  for (std::size_t i = 0; i < name.size();) {
    const std::size_t count = visible_bytes(name, i);
    text += count > 0 ? name.substr(i, count) : as_hex(static_cast<unsigned char>(name[i]));
    i += std::max<std::size_t>(1, count);
  }
  return text;
}

std::string quote(const std::string& name) {
  std::string text = "\"";
  for (std::size_t i = 0; i < std::min(name.size(), kMaxQuoted); ++i) {
    const auto c = static_cast<unsigned char>(name[i]);
    if (c >= 0x20 && c < 0x7f) {
      text += static_cast<char>(c);
    } else {
      text += as_hex(c);
    }
  }
  if (name.size() > kMaxQuoted) text += "...";
  return text + "\"";
}

std::string shape_text(const std::vector<std::int64_t>& shape) {
  std::string text = "(";
  for (std::size_t i = 0; i < shape.size(); ++i) {
    if (i == 6) {
      text += ", ...";
      break;
    }
    text += (i > 0 ? ", " : "") + std::to_string(shape[i]);
  }
  return text + ")";
}

std::string nearest_name(const std::string& name, const std::vector<std::string>& candidates) {
  if (name.size() > kMaxQuoted) return {};
  std::string best;
  std::size_t best_distance = std::max<std::size_t>(1, name.size() / 2) + 1;
  for (const std::string& candidate : candidates) {
    if (candidate.size() > 2 * kMaxQuoted) continue;
    const std::size_t distance = edit_distance(name, candidate);
    if (distance < best_distance) {
      best_distance = distance;
      best = candidate;
    }
  }
  return best;
}

}  // namespace almond
