#pragma once
// Closed meshes that are hard to tell inside from outside on.

#include <Eigen/Geometry>
#include <cmath>
#include <numbers>

#include "almond/model/shape.hpp"

namespace almond::samples {

inline void append(const TriangleSoup& part, const Vec3& shift, TriangleSoup& soup) {
  const int first = static_cast<int>(soup.vertices.size());
  for (const Vec3& v : part.vertices) soup.vertices.emplace_back(v + shift);
  for (const auto& [i, j, k] : part.triangles) soup.triangles.push_back({first + i, first + j, first + k});
}

inline TriangleSoup turned_round(TriangleSoup soup) {
  for (auto& t : soup.triangles) std::swap(t[1], t[2]);
  return soup;
}

inline TriangleSoup box(const Vec3& half) {
  TriangleSoup soup;
  for (int i = 0; i < 8; ++i)
    soup.vertices.emplace_back(half.cwiseProduct(Vec3(i & 1 ? 1 : -1, i & 2 ? 1 : -1, i & 4 ? 1 : -1)));
  soup.triangles = {{0, 2, 3}, {0, 3, 1}, {4, 5, 7}, {4, 7, 6}, {0, 1, 5}, {0, 5, 4},
                    {2, 6, 7}, {2, 7, 3}, {0, 4, 6}, {0, 6, 2}, {1, 3, 7}, {1, 7, 5}};
  return soup;
}

/// Corners at ± radius on the axes.
inline TriangleSoup octahedron(double radius) {
  TriangleSoup soup;
  for (int i = 0; i < 6; ++i) soup.vertices.emplace_back((i % 2 == 0 ? radius : -radius) * Vec3::Unit(i / 2));
  for (int i = 0; i < 8; ++i) {
    const int x = i & 1, y = 2 + (i >> 1 & 1), z = 4 + (i >> 2);
    const bool even = (x + y + z) % 2 == 0;
    soup.triangles.push_back({x, even ? y : z, even ? z : y});
  }
  return soup;
}

inline TriangleSoup sphere(double radius, int rings) {
  TriangleSoup soup;
  const int sectors = 2 * rings;
  soup.vertices.emplace_back(0.0, 0.0, -radius);
  for (int i = 1; i < rings; ++i)
    for (int j = 0; j < sectors; ++j) {
      const double a = std::numbers::pi * i / rings, b = std::numbers::pi * j / rings;
      soup.vertices.emplace_back(radius * Vec3(std::sin(a) * std::cos(b), std::sin(a) * std::sin(b), -std::cos(a)));
    }
  soup.vertices.emplace_back(0.0, 0.0, radius);
  const int top = static_cast<int>(soup.vertices.size()) - 1;
  const auto at = [&](int i, int j) { return i == 0 ? 0 : i == rings ? top : 1 + (i - 1) * sectors + j % sectors; };
  for (int i = 0; i < rings; ++i)
    for (int j = 0; j < sectors; ++j) {
      if (i > 0) soup.triangles.push_back({at(i, j), at(i, j + 1), at(i + 1, j)});
      if (i < rings - 1) soup.triangles.push_back({at(i + 1, j), at(i, j + 1), at(i + 1, j + 1)});
    }
  return soup;
}

/// A tube around a trefoil knot of about 3 * size.
inline TriangleSoup knot(double size, double tube, int along, int around) {
  const auto center = [&](double t) {
    return Vec3(size *
                Vec3(std::sin(t) + 2.0 * std::sin(2.0 * t), std::cos(t) - 2.0 * std::cos(2.0 * t), -std::sin(3.0 * t)));
  };
  TriangleSoup soup;
  for (int i = 0; i < along; ++i) {
    const double t = 2.0 * std::numbers::pi * i / along, h = 1e-4;
    const Vec3 axis = (center(t + h) - center(t - h)).normalized();
    const Vec3 u = axis.cross(Vec3::UnitZ()).normalized(), v = axis.cross(u);
    for (int j = 0; j < around; ++j) {
      const double a = 2.0 * std::numbers::pi * j / around;
      soup.vertices.emplace_back(center(t) + tube * (std::cos(a) * u + std::sin(a) * v));
    }
  }
  const auto at = [&](int i, int j) { return (i % along) * around + j % around; };
  for (int i = 0; i < along; ++i)
    for (int j = 0; j < around; ++j) {
      soup.triangles.push_back({at(i, j), at(i, j + 1), at(i + 1, j)});
      soup.triangles.push_back({at(i + 1, j), at(i, j + 1), at(i + 1, j + 1)});
    }
  return soup;
}

}  // namespace almond::samples
