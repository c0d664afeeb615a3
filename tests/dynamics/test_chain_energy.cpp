// Proves that hanging and whirling chains gain no energy: for 2 to 50 links, on the ground and free, on hinges and
// balls, at any step. Between two impulses of gravity the scheme keeps T + V + t g·p, t from the middle between them:
// at the end of a step of θ that is E + (1/2 - θ) dt g·p.

#include <gtest/gtest.h>

#include <cmath>

#include "almond/dynamics/forces.hpp"
#include "almond/model/builder.hpp"
#include "almond/sim/step.hpp"
#include "common/helpers.hpp"
#include "scenes/random.hpp"

namespace almond {
namespace {

using testing::tolerance;

struct Chain {
  int links;
  JointKind root, joint;
  double speed = 0.0;  // of the joints at the start [rad/s]
};

/// 1 m, 1 kg, stretched out along x.
Model make_chain(const Chain& chain) {
  ModelBuilder builder;
  scenes::Random random(7);
  const double length = 1.0 / chain.links, mass = 1.0 / chain.links;
  for (int i = 0; i < chain.links; ++i) {
    BodySpec link;
    link.name = "link" + std::to_string(i);
    link.parent = i - 1;
    const JointKind kind = i == 0 ? chain.root : chain.joint;
    link.joint = make_joint(kind, Vec3::UnitY());
    if (i > 0) link.joint.X_PJ.p = Vec3(length, 0.0, 0.0);
    link.com = Vec3(0.5 * length, 0.0, 0.0);
    link.mass = mass;
    link.inertia = mass * length * length * Vec3(0.005, 0.0858, 0.0858).asDiagonal();
    builder.add_body(link);
    VecX v(num_velocities(kind));
    for (double& x : v) x = chain.speed * random.normal();
    builder.set_start_velocity(i, v);
  }
  return builder.build();
}

StepOptions make_options(double dt, double theta) {
  StepOptions options;
  options.dt = dt;
  options.theta = theta;
  return options;
}

double kept_energy(Simulation& sim) {
  const double t = (0.5 - sim.options().theta) * sim.options().dt;
  const Vec3 momentum = compute_momentum(sim.model(), sim.kinematics()).linear;
  return sim.energy().total() + t * sim.model().gravity.dot(momentum);
}

TEST(ChainEnergy, NeverGrows) {
  for (const JointKind root : {JointKind::kContinuous, JointKind::kBall, JointKind::kFree}) {
    for (const int links : {2, 5, 10, 20, 50}) {
      for (const double rate : {1000.0, 240.0, 60.0}) {
        for (const double theta : {0.0, 0.5}) {
          for (const double speed : {0.0, 5.0}) {
            const JointKind joint = root == JointKind::kBall ? root : JointKind::kContinuous;
            Simulation sim(make_chain({links, root, joint, speed}), make_options(1.0 / rate, theta));
            const double start = kept_energy(sim), fall = 9.81 * 0.5;
            for (int i = 0; i < 400; ++i) {
              const StepReport report = sim.step();
              ASSERT_EQ(report.status, Status::kSolved);
              // Rounding: velocities of 50 joints in series cancel by a factor of thousands.
              ASSERT_LE(kept_energy(sim), start + 1e-7 * (std::abs(start) + fall))
                  << links << " links on " << to_string(root) << ", " << rate << " Hz, theta " << theta << ", speed "
                  << speed << ", step " << i << ": " << kept_energy(sim) - start;
            }
          }
        }
      }
    }
  }
}

TEST(ChainEnergy, IsKeptWhereTheStepIsSmallEnough) {
  // Neither lost, over 10 s, and nothing is said.
  Simulation sim(make_chain({5, JointKind::kContinuous, JointKind::kContinuous}), make_options(1e-3, 0.0));
  const double start = kept_energy(sim);
  for (int i = 0; i < 10000; ++i) {
    ASSERT_EQ(sim.step().energy_limited, 0) << i;
    ASSERT_NEAR(kept_energy(sim), start, 1e-9 * 9.81) << i;
  }
}

TEST(ChainEnergy, CoarseStepsSaySoAndNameOneThatDoes) {
  const Model model = make_chain({10, JointKind::kContinuous, JointKind::kContinuous});
  Simulation coarse(model, make_options(1.0 / 60.0, 0.0));
  int limited = 0;
  double dt = kInfinity;
  for (int i = 0; i < 300; ++i) {
    const StepReport report = coarse.step();
    limited += report.energy_limited;
    EXPECT_EQ(report.energy_limited > 0, report.energy_dt > 0.0);
    if (report.energy_limited > 0) dt = std::min(dt, report.energy_dt);
  }
  EXPECT_GT(limited, 0);
  ASSERT_LT(dt, 1.0 / 60.0);
  Simulation fine(model, make_options(dt, 0.0));
  int still = 0;
  const int steps = static_cast<int>(5.0 / dt);
  for (int i = 0; i < steps; ++i) still += fine.step().energy_limited;
  EXPECT_LE(still, steps / 100) << dt;
}

TEST(ChainEnergy, FreeChainFallsLikeAStone) {
  // Its centre on the discrete parabola, its spin kept, however it whirls.
  Simulation sim(make_chain({8, JointKind::kFree, JointKind::kBall, 6.0}), make_options(1.0 / 240.0, 0.0));
  const auto centre = [&] {
    Vec3 sum = Vec3::Zero();
    for (int b = 0; b < 8; ++b) sum += sim.model().bodies[b].mass * sim.kinematics().com[b];
    return sum;  // of 1 kg
  };
  const auto spin = [&] {
    const Momentum momentum = compute_momentum(sim.model(), sim.kinematics());
    return Vec3(momentum.angular - centre().cross(momentum.linear));
  };
  const Vec3 x = centre(), u = compute_momentum(sim.model(), sim.kinematics()).linear, L = spin();
  const double dt = sim.options().dt;
  for (int i = 1; i <= 480; ++i) {
    sim.step();
    const Vec3 fallen(0.0, 0.0, -0.5 * 9.81 * dt * dt * i * (i + 1.0));
    ASSERT_LE((centre() - x - i * dt * u - fallen).norm(), tolerance(1e-11)) << i;
    ASSERT_LE((spin() - L).norm(), tolerance(1e-11)) << i;
  }
}

}  // namespace
}  // namespace almond
