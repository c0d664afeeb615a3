// Closed-form pairs: gap and normal against the best separating direction found by search, points against the surfaces,
// and identities (exchange, rigid motion, motion along n, degenerate shapes, flat contacts on a plane).

#include <gtest/gtest.h>

#include <array>
#include <cmath>
#include <map>
#include <numbers>
#include <set>

#include "almond/collision/convex.hpp"
#include "almond/collision/narrowphase.hpp"
#include "almond/collision/primitives.hpp"
#include "tests/collision/support_oracle.hpp"
#include "tests/common/allocation.hpp"

namespace almond {
namespace {

using scenes::Random;
using testing::deepest_point;
using testing::least_gap;
using testing::random_pose;
using testing::random_primitive;
using testing::search_gap;
using testing::separation;

constexpr double kPi = std::numbers::pi;
const PairOptions kAll{100.0, 8};

Manifold collide(const Shape& a, const Pose& X_a, const Shape& b, const Pose& X_b, const PairOptions& options = kAll) {
  static ConvexWorkspace workspace;
  Manifold manifold;
  collide_pair(a, X_a, b, X_b, options, workspace, manifold);
  return manifold;
}

/// The closed-form pairs of finite shapes, box against box apart (test_box_box.cpp).
constexpr std::array<std::array<int, 2>, 5> kPairs{{{0, 0}, {0, 1}, {0, 2}, {1, 1}, {1, 2}}};

struct Scene {
  Shape a, b;
  Pose X_a, X_b;
};

/// Deep overlaps, shallow ones and gaps; some shapes aligned.
Scene random_scene(int seed) {
  Random random(seed);
  const auto& pair = kPairs[seed % kPairs.size()];
  Scene scene{random_primitive(pair[0], random), random_primitive(pair[1], random), {}, {}};
  scene.X_a = random_pose(random, 1.0);
  scene.X_b = random_pose(random, random.uniform(0.0, 3.0));
  if (seed % 7 == 0) scene.X_b.R = scene.X_a.R;
  return scene;
}

TEST(ClosedForms, GapIsTheBestSeparation) {
  int apart = 0, overlapping = 0;
  for (int seed = 0; seed < 1000; ++seed) {
    const Scene s = random_scene(seed);
    const Manifold manifold = collide(s.a, s.X_a, s.b, s.X_b);
    ASSERT_FALSE(manifold.points.empty());
    const ManifoldPoint& deepest = deepest_point(manifold);
    ++(deepest.gap > 0.0 ? apart : overlapping);
    EXPECT_NEAR(deepest.n.norm(), 1.0, 1e-12);
    EXPECT_NEAR(separation(s.a, s.X_a, s.b, s.X_b, deepest.n), deepest.gap, 2e-5) << seed;
    Random random(seed + 5000);
    const double best = search_gap(s.a, s.X_a, s.b, s.X_b, random);
    EXPECT_LE(best, deepest.gap + 1e-9) << seed;
  }
  EXPECT_GT(apart, 200);
  EXPECT_GT(overlapping, 200);
}

TEST(ClosedForms, PointsLieMidwayBetweenTheSurfaces) {
  // p ∓ gap/2 n lies on a and on b: no farther out along ±n than their support, and not outside of them.
  const auto outside = [](const Shape& shape, const Pose& X, const Vec3& p) {
    const Vec3 x = X.R.transpose() * (p - X.p);
    if (const auto* s = std::get_if<Sphere>(&shape)) return x.norm() - s->radius;
    if (const auto* s = std::get_if<Capsule>(&shape)) {
      return (x - Vec3(0.0, 0.0, std::clamp(x.z(), -s->half_length, s->half_length))).norm() - s->radius;
    }
    const Vec3 half = std::get<Box>(shape).half;
    return (x.cwiseAbs() - half).maxCoeff();
  };
  for (int seed = 0; seed < 1000; ++seed) {
    const Scene s = random_scene(seed);
    const Manifold manifold = collide(s.a, s.X_a, s.b, s.X_b);
    for (const ManifoldPoint& point : manifold.points) {
      const Vec3 p_a = point.p - 0.5 * point.gap * point.n, p_b = point.p + 0.5 * point.gap * point.n;
      EXPECT_LE(outside(s.a, s.X_a, p_a), 1e-5) << seed;
      EXPECT_LE(outside(s.b, s.X_b, p_b), 1e-5) << seed;
    }
    const ManifoldPoint& deepest = deepest_point(manifold);
    const Vec3 p_a = deepest.p - 0.5 * deepest.gap * deepest.n;
    EXPECT_NEAR(deepest.n.dot(p_a), testing::support_height(s.a, s.X_a, deepest.n), 2e-5) << seed;
  }
}

TEST(ClosedForms, ExchangeReversesTheNormals) {
  for (int seed = 0; seed < 1000; ++seed) {
    const Scene s = random_scene(seed);
    const Manifold one = collide(s.a, s.X_a, s.b, s.X_b), two = collide(s.b, s.X_b, s.a, s.X_a);
    ASSERT_EQ(one.points.size(), two.points.size()) << seed;
    for (const ManifoldPoint& point : one.points) {
      double nearest = kInfinity;
      for (const ManifoldPoint& other : two.points) {
        nearest = std::min(nearest,
                           (point.p - other.p).norm() + (point.n + other.n).norm() + std::abs(point.gap - other.gap));
      }
      EXPECT_LT(nearest, 1e-5) << seed;
    }
  }
}

TEST(ClosedForms, RigidMotionCarriesTheContactsAlong) {
  for (int seed = 0; seed < 1000; ++seed) {
    const Scene s = random_scene(seed);
    Random random(seed + 9000);
    const Pose X = random_pose(random, 5.0);
    const Manifold one = collide(s.a, s.X_a, s.b, s.X_b), two = collide(s.a, X * s.X_a, s.b, X * s.X_b);
    ASSERT_EQ(one.points.size(), two.points.size()) << seed;
    for (std::size_t k = 0; k < one.points.size(); ++k) {
      EXPECT_LT((X * one.points[k].p - two.points[k].p).norm(), 1e-5) << seed;
      EXPECT_LT((X.R * one.points[k].n - two.points[k].n).norm(), 1e-7) << seed;
      EXPECT_NEAR(one.points[k].gap, two.points[k].gap, 1e-9) << seed;
      EXPECT_EQ(one.points[k].feature, two.points[k].feature) << seed;
    }
  }
}

Shape scaled(const Shape& shape, double factor) {
  if (const auto* s = std::get_if<Sphere>(&shape)) return Sphere{factor * s->radius};
  if (const auto* s = std::get_if<Capsule>(&shape)) return Capsule{factor * s->radius, factor * s->half_length};
  return Box{factor * std::get<Box>(shape).half};
}

TEST(ClosedForms, SizeDoesNotMatter) {
  // Powers of two scale without rounding: every tolerance is relative if and only if the answers are equal bit by bit.
  for (int seed = 0; seed < 1000; ++seed) {
    const Scene s = random_scene(seed);
    const Manifold one = collide(s.a, s.X_a, s.b, s.X_b);
    for (const double factor : {0x1.0p-14, 0x1.0p14}) {
      const Pose X_a{s.X_a.R, factor * s.X_a.p}, X_b{s.X_b.R, factor * s.X_b.p};
      const Manifold two = collide(scaled(s.a, factor), X_a, scaled(s.b, factor), X_b, {100.0 * factor, 8});
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

TEST(ClosedForms, MovingAlongTheNormalOpensTheGap) {
  for (int seed = 0; seed < 1000; ++seed) {
    const Scene s = random_scene(seed);
    const ManifoldPoint before = deepest_point(collide(s.a, s.X_a, s.b, s.X_b));
    constexpr double kStep = 1e-6;
    const Pose X_b{s.X_b.R, s.X_b.p + kStep * before.n};
    EXPECT_NEAR(least_gap(collide(s.a, s.X_a, s.b, X_b)), before.gap + kStep, 1e-9) << seed;
  }
}

TEST(ClosedForms, MarginIsRespected) {
  for (int seed = 0; seed < 1000; ++seed) {
    const Scene s = random_scene(seed);
    const double gap = least_gap(collide(s.a, s.X_a, s.b, s.X_b));
    EXPECT_TRUE(collide(s.a, s.X_a, s.b, s.X_b, {gap - 1e-6, 8}).points.empty());
    const Manifold near = collide(s.a, s.X_a, s.b, s.X_b, {gap + 1e-6, 8});
    ASSERT_FALSE(near.points.empty()) << seed;
    for (const ManifoldPoint& point : near.points) EXPECT_LE(point.gap, gap + 1e-6);
  }
}

TEST(ClosedForms, CapsuleWithoutLengthIsASphere) {
  for (int seed = 0; seed < 1000; ++seed) {
    Random random(seed);
    const double r = testing::random_size(random);
    const Shape other = random_primitive(random.index(3), random);
    const Pose X_a = random_pose(random, 1.0), X_b = random_pose(random, 2.0);
    const Manifold sphere = collide(Sphere{r}, X_a, other, X_b), capsule = collide(Capsule{r, 0.0}, X_a, other, X_b);
    ASSERT_EQ(sphere.points.size(), 1U);
    ASSERT_EQ(capsule.points.size(), 1U) << seed;
    EXPECT_NEAR(sphere.points[0].gap, capsule.points[0].gap, 1e-12);
    EXPECT_LT((sphere.points[0].n - capsule.points[0].n).norm(), 1e-9) << seed;
    EXPECT_LT((sphere.points[0].p - capsule.points[0].p).norm(), 1e-9) << seed;
  }
}

TEST(ClosedForms, CoincidentCentresGiveFiniteAnswers) {
  const std::array<Shape, 4> shapes{Sphere{0.3}, Capsule{0.2, 0.5}, Capsule{0.2, 0.0}, Box{Vec3(0.4, 0.5, 0.6)}};
  for (const Shape& a : shapes) {
    for (const Shape& b : shapes) {
      for (int seed = 0; seed < 20; ++seed) {
        Random random(seed);
        const Pose X{seed < 5 ? Mat3(Mat3::Identity()) : random.rotation(), random.normal3()};
        const Pose Y{seed < 10 ? X.R : random.rotation(), X.p};
        const Manifold manifold = collide(a, X, b, Y);
        ASSERT_FALSE(manifold.points.empty());
        for (const ManifoldPoint& point : manifold.points) {
          EXPECT_TRUE(point.p.allFinite() && point.n.allFinite() && std::isfinite(point.gap));
          EXPECT_NEAR(point.n.norm(), 1.0, 1e-12);
        }
        const ManifoldPoint& deepest = deepest_point(manifold);
        // Boxes prefer faces to edges that are better by less than one per cent.
        const double slack = 1e-6 + 0.01 * std::abs(deepest.gap);
        EXPECT_NEAR(separation(a, X, b, Y, deepest.n), deepest.gap, slack);
        EXPECT_LE(search_gap(a, X, b, Y, random), deepest.gap + slack);
      }
    }
  }
}

TEST(ClosedForms, ParallelCapsulesTouchAtTwoPoints) {
  Random random(3);
  std::set<std::uint32_t> names;
  for (int k = 0; k < 1000; ++k) {
    // The common length is [-0.4, 1]; noise must not change the picture.
    const Pose X_b{exp_so3(1e-7 * random.normal3()), Vec3(0.0, 0.5, 0.6) + 1e-8 * random.normal3()};
    const Manifold manifold = collide(Capsule{0.2, 1.0}, Pose(), Capsule{0.3, 1.0}, X_b);
    ASSERT_EQ(manifold.points.size(), 2U);
    for (const ManifoldPoint& point : manifold.points) {
      EXPECT_NEAR(point.gap, 0.0, 1e-6);
      EXPECT_LT((point.n - Vec3::UnitY()).norm(), 1e-6);
      EXPECT_LT(std::min(std::abs(point.p.z() + 0.4), std::abs(point.p.z() - 1.0)), 1e-6);
      names.insert(point.feature);
    }
  }
  EXPECT_EQ(names.size(), 2U);
}

TEST(ClosedForms, CapsuleAlongABoxTouchesAtTwoPoints) {
  const Box box{Vec3(1.0, 1.0, 1.0)};
  const Mat3 along = exp_so3(Vec3(0.0, 0.5 * kPi, 0.0));  // z onto x
  // On a face, longer than it and shorter than it; along an edge.
  for (const double half : {0.5, 3.0}) {
    const Manifold face = collide(Capsule{0.1, half}, {along, Vec3(0.0, 0.2, 1.1)}, box, Pose());
    ASSERT_EQ(face.points.size(), 2U);
    for (const ManifoldPoint& point : face.points) {
      EXPECT_NEAR(point.gap, 0.0, 1e-12);
      EXPECT_NEAR(std::abs(point.p.x()), std::min(half, 1.0), 1e-9);
      EXPECT_LT((point.n + Vec3::UnitZ()).norm(), 1e-12);
    }
    const Manifold edge = collide(Capsule{0.1, half}, {along, Vec3(0.0, 1.3, 1.4)}, box, Pose());
    ASSERT_EQ(edge.points.size(), 2U);
    for (const ManifoldPoint& point : edge.points) {
      EXPECT_NEAR(point.gap, 0.4, 1e-12);
      EXPECT_LT((point.n + Vec3(0.0, 0.6, 0.8)).norm(), 1e-12);
    }
  }
}

// Planes.

TEST(Planes, LowestPointIsTheSupport) {
  const std::shared_ptr<const Polytope> hull = [] {
    Random random(4);
    std::vector<Vec3> points;
    for (int k = 0; k < 40; ++k) points.push_back(random.direction());
    return make_polytope(points);
  }();
  const std::array<Shape, 7> shapes{Sphere{0.3},        Capsule{0.2, 0.5}, Box{Vec3(0.3, 0.4, 0.5)},
                                    Cylinder{0.3, 0.5}, Cone{0.3, 0.5},    Ellipsoid{Vec3(0.2, 0.3, 0.5)},
                                    ConvexMesh{hull}};
  for (int seed = 0; seed < 1000; ++seed) {
    Random random(seed);
    const Pose X_a = random_pose(random, 2.0), X_b = random_pose(random, 2.0);
    const Vec3 n = X_a.R.col(2);
    for (const Shape& shape : shapes) {
      const double expected = -testing::support_height(shape, X_b, -n) - n.dot(X_a.p);
      const Manifold manifold = collide(Plane{}, X_a, shape, X_b);
      // Rims at rest are sampled: they may miss 2e-5 of their radius.
      EXPECT_NEAR(least_gap(manifold), expected, 7e-6) << seed << " " << shape_name(shape);
      EXPECT_GE(least_gap(manifold), expected - 1e-12);
      EXPECT_LE(manifold.points.size(), 8U);
      std::set<std::uint32_t> names;
      for (const ManifoldPoint& point : manifold.points) {
        EXPECT_EQ((point.n - n).norm(), 0.0);
        EXPECT_NEAR(n.dot(point.p - X_a.p), 0.5 * point.gap, 1e-12);
        EXPECT_TRUE(names.insert(point.feature).second);
      }
      const Manifold exchanged = collide(shape, X_b, Plane{}, X_a);
      ASSERT_EQ(exchanged.points.size(), manifold.points.size());
      for (std::size_t k = 0; k < manifold.points.size(); ++k) {
        EXPECT_EQ((exchanged.points[k].n + manifold.points[k].n).norm(), 0.0);
        EXPECT_EQ(exchanged.points[k].feature, manifold.points[k].feature);
      }
    }
  }
}

TEST(Planes, StandingShapesKeepTheirPoints) {
  // Whatever way they wobble by 1e-5 rad, the same points with the same names carry them.
  const std::map<std::string, std::pair<Shape, std::size_t>> cases{
      {"box", {Box{Vec3(0.3, 0.4, 0.5)}, 4}}, {"cylinder", {Cylinder{0.3, 0.5}, 8}}, {"cone", {Cone{0.3, 0.5}, 8}}};
  for (const auto& [name, item] : cases) {
    std::set<std::uint32_t> names;
    for (int seed = 0; seed < 1000; ++seed) {
      Random random(seed);
      const Pose X{exp_so3(Vec3(1e-5 * random.normal(), 1e-5 * random.normal(), 0.0)), Vec3(0.0, 0.0, 0.5)};
      const Manifold manifold = collide(Plane{}, Pose(), item.first, X, {1e-3, 8});
      EXPECT_EQ(manifold.points.size(), item.second) << name;
      for (const ManifoldPoint& point : manifold.points) names.insert(point.feature);
    }
    EXPECT_EQ(names.size(), item.second) << name;
  }
}

TEST(Planes, LyingCylinderRollsOnTwoPoints) {
  std::set<std::uint32_t> names;
  for (int k = 0; k < 1000; ++k) {
    const Mat3 lying = exp_so3(Vec3(0.5 * kPi, 0.0, 0.0)) * exp_so3(Vec3(0.0, 0.0, 0.01 * k));
    const Manifold manifold = collide(Plane{}, Pose(), Cylinder{0.3, 0.5}, {lying, Vec3(0.0, 0.0, 0.3)}, {1e-2, 8});
    ASSERT_EQ(manifold.points.size(), 2U);
    for (const ManifoldPoint& point : manifold.points) {
      EXPECT_NEAR(point.gap, 0.0, 1e-12);
      EXPECT_NEAR(std::abs(point.p.y()), 0.5, 1e-9);
      EXPECT_NEAR(point.p.x(), 0.0, 1e-9);
      names.insert(point.feature);
    }
  }
  EXPECT_EQ(names.size(), 2U);
}

TEST(Planes, EightCornersOfADeepBox) {
  const Manifold manifold = collide(Plane{}, Pose(), Box{Vec3(0.1, 0.2, 0.3)}, make_translation(0.0, 0.0, -1.0));
  EXPECT_EQ(manifold.points.size(), 8U);
}

TEST(Planes, PairsWithoutVolumeGiveNothing) {
  EXPECT_TRUE(collide(Plane{}, Pose(), Plane{}, make_translation(0.0, 0.0, -1.0)).points.empty());
}

TEST(ClosedForms, DoNotAllocateOnceWarm) {
  if (!testing::can_count_allocations()) GTEST_SKIP() << "allocations cannot be counted in this build";
  ConvexWorkspace workspace;
  Manifold manifold;
  manifold.points.reserve(16);
  const std::array<Shape, 5> shapes{Plane{}, Sphere{0.3}, Capsule{0.2, 0.5}, Box{Vec3(0.4, 0.5, 0.6)},
                                    Box{Vec3(0.1, 0.2, 0.3)}};
  Random random(1);
  std::vector<Pose> poses;
  for (int k = 0; k < 100; ++k) poses.push_back(random_pose(random, 0.5));
  const testing::AllocationCounter counter;
  for (std::size_t k = 1; k < poses.size(); ++k) {
    for (const Shape& a : shapes) {
      for (const Shape& b : shapes) {
        manifold.clear();
        collide_pair(a, poses[k - 1], b, poses[k], kAll, workspace, manifold);
      }
    }
  }
  EXPECT_EQ(counter.count(), 0);
}

}  // namespace
}  // namespace almond
