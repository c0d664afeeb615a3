// Triangle meshes and height fields: where they are flat they give exactly the
// contacts of the plane and of the box they stand for, inner edges do not
// catch, convex edges and corners are touched like those of a convex shape, and
// only the outer side counts.

#include <gtest/gtest.h>

#include <Eigen/Geometry>
#include <algorithm>
#include <cmath>

#include "almond/collision/convex.hpp"
#include "almond/collision/narrowphase.hpp"
#include "almond/collision/support.hpp"
#include "almond/model/surface_tree.hpp"
#include "scenes/random.hpp"
#include "tests/common/allocation.hpp"

namespace almond {
namespace {

using scenes::Random;

/// A square of cells² · 2 triangles over [-1, 1]² at height z(x, y), diagonals
/// by chance, corners moved by chance.
template <class Height>
TriangleSoup sheet(int cells, Random& random, double jitter, const Height& z) {
  TriangleSoup soup;
  for (int i = 0; i <= cells; ++i)
    for (int j = 0; j <= cells; ++j) {
      const bool inner = i > 0 && j > 0 && i < cells && j < cells;
      const double x = 2.0 * j / cells - 1.0 + (inner ? jitter * random.uniform(-1, 1) / cells : 0.0);
      const double y = 2.0 * i / cells - 1.0 + (inner ? jitter * random.uniform(-1, 1) / cells : 0.0);
      soup.vertices.emplace_back(x, y, z(x, y));
    }
  for (int i = 0; i < cells; ++i)
    for (int j = 0; j < cells; ++j) {
      const int a = i * (cells + 1) + j, b = a + 1, c = a + cells + 2, d = a + cells + 1;
      if (random.uniform() < 0.5) {
        soup.triangles.push_back({a, b, c});
        soup.triangles.push_back({a, c, d});
      } else {
        soup.triangles.push_back({a, b, d});
        soup.triangles.push_back({b, c, d});
      }
    }
  return soup;
}

TriangleMesh flat_sheet(int cells, std::uint64_t seed) {
  Random random(seed);
  return make_triangle_mesh(sheet(cells, random, 0.6, [](double, double) { return 0.0; }));
}

HeightField flat_field(int rows, int columns) {
  HeightGrid grid{rows, columns, 1.0, 1.0, std::vector<double>(static_cast<std::size_t>(rows) * columns, 0.0)};
  return HeightField{std::make_shared<const HeightGrid>(grid)};
}

/// A box as twelve triangles, each face split once more along its other
/// diagonal where `fine`.
TriangleMesh box_mesh(const Vec3& half) {
  TriangleSoup soup;
  for (int i = 0; i < 8; ++i)
    soup.vertices.push_back(half.cwiseProduct(Vec3(i & 1 ? 1 : -1, i & 2 ? 1 : -1, i & 4 ? 1 : -1)));
  for (const auto& f : {std::array{0, 2, 3, 1}, {4, 5, 7, 6}, {0, 1, 5, 4}, {2, 6, 7, 3}, {0, 4, 6, 2}, {1, 3, 7, 5}}) {
    soup.triangles.push_back({f[0], f[1], f[2]});
    soup.triangles.push_back({f[0], f[2], f[3]});
  }
  return make_triangle_mesh(soup);
}

double lowest_gap(const Manifold& manifold) {
  double gap = kInfinity;
  for (const ManifoldPoint& p : manifold.points) gap = std::min(gap, p.gap);
  return gap;
}

std::vector<Shape> round_shapes() { return {Sphere{0.1}, Capsule{0.05, 0.15}, Ellipsoid{Vec3(0.1, 0.15, 0.2)}}; }
std::vector<Shape> shapes() {
  std::vector<Shape> all = round_shapes();
  all.push_back(Box{Vec3(0.2, 0.1, 0.05)});
  all.push_back(Cylinder{0.1, 0.15});
  all.push_back(Cone{0.1, 0.15});
  all.push_back(
      ConvexMesh{make_polytope({Vec3(0.2, 0, 0), Vec3(-0.1, 0.15, 0), Vec3(-0.1, -0.15, 0.02), Vec3(0, 0, 0.2)})});
  return all;
}

struct Scratch {
  ConvexWorkspace workspace;
  Manifold manifold;

