// Drives whose effort has a lower and an upper end of its own: saturated at either one exactly, and elsewhere the same
// motion as without limits. A mass of 2 kg on a vertical rail, in closed form.

#include <gtest/gtest.h>

#include "almond/model/builder.hpp"
#include "common/helpers.hpp"
#include "sim/sim_fixture.hpp"

namespace almond {
namespace {

using testing::tolerance;

constexpr double kDt = 1.0 / 240.0, kG = 9.81, kMass = 2.0;

Simulation make_lift(Drive drive, bool on_tendon) {
  ModelBuilder builder("lift");
  builder.set_gravity(Vec3(0.0, 0.0, -kG));
  BodySpec spec;
  spec.name = "lift";
  spec.mass = kMass;
  spec.inertia = Mat3::Identity();
  spec.joint = make_joint(JointKind::kPrismatic, Vec3::UnitZ(), {}, "rail");
  const int body = builder.add_body(spec);
  if (on_tendon) {
    Tendon tendon;
    tendon.name = "rope";
    tendon.terms = {{body, 1.0}};
    drive.tendon = builder.add_tendon(tendon);
  } else {
    drive.joint = body;
  }
  builder.add_drive(drive);
  StepOptions options;
  options.dt = kDt;
  return Simulation(builder.build(), options);
}

Drive make_drive(DriveMode mode, double sign) {
  Drive drive;
  drive.mode = mode;
  drive.stiffness = 1e5;
  drive.damping = 1e4;
  drive.target = drive.target_velocity = sign * 1e3;
  drive.feedforward = mode == DriveMode::kTorque ? sign * 1e4 : 0.0;
  return drive;
}

TEST(EffortRange, SaturatesAtEitherEnd) {
  for (const bool tendon : {false, true})
    for (const DriveMode mode : {DriveMode::kTorque, DriveMode::kPosition, DriveMode::kVelocity, DriveMode::kImpedance})
      for (const auto& [lower, upper] : {std::pair(0.0, 30.0), std::pair(-5.0, 40.0), std::pair(25.0, 26.0)})
        for (const double sign : {-1.0, 1.0}) {
          if (tendon && mode == DriveMode::kImpedance) continue;
          Drive drive = make_drive(mode, sign);
          drive.effort_limit = 0.5 * (upper - lower);
          drive.effort_middle = 0.5 * (upper + lower);
          Simulation sim = make_lift(drive, tendon);
          for (int n = 0; n < 120; ++n) sim.step();
          const double effort = sign < 0.0 ? lower : upper;
          EXPECT_NEAR(sim.state().v[0], (effort / kMass - kG) * 0.5, tolerance(1e-9))
              << to_string(mode) << " " << lower << " " << upper << " " << sign << " " << tendon;
        }
}

TEST(EffortRange, HasNoEffectWithin) {
  // A servo that carries the weight needs 0 to 30 N on its way: the same motion as without limits.
  Drive drive;
  drive.mode = DriveMode::kPosition;
  drive.stiffness = 100.0;
  drive.damping = 40.0;
  drive.target = 0.25;
  Drive limited = drive;
  limited.effort_limit = limited.effort_middle = 15.0;
  for (const bool tendon : {false, true}) {
    Simulation sim = make_lift(limited, tendon);
    Simulation reference = make_lift(drive, false);
    for (int n = 0; n < 2400; ++n) {
      sim.step();
      reference.step();
      ASSERT_NEAR(sim.state().q[0], reference.state().q[0], tolerance(1e-8)) << n;
    }
    EXPECT_NEAR(sim.state().q[0], 0.25 - kMass * kG / 100.0, 1e-6);
  }
}

TEST(EffortRange, IsCheckedByTheBuilder) {
  Drive drive;
  drive.effort_middle = 1.0;
  EXPECT_THROW(make_lift(drive, false), Error);
  drive.effort_limit = 2.0;
  EXPECT_NO_THROW(make_lift(drive, false));
  drive.effort_middle = kNaN;
  EXPECT_THROW(make_lift(drive, false), Error);
}

}  // namespace
}  // namespace almond
