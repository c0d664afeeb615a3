#include "almond/load/zip.hpp"

#include <zlib.h>

#include <algorithm>
#include <cstdint>
#include <limits>

#include "almond/base/check.hpp"
#include "almond/base/text.hpp"
#include "almond/load/file_io.hpp"

namespace almond {
namespace {

constexpr std::uint32_t kLocalHeader = 0x04034b50, kCentralHeader = 0x02014b50, kEndRecord = 0x06054b50;
constexpr std::size_t kLocalSize = 30, kCentralSize = 46, kEndSize = 22;
constexpr std::uint16_t kStored = 0, kDeflated = 8;
// No deflate stream expands by more than 1032; a larger claim is a lie, and is refused before memory is asked for.
constexpr std::uint64_t kMaxExpansion = 1032;

/// Little-endian numbers out of a byte string; the caller has checked that they are inside.
std::uint32_t read_u32(const std::string& bytes, std::size_t at) {
  std::uint32_t value = 0;
  for (std::size_t i = 4; i-- > 0;) value = value << 8 | static_cast<unsigned char>(bytes[at + i]);
  return value;
}

std::uint16_t read_u16(const std::string& bytes, std::size_t at) {
  return static_cast<std::uint16_t>(static_cast<unsigned char>(bytes[at]) | static_cast<unsigned char>(bytes[at + 1])
                                                                                << 8);
}

void append_u32(std::string& bytes, std::uint32_t value) {
  for (int i = 0; i < 4; ++i) bytes += static_cast<char>(value >> (8 * i) & 0xff);
}

void append_u16(std::string& bytes, std::uint16_t value) {
  for (int i = 0; i < 2; ++i) bytes += static_cast<char>(value >> (8 * i) & 0xff);
}

std::uint32_t crc_of(const std::string& bytes) {
  return static_cast<std::uint32_t>(
      crc32_z(0, reinterpret_cast<const Bytef*>(bytes.data()), static_cast<z_size_t>(bytes.size())));
}

std::string where_of(const ZipEntry& entry, const std::string& label) {
  return label + ": member " + quote(entry.name);
}

/// The first `size` bytes of a deflated member.
std::string inflate_start(const char* packed, const ZipEntry& entry, std::size_t size, const std::string& where) {
  std::string out(size, '\0');
  z_stream stream{};
  require(inflateInit2(&stream, -MAX_WBITS) == Z_OK, where + ": zlib cannot start");
  // zlib's interface is not const-correct; it does not write to the input.
  stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(packed));
  stream.avail_in = static_cast<uInt>(entry.packed_size);
  stream.next_out = reinterpret_cast<Bytef*>(out.data());
  stream.avail_out = static_cast<uInt>(size);
  const int code = inflate(&stream, Z_FINISH);
  const bool complete = stream.avail_out == 0 && (code == Z_STREAM_END || size < entry.size);
  inflateEnd(&stream);
  require(complete, where + ": the packed data are damaged");
  return out;
}

/// Position of the end-of-central-directory record, searched from the end (a comment of up to 64 KiB may follow it).
std::size_t find_end_record(const std::string& bytes, const std::string& label) {
  require(bytes.size() >= kEndSize,
          label + ": has " + std::to_string(bytes.size()) + " bytes, too short for a .npz (zip) file");
  const std::size_t last = bytes.size() - kEndSize;
  const std::size_t first = last > 0xffff ? last - 0xffff : 0;
  for (std::size_t at = last + 1; at-- > first;) {
    if (read_u32(bytes, at) == kEndRecord) return at;
  }
  throw Error(label + ": no zip directory found; the file is truncated or not a .npz file");
}

ZipEntry read_entry(const std::string& bytes, std::size_t central, std::size_t name_length, const std::string& label) {
  ZipEntry entry;
  entry.name = bytes.substr(central + kCentralSize, name_length);
  const std::string where = where_of(entry, label);
  const std::uint16_t flags = read_u16(bytes, central + 8), method = read_u16(bytes, central + 10);
  const std::uint32_t local = read_u32(bytes, central + 42);
  entry.crc = read_u32(bytes, central + 16);
  entry.packed_size = read_u32(bytes, central + 20);
  entry.size = read_u32(bytes, central + 24);
  entry.deflated = method == kDeflated;
  require((flags & 1) == 0, where + ": is encrypted, expected plain data");
  require(method == kStored || method == kDeflated,
          where + ": compression method " + std::to_string(method) + ", expected 0 (stored) or 8 (deflated)");
  require(local <= bytes.size() && bytes.size() - local >= kLocalSize && read_u32(bytes, local) == kLocalHeader,
          where + ": its local header is damaged");
  // The local header repeats the sizes, possibly as zip64; only the lengths that say where the data start are needed.
  entry.start = std::size_t{local} + kLocalSize + read_u16(bytes, local + 26) + read_u16(bytes, local + 28);
  require(entry.start <= bytes.size() && bytes.size() - entry.start >= entry.packed_size,
          where + ": " + std::to_string(entry.packed_size) + " bytes are announced, the file ends before");
  require(entry.deflated || entry.size == entry.packed_size,
          where + ": stored size " + std::to_string(entry.packed_size) + " differs from " + std::to_string(entry.size));
  require(entry.size <= kMaxExpansion * entry.packed_size + 64, where + ": claims " + std::to_string(entry.size) +
                                                                    " bytes from " + std::to_string(entry.packed_size) +
                                                                    " packed ones");
  return entry;
}

std::string deflate_bytes(const std::string& bytes, const std::string& label) {
  z_stream stream{};
  require(deflateInit2(&stream, Z_DEFAULT_COMPRESSION, Z_DEFLATED, -MAX_WBITS, 8, Z_DEFAULT_STRATEGY) == Z_OK,
          label + ": zlib cannot start");
  std::string packed(deflateBound(&stream, static_cast<uLong>(bytes.size())), '\0');
  stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(bytes.data()));
  stream.avail_in = static_cast<uInt>(bytes.size());
  stream.next_out = reinterpret_cast<Bytef*>(packed.data());
  stream.avail_out = static_cast<uInt>(packed.size());
  const int code = deflate(&stream, Z_FINISH);
  packed.resize(stream.total_out);
  deflateEnd(&stream);
  require(code == Z_STREAM_END, label + ": zlib cannot pack the data");
  return packed;
}

