#pragma once
// Things kept on disk between runs. An entry is named by the content it was made from, so it never goes stale; what
// does not read as written here is passed over and written anew.
//
// Where: $ALMOND_CACHE_DIR, else $XDG_CACHE_HOME/almond, else ~/.cache/almond, and there a folder for each kind; an
// empty ALMOND_CACHE_DIR or "off" turns it off. The entries used longest ago go first.

#include <cstdint>
#include <cstring>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "almond/base/check.hpp"

namespace almond {

struct DiskCache {
  const char* name;                       // of its folder
  const char* ending;                     // of its files
  const char* magic;                      // first bytes of every file: the version of its format
  std::uintmax_t most_entry, most_total;  // [bytes]
};

/// Empty: there is none, or it is turned off. Read from the environment at every call.
[[nodiscard]] std::string cache_folder(const DiskCache& cache);

/// The name of an entry: SHA-256 of what decides it.
[[nodiscard]] std::string cache_key(const std::string& version, const std::string& kind, std::string_view content,
                                    const std::vector<double>& options);

/// What was written; nothing where there is no entry, or one that is damaged or foreign. Never throws.
[[nodiscard]] std::optional<std::string> read_entry(const DiskCache& cache, const std::string& key);

/// Nothing happens where it cannot be written. Never throws.
void write_entry(const DiskCache& cache, const std::string& key, const std::string& bytes);

/// Where the entries have more than `most` bytes, those used longest ago go until three quarters of it are left. A
/// process does so before the first entry it writes to a folder.
void bound_cache(const std::string& folder, const char* ending, std::uintmax_t most);

// Entries hold values as they lie in memory.

template <class T>
void put(std::string& out, const T& value) {
  out.append(reinterpret_cast<const char*>(&value), sizeof value);
}

template <class T>
void put_all(std::string& out, const std::vector<T>& values) {
  put(out, static_cast<std::uint64_t>(values.size()));
  out.append(reinterpret_cast<const char*>(values.data()), sizeof(T) * values.size());
}

/// Cuts values off the front; asks for no memory that the text cannot fill. Throws Error where it ends too early.
struct Cutter {
  std::string_view rest;

  template <class T>
  T take() {
    require(rest.size() >= sizeof(T), "cut off");
    T value;
    std::memcpy(&value, rest.data(), sizeof value);
    rest.remove_prefix(sizeof value);
    return value;
  }
  std::size_t take_count(std::size_t bytes_each) {
    const auto count = take<std::uint32_t>();
    require(count <= rest.size() / bytes_each, "cut off");
    return count;
  }
  template <class T>
  void take_all(std::vector<T>& values) {
    const auto count = take<std::uint64_t>();
    require(count <= rest.size() / sizeof(T), "cut off");
    values.resize(count);
    std::memcpy(values.data(), rest.data(), sizeof(T) * count);
    rest.remove_prefix(sizeof(T) * count);
  }
};

}  // namespace almond
