// Convex hulls of mesh files: shared between instances, thickened where flat, simplified where large.

#include <sys/stat.h>

#include <Eigen/Eigenvalues>
#include <Eigen/Geometry>
#include <algorithm>
#include <array>
#include <cmath>
#include <filesystem>
#include <map>
#include <mutex>
#include <tuple>

#include "almond/base/check.hpp"
#include "almond/base/text.hpp"
#include "almond/load/hull_cache.hpp"
#include "almond/load/mesh_file.hpp"
#include "almond/load/mesh_import.hpp"
#include "almond/load/mesh_soup.hpp"

namespace almond {
namespace {

using Hull = std::shared_ptr<const Polytope>;

constexpr double kThickness = 1e-3;       // [m] of a flat mesh
constexpr double kThicknessShare = 0.01;  // of its length, at most

/// The points and their copies half a thickness off in each direction along which they have no extent.
std::vector<Vec3> thicken(const std::vector<Vec3>& points, double& thickness) {
  Vec3 mean = Vec3::Zero();
  for (const Vec3& p : points) mean += p / static_cast<double>(points.size());
  Mat3 C = Mat3::Zero();
  for (const Vec3& p : points) C += (p - mean) * (p - mean).transpose();
  const Mat3 axes = Eigen::SelfAdjointEigenSolver<Mat3>(C).eigenvectors();
  Vec3 lower = Vec3::Constant(kInfinity), upper = Vec3::Constant(-kInfinity);
  for (const Vec3& p : points) {
    const Vec3 x = axes.transpose() * (p - mean);
    lower = lower.cwiseMin(x);
    upper = upper.cwiseMax(x);
  }
  const Vec3 extent = upper - lower;
  thickness = std::min(kThickness, kThicknessShare * extent.maxCoeff());
  std::vector<Vec3> thick = points;
  for (int i = 0; i < 3; ++i) {
    if (extent[i] >= thickness) continue;
    const std::vector<Vec3> flat = std::move(thick);
    thick.clear();
    for (const Vec3& p : flat)
      for (const double side : {-0.5, 0.5}) thick.push_back(p + side * thickness * axes.col(i));
  }
  return thick;
}

Hull make_hull(const std::vector<Vec3>& points, const std::string& path, double& thickness) {
  try {
    return make_polytope(points);
  } catch (const Error& error) {
    const std::vector<Vec3> thick = thicken(points, thickness);
    try {
      return make_polytope(thick);
    } catch (const Error&) {
      throw Error(path + ": " + error.what());
    }
  }
}

/// Distance from p to the triangle a b c (Ericson, Real-Time Collision Detection, 5.1.5).
double triangle_distance(const Vec3& p, const Vec3& a, const Vec3& b, const Vec3& c) {
  const Vec3 ab = b - a, ac = c - a, ap = p - a, bp = p - b, cp = p - c;
  const double d1 = ab.dot(ap), d2 = ac.dot(ap), d3 = ab.dot(bp), d4 = ac.dot(bp), d5 = ab.dot(cp), d6 = ac.dot(cp);
  if (d1 <= 0.0 && d2 <= 0.0) return ap.norm();
  if (d3 >= 0.0 && d4 <= d3) return bp.norm();
  if (d6 >= 0.0 && d5 <= d6) return cp.norm();
  const double vc = d1 * d4 - d3 * d2, vb = d5 * d2 - d1 * d6, va = d3 * d6 - d5 * d4;
  if (vc <= 0.0 && d1 >= 0.0 && d3 <= 0.0) return (ap - ab * (d1 / (d1 - d3))).norm();
  if (vb <= 0.0 && d2 >= 0.0 && d6 <= 0.0) return (ap - ac * (d2 / (d2 - d6))).norm();
  if (va <= 0.0 && d4 >= d3 && d5 >= d6) return (bp - (c - b) * ((d4 - d3) / ((d4 - d3) + (d5 - d6)))).norm();
  const double s = 1.0 / (va + vb + vc);
  return (ap - ab * (vb * s) - ac * (vc * s)).norm();
}

/// How far p is outside the hull, along the normals: 0 inside.
std::pair<double, int> plane_distance(const Polytope& hull, const Vec3& p) {
  std::pair<double, int> most{0.0, -1};
  for (int f = 0; f < static_cast<int>(hull.faces.size()); ++f) {
    const double d = hull.normals[f].dot(p - hull.vertices[hull.faces[f][0]]);
    if (d > most.first) most = {d, f};
  }
  return most;
}

/// Of a point outside; 0 inside. Stops early at a distance that is no more than `enough`.
double surface_distance(const Polytope& hull, const Vec3& p, double enough) {
  if (plane_distance(hull, p).second < 0) return 0.0;
  double least = kInfinity;
  // Faces that p sees come first, since the nearest point is on one of them; faces that are flat only nearly may hide
  // it, so the others follow.
  for (const bool seen : {true, false})
    for (std::size_t f = 0; f < hull.faces.size() && least > enough; ++f) {
      const std::vector<int>& face = hull.faces[f];
      if ((hull.normals[f].dot(p - hull.vertices[face[0]]) > 0.0) != seen) continue;
      for (std::size_t k = 2; k < face.size(); ++k)
        least = std::min(
            least, triangle_distance(p, hull.vertices[face[0]], hull.vertices[face[k - 1]], hull.vertices[face[k]]));
    }
  return least;
}

/// The extreme vertices along the directions of a cube's corners, edges and faces.
std::vector<bool> extreme_vertices(const std::vector<Vec3>& points) {
  std::vector<bool> chosen(points.size());
  for (int x = -1; x <= 1; ++x)
    for (int y = -1; y <= 1; ++y)
      for (int z = -1; z <= 1; ++z) {
        const Vec3 n(x, y, z);
        chosen[std::max_element(points.begin(), points.end(),
                                [&](const Vec3& a, const Vec3& b) { return n.dot(a) < n.dot(b); }) -
               points.begin()] = true;
      }
  return chosen;
}

/// A hull of at most kMaxHullVertices of the vertices, grown from the extreme ones: in each round every face gets the
/// vertex farthest outside of it, the farthest first.
Hull simplify(const Polytope& hull) {
  const std::vector<Vec3>& points = hull.vertices;
  std::vector<bool> chosen = extreme_vertices(points);
  while (true) {
    std::vector<Vec3> some;
    for (std::size_t i = 0; i < points.size(); ++i)
      if (chosen[i]) some.push_back(points[i]);
    const Hull inner = make_polytope(some);
    std::map<int, std::pair<double, std::size_t>> farthest;  // by face
    for (std::size_t i = 0; i < points.size(); ++i) {
      if (chosen[i]) continue;
      const auto [distance, face] = plane_distance(*inner, points[i]);
      if (face < 0) continue;
      auto& best = farthest[face];
      if (distance > best.first) best = {distance, i};
    }
    std::vector<std::pair<double, std::size_t>> next;
    for (const auto& [face, best] : farthest) next.push_back(best);
    std::sort(next.begin(), next.end(), std::greater<>());
    const std::size_t room = kMaxHullVertices - std::min<std::size_t>(kMaxHullVertices, some.size());
    next.resize(std::min({next.size(), room, std::max<std::size_t>(8, some.size() / 4)}));
    if (next.empty()) return inner;
    for (const auto& [distance, i] : next) chosen[i] = true;
  }
}

/// A mesh that a robot uses many times is told of once.
void say(const std::vector<std::string>& lines, FileNotes& notes) {
  for (const std::string& line : lines)
    if (std::find(notes.said.begin(), notes.said.end(), line) == notes.said.end()) notes.said.push_back(line);
}

struct Entry {
  std::weak_ptr<const Polytope> hull;
  std::vector<std::string> said;
};

StoredHull compute_hull(const std::string& path, const std::string& bytes, const Vec3& scale) {
  const TriangleSoup soup = make_soup(path, bytes, scale);
  StoredHull out;
  out.triangles = soup.triangles.size();
  out.extent = longest_extent(soup);
  const Closedness surface = examine_closedness(soup);
  out.open_edges = static_cast<std::uint64_t>(surface.open);
  out.crowded_edges = static_cast<std::uint64_t>(surface.crowded);
  out.inside_out = surface.inside_out ? 1 : 0;
  out.hull = make_hull(soup.vertices, path, out.thickness);
  out.full_vertices = out.hull->vertices.size();
  if (out.full_vertices <= kMaxHullVertices) return out;
  const Hull inner = simplify(*out.hull);
  for (const Vec3& p : out.hull->vertices) out.moved = std::max(out.moved, surface_distance(*inner, p, out.moved));
  out.hull = inner;
  return out;
}

std::vector<std::string> describe(const StoredHull& stored, const std::string& path) {
  FileNotes notes;
  say_extent(stored.extent, mesh_label(path), notes);
  if (stored.thickness > 0.0)
    notes.said.push_back(mesh_label(path) + ": is flat; its hull is given a thickness of " + to_text(stored.thickness) +
                         " m");
  std::string flaws;  // the hull does not mind, but who made the mesh may want to know
  if (stored.open_edges > 0) flaws += ", open at " + std::to_string(stored.open_edges) + " edges";
  if (stored.crowded_edges > 0)
    flaws += ", " + std::to_string(stored.crowded_edges) + " edges where more than two meet or two face opposite ways";
  if (stored.inside_out != 0) flaws += ", inside out";
  if (!flaws.empty()) flaws = " (" + flaws.substr(2) + ")";
  std::string line = mesh_label(path) + ": " + std::to_string(stored.triangles) + " triangles" + flaws +
                     " as their convex hull of " + std::to_string(stored.full_vertices) + " vertices";
  if (stored.full_vertices > kMaxHullVertices)
    line += ", simplified to " + std::to_string(stored.hull->vertices.size()) +
            ", which moves the surface by at most " + to_text(stored.moved * 1e3) + " mm";
  notes.said.push_back(line);
  return notes.said;
}

/// From the disk where the same bytes were seen before.
StoredHull find_hull(const std::string& path, const Vec3& scale) {
  const std::string bytes = read_mesh_bytes(path);
  if (hull_cache_folder().empty()) return compute_hull(path, bytes, scale);
  const std::string key = hull_key(mesh_format(path), bytes,
                                   {scale.x(), scale.y(), scale.z(), kMaxHullVertices, kThickness, kThicknessShare});
  if (std::optional<StoredHull> stored = read_stored_hull(key)) return *stored;
  StoredHull fresh = compute_hull(path, bytes, scale);
  write_stored_hull(key, fresh);
  return fresh;
}

}  // namespace

Hull load_hull(const std::string& path, const Vec3& scale, FileNotes& notes) {
  using Key = std::tuple<std::string, std::int64_t, std::int64_t, std::int64_t, std::array<double, 3>>;
  static std::mutex mutex;
  static std::map<Key, Entry> cache;

  std::error_code code;
  struct stat info {};
  const std::string canonical = std::filesystem::canonical(path, code).string();
  const bool known = !code && ::stat(canonical.c_str(), &info) == 0 && scale.allFinite();
  const Key key{canonical, info.st_size, info.st_mtim.tv_sec, info.st_mtim.tv_nsec, {scale.x(), scale.y(), scale.z()}};
  const std::lock_guard lock(mutex);
  if (known) {
    if (const auto found = cache.find(key); found != cache.end()) {
      if (Hull hull = found->second.hull.lock()) {
        say(found->second.said, notes);
        return hull;
      }
    }
  }
  const StoredHull stored = find_hull(path, scale);
  const std::vector<std::string> said = describe(stored, path);
  say(said, notes);
  if (known) {
    std::erase_if(cache, [](const auto& item) { return item.second.hull.expired(); });
    cache[key] = {stored.hull, said};
  }
  return stored.hull;
}

}  // namespace almond
