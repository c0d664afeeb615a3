#include "almond/view/blob.hpp"

#include <zlib.h>

#include <array>
#include <bit>
#include <cstring>
#include <type_traits>

#include "almond/base/check.hpp"

namespace almond {
namespace {

static_assert(std::endian::native == std::endian::little, "replays are little endian");

constexpr int kGzip = 15 + 16;  // zlib: the largest window, with a gzip header

std::size_t pad(std::string& bytes) {
  bytes.resize((bytes.size() + 7) / 8 * 8, '\0');
  return bytes.size();
}

template <class T>
ArrayPlace append(const char* type, const std::vector<T>& values, std::string& bytes) {
  const std::size_t offset = pad(bytes);
  bytes.append(reinterpret_cast<const char*>(values.data()), values.size() * sizeof(T));
  return {type, offset, values.size(), {}};
}

/// Differences wrap around, so that they always fit.
template <class T>
ArrayPlace append_packed(const char* type, const std::vector<T>& values, const Packing& packing, std::string& bytes) {
  using Unsigned = std::make_unsigned_t<T>;
  const std::size_t offset = pad(bytes), count = values.size();
  bytes.resize(offset + count * sizeof(T));
  for (std::size_t i = 0; i < count; ++i) {
    const bool first = packing.delta == 0 || i < packing.delta;
    const auto difference = static_cast<Unsigned>(
        static_cast<Unsigned>(values[i]) - (first ? Unsigned{0} : static_cast<Unsigned>(values[i - packing.delta])));
    for (std::size_t b = 0; b < sizeof(T); ++b)
      bytes[offset + b * count + i] = static_cast<char>(difference >> (8 * b) & 0xff);
  }
  return {type, offset, count, packing};
}

}  // namespace

ArrayPlace Sections::add(const std::vector<double>& values) { return append("f64", values, bytes_); }
ArrayPlace Sections::add(const std::vector<float>& values) { return append("f32", values, bytes_); }
ArrayPlace Sections::add(const std::vector<std::uint32_t>& values) { return append("u32", values, bytes_); }
ArrayPlace Sections::add(const std::vector<std::uint8_t>& values) { return append("u8", values, bytes_); }
ArrayPlace Sections::add(const std::vector<std::int32_t>& values, const Packing& packing) {
  return append_packed("i32", values, packing, bytes_);
}
ArrayPlace Sections::add(const std::vector<std::int16_t>& values, const Packing& packing) {
  return append_packed("i16", values, packing, bytes_);
}

std::string make_blob(std::string header, const Sections& sections) {
  constexpr std::size_t kFront = 12;  // magic and length
  header.resize((kFront + header.size() + 7) / 8 * 8 - kFront, ' ');
  const auto length = static_cast<std::uint32_t>(header.size());
  std::string bytes = "almondR1";
  bytes.append(reinterpret_cast<const char*>(&length), sizeof length);
  return bytes + header + sections.bytes();
}

std::string gzip(const std::string& bytes) {
  z_stream stream{};
  require(deflateInit2(&stream, Z_DEFAULT_COMPRESSION, Z_DEFLATED, kGzip, 8, Z_DEFAULT_STRATEGY) == Z_OK,
          "zlib cannot start");
  std::string out;
  std::array<unsigned char, 1 << 16> buffer;
  std::size_t at = 0;
  int state = Z_OK;
  while (state != Z_STREAM_END) {  // in pieces: zlib counts in 32 bits
    const std::size_t piece = std::min<std::size_t>(bytes.size() - at, 1U << 30);
    if (stream.avail_in == 0 && piece > 0) {
      stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(bytes.data() + at));
      stream.avail_in = static_cast<uInt>(piece);
      at += piece;
    }
    stream.next_out = buffer.data();
    stream.avail_out = buffer.size();
    state = deflate(&stream, at == bytes.size() ? Z_FINISH : Z_NO_FLUSH);
    out.append(reinterpret_cast<char*>(buffer.data()), buffer.size() - stream.avail_out);
  }
  deflateEnd(&stream);
  return out;
}

std::string gunzip(const std::string& bytes, std::size_t most, const std::string& label) {
  z_stream stream{};
  require(inflateInit2(&stream, kGzip) == Z_OK, "zlib cannot start");
  stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(bytes.data()));
  stream.avail_in = static_cast<uInt>(std::min<std::size_t>(bytes.size(), ~uInt{0}));
  std::string out;
  std::array<unsigned char, 1 << 16> buffer;
  int state = Z_OK;
  while (state == Z_OK && out.size() <= most) {
    stream.next_out = buffer.data();
    stream.avail_out = buffer.size();
    state = inflate(&stream, Z_NO_FLUSH);
    out.append(reinterpret_cast<char*>(buffer.data()), buffer.size() - stream.avail_out);
  }
  inflateEnd(&stream);
  require(out.size() <= most, label + ": more than " + std::to_string(most) + " bytes when unpacked");
  require(state == Z_STREAM_END, label + ": damaged, expected a whole gzip stream");
  return out;
}

namespace {
constexpr char kDigits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
}  // namespace

std::string to_base64(const std::string& bytes) {
  std::string text;
  text.reserve((bytes.size() + 2) / 3 * 4);
  for (std::size_t i = 0; i < bytes.size(); i += 3) {
    std::uint32_t word = 0;
    const std::size_t count = std::min<std::size_t>(3, bytes.size() - i);
    for (std::size_t k = 0; k < 3; ++k) word = word << 8 | (k < count ? static_cast<unsigned char>(bytes[i + k]) : 0U);
    for (std::size_t k = 0; k < 4; ++k) text += k <= count ? kDigits[word >> (18 - 6 * k) & 63] : '=';
  }
  return text;
}

std::string from_base64(const std::string& text, const std::string& label) {
  std::array<int, 256> value;
  value.fill(-1);
  for (int i = 0; i < 64; ++i) value[static_cast<unsigned char>(kDigits[i])] = i;
  std::string bytes;
  bytes.reserve(text.size() / 4 * 3);
  std::uint32_t word = 0;
  int bits = 0;
  for (const char c : text) {
    if (c == '=' || c == '\n' || c == '\r' || c == ' ') continue;
    const int digit = value[static_cast<unsigned char>(c)];
    require(digit >= 0, label + ": damaged, expected base64");
    word = word << 6 | static_cast<std::uint32_t>(digit);
    bits += 6;
    if (bits < 8) continue;
    bits -= 8;
    bytes += static_cast<char>(word >> bits & 0xff);
  }
  return bytes;
}

}  // namespace almond
