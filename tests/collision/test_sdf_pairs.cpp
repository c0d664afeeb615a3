// Contacts of signed distance shapes against closed forms, brute force, and what reduction may not lose.

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <numbers>
#include <set>

#include "almond/collision/sdf_pairs.hpp"
#include "almond/model/profile.hpp"
#include "almond/model/thread.hpp"
#include "scenes/random.hpp"

namespace almond {
namespace {

using scenes::Random;

constexpr double kPi = std::numbers::pi;

Geom make_geom(const Shape& shape) {
  Geom geom;
  geom.shape = shape;
  geom.radius = bounding_radius(shape);
  geom.solid = make_counterpart(shape);
  return geom;
}

Geom make_geom(const SdfPtr& field) { return make_geom(Shape(make_sdf_shape(field))); }

PairOptions within(double margin, int most = 100000) {
  PairOptions options;
  options.margin = margin;
  options.max_cloud = most;
  return options;
}

Manifold collide(const Geom& a, const Pose& X_a, const Geom& b, const Pose& X_b, const PairOptions& options) {
  SdfWorkspace workspace;
  Manifold manifold;
  collide_sdf(a, X_a, b, X_b, options, workspace, manifold);
  return manifold;
}

double deepest(const Manifold& manifold) {
  double gap = kInfinity;
  for (const ManifoldPoint& p : manifold.points) gap = std::min(gap, p.gap);
  return gap;
}

Pose random_pose(Random& random, double size) {
  return {random.rotation(), size * Vec3(random.uniform(-1, 1), random.uniform(-1, 1), random.uniform(-1, 1))};
}

TEST(SdfPairs, BoxOnBoxTouchesOnItsFaceOnly) {
  const Geom low = make_geom(make_box_sdf(Vec3(0.1, 0.1, 0.02))),
             high = make_geom(make_box_sdf(Vec3(0.04, 0.03, 0.02)));
  Random random(1);
  for (const double gap : {-1e-6, -1e-9, 0.0, 1e-5}) {
    const Pose X = random_pose(random, 0.3);
    const Manifold found = collide(low, X, high, X * make_translation(0.01, 0.0, 0.04 + gap), within(1e-4));
    ASSERT_GE(found.points.size(), 4U);
    double reach[4] = {0.0, 0.0, 0.0, 0.0};
    for (const ManifoldPoint& p : found.points) {
      EXPECT_NEAR(p.gap, gap, 1e-12);
      EXPECT_LT((p.n - X.R.col(2)).norm(), 1e-9) << gap;  // nothing acts sideways
      const Vec3 q = X.inverse() * p.p - Vec3(0.01, 0.0, 0.0);
      reach[0] = std::min(reach[0], q.x());
      reach[1] = std::max(reach[1], q.x());
      reach[2] = std::min(reach[2], q.y());
      reach[3] = std::max(reach[3], q.y());
    }
    EXPECT_NEAR(reach[0], -0.04, 1e-9);
    EXPECT_NEAR(reach[1], 0.04, 1e-9);
    EXPECT_NEAR(reach[2], -0.03, 1e-9);
    EXPECT_NEAR(reach[3], 0.03, 1e-9);
  }
}

TEST(SdfPairs, RoundThingsTouchWhereTheirCentresSay) {
  // Ellipsoids of equal radii are spheres that the search does not know to be.
  const Geom a = make_geom(make_ellipsoid_sdf(Vec3::Constant(0.05))),
             b = make_geom(make_ellipsoid_sdf(Vec3::Constant(0.03)));
  Random random(2);
  for (int k = 0; k < 50; ++k) {
    const Pose X_a = random_pose(random, 0.2);
    const double gap = random.uniform(-2e-4, 4e-4);
    const Vec3 n = random.direction();
    const Pose X_b{random.rotation(), X_a.p + (0.08 + gap) * n};
    const Manifold found = collide(a, X_a, b, X_b, within(5e-4));
    ASSERT_FALSE(found.points.empty());
    const auto best = std::min_element(found.points.begin(), found.points.end(),
                                       [](const auto& p, const auto& q) { return p.gap < q.gap; });
    EXPECT_NEAR(best->gap, gap, 1e-6);
    EXPECT_GT(best->n.dot(n), 0.999);
  }
}

TEST(SdfPairs, BallsTouchEveryWallOfAGroove) {
  // A ball in the corner of a pot touches its floor and its wall.
  const Geom pot = make_geom(make_pot(0.08, 0.07, 0.004)), ball = make_geom(Shape(Sphere{0.01}));
  const Vec3 center(0.08 - 0.004 - 0.01 - 2e-5, 0.0, 0.004 + 0.01 + 1e-5);
  const Manifold found = collide(pot, Pose{}, ball, make_translation(center), within(1e-4));
  ASSERT_EQ(found.points.size(), 2U);
  for (const ManifoldPoint& p : found.points) {
    const bool floor = p.n.z() > 0.9;
    EXPECT_NEAR(p.gap, floor ? 1e-5 : 2e-5, 1e-9);
    EXPECT_LT((p.n - (floor ? Vec3(0, 0, 1) : Vec3(-1, 0, 0))).norm(), 1e-6);
  }
}

TEST(SdfPairs, ABallBesideAWallSeesTheFloorThatItReaches) {
  const Geom pot = make_geom(make_pot(0.05, 0.09, 0.003)), ball = make_geom(Shape(Sphere{0.004}));
  const Vec3 center(0.0425, 0.0, 0.003 + 0.004 + 0.011);  // its whole surface is nearer to the wall
  PairOptions options = within(0.0135);
  options.motion.shift = Vec3(0.0, 0.0, -0.0125);
  options.motion.unknown = 1e-3;
  const auto floor_gap = [](const Manifold& found, double up) {
    double gap = kInfinity;
    for (const ManifoldPoint& p : found.points)
      if (up * p.n.z() > 0.9) gap = std::min(gap, p.gap);
    return gap;
  };
  EXPECT_NEAR(floor_gap(collide(pot, Pose{}, ball, make_translation(center), options), 1.0), 0.011, 1e-9);
  options.motion.shift *= -1.0;  // of the pot past the ball
  EXPECT_NEAR(floor_gap(collide(ball, make_translation(center), pot, Pose{}, options), -1.0), 0.011, 1e-9);
  options.motion.shift.setZero();
  EXPECT_EQ(floor_gap(collide(pot, Pose{}, ball, make_translation(center), options), 1.0), kInfinity);
}

TEST(SdfPairs, CurvedShapesTouchAPlaneWhereTheyAreNotWhereTheirCornersAre) {
  const Geom plane = make_geom(Shape(Plane{}));
  const Pose turn = make_rotation(Vec3(1, 2, 3).normalized(), 0.7, Vec3(0.01, 0.02, 0.0));
  struct Case {
    SdfPtr sdf;
    double lowest;  // below its origin, turned
  };
  const Case cases[] = {
      {make_sphere_sdf(0.03), 0.03},
      {make_offset(make_sphere_sdf(0.06), 0.01), 0.07},
      {make_capsule_sdf(0.015, 0.03), 0.015 + 0.03 * std::abs(turn.R(2, 2))},
  };
  for (const Case& c : cases) {
    const Geom shape = make_geom(c.sdf);
    Pose X = turn;
    X.p.z() = c.lowest + 2e-5;
    EXPECT_NEAR(deepest(collide(plane, Pose{}, shape, X, within(1e-3))), 2e-5, 1e-8) << c.sdf->name();
    EXPECT_NEAR(deepest(collide(shape, X, plane, Pose{}, within(1e-3))), 2e-5, 1e-8) << c.sdf->name();
  }
}

TEST(SdfPairs, ExchangedShapesGiveReversedNormals) {
  const Geom bowl = make_geom(make_bowl(0.03, 0.07, 0.055, 0.004)),
             plate = make_geom(make_plate(0.06, 0.105, 0.018, 0.004));
  const Pose X = make_rotation(Vec3(1, 0.3, 0).normalized(), 0.05, Vec3(0.002, 0.001, 0.0502));
  const Manifold one = collide(bowl, Pose{}, plate, X, within(1e-3)),
                 two = collide(plate, X, bowl, Pose{}, within(1e-3));
  EXPECT_NEAR(deepest(one), deepest(two), 1e-12);
  ASSERT_FALSE(one.points.empty());
  for (const ManifoldPoint& p : one.points)
    EXPECT_TRUE(std::any_of(two.points.begin(), two.points.end(), [&](const ManifoldPoint& q) {
      return (p.p - q.p).norm() < 1e-4 && (p.n + q.n).norm() < 1e-2;  // of two that coincide either may be kept
    }));
}

/// min φ_A over B's surface by very many points of it.
double brute_force_gap(const Sdf& a, const std::vector<Vec3>& points, const Pose& X_ab) {
  double best = kInfinity;
  for (const Vec3& p : points) best = std::min(best, a.value(X_ab * p));
  return best;
}

TEST(SdfPairs, TheDeepestPointIsFound) {
  const SdfPtr shapes[] = {make_bowl(0.03, 0.07, 0.055, 0.004), make_pot(0.075, 0.08, 0.006),
                           make_cylinder_sdf(0.02, 0.05), make_box_sdf(Vec3(0.03, 0.02, 0.05))};
  std::vector<Vec3> points[4];
  for (int k = 0; k < 4; ++k) points[k] = make_sdf_solid(shapes[k], {2e-3, 1e-5})->surface.vertices;
  Random random(4);
  for (int k = 0; k < 16; ++k) {
    const int i = random.index(2), j = random.index(4);
    const Pose X_a = random_pose(random, 0.1);
    const Mat3 R = random.rotation();
    // Pushed from outside until they touch, or nearly so, or a little more.
    const Vec3 u = random.direction();
    double low = 0.0, high = 0.3;
    const auto at = [&](double t) { return Pose{R, X_a.p + t * u}; };
    for (int round = 0; round < 12; ++round) {
      const double t = 0.5 * (low + high);
      (brute_force_gap(*shapes[i], points[j], X_a.inverse() * at(t)) > 0.0 ? high : low) = t;
    }
    const Pose X_b = at(high + random.uniform(-3e-4, 1e-3));
    const double exact = brute_force_gap(*shapes[i], points[j], X_a.inverse() * X_b);
    const Manifold found = collide(make_geom(shapes[i]), X_a, make_geom(shapes[j]), X_b, within(2e-3));
    EXPECT_LT(deepest(found), exact + 2e-5) << k;
  }
}

TEST(SdfPairs, ANutSitsInTheMiddleOfItsPlay) {
  for (const char* name : {"M48", "M20"}) {
    const MetricThread size = find_thread(name);
    const Geom bolt = make_geom(make_bolt(size)), nut = make_geom(make_nut(size));
    const double z = -1.2 * size.diameter, play = 0.25 * size.allowance();  // along the flanks' normals
    const Pose X = make_rotation(Vec3::UnitZ(), engaged_angle(size, z), Vec3(0, 0, z));
    const Manifold found = collide(bolt, Pose{}, nut, X, within(3.0 * play));
    EXPECT_GT(found.points.size(), 500U);
    EXPECT_NEAR(deepest(found), play, 0.05 * play);
    // Moved down by its play it rests on the lower flanks everywhere, and on nothing else.
    const double drop = play / std::cos(kPi / 6.0);
    const Manifold resting = collide(bolt, Pose{}, nut, Pose{X.R, X.p - Vec3(0, 0, drop)}, within(0.2 * play));
    EXPECT_NEAR(deepest(resting), 0.0, 0.1 * play);
    EXPECT_GT(resting.points.size(), 200U);
    for (const ManifoldPoint& p : resting.points) EXPECT_GT(p.n.z(), 0.8);
  }
}

TEST(SdfPairs, OverlapsAreSeenAlsoWhereNothingTouches) {
  const Geom bowl = make_geom(make_bowl(0.03, 0.07, 0.055, 0.004));
  const auto overlap = [&](double up) { return sdf_overlap(bowl, Pose{}, bowl, make_translation(0.0, 0.0, up)); };
  EXPECT_GT(overlap(0.0), 2e-4);  // one and the same place
  EXPECT_GT(overlap(1e-3), 5e-4);
  EXPECT_EQ(overlap(0.01), 0.0);
  const Geom ball = make_geom(make_sphere_sdf(0.02)), box = make_geom(make_box_sdf(Vec3(0.05, 0.05, 0.05)));
  EXPECT_NEAR(sdf_overlap(ball, make_translation(0.0, 0.0, 0.067), box, Pose{}), 3e-3, 2e-4);
  EXPECT_EQ(sdf_overlap(ball, make_translation(0.0, 0.0, 0.0701), box, Pose{}), 0.0);
}

PairOptions cloud_options(int most) {
  PairOptions options;
  options.margin = 1e-3;
  options.max_cloud = most;
  return options;
}

TEST(ReduceCloud, ARingKeepsItsRing) {
  // The foot of a pot on a plate: thousands of points, all the way round.
  Manifold ring;
  for (int k = 0; k < 5000; ++k) {
    const double a = 2.0 * kPi * k / 5000, r = k % 2 == 0 ? 0.05 : 0.04;
    ring.points.push_back(
        {Vec3(r * std::cos(a), r * std::sin(a), 0.0), Vec3::UnitZ(), 0.0, static_cast<std::uint32_t>(k)});
  }
  SdfWorkspace workspace;
  reduce_cloud(cloud_options(120), workspace, ring);
  EXPECT_EQ(ring.points.size(), 120U);
  EXPECT_EQ(ring.spare.size(), 4880U);
  // Support in every direction: at least as far out as a polygon of a quarter of the points inscribed in the ring.
  for (int k = 0; k < 360; ++k) {
    const Vec3 u(std::cos(k * kPi / 180), std::sin(k * kPi / 180), 0.0);
    double reach = 0.0;
    for (const ManifoldPoint& p : ring.points) reach = std::max(reach, u.dot(p.p));
    EXPECT_GT(reach, 0.05 * std::cos(kPi / 30.0));
  }
}

TEST(ReduceCloud, DeepestPointsAndNormalsStay) {
  Random random(6);
  Manifold cloud;
  for (int k = 0; k < 3000; ++k)
    cloud.points.push_back({0.1 * Vec3(random.uniform(), random.uniform(), random.uniform()),
                            k % 100 == 7 ? Vec3::UnitX() : Vec3::UnitZ(), random.uniform(0.0, 1e-3),
                            static_cast<std::uint32_t>(k)});
  cloud.points[1234].gap = -1e-4;
  cloud.points[2345].gap = -5e-5;
  SdfWorkspace workspace;
  reduce_cloud(cloud_options(60), workspace, cloud);
  EXPECT_EQ(cloud.points.size(), 60U);
  const auto has = [&](std::uint32_t name) {
    return std::any_of(cloud.points.begin(), cloud.points.end(), [&](const auto& p) { return p.feature == name; });
  };
  EXPECT_TRUE(has(1234));
  EXPECT_TRUE(has(2345));
  EXPECT_TRUE(std::any_of(cloud.points.begin(), cloud.points.end(), [](const auto& p) { return p.n.x() > 0.9; }));
}

TEST(ReduceCloud, WhatBoreLoadStays) {
  // A ring of equal points, of which rounding makes now one the deepest, now another. The choice must not turn with it.
  PairOptions options = cloud_options(60);
  std::vector<ContactName> names;
  SdfWorkspace workspace;
  for (int round = 0; round < 5; ++round) {
    Manifold ring;
    for (int k = 0; k < 720; ++k) {
      const double a = 2.0 * kPi * k / 720;
      const double noise = k == 97 * round ? -2e-9 : 0.0;
      ring.points.push_back(
          {0.05 * Vec3(std::cos(a), std::sin(a), 0.0), Vec3::UnitZ(), noise, static_cast<std::uint32_t>(k)});
    }
    options.carried = names;
    reduce_cloud(options, workspace, ring);
    EXPECT_EQ(ring.points.size(), 60U);
    std::set<std::uint32_t> chosen;
    for (const ManifoldPoint& p : ring.points) chosen.insert(p.feature);
    EXPECT_EQ(chosen.count(static_cast<std::uint32_t>(97 * round)), 1U);  // the deepest is always there
    for (const ContactName& name : names) EXPECT_EQ(chosen.count(name.feature), 1U) << "round " << round;
    if (round > 0) continue;
    for (const std::uint32_t feature : chosen)
      if (names.size() < 40) names.push_back({0, 1, feature});
  }
}

TEST(ReduceCloud, FewPointsAreLeftAlone) {
  Manifold cloud;
  for (int k = 0; k < 120; ++k)
    cloud.points.push_back({Vec3(k, 0, 0), Vec3::UnitZ(), 0.0, static_cast<std::uint32_t>(k)});
  SdfWorkspace workspace;
  reduce_cloud(cloud_options(120), workspace, cloud);
  EXPECT_EQ(cloud.points.size(), 120U);
  EXPECT_TRUE(cloud.spare.empty());
}

}  // namespace
}  // namespace almond
