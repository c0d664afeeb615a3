#include "almond/load/hull_cache.hpp"

#include <Eigen/Geometry>
#include <algorithm>
#include <atomic>
#include <bit>
#include <cmath>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>

#include "almond/base/check.hpp"
#include "almond/load/file_io.hpp"
#include "almond/load/sha256.hpp"

static_assert(std::endian::native == std::endian::little, "entries are written as they lie in memory");

namespace almond {
namespace {

namespace fs = std::filesystem;

// Part of every key. To be raised with any change of what make_polytope, the mesh readers or mesh_hull.cpp answer.
constexpr const char* kVersion = "almond hull 2";
constexpr char kMagic[] = "almondH1";
constexpr const char* kEnding = ".hull";
constexpr std::uintmax_t kMaxEntry = 64U << 20U, kMaxTotal = 256U << 20U;  // [bytes]
constexpr double kFlatness = 1e-5;  // of the size: what make_polytope calls flat, with room for rounding

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

template <class T>
void put(std::string& out, const T& value) {
  out.append(reinterpret_cast<const char*>(&value), sizeof value);
}

void put_points(std::string& out, const std::vector<Vec3>& points) {
  for (const Vec3& p : points)
    for (int i = 0; i < 3; ++i) put(out, p[i]);
}

void put_lists(std::string& out, const std::vector<std::vector<int>>& lists) {
  for (const std::vector<int>& list : lists) {
    put(out, static_cast<std::uint32_t>(list.size()));
    for (const int v : list) put(out, static_cast<std::int32_t>(v));
  }
}

std::string to_bytes(const std::string& key, const StoredHull& entry) {
  const Polytope& hull = *entry.hull;
  std::string out = kMagic + key;
  put(out, entry.triangles);
  for (const std::uint64_t count : {entry.full_vertices, entry.open_edges, entry.crowded_edges, entry.inside_out})
    put(out, count);
  for (const double x : {entry.moved, entry.thickness, entry.extent}) put(out, x);
  put(out, static_cast<std::uint32_t>(hull.vertices.size()));
  put(out, static_cast<std::uint32_t>(hull.faces.size()));
  put_points(out, hull.vertices);
  put_points(out, hull.normals);
  put_points(out, {hull.center});
  put_lists(out, hull.faces);
  put_lists(out, hull.neighbors);
  return out + checksum(out);
}

/// Cuts values off the front; asks for no memory that the text cannot fill.
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
  void take_points(std::size_t count, std::vector<Vec3>& points) {
    for (std::size_t i = 0; i < count; ++i) {
      const auto x = take<double>(), y = take<double>(), z = take<double>();
      points.emplace_back(x, y, z);
    }
  }
  void take_lists(std::size_t count, std::vector<std::vector<int>>& lists) {
    for (std::size_t i = 0; i < count; ++i) {
      std::vector<int>& list = lists.emplace_back(take_count(sizeof(std::int32_t)));
      for (int& v : list) v = take<std::int32_t>();
    }
  }
};

/// A directed edge of a face.
struct Edge {
  int from, to, face;
};

/// Edges that belong together: the same two ends, either way.
std::vector<Edge> sorted_edges(const Polytope& hull) {
  std::vector<Edge> edges;
  for (int f = 0; f < static_cast<int>(hull.faces.size()); ++f) {
    const std::vector<int>& face = hull.faces[f];
    for (std::size_t k = 0; k < face.size(); ++k) edges.push_back({face[k], face[(k + 1) % face.size()], f});
  }
  std::sort(edges.begin(), edges.end(), [](const Edge& a, const Edge& b) {
    return std::tuple(std::minmax(a.from, a.to), a.from) < std::tuple(std::minmax(b.from, b.to), b.from);
  });
  return edges;
}

Vec3 area_vector(const Polytope& hull, const std::vector<int>& face) {
  Vec3 sum = Vec3::Zero();
  const Vec3& origin = hull.vertices[face[0]];
  for (std::size_t k = 2; k < face.size(); ++k)
    sum += (hull.vertices[face[k - 1]] - origin).cross(hull.vertices[face[k]] - origin);
  return sum;
}

/// Closed: every edge belongs to two faces, once each way, and is a path between neighbours. With the convexity of each
/// edge and V - E + F = 2 the whole is convex.
void check_convex(const Polytope& hull) {
  double size = 0.0;
  for (const Vec3& p : hull.vertices) size = std::max(size, (p - hull.center).norm());
  require(std::isfinite(size) && size > 0.0, "no size");
  std::vector<bool> sliver(hull.faces.size());
  for (std::size_t f = 0; f < hull.faces.size(); ++f) {
    const Vec3 area = area_vector(hull, hull.faces[f]), n = hull.normals[f];
    sliver[f] = area.norm() < kFlatness * size * size;  // its normal is rounding
    require(n.allFinite() && n.norm() < 1.0 + 1e-9, "normal");
    if (sliver[f]) continue;
    require((area.normalized() - n).norm() < 1e-6, "normal");
    require(n.dot(hull.center - hull.vertices[hull.faces[f][0]]) < 0.0, "centre outside");
  }
  // Slivers are not looked at below; a polytope of them (one point far away from all others) would pass as anything.
  require(std::count(sliver.begin(), sliver.end(), false) >= 4, "slivers");
  const std::vector<Edge> edges = sorted_edges(hull);
  require(edges.size() % 2 == 0 && hull.vertices.size() + hull.faces.size() == 2 + edges.size() / 2, "not closed");
  for (std::size_t i = 0; i < edges.size(); i += 2) {
    const Edge &a = edges[i], &b = edges[i + 1];
    require(a.from == b.to && a.to == b.from && a.from != a.to && a.face != b.face, "not closed");
    const std::vector<int>&there = hull.neighbors[a.from], &back = hull.neighbors[a.to];
    require(std::binary_search(there.begin(), there.end(), a.to), "neighbours");
    require(std::binary_search(back.begin(), back.end(), a.from), "neighbours");
    for (const auto& [f, g] : {std::pair(a.face, b.face), std::pair(b.face, a.face)}) {
      if (sliver[f]) continue;
      for (const int v : hull.faces[g])
        require(hull.normals[f].dot(hull.vertices[v] - hull.vertices[hull.faces[f][0]]) < kFlatness * size, "concave");
    }
  }
}

StoredHull from_bytes(const std::string& key, const std::string& bytes) {
  const std::string head = kMagic + key;
  require(bytes.size() >= head.size() + 32 && bytes.compare(0, head.size(), head) == 0, "foreign");
  const std::size_t end = bytes.size() - 32;
  require(bytes.substr(end) == checksum({bytes.data(), end}), "damaged");
  Cutter cutter{std::string_view(bytes.data(), end).substr(head.size())};
  StoredHull entry;
  entry.triangles = cutter.take<std::uint64_t>();
  for (std::uint64_t* count : {&entry.full_vertices, &entry.open_edges, &entry.crowded_edges, &entry.inside_out})
    *count = cutter.take<std::uint64_t>();
  for (double* x : {&entry.moved, &entry.thickness, &entry.extent}) {
    *x = cutter.take<double>();
    require(std::isfinite(*x) && *x >= 0.0, "length");
  }
  auto hull = std::make_shared<Polytope>();
  const auto vertices = cutter.take<std::uint32_t>(), faces = cutter.take<std::uint32_t>();
  cutter.take_points(vertices, hull->vertices);
  cutter.take_points(faces, hull->normals);
  std::vector<Vec3> center;
  cutter.take_points(1, center);
  hull->center = center[0];
  cutter.take_lists(faces, hull->faces);
  cutter.take_lists(vertices, hull->neighbors);
  require(cutter.rest.empty(), "too long");
  check_shape(ConvexMesh{hull}, "entry");
  check_convex(*hull);
  entry.hull = hull;
  return entry;
}

std::string path_of(const std::string& folder, const std::string& key) { return folder + "/" + key + kEnding; }

bool is_ours(const fs::path& path) { return path.filename().string().find(kEnding) == 64; }  // parts, too

}  // namespace

