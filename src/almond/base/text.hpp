#pragma once
// Words for error lines: quoting of foreign names, shapes, and the nearest known name.

#include <cstdint>
#include <string>
#include <vector>

namespace almond {

/// "name" in double quotes, with control and non-ASCII bytes as \xNN and long names cut: safe on one line.
[[nodiscard]] std::string quote(const std::string& name);

/// The whole name for a terminal: what would move its cursor, colour it or begin a line is written as \xNN, and so is
/// what is no UTF-8; letters of any language stay.
[[nodiscard]] std::string printable(const std::string& name);

/// (3, 4), or () for a scalar.
[[nodiscard]] std::string shape_text(const std::vector<std::int64_t>& shape);

/// The candidate with the smallest edit distance (ignoring case) if it is close, else an empty string.
[[nodiscard]] std::string nearest_name(const std::string& name, const std::vector<std::string>& candidates);

}  // namespace almond