  const Manifold& collide(const Shape& a, const Pose& X_a, const Shape& b, const Pose& X_b,
                          const PairOptions& options) {
    manifold.clear();
    collide_pair(a, X_a, b, X_b, options, workspace, manifold);
    return manifold;
  }
};

TEST(FlatSurface, GivesThePlanesContacts) {
  // Any shape in any pose over a triangulated square touches it with the
  // plane's normal, at the plane's depth.
  Random random(1);
  const PairOptions options{0.01, 8};
  Scratch scratch;
  const Shape surfaces[] = {flat_sheet(7, 3), flat_sheet(40, 4), flat_field(9, 13)};
  int touching = 0;
  for (const Shape& surface : surfaces)
    for (const Shape& shape : shapes())
      for (int trial = 0; trial < 200; ++trial) {
        const Pose X_a{random.rotation(), random.normal3()};
        Pose X{random.rotation(), Vec3(random.uniform(-0.6, 0.6), random.uniform(-0.6, 0.6), 0.0)};
        if (trial % 3 == 0) X.R = Mat3::Identity();
        X.p.z() = -lowest_gap(scratch.collide(Plane{}, Pose{}, shape, X, {1.0, 8})) + random.uniform(-0.005, 0.011);
        const Manifold expected = scratch.collide(Plane{}, X_a, shape, X_a * X, options);
        const Manifold& found = scratch.collide(surface, X_a, shape, X_a * X, options);
        ASSERT_EQ(found.points.empty(), expected.points.empty()) << shape_name(shape);
        if (found.points.empty()) continue;
        ++touching;
        const Core core = make_core(shape);
        int branch = 0;
        const Vec3 down = -X.R.row(2).transpose();
        const double lowest = (X * Vec3(support(core, down, branch) + core.radius * down)).z();
        // Reduction may prefer another point of a rim within 1e-5 of its extent.
        EXPECT_NEAR(lowest_gap(found), lowest, 5e-6) << shape_name(shape);
        EXPECT_LE(found.points.size(), 8u);
        for (const ManifoldPoint& p : found.points) {
          EXPECT_LT((p.n - X_a.R.col(2)).norm(), 1e-9) << shape_name(shape);
          // Midway between the plane and the shape.
          EXPECT_NEAR(X_a.R.col(2).dot(p.p - X_a.p), 0.5 * p.gap, 1e-9);
        }
      }
  EXPECT_GT(touching, 2000);
}

TEST(FlatSurface, ARollingSphereHasOneContactUnderItsCentre) {
  Scratch scratch;
  for (const Shape& surface : {Shape(flat_sheet(20, 5)), Shape(flat_field(21, 21))}) {
    std::uint32_t feature = 0;
    for (int k = 0; k <= 2000; ++k) {
      // The path runs along cell borders and diagonals, too.
      const double s = -0.9 + 1.8 * k / 2000;
      const Vec3 center(s, k % 2 == 0 ? s : 0.1, 0.0995);
      const Manifold& m = scratch.collide(surface, Pose{}, Sphere{0.1}, Pose{Mat3::Identity(), center}, {0.001, 8});
      ASSERT_EQ(m.points.size(), 1u) << "at " << s;
      EXPECT_LT((m.points[0].n - Vec3::UnitZ()).norm(), 1e-12);
      EXPECT_NEAR(m.points[0].gap, -0.0005, 1e-12);
      EXPECT_LT((m.points[0].p - Vec3(center.x(), center.y(), -0.00025)).norm(), 1e-9);
      if (k == 0) feature = m.points[0].feature;
      EXPECT_EQ(m.points[0].feature, feature);
    }
  }
}

TEST(FlatSurface, ASlidingBoxRestsOnItsCorners) {
  Scratch scratch;
  const Box box{Vec3(0.2, 0.15, 0.1)};
  for (const Shape& surface : {Shape(flat_sheet(30, 6)), Shape(flat_field(31, 31))})
    for (int k = 0; k <= 500; ++k) {
      const Pose X = make_rotation(Vec3::UnitZ(), 0.01 * k, Vec3(-0.6 + 1.2 * k / 500, 0.2, 0.0999));
      const Manifold& m = scratch.collide(surface, Pose{}, box, X, {0.001, 8});
      ASSERT_GE(m.points.size(), 4u);
      for (const ManifoldPoint& p : m.points) {
        EXPECT_LT((p.n - Vec3::UnitZ()).norm(), 1e-12);
        EXPECT_NEAR(p.gap, -1e-4, 1e-12);
      }
      // All four corners are there, by their own names.
      for (int corner = 0; corner < 4; ++corner) {
        const Vec3 at = X * Vec3(corner & 1 ? 0.2 : -0.2, corner & 2 ? 0.15 : -0.15, -0.1);
        const auto found = std::find_if(m.points.begin(), m.points.end(),
                                        [&](const ManifoldPoint& p) { return (p.p - at).head<2>().norm() < 1e-6; });
        ASSERT_NE(found, m.points.end()) << "corner " << corner << " at step " << k;
        EXPECT_EQ(found->feature, static_cast<std::uint32_t>(corner));
      }
    }
}

TEST(ClosedMesh, TouchesLikeTheSolidItBounds) {
  // A box of triangles against shapes that are apart or overlap slightly: same
  // depth and normal as the convex box.
  Random random(7);
  Scratch scratch;
  const Vec3 half(0.5, 0.3, 0.2);
  const TriangleMesh mesh = box_mesh(half);
  ConvexWorkspace workspace;
  int edges = 0;
  for (const Shape& shape : shapes())
    for (int trial = 0; trial < 400; ++trial) {
      const Pose X_a{random.rotation(), random.normal3()};
      Pose X{random.rotation(), 3.0 * random.direction()};
      ConvexDistance d = signed_distance(Box{half}, Pose{}, shape, X, workspace);
      X.p -= d.n * (d.gap - random.uniform(-0.002, 0.01));
      d = signed_distance(Box{half}, X_a, shape, X_a * X, workspace);
      const Manifold& m = scratch.collide(mesh, X_a, shape, X_a * X, {0.02, 8});
      ASSERT_FALSE(m.points.empty()) << shape_name(shape) << " gap " << d.gap;
      const auto deepest = std::min_element(m.points.begin(), m.points.end(),
                                            [](const auto& p, const auto& q) { return p.gap < q.gap; });
      // Overlapping, a corner near an edge may be resolved along its face, which is a longer way out, or out of its own
      // triangle, which is a shorter one.
      EXPECT_LE(deepest->gap, std::max(d.gap, 0.5 * d.gap) + 1e-9) << shape_name(shape) << " trial " << trial;
      EXPECT_GE(deepest->gap, std::min(d.gap, 6.0 * d.gap) - 1e-9) << shape_name(shape) << " trial " << trial;
      if (d.gap > 1e-6) {
        EXPECT_LT((deepest->n - d.n).norm(), 1e-5) << shape_name(shape);
      }
      edges += (X_a.R.transpose() * d.n).cwiseAbs().maxCoeff() < 0.99;
    }
  EXPECT_GT(edges, 200);
}

TEST(OpenMesh, OnlyTheOuterSideCounts) {
  Scratch scratch;
  const TriangleMesh mesh = flat_sheet(4, 8);
  for (const Shape& shape : round_shapes()) {
    const Pose below{Mat3::Identity(), Vec3(0.1, 0.05, -0.25)};
    EXPECT_TRUE(scratch.collide(mesh, Pose{}, shape, below, {0.1, 8}).points.empty()) << shape_name(shape);
  }
  // The ground under a height field is solid: a sphere below its surface is
  // pushed up.
  const Manifold& m = scratch.collide(flat_field(5, 5), Pose{}, Sphere{0.1},
                                      Pose{Mat3::Identity(), Vec3(0.1, 0.05, -0.25)}, {0.001, 8});
  ASSERT_EQ(m.points.size(), 1u);
  EXPECT_LT((m.points[0].n - Vec3::UnitZ()).norm(), 1e-12);
}

TEST(ThinWall, PushesToTheNearSideOnly) {
  // A plate 1 mm thick, a sphere 3 mm into it: the far face does not pull.
  Scratch scratch;
  const TriangleMesh plate = box_mesh(Vec3(0.5, 0.5, 0.0005));
  const Manifold& m =
      scratch.collide(plate, Pose{}, Sphere{0.05}, Pose{Mat3::Identity(), Vec3(0.1, 0.02, 0.0475)}, {0.001, 8});
  ASSERT_EQ(m.points.size(), 1u);
  EXPECT_LT((m.points[0].n - Vec3::UnitZ()).norm(), 1e-9);
  EXPECT_NEAR(m.points[0].gap, -0.003, 1e-9);
}

TEST(Cliff, ABoxOverTheEdgeIsHeldUpNotPushedAside) {
  // A box rests 1 mm deep on a block's top and hangs over its side. Tilted a
  // little either way the side faces stay out.
  Scratch scratch;
  const TriangleMesh block = box_mesh(Vec3(0.5, 0.5, 0.5));
  for (const double tilt : {-0.03, -0.01, 0.0, 0.01, 0.03}) {
    const Pose X = make_rotation(Vec3::UnitY(), tilt, Vec3(0.45, 0.1, 0.5 + 0.1 - 0.001));
    const Manifold& m = scratch.collide(block, Pose{}, Box{Vec3(0.2, 0.2, 0.1)}, X, {0.001, 8});
    ASSERT_GE(m.points.size(), 2u) << tilt;
    for (const ManifoldPoint& p : m.points) {
      EXPECT_GT(p.n.z(), 0.99) << tilt;
      EXPECT_GT(p.gap, -0.015) << tilt;
    }
  }
}

TEST(Valley, ASphereTouchesBothSides) {
  Scratch scratch;
  Random random(9);
  const TriangleMesh mesh = make_triangle_mesh(sheet(10, random, 0.0, [](double x, double) { return std::abs(x); }));
  const Pose X{Mat3::Identity(), Vec3(0.0, 0.07, 0.1 * std::sqrt(2.0) - 1e-4)};
  const Manifold& m = scratch.collide(mesh, Pose{}, Sphere{0.1}, X, {0.001, 8});
  ASSERT_EQ(m.points.size(), 2u);
  EXPECT_NE(m.points[0].feature, m.points[1].feature);
  for (const ManifoldPoint& p : m.points) {
    EXPECT_NEAR(std::abs(p.n.x()), std::sqrt(0.5), 1e-9);
    EXPECT_NEAR(p.gap, -1e-4 * std::sqrt(0.5), 1e-9);
  }
}

TEST(BadTriangles, SliversFlippedAndDoubledOnesDoNoHarm) {
  Scratch scratch;
  Random random(10);
  TriangleSoup soup = sheet(6, random, 0.3, [](double, double) { return 0.0; });
  soup.triangles.push_back({0, 0, 1});             // no area
  soup.triangles.push_back({soup.triangles[20]});  // doubled
  soup.triangles.push_back({8, 9, 9});
  const auto t = soup.triangles[30];
  soup.triangles.push_back({t[1], t[0], t[2]});  // seen from below
  const TriangleMesh mesh = make_triangle_mesh(soup);
  for (int k = 0; k < 500; ++k) {
    const Vec3 center(random.uniform(-0.8, 0.8), random.uniform(-0.8, 0.8), 0.0999);
    const Manifold& m = scratch.collide(mesh, Pose{}, Sphere{0.1}, Pose{Mat3::Identity(), center}, {0.001, 8});
    ASSERT_EQ(m.points.size(), 1u);
    EXPECT_LT((m.points[0].n - Vec3::UnitZ()).norm(), 1e-9);
    EXPECT_NEAR(m.points[0].gap, -1e-4, 1e-9);
  }
}

TEST(SurfaceTree, FindsEveryTriangle) {
  Random random(11);
  const TriangleMesh mesh = make_triangle_mesh(sheet(17, random, 0.8, [](double x, double y) { return x * y; }));
  std::vector<int> seen(mesh.mesh->triangles.size(), 0);
  for (const SurfaceNode& node : mesh.tree->nodes)
    for (int i = node.begin; i < node.begin + node.count; ++i) {
      const int t = mesh.tree->order[i];
      ++seen[t];
      for (const int v : mesh.mesh->triangles[t]) {
        const Vec3& p = mesh.mesh->vertices[v];
        EXPECT_TRUE((p.array() >= node.box.lower.array()).all() && (p.array() <= node.box.upper.array()).all());
      }
    }
  EXPECT_EQ(std::count(seen.begin(), seen.end(), 1), static_cast<std::ptrdiff_t>(seen.size()));
  for (std::size_t t = 0; t < mesh.tree->neighbors.size(); ++t)
    for (const int other : mesh.tree->neighbors[t])
      if (other >= 0) {
        const auto& back = mesh.tree->neighbors[other];
        EXPECT_TRUE(std::find(back.begin(), back.end(), static_cast<int>(t)) != back.end());
      }
}

TEST(Surfaces, DoNotAllocateWhenWarm) {
  if (!testing::can_count_allocations()) GTEST_SKIP() << "allocations cannot be counted in this build";
  Scratch scratch;
  const Shape surfaces[] = {flat_sheet(20, 12), flat_field(21, 21), box_mesh(Vec3(0.5, 0.5, 0.5))};
  const std::vector<Shape> others = shapes();
  std::int64_t count = 0;
  for (int round = 0; round < 2; ++round) {
    const testing::AllocationCounter counter;
    for (int i = 0; i < 3; ++i)
      for (const Shape& shape : others)
        for (int k = 0; k < 20; ++k) {
          const Pose X = make_rotation(Vec3::UnitX(), 0.1 * k, Vec3(0.02 * k, 0.0, i == 2 ? 0.52 : 0.02));
          scratch.collide(surfaces[i], Pose{}, shape, X, {0.01, 8});
        }
    count = counter.count();
  }
  EXPECT_EQ(count, 0);
}

}  // namespace
}  // namespace almond
