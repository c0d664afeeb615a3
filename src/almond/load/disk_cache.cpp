#include "almond/load/disk_cache.hpp"

#include <algorithm>
#include <bit>
#include <cstdlib>
#include <filesystem>
#include <mutex>
#include <set>

#include "almond/load/file_io.hpp"
#include "almond/load/sha256.hpp"

static_assert(std::endian::native == std::endian::little, "entries are written as they lie in memory");

namespace almond {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t kChecksum = 32;

std::string to_hex(const std::array<std::uint8_t, 32>& sum) {
  std::string text;
  for (const std::uint8_t byte : sum) {
    text += "0123456789abcdef"[byte >> 4U];
    text += "0123456789abcdef"[byte & 15U];
  }
  return text;
}

std::string checksum(std::string_view bytes) {
  Sha256 hash;
  hash.add(bytes);
  const auto sum = hash.finish();
  return {sum.begin(), sum.end()};
}

std::string path_of(const DiskCache& cache, const std::string& folder, const std::string& key) {
  return folder + "/" + key + cache.ending;
}

/// True once for every folder.
bool is_new(const std::string& folder) {
  static std::mutex mutex;
  static std::set<std::string> seen;
  const std::lock_guard lock(mutex);
  return seen.insert(folder).second;
}

}  // namespace

std::string cache_folder(const DiskCache& cache) {
  const std::string name = std::string("/") + cache.name;
  if (const char* own = std::getenv("ALMOND_CACHE_DIR"))
    return *own == '\0' || std::string(own) == "off" ? "" : own + name;
  const char* xdg = std::getenv("XDG_CACHE_HOME");
  if (xdg != nullptr && *xdg == '/') return std::string(xdg) + "/almond" + name;
  const char* home = std::getenv("HOME");
  return home != nullptr && *home == '/' ? std::string(home) + "/.cache/almond" + name : "";
}

std::string cache_key(const std::string& version, const std::string& kind, std::string_view content,
                      const std::vector<double>& options) {
  Sha256 hash;
  std::string head = version;
  head += '\0' + kind + '\0';
  put(head, static_cast<std::uint64_t>(options.size()));
  for (const double x : options) put(head, x);
  hash.add(head);
  hash.add(content);
  return to_hex(hash.finish());
}

std::optional<std::string> read_entry(const DiskCache& cache, const std::string& key) {
  const std::string folder = cache_folder(cache);
  if (folder.empty()) return std::nullopt;
  const std::string path = path_of(cache, folder, key), head = cache.magic + key;
  try {
    std::error_code code;
    if (!fs::is_regular_file(path, code) || fs::file_size(path, code) > cache.most_entry || code) return std::nullopt;
    std::string bytes = read_file(path);
    if (bytes.size() < head.size() + kChecksum || bytes.compare(0, head.size(), head) != 0) return std::nullopt;
    const std::size_t end = bytes.size() - kChecksum;
    if (bytes.compare(end, kChecksum, checksum({bytes.data(), end})) != 0) return std::nullopt;
    fs::last_write_time(path, fs::file_time_type::clock::now(), code);  // used; no matter if it cannot be said
    return bytes.substr(head.size(), end - head.size());
  } catch (const std::exception&) {
    return std::nullopt;
  }
}

void write_entry(const DiskCache& cache, const std::string& key, const std::string& bytes) {
  const std::string folder = cache_folder(cache);
  if (folder.empty()) return;
  try {
    std::string whole = cache.magic + key + bytes;
    if (whole.size() + kChecksum > cache.most_entry) return;
    whole += checksum(whole);
    fs::create_directories(folder);
    if (is_new(folder)) bound_cache(folder, cache.ending, cache.most_total);
    write_file(path_of(cache, folder, key), whole);
  } catch (const std::exception&) {  // full disk, no rights: the next run computes it again
  }
}

void bound_cache(const std::string& folder, const char* ending, std::uintmax_t most) {
  struct Item {
    fs::file_time_type used;
    std::uintmax_t bytes;
    fs::path path;
  };
  std::vector<Item> items;
  std::uintmax_t total = 0;
  std::error_code code;
  for (fs::directory_iterator it(folder, code), end; !code && it != end; it.increment(code)) {
    std::error_code skip;
    const bool ours = it->path().filename().string().find(ending) == 64;  // parts, too
    if (!ours || !it->is_regular_file(skip)) continue;
    const Item item{it->last_write_time(skip), it->file_size(skip), it->path()};
    if (skip) continue;
    total += item.bytes;
    items.push_back(item);
  }
  if (total <= most) return;
  std::sort(items.begin(), items.end(), [](const Item& a, const Item& b) { return a.used < b.used; });
  for (const Item& item : items) {
    if (total <= most / 4 * 3) return;
    if (fs::remove(item.path, code)) total -= item.bytes;
  }
}

}  // namespace almond
