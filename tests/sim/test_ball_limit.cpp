// The rotation angle of a ball joint stays below its limit: reached exactly, held without energy from nowhere, and the
// impulse acts along the axis of the rotation. Closed forms of a body with equal moments of inertia, free of gravity.

#include <gtest/gtest.h>

#include <cmath>

#include "almond/model/builder.hpp"
#include "common/helpers.hpp"
#include "sim/sim_fixture.hpp"

namespace almond {
namespace {

using testing::tolerance;

constexpr double kDt = 1.0 / 240.0, kLimit = 0.5, kMoment = 0.2;

/// A body that turns about its centre of mass, started with the rotation vector `turn` and the angular velocity
/// `omega`.
Simulation make_ball(const Vec3& turn, const Vec3& omega, double limit = kLimit, const Vec3& com = Vec3::Zero(),
                     const Vec3& gravity = Vec3::Zero()) {
  ModelBuilder builder("ball");
  builder.set_gravity(gravity);
  BodySpec spec;
  spec.name = "body";
  spec.mass = 2.0;
  spec.com = com;
  spec.inertia = kMoment * Mat3::Identity();
  spec.joint.name = "joint";
  spec.joint.kind = JointKind::kBall;
  spec.joint.upper = limit;
  const int body = builder.add_body(spec);
  builder.set_start(body, exp_quaternion(turn));
  builder.set_start_velocity(body, omega);
  StepOptions options;
  options.dt = kDt;
  return Simulation(builder.build(), options);
}

double angle_of(const Simulation& sim) {
  const VecX& q = sim.state().q;
  return 2.0 * std::atan2(q.tail<3>().norm(), std::abs(q[0]));
}

Vec3 axis_of(const Simulation& sim) { return sim.state().q.tail<3>().normalized(); }

TEST(BallLimit, IsReachedExactlyAndStopsTheTurn) {
  for (const Vec3& axis : {Vec3(1.0, 0.0, 0.0), Vec3(0.6, 0.0, 0.8), Vec3(-0.48, 0.6, -0.64)}) {
    Simulation sim = make_ball(Vec3::Zero(), 3.0 * axis);
    double before = 0.0;
    for (int n = 1; n <= 120; ++n) {
      sim.step();
      const double free = 3.0 * n * kDt;
      EXPECT_NEAR(angle_of(sim), std::min(free, kLimit), tolerance(1e-9)) << n;
      EXPECT_GE(angle_of(sim), before - 1e-12);
      before = angle_of(sim);
    }
    EXPECT_LT(sim.state().v.norm(), tolerance(1e-9));
  }
}

TEST(BallLimit, PushesBackAlongTheAxisOnly) {
  // At the limit, turning outwards and across: only the part along the axis is taken away.
  const Vec3 axis(0.0, 0.6, 0.8), across(1.0, 0.0, 0.0);
  Simulation sim = make_ball(kLimit * axis, 2.0 * axis + 0.3 * across);
  sim.step();
  const Vec3 change = sim.state().v - (2.0 * axis + 0.3 * across);
  EXPECT_NEAR(change.dot(axis), -2.0, 0.01);  // dt ω across is 0.001, and turns the axis so far
  EXPECT_LT((change - change.dot(axis) * axis).norm(), 2.0 * 0.005);  // along the axis of the middle of the step
  EXPECT_LT(angle_of(sim), kLimit + 1e-5);
  // The torque impulse is what stops the body, and nothing at all where it turns back.
  Simulation back = make_ball(kLimit * axis, -2.0 * axis + 0.3 * across);
  back.step();
  EXPECT_LT((back.state().v - (-2.0 * axis + 0.3 * across)).norm(), tolerance(1e-9));
}

TEST(BallLimit, SlidesAlongTheLimit) {
  // Round the cone at 2 rad/s for 2 s: the angle stays to the second order of the step, the speed nearly.
  Simulation sim = make_ball(kLimit * Vec3::UnitX(), 2.0 * Vec3::UnitY());
  double least = kInfinity, most = 0.0;
  for (int n = 0; n < 480; ++n) {
    sim.step();
    least = std::min(least, angle_of(sim));
    most = std::max(most, angle_of(sim));
  }
  const double bend = 0.5 * kDt * kDt * 4.0 / std::tan(0.5 * kLimit);  // how far a straight step leaves the cone
  EXPECT_LT(most, kLimit + bend);
  EXPECT_GT(least, kLimit - 0.02);
  EXPECT_LT(sim.state().v.norm(), 2.0 + 1e-9);  // no energy from nowhere
  EXPECT_GT(sim.state().v.norm(), 1.8);
}

TEST(BallLimit, HoldsAPendulumAtItsAngle) {
  // Gravity pulls the mass sideways; it comes to rest at the limit, turned about the axis that gravity asks for, and
  // the torque of the limit is m g times the lever.
  const Vec3 com(0.0, 0.0, -0.4), gravity(9.81, 0.0, -0.1);
  Simulation sim = make_ball(Vec3::Zero(), Vec3::Zero(), kLimit, com, gravity);
  for (int n = 0; n < 2400; ++n) sim.step();
  EXPECT_NEAR(angle_of(sim), kLimit, 1e-6);
  EXPECT_LT(sim.state().v.norm(), 1e-6);
  EXPECT_LT((axis_of(sim) - Vec3(0.0, -1.0, 0.0)).norm(), 1e-6);
  const Vec3 arm = exp_so3(Vec3(0.0, -kLimit, 0.0)) * com;
  const double torque = -arm.cross(2.0 * gravity).y();
  EXPECT_NEAR(testing::row_impulse(sim.state(), RowRole::kUpperLimit, 0) / kDt, torque, 1e-6 * torque);
}

TEST(BallLimit, TurnsBeyondHalfATurnAreTheSameRotation) {
  // -q is q: the angle is that of the shorter way round.
  const Vec4 q = exp_quaternion(0.3 * Vec3::UnitZ());
  Simulation sim = make_ball(Vec3::Zero(), Vec3::Zero());
  sim.state().q = -q;
  sim.state().v = 3.0 * Vec3::UnitZ();
  for (int n = 0; n < 100; ++n) sim.step();
  EXPECT_NEAR(angle_of(sim), kLimit, tolerance(1e-9));
}

TEST(BallLimit, RefusesWhatIsNoAngle) {
  const auto error_of = [](double lower, double upper) -> std::string {
    ModelBuilder builder;
    BodySpec spec;
    spec.name = "body";
    spec.mass = 1.0;
    spec.inertia = Mat3::Identity();
    spec.joint.name = "joint";
    spec.joint.kind = JointKind::kBall;
    spec.joint.lower = lower;
    spec.joint.upper = upper;
    try {
      builder.add_body(spec);
    } catch (const Error& error) {
      return error.what();
    }
    return "";
  };
  EXPECT_EQ(error_of(-kInfinity, 1.0), "");
  EXPECT_NE(error_of(0.0, 1.0).find("a ball joint has limits 0 to 1, expected none or an upper one > 0"),
            std::string::npos);
  EXPECT_NE(error_of(-kInfinity, 0.0), "");
  Simulation sim = make_ball(0.8 * Vec3::UnitX(), Vec3::Zero());
  ASSERT_EQ(sim.model().remarks.size(), 1U);
  EXPECT_EQ(sim.model().remarks[0], "joint \"joint\": starts turned by 0.8 rad, outside its limit 0.5");
}

}  // namespace
}  // namespace almond
