#include "almond/load/fields.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include "almond/base/check.hpp"
#include "almond/base/text.hpp"

namespace almond {
namespace {

constexpr std::int64_t kMaxInt = std::numeric_limits<int>::max() - 1;

std::string index_text(std::size_t i) { return "[" + std::to_string(i) + "]"; }

bool is_zero_or_any(std::int64_t extent) { return extent <= 0; }

/// JSON writes every array without values as [], of shape (0).
bool fits(const std::vector<std::int64_t>& shape, const std::vector<std::int64_t>& expected) {
  if (shape == std::vector<std::int64_t>{0}) return std::any_of(expected.begin(), expected.end(), is_zero_or_any);
  if (shape.size() != expected.size()) return false;
  for (std::size_t i = 0; i < shape.size(); ++i) {
    if (expected[i] >= 0 && shape[i] != expected[i]) return false;
  }
  return true;
}

/// Expected shape with "any" for free extents.
std::string expected_text(const std::vector<std::int64_t>& expected) {
  std::string text = "(";
  for (std::size_t i = 0; i < expected.size(); ++i) {
    text += (i > 0 ? ", " : "") + (expected[i] < 0 ? std::string("any") : std::to_string(expected[i]));
  }
  return text + ")";
}

Csr csr_from_dense(const std::vector<double>& values, int rows, int cols) {
  Csr matrix = Csr::empty(rows, cols);
  for (int row = 0; row < rows; ++row) {
    for (int col = 0; col < cols; ++col) {
      const double value =
          values[static_cast<std::size_t>(row) * static_cast<std::size_t>(cols) + static_cast<std::size_t>(col)];
      if (value == 0.0 && !std::signbit(value)) continue;
      matrix.column.push_back(col);
      matrix.value.push_back(value);
    }
    matrix.start[static_cast<std::size_t>(row) + 1] = static_cast<int>(matrix.column.size());
  }
  return matrix;
}

}  // namespace

std::string FieldReader::where(const std::string& name) const { return archive_.label() + ": field " + quote(name); }

std::vector<double> FieldReader::all_doubles(const std::string& name) const {
  const NpzArray& array = archive_.at(name);
  require(!array.is_text(), where(name) + ": text, expected numbers");
  std::vector<double> values;
  if (const auto* doubles = std::get_if<std::vector<double>>(&array.data)) {
    values = *doubles;
  } else if (const auto* longs = std::get_if<std::vector<std::int64_t>>(&array.data)) {
    values.reserve(longs->size());
    for (const std::int64_t value : *longs) values.push_back(static_cast<double>(value));
  } else {
    const auto& ints = std::get<std::vector<std::int32_t>>(array.data);
    values.assign(ints.begin(), ints.end());
  }
  for (std::size_t i = 0; i < values.size(); ++i) {
    if (!std::isfinite(values[i])) {
      throw Error(where(name) + index_text(i) + " = " + to_text(values[i]) + ", expected a finite number");
    }
  }
  return values;
}

std::vector<double> FieldReader::doubles(const std::string& name) const { return doubles(name, {-1}, "a vector"); }

std::vector<double> FieldReader::doubles(const std::string& name, const std::vector<std::int64_t>& shape,
                                         const std::string& meaning) const {
  const NpzArray& array = archive_.at(name);
  require(!array.is_text(), where(name) + ": text, expected numbers");
  require(fits(array.shape, shape),
          where(name) + ": shape " + shape_text(array.shape) + ", expected " + expected_text(shape) + ": " + meaning);
  return all_doubles(name);
}

std::vector<double> FieldReader::doubles_from(const std::string& name, std::int64_t size, double least, bool strict,
                                              const std::string& meaning) const {
  std::vector<double> values = doubles(name, {size}, meaning);
  for (std::size_t i = 0; i < values.size(); ++i) {
    if (strict ? values[i] > least : values[i] >= least) continue;
    throw Error(where(name) + index_text(i) + " = " + to_text(values[i]) + ", expected " + (strict ? "> " : ">= ") +
                to_text(least));
  }
  return values;
}

std::vector<int> FieldReader::integers(const std::string& name, const std::vector<std::int64_t>& shape,
                                       std::int64_t low, std::int64_t high, const std::string& meaning) const {
  const NpzArray& array = archive_.at(name);
  require(!array.is_text() && (!array.is_float() || array.size() == 0),
          where(name) + ": " + (array.is_text() ? "text" : "floating-point numbers") + ", expected integers");
  require(fits(array.shape, shape),
          where(name) + ": shape " + shape_text(array.shape) + ", expected " + expected_text(shape) + ": " + meaning);
  std::vector<int> values;
  values.reserve(static_cast<std::size_t>(array.size()));
  const auto append = [&](std::int64_t value) {
    if (value < low || value > high) {
      throw Error(where(name) + index_text(values.size()) + " = " + std::to_string(value) + ", expected " +
                  std::to_string(low) + " to " + std::to_string(high) + ": " + meaning);
    }
    values.push_back(static_cast<int>(value));
  };
  if (const auto* longs = std::get_if<std::vector<std::int64_t>>(&array.data)) {
    for (const std::int64_t value : *longs) append(value);
  } else if (const auto* ints = std::get_if<std::vector<std::int32_t>>(&array.data)) {
    for (const std::int32_t value : *ints) append(value);
  }
  return values;
}

Csr FieldReader::matrix(const std::string& name, std::int64_t rows, std::int64_t cols,
                        const std::string& meaning) const {
  if (!has(name) && has(name + "_data")) return csr(name, rows, cols, meaning);
  const std::vector<double> values = doubles(name, {rows, cols}, meaning);
  require(rows <= kMaxInt && cols <= kMaxInt && static_cast<std::int64_t>(values.size()) <= kMaxInt,
          where(name) + ": shape " + shape_text({rows, cols}) + " is too large");
  return csr_from_dense(values, static_cast<int>(rows), static_cast<int>(cols));
}

Csr FieldReader::csr(const std::string& name, std::int64_t rows, std::int64_t cols, const std::string& meaning) const {
  const std::vector<int> shape = integers(name + "_shape", {2}, 0, kMaxInt, "rows and columns");
  require(shape[0] == rows && shape[1] == cols, where(name + "_shape") + ": " + shape_text({shape[0], shape[1]}) +
                                                    ", expected " + expected_text({rows, cols}) + ": " + meaning);
  Csr matrix;
  matrix.rows = shape[0];
  matrix.cols = shape[1];
  matrix.value = doubles(name + "_data");
  const auto entries = static_cast<std::int64_t>(matrix.value.size());
  require(entries <= kMaxInt, where(name + "_data") + ": " + std::to_string(entries) + " values are too many");
  matrix.column = integers(name + "_indices", {entries}, 0, matrix.cols - 1, "one column per value");
  matrix.start =
      integers(name + "_indptr", {std::int64_t{matrix.rows} + 1}, 0, entries, "start of each row, and the end");
  const std::vector<int>& start = matrix.start;
  require(start.front() == 0 && start.back() == entries,
          where(name + "_indptr") + ": runs from " + std::to_string(start.front()) + " to " +
              std::to_string(start.back()) + ", expected 0 to " + std::to_string(entries));
  for (std::size_t row = 0; row + 1 < start.size(); ++row) {
    if (start[row] > start[row + 1]) {
      throw Error(where(name + "_indptr") + index_text(row + 1) + " = " + std::to_string(start[row + 1]) +
                  ", expected at least the value before, " + std::to_string(start[row]));
    }
  }
  return matrix;
}

std::string FieldReader::text(const std::string& name) const {
  const NpzArray& array = archive_.at(name);
  require(array.is_text(), where(name) + ": numbers, expected text");
  require(array.is_one_text(), where(name) + ": a list of texts, expected one");
  return std::get<std::string>(array.data);
}

}  // namespace almond
