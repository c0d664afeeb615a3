#pragma once
// An oracle for signed distances that shares no code with the library: for convex A and B
//
//   gap = max over unit m of s(m),   s(m) = min over B of mᵀx - max over A of mᵀx,
//
// apart (distance) and overlapping (shortest way out) alike. A claimed (gap, n) is right if s(n) = gap and no other
// direction does better.

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "almond/collision/manifold.hpp"
#include "scenes/random.hpp"

namespace almond::testing {

/// max of mᵀx over the shape at X.
inline double support_height(const Shape& shape, const Pose& X, const Vec3& m) {
  const Vec3 d = X.R.transpose() * m;
  const double across = std::hypot(d.x(), d.y());
  struct Height {
    const Vec3& d;
    double across;
    double operator()(const Sphere& s) const { return s.radius * d.norm(); }
    double operator()(const Capsule& s) const { return s.radius * d.norm() + s.half_length * std::abs(d.z()); }
    double operator()(const Plane&) const { return kInfinity; }
    double operator()(const Box& s) const { return s.half.dot(d.cwiseAbs()); }
    double operator()(const Cylinder& s) const { return s.radius * across + s.half_length * std::abs(d.z()); }
    double operator()(const Cone& s) const {
      return std::max(s.half_length * d.z(), s.radius * across - s.half_length * d.z());
    }
    double operator()(const Ellipsoid& s) const { return s.radii.cwiseProduct(d).norm(); }
    double operator()(const ConvexMesh& s) const {
      double best = -kInfinity;
      for (const Vec3& v : s.hull->vertices) best = std::max(best, d.dot(v));
      return best;
    }
    double operator()(const TriangleMesh&) const { return kNaN; }
    double operator()(const HeightField&) const { return kNaN; }
    double operator()(const SdfShape&) const { return kNaN; }
  };
  return m.dot(X.p) + std::visit(Height{d, across}, shape);
}

inline double separation(const Shape& a, const Pose& X_a, const Shape& b, const Pose& X_b, const Vec3& m) {
  return -support_height(b, X_b, -m) - support_height(a, X_a, m);
}

/// The best separation found by ascent from many starts: never more than the gap.
inline double search_gap(const Shape& a, const Pose& X_a, const Shape& b, const Pose& X_b, scenes::Random& random,
                         int starts = 12) {
  double best = -kInfinity;
  for (int k = 0; k < starts; ++k) {
    Vec3 m = random.direction();
    double value = separation(a, X_a, b, X_b, m);
    for (double step = 0.5; step > 1e-7; step *= 0.7) {
      for (int trial = 0; trial < 8; ++trial) {
        const Vec3 other = (m + step * random.direction()).normalized();
        const double at = separation(a, X_a, b, X_b, other);
        if (at > value) value = at, m = other;
      }
    }
    best = std::max(best, value);
  }
  return best;
}

inline double least_gap(const Manifold& manifold) {
  double least = kInfinity;
  for (const ManifoldPoint& point : manifold.points) least = std::min(least, point.gap);
  return least;
}

inline const ManifoldPoint& deepest_point(const Manifold& manifold) {
  return *std::min_element(manifold.points.begin(), manifold.points.end(),
                           [](const auto& x, const auto& y) { return x.gap < y.gap; });
}

inline Pose random_pose(scenes::Random& random, double spread) {
  return {random.rotation(),
          spread * Vec3(random.uniform(-1.0, 1.0), random.uniform(-1.0, 1.0), random.uniform(-1.0, 1.0))};
}

/// Sizes over a decade and a half.
inline double random_size(scenes::Random& random) { return std::pow(10.0, random.uniform(-1.0, 0.3)); }

/// Sphere, capsule or box.
inline Shape random_primitive(int kind, scenes::Random& random) {
  const double x = random_size(random), y = random_size(random), z = random_size(random);
  if (kind == 0) return Sphere{x};
  if (kind == 1) return Capsule{x, y};
  return Box{Vec3(x, y, z)};
}

}  // namespace almond::testing
