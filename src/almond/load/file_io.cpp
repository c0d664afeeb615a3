#include "almond/load/file_io.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <chrono>
#include <climits>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <thread>

#include "almond/base/check.hpp"

namespace almond {

namespace {

/// A file open to be read, and nothing else: a pipe that somebody puts in its place is not waited for.
class Descriptor {
 public:
  Descriptor(const std::string& path, int flags) : path_(path) {
    check_kind(::stat(path.c_str(), &status_) == 0);  // before it is opened: to open a device may be to use it
    number_ = ::open(path.c_str(), O_RDONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC | flags);
    if (number_ < 0) refuse();
  }
  ~Descriptor() {
    if (number_ >= 0) ::close(number_);
  }
  Descriptor(const Descriptor&) = delete;
  Descriptor& operator=(const Descriptor&) = delete;

  std::string read() {
    check_kind(::fstat(number_, &status_) == 0);
    std::string bytes;
    constexpr std::size_t kMostAtOnce = 1U << 30U;  // a size is a claim: holes take no place on the disk
    bytes.reserve(std::min(static_cast<std::size_t>(status_.st_size), kMostAtOnce));
    char block[1 << 16];
    for (ssize_t count = 0; (count = ::read(number_, block, sizeof block)) != 0;) {
      if (count > 0) bytes.append(block, static_cast<std::size_t>(count));
      require(count > 0 || errno == EINTR, path_ + ": cannot be read (" + std::strerror(errno) + ")");
      require(bytes.size() <= most_, path_ + ": is larger than it was when it was looked at, expected the same file");
    }
    return bytes;
  }

  void expect_at_most(std::uint64_t bytes) { most_ = bytes; }

  /// Where it lies now, as the system knows it; empty where it does not say.
  [[nodiscard]] std::string place() const {
    char name[PATH_MAX];
    const ssize_t size = ::readlink(("/proc/self/fd/" + std::to_string(number_)).c_str(), name, sizeof name);
    return size > 0 ? std::string(name, static_cast<std::size_t>(size)) : std::string();
  }

 private:
  [[noreturn]] void refuse() const { throw Error(path_ + ": cannot be opened (" + std::strerror(errno) + ")"); }

  void check_kind(bool known) const {
    if (!known) refuse();
    require(!S_ISDIR(status_.st_mode), path_ + ": is a folder, expected a file");
    require(S_ISREG(status_.st_mode), path_ + ": is a device or a pipe, expected a file");
  }

  const std::string& path_;
  struct stat status_ {};
  int number_ = -1;
  std::uint64_t most_ = UINT64_MAX;
};

}  // namespace

std::string read_file(const std::string& path) { return Descriptor(path, 0).read(); }

std::string read_known_file(const std::string& path, std::uint64_t most) {
  Descriptor file(path, O_NOFOLLOW);
  const std::string place = file.place();
  require(place.empty() || place == path, path + ": was moved while it was read, expected it to stay");
  file.expect_at_most(most);
  return file.read();
}

PendingFile::PendingFile(std::string path) : path_(std::move(path)) {
  static std::atomic<unsigned> counter{0};
  temporary_ = path_ + ".part" + std::to_string(::getpid()) + "-" + std::to_string(counter++);
}

PendingFile::~PendingFile() {
  if (!committed_) std::remove(temporary_.c_str());
}

void PendingFile::commit() {
  const bool renamed = std::rename(temporary_.c_str(), path_.c_str()) == 0;  // before anybody asks why not
  require(renamed, path_ + ": cannot be written (" + std::strerror(errno) + ")");
  committed_ = true;
}

void write_file(const std::string& path, const std::string& bytes) {
  PendingFile pending(path);
  errno = 0;
  std::ofstream out(pending.temporary(), std::ios::binary | std::ios::trunc);
  require(out.good(), path + ": cannot be written (" + std::strerror(errno) + ")");
  out.write(bytes.data(), static_cast<std::streamsize>(bytes.size()));
  out.close();
  require(out.good(), path + ": cannot be written (" + std::strerror(errno) + ")");
  pending.commit();
}

TemporaryFolder::TemporaryFolder() {
  path_ = (std::filesystem::temp_directory_path() / "almond-XXXXXX").string();
  require(mkdtemp(path_.data()) != nullptr, "cannot make a temporary folder " + path_);
}

TemporaryFolder::~TemporaryFolder() {
  constexpr int kAttempts = 20;  // processes that are ending may still write there
  std::error_code ignored;
  for (int attempt = 0; attempt < kAttempts && std::filesystem::exists(path_, ignored); ++attempt) {
    std::filesystem::remove_all(path_, ignored);
    if (std::filesystem::exists(path_, ignored)) std::this_thread::sleep_for(std::chrono::milliseconds(50));
  }
}

}  // namespace almond
