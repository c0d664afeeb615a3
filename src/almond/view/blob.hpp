#pragma once
// The bytes of a replay: a header in JSON that refers to arrays of numbers behind it.

#include <cstdint>
#include <string>
#include <vector>

namespace almond {

/// How an array of integers is packed so that it compresses well.
struct Packing {
  std::size_t delta = 0;  // each element as its difference to the one so many before; 0: as it is
  double scale = 1.0;     // value of one
};

/// Where an array lies, and how to read it.
struct ArrayPlace {
  const char* type = "";  // f64, f32, i32, u32, i16, u8
  std::size_t offset = 0, length = 0;
  Packing packing;
};

/// Arrays one after the other, each at a multiple of 8 bytes. Packed ones are stored byte plane by byte plane.
class Sections {
 public:
  ArrayPlace add(const std::vector<double>& values);
  ArrayPlace add(const std::vector<float>& values);
  ArrayPlace add(const std::vector<std::uint32_t>& values);
  ArrayPlace add(const std::vector<std::uint8_t>& values);
  ArrayPlace add(const std::vector<std::int32_t>& values, const Packing& packing);
  ArrayPlace add(const std::vector<std::int16_t>& values, const Packing& packing);
  [[nodiscard]] const std::string& bytes() const { return bytes_; }

 private:
  std::string bytes_;
};

/// Magic, header, sections; not compressed.
[[nodiscard]] std::string make_blob(std::string header, const Sections& sections);

[[nodiscard]] std::string gzip(const std::string& bytes);
/// Throws Error (prefixed with `label`) when it is no gzip stream, or one of more than `most` bytes.
[[nodiscard]] std::string gunzip(const std::string& bytes, std::size_t most, const std::string& label);
[[nodiscard]] std::string to_base64(const std::string& bytes);
/// Throws Error (prefixed with `label`) at a character that does not belong.
[[nodiscard]] std::string from_base64(const std::string& text, const std::string& label);

}  // namespace almond
