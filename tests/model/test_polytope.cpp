// Convex hulls: faces, edges and volume against closed forms (cube, prisms, random points), and every input that spans
// no volume is refused with its count and extent.

#include <gtest/gtest.h>

#include <Eigen/Geometry>
#include <algorithm>
#include <cmath>

#include "almond/base/check.hpp"
#include "almond/base/spatial.hpp"
#include "almond/model/shape.hpp"
#include "scenes/random.hpp"

namespace almond {
namespace {

using scenes::Random;

std::vector<Vec3> cube_corners(double half) {
  std::vector<Vec3> points;
  for (int i = 0; i < 8; ++i) points.emplace_back(i & 1 ? half : -half, i & 2 ? half : -half, i & 4 ? half : -half);
  return points;
}

/// Convex, closed, counterclockwise, Euler's formula, symmetric neighbours.
void expect_sound(const Polytope& hull, double tolerance) {
  int corners = 0;
  for (std::size_t f = 0; f < hull.faces.size(); ++f) {
    const Vec3 n = hull.normals[f];
    EXPECT_NEAR(n.norm(), 1.0, 1e-12);
    const std::vector<int>& face = hull.faces[f];
    corners += static_cast<int>(face.size());
    const double level = n.dot(hull.vertices[face[0]]);
    for (const Vec3& p : hull.vertices) EXPECT_LE(n.dot(p) - level, tolerance);
    for (std::size_t k = 0; k < face.size(); ++k) {
      const Vec3 a = hull.vertices[face[k]], b = hull.vertices[face[(k + 1) % face.size()]],
                 c = hull.vertices[face[(k + 2) % face.size()]];
      EXPECT_GE((b - a).cross(c - b).dot(n), -tolerance) << "face " << f << " turns the wrong way";
    }
  }
  const int vertices = static_cast<int>(hull.vertices.size()), faces = static_cast<int>(hull.faces.size());
  EXPECT_EQ(vertices - corners / 2 + faces, 2);
  for (int v = 0; v < vertices; ++v) {
    EXPECT_GE(hull.neighbors[v].size(), 3u);
    for (const int w : hull.neighbors[v])
      EXPECT_TRUE(std::find(hull.neighbors[w].begin(), hull.neighbors[w].end(), v) != hull.neighbors[w].end());
  }
}

TEST(Polytope, CubeHasSixSquares) {
  Random random(1);
  for (const double offset : {0.0, 1.0, 1000.0}) {
    const Mat3 R = exp_so3(random.normal3());
    std::vector<Vec3> points = cube_corners(0.5);
    for (int k = 0; k < 50; ++k) points.push_back(0.5 * Vec3(random.uniform(-1, 1), random.uniform(-1, 1), 1.0));
    for (Vec3& p : points) p = R * p + Vec3::Constant(offset);
    const auto hull = make_polytope(points);
    expect_sound(*hull, 1e-9);
    EXPECT_EQ(hull->vertices.size(), 8u);
    ASSERT_EQ(hull->faces.size(), 6u);
    for (const auto& face : hull->faces) EXPECT_EQ(face.size(), 4u);
    EXPECT_LT((hull->center - Vec3::Constant(offset)).norm(), 1e-9);
    const MassProperties m = solid_properties(ConvexMesh{hull}, 2.0);
    EXPECT_NEAR(m.mass, 2.0, 1e-9);
    EXPECT_LT((m.com - Vec3::Constant(offset)).norm(), 1e-9);
    EXPECT_LT((m.inertia - Mat3::Identity() / 3.0).norm(), 1e-9);
  }
}

TEST(Polytope, SinglePrecisionNoiseKeepsFacesWhole) {
  // A prism of 24 sides whose corners went through float: 24 quadrilaterals and two caps.
  const Mat3 R = exp_so3(Vec3(0.3, -0.7, 0.2));
  std::vector<Vec3> points;
  for (int k = 0; k < 24; ++k)
    for (const double z : {-0.1, 0.1}) {
      const double angle = 2.0 * M_PI * k / 24.0;
      points.push_back((R * Vec3(0.2 * std::cos(angle), 0.2 * std::sin(angle), z)).cast<float>().cast<double>());
    }
  const auto hull = make_polytope(points);
  EXPECT_EQ(hull->vertices.size(), 48u);
  EXPECT_EQ(hull->faces.size(), 26u);
  EXPECT_EQ(std::count_if(hull->faces.begin(), hull->faces.end(), [](const auto& f) { return f.size() == 24; }), 2);
  expect_sound(*hull, 1e-6);
}

TEST(Polytope, RandomPointsLieInsideTheirHull) {
  Random random(2);
  for (int trial = 0; trial < 50; ++trial) {
    std::vector<Vec3> points(4 + 20 * trial);
    const Vec3 stretch(1.0, std::pow(10.0, random.uniform(-2, 0)), std::pow(10.0, random.uniform(-2, 0)));
    for (Vec3& p : points) p = random.normal3().cwiseProduct(stretch);
    const auto hull = make_polytope(points);
    expect_sound(*hull, 1e-5);
    for (std::size_t f = 0; f < hull->faces.size(); ++f)
      for (const Vec3& p : points) EXPECT_LE(hull->normals[f].dot(p - hull->vertices[hull->faces[f][0]]), 1e-5);
  }
}

TEST(Polytope, PointsOnASphereAreAllVertices) {
  Random random(3);
  std::vector<Vec3> points(500);
  for (Vec3& p : points) p = random.normal3().normalized();
  const auto hull = make_polytope(points);
  EXPECT_EQ(hull->vertices.size(), 500u);
  expect_sound(*hull, 1e-6);
}

std::string message_of(const std::vector<Vec3>& points) {
  try {
    static_cast<void>(make_polytope(points));
  } catch (const Error& error) {
    return error.what();
  }
  return "";
}

TEST(Polytope, RefusesWhatSpansNoVolume) {
  EXPECT_EQ(message_of({Vec3::Zero(), Vec3::UnitX(), Vec3::UnitY()}), "convex hull: 3 points, expected at least 4");
  std::vector<Vec3> points = cube_corners(1.0);
  points[5].y() = kNaN;
  EXPECT_EQ(message_of(points), "convex hull: point 5 is not finite");
  points = cube_corners(1.0);
  const Mat3 R = exp_so3(Vec3(0.4, 0.2, 0.9));
  for (Vec3& p : points) p = R * Vec3(p.x(), 2.0 * p.y(), 0.0);
  EXPECT_NE(message_of(points).find("8 points with extents 4 x 2 x "), std::string::npos) << message_of(points);
  EXPECT_NE(message_of(points).find("do not span a volume"), std::string::npos);
  EXPECT_NE(message_of(std::vector<Vec3>(9, Vec3::Ones())).find("extents 0 x 0 x 0"), std::string::npos);
}

}  // namespace
}  // namespace almond
