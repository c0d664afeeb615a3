// Contacts that no joint can open are left out and counted, and all others obey the law as if those were not there:
// against closed forms of the motion that is left.

#include <gtest/gtest.h>

#include <cmath>
#include <numbers>

#include "almond/sim/held.hpp"
#include "almond/sim/overlaps.hpp"
#include "common/helpers.hpp"
#include "scenes/random.hpp"
#include "sim/sim_fixture.hpp"

namespace almond {
namespace {

constexpr double kDt = 1.0 / 240.0;

/// A turntable: a capsule on a hinge about z, whose lower end reaches `depth` into the floor, `off` beside the hinge.
ModelBuilder make_turntable(double depth, double off, JointKind kind = JointKind::kRevolute,
                            const Vec3& axis = Vec3::UnitZ()) {
  ModelBuilder builder;
  builder.add_ground(Plane{});
  const double radius = 0.05;
  builder.add_link("table", kGround, make_joint(kind, axis), Capsule{radius, 0.1}, 2.0,
                   make_translation(off, 0.0, 0.1 + radius - depth));
  return builder;
}

TEST(Held, ATurntableInTheFloorTurnsOn) {
  for (const double off : {0.0, 0.3}) {
    ModelBuilder builder = make_turntable(0.027, off);
    builder.set_start_velocity(0, VecX::Constant(1, 3.0));
    Simulation sim(builder.build());
    for (int i = 0; i < 240; ++i) {
      const StepReport report = sim.step();
      ASSERT_EQ(report.status, Status::kSolved) << i;
      ASSERT_EQ(report.held_contacts, 1);
      ASSERT_EQ(report.contacts, 0);
      ASSERT_NEAR(report.penetration, 0.027, 1e-12) << "the overlap is told all the same";
    }
    // Nothing brakes it: closed form of free motion about the hinge.
    EXPECT_NEAR(sim.state().v[0], 3.0, testing::tolerance(1e-12));
    EXPECT_NEAR(sim.state().q[0], 3.0, testing::tolerance(1e-10));
  }
}

TEST(Held, OverlapsSayWhatCanBeUndone) {
  const Model held = make_turntable(0.027, 0.3).build();
  const Model lifts = make_turntable(0.027, 0.3, JointKind::kPrismatic).build();
  ASSERT_EQ(find_overlaps(held, held.q0, 1e-4).size(), 1U);
  EXPECT_TRUE(find_overlaps(held, held.q0, 1e-4)[0].held);
  EXPECT_FALSE(find_overlaps(lifts, lifts.q0, 1e-4)[0].held);
}

TEST(Held, WhatAJointCanOpenIsPushedApart) {
  Simulation sim(make_turntable(0.005, 0.0, JointKind::kPrismatic).build());
  StepReport report;
  for (int i = 0; i < 240; ++i) {
    report = sim.step();
    ASSERT_EQ(report.status, Status::kSolved) << i;
    ASSERT_EQ(report.held_contacts, 0);
  }
  EXPECT_LE(report.penetration, 1e-8);
  EXPECT_NEAR(sim.state().q[0], 0.005, 1e-7);
}

TEST(Held, AJointWithoutRoomIsNoWayOut) {
  BodySpec spec;
  spec.name = "post";
  spec.joint = make_joint(JointKind::kPrismatic, Vec3::UnitZ());
  spec.joint.lower = spec.joint.upper = 0.0;
  spec.mass = 1.0;
  spec.inertia = Mat3::Identity() * 0.01;
  ModelBuilder builder;
  builder.add_ground(Plane{});
  const int body = builder.add_body(spec);
  GeomSpec geom;
  geom.body = body;
  geom.shape = Sphere{0.1};
  builder.add_geom(geom);
  Simulation sim(builder.build());
  for (int i = 0; i < 10; ++i) {
    const StepReport report = sim.step();
    EXPECT_EQ(report.status, Status::kSolved) << i;
    EXPECT_EQ(report.held_contacts, 1);
    EXPECT_NEAR(report.penetration, 0.1, 1e-12);
  }
}

TEST(Held, ABodyBesideLandsAsIfAlone) {
  // The turntable's contact is hopeless; a ball falls from 0.2 m 3 m away and stops on the floor.
  ModelBuilder builder = make_turntable(0.027, 0.0);
  builder.add_solid("ball", Sphere{0.1}, 1.0, make_translation(3.0, 0.0, 0.3));
  Simulation sim(builder.build());
  StepReport report;
  for (int i = 0; i < 240; ++i) {
    report = sim.step();
    ASSERT_EQ(report.status, Status::kSolved) << i;
  }
  EXPECT_EQ(report.active, 1);
  EXPECT_NEAR(sim.kinematics().X_WB[1].p.z(), 0.1, 1e-8);
}

TEST(Held, CanOpenIsWhatTheJacobianSays) {
  // Against finite differences: two links, random poses, points and normals, and normals made to lie across all motion.
  ModelBuilder builder;
  const int upper = builder.add_body(testing::make_arm("upper"));
  builder.add_body(testing::make_arm("lower", 1.0, upper, Vec3(1.0, 0.0, 0.0)));
  const Model model = builder.build();
  scenes::Random random(1);
  for (int k = 0; k < 100; ++k) {
    VecX q(2);
    for (double& x : q) x = random.uniform(-3.0, 3.0);
    Kinematics kin;
    compute_kinematics(model, q, VecX::Zero(2), kin);
    ContactPoint point;
    point.body_b = 1;
    point.p = kin.X_WB[1] * Vec3(random.uniform(0.1, 1.0), random.uniform(-0.2, 0.2), random.uniform(-0.2, 0.2));
    const bool across = k % 2 == 0;  // both hinges are about y
    point.n = across ? Vec3::UnitY() : Vec3(random.uniform(-1.0, 1.0), 0.0, random.uniform(-1.0, 1.0)).normalized();
    EXPECT_EQ(can_open(model, kin, point), !across) << k;
  }
}

TEST(FreeFall, JointsWithDryFrictionFallAsOneBody) {
  // A floating base with two links whose hinges rub: falls by g t²/2 and turns on at the rate it had.
  ModelBuilder builder;
  const int base = builder.add_solid("base", Box{{0.2, 0.2, 0.2}}, 8.0, make_translation(0.0, 0.0, 100.0));
  int parent = base;
  for (const char* name : {"thigh", "shank"}) {
    Joint joint =
        make_joint(JointKind::kRevolute, Vec3(0.1, 1.0, 0.3).normalized(), make_translation(0.15, 0.03, 0.02));
    joint.dry_friction = 0.1;
    joint.damping = 1.0;
    parent = builder.add_link(name, parent, joint, Capsule{0.02, 0.3}, 0.3, make_translation(0.1, 0.0, -0.15));
  }
  Simulation sim(builder.build());
  const double start = sim.kinematics().com[0].z();
  for (int i = 1; i <= 480; ++i) {
    const StepReport report = sim.step();
    ASSERT_EQ(report.status, Status::kSolved) << i;
    ASSERT_LE(report.iterations, 4) << i;
    EXPECT_LE(sim.state().v.tail(2).lpNorm<Eigen::Infinity>(), 1e-11) << i;
    EXPECT_NEAR(sim.kinematics().com[0].z(), start - 0.5 * 9.81 * i * (i + 1) * kDt * kDt, 1e-9) << i;
  }
}

}  // namespace
}  // namespace almond