std::string hull_cache_folder() {
  if (const char* own = std::getenv("ALMOND_CACHE_DIR"))
    return *own == '\0' || std::string(own) == "off" ? "" : std::string(own) + "/hulls";
  const char* xdg = std::getenv("XDG_CACHE_HOME");
  if (xdg != nullptr && *xdg == '/') return std::string(xdg) + "/almond/hulls";
  const char* home = std::getenv("HOME");
  return home != nullptr && *home == '/' ? std::string(home) + "/.cache/almond/hulls" : "";
}

std::string hull_key(const std::string& kind, const std::string& content, const std::vector<double>& options) {
  Sha256 hash;
  std::string head = kVersion;
  head += '\0' + kind + '\0';
  put(head, static_cast<std::uint64_t>(options.size()));
  for (const double x : options) put(head, x);
  hash.add(head);
  hash.add(content);
  return to_hex(hash.finish());
}

std::optional<StoredHull> read_stored_hull(const std::string& key) {
  const std::string folder = hull_cache_folder();
  if (folder.empty()) return std::nullopt;
  const std::string path = path_of(folder, key);
  try {
    std::error_code code;
    if (!fs::is_regular_file(path, code) || fs::file_size(path, code) > kMaxEntry || code) return std::nullopt;
    StoredHull entry = from_bytes(key, read_file(path));
    fs::last_write_time(path, fs::file_time_type::clock::now(), code);  // used; no matter if it cannot be said
    return entry;
  } catch (const std::exception&) {
    return std::nullopt;
  }
}

void write_stored_hull(const std::string& key, const StoredHull& entry) {
  static std::atomic<bool> bounded{false};
  const std::string folder = hull_cache_folder();
  if (folder.empty()) return;
  try {
    const std::string bytes = to_bytes(key, entry);
    if (bytes.size() > kMaxEntry) return;
    fs::create_directories(folder);
    if (!bounded.exchange(true)) bound_hull_cache(folder, kMaxTotal);
    write_file(path_of(folder, key), bytes);
  } catch (const std::exception&) {  // full disk, no rights: the next run computes it again
  }
}

void bound_hull_cache(const std::string& folder, std::uintmax_t most) {
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
    if (!is_ours(it->path()) || !it->is_regular_file(skip)) continue;
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
