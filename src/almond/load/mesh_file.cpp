#include "almond/load/mesh_file.hpp"

#include <Eigen/Geometry>
#include <algorithm>
#include <cmath>
#include <filesystem>
#include <unordered_map>

#include "almond/base/check.hpp"
#include "almond/base/text.hpp"
#include "almond/load/file_io.hpp"
#include "almond/load/mesh_import.hpp"
#include "almond/load/mesh_soup.hpp"

namespace almond {
namespace {

constexpr std::uintmax_t kMaxBytes = 512ULL << 20U;
constexpr double kLargeExtent = 10.0, kSmallExtent = 1e-4;  // [m]
constexpr double kSliver = 1e-12;                           // of the longest edge squared: an area below is rounding

void apply_scale(TriangleSoup& soup, const std::string& path, const Vec3& scale) {
  require(scale.allFinite() && scale.cwiseAbs().minCoeff() > 0.0, path + ": scale is " + to_text(scale.x()) + " " +
                                                                      to_text(scale.y()) + " " + to_text(scale.z()) +
                                                                      ", expected finite values other than 0");
  for (std::size_t i = 0; i < soup.vertices.size(); ++i) {
    soup.vertices[i] = soup.vertices[i].cwiseProduct(scale);
    require(soup.vertices[i].allFinite(), path + ": vertex " + std::to_string(i) + " is not finite");
  }
  if (scale.prod() < 0.0)
    for (auto& t : soup.triangles) std::swap(t[1], t[2]);
}

struct PointHash {
  std::size_t operator()(const std::array<double, 3>& p) const {
    std::size_t seed = 0;
    for (const double x : p) seed = seed * 1'000'003U ^ std::hash<double>()(x);
    return seed;
  }
};

/// One vertex for all corners at the same place; vertices of no triangle are left out.
void join_vertices(TriangleSoup& soup) {
  std::unordered_map<std::array<double, 3>, int, PointHash> known;
  std::vector<Vec3> vertices;
  for (auto& t : soup.triangles)
    for (int& v : t) {
      const Vec3 p = soup.vertices[v] + Vec3::Zero();  // -0 becomes 0
      const auto [it, fresh] = known.emplace(std::array{p.x(), p.y(), p.z()}, static_cast<int>(vertices.size()));
      if (fresh) vertices.push_back(p);
      v = it->second;
    }
  soup.vertices = std::move(vertices);
}

/// Returns how many had no area.
int drop_slivers(TriangleSoup& soup) {
  const auto flat = [&](const std::array<int, 3>& t) {
    const Vec3 a = soup.vertices[t[1]] - soup.vertices[t[0]], b = soup.vertices[t[2]] - soup.vertices[t[0]];
    const double longest = std::max({a.squaredNorm(), b.squaredNorm(), (b - a).squaredNorm()});
    return !(a.cross(b).norm() > kSliver * longest);
  };
  return static_cast<int>(std::erase_if(soup.triangles, flat));
}

double signed_volume(const TriangleSoup& soup) {
  const Vec3& o = soup.vertices[0];
  double sum = 0.0;
  for (const auto& t : soup.triangles)
    sum += (soup.vertices[t[0]] - o).dot((soup.vertices[t[1]] - o).cross(soup.vertices[t[2]] - o)) / 6.0;
  return sum;
}

}  // namespace

Closedness examine_closedness(const TriangleSoup& soup) {
  struct Uses {
    int forward = 0, backward = 0;
  };
  std::unordered_map<std::uint64_t, Uses> edges;
  for (const auto& t : soup.triangles)
    for (int k = 0; k < 3; ++k) {
      const int v = t[k], w = t[(k + 1) % 3];
      Uses& uses =
          edges[static_cast<std::uint64_t>(std::min(v, w)) << 32U | static_cast<std::uint64_t>(std::max(v, w))];
      ++(v < w ? uses.forward : uses.backward);
    }
  Closedness surface;
  for (const auto& [edge, uses] : edges) {
    if (uses.forward + uses.backward == 1) ++surface.open;
    if (uses.forward > 1 || uses.backward > 1) ++surface.crowded;
  }
  surface.inside_out = surface.open == 0 && surface.crowded == 0 && signed_volume(soup) < 0.0;
  return surface;
}

std::string mesh_label(const std::string& path) {
  return "mesh " + quote(std::filesystem::path(path).filename().string());
}

std::string read_mesh_bytes(const std::string& path) {
  namespace fs = std::filesystem;
  std::error_code code;
  require(fs::exists(path, code), path + ": no such file, expected a mesh");
  require(fs::is_regular_file(path, code), path + ": is not a file, expected a mesh");
  const std::uintmax_t size = fs::file_size(path, code);
  require(!code && size <= kMaxBytes, path + ": has " + std::to_string(size >> 20U) + " MB, expected at most " +
                                          std::to_string(kMaxBytes >> 20U) + " MB");
  return read_file(path);
}

double longest_extent(const TriangleSoup& soup) {
  Vec3 lower = soup.vertices[0], upper = soup.vertices[0];
  for (const Vec3& p : soup.vertices) {
    lower = lower.cwiseMin(p);
    upper = upper.cwiseMax(p);
  }
  return (upper - lower).maxCoeff();
}

void say_extent(double extent, const std::string& place, FileNotes& notes) {
  if (extent > kLargeExtent)
    notes.said.push_back(place + ": is " + to_text(extent) + " m long; are these millimetres?");
  if (extent < kSmallExtent)
    notes.said.push_back(place + ": is only " + to_text(extent) + " m long; is the scale right?");
}

TriangleSoup make_soup(const std::string& path, const std::string& bytes, const Vec3& scale) {
  TriangleSoup soup = import_triangles(path, bytes);
  apply_scale(soup, path, scale);
  join_vertices(soup);
  return soup;
}

TriangleSoup load_mesh(const std::string& path, const Vec3& scale, FileNotes& notes) {
  TriangleSoup soup = make_soup(path, read_mesh_bytes(path), scale);
  const std::string place = mesh_label(path);
  say_extent(longest_extent(soup), place, notes);
  const int slivers = drop_slivers(soup);
  require(!soup.triangles.empty(), path + ": all " + std::to_string(slivers) + " triangles have no area");
  if (slivers > 0) {
    notes.said.push_back(place + ": " + std::to_string(slivers) + " triangles without area dropped");
    join_vertices(soup);
  }
  const Closedness surface = examine_closedness(soup);
  if (surface.crowded > 0)
    notes.said.push_back(place + ": " + std::to_string(surface.crowded) +
                         " edges where more than two triangles meet, or two that face opposite ways");
  if (surface.open > 0) {
    notes.said.push_back(place + ": an open surface, " + std::to_string(surface.open) +
                         " edges have one triangle only");
  } else if (surface.inside_out) {
    for (auto& t : soup.triangles) std::swap(t[1], t[2]);
    notes.said.push_back(place + ": was inside out, its triangles are turned round");
  }
  return soup;
}

}  // namespace almond
