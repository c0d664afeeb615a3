// Polygons -> triangles by cutting off ears: corners whose triangle turns the right way and holds no other corner.

#include <Eigen/Geometry>
#include <algorithm>
#include <cmath>

#include "almond/load/mesh_import.hpp"

namespace almond {
namespace {

constexpr std::size_t kMaxEars = 500;  // the search is quadratic; larger polygons are fans about their first corner

double turn(const Vec2& a, const Vec2& b, const Vec2& c) {
  return (b.x() - a.x()) * (c.y() - a.y()) - (b.y() - a.y()) * (c.x() - a.x());
}

/// Drops the axis along which the polygon's normal is largest; counterclockwise is kept so.
std::vector<Vec2> flatten(const std::vector<int>& corners, const std::vector<Vec3>& vertices) {
  Vec3 normal = Vec3::Zero();
  const Vec3& origin = vertices[corners[0]];
  for (std::size_t k = 2; k < corners.size(); ++k)
    normal += (vertices[corners[k - 1]] - origin).cross(vertices[corners[k]] - origin);
  int axis = 0;
  normal.cwiseAbs().maxCoeff(&axis);
  const int x = (axis + 1) % 3, y = (axis + 2) % 3;
  std::vector<Vec2> flat;
  for (const int v : corners)
    flat.emplace_back(normal[axis] < 0.0 ? Vec2(vertices[v][y], vertices[v][x]) : Vec2(vertices[v][x], vertices[v][y]));
  return flat;
}

}  // namespace

void add_polygon(const std::vector<int>& corners, TriangleSoup& soup) {
  const auto add = [&](int a, int b, int c) { soup.triangles.push_back({corners[a], corners[b], corners[c]}); };
  const int count = static_cast<int>(corners.size());
  std::vector<int> left(corners.size());
  for (int i = 0; i < count; ++i) left[i] = i;
  const bool simple = count == 3 || corners.size() > kMaxEars;
  const std::vector<Vec2> p = simple ? std::vector<Vec2>() : flatten(corners, soup.vertices);
  const auto is_ear = [&](std::size_t k) {
    const std::size_t n = left.size();
    const int a = left[(k + n - 1) % n], b = left[k], c = left[(k + 1) % n];
    if (!(turn(p[a], p[b], p[c]) > 0.0)) return false;
    return std::none_of(left.begin(), left.end(), [&](int v) {
      if (v == a || v == b || v == c || p[v] == p[a] || p[v] == p[b] || p[v] == p[c]) return false;
      return turn(p[a], p[b], p[v]) >= 0.0 && turn(p[b], p[c], p[v]) >= 0.0 && turn(p[c], p[a], p[v]) >= 0.0;
    });
  };
  while (!simple && left.size() > 3) {
    std::size_t k = 1;  // a convex polygon becomes the fan about its first corner
    while (k < left.size() && !is_ear(k)) ++k;
    if (k == left.size() && !is_ear(0)) break;
    k %= left.size();
    add(left[(k + left.size() - 1) % left.size()], left[k], left[(k + 1) % left.size()]);
    left.erase(left.begin() + static_cast<std::ptrdiff_t>(k));
  }
  for (std::size_t k = 2; k < left.size(); ++k) add(left[0], left[k - 1], left[k]);
}

}  // namespace almond
