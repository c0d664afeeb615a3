#pragma once
// HDF5 files in memory, for reading.

#include <memory>
#include <string>

namespace almond {

/// The identifier (hid_t) of an HDF5 file with these bytes, below 0 where the library refuses them; H5Fclose ends it.
/// The library's own ways to files keep what they read last beside it, and copy from nowhere where a damaged file
/// points nowhere; here whatever lies outside of the bytes cannot be read, and that is all.
[[nodiscard]] long long open_hdf5_bytes(const std::string& label, std::shared_ptr<const std::string> bytes);

}  // namespace almond
