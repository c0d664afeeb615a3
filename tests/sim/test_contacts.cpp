// Proves landing, resting, bouncing and pushing apart, for every shape on every ground, against closed forms: no
// overlap beyond what turning adds, forces equal to weights.

#include <gtest/gtest.h>

#include <cmath>

#include "common/helpers.hpp"
#include "scenes/random.hpp"
#include "sim/sim_fixture.hpp"

namespace almond {
namespace {

using testing::all_floors;
using testing::all_solids;
using testing::Floor;
using testing::impulse_on;
using testing::Solid;
using testing::tolerance;

constexpr double kG = 9.81, kDt = 1.0 / 240.0;

class Landing : public ::testing::TestWithParam<std::tuple<int, int>> {
 protected:
  Landing() : solid(all_solids()[std::get<0>(GetParam())]), floor(all_floors()[std::get<1>(GetParam())]) {}
  [[nodiscard]] Model make_model(const Mat3& R, double height, const Vec3& spin = Vec3::Zero()) const {
    ModelBuilder builder;
    builder.add_ground(floor.shape, floor.X);
    const int body = builder.add_solid(solid.name, solid.shape, 2.0, {R, Vec3(0.03, -0.02, height)});
    VecX v = VecX::Zero(6);
    v.tail<3>() = spin;
    builder.set_start_velocity(body, v);
    return builder.build();
  }
  Solid solid;
  Floor floor;
};

TEST_P(Landing, StraightDownIsExact) {
  // From 0.2 m: lands without overlap, stands at its height, carries its weight. No spin arises, or almost none.
  Simulation sim(make_model(Mat3::Identity(), solid.height + 0.2));
  double lowest = 1.0;
  for (int i = 0; i < 120; ++i) {
    const StepReport report = sim.step();
    ASSERT_EQ(report.status, Status::kSolved) << i;
    ASSERT_LT(report.penetration, tolerance(1e-7)) << i;
    lowest = std::min(lowest, sim.state().q[2] - solid.height);
  }
  EXPECT_NEAR(lowest, 0.0, tolerance(1e-7));
  EXPECT_NEAR(sim.state().q[2], solid.height, tolerance(1e-6));
  const Vec3 impulse = impulse_on(sim.state(), 1);
  EXPECT_NEAR(impulse.z(), 2.0 * kG * kDt, tolerance(1e-6 * 2.0 * kG * kDt));
  EXPECT_NEAR(impulse.head<2>().norm(), 0.0, tolerance(1e-6 * 2.0 * kG * kDt));
}

TEST_P(Landing, TumblingFollowsTheArcsOfPoints) {
  // A contact sees the gap along straight lines; a point at distance r turning at ω leaves its line by (ω dt)² r / 2 in
  // a step, and the other end of a pair that reports its closest point swings by ω dt r: 0.3 and 7 mm here.
  Simulation sim(make_model(exp_so3(Vec3(0.7, 0.4, -0.3)), 0.3, Vec3(3.0, -2.0, 5.0)));
  double deepest = 0.0, fastest = 0.0;
  for (int i = 0; i < 360; ++i) {
    const StepReport report = sim.step();
    ASSERT_EQ(report.status, Status::kSolved) << i;
    deepest = std::max(deepest, report.penetration);
    fastest = std::max(fastest, sim.state().v.tail<3>().norm());
    ASSERT_TRUE(sim.state().q.allFinite());
  }
  EXPECT_LE(deepest, tolerance(2.5e-4)) << "spin " << fastest;
  EXPECT_GT(sim.state().q[2], 0.02) << "fell through";
  EXPECT_LT(fastest, 60.0);
}

TEST_P(Landing, FastOnesDoNotPassThrough) {
  // 60 m/s is 0.25 m a step: many times the size of the shape, and of the box below.
  ModelBuilder builder;
  builder.add_ground(floor.shape, floor.X);
  const int body = builder.add_solid(solid.name, solid.shape, 2.0, make_translation(0.03, -0.02, solid.height + 0.4));
  VecX v = VecX::Zero(6);
  v[2] = -60.0;
  builder.set_start_velocity(body, v);
  Simulation sim(builder.build());
  for (int i = 0; i < 30; ++i) {
    sim.step();
    ASSERT_GT(sim.state().q[2], solid.height - 1e-6) << i;
  }
  EXPECT_NEAR(sim.state().q[2], solid.height, tolerance(1e-6));
}

INSTANTIATE_TEST_SUITE_P(Shapes, Landing, ::testing::Combine(::testing::Range(0, 7), ::testing::Range(0, 4)),
                         [](const auto& each) {
                           return all_solids()[std::get<0>(each.param)].name + "_" +
                                  all_floors()[std::get<1>(each.param)].name;
                         });

// ---------------------------------------------------------------- overlap

class Overlap : public ::testing::TestWithParam<int> {};

TEST_P(Overlap, IsLeftSlowlyAndSettles) {
  const Solid solid = all_solids()[GetParam()];
  ModelBuilder builder;
  builder.add_ground(Plane{});
  builder.add_solid(solid.name, solid.shape, 2.0, make_translation(0.0, 0.0, solid.height - 0.02));
  Simulation sim(builder.build());
  const double cap = sim.options().max_correction;
  double highest = 0.0;
  for (int i = 0; i < 480; ++i) {
    sim.step();
    ASSERT_LE(sim.state().v[2], cap + 1e-9) << i;
    highest = std::max(highest, sim.state().q[2] - solid.height);
  }
  // It leaves at the capped speed at most: rises by v² / 2g.
  EXPECT_LE(highest, cap * cap / (2.0 * kG));
  EXPECT_NEAR(sim.state().q[2], solid.height, tolerance(1e-4));
  EXPECT_NEAR(sim.state().v.norm(), 0.0, tolerance(1e-3));
}

INSTANTIATE_TEST_SUITE_P(Shapes, Overlap, ::testing::Range(0, 7),
                         [](const auto& each) { return all_solids()[each.param].name; });

// ---------------------------------------------------------------- restitution

TEST(Resting, TriangleMeshOnAPlane) {
  // A tetrahedron of triangles, its base flat on the ground after a fall of 2 cm.
  TriangleSoup soup;
  soup.vertices = {{-0.1, -0.1, 0.0}, {0.1, -0.1, 0.0}, {0.0, 0.1, 0.0}, {0.0, 0.0, 0.2}};
  soup.triangles = {{0, 2, 1}, {0, 1, 3}, {1, 2, 3}, {2, 0, 3}};
  ModelBuilder builder;
  builder.add_ground(Plane{});
  builder.add_solid("mesh", make_triangle_mesh(soup), 1.0, make_translation(0.0, 0.0, 0.02));
  Simulation sim(builder.build());
  StepReport report;
  for (int i = 0; i < 120; ++i) report = sim.step();
  EXPECT_EQ(report.active, 3);
  EXPECT_NEAR(sim.state().q[2], 0.0, 1e-9);
}

TEST(Resting, WorldThatCannotMoveIsStepped) {
  ModelBuilder builder;
  builder.add_ground(Plane{});
  builder.add_ground(Box{Vec3(1.0, 1.0, 1.0)});
  Simulation sim(builder.build());
  EXPECT_EQ(sim.step().status, Status::kSolved);
  EXPECT_EQ(sim.state().steps, 1);
}

TEST(Restitution, ApexFollowsEpsilonSquared) {
  for (const double epsilon : {0.3, 0.8}) {
    Simulation sim(scenes::make_ball_model(1.0, 0.0, 0.5, epsilon));
    std::vector<double> apexes;
    double previous = 0.0;
    for (int i = 0; i < 720 && apexes.size() < 3; ++i) {
      const double rate = sim.state().v[2];
      sim.step();
      if (rate > 0.0 && sim.state().v[2] <= 0.0) apexes.push_back(previous - 0.05);
      previous = sim.state().q[2];
    }
    ASSERT_GE(apexes.size(), 1U);
    // The speed at landing is known to g dt of √(2 g h), twice that in the height, and one step of travel; rising at u
    // in steps of dt falls short of u²/2g by u dt/2.
    const double impact = std::sqrt(2.0 * kG), error = 2.0 * kG * kDt / impact + 2.0 * impact * kDt * 0.5;
    EXPECT_NEAR(apexes[0], epsilon * epsilon, error * epsilon * epsilon + 0.5 * epsilon * impact * kDt) << epsilon;
    if (epsilon > 0.5) {
      EXPECT_NEAR(apexes[1] / apexes[0], epsilon * epsilon, 2.0 * error) << epsilon;
    }
  }
}

TEST(Restitution, SlowLandingsDoNotBounce) {
  Simulation sim(scenes::make_ball_model(4e-4, 0.0, 0.5, 1.0));  // lands at 0.089 m/s, threshold 0.1
  for (int i = 0; i < 60; ++i) sim.step();
  EXPECT_NEAR(sim.state().v[2], 0.0, tolerance(1e-12));
  EXPECT_NEAR(sim.state().q[2], 0.05, tolerance(1e-9));
}

TEST(Restitution, TwoBodiesKeepTheirMomentum) {
  // Newton for unequal masses: relative speed turns by -ε, momentum stays.
  ModelBuilder builder;
  builder.set_gravity(Vec3::Zero());
  const Material material{0.0, 0.6};
  const int a = builder.add_solid("a", Sphere{0.1}, 1.0, {}, material);
  builder.add_solid("b", Sphere{0.1}, 5.0, make_translation(0.5, 0.0, 0.0), material);
  VecX v = VecX::Zero(6);
  v[0] = 2.0;
  builder.set_start_velocity(a, v);
  Simulation sim(builder.build());
  for (int i = 0; i < 120; ++i) sim.step();
  const double common = 2.0 / 6.0;
  EXPECT_NEAR(sim.state().v[0], common - 0.6 * 2.0 * 5.0 / 6.0, tolerance(1e-9));
  EXPECT_NEAR(sim.state().v[6], common + 0.6 * 2.0 * 1.0 / 6.0, tolerance(1e-9));
}

TEST(Restitution, SlantedHitKeepsTheEnergy) {
  // Two equal smooth balls hit off centre: the normal turns between the steps, the energy must not notice.
  for (const double theta : {0.0, 0.5}) {
    ModelBuilder builder;
    builder.set_gravity(Vec3::Zero());
    const Material material{0.0, 1.0};
    const int a = builder.add_solid("a", Sphere{0.1}, 1.0, {}, material);
    builder.add_solid("b", Sphere{0.1}, 1.0, make_translation(0.5, 0.12, 0.0), material);
    VecX v = VecX::Zero(6);
    v[0] = 2.0;
    builder.set_start_velocity(a, v);
    StepOptions options;
    options.theta = theta;
    Simulation sim(builder.build(), options);
    for (int i = 0; i < 120; ++i) sim.step();
    EXPECT_GT(std::abs(sim.state().v[1]), 0.5) << "it was hit";
    EXPECT_NEAR(sim.energy().kinetic, 2.0, tolerance(1e-9)) << theta;
  }
}

TEST(Restitution, RodsNeverGainEnergy) {
  // Smooth elastic rods thrown onto the ground: both ends hit, often at once. What a step gains beyond rounding is the
  // fall it did not make: at most m g s dt.
  for (int seed = 0; seed < 8; ++seed) {
    scenes::Random random(seed);
    ModelBuilder builder;
    const Material smooth{0.0, 1.0};
    builder.add_ground(Plane{}, {}, smooth);
    const int rod = builder.add_solid("rod", Capsule{0.05, 0.3}, 1.0, make_translation(0.0, 0.0, 1.0), smooth);
    VecX v(6);
    v.head<3>() = Vec3(0.0, 0.0, -2.0);
    v.tail<3>() = 5.0 * random.normal3();
    builder.set_start_velocity(rod, v);
    Simulation sim(builder.build());
    const double start = sim.energy().total();
    for (int i = 0; i < 960; ++i) sim.step();
    EXPECT_LT(sim.energy().total(), start * 1.02) << seed;
  }
}

TEST(Restitution, WhatRestsDoesNotBounce) {
  // Gravity of a long step and a pressing force are no landing.
  ModelBuilder builder;
  const Material material{0.5, 0.8};
  builder.add_ground(Plane{}, {}, material);
  const int box = builder.add_solid("box", Box{Vec3(0.1, 0.1, 0.1)}, 0.1, make_translation(0.0, 0.0, 0.1), material);
  StepOptions options;
  options.dt = 1.0 / 60.0;
  Simulation sim(builder.build(), options);
  sim.inputs().wrenches.resize(1);
  sim.inputs().wrenches[box].force = Vec3(20.0, 0.0, -100.0);  // within the cone
  for (int i = 0; i < 120; ++i) sim.step();
  EXPECT_NEAR(sim.state().q.head<2>().norm(), 0.0, tolerance(1e-9));
  EXPECT_NEAR(sim.state().v.norm(), 0.0, tolerance(1e-7));  // 1e-9 of the 17 m/s that the forces would give in a step
}

TEST(Correction, IsNoSpeed) {
  // A box that starts deep in the ground is lifted out of it, and stays there: it does not hop.
  for (const double depth : {1e-3, 1e-2, 5e-2}) {
    ModelBuilder builder;
    builder.add_ground(Plane{});
    builder.add_solid("box", Box{Vec3(0.1, 0.1, 0.1)}, 1.0, make_translation(0.0, 0.0, 0.1 - depth));
    Simulation sim(builder.build());
    double highest = 0.0;
    for (int i = 0; i < 480; ++i) {
      sim.step();
      highest = std::max(highest, sim.state().q[2] - 0.1);
    }
    EXPECT_LT(highest, 5e-6) << depth;  // thrown up at 0.01 m/s at most: v²/2g
    EXPECT_GT(sim.state().q[2], 0.1 - 1e-6) << depth;
  }
}

TEST(Correction, OverlappingBallsGainNoEnergy) {
  // Thirty balls on each other's ground: they are moved apart, and none flies off.
  ModelBuilder builder;
  builder.set_gravity(Vec3::Zero());
  scenes::Random random(4);
  for (int i = 0; i < 30; ++i) {
    const Vec3 p = 0.08 * random.normal3();
    builder.add_solid("ball" + std::to_string(i), Sphere{0.05}, 1.0, make_translation(p.x(), p.y(), p.z()));
  }
  Simulation sim(builder.build());
  double most = 0.0;
  for (int i = 0; i < 480; ++i) {
    sim.step();
    most = std::max(most, sim.energy().kinetic);
  }
  EXPECT_LT(most, 30 * 0.5 * 1e-4);  // none faster than 0.01 m/s
  EXPECT_LT(sim.last().contacts.points.empty() ? 0.0 : -sim.last().contacts.points[0].gap, 1e-3);
}

TEST(Correction, WedgeHeldByFrictionComesFree) {
  // A ball 1 mm too deep in a groove of 2 x 10 degrees. Friction 1 against walls that steep holds it with any impulse:
  // 2 (sin 10° - cos 10°) < 0, nothing pushes it up. It is moved out all the same, and stays without speed.
  constexpr double kHalf = 10.0 * M_PI / 180.0, kRadius = 0.1;
  ModelBuilder builder;
  for (const double side : {-1.0, 1.0})
    builder.add_ground(Plane{}, {exp_so3(Vec3(0.0, side * (0.5 * M_PI - kHalf), 0.0)), Vec3::Zero()},
                       Material{1.0, 0.0});
  builder.add_solid("ball", Sphere{kRadius}, 1.0, make_translation(0.0, 0.0, (kRadius - 1e-3) / std::sin(kHalf)),
                    Material{1.0, 0.0});
  Simulation sim(builder.build());
  int jammed = 0;
  double last = 0.0;
  for (int i = 0; i < 120; ++i) {
    const StepReport report = sim.step();
    ASSERT_EQ(report.status, Status::kSolved) << i;
    ASSERT_LT(sim.state().v.norm(), 0.02) << i;
    jammed += report.jammed ? 1 : 0;
    last = report.penetration;
  }
  EXPECT_GT(jammed, 0);
  EXPECT_LT(last, 5e-5);
  EXPECT_NEAR(sim.state().q[2], kRadius / std::sin(kHalf), 5e-5 / std::sin(kHalf));
}

/// A box of 0.1 m between walls that overlap it by `left` and `right`, far above the floor, and a cube 5 mm in the
/// floor.
Model make_box_between_walls(double left, double right, double mu) {
  const Material material{mu, 0.0};
  ModelBuilder builder;
  builder.add_ground(Plane{});
  const Vec3 wall(0.02, 0.2, 0.2);
  builder.add_ground(Box{wall}, make_translation(-0.07 + left, 0.0, 0.5), material);
  builder.add_ground(Box{wall}, make_translation(0.07 - right, 0.0, 0.5), material);
  builder.add_solid("box", Box{Vec3(0.05, 0.05, 0.05)}, 1.0, make_translation(0.0, 0.0, 0.5), material);
  builder.add_solid("cube", Box{Vec3(0.05, 0.05, 0.05)}, 1.0, make_translation(1.0, 0.0, 0.045));
  return builder.build();
}

TEST(Correction, OverlapsFromTwoSidesHoldAndKeepNothingElse) {
  // Walls 4 mm nearer than the box is wide: no correction has an answer. What is pressed so hard holds, at rest and no
  // deeper, and gains no energy; the cube elsewhere comes out of the floor.
  for (const double left : {2e-3, 2.5e-3}) {
    Simulation sim(make_box_between_walls(left, 4e-3 - left, 1.0));
    for (int i = 0; i < 480; ++i) {
      const StepReport report = sim.step();
      ASSERT_EQ(report.status, Status::kSolved) << i;
      ASSERT_TRUE(report.jammed) << i;
      ASSERT_LT(sim.state().v.head<6>().norm(), 1e-6) << i;
      if (i > 100) {
        ASSERT_LT(report.penetration, 2.5e-3 + 1e-5) << i << ": no deeper";
      }
    }
    EXPECT_NEAR(sim.state().q[2], 0.5, 1e-6);
    EXPECT_NEAR(sim.state().q[7 + 2], 0.05, 1e-5);
  }
}

TEST(Correction, LoopsCloseBesideOpposedOverlaps) {
  // At 0.5 m/s, as fast as corrections go: neither slower nor faster for the wedge, which has no part in it.
  ModelBuilder builder;
  for (const double side : {-1.0, 1.0})
    builder.add_ground(Box{Vec3(0.02, 0.2, 0.2)}, make_translation(side * 0.068, 0.0, 0.5));
  builder.add_solid("box", Box{Vec3(0.05, 0.05, 0.05)}, 1.0, make_translation(0.0, 0.0, 0.5));
  Closure hook;
  hook.name = "hook";
  hook.a = builder.add_solid("ball", Sphere{0.05}, 1.0, make_translation(1.0, 0.0, 1.0));
  hook.b = kGround;
  hook.X_b = make_translation(1.0, 0.0, 1.02);
  builder.add_closure(hook);
  Simulation sim(builder.build());
  for (int i = 0; i < 9; ++i) {
    const StepReport report = sim.step();
    ASSERT_EQ(report.status, Status::kSolved) << i;
    ASSERT_TRUE(report.jammed) << i;
    ASSERT_NEAR(report.opening, 0.02 - 0.5 * kDt * i, 1e-6) << i;
  }
}

TEST(Correction, OverlapsFromTwoSidesWithoutFrictionFall) {
  // The same without friction: ½ g t² of the semi-implicit step, as if there were no walls.
  Simulation sim(make_box_between_walls(2e-3, 2e-3, 0.0));
  constexpr int kSteps = 48;
  for (int i = 0; i < kSteps; ++i) ASSERT_EQ(sim.step().status, Status::kSolved) << i;
  const double fall = 9.81 * kDt * kDt * kSteps * (kSteps + 1) / 2.0;
  EXPECT_NEAR(sim.state().q[2], 0.5 - fall, 1e-6);
}

TEST(Correction, OverlapsFromTwoSidesLeaveBouncesAsTheyAre) {
  // Walls without friction, and a floor that gives all back: no bounce is higher than the one before, beyond what a
  // step of gravity does at the turn.
  ModelBuilder builder;
  const Material smooth{0.0, 1.0}, wall{0.0, 0.0};
  builder.add_ground(Plane{}, Pose{}, smooth);
  for (const double side : {-1.0, 1.0})
    builder.add_ground(Box{Vec3(0.02, 0.2, 0.4)}, make_translation(side * 0.068, 0.0, 0.4), wall);
  builder.add_solid("box", Box{Vec3(0.05, 0.05, 0.05)}, 1.0, make_translation(0.0, 0.0, 0.25), smooth);
  StepOptions options;
  options.dt = 0.002;
  Simulation sim(builder.build(), options);
  const double start = sim.energy().total();
  for (int i = 0; i < 1000; ++i) {
    ASSERT_EQ(sim.step().status, Status::kSolved) << i;
    // Where it lands it is moved onto the floor first: by less than a step of its way.
    ASSERT_LT(sim.energy().total(), start + 9.81 * options.dt * 2.0) << i;
  }
}

TEST(Correction, OverlapAgainstAJointLimitStays) {
  // A slider whose lower limit lies 3 mm above where a ceiling lets it: neither can be mended, and nothing moves.
  ModelBuilder builder;
  builder.add_ground(Plane{}, {exp_so3(Vec3(M_PI, 0.0, 0.0)), Vec3(0.0, 0.0, 0.05)});
  BodySpec slider = testing::make_slider("slider", Vec3::UnitZ());
  slider.joint.lower = 0.003;
  slider.joint.upper = 0.1;
  const int body = builder.add_body(slider);
  GeomSpec geom;
  geom.body = body;
  geom.shape = Sphere{0.05};
  builder.add_geom(geom);
  Simulation sim(builder.build());
  sim.state().q[0] = 0.003;
  for (int i = 0; i < 240; ++i) {
    const StepReport report = sim.step();
    ASSERT_EQ(report.status, Status::kSolved) << i;
    ASSERT_LT(std::abs(sim.state().v[0]), 1e-9) << i;
  }
  EXPECT_NEAR(sim.state().q[0], 0.003, 1.5e-3);
}

// ---------------------------------------------------------------- θ

class AnyTheta : public ::testing::TestWithParam<double> {};

TEST_P(AnyTheta, LandsRestsAndSticks) {
  StepOptions options;
  options.theta = GetParam();
  ModelBuilder builder;
  builder.add_ground(Plane{});
  builder.add_solid("box", Box{Vec3(0.1, 0.1, 0.1)}, 1.0, make_translation(0.0, 0.0, 0.5));
  Simulation sim(builder.build(), options);
  bool landed = false;
  for (int i = 0; i < 480; ++i) {
    const StepReport report = sim.step();
    landed = landed || report.active > 0;
    EXPECT_GT(sim.state().q[2], 0.1 - 1e-9);
    if (landed) {
      EXPECT_LT(sim.state().q[2], 0.1 + 4.0 * kDt);  // within the way of the landing step
    }
  }
  EXPECT_NEAR(sim.state().q[2], 0.1, tolerance(1e-9));
  EXPECT_NEAR(sim.state().v.norm(), 0.0, tolerance(1e-9));
}

TEST_P(AnyTheta, HoldsTheLawsOfScenes) {
  for (const char* name : {"slope", "tower", "gripper", "four_bar", "joint_stop", "pendulum", "ball", "arm", "chain"}) {
    scenes::Scene scene = scenes::make_scene(name);
    scene.options.theta = GetParam();
    testing::SceneRun run(std::move(scene));
    run.steps(std::min(run.scene.steps, 480));
    EXPECT_TRUE(!run.scene.judge || run.scene.judge(run.sim).success) << name;
  }
}

INSTANTIATE_TEST_SUITE_P(Thetas, AnyTheta, ::testing::Values(0.0, 0.25, 0.5, 0.9));

// ---------------------------------------------------------------- within one tree

TEST(IntraTree, FoldedArmRestsOnItself) {
  // Two links in free space; a torque folds the second onto a ball on the first. At rest the ball's force has the
  // torque's moment about the hinge, and nothing of it moves the arm as a whole.
  ModelBuilder builder;
  builder.set_gravity(Vec3::Zero());
  const Material material{0.3, 0.0};
  const int upper = builder.add_body(testing::make_arm("upper"));
  const int lower = builder.add_body(testing::make_arm("lower", 0.5, upper, Vec3(1.0, 0.0, 0.0)));
  GeomSpec geom;
  geom.material = material;
  geom.body = upper;
  geom.shape = Sphere{0.05};
  geom.X_BG = make_translation(0.4, 0.0, 0.05);
  builder.add_geom(geom);
  geom.body = lower;
  geom.shape = Capsule{0.02, 0.45};
  geom.X_BG = make_rotation(Vec3::UnitY(), 1.5707963267948966, Vec3(0.5, 0.0, 0.0));
  builder.add_geom(geom);
  builder.include(upper, lower);
  builder.set_start(lower, VecX::Constant(1, -2.0));  // the second link points up and back
  Drive fold;
  fold.joint = lower;
  fold.feedforward = -3.0;
  builder.add_drive(fold);
  Simulation sim(builder.build());
  double deepest = 0.0;
  bool touched = false;
  for (int i = 0; i < 480; ++i) {
    const StepReport report = sim.step();
    ASSERT_EQ(report.status, Status::kSolved) << i;
    deepest = std::max(deepest, report.penetration);
    touched = touched || report.active > 0;
  }
  ASSERT_TRUE(touched);
  EXPECT_LT(deepest, tolerance(1e-3));
  ASSERT_EQ(sim.last().contacts.points.size(), 1U);
  EXPECT_NEAR(sim.state().v[1], 0.0, tolerance(1e-9)) << "the hinge stands still";
  // Moment about the hinge of the impulse on the lower link, in the state the step began with.
  const Vec3 hinge = sim.last().kinematics.X_WB[lower].p, arm = sim.last().contacts.points[0].p - hinge;
  const Vec3 impulse = sim.state().contacts[0].impulse;
  const double spin = sim.state().v[0];  // the whole turns at what it had: centripetal forces act, too
  EXPECT_NEAR(arm.cross(impulse).y(), 3.0 * kDt, tolerance(1e-3 * 3.0 * kDt + 2.0 * spin * spin * kDt)) << spin;
}

// ---------------------------------------------------------------- weights

TEST(Resting, HeavyOnLightCarriesAllWeights) {
  Simulation sim(scenes::make_tower_model(3, 5.0, 0.6));
  for (int i = 0; i < 240; ++i) ASSERT_EQ(sim.step().status, Status::kSolved);
  // Geom 0 is the plane; cube i is geom i + 1. Each carries what is above.
  double above = 0.0;
  for (int i = 3; i >= 0; --i) {
    double below = 0.0;
    for (const ContactMemory& c : sim.state().contacts)
      if (c.geom_a == i && c.geom_b == i + 1) below += c.impulse.z();
    above += (i == 3 ? 5.0 : 0.1) * kG * kDt;
    EXPECT_NEAR(below, above, tolerance(1e-5 * above)) << i;
  }
}

TEST(Resting, FrictionlessBoxKeepsItsSpeed) {
  ModelBuilder builder;
  builder.add_ground(Plane{}, {}, Material{0.0, 0.0});
  const int box = builder.add_solid("box", Box{Vec3(0.1, 0.1, 0.1)}, 1.0, make_translation(0.0, 0.0, 0.1));
  VecX v = VecX::Zero(6);
  v[0] = 1.0;
  builder.set_start_velocity(box, v);
  Simulation sim(builder.build());
  for (int i = 0; i < 480; ++i) sim.step();
  EXPECT_NEAR(sim.state().v[0], 1.0, tolerance(1e-9));
  EXPECT_NEAR(sim.state().q[0], 2.0, tolerance(1e-9));
}

}  // namespace
}  // namespace almond
