// Detection of contacts: the list against every pair of geoms tested one by one, and its promises: order, unique names,
// margins, motion, filters, materials, cut depths, equal runs, no allocation once warm.

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <set>
#include <tuple>

#include "almond/collision/convex.hpp"
#include "almond/collision/detect.hpp"
#include "almond/collision/narrowphase.hpp"
#include "almond/model/builder.hpp"
#include "tests/collision/support_oracle.hpp"
#include "tests/common/allocation.hpp"

namespace almond {
namespace {

using scenes::Random;

/// Free bodies of all closed-form kinds over a plane and fixed boxes; X_WG and motion are made up.
struct World {
  Model model;
  std::vector<Pose> X_WG;
  std::vector<GeomMotion> motion;
};

World random_world(int seed, int count) {
  Random random(seed);
  ModelBuilder builder;
  World world;
  const Material material{random.uniform(), random.uniform()};
  builder.add_ground(Plane{}, Pose(), material);
  world.X_WG.emplace_back();
  for (int k = 0; k < count; ++k) {
    const Pose X = testing::random_pose(random, 0.4 * std::cbrt(count));
    const int kind = random.index(3);
    const double r = random.uniform(0.05, 0.3);
    const Shape shape = kind == 0   ? Shape(Sphere{r})
                        : kind == 1 ? Shape(Capsule{0.5 * r, r})
                                    : Shape(Box{r * Vec3(1.0, random.uniform(0.3, 1.0), random.uniform(0.3, 1.0))});
    if (k % 5 == 0) {
      builder.add_ground(shape, X, {random.uniform(), random.uniform()});
    } else {
      builder.add_solid("body" + std::to_string(k), shape, 1.0, X, {random.uniform(), random.uniform()});
    }
    world.X_WG.push_back(X);
  }
  world.model = builder.build();
  world.motion.resize(world.X_WG.size());
  for (std::size_t k = 0; k < world.motion.size(); ++k) {
    if (world.model.geoms[k].body < 0 || seed % 3 == 0) continue;
    world.motion[k] = {0.05 * random.normal3(), random.uniform(0.0, 0.02)};
  }
  return world;
}

Contacts detect(const World& world, const CollisionOptions& options = {}) {
  CollisionWorkspace workspace;
  Contacts contacts;
  detect_contacts(world.model, world.X_WG, world.motion, options, workspace, contacts);
  return contacts;
}

TEST(Detect, EqualsEveryPairTestedAlone) {
  std::size_t total = 0;
  for (int seed = 0; seed < 200; ++seed) {
    const World world = random_world(seed, 40);
    const Model& model = world.model;
    const CollisionOptions options;
    const Contacts contacts = detect(world, options);
    total += contacts.points.size();
    std::set<std::tuple<int, int, std::uint32_t>> found;
    for (const ContactPoint& c : contacts.points) found.insert({c.geom_a, c.geom_b, c.feature});
    EXPECT_EQ(found.size(), contacts.points.size());

    ConvexWorkspace workspace;
    std::size_t expected = 0;
    for (int i = 0; i < model.num_geoms(); ++i) {
      for (int k = i + 1; k < model.num_geoms(); ++k) {
        if (!may_collide(model, i, k)) continue;
        const Geom &a = model.geoms[i], &b = model.geoms[k];
        const GeomMotion &ma = world.motion[i], &mb = world.motion[k];
        const double margin = std::min(options.margin, 0.1 * std::min(a.radius, b.radius)) +
                              (ma.shift - mb.shift).norm() + ma.spin + mb.spin;
        Manifold manifold;
        collide_pair(a.shape, world.X_WG[i], b.shape, world.X_WG[k], {margin, options.max_points_per_pair}, workspace,
                     manifold);
        for (const ManifoldPoint& point : manifold.points) {
          // What two boxes along the axes, swept by the motion, keep apart may be left out: it cannot touch in time.
          const bool there = found.count({i, k, point.feature}) == 1;
          expected += there ? 1 : 0;
          EXPECT_TRUE(there || point.gap > 0.0) << seed;
          EXPECT_TRUE(there || seed % 3 != 0 || point.gap > 0.5 * options.margin) << seed;
        }
      }
    }
    EXPECT_EQ(expected, contacts.points.size()) << seed;
  }
  EXPECT_GT(total, 5000U);
}

TEST(Detect, NothingThatTouchesWithinTheMotionIsMissed) {
  // A ball flies at a wall thinner than its step: it is seen for every start from which it arrives.
  for (int seed = 0; seed < 1000; ++seed) {
    Random random(seed);
    ModelBuilder builder;
    builder.add_ground(Box{Vec3(1.0, 1.0, 0.001)});
    builder.add_solid("ball", Sphere{0.01}, 1.0, Pose());
    World world{builder.build(), {Pose(), Pose()}, std::vector<GeomMotion>(2)};
    const double speed = random.uniform(0.02, 0.5), height = random.uniform(0.011, 0.6);
    const Vec3 direction = Vec3(0.3 * random.normal(), 0.3 * random.normal(), -1.0).normalized();
    world.X_WG[1].p = Vec3(random.uniform(-0.5, 0.5), random.uniform(-0.5, 0.5), height);
    world.motion[1].shift = speed * direction;
    const double gap = height - 0.011;
    const bool arrives = speed * -direction.z() >= gap;
    const Contacts contacts = detect(world);
    if (arrives) {
      ASSERT_EQ(contacts.points.size(), 1U) << seed;
      EXPECT_NEAR(contacts.points[0].gap, gap, 1e-12);
      EXPECT_LT((contacts.points[0].n - Vec3::UnitZ()).norm(), 1e-12);
    } else {
      EXPECT_LE(contacts.points.size(), 1U);
    }
  }
}

TEST(Detect, PointsAreSortedAndComplete) {
  for (int seed = 0; seed < 100; ++seed) {
    const World world = random_world(seed, 40);
    const Contacts contacts = detect(world);
    const auto key = [](const ContactPoint& c) { return std::tuple(c.geom_a, c.geom_b, c.feature); };
    EXPECT_TRUE(std::is_sorted(contacts.points.begin(), contacts.points.end(),
                               [&](const auto& x, const auto& y) { return key(x) < key(y); }));
    for (const ContactPoint& c : contacts.points) {
      const Geom &a = world.model.geoms[c.geom_a], &b = world.model.geoms[c.geom_b];
      EXPECT_LT(c.geom_a, c.geom_b);
      EXPECT_EQ(c.body_a, a.body);
      EXPECT_EQ(c.body_b, b.body);
      EXPECT_TRUE(may_collide(world.model, c.geom_a, c.geom_b));
      EXPECT_EQ(c.mu, combine(world.model, c.geom_a, c.geom_b).mu);
      EXPECT_EQ(c.restitution, combine(world.model, c.geom_a, c.geom_b).restitution);
      EXPECT_NEAR(c.n.norm(), 1.0, 1e-12);
      EXPECT_GE(c.gap, -2.0 * std::min(a.radius, b.radius));
    }
  }
}

TEST(Detect, FiltersAreRespected) {
  CollisionWorkspace workspace;  // of all: what it remembers of one model is not to hold for the next
  const auto count = [&](std::uint32_t group_b, std::uint32_t mask_b, bool exclude) {
    ModelBuilder builder;
    const int a = builder.add_solid("a", Sphere{0.5}, 1.0, Pose());
    BodySpec spec;
    spec.name = "b";
    spec.mass = 1.0;
    spec.inertia = Mat3::Identity();
    const int b = builder.add_body(spec);
    GeomSpec geom;
    geom.body = b;
    geom.shape = Sphere{0.5};
    geom.group = group_b;
    geom.mask = mask_b;
    builder.add_geom(geom);
    if (exclude) builder.exclude(a, b);
    const World world{builder.build(), {Pose(), make_translation(0.5, 0.0, 0.0)}, std::vector<GeomMotion>(2)};
    Contacts contacts;
    detect_contacts(world.model, world.X_WG, world.motion, {}, workspace, contacts);
    return contacts.points.size();
  };
  EXPECT_EQ(count(1, 0xffffffffU, false), 1U);
  EXPECT_EQ(count(1, 2, false), 0U);
  EXPECT_EQ(count(1, 0xffffffffU, false), 1U);
  EXPECT_EQ(count(0, 0xffffffffU, false), 0U);
  EXPECT_EQ(count(1, 0xffffffffU, true), 0U);
  EXPECT_EQ(count(1, 0xffffffffU, false), 1U);
}

TEST(Detect, MarginIsATenthOfASmallRadius) {
  const auto count = [](double radius, double gap) {
    ModelBuilder builder;
    builder.add_ground(Plane{});
    builder.add_solid("grain", Sphere{radius}, 1.0, Pose());
    const World world{builder.build(), {Pose(), make_translation(0.0, 0.0, radius + gap)}, std::vector<GeomMotion>(2)};
    return detect(world).points.size();
  };
  EXPECT_EQ(count(0.001, 0.9e-4), 1U);
  EXPECT_EQ(count(0.001, 1.1e-4), 0U);
  EXPECT_EQ(count(1.0, 0.9e-3), 1U);
  EXPECT_EQ(count(1.0, 1.1e-3), 0U);
}

TEST(Detect, DepthsBeyondTheSizeAreCutAndCounted) {
  ModelBuilder builder;
  builder.add_ground(Plane{});
  builder.add_solid("lost", Sphere{0.1}, 1.0, Pose());
  const World world{builder.build(), {Pose(), make_translation(0.0, 0.0, -5.0)}, std::vector<GeomMotion>(2)};
  const Contacts contacts = detect(world);
  ASSERT_EQ(contacts.points.size(), 1U);
  EXPECT_EQ(contacts.suspicious, 1);
  EXPECT_NEAR(contacts.points[0].gap, -0.2, 1e-12);
  // The point stays with the ball: its lowest point lies half the depth below.
  EXPECT_NEAR(contacts.points[0].p.z(), -5.1 + 0.1, 1e-12);
}

TEST(Detect, RunsAreEqualAndDoNotAllocateOnceWarm) {
  World world = random_world(3, 300);
  CollisionWorkspace workspace;
  Contacts first, second;
  detect_contacts(world.model, world.X_WG, world.motion, {}, workspace, first);
  detect_contacts(world.model, world.X_WG, world.motion, {}, workspace, second);
  ASSERT_EQ(first.points.size(), second.points.size());
  EXPECT_GT(first.points.size(), 200U);
  EXPECT_GT(first.pairs_tested, 0);
  for (std::size_t k = 0; k < first.points.size(); ++k) {
    EXPECT_EQ(first.points[k].feature, second.points[k].feature);
    EXPECT_EQ(first.points[k].gap, second.points[k].gap);
    EXPECT_EQ(first.points[k].p, second.points[k].p);
    EXPECT_EQ(first.points[k].n, second.points[k].n);
  }
  if (!testing::can_count_allocations()) GTEST_SKIP() << "allocations cannot be counted in this build";
  for (Pose& X : world.X_WG) X.p *= 1.0001;
  const testing::AllocationCounter counter;
  detect_contacts(world.model, world.X_WG, world.motion, {}, workspace, second);
  EXPECT_EQ(counter.count(), 0);
}

TEST(Detect, LooksAtThePairsOfAChoiceOnly) {
  const World world = random_world(5, 200);
  const Contacts all = detect(world);
  std::vector<std::uint8_t> among(world.model.geoms.size(), 0);
  for (std::size_t k = 0; k < among.size(); k += 7) among[k] = 1;
  CollisionWorkspace workspace;
  Contacts chosen;
  detect_contacts(world.model, world.X_WG, world.motion, {}, workspace, chosen, among);
  std::size_t next = 0;
  for (const ContactPoint& point : all.points) {
    if (among[point.geom_a] == 0 && among[point.geom_b] == 0) continue;
    ASSERT_LT(next, chosen.points.size());
    EXPECT_EQ(chosen.points[next].geom_a, point.geom_a);
    EXPECT_EQ(chosen.points[next].geom_b, point.geom_b);
    EXPECT_EQ(chosen.points[next++].p, point.p);
  }
  EXPECT_EQ(next, chosen.points.size());
  EXPECT_GT(next, 10U);
  EXPECT_LT(next, all.points.size());
}

TEST(Detect, KnowsACrowdWithoutCountingItToTheEnd) {
  constexpr std::size_t kBalls = 1000, kPairs = kBalls * (kBalls - 1) / 2;
  const auto crowd = [](double distance, double speed, const Crowd& most, Contacts& contacts) {
    ModelBuilder builder;
    std::vector<Pose> X_WG;
    std::vector<GeomMotion> motion(kBalls);
    for (std::size_t i = 0; i < kBalls; ++i) {
      X_WG.push_back(make_translation(distance * static_cast<double>(i), 0.0, 0.0));
      builder.add_solid("ball" + std::to_string(i), Sphere{0.1}, 1.0, X_WG.back());
      motion[i].spin = speed;
    }
    return count_crowd(builder.build(), X_WG, motion, {}, most, contacts);
  };
  Contacts contacts;
  // All of it, where it fits: coincident balls, and balls apart that may meet all the others in time.
  for (const auto& [distance, speed] : {std::pair(0.0, 0.0), std::pair(0.25, 1e3)}) {
    const Crowd all = crowd(distance, speed, {kPairs, kPairs}, contacts);
    EXPECT_EQ(all.pairs, kPairs);
    EXPECT_EQ(all.contacts, kPairs);
    EXPECT_EQ(contacts.points.size(), kPairs);
    // Else little more than was asked for. A leaf of the tree has 8 geoms, each of which may meet all.
    const Crowd few = crowd(distance, speed, {10, kPairs}, contacts);
    EXPECT_GT(few.pairs, 10U);
    EXPECT_LE(few.pairs, 10U + 8U * kBalls);
    EXPECT_EQ(few.contacts, 0U);
    EXPECT_EQ(contacts.pairs_tested, 0);
    const Crowd fewer = crowd(distance, speed, {kPairs, 10}, contacts);
    EXPECT_EQ(fewer.pairs, kPairs);
    EXPECT_EQ(fewer.contacts, 11U);
    EXPECT_EQ(contacts.pairs_tested, 11);
  }
  EXPECT_EQ(crowd(0.25, 0.0, {1, 1}, contacts).pairs, 0U);
}

TEST(Detect, CountsACrowdOnFloorsNoFurtherThanOneFloor) {
  constexpr std::size_t kBalls = 100, kFloors = 50;
  ModelBuilder builder;
  for (std::size_t i = 0; i < kFloors; ++i) {
    GeomSpec floor;
    floor.name = "floor" + std::to_string(i);
    floor.shape = Plane{};
    builder.add_geom(floor);
  }
  std::vector<Pose> X_WG(kFloors, Pose{});
  for (std::size_t i = 0; i < kBalls; ++i) {
    X_WG.push_back(make_translation(static_cast<double>(i), 0.0, 0.05));
    builder.add_solid("ball" + std::to_string(i), Sphere{0.1}, 1.0, X_WG.back());
  }
  const Model model = builder.build();
  Contacts contacts;
  const std::vector<GeomMotion> still(model.geoms.size());
  EXPECT_EQ(count_crowd(model, X_WG, still, {}, {kBalls * kFloors, kBalls * kFloors}, contacts).contacts,
            kBalls * kFloors);
  const std::size_t pairs = count_crowd(model, X_WG, still, {}, {10, 10}, contacts).pairs;
  EXPECT_GT(pairs, 10U);
  EXPECT_LE(pairs, 10U + kBalls);
}

}  // namespace
}  // namespace almond