/// The fields that local and central headers share: version needed .. extra length.
void append_common(std::string& out, const ZipMember& member, std::uint16_t method, std::size_t packed_size) {
  append_u16(out, 20);
  append_u16(out, 0);
  append_u16(out, method);
  append_u16(out, 0);
  append_u16(out, 0x21);  // 1 January 1980: equal content gives equal bytes
  append_u32(out, crc_of(member.bytes));
  append_u32(out, static_cast<std::uint32_t>(packed_size));
  append_u32(out, static_cast<std::uint32_t>(member.bytes.size()));
  append_u16(out, static_cast<std::uint16_t>(member.name.size()));
  append_u16(out, 0);
}

}  // namespace

std::vector<ZipEntry> list_zip(const std::string& bytes, const std::string& label) {
  const std::size_t end = find_end_record(bytes, label);
  const std::size_t count = read_u16(bytes, end + 10);
  std::size_t at = read_u32(bytes, end + 16);
  // All that is claimed is added up before memory is asked for: members may share their packed data, and would
  // otherwise multiply without end.
  std::vector<std::size_t> places;
  std::uint64_t total = 0;
  for (std::size_t i = 0; i < count; ++i) {
    require(at <= end && end - at >= kCentralSize && read_u32(bytes, at) == kCentralHeader,
            label + ": zip directory is damaged at entry " + std::to_string(i) + " of " + std::to_string(count));
    const std::size_t length =
        kCentralSize + read_u16(bytes, at + 28) + read_u16(bytes, at + 30) + read_u16(bytes, at + 32);
    require(end - at >= length, label + ": zip directory is damaged at entry " + std::to_string(i));
    places.push_back(at);
    total += read_u32(bytes, at + 24);
    at += length;
  }
  require(total <= most_unpacked(bytes.size()), label + ": claims " + std::to_string(total) +
                                                    " bytes when unpacked, from a file of " +
                                                    std::to_string(bytes.size()));
  std::vector<ZipEntry> entries;
  for (const std::size_t place : places)
    entries.push_back(read_entry(bytes, place, read_u16(bytes, place + 28), label));
  return entries;
}

std::string unpack_start(const std::string& bytes, const ZipEntry& entry, std::size_t most, const std::string& label) {
  const std::size_t size = std::min(most, entry.size);
  return entry.deflated ? inflate_start(bytes.data() + entry.start, entry, size, where_of(entry, label))
                        : bytes.substr(entry.start, size);
}

std::string unpack(const std::string& bytes, const ZipEntry& entry, const std::string& label) {
  std::string out = unpack_start(bytes, entry, entry.size, label);
  require(crc_of(out) == entry.crc, where_of(entry, label) + ": checksum differs, the data are damaged");
  return out;
}

std::vector<ZipMember> read_zip(const std::string& bytes, const std::string& label) {
  std::vector<ZipMember> members;
  for (const ZipEntry& entry : list_zip(bytes, label)) members.push_back({entry.name, unpack(bytes, entry, label)});
  return members;
}

std::string make_zip(const std::vector<ZipMember>& members, const std::string& label) {
  constexpr std::uint64_t kLimit = std::numeric_limits<std::uint32_t>::max() / 2;
  require(members.size() < 0xffff, label + ": too many arrays for one file");
  std::string out, central;
  for (const ZipMember& member : members) {
    require(member.bytes.size() < kLimit && out.size() < kLimit, label + ": larger than a .npz file can hold (2 GiB)");
    const std::string packed = deflate_bytes(member.bytes, label);
    const bool deflated = packed.size() < member.bytes.size();
    const std::string& data = deflated ? packed : member.bytes;
    const std::uint16_t method = deflated ? kDeflated : kStored;
    const auto offset = static_cast<std::uint32_t>(out.size());
    append_u32(out, kLocalHeader);
    append_common(out, member, method, data.size());
    out += member.name;
    out += data;
    append_u32(central, kCentralHeader);
    append_u16(central, 20);
    append_common(central, member, method, data.size());
    append_u16(central, 0);
    append_u16(central, 0);
    append_u16(central, 0);
    append_u32(central, 0);
    append_u32(central, offset);
    central += member.name;
  }
  require(out.size() < kLimit, label + ": larger than a .npz file can hold (2 GiB)");
  const auto start = static_cast<std::uint32_t>(out.size()), size = static_cast<std::uint32_t>(central.size());
  const auto count = static_cast<std::uint16_t>(members.size());
  out += central;
  append_u32(out, kEndRecord);
  append_u16(out, 0);
  append_u16(out, 0);
  append_u16(out, count);
  append_u16(out, count);
  append_u32(out, size);
  append_u32(out, start);
  append_u16(out, 0);
  return out;
}

}  // namespace almond
