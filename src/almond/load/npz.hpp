#pragma once
// Named NumPy arrays in a .npz file (or, with the same content, a JSON object): what problem files are made of.
//
// Read: stored or deflated members; little-endian float64/32, signed and unsigned integers up to 64 bits, bool, byte
// and Unicode text; C and Fortran order. Written: C order, float64, int64, int32, byte text, lists of Unicode texts.

#include <cstdint>
#include <map>
#include <string>
#include <variant>
#include <vector>

#include "almond/base/types.hpp"

namespace almond {

/// One array in C order. Other number types are widened to double or int64 on reading.
struct NpzArray {
  using Data = std::variant<std::vector<double>, std::vector<std::int64_t>, std::vector<std::int32_t>, std::string,
                            std::vector<std::string>>;  // texts in UTF-8
  std::vector<std::int64_t> shape;                      // () for a scalar or a text
  Data data;

  NpzArray() = default;
  NpzArray(std::vector<std::int64_t> array_shape, Data values)
      : shape(std::move(array_shape)), data(std::move(values)) {}
  explicit NpzArray(const VecX& vector);
  explicit NpzArray(std::string text) : data(std::move(text)) {}
  explicit NpzArray(std::vector<std::string> texts)
      : shape{static_cast<std::int64_t>(texts.size())}, data(std::move(texts)) {}

  /// One text or a list of them.
  [[nodiscard]] bool is_text() const { return is_one_text() || std::holds_alternative<std::vector<std::string>>(data); }
  [[nodiscard]] bool is_one_text() const { return std::holds_alternative<std::string>(data); }
  [[nodiscard]] bool is_float() const { return std::holds_alternative<std::vector<double>>(data); }
  [[nodiscard]] std::int64_t size() const;  // number of values, 1 for a text
};

/// Arrays by name. Names are sorted, so equal content gives equal bytes.
class NpzArchive {
 public:
  /// Throws Error naming the file, the member and what is wrong with it.
  [[nodiscard]] static NpzArchive read(const std::string& path);
  [[nodiscard]] static NpzArchive from_bytes(const std::string& bytes, const std::string& label);
  [[nodiscard]] static NpzArchive from_json(const std::string& text, const std::string& label);

  [[nodiscard]] bool has(const std::string& name) const { return arrays_.count(name) > 0; }
  /// Throws Error with the nearest name when it is not there.
  [[nodiscard]] const NpzArray& at(const std::string& name) const;
  [[nodiscard]] std::vector<std::string> names() const;
  [[nodiscard]] const std::string& label() const { return label_; }

  void set(const std::string& name, NpzArray array) { arrays_[name] = std::move(array); }
  /// Written under a temporary name first, then renamed.
  void write(const std::string& path) const;
  [[nodiscard]] std::string to_bytes(const std::string& label) const;
  /// Throws Error when a value is not finite: JSON has no such numbers.
  [[nodiscard]] std::string to_json(const std::string& label) const;

 private:
  std::map<std::string, NpzArray> arrays_;
  std::string label_;
};

}  // namespace almond
