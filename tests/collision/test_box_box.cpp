// Box against box: distances against alternating projections with a certificate, depths against the best separating
// direction found by search, faces and edges against closed forms, names and points against noise.

#include <gtest/gtest.h>

#include <cmath>
#include <numbers>
#include <set>

#include "almond/collision/primitives.hpp"
#include "tests/collision/support_oracle.hpp"

namespace almond {
namespace {

using scenes::Random;
using testing::deepest_point;
using testing::least_gap;
using testing::random_pose;
using testing::search_gap;
using testing::separation;

constexpr double kPi = std::numbers::pi;
const PairOptions kAll{100.0, 8};

struct Scene {
  Box a, b;
  Pose X_a, X_b;
};

/// Deep overlaps, gaps, and every fourth scene nearly or exactly aligned.
Scene random_scene(int seed) {
  Random random(seed);
  const auto box = [&] {
    const double x = testing::random_size(random), y = testing::random_size(random), z = testing::random_size(random);
    return Box{Vec3(x, y, z)};
  };
  Scene scene{box(), box(), {}, {}};
  scene.X_a = random_pose(random, 1.0);
  scene.X_b = random_pose(random, random.uniform(0.0, 4.0));
  if (seed % 4 == 0) {
    const double noise = seed % 8 == 0 ? 0.0 : std::pow(10.0, random.uniform(-12.0, -1.0));
    scene.X_b.R = scene.X_a.R * exp_so3(noise * random.direction());
  }
  return scene;
}

Manifold collide(const Scene& s, const PairOptions& options = kAll) {
  Manifold manifold;
  collide_box_box(s.a, s.X_a, s.b, s.X_b, options, manifold);
  return manifold;
}

/// Distance of two boxes: lower <= distance <= upper. Zero if they meet.
struct Bounds {
  double lower = 0.0, upper = 0.0;
};
Bounds project_alternately(const Scene& s) {
  const auto onto = [](const Box& box, const Pose& X, const Vec3& p) -> Vec3 {
    const Vec3 x = X.R.transpose() * (p - X.p);
    return X * Vec3(x.cwiseMax(-box.half).cwiseMin(box.half));
  };
  Vec3 x = s.X_a.p, y = s.X_b.p;
  Bounds bounds{0.0, kInfinity};
  for (int k = 0; k < 20000 && bounds.upper - bounds.lower > 1e-8; ++k) {
    x = onto(s.a, s.X_a, y);
    y = onto(s.b, s.X_b, x);
    bounds.upper = (y - x).norm();
    if (bounds.upper < 1e-9) return {0.0, bounds.upper};
    bounds.lower = std::max(bounds.lower, separation(s.a, s.X_a, s.b, s.X_b, (y - x) / bounds.upper));
  }
  return bounds;
}

TEST(BoxBox, GapsOfSeparatedBoxesAreTheDistance) {
  int apart = 0;
  for (int seed = 0; seed < 2000; ++seed) {
    const Scene s = random_scene(seed);
    const Bounds distance = project_alternately(s);
    if (distance.lower < 1e-6 || distance.upper - distance.lower > 1e-6) continue;
    ++apart;
    const Manifold all = collide(s);
    ASSERT_FALSE(all.points.empty()) << seed;
    const ManifoldPoint& deepest = deepest_point(all);
    EXPECT_LE(deepest.gap, distance.upper + 1e-9) << seed;
    EXPECT_GE(deepest.gap, 0.98 * distance.lower - 1e-4) << seed;
    // The normal separates: no more is promised than the plane it stands for keeps apart.
    EXPECT_GE(separation(s.a, s.X_a, s.b, s.X_b, deepest.n), 0.98 * deepest.gap - 1e-4) << seed;
    // Within the margin a contact is reported, and only then; never below the distance by more than the margin.
    for (const double margin : {0.5 * distance.lower, 1.01 * distance.upper, 3.0 * distance.upper}) {
      const Manifold near = collide(s, {margin, 8});
      EXPECT_TRUE(margin < distance.upper || !near.points.empty()) << seed;
      if (near.points.empty()) continue;
      EXPECT_LE(least_gap(near), distance.upper + 1e-9) << seed;
      EXPECT_GE(least_gap(near), distance.lower - margin) << seed;
      for (const ManifoldPoint& point : near.points) EXPECT_LE(point.gap, margin) << seed;
    }
  }
  EXPECT_GT(apart, 600);
}

TEST(BoxBox, DepthsAreTheShortestWayOut) {
  int overlapping = 0;
  for (int seed = 0; seed < 2000; ++seed) {
    const Scene s = random_scene(seed);
    const Manifold manifold = collide(s);
    ASSERT_FALSE(manifold.points.empty()) << seed;
    const ManifoldPoint& deepest = deepest_point(manifold);
    EXPECT_NEAR(deepest.n.norm(), 1.0, 1e-12);
    if (deepest.gap >= 0.0) continue;
    ++overlapping;
    Random random(seed + 5000);
    const double slack = 0.011 * std::abs(deepest.gap) + 3e-5;
    EXPECT_LE(search_gap(s.a, s.X_a, s.b, s.X_b, random), deepest.gap + slack) << seed;
    EXPECT_NEAR(separation(s.a, s.X_a, s.b, s.X_b, deepest.n), deepest.gap, slack) << seed;
  }
  EXPECT_GT(overlapping, 500);
}

TEST(BoxBox, PointsLieOnBothBoxes) {
  const auto outside = [](const Box& box, const Pose& X, const Vec3& p) {
    return ((X.R.transpose() * (p - X.p)).cwiseAbs() - box.half).maxCoeff();
  };
  for (int seed = 0; seed < 2000; ++seed) {
    const Scene s = random_scene(seed);
    for (const ManifoldPoint& point : collide(s).points) {
      const Vec3 p_a = point.p - 0.5 * point.gap * point.n, p_b = point.p + 0.5 * point.gap * point.n;
      const double slack = 1e-5 + 0.01 * std::abs(point.gap);
      EXPECT_LE(outside(s.a, s.X_a, p_a), slack) << seed;
      EXPECT_LE(outside(s.b, s.X_b, p_b), slack) << seed;
    }
  }
}

TEST(BoxBox, ExchangeAndRigidMotion) {
  for (int seed = 0; seed < 2000; ++seed) {
    const Scene s = random_scene(seed);
    Random random(seed + 7000);
    const Pose X = random_pose(random, 3.0);
    const Scene moved{s.a, s.b, X * s.X_a, X * s.X_b}, exchanged{s.b, s.a, s.X_b, s.X_a};
    const Manifold one = collide(s), two = collide(moved), three = collide(exchanged);
    EXPECT_NEAR(least_gap(one), least_gap(two), 1e-9) << seed;
    EXPECT_NEAR(least_gap(one), least_gap(three), 1e-4 + 0.01 * std::abs(least_gap(one))) << seed;
    if (s.X_a.R == s.X_b.R) continue;  // ties between equal axes and corners
    ASSERT_EQ(one.points.size(), two.points.size()) << seed;
    for (std::size_t k = 0; k < one.points.size(); ++k) {
      EXPECT_LT((X * one.points[k].p - two.points[k].p).norm(), 1e-6) << seed;
      EXPECT_LT((X.R * one.points[k].n - two.points[k].n).norm(), 1e-6) << seed;
      EXPECT_EQ(one.points[k].feature, two.points[k].feature) << seed;
    }
  }
}

TEST(BoxBox, SizeDoesNotMatter) {
  // Powers of two scale without rounding: every tolerance is relative if and only if the answers are equal bit by bit.
  for (int seed = 0; seed < 2000; ++seed) {
    const Scene s = random_scene(seed);
    const Manifold one = collide(s);
    for (const double factor : {0x1.0p-14, 0x1.0p14}) {
      const Manifold two = collide(
          {Box{factor * s.a.half}, Box{factor * s.b.half}, {s.X_a.R, factor * s.X_a.p}, {s.X_b.R, factor * s.X_b.p}},
          {100.0 * factor, 8});
      ASSERT_EQ(one.points.size(), two.points.size()) << seed;
      for (std::size_t k = 0; k < one.points.size(); ++k) {
        EXPECT_EQ(factor * one.points[k].gap, two.points[k].gap) << seed;
        EXPECT_EQ(factor * one.points[k].p, two.points[k].p) << seed;
        EXPECT_EQ(one.points[k].n, two.points[k].n) << seed;
        EXPECT_EQ(one.points[k].feature, two.points[k].feature) << seed;
      }
    }
  }
}

TEST(BoxBox, MovingAlongTheNormalOpensTheGap) {
  for (int seed = 0; seed < 2000; ++seed) {
    const Scene s = random_scene(seed);
    const ManifoldPoint before = deepest_point(collide(s));
    constexpr double kStep = 1e-6;
    Scene after = s;
    after.X_b.p += kStep * before.n;
    EXPECT_NEAR(least_gap(collide(after)), before.gap + kStep, 0.02 * kStep) << seed;
  }
}

TEST(BoxBox, StackedBoxesKeepFourNamedCorners) {
  for (const double gap : {-1e-4, 0.0, 5e-4}) {
    std::set<std::uint32_t> names;
    for (int seed = 0; seed < 1000; ++seed) {
      Random random(seed);
      const Scene s{Box{Vec3(0.5, 0.5, 0.5)},
                    Box{Vec3(0.5, 0.5, 0.5)},
                    Pose(),
                    {exp_so3(1e-7 * random.normal3()), Vec3(0.0, 0.0, 1.0 + gap) + 1e-8 * random.normal3()}};
      const Manifold manifold = collide(s, {1e-3, 8});
      ASSERT_EQ(manifold.points.size(), 4U);
      for (const ManifoldPoint& point : manifold.points) {
        names.insert(point.feature);
        EXPECT_NEAR(point.gap, gap, 1e-6);
        EXPECT_LT((point.n - Vec3::UnitZ()).norm(), 1e-6);
        EXPECT_NEAR(std::abs(point.p.x()), 0.5, 1e-6);
        EXPECT_NEAR(std::abs(point.p.y()), 0.5, 1e-6);
      }
    }
    EXPECT_EQ(names.size(), 4U);
  }
}

TEST(BoxBox, TurnedAndTiltedStacksKeepTheirFaces) {
  // Whatever the yaw, tilts up to a degree leave the contact a face with three corners at least, each with the slope in
  // its gap.
  for (int seed = 0; seed < 1000; ++seed) {
    Random random(seed);
    const double yaw = random.uniform(-kPi, kPi), tilt = random.uniform(0.0, 0.015), turn = random.uniform(-kPi, kPi);
    const Mat3 R = exp_so3(tilt * Vec3(std::cos(turn), std::sin(turn), 0.0)) * exp_so3(yaw * Vec3::UnitZ());
    const Scene s{Box{Vec3(0.6, 0.5, 0.2)},
                  Box{Vec3(0.5, 0.5, 0.5)},
                  Pose(),
                  {R, Vec3(random.uniform(-0.2, 0.2), random.uniform(-0.2, 0.2), 0.7)}};
    const Manifold manifold = collide(s, {0.05, 8});
    EXPECT_GE(manifold.points.size(), 3U) << seed;
    for (const ManifoldPoint& point : manifold.points) EXPECT_GT(point.n.z(), 0.999) << seed;
  }
}

TEST(BoxBox, CrossedEdgesTouchInOnePoint) {
  // Two bars on edge, at right angles: the upper one's lowest edge crosses the lower one's highest edge above the
  // origin.
  const double half = 0.1, reach = half * std::numbers::sqrt2;
  for (const double gap : {-0.01, 0.0, 0.01}) {
    const Mat3 lower = exp_so3(Vec3(0.25 * kPi, 0.0, 0.0));
    const Mat3 upper = exp_so3(Vec3(0.0, 0.0, 0.5 * kPi)) * lower;
    const Scene s{Box{Vec3(1.0, half, half)},
                  Box{Vec3(1.0, half, half)},
                  {lower, Vec3::Zero()},
                  {upper, Vec3(0.0, 0.0, 2.0 * reach + gap)}};
    const Manifold manifold = collide(s);
    ASSERT_EQ(manifold.points.size(), 1U);
    EXPECT_NEAR(manifold.points[0].gap, gap, 1e-12);
    EXPECT_LT((manifold.points[0].n - Vec3::UnitZ()).norm(), 1e-12);
    EXPECT_LT((manifold.points[0].p - Vec3(0.0, 0.0, reach + 0.5 * gap)).norm(), 1e-12);
  }
}

TEST(BoxBox, CornersAndParallelEdgesThatFaceEachOther) {
  const Box cube{Vec3(0.5, 0.5, 0.5)};
  // Corner to corner along the diagonal.
  const Vec3 d = Vec3(0.1, 0.2, 0.2);
  const Manifold corner = collide({cube, cube, Pose(), make_translation(Vec3::Ones() + d)});
  ASSERT_EQ(corner.points.size(), 1U);
  EXPECT_NEAR(corner.points[0].gap, d.norm(), 1e-12);
  EXPECT_LT((corner.points[0].n - d.normalized()).norm(), 1e-12);
  EXPECT_LT((corner.points[0].p - Vec3(0.5, 0.5, 0.5) - 0.5 * d).norm(), 1e-12);
  // Edge beside edge: both ends of the common length.
  const Manifold edge = collide({cube, cube, Pose(), make_translation(1.3, 1.4, 0.25)});
  ASSERT_EQ(edge.points.size(), 2U);
  for (const ManifoldPoint& point : edge.points) {
    EXPECT_NEAR(point.gap, 0.5, 1e-12);
    EXPECT_LT((point.n - Vec3(0.6, 0.8, 0.0)).norm(), 1e-12);
    EXPECT_LT(std::min(std::abs(point.p.z() + 0.25), std::abs(point.p.z() - 0.5)), 1e-12);
  }
}

TEST(BoxBox, GapNeverJumpsAlongAMotion) {
  // Moving by h and turning by h about the centre changes the gap by no more than the points move; a face preferred to
  // an edge may cost one per cent of the depth.
  constexpr double kStep = 1e-3;
  for (int seed = 0; seed < 100; ++seed) {
    Random random(seed);
    Scene s{Box{Vec3(0.5, 0.3, 0.2)}, Box{Vec3(0.3, 0.4, 0.2)}, random_pose(random, 0.1), random_pose(random, 1.0)};
    const Vec3 direction = (s.X_a.p - s.X_b.p).normalized(), axis = random.direction();
    double before = 0.0;
    for (int k = 0; k < 1000; ++k) {
      const double now = least_gap(collide(s));
      const double reach = s.b.half.norm();
      const double change = k == 0 ? 0.0 : std::abs(now - before);
      EXPECT_LE(change, kStep * (1.0 + reach) + 0.012 * std::abs(now) + 2e-5) << seed;
      before = now;
      s.X_b.p += kStep * direction;
      s.X_b.R = exp_so3(kStep * axis) * s.X_b.R;
    }
  }
}

}  // namespace
}  // namespace almond
