// Shapes: mass properties against integration by random points and against fine meshes, bounding radii against support
// points, and every bad size named in its message.

#include <gtest/gtest.h>

#include <Eigen/Geometry>
#include <cmath>
#include <functional>

#include "almond/base/check.hpp"
#include "almond/base/pose.hpp"
#include "almond/model/shape.hpp"
#include "almond/model/surface_tree.hpp"
#include "scenes/random.hpp"

namespace almond {
namespace {

using scenes::Random;

struct Case {
  Shape shape;
  Vec3 half;  // of a box about the origin that holds it
  std::function<bool(const Vec3&)> inside;
};

std::vector<Case> solids() {
  const auto radial = [](const Vec3& p) { return std::hypot(p.x(), p.y()); };
  std::vector<Case> cases;
  cases.push_back({Sphere{0.7}, Vec3::Constant(0.7), [](const Vec3& p) { return p.norm() <= 0.7; }});
  cases.push_back({Capsule{0.4, 0.6}, Vec3(0.4, 0.4, 1.0),
                   [](const Vec3& p) { return (p - Vec3(0, 0, std::clamp(p.z(), -0.6, 0.6))).norm() <= 0.4; }});
  cases.push_back({Box{Vec3(0.3, 0.5, 0.9)}, Vec3(0.3, 0.5, 0.9), [](const Vec3&) { return true; }});
  cases.push_back({Cylinder{0.5, 0.8}, Vec3(0.5, 0.5, 0.8), [=](const Vec3& p) { return radial(p) <= 0.5; }});
  cases.push_back(
      {Cone{0.5, 0.8}, Vec3(0.5, 0.5, 0.8), [=](const Vec3& p) { return radial(p) <= 0.5 * (0.8 - p.z()) / 1.6; }});
  cases.push_back({Ellipsoid{Vec3(0.3, 0.5, 0.9)}, Vec3(0.3, 0.5, 0.9),
                   [](const Vec3& p) { return p.cwiseQuotient(Vec3(0.3, 0.5, 0.9)).norm() <= 1.0; }});
  const auto hull = make_polytope({Vec3(1, 0, 0), Vec3(-0.5, 0.8, 0), Vec3(-0.5, -0.8, 0.1), Vec3(0.2, 0.1, 0.9),
                                   Vec3(-0.1, 0.2, -0.6), Vec3(0.6, 0.6, 0.5)});
  cases.push_back({ConvexMesh{hull}, Vec3::Ones(), [hull](const Vec3& p) {
                     for (std::size_t f = 0; f < hull->faces.size(); ++f)
                       if (hull->normals[f].dot(p - hull->vertices[hull->faces[f][0]]) > 0.0) return false;
                     return true;
                   }});
  return cases;
}

TEST(SolidProperties, MatchIntegrationByRandomPoints) {
  constexpr int kPoints = 1000000;
  for (const Case& c : solids()) {
    Random random(1);
    int hits = 0;
    Vec3 first = Vec3::Zero();
    Mat3 second = Mat3::Zero();
    for (int k = 0; k < kPoints; ++k) {
      const Vec3 p = c.half.cwiseProduct(Vec3(random.uniform(-1, 1), random.uniform(-1, 1), random.uniform(-1, 1)));
      if (!c.inside(p)) continue;
      ++hits;
      first += p;
      second += p * p.transpose();
    }
    const double weight = 8.0 * c.half.prod() / kPoints, mass = weight * hits;
    const Vec3 com = first / hits;
    const Mat3 C = weight * second - mass * com * com.transpose();
    const MassProperties m = solid_properties(c.shape, 3.0);
    // Standard error of 1e6 points is about 1e-3; five of them.
    EXPECT_NEAR(m.mass, 3.0 * mass, 5e-3 * m.mass) << shape_name(c.shape);
    EXPECT_LT((m.com - com).norm(), 5e-3) << shape_name(c.shape);
    const Mat3 inertia = 3.0 * (C.trace() * Mat3::Identity() - C);
    EXPECT_LT((m.inertia - inertia).norm(), 7e-3 * m.inertia.norm()) << shape_name(c.shape);
  }
}

/// A surface of revolution about z as triangles: outline (r, z) from bottom to top, starting and ending on the axis.
TriangleSoup revolve(const std::vector<Vec2>& outline, int sectors) {
  TriangleSoup soup;
  for (const Vec2& p : outline)
    for (int s = 0; s < sectors; ++s) {
      const double angle = 2.0 * M_PI * s / sectors;
      soup.vertices.emplace_back(p.x() * std::cos(angle), p.x() * std::sin(angle), p.y());
    }
  for (int row = 0; row + 1 < static_cast<int>(outline.size()); ++row)
    for (int s = 0; s < sectors; ++s) {
      const int a = row * sectors + s, b = row * sectors + (s + 1) % sectors;
      soup.triangles.push_back({a, b, b + sectors});
      soup.triangles.push_back({a, b + sectors, a + sectors});
    }
  return soup;
}

TEST(SolidProperties, FineMeshesApproachTheClosedForms) {
  // Corners on the axis coincide: those triangles have no area and must not count as holes.
  const int sectors = 400;
  std::vector<Vec2> ball;
  for (int k = 0; k <= 200; ++k) ball.emplace_back(0.7 * std::sin(M_PI * k / 200), -0.7 * std::cos(M_PI * k / 200));
  ball.front().x() = ball.back().x() = 0.0;
  const std::pair<Shape, std::vector<Vec2>> cases[] = {
      {Sphere{0.7}, ball},
      {Cylinder{0.5, 0.8}, {{0, -0.8}, {0.5, -0.8}, {0.5, 0.8}, {0, 0.8}}},
      {Cone{0.5, 0.8}, {{0, -0.8}, {0.5, -0.8}, {0, 0.8}}}};
  for (const auto& [shape, outline] : cases) {
    const MassProperties exact = solid_properties(shape, 1.0);
    const TriangleMesh mesh = make_triangle_mesh(revolve(outline, sectors));
    EXPECT_EQ(mesh.tree->open_edges, 0);
    const MassProperties fine = solid_properties(mesh, 1.0);
    EXPECT_NEAR(fine.mass, exact.mass, 3e-4 * exact.mass) << shape_name(shape);
    EXPECT_LT((fine.com - exact.com).norm(), 1e-4);
    EXPECT_LT((fine.inertia - exact.inertia).norm(), 4e-4 * exact.inertia.norm());
  }
}

TEST(SolidProperties, ObeyTheParallelAxisLaw) {
  // Two halves of a box, each about its own centre, add up to the whole.
  const auto half_box = [](double x0, double x1) {
    std::vector<Vec3> points;
    for (int i = 0; i < 8; ++i) points.emplace_back(i & 1 ? x1 : x0, i & 2 ? 0.4 : -0.4, i & 4 ? 0.2 : -0.2);
    return ConvexMesh{make_polytope(points)};
  };
  const MassProperties whole = solid_properties(Box{Vec3(0.9, 0.4, 0.2)}, 1.0);
  Mat3 sum = Mat3::Zero();
  double mass = 0.0;
  for (const auto& [x0, x1] : {std::pair(-0.9, 0.1), std::pair(0.1, 0.9)}) {
    const MassProperties part = solid_properties(half_box(x0, x1), 1.0);
    const Mat3 cx = skew(part.com);
    sum += part.inertia - part.mass * cx * cx;
    mass += part.mass;
  }
  EXPECT_NEAR(mass, whole.mass, 1e-12);
  EXPECT_LT((sum - whole.inertia).norm(), 1e-12);
}

TEST(SolidProperties, ACapsuleOfNoLengthIsASphere) {
  const MassProperties a = solid_properties(Capsule{0.3, 0.0}, 2.0), b = solid_properties(Sphere{0.3}, 2.0);
  EXPECT_DOUBLE_EQ(a.mass, b.mass);
  EXPECT_LT((a.inertia - b.inertia).norm(), 1e-15);
}

TEST(BoundingRadius, HoldsTheShapeAndIsReached) {
  Random random(4);
  for (const Case& c : solids()) {
    const double r = bounding_radius(c.shape);
    double reached = 0.0;
    for (int k = 0; k < 200000; ++k) {
      const Vec3 p = c.half.cwiseProduct(Vec3(random.uniform(-1, 1), random.uniform(-1, 1), random.uniform(-1, 1)));
      if (c.inside(p)) reached = std::max(reached, p.norm());
    }
    EXPECT_LE(reached, r * (1 + 1e-12)) << shape_name(c.shape);
    EXPECT_GE(reached, 0.85 * r) << shape_name(c.shape);
  }
  EXPECT_EQ(bounding_radius(Plane{}), kInfinity);
  HeightGrid grid{2, 2, 3.0, 4.0, {0, 0, -12, 0}};
  EXPECT_DOUBLE_EQ(bounding_radius(HeightField{std::make_shared<const HeightGrid>(grid)}), 13.0);
}

template <class F>
std::string message_of(F&& f) {
  try {
    f();
  } catch (const Error& error) {
    return error.what();
  }
  return "";
}

TEST(CheckShape, NamesWhatIsWrong) {
  const auto complaint = [](const Shape& shape) { return message_of([&] { check_shape(shape, "geom \"g\""); }); };
  for (const Case& c : solids()) EXPECT_EQ(complaint(c.shape), "") << shape_name(c.shape);
  EXPECT_EQ(complaint(Sphere{-1.0}), "geom \"g\": radius is -1, expected finite and > 0");
  EXPECT_EQ(complaint(Sphere{kNaN}), "geom \"g\": radius is nan, expected finite and > 0");
  EXPECT_EQ(complaint(Capsule{0.1, 0.0}), "");
  EXPECT_EQ(complaint(Capsule{0.1, -1.0}), "geom \"g\": half length is -1, expected finite and >= 0");
  EXPECT_EQ(complaint(Box{Vec3(1, 0, 1)}), "geom \"g\": half edge y is 0, expected finite and > 0");
  EXPECT_EQ(complaint(Cylinder{0.1, kInfinity}), "geom \"g\": half length is inf, expected finite and > 0");
  EXPECT_NE(complaint(ConvexMesh{}), "");
  EXPECT_NE(complaint(TriangleMesh{}), "");
  EXPECT_NE(complaint(HeightField{}), "");
  HeightGrid grid{2, 3, 1.0, 1.0, std::vector<double>(5, 0.0)};
  EXPECT_EQ(complaint(HeightField{std::make_shared<const HeightGrid>(grid)}),
            "geom \"g\": height field has 5 heights, expected rows x columns = 6");
  grid.height.resize(6, kNaN);
  EXPECT_EQ(complaint(HeightField{std::make_shared<const HeightGrid>(grid)}),
            "geom \"g\": height 5 is nan, expected a finite number");
}

TEST(CheckShape, RefusesHullsThatNameWrongVertices) {
  std::vector<Vec3> corners;
  for (int i = 0; i < 8; ++i) corners.emplace_back(i & 1, (i & 2) / 2, (i & 4) / 4);
  const auto complaint = [&](const std::function<void(Polytope&)>& change) {
    auto hull = std::make_shared<Polytope>(*make_polytope(corners));
    change(*hull);
    return message_of([&] { check_shape(ConvexMesh{hull}, "geom \"g\""); });
  };
  EXPECT_EQ(complaint([](Polytope&) {}), "");
  EXPECT_EQ(complaint([](Polytope& p) { p.faces[2][1] = 8; }), "geom \"g\": face 2 names vertex 8, expected 0 to 7");
  EXPECT_EQ(complaint([](Polytope& p) { p.neighbors[3][0] = -1; }),
            "geom \"g\": neighbor list 3 names vertex -1, expected 0 to 7");
  EXPECT_EQ(complaint([](Polytope& p) { p.faces[0].resize(2); }),
            "geom \"g\": face 0 has 2 corners, expected at least 3");
  EXPECT_EQ(complaint([](Polytope& p) { p.normals.pop_back(); }),
            "geom \"g\": the convex mesh has 5 normals, expected one per face = 6");
  EXPECT_EQ(complaint([](Polytope& p) { p.neighbors.clear(); }),
            "geom \"g\": the convex mesh has 0 neighbor lists, expected one per vertex = 8");
  EXPECT_NE(complaint([](Polytope& p) { p = Polytope{}; }).find("expected at least 4"), std::string::npos);
}

TEST(CheckShape, RefusesMeshesWithoutArea) {
  // A needle and a point; one true triangle beside them is enough.
  TriangleSoup soup{{Vec3::Zero(), Vec3::UnitX(), 2.0 * Vec3::UnitX(), Vec3::UnitY()}, {{0, 1, 2}, {3, 3, 3}}};
  const auto complaint = [&] { return message_of([&] { check_shape(make_triangle_mesh(soup), "geom \"g\""); }); };
  EXPECT_EQ(complaint(), "geom \"g\": none of the 2 triangles has an area, expected at least one that has");
  soup.triangles.push_back({0, 1, 3});
  EXPECT_EQ(complaint(), "");
}

TEST(TriangleMesh, OpenOrInsideOutMeshesHaveNoVolume) {
  TriangleSoup tetrahedron{{Vec3::Zero(), Vec3::UnitX(), Vec3::UnitY(), Vec3::UnitZ()},
                           {{0, 2, 1}, {0, 1, 3}, {1, 2, 3}, {0, 3, 2}}};
  EXPECT_NEAR(solid_properties(make_triangle_mesh(tetrahedron), 1.0).mass, 1.0 / 6.0, 1e-15);
  TriangleSoup inverted = tetrahedron;
  for (auto& t : inverted.triangles) std::swap(t[0], t[1]);
  EXPECT_NE(
      message_of([&] { static_cast<void>(solid_properties(make_triangle_mesh(inverted), 1.0)); }).find("inside out"),
      std::string::npos);
  TriangleSoup open = tetrahedron;
  open.triangles.pop_back();
  EXPECT_NE(
      message_of([&] { static_cast<void>(solid_properties(make_triangle_mesh(open), 1.0)); }).find("open: 3 edges"),
      std::string::npos);
  open.triangles[1][2] = 9;
  EXPECT_EQ(message_of([&] { static_cast<void>(make_triangle_mesh(open)); }),
            "triangle mesh: triangle 1 names vertex 9, expected 0 to 3");
  EXPECT_NE(message_of([] { static_cast<void>(solid_properties(Plane{}, 1.0)); }), "");
  EXPECT_NE(message_of([] { static_cast<void>(solid_properties(Sphere{1.0}, 0.0)); }), "");
}

}  // namespace
}  // namespace almond
