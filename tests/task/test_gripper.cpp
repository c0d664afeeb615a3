// Fingers: the width they are told, the force they are told, and the speed that follows from it.

#include <gtest/gtest.h>

#include "almond/task/gripper.hpp"
#include "tests/sim/sim_fixture.hpp"

namespace almond {
namespace {

constexpr double kStiffness = 2e3, kDamping = 50.0, kPad = 0.01, kHalf = 0.02;  // of the pads, of the cube [m]

/// Two pads on sliders along ±y, 0.1 m apart at the start, weightless; `cube`: one between them.
Simulation make_hand(bool cube, Gripper& gripper) {
  ModelBuilder builder("hand");
  builder.set_gravity(Vec3::Zero());
  for (const double side : {1.0, -1.0}) {
    BodySpec spec = testing::make_slider(side > 0.0 ? "left" : "right", side * Vec3::UnitY(), 0.2);
    GeomSpec geom;
    geom.body = builder.add_body(spec);
    geom.shape = Box{Vec3::Constant(kPad)};
    geom.X_BG = make_translation(0.0, side * kPad, 0.0);  // its face is at the joint's position
    builder.add_geom(geom);
    Drive drive;
    drive.joint = geom.body;
    drive.mode = DriveMode::kPosition;
    drive.stiffness = kStiffness;
    drive.damping = kDamping;
    drive.effort_limit = 100.0;
    drive.target = 0.05;
    builder.set_start(geom.body, VecX::Constant(1, 0.05));
    gripper.fingers.push_back({builder.add_drive(drive), 0.0, -1.0});
  }
  if (cube) builder.add_solid("cube", Box{Vec3::Constant(kHalf)}, 0.3, Pose{});
  return Simulation(builder.build());
}

TEST(Gripper, OpensToAWidth) {
  Gripper gripper;
  Simulation sim = make_hand(false, gripper);
  EXPECT_NEAR(width_of(sim.model(), sim.state().q, gripper), 0.1, 1e-15);
  open_to(gripper, 0.03, sim.inputs());
  for (int i = 0; i < 480; ++i) sim.step();
  EXPECT_NEAR(width_of(sim.model(), sim.state().q, gripper), 0.03, 1e-9);
}

TEST(Gripper, ClosesAtForceOverDamping) {
  Gripper gripper;
  Simulation sim = make_hand(false, gripper);
  for (int i = 0; i < 24; ++i) {
    close_with(sim.model(), sim.state(), gripper, 2.0, sim.inputs());
    sim.step();
  }
  // The stiffness acts on what is moved within a step: it adds dt k to the damping.
  EXPECT_NEAR(sim.state().v[0], -2.0 / (kDamping + sim.options().dt * kStiffness), 1e-6);
}

TEST(Gripper, PressesWithTheForceItIsTold) {
  Gripper gripper;
  Simulation sim = make_hand(true, gripper);
  for (const double force : {5.0, 20.0, 1.0}) {
    for (int i = 0; i < 480; ++i) {
      close_with(sim.model(), sim.state(), gripper, force, sim.inputs());
      sim.step();
    }
    EXPECT_NEAR(width_of(sim.model(), sim.state().q, gripper), 2.0 * kHalf, 1e-7);
    for (const int geom : {0, 1})
      EXPECT_NEAR(testing::impulse_on(sim.state(), geom).norm() / sim.options().dt, force, 1e-6) << force;
  }
}

}  // namespace
}  // namespace almond
