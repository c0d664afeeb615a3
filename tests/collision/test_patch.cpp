// Patches of two facets: corners against a brute-force intersection of the shadows on a fine grid, gaps against the
// facets' planes, names against small motions, reductions against the area of all corners.

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <numbers>
#include <set>

#include "almond/collision/patch.hpp"
#include "scenes/random.hpp"
#include "tests/common/allocation.hpp"

namespace almond {
namespace {

using scenes::Random;

constexpr double kPi = std::numbers::pi;

/// A convex polygon with corners on an ellipse in the plane z = c + gᵀ(x, y).
struct Polygon {
  Facet facet;
  Vec2 slope;
  double height;
};

Polygon random_polygon(Random& random, int count, double height, bool reversed) {
  Polygon polygon;
  polygon.slope = Vec2(random.uniform(-0.3, 0.3), random.uniform(-0.3, 0.3));
  polygon.height = height;
  const Vec2 middle(random.uniform(-0.5, 0.5), random.uniform(-0.5, 0.5));
  const double rx = random.uniform(0.3, 1.5), ry = random.uniform(0.3, 1.5), start = random.uniform(0.0, 6.0);
  for (int k = 0; k < count; ++k) {
    const double angle = start + (reversed ? -1.0 : 1.0) * (k + random.uniform(-0.2, 0.2)) * 2.0 * kPi / count;
    const Vec2 q = middle + Vec2(rx * std::cos(angle), ry * std::sin(angle));
    polygon.facet.add(Vec3(q.x(), q.y(), height + polygon.slope.dot(q)), static_cast<std::uint32_t>(10 + k));
  }
  return polygon;
}

bool inside(const Facet& facet, const Vec2& q, double slack) {
  double sign = 0.0;
  for (int k = 0; k < facet.count; ++k) {
    const Vec2 from = facet.vertex[k].head<2>(), d = facet.vertex[(k + 1) % facet.count].head<2>() - from;
    const Vec2 r = q - from;
    const double side = (d.x() * r.y() - d.y() * r.x()) / d.norm();
    if (std::abs(side) <= slack) continue;
    if (sign * side < 0.0) return false;
    sign = side;
  }
  return true;
}

double area_of(std::vector<Vec2> corners) {
  Vec2 middle = Vec2::Zero();
  for (const Vec2& q : corners) middle += q / static_cast<double>(corners.size());
  std::sort(corners.begin(), corners.end(), [&](const Vec2& x, const Vec2& y) {
    return std::atan2(x.y() - middle.y(), x.x() - middle.x()) < std::atan2(y.y() - middle.y(), y.x() - middle.x());
  });
  double area = 0.0;
  for (std::size_t k = 0; k < corners.size(); ++k) {
    const Vec2 &x = corners[k], &y = corners[(k + 1) % corners.size()];
    area += 0.5 * (x.x() * y.y() - x.y() * y.x());
  }
  return area;
}

std::vector<Vec2> corners_of(const Manifold& manifold) {
  std::vector<Vec2> corners;
  for (const ManifoldPoint& point : manifold.points) corners.push_back(point.p.head<2>());
  return corners;
}

/// Facet moved by X.
Facet moved(const Facet& facet, const Pose& X) {
  Facet result;
  for (int k = 0; k < facet.count; ++k) result.add(X * facet.vertex[k], facet.id[k]);
  return result;
}

const PairOptions kAll{100.0, 128};

TEST(Patch, CornersBoundTheCommonShadow) {
  // Every corner lies in both shadows with the planes' gap, and the area equals a count over a grid.
  int met = 0;
  for (int seed = 0; seed < 1000; ++seed) {
    Random random(seed);
    const Polygon a = random_polygon(random, 3 + random.index(6), 0.0, seed % 2 == 0);
    const Polygon b = random_polygon(random, 3 + random.index(6), 0.1, seed % 3 == 0);
    Manifold manifold;
    const int count = add_patch(a.facet, b.facet, Vec3::UnitZ(), kAll, manifold);
    ASSERT_EQ(count, static_cast<int>(manifold.points.size()));
    std::set<std::uint32_t> names;
    for (const ManifoldPoint& point : manifold.points) {
      const Vec2 q = point.p.head<2>();
      EXPECT_TRUE(inside(a.facet, q, 1e-5)) << seed;
      EXPECT_TRUE(inside(b.facet, q, 1e-5)) << seed;
      const double h_a = a.height + a.slope.dot(q), h_b = b.height + b.slope.dot(q);
      EXPECT_NEAR(point.gap, h_b - h_a, 1e-13);
      EXPECT_NEAR(point.p.z(), 0.5 * (h_a + h_b), 1e-13);
      EXPECT_TRUE(names.insert(point.feature).second) << seed;
    }
    constexpr int kCells = 60;
    int common = 0;
    for (int i = 0; i < kCells; ++i) {
      for (int k = 0; k < kCells; ++k) {
        const Vec2 q(4.0 * (i + 0.5) / kCells - 2.0, 4.0 * (k + 0.5) / kCells - 2.0);
        if (inside(a.facet, q, 0.0) && inside(b.facet, q, 0.0)) ++common;
      }
    }
    const double cell = 16.0 / (kCells * kCells), expected = common * cell;
    if (common > 0) ++met;
    EXPECT_NEAR(count > 0 ? area_of(corners_of(manifold)) : 0.0, expected, 0.06 + 0.06 * expected) << seed;
  }
  EXPECT_GT(met, 500);
}

TEST(Patch, ExchangeAndRigidMotionGiveTheSamePoints) {
  for (int seed = 0; seed < 1000; ++seed) {
    Random random(seed);
    const Polygon a = random_polygon(random, 3 + random.index(4), 0.0, false);
    const Polygon b = random_polygon(random, 1 + random.index(6), 0.1, false);
    Manifold manifold, exchanged, rotated;
    add_patch(a.facet, b.facet, Vec3::UnitZ(), kAll, manifold);
    add_patch(b.facet, a.facet, -Vec3::UnitZ(), kAll, exchanged);
    const Pose X{random.rotation(), 10.0 * random.normal3()};
    add_patch(moved(a.facet, X), moved(b.facet, X), X.R.col(2), kAll, rotated);
    ASSERT_EQ(manifold.points.size(), rotated.points.size()) << seed;
    ASSERT_EQ(manifold.points.size(), exchanged.points.size()) << seed;
    for (std::size_t k = 0; k < manifold.points.size(); ++k) {
      EXPECT_LT((X * manifold.points[k].p - rotated.points[k].p).norm(), 1e-12);
      EXPECT_NEAR(manifold.points[k].gap, rotated.points[k].gap, 1e-12);
      EXPECT_EQ(manifold.points[k].feature, rotated.points[k].feature);
      const auto twin = std::find_if(exchanged.points.begin(), exchanged.points.end(), [&](const ManifoldPoint& other) {
        return (other.p - manifold.points[k].p).norm() < 3e-6;
      });
      ASSERT_NE(twin, exchanged.points.end()) << seed;
      EXPECT_NEAR(twin->gap, manifold.points[k].gap, 3e-6);
    }
  }
}

Facet square(double half, double z, double yaw, const Vec2& shift) {
  Facet facet;
  for (int k = 0; k < 4; ++k) {
    const double angle = yaw + (k + 0.5) * 0.5 * kPi;
    facet.add(Vec3(shift.x() + half * std::numbers::sqrt2 * std::cos(angle),
                   shift.y() + half * std::numbers::sqrt2 * std::sin(angle), z),
              static_cast<std::uint32_t>(k));
  }
  return facet;
}

TEST(Patch, AlignedSquaresKeepTheirFourCorners) {
  // Equal squares: edges lie on edges, and noise must neither add crossings nor change names.
  std::set<std::uint32_t> names;
  for (int seed = 0; seed < 1000; ++seed) {
    Random random(seed);
    const Vec2 noise(random.uniform(-1e-8, 1e-8), random.uniform(-1e-8, 1e-8));
    Manifold manifold;
    ASSERT_EQ(add_patch(square(0.5, 0.0, 0.0, Vec2::Zero()), square(0.5, 1e-4, random.uniform(-1e-8, 1e-8), noise),
                        Vec3::UnitZ(), {1e-3, 8}, manifold),
              4);
    for (const ManifoldPoint& point : manifold.points) names.insert(point.feature);
  }
  EXPECT_EQ(names.size(), 4U);
}

TEST(Patch, NamesAreStableUnderSmallMotion) {
  int checked = 0;
  for (int seed = 0; seed < 1000; ++seed) {
    Random random(seed);
    const Polygon a = random_polygon(random, 4, 0.0, false), b = random_polygon(random, 4, 0.1, false);
    Manifold before, after;
    add_patch(a.facet, b.facet, Vec3::UnitZ(), kAll, before);
    add_patch(a.facet, moved(b.facet, make_translation(1e-7 * random.direction())), Vec3::UnitZ(), kAll, after);
    if (before.points.size() != after.points.size()) continue;  // a corner just left or entered
    ++checked;
    for (std::size_t k = 0; k < before.points.size(); ++k) {
      EXPECT_EQ(before.points[k].feature, after.points[k].feature) << seed;
      EXPECT_LT((before.points[k].p - after.points[k].p).norm(), 1e-4) << seed;
    }
  }
  EXPECT_GT(checked, 990);
}

TEST(Patch, EdgesAndPointsAreDegeneratePolygons) {
  const Facet floor = square(1.0, 0.0, 0.0, Vec2::Zero());
  Facet edge, point, cross;
  edge.add(Vec3(-3.0, 0.2, 0.1), 7);
  edge.add(Vec3(0.5, 0.2, 0.3), 8);
  Manifold manifold;
  ASSERT_EQ(add_patch(floor, edge, Vec3::UnitZ(), kAll, manifold), 2);
  for (const ManifoldPoint& p : manifold.points) {
    const double x = p.p.x();
    EXPECT_TRUE(std::abs(x + 1.0) < 1e-12 || std::abs(x - 0.5) < 1e-12);
    EXPECT_NEAR(p.gap, 0.1 + 0.2 * (x + 3.0) / 3.5, 1e-12);
  }
  manifold.clear();
  point.add(Vec3(0.3, -0.9, 0.05), 3);
  ASSERT_EQ(add_patch(floor, point, Vec3::UnitZ(), kAll, manifold), 1);
  EXPECT_NEAR(manifold.points[0].gap, 0.05, 1e-15);
  manifold.clear();
  point.vertex[0].x() = 1.3;
  EXPECT_EQ(add_patch(floor, point, Vec3::UnitZ(), kAll, manifold), 0);
  // Crossing edges meet in one point, parallel ones along a length.
  cross.add(Vec3(-1.0, -1.0, 0.0), 1);
  cross.add(Vec3(-1.0, 1.0, 0.0), 2);
  ASSERT_EQ(add_patch(cross, edge, Vec3::UnitZ(), kAll, manifold), 1);
  EXPECT_LT((manifold.points[0].p.head<2>() - Vec2(-1.0, 0.2)).norm(), 1e-12);
  manifold.clear();
  Facet parallel;
  parallel.add(Vec3(0.0, 0.2, 0.0), 1);
  parallel.add(Vec3(-9.0, 0.2, 0.0), 2);
  ASSERT_EQ(add_patch(parallel, edge, Vec3::UnitZ(), kAll, manifold), 2);
  EXPECT_NEAR(std::abs(manifold.points[0].p.x() - manifold.points[1].p.x()), 3.0, 1e-12);
  // A polygon seen from the side acts as its edge.
  manifold.clear();
  Facet wall;
  for (const double x : {-0.5, 0.5}) wall.add(Vec3(x, 0.0, 0.1), x < 0.0 ? 0U : 1U);
  wall.add(Vec3(0.5, 0.0, 1.1), 2);
  wall.add(Vec3(-0.5, 0.0, 1.1), 3);
  EXPECT_EQ(add_patch(floor, wall, Vec3::UnitZ(), kAll, manifold), 2);
}

TEST(Patch, ReductionKeepsTheDeepestAndMostOfTheArea) {
  for (int seed = 0; seed < 1000; ++seed) {
    Random random(seed);
    const Polygon a = random_polygon(random, 12, 0.0, false), b = random_polygon(random, 12, 0.1, false);
    Manifold all;
    add_patch(a.facet, b.facet, Vec3::UnitZ(), kAll, all);
    for (const int most : {4, 6, 8}) {
      Manifold few;
      const int count = add_patch(a.facet, b.facet, Vec3::UnitZ(), {100.0, most}, few);
      EXPECT_EQ(count, std::min<int>(most, static_cast<int>(all.points.size())));
      EXPECT_EQ(few.spare.size(), all.points.size() - count);
      if (count < 3) continue;
      const auto least = [](const Manifold& m) {
        double gap = kInfinity;
        for (const ManifoldPoint& p : m.points) gap = std::min(gap, p.gap);
        return gap;
      };
      EXPECT_LE(least(few), least(all) + 4e-5);
      // The best inscribed quadrilateral of a convex body has 2/π of its area at least; greedy choice loses a little.
      EXPECT_GE(area_of(corners_of(few)), (most == 4 ? 0.5 : 0.7) * area_of(corners_of(all))) << seed;
    }
  }
}

TEST(Patch, DoesNotAllocateOnceWarm) {
  if (!testing::can_count_allocations()) GTEST_SKIP() << "allocations cannot be counted in this build";
  Random random(1);
  const Polygon a = random_polygon(random, 60, 0.0, false), b = random_polygon(random, 60, 0.1, false);
  Manifold manifold;
  add_patch(a.facet, b.facet, Vec3::UnitZ(), {100.0, 8}, manifold);
  manifold.clear();
  const testing::AllocationCounter counter;
  add_patch(a.facet, b.facet, Vec3::UnitZ(), {100.0, 8}, manifold);
  EXPECT_EQ(counter.count(), 0);
}

}  // namespace
}  // namespace almond
