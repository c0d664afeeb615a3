// Makes a program of a fuzz target.
//
//   fuzz_NAME --seeds FOLDER                          writes the target's seeds there, one file each
//   fuzz_NAME [--mutations N] [FILE | FOLDER]...      without libFuzzer: seeds, files, N mutations of them

#include <cstdio>
#include <cstdlib>
#include <exception>
#include <filesystem>
#include <fstream>
#include <iterator>

#include "almond/base/check.hpp"
#include "almond/load/file_io.hpp"
#include "fuzz/fuzz.hpp"

#if defined(__SANITIZE_ADDRESS__) || defined(__clang__)
// The HDF5 library asks for absurd sizes when it meets damaged ones, and copes when malloc refuses; and it loses a few
// small objects when it gives up on a file. Both are its own affair, everything else is ours.
extern "C" const char* __asan_default_options();
extern "C" const char* __asan_default_options() { return "allocator_may_return_null=1"; }
extern "C" const char* __lsan_default_suppressions();
extern "C" const char* __lsan_default_suppressions() { return "leak:libhdf5\n"; }
#endif

namespace almond::fuzz {

void check(bool holds, const char* what) {
  if (holds) return;
  std::fprintf(stderr, "does not hold: %s\n", what);
  std::abort();
}

std::size_t& refused() {
  static std::size_t count = 0;
  return count;
}

const std::string& own_folder() {
  static const TemporaryFolder folder;
  return folder.path();
}

std::string repository_file(const std::string& path) { return read_file(std::string(ALMOND_SOURCE_DIR) + "/" + path); }

namespace {

void check_message(const std::string& message) {
  constexpr std::size_t kLongest = 4000;
  check(!message.empty() && message.size() < kLongest, "an error has a message of reasonable length");
  check(message.find('\n') == std::string::npos, "an error is one line");
}

void write_seeds(const std::string& folder) {
  std::filesystem::create_directories(folder);
  int number = 0;
  for (const std::string& seed : make_seeds()) write_file(folder + "/seed" + std::to_string(number++), seed);
}

}  // namespace
}  // namespace almond::fuzz

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size);
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  try {
    almond::fuzz::read_input(std::string(reinterpret_cast<const char*>(data), size));
  } catch (const almond::Error& error) {
    almond::fuzz::check_message(error.what());
    ++almond::fuzz::refused();
  }
  return 0;
}

// Nothing of a run is to be found by another one, or left in the user's cache.
extern "C" int LLVMFuzzerInitialize(int* argc, char*** argv);
extern "C" int LLVMFuzzerInitialize(int* argc, char*** argv) {
  setenv("ALMOND_CACHE_DIR", "off", 1);
  if (*argc == 3 && std::string((*argv)[1]) == "--seeds") {
    almond::fuzz::write_seeds((*argv)[2]);
    std::exit(0);
  }
  return 0;
}
