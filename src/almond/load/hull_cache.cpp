#include "almond/load/hull_cache.hpp"

#include <Eigen/Geometry>
#include <algorithm>
#include <cmath>

#include "almond/base/check.hpp"
#include "almond/load/disk_cache.hpp"

namespace almond {
namespace {

// Part of every key. To be raised with any change of what make_polytope, the mesh readers or mesh_hull.cpp answer.
constexpr const char* kVersion = "almond hull 2";
constexpr DiskCache kCache{
    .name = "hulls", .ending = ".hull", .magic = "almondH1", .most_entry = 64U << 20U, .most_total = 256U << 20U};
constexpr double kFlatness = 1e-5;  // of the size: what make_polytope calls flat, with room for rounding

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

std::string to_bytes(const StoredHull& entry) {
  const Polytope& hull = *entry.hull;
  std::string out;
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
  return out;
}

void take_points(Cutter& cutter, std::size_t count, std::vector<Vec3>& points) {
  for (std::size_t i = 0; i < count; ++i) {
    const auto x = cutter.take<double>(), y = cutter.take<double>(), z = cutter.take<double>();
    points.emplace_back(x, y, z);
  }
}

void take_lists(Cutter& cutter, std::size_t count, std::vector<std::vector<int>>& lists) {
  for (std::size_t i = 0; i < count; ++i) {
    std::vector<int>& list = lists.emplace_back(cutter.take_count(sizeof(std::int32_t)));
    for (int& v : list) v = cutter.take<std::int32_t>();
  }
}

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

StoredHull from_bytes(const std::string& bytes) {
  Cutter cutter{bytes};
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
  take_points(cutter, vertices, hull->vertices);
  take_points(cutter, faces, hull->normals);
  std::vector<Vec3> center;
  take_points(cutter, 1, center);
  hull->center = center[0];
  take_lists(cutter, faces, hull->faces);
  take_lists(cutter, vertices, hull->neighbors);
  require(cutter.rest.empty(), "too long");
  check_shape(ConvexMesh{hull}, "entry");
  check_convex(*hull);
  entry.hull = hull;
  return entry;
}

}  // namespace

std::string hull_cache_folder() { return cache_folder(kCache); }

std::string hull_key(const std::string& kind, const std::string& content, const std::vector<double>& options) {
  return cache_key(kVersion, kind, content, options);
}

std::optional<StoredHull> read_stored_hull(const std::string& key) {
  try {
    if (const std::optional<std::string> bytes = read_entry(kCache, key)) return from_bytes(*bytes);
  } catch (const std::exception&) {  // no hull made here
  }
  return std::nullopt;
}

void write_stored_hull(const std::string& key, const StoredHull& entry) { write_entry(kCache, key, to_bytes(entry)); }

void bound_hull_cache(const std::string& folder, std::uintmax_t most) { bound_cache(folder, kCache.ending, most); }

}  // namespace almond
