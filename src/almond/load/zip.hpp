#pragma once
// The part of the ZIP container that .npz files use: stored and deflated members below 4 GiB, CRC checked.

#include <string>
#include <vector>

namespace almond {

struct ZipMember {
  std::string name;
  std::string bytes;
};

/// Throws Error (prefixed with `label`) on anything malformed. No allocation exceeds what the file can back.
[[nodiscard]] std::vector<ZipMember> read_zip(const std::string& bytes, const std::string& label);

/// Members are deflated where that makes them smaller. The same members give the same bytes.
[[nodiscard]] std::string make_zip(const std::vector<ZipMember>& members, const std::string& label);

}  // namespace almond
