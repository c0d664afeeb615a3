#pragma once
// The part of the ZIP container that .npz files use: stored and deflated members below 4 GiB, CRC checked.

#include <cstdint>
#include <string>
#include <vector>

namespace almond {

struct ZipMember {
  std::string name;
  std::string bytes;
};

/// Where a member lies.
struct ZipEntry {
  std::string name;
  std::size_t start = 0, packed_size = 0, size = 0;  // [bytes]
  bool deflated = false;
  std::uint32_t crc = 0;
};

/// The directory: nothing is unpacked. Throws Error (prefixed with `label`) on anything malformed, and where all
/// members together claim more than the file can back.
[[nodiscard]] std::vector<ZipEntry> list_zip(const std::string& bytes, const std::string& label);
/// One member, its checksum compared.
[[nodiscard]] std::string unpack(const std::string& bytes, const ZipEntry& entry, const std::string& label);
/// Its first `most` bytes, or all where there are fewer.
[[nodiscard]] std::string unpack_start(const std::string& bytes, const ZipEntry& entry, std::size_t most,
                                       const std::string& label);
/// All members.
[[nodiscard]] std::vector<ZipMember> read_zip(const std::string& bytes, const std::string& label);

/// Members are deflated where that makes them smaller. The same members give the same bytes.
[[nodiscard]] std::string make_zip(const std::vector<ZipMember>& members, const std::string& label);

}  // namespace almond
