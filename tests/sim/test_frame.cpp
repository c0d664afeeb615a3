// What is recorded of a step, against closed forms: a falling ball is where semi-implicit Euler puts it, a block that
// is pulled on the ground carries its weight and μ times that in friction, and the shares of the residual make up the
// certificate's.

#include <gtest/gtest.h>

#include "almond/sim/frame.hpp"
#include "sim/sim_fixture.hpp"

namespace almond {
namespace {

TEST(Frames, AFallingBallIsWhereTheStepsPutIt) {
  constexpr double kHeight = 10.0, kGravity = 9.81;
  constexpr int kSteps = 12;
  ModelBuilder builder;
  builder.set_gravity(Vec3(0.0, 0.0, -kGravity));
  builder.add_ground(Plane{});
  builder.add_solid("ball", Sphere{0.1}, 1.0, make_translation(0.0, 0.0, kHeight));
  Simulation sim(builder.build());
  const double dt = sim.options().dt;
  const auto height_after = [&](int n) { return kHeight - kGravity * dt * dt * n * (n + 1) / 2.0; };
  for (int i = 0; i < kSteps; ++i) sim.step();
  Frame now, before;
  before.contacts.resize(3);  // of an earlier use
  now.contacts.resize(3);
  record_state(sim, now);
  record_step(sim, before);
  EXPECT_EQ(now.step, kSteps);
  EXPECT_EQ(before.step, kSteps - 1);
  EXPECT_NEAR(now.time, kSteps * dt, 1e-14);
  EXPECT_NEAR(before.time, (kSteps - 1) * dt, 1e-14);
  EXPECT_NEAR(now.bodies.at(0).p.z(), height_after(kSteps), 1e-13);
  EXPECT_NEAR(before.bodies.at(0).p.z(), height_after(kSteps - 1), 1e-13);
  EXPECT_TRUE(now.contacts.empty());
  EXPECT_TRUE(before.contacts.empty());
}

TEST(Frames, ForcesOfABlockThatIsPulled) {
  constexpr double kMass = 2.0, kGravity = 9.81, kMu = 0.4, kPull = 20.0;
  Material material;
  material.mu = kMu;
  ModelBuilder builder;
  builder.set_gravity(Vec3(0.0, 0.0, -kGravity));
  const int ground = builder.add_ground(Plane{}, {}, material);
  const int block =
      builder.add_solid("block", Box{{0.2, 0.2, 0.05}}, kMass, make_translation(0.0, 0.0, 0.05), material);
  Simulation sim(builder.build());
  sim.inputs().wrenches.resize(1);
  sim.inputs().wrenches[0].force = Vec3(kPull, 0.0, 0.0);
  for (int i = 0; i < 40; ++i) ASSERT_EQ(sim.step().status, Status::kSolved);
  Frame frame;
  record_step(sim, frame);
  ASSERT_FALSE(frame.contacts.empty());
  Vec3 force = Vec3::Zero();
  double residual = 0.0;
  for (const FrameContact& contact : frame.contacts) {
    EXPECT_EQ(std::min(contact.geom_a, contact.geom_b), ground);
    const double sign = sim.model().geoms[contact.geom_b].body == block ? 1.0 : -1.0;
    force += sign * contact.force;
    residual += contact.residual * contact.residual;
    EXPECT_NEAR((sign * contact.n - Vec3::UnitZ()).norm(), 0.0, 1e-12);
    EXPECT_NEAR(contact.p.z(), 0.0, 1e-6);
    EXPECT_EQ(contact.mu, kMu);
    EXPECT_TRUE(contact.mode == ContactMode::kSlip || contact.force.norm() < 1e-3);
  }
  // A step is solved to 1e-9 N s or so, over dt of 1/240 s.
  EXPECT_NEAR((force - kMass * kGravity * Vec3(-kMu, 0.0, 1.0)).norm(), 0.0, 1e-5);
  EXPECT_NEAR(std::sqrt(residual), sim.last().solution.certificate.residual, 1e-12);
}

}  // namespace
}  // namespace almond
