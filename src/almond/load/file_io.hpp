#pragma once
// Whole files in and out. An output appears under its name only when it is complete.

#include <cstdint>
#include <string>

namespace almond {

/// Throws Error when the file cannot be read, or is a folder, a device or a pipe, which are not opened.
[[nodiscard]] std::string read_file(const std::string& path);

/// The same for a file that was looked at before: `path` is where it really lies. Throws Error where it has become a
/// link since, or lies elsewhere, or holds more than `most` bytes.
[[nodiscard]] std::string read_known_file(const std::string& path, std::uint64_t most);

/// A file that is written under a temporary name in the same folder and renamed by commit(). Without commit() (an
/// exception on the way) the temporary file is removed and an earlier file of that name stays as it was.
class PendingFile {
 public:
  explicit PendingFile(std::string path);
  ~PendingFile();
  PendingFile(const PendingFile&) = delete;
  PendingFile& operator=(const PendingFile&) = delete;

  [[nodiscard]] const std::string& temporary() const { return temporary_; }
  void commit();

 private:
  std::string path_, temporary_;
  bool committed_ = false;
};

/// What `packed` bytes may become when they are unpacked: 1 GB, or 64 times as many where that is more. No file that
/// somebody made to be read is packed tighter, and a small one cannot fill the memory.
[[nodiscard]] constexpr std::uint64_t most_unpacked(std::uint64_t packed) {
  constexpr std::uint64_t kAlways = std::uint64_t{1} << 30U, kTimes = 64;
  return packed > kAlways / kTimes ? kTimes * packed : kAlways;
}

/// A folder for scratch files that goes away with its owner.
class TemporaryFolder {
 public:
  TemporaryFolder();
  ~TemporaryFolder();
  TemporaryFolder(const TemporaryFolder&) = delete;
  TemporaryFolder& operator=(const TemporaryFolder&) = delete;
  [[nodiscard]] const std::string& path() const { return path_; }

 private:
  std::string path_;
};

/// Throws Error when the file cannot be written.
void write_file(const std::string& path, const std::string& bytes);

}  // namespace almond
