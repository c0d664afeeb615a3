#pragma once
// SHA-256 (FIPS 180-4): names for content that nobody can make collide, not even who writes the files.

#include <array>
#include <cstdint>
#include <string_view>

namespace almond {

class Sha256 {
 public:
  void add(std::string_view bytes);
  /// Ends the text; the object is of no use afterwards.
  [[nodiscard]] std::array<std::uint8_t, 32> finish();

 private:
  void add_block(const std::uint8_t* block);
  std::array<std::uint32_t, 8> state_{0x6a09e667, 0xbb67ae85, 0x3c6ef372, 0xa54ff53a,
                                      0x510e527f, 0x9b05688c, 0x1f83d9ab, 0x5be0cd19};
  std::array<std::uint8_t, 64> rest_{};
  std::uint64_t length_ = 0;  // [bytes]
};

}  // namespace almond
