#pragma once
// Distances and winding numbers of triangles, by going through all of them.

#include <Eigen/Geometry>
#include <algorithm>
#include <cmath>
#include <numbers>

#include "almond/model/sdf.hpp"

namespace almond {

inline double area_of(const TriangleSoup& soup) {
  double area = 0.0;
  for (const auto& [i, j, k] : soup.triangles)
    area += 0.5 * (soup.vertices[j] - soup.vertices[i]).cross(soup.vertices[k] - soup.vertices[i]).norm();
  return area;
}

inline TriangleSoup make_fine_mesh(const Sdf& sdf, double edge, double chord) {
  TriangleSoup soup;
  sdf.add_surface({edge, chord}, soup);
  return soup;
}

class DistanceOracle {
 public:
  explicit DistanceOracle(const TriangleSoup& soup) : soup_(soup) {}

  [[nodiscard]] double distance(const Vec3& p) const {
    double best = kInfinity;
    for (const auto& [i, j, k] : soup_.triangles)
      best = std::min(best, distance_to(p, soup_.vertices[i], soup_.vertices[j], soup_.vertices[k]));
    return best;
  }

  /// Solid angles of all triangles seen from p, over 4π.
  [[nodiscard]] double winding(const Vec3& p) const {
    double sum = 0.0;
    for (const auto& [i, j, k] : soup_.triangles) {
      const Vec3 a = soup_.vertices[i] - p, b = soup_.vertices[j] - p, c = soup_.vertices[k] - p;
      const double la = a.norm(), lb = b.norm(), lc = c.norm();
      sum += std::atan2(a.dot(b.cross(c)), la * lb * lc + a.dot(b) * lc + b.dot(c) * la + c.dot(a) * lb);
    }
    return sum / (2.0 * std::numbers::pi);
  }

 private:
  static double distance_to_edge(const Vec3& p, const Vec3& a, const Vec3& b) {
    const Vec3 u = b - a;
    const double t = std::clamp((p - a).dot(u) / std::max(u.squaredNorm(), 1e-300), 0.0, 1.0);
    return (p - a - t * u).norm();
  }
  static double distance_to(const Vec3& p, const Vec3& a, const Vec3& b, const Vec3& c) {
    const Vec3 n = (b - a).cross(c - a);
    const bool over =
        n.dot((b - a).cross(p - a)) >= 0.0 && n.dot((c - b).cross(p - b)) >= 0.0 && n.dot((a - c).cross(p - c)) >= 0.0;
    if (over && n.norm() > 0.0) return std::abs(n.dot(p - a)) / n.norm();
    return std::min({distance_to_edge(p, a, b), distance_to_edge(p, b, c), distance_to_edge(p, c, a)});
  }

  const TriangleSoup& soup_;
};

}  // namespace almond
