// Proves limits, dry friction, springs, closures and drives against closed forms of the implicit Euler step: what
// holds, holds exactly; what moves, moves by the exact recursion.

#include <gtest/gtest.h>

#include <Eigen/LU>
#include <cmath>
#include <complex>
#include <numbers>

#include "common/helpers.hpp"
#include "scenes/random.hpp"
#include "sim/sim_fixture.hpp"

namespace almond {
namespace {

using testing::make_arm;
using testing::make_slider;
using testing::row_impulse;
using testing::tolerance;

constexpr double kG = 9.81, kDt = 1.0 / 240.0;

void run(Simulation& sim, int steps) {
  for (int i = 0; i < steps; ++i) ASSERT_EQ(sim.step().status, Status::kSolved) << i;
}

/// A 2 kg slider along z (up) with a drive; gravity pulls at it.
Simulation make_lift(const Drive& drive, double start = 0.0, double speed = 0.0,
                     const Vec3& gravity = Vec3(0, 0, -kG)) {
  ModelBuilder builder;
  builder.set_gravity(gravity);
  const int joint = builder.add_body(make_slider("lift", Vec3::UnitZ()));
  Drive motor = drive;
  motor.joint = joint;
  builder.add_drive(motor);
  builder.set_start(joint, VecX::Constant(1, start));
  builder.set_start_velocity(joint, VecX::Constant(1, speed));
  return Simulation(builder.build());
}

// ---------------------------------------------------------------- joint limits

TEST(Limits, SliderFallsOnItsStop) {
  ModelBuilder builder;
  BodySpec spec = make_slider("slide", Vec3::UnitZ());
  spec.joint.lower = -0.3;
  spec.joint.upper = 0.5;
  const int joint = builder.add_body(spec);
  Simulation sim(builder.build());
  double lowest = 0.0;
  for (int i = 0; i < 480; ++i) {
    ASSERT_EQ(sim.step().status, Status::kSolved);
    lowest = std::min(lowest, sim.state().q[0]);
  }
  EXPECT_NEAR(lowest, -0.3, tolerance(1e-12)) << "never passed";
  EXPECT_NEAR(sim.state().q[0], -0.3, tolerance(1e-12));
  EXPECT_NEAR(row_impulse(sim.state(), RowRole::kLowerLimit, joint), 2.0 * kG * kDt, tolerance(1e-10));
  EXPECT_EQ(row_impulse(sim.state(), RowRole::kUpperLimit, joint), 0.0);
}

TEST(Limits, ArmStopsAndStaysAtEitherEnd) {
  for (const double speed : {-7.0, 7.0}) {
    Simulation sim(scenes::make_stop_model(speed));
    run(sim, 240);
    EXPECT_NEAR(sim.state().q[0], std::copysign(0.5, speed), tolerance(1e-9));
    EXPECT_NEAR(sim.state().v[0], 0.0, tolerance(1e-9));
  }
}

TEST(Limits, PassedLimitIsLeftSlowly) {
  ModelBuilder builder;
  builder.set_gravity(Vec3::Zero());
  BodySpec spec = make_slider("slide", Vec3::UnitX());
  spec.joint.upper = 0.0;
  const int joint = builder.add_body(spec);
  builder.set_start(joint, VecX::Constant(1, 0.1));
  Simulation sim(builder.build());
  double previous = 0.1;
  for (int i = 0; i < 480; ++i) {
    sim.step();
    EXPECT_GE(sim.state().v[0], -0.5 - 1e-9) << "max_correction";
    EXPECT_LE(sim.state().q[0], previous);
    previous = sim.state().q[0];
  }
  EXPECT_LT(sim.state().q[0], 1e-9);
}

TEST(Limits, PassedLimitIsLeftAgainstGravity) {
  // An arm that hangs 0.26 rad below its range: it is lifted to the limit, energy or not, and stays there.
  for (const double dt : {kDt, 1e-3}) {
    ModelBuilder builder;
    BodySpec spec = make_slider("arm", Vec3::UnitX());
    spec.joint = make_joint(JointKind::kRevolute, Vec3::UnitY());
    spec.joint.lower = 0.26;
    spec.joint.upper = 1.4;
    spec.com = Vec3(0.0, 0.0, -0.2);
    builder.add_body(spec);
    StepOptions options;
    options.dt = dt;
    Simulation sim(builder.build(), options);
    sim.state().q[0] = 0.0;
    for (int i = 0; i < 0.8 / dt; ++i) {
      const StepReport report = sim.step();
      ASSERT_EQ(report.status, Status::kSolved) << i;
      ASSERT_EQ(report.energy_limited, 0) << i;
      ASSERT_LT(std::abs(sim.state().v[0]), 0.1) << i << ": no speed comes of it";
    }
    EXPECT_NEAR(sim.state().q[0], 0.26, 1e-4);
  }
}

TEST(Limits, EqualLimitsHoldTheJoint) {
  ModelBuilder builder;
  BodySpec spec = make_slider("slide", Vec3::UnitZ());
  spec.joint.lower = spec.joint.upper = 0.2;
  builder.add_body(spec);
  Simulation sim(builder.build());
  run(sim, 100);
  EXPECT_NEAR(sim.state().q[0], 0.2, tolerance(1e-10));
}

// ---------------------------------------------------------------- dry friction

TEST(DryFriction, HoldsBelowAndSlidesAbove) {
  for (const double share : {0.5, 0.999, 1.001, 1.5, 4.0}) {
    ModelBuilder builder;
    builder.set_gravity(Vec3(3.0, 0.0, 0.0));
    BodySpec spec = make_slider("slide", Vec3::UnitX());  // pulled by 6 N
    spec.joint.dry_friction = 6.0 / share;
    const int joint = builder.add_body(spec);
    Simulation sim(builder.build());
    run(sim, 240);
    const double a = std::max(0.0, 3.0 - 3.0 / share);
    EXPECT_NEAR(sim.state().v[0], a, tolerance(1e-10)) << share;
    EXPECT_NEAR(sim.state().q[0], a * kDt * kDt * 240.0 * 241.0 / 2.0, tolerance(1e-10)) << share;
    EXPECT_NEAR(row_impulse(sim.state(), RowRole::kDryFriction, joint), -kDt * std::min(6.0, 6.0 / share),
                tolerance(1e-10));
  }
}

TEST(DryFriction, StopsAMovingJointAndKeepsIt) {
  ModelBuilder builder;
  builder.set_gravity(Vec3::Zero());
  BodySpec spec = make_slider("slide", Vec3::UnitX());
  spec.joint.dry_friction = 4.0;  // 2 m/s²
  const int joint = builder.add_body(spec);
  builder.set_start_velocity(joint, VecX::Constant(1, 1.0));
  Simulation sim(builder.build());
  double x = 0.0;
  for (double v = 1.0 - 2.0 * kDt; v > 0.0; v -= 2.0 * kDt) x += kDt * v;
  run(sim, 240);
  EXPECT_NEAR(sim.state().q[0], x, tolerance(1e-10));
  EXPECT_NEAR(sim.state().v[0], 0.0, tolerance(1e-12));
}

TEST(DryFriction, HoldsABallJointInEveryDirection) {
  ModelBuilder builder;
  BodySpec spec = make_arm("bob");
  spec.joint.kind = JointKind::kBall;
  spec.joint.dry_friction = 1.01 * 0.5 * kG;  // the weight's moment is 0.5 m g about y
  builder.add_body(spec);
  Simulation sim(builder.build());
  run(sim, 100);
  EXPECT_NEAR(sim.state().v.norm(), 0.0, tolerance(1e-11));
}

// ---------------------------------------------------------------- springs and dampers

/// x_n of m ẍ = -k x - d ẋ by implicit Euler from (x0, v0): both roots s of m s² + d s + k become 1 / (1 - s dt).
double implicit_oscillator(double m, double k, double d, double x0, double v0, int n) {
  const std::complex<double> root = std::sqrt(std::complex<double>(d * d - 4.0 * m * k));
  const std::complex<double> s1 = (-d + root) / (2.0 * m), s2 = (-d - root) / (2.0 * m);
  const std::complex<double> c1 = (v0 - s2 * x0) / (s1 - s2), c2 = x0 - c1;
  return (c1 * std::pow(1.0 - s1 * kDt, -n) + c2 * std::pow(1.0 - s2 * kDt, -n)).real();
}

TEST(Springs, JointSpringIsImplicitEuler) {
  for (const double damping : {0.0, 0.7, 200.0}) {
    ModelBuilder builder;
    builder.set_gravity(Vec3::Zero());
    BodySpec spec = make_slider("slide", Vec3::UnitX());
    spec.joint.stiffness = 50.0;
    spec.joint.rest = 0.25;
    spec.joint.damping = damping;
    const int joint = builder.add_body(spec);
    builder.set_start(joint, VecX::Constant(1, 0.5));
    builder.set_start_velocity(joint, VecX::Constant(1, -1.0));
    Simulation sim(builder.build());
    for (int n = 1; n <= 720; ++n) {
      run(sim, 1);
      ASSERT_NEAR(sim.state().q[0] - 0.25, implicit_oscillator(2.0, 50.0, damping, 0.25, -1.0, n), tolerance(1e-12))
          << n;
    }
  }
}

TEST(Springs, SpringBetweenPointsIsImplicitEuler) {
  // Two free balls on a line: the distance moves with the reduced mass.
  ModelBuilder builder;
  builder.set_gravity(Vec3::Zero());
  Spring spring;
  spring.name = "spring";
  spring.body_a = builder.add_solid("a", Sphere{0.1}, 2.0, {});
  spring.body_b = builder.add_solid("b", Sphere{0.1}, 6.0, make_translation(0.0, 1.3, 0.0));
  spring.stiffness = 40.0;
  spring.damping = 0.5;
  spring.rest_length = 1.0;
  builder.add_spring(spring);
  Simulation sim(builder.build());
  for (int n = 1; n <= 480; ++n) {
    run(sim, 1);
    const double stretch = (sim.state().q.segment<3>(7) - sim.state().q.segment<3>(0)).norm() - 1.0;
    ASSERT_NEAR(stretch, implicit_oscillator(1.5, 40.0, 0.5, 0.3, 0.0, n), tolerance(1e-8)) << n;
  }
}

TEST(Springs, PeriodConvergesToTheOscillator) {
  // Period of the scheme: 2π dt / arg(1 / (1 - i ω dt)) = 2π dt / atan(ω dt), against the simulation's crossings.
  const double omega = 5.0;
  ModelBuilder builder;
  builder.set_gravity(Vec3::Zero());
  BodySpec spec = make_slider("slide", Vec3::UnitX());
  spec.joint.stiffness = 2.0 * omega * omega;
  builder.add_body(spec);
  builder.set_start(0, VecX::Constant(1, 1.0));
  Simulation sim(builder.build());
  std::vector<double> crossings;
  while (sim.state().time < 6.0) {
    const double before = sim.state().q[0], time = sim.state().time;
    run(sim, 1);
    if (before > 0.0 && sim.state().q[0] <= 0.0) crossings.push_back(time + kDt * before / (before - sim.state().q[0]));
  }
  ASSERT_GE(crossings.size(), 4U);
  const double period = (crossings.back() - crossings.front()) / static_cast<double>(crossings.size() - 1);
  // Linear interpolation of the crossings errs by less than (ω dt)² of a step.
  EXPECT_NEAR(period, 2.0 * std::numbers::pi * kDt / std::atan(omega * kDt),
              tolerance(omega * omega * kDt * kDt * kDt));
  EXPECT_NEAR(period, 2.0 * std::numbers::pi / omega, 2e-4);
}

TEST(Springs, HangingMassSagsByItsWeight) {
  ModelBuilder builder;
  Spring spring;
  spring.name = "spring";
  spring.body_a = builder.add_solid("ball", Sphere{0.1}, 3.0, make_translation(0.0, 0.0, -1.0));
  spring.stiffness = 200.0;
  spring.damping = 40.0;
  spring.rest_length = 0.8;
  builder.add_spring(spring);
  Simulation sim(builder.build());
  run(sim, 2400);
  EXPECT_NEAR(sim.state().q[2], -(0.8 + 3.0 * kG / 200.0), tolerance(1e-9));
}

TEST(Springs, VeryStiffOnesAreStable) {
  ModelBuilder builder;
  Spring spring;
  spring.name = "rod";
  spring.body_a = builder.add_solid("ball", Sphere{0.1}, 0.01, make_translation(0.0, 0.0, -1.0));
  spring.stiffness = 1e9;
  spring.rest_length = 0.9;
  builder.add_spring(spring);
  Simulation sim(builder.build());
  run(sim, 100);
  EXPECT_NEAR(sim.state().q[2], -0.9, tolerance(1e-6));
}

// ---------------------------------------------------------------- closures

TEST(Closures, MimicMovesBothJoints) {
  ModelBuilder builder;
  builder.set_gravity(Vec3::Zero());
  const int a = builder.add_body(make_slider("a", Vec3::UnitX(), 3.0));
  const int b = builder.add_body(make_slider("b", Vec3::UnitZ(), 5.0));
  Closure gear;
  gear.name = "gear";
  gear.kind = ClosureKind::kMimic;
  gear.a = a;
  gear.b = b;
  gear.ratio = -2.0;
  gear.offset = 0.1;
  builder.add_closure(gear);
  builder.set_start(a, VecX::Constant(1, 0.1));
  Drive push;
  push.joint = b;
  push.feedforward = 7.0;
  builder.add_drive(push);
  Simulation sim(builder.build());
  run(sim, 240);
  const double acceleration = 7.0 / (5.0 + 4.0 * 3.0);  // b with a geared to it
  EXPECT_NEAR(sim.state().v[1], acceleration, tolerance(1e-8));
  EXPECT_NEAR(sim.state().q[0], -2.0 * sim.state().q[1] + 0.1, tolerance(1e-9));
  EXPECT_NEAR(row_impulse(sim.state(), RowRole::kClosure, 0), 3.0 * -2.0 * acceleration * kDt, tolerance(1e-8));
}

TEST(Closures, MimicWithinOneTreeAndFromAWrongStart) {
  ModelBuilder builder;
  builder.set_gravity(Vec3::Zero());
  const int a = builder.add_body(make_arm("a"));
  const int b = builder.add_body(make_arm("b", 1.0, a, Vec3(1.0, 0.0, 0.0)));
  Closure gear;
  gear.name = "gear";
  gear.kind = ClosureKind::kMimic;
  gear.a = b;
  gear.b = a;
  gear.ratio = 1.5;
  builder.add_closure(gear);
  builder.set_start(b, VecX::Constant(1, 0.2));  // off by 0.2
  builder.set_start_velocity(a, VecX::Constant(1, 0.3));
  Simulation sim(builder.build());
  run(sim, 480);
  EXPECT_NEAR(sim.state().q[1] - 1.5 * sim.state().q[0], 0.0, tolerance(1e-9));
}

TEST(Closures, WeldHoldsABodyInTheAir) {
  // Closures give way by a millionth of what gravity would move in a step, times the levers of the weld.
  constexpr double kSag = 20.0 * 1e-6 * kG * kDt * kDt;
  ModelBuilder builder;
  const Pose X{exp_so3(Vec3(0.4, -0.3, 0.9)), Vec3(0.5, 0.2, 1.0)};
  Closure weld;
  weld.name = "weld";
  weld.kind = ClosureKind::kWeld;
  weld.a = builder.add_solid("box", Box{Vec3(0.3, 0.2, 0.1)}, 4.0, X);
  // By a corner: force and moment.
  weld.X_a = make_translation(0.3, 0.2, 0.1);
  weld.X_b = X * weld.X_a;
  builder.add_closure(weld);
  Simulation sim(builder.build());
  run(sim, 240);
  EXPECT_NEAR((sim.state().q.head<3>() - X.p).norm(), 0.0, tolerance(kSag));
  EXPECT_NEAR(log_so3(quaternion_to_matrix(sim.state().q.tail<4>()) * X.R.transpose()).norm(), 0.0, tolerance(kSag));
  // λ acts on b - a: the ground pushes the box up by m g dt; its moment about the corner is that of the weight.
  Vec3 force, moment;
  for (int k = 0; k < 3; ++k) {
    force[k] = -row_impulse(sim.state(), RowRole::kClosure, 0, k);
    moment[k] = -row_impulse(sim.state(), RowRole::kClosure, 0, 3 + k);
  }
  const Vec3 weight(0.0, 0.0, -4.0 * kG * kDt), arm = X.p - weld.X_b.p;
  EXPECT_NEAR((force + weight).norm(), 0.0, tolerance(1e-8));
  EXPECT_NEAR((moment + arm.cross(weight)).norm(), 0.0, tolerance(1e-8));
}

TEST(Closures, WeldedBodiesFlyAsOne) {
  ModelBuilder builder;
  builder.set_gravity(Vec3::Zero());
  Closure weld;
  weld.name = "weld";
  weld.kind = ClosureKind::kWeld;
  weld.a = builder.add_solid("a", Box{Vec3(0.2, 0.1, 0.1)}, 1.0, {});
  weld.b = builder.add_solid("b", Box{Vec3(0.1, 0.1, 0.3)}, 2.0, make_translation(0.5, 0.0, 0.0));
  weld.X_a = make_translation(0.5, 0.0, 0.0);
  builder.add_closure(weld);
  builder.exclude(weld.a, weld.b);
  VecX v(6);
  v << 1.0, 0.0, 0.0, 0.0, 0.0, 2.0;
  builder.set_start_velocity(weld.a, v);
  v << 1.0, 1.0, 0.0, 0.0, 0.0, 2.0;  // ω × (0.5, 0, 0)
  builder.set_start_velocity(weld.b, v);
  Simulation sim(builder.build());
  const Momentum before = compute_momentum(sim.model(), sim.kinematics());
  for (int i = 0; i < 480; ++i) {
    run(sim, 1);
    const Kinematics& kin = sim.kinematics();
    ASSERT_LT((kin.X_WB[0] * weld.X_a.p - kin.X_WB[1].p).norm(), tolerance(1e-5)) << i;  // ½ (ω dt)² r = 1.7e-5 r
    ASSERT_LT(log_so3(kin.X_WB[1].R * kin.X_WB[0].R.transpose()).norm(), tolerance(1e-6)) << i;
  }
  const Momentum after = compute_momentum(sim.model(), sim.kinematics());
  EXPECT_NEAR((after.linear - before.linear).norm(), 0.0, tolerance(1e-9));
  EXPECT_NEAR((after.angular - before.angular).norm() / before.angular.norm(), 0.0, tolerance(1e-3));
}

TEST(Closures, ConnectSwingsLikeABallJoint) {
  // A free rod tied to the ground by a point, and the same rod on a ball joint, from the same start.
  const auto difference = [](double dt) {
    StepOptions options;
    options.dt = dt;
    ModelBuilder tied, jointed;
    BodySpec rod = make_arm("rod");
    rod.joint = Joint{};
    Closure pin;
    pin.name = "pin";
    pin.a = tied.add_body(rod);
    tied.add_closure(pin);
    rod.joint.kind = JointKind::kBall;
    jointed.add_body(rod);
    Simulation free(tied.build(), options), ball(jointed.build(), options);
    double opening = 0.0, error = 0.0;
    for (int i = 0; i < static_cast<int>(std::lround(1.0 / dt)); ++i) {
      free.step();
      ball.step();
      opening = std::max(opening, free.kinematics().X_WB[0].p.norm());
      error = std::max(error, (free.kinematics().com[0] - ball.kinematics().com[0]).norm());
    }
    return Vec2(opening, error);
  };
  const Vec2 coarse = difference(kDt), fine = difference(0.5 * kDt);
  // The rod swings at up to 5.4 rad/s: (ω dt)³ r / 6 with r = 0.5 is 1e-6 a step.
  EXPECT_LT(coarse[0], 2e-5);
  EXPECT_LT(coarse[1], 0.05);
  EXPECT_LT(fine[1], 0.65 * coarse[1]) << "both are first order at least";
}

// ---------------------------------------------------------------- drives

TEST(Drives, PositionSagsByItsLoad) {
  for (const double limit : {kInfinity, 1e3}) {
    Drive drive;
    drive.mode = DriveMode::kPosition;
    drive.stiffness = 400.0;
    drive.damping = 60.0;
    drive.target = 0.5;
    drive.effort_limit = limit;
    Simulation sim = make_lift(drive);
    run(sim, 2400);
    EXPECT_NEAR(sim.state().q[0], 0.5 - 2.0 * kG / 400.0, tolerance(1e-10)) << limit;
    drive.feedforward = 2.0 * kG;
    Simulation exact = make_lift(drive);
    run(exact, 2400);
    EXPECT_NEAR(exact.state().q[0], 0.5, tolerance(1e-10)) << limit;
  }
}

TEST(Drives, PositionMovesByImplicitEuler) {
  // With and without an effort limit that is never reached: the same motion by two ways.
  for (const double limit : {kInfinity, 1e6}) {
    Drive drive;
    drive.mode = DriveMode::kPosition;
    drive.stiffness = 300.0;
    drive.damping = 4.0;
    drive.target = 0.2;
    drive.effort_limit = limit;
    Simulation sim = make_lift(drive, 0.5, -1.0, Vec3::Zero());
    for (int n = 1; n <= 240; ++n) {
      run(sim, 1);
      ASSERT_NEAR(sim.state().q[0] - 0.2, implicit_oscillator(2.0, 300.0, 4.0, 0.3, -1.0, n), tolerance(1e-8)) << n;
    }
  }
}

TEST(Drives, EffortLimitSaturatesExactly) {
  for (const DriveMode mode : {DriveMode::kPosition, DriveMode::kVelocity, DriveMode::kImpedance, DriveMode::kTorque}) {
    Drive drive;
    drive.mode = mode;
    drive.stiffness = 1e5;
    drive.damping = 1e4;
    drive.target = 1e3;
    drive.target_velocity = 1e3;
    drive.feedforward = mode == DriveMode::kTorque ? 1e4 : 0.0;
    drive.effort_limit = 30.0;
    Simulation sim = make_lift(drive);
    run(sim, 120);
    // v = (limit - m g) / m t
    EXPECT_NEAR(sim.state().v[0], (30.0 - 2.0 * kG) / 2.0 * 0.5, tolerance(1e-9)) << to_string(mode);
  }
}

TEST(Drives, VelocityLagsByItsLoad) {
  for (const double limit : {kInfinity, 1e3}) {
    Drive drive;
    drive.mode = DriveMode::kVelocity;
    drive.damping = 50.0;
    drive.target_velocity = 0.8;
    drive.stiffness = 1e6;  // of no effect in this mode
    drive.effort_limit = limit;
    Simulation sim = make_lift(drive);
    run(sim, 1);
    // First step: (m + dt d) v = dt (d target - m g).
    EXPECT_NEAR(sim.state().v[0], kDt * (40.0 - 2.0 * kG) / (2.0 + kDt * 50.0), tolerance(1e-10));
    run(sim, 1000);
    EXPECT_NEAR(sim.state().v[0], 0.8 - 2.0 * kG / 50.0, tolerance(1e-9));
  }
}

TEST(Drives, TorqueIsAForce) {
  Drive drive;
  drive.feedforward = 25.0;
  drive.stiffness = drive.damping = 1e3;  // of no effect in this mode
  Simulation sim = make_lift(drive);
  run(sim, 240);
  EXPECT_NEAR(sim.state().v[0], 25.0 / 2.0 - kG, tolerance(1e-11));
}

TEST(Drives, InputsReplaceTheModelsOwn) {
  Drive drive;
  drive.mode = DriveMode::kPosition;
  drive.stiffness = 400.0;
  drive.damping = 60.0;
  Simulation sim = make_lift(drive, 0.0, 0.0, Vec3::Zero());
  sim.inputs().target[0] = -0.3;
  run(sim, 2400);
  EXPECT_NEAR(sim.state().q[0], -0.3, tolerance(1e-10));
}

TEST(Drives, ImpedanceHoldsAgainstGravityWithoutSag) {
  // Three links, soft springs: a position drive would sag by radians.
  for (const double limit : {kInfinity, 1e3}) {
    ModelBuilder builder;
    int parent = kGround;
    const double pose[3] = {-0.4, 0.9, 0.3};
    for (int i = 0; i < 3; ++i) {
      parent = builder.add_body(
          make_arm("link" + std::to_string(i), 2.0, parent, i == 0 ? Vec3(0.0, 0.0, 0.0) : Vec3(1.0, 0.0, 0.0)));
      Drive drive;
      drive.joint = parent;
      drive.mode = DriveMode::kImpedance;
      drive.stiffness = 5.0;
      drive.damping = 2.0;
      drive.target = pose[i];
      drive.effort_limit = limit;
      builder.add_drive(drive);
      builder.set_start(parent, VecX::Constant(1, pose[i]));
    }
    Simulation sim(builder.build());
    run(sim, 480);
    for (int i = 0; i < 3; ++i) EXPECT_NEAR(sim.state().q[i], pose[i], tolerance(1e-9)) << limit;
  }
}

// ---------------------------------------------------------------- drives against a wall

/// A 2 kg box on a slider along x, 10 mm from a wall at x = 0.
struct Wall {
  explicit Wall(const Drive& drive) {
    ModelBuilder builder;
    GeomSpec geom;
    geom.body = builder.add_body(make_slider("ram", Vec3::UnitX()));
    geom.shape = Box{Vec3(0.05, 0.05, 0.05)};
    geom.X_BG = make_translation(-0.05, 0.0, 0.0);
    wall = builder.add_ground(Box{Vec3(0.1, 1.0, 1.0)}, make_translation(0.1, 0.0, 0.0));
    ram = builder.add_geom(geom);
    Drive motor = drive;
    motor.joint = geom.body;
    builder.add_drive(motor);
    builder.set_start(geom.body, VecX::Constant(1, -0.01));
    sim = std::make_unique<Simulation>(builder.build());
  }
  [[nodiscard]] double force() const { return -testing::impulse_on(sim->state(), ram).x() / kDt; }
  std::unique_ptr<Simulation> sim;
  int wall, ram;
};

TEST(Drives, PressAWallByStiffnessTimesError) {
  Drive drive;
  drive.mode = DriveMode::kPosition;
  drive.stiffness = 3000.0;
  drive.damping = 100.0;
  drive.target = 0.04;
  Wall wall(drive);
  run(*wall.sim, 240);
  EXPECT_NEAR(wall.sim->state().q[0], 0.0, tolerance(1e-9));
  EXPECT_NEAR(wall.force(), 3000.0 * 0.04, tolerance(1e-5));
}

TEST(Drives, PressAWallByTheirLimit) {
  for (const double limit : {1.0, 50.0, 119.0}) {
    Drive drive;
    drive.mode = DriveMode::kPosition;
    drive.stiffness = 3000.0;
    drive.damping = 100.0;
    drive.target = 0.04;
    drive.effort_limit = limit;
    Wall wall(drive);
    run(*wall.sim, 480);
    EXPECT_NEAR(wall.sim->state().q[0], 0.0, tolerance(1e-9));
    EXPECT_NEAR(wall.force(), limit, tolerance(1e-6 * limit));
    EXPECT_NEAR(row_impulse(wall.sim->state(), RowRole::kDrive, 0), kDt * limit, tolerance(1e-9));
  }
}

TEST(Drives, VelocityDriveStallsAtDampingTimesSpeed) {
  Drive drive;
  drive.mode = DriveMode::kVelocity;
  drive.damping = 80.0;
  drive.target_velocity = 0.5;
  Wall wall(drive);
  run(*wall.sim, 240);
  EXPECT_NEAR(wall.force(), 40.0, tolerance(1e-5));
}

// ---------------------------------------------------------------- loops

/// Three bars in a triangle, closed by a point, hung on `base` or in the air; the plane is turned at random, so that
/// no row of the closure is free of the others.
Model make_truss(bool hangs, std::uint64_t seed) {
  scenes::Random random(seed);
  ModelBuilder builder;
  if (!hangs) builder.set_gravity(Vec3::Zero());
  const Mat3 R = random.rotation();
  const auto bar = [&](const std::string& name, int parent, JointKind kind, const Pose& X) {
    BodySpec spec;
    spec.name = name;
    spec.parent = parent;
    spec.joint = make_joint(kind, Vec3::UnitY(), X);
    spec.mass = 1.0;
    spec.com = Vec3(0.25, 0.0, 0.0);
    spec.inertia = Vec3(1e-3, 0.02, 0.02).asDiagonal();
    return builder.add_body(spec);
  };
  const int first = bar("first", kGround, hangs ? JointKind::kRevolute : JointKind::kFree, {R, Vec3::Zero()});
  const int second = bar("second", first, JointKind::kRevolute, make_translation(0.5, 0.0, 0.0));
  const int third = bar("third", second, JointKind::kRevolute, make_translation(0.5, 0.0, 0.0));
  const double turn = 2.0 * 3.14159265358979323846 / 3.0;
  builder.set_start(second, VecX::Constant(1, turn));
  builder.set_start(third, VecX::Constant(1, turn));
  if (!hangs) {
    VecX v = VecX::Zero(6);
    v.tail<3>() = random.normal3();
    v.head<3>() = v.tail<3>().cross(R * Vec3(0.25, 0.0, 0.0));
    builder.set_start_velocity(first, v);
  }
  Closure tip;
  tip.name = "tip";
  tip.a = first;
  tip.b = third;
  tip.X_b.p = Vec3(0.5, 0.0, 0.0);
  builder.add_closure(tip);
  return builder.build();
}

TEST(Loops, RigidTrussOnAMovingBaseIsOneBody) {
  // Three rows, of which two are independent: the triangle must fly like the one rigid body it is.
  for (int seed = 0; seed < 5; ++seed) {
    Simulation sim(make_truss(false, seed));
    const double energy = sim.energy().kinetic;
    for (int i = 0; i < 480; ++i) {
      ASSERT_EQ(sim.step().status, Status::kSolved) << seed << " " << i;
      ASSERT_NEAR(sim.energy().kinetic / energy, 1.0, tolerance(1e-3)) << seed << " " << i;
    }
    const Kinematics& kin = sim.kinematics();
    EXPECT_NEAR((kin.X_WB[2] * Vec3(0.5, 0.0, 0.0) - kin.X_WB[0].p).norm(), 0.0, tolerance(1e-5)) << seed;
  }
}

TEST(Loops, TrussSwingsLikeAPendulumInEverySolver) {
  for (const SolverKind kind :
       {SolverKind::kAuto, SolverKind::kCanal, SolverKind::kSubAdmm, SolverKind::kSpn, SolverKind::kPgs}) {
    StepOptions options;
    options.solver.solver = kind;
    Simulation sim(make_truss(true, 3), options);
    const double start = sim.energy().total();
    double most = 0.0;
    for (int i = 0; i < 480; ++i) {
      sim.step();
      most = std::max(most, sim.energy().total() - start);
    }
    EXPECT_LT(most, 0.02 * 3.0 * kG) << to_string(kind);  // of 3 kg that swing by about a metre
  }
}

TEST(Loops, TwoPointsMakeAHinge) {
  // Two free boxes tied by two points: six rows, five independent.
  ModelBuilder builder;
  builder.set_gravity(Vec3::Zero());
  const int a = builder.add_solid("a", Box{Vec3(0.1, 0.1, 0.1)}, 1.0, {});
  const int b = builder.add_solid("b", Box{Vec3(0.1, 0.1, 0.1)}, 1.0, make_translation(0.0, 0.0, 0.25));
  for (const int side : {-1, 1}) {
    Closure point;
    point.name = "point" + std::to_string(side);
    point.a = a;
    point.b = b;
    point.X_a.p = Vec3(0.1 * side, 0.0, 0.125);
    point.X_b.p = Vec3(0.1 * side, 0.0, -0.125);
    builder.add_closure(point);
  }
  VecX v(6);
  v << 0.0, 0.0, 0.0, 1.0, 2.0, 3.0;
  builder.set_start_velocity(a, v);
  v.head<3>() = Vec3(1.0, 2.0, 3.0).cross(Vec3(0.0, 0.0, 0.25));
  builder.set_start_velocity(b, v);
  Simulation sim(builder.build());
  const double energy = sim.energy().kinetic;
  for (int i = 0; i < 1200; ++i) ASSERT_EQ(sim.step().status, Status::kSolved) << i;
  EXPECT_NEAR(sim.energy().kinetic / energy, 1.0, tolerance(1e-2));
}

TEST(Loops, RingInFreeFallIsSolvedAtOnce) {
  // Nothing but rounding is left to solve.
  ModelBuilder builder;
  constexpr int kCount = 8;
  for (int i = 0; i < kCount; ++i) {
    const double angle = 2.0 * 3.14159265358979323846 * i / kCount;
    builder.add_solid("link" + std::to_string(i), Sphere{0.05}, 1.0,
                      make_rotation(Vec3::UnitZ(), angle, Vec3(std::cos(angle), std::sin(angle), 0.0)));
  }
  const Vec3 half(0.0, std::tan(3.14159265358979323846 / kCount), 0.0);
  for (int i = 0; i < kCount; ++i) {
    Closure tie;
    tie.name = "tie" + std::to_string(i);
    tie.a = i;
    tie.b = (i + 1) % kCount;
    tie.X_a.p = half;
    tie.X_b.p = -half;
    builder.add_closure(tie);
  }
  Simulation sim(builder.build());
  for (int i = 0; i < 120; ++i) {
    const StepReport report = sim.step();
    ASSERT_EQ(report.status, Status::kSolved) << i;
    ASSERT_LT(report.iterations, 50) << i;
  }
}

TEST(Loops, WorkspaceOfAnotherModelIsLaidOutAnew) {
  // Two models with as many dofs, one after the other in the same workspace.
  StepWorkspace workspace;
  const StepOptions options;
  for (const bool arm : {false, true, false}) {
    ModelBuilder builder;
    if (arm) {
      for (int i = 0; i < 6; ++i)
        builder.add_body(
            testing::make_arm("arm" + std::to_string(i), 1.0, i - 1, i > 0 ? Vec3(1.0, 0.0, 0.0) : Vec3::Zero()));
    } else {
      builder.add_solid("box", Box{Vec3(0.1, 0.1, 0.1)}, 1.0, {});
    }
    const Model model = builder.build();
    State used = make_state(model), fresh = used;
    StepWorkspace other;
    for (int i = 0; i < 5; ++i) {
      EXPECT_EQ(step(model, options, make_inputs(model), workspace, used).status, Status::kSolved);
      step(model, options, make_inputs(model), other, fresh);
    }
    EXPECT_TRUE(serialize(used) == serialize(fresh)) << arm;
  }
}

// ---------------------------------------------------------------- tendons

/// Two sliders side by side, 2 kg and 3 kg, without gravity, and a tendon x = 2 q0 - q1 over them; `one_tree` hangs the
/// second on a rail that is the first's brother in one tree.
struct TendonWorld {
  ModelBuilder builder;
  int a, b;
  Tendon tendon;
  explicit TendonWorld(bool one_tree) {
    builder.set_gravity(Vec3::Zero());
    int parent = kGround;
    if (one_tree) parent = builder.add_body(testing::make_slider("rail", Vec3::UnitZ(), 1e6));
    a = builder.add_body(testing::make_slider("a", Vec3::UnitX(), 2.0, parent));
    b = builder.add_body(testing::make_slider("b", Vec3::UnitX(), 3.0, parent));
    tendon.name = "tendon";
    tendon.terms = {{a, 2.0}, {b, -1.0}};
  }
  /// 1 / (coefficients M⁻¹ coefficients): the mass that a force along x feels.
  static constexpr double kMass = 1.0 / (4.0 / 2.0 + 1.0 / 3.0);
};

class Tendons : public ::testing::TestWithParam<bool> {};

TEST_P(Tendons, SpringIsImplicitEuler) {
  TendonWorld world(GetParam());
  world.tendon.stiffness = 50.0;
  world.tendon.damping = 0.7;
  world.tendon.rest_lower = world.tendon.rest_upper = 0.3;
  world.builder.add_tendon(world.tendon);
  world.builder.set_start(world.a, VecX::Constant(1, 0.4));
  Simulation sim(world.builder.build());
  double x = 0.8, v = 0.0;
  const int first = sim.model().joints[world.a].q_begin, second = sim.model().joints[world.b].q_begin;
  for (int i = 0; i < 200; ++i) {
    sim.step();
    v = (TendonWorld::kMass * v - kDt * 50.0 * (x - 0.3)) / (TendonWorld::kMass + kDt * 0.7 + kDt * kDt * 50.0);
    x += kDt * v;
    ASSERT_NEAR(2.0 * sim.state().q[first] - sim.state().q[second], x, tolerance(1e-8)) << i;
  }
}

TEST_P(Tendons, SlackSpringDoesNothing) {
  TendonWorld world(GetParam());
  world.tendon.stiffness = 50.0;
  world.tendon.rest_lower = -1.0;
  world.tendon.rest_upper = 1.0;
  world.builder.add_tendon(world.tendon);
  world.builder.set_start_velocity(world.b, VecX::Constant(1, 0.5));
  Simulation sim(world.builder.build());
  for (int i = 0; i < 240; ++i) sim.step();
  EXPECT_NEAR(sim.state().v[sim.model().joints[world.b].v_begin], 0.5, tolerance(1e-12));
}

TEST_P(Tendons, LimitStopsTheCombinationOnly) {
  // x runs into its limit at 2 m/s: an inelastic hit along x, momentum across it stays.
  TendonWorld world(GetParam());
  world.tendon.upper = 0.5;
  world.builder.add_tendon(world.tendon);
  world.builder.set_start_velocity(world.a, VecX::Constant(1, 1.0));
  Simulation sim(world.builder.build());
  for (int i = 0; i < 240; ++i) sim.step();
  const int first = sim.model().joints[world.a].q_begin, second = sim.model().joints[world.b].q_begin;
  EXPECT_NEAR(2.0 * sim.state().q[first] - sim.state().q[second], 0.5, tolerance(1e-8));
  const double impulse = -2.0 * TendonWorld::kMass;
  EXPECT_NEAR(sim.state().v[sim.model().joints[world.a].v_begin], 1.0 + 2.0 / 2.0 * impulse, tolerance(1e-7));
  EXPECT_NEAR(sim.state().v[sim.model().joints[world.b].v_begin], -1.0 / 3.0 * impulse, tolerance(1e-7));
}

TEST_P(Tendons, FrictionStopsIt) {
  TendonWorld world(GetParam());
  world.tendon.dry_friction = 1.5;
  world.builder.add_tendon(world.tendon);
  world.builder.set_start_velocity(world.a, VecX::Constant(1, 1.0));
  Simulation sim(world.builder.build());
  const int first = sim.model().joints[world.a].q_begin, second = sim.model().joints[world.b].q_begin;
  for (int i = 0; i < 480; ++i) sim.step();
  // x' = 2 m/s is braked by 1.5 N on kMass: v²/2a less half a step's travel, as Euler's scheme does.
  const double a = 1.5 / TendonWorld::kMass, way = 2.0 * 2.0 / (2.0 * a);
  EXPECT_NEAR(2.0 * sim.state().q[first] - sim.state().q[second], way - 0.5 * 2.0 * kDt, tolerance(1e-4));
}

TEST_P(Tendons, DrivesPullAllJoints) {
  for (const double limit : {kInfinity, 0.5}) {
    TendonWorld world(GetParam());
    const int tendon = world.builder.add_tendon(world.tendon);
    Drive drive;
    drive.tendon = tendon;
    drive.mode = DriveMode::kPosition;
    drive.stiffness = 40.0;
    drive.damping = 8.0;
    drive.target = 1.0;
    drive.effort_limit = limit;
    world.builder.add_drive(drive);
    Simulation sim(world.builder.build());
    double x = 0.0, v = 0.0;
    const int first = sim.model().joints[world.a].q_begin, second = sim.model().joints[world.b].q_begin;
    for (int i = 0; i < 240; ++i) {
      sim.step();
      const double free =
          (TendonWorld::kMass * v + kDt * 40.0 * (1.0 - x)) / (TendonWorld::kMass + kDt * 8.0 + kDt * kDt * 40.0);
      v = std::clamp(free, v - kDt * limit / TendonWorld::kMass, v + kDt * limit / TendonWorld::kMass);
      x += kDt * v;
      ASSERT_NEAR(2.0 * sim.state().q[first] - sim.state().q[second], x, tolerance(1e-7)) << i << " " << limit;
    }
  }
}

TEST_P(Tendons, TorqueDriveIsAForce) {
  TendonWorld world(GetParam());
  const int tendon = world.builder.add_tendon(world.tendon);
  Drive drive;
  drive.tendon = tendon;
  drive.feedforward = 3.0;
  world.builder.add_drive(drive);
  Simulation sim(world.builder.build());
  for (int i = 0; i < 240; ++i) sim.step();
  EXPECT_NEAR(sim.state().v[sim.model().joints[world.a].v_begin], 3.0 * 2.0 / 2.0, tolerance(1e-10));
  EXPECT_NEAR(sim.state().v[sim.model().joints[world.b].v_begin], -3.0 / 3.0, tolerance(1e-10));
}

TEST_P(Tendons, ClosureTiesTwo) {
  TendonWorld world(GetParam());
  const int one = world.builder.add_tendon(world.tendon);
  Tendon other;
  other.name = "other";
  other.terms = {{world.b, 1.0}};
  const int two = world.builder.add_tendon(other);
  Closure tie;
  tie.name = "tie";
  tie.kind = ClosureKind::kTendon;
  tie.a = one;
  tie.b = two;
  tie.ratio = 3.0;  // 2 q0 - q1 = 3 q1: q0 = 2 q1
  world.builder.add_closure(tie);
  world.builder.set_start_velocity(world.a, VecX::Constant(1, 1.0));
  Simulation sim(world.builder.build());
  for (int i = 0; i < 240; ++i) sim.step();
  const int first = sim.model().joints[world.a].q_begin, second = sim.model().joints[world.b].q_begin;
  EXPECT_NEAR(sim.state().q[first], 2.0 * sim.state().q[second], tolerance(1e-9));
  // The common motion has the mass 2·2² + 3 for q1, and the momentum 2·1·2 along it.
  EXPECT_NEAR(sim.state().v[sim.model().joints[world.b].v_begin], 4.0 / 11.0, tolerance(1e-9));
}

INSTANTIATE_TEST_SUITE_P(Trees, Tendons, ::testing::Bool());

}  // namespace
}  // namespace almond
