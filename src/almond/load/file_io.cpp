#include "almond/load/file_io.hpp"

#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <thread>

#include "almond/base/check.hpp"

namespace almond {

std::string read_file(const std::string& path) {
  std::error_code code;
  require(!std::filesystem::is_directory(path, code), path + ": is a folder, expected a file");
  require(!std::filesystem::exists(path, code) || std::filesystem::is_regular_file(path, code),
          path + ": is a device or a pipe, expected a file");
  errno = 0;
  std::ifstream in(path, std::ios::binary);
  require(in.good(), path + ": cannot be opened (" + std::strerror(errno) + ")");
  std::string bytes;
  char block[1 << 16];
  while (in.read(block, sizeof block) || in.gcount() > 0) bytes.append(block, static_cast<std::size_t>(in.gcount()));
  require(!in.bad(), path + ": cannot be read (" + std::strerror(errno) + ")");
  return bytes;
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
