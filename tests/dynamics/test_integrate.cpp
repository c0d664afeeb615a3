// Proves the move on the manifold and the θ-scheme against closed forms, and what a step keeps against conservation of
// momentum.

#include <gtest/gtest.h>

#include <cmath>

#include "almond/dynamics/forces.hpp"
#include "almond/dynamics/integrate.hpp"
#include "almond/sim/step.hpp"
#include "common/helpers.hpp"
#include "common/random_tree.hpp"

namespace almond {
namespace {

using testing::tolerance;

double worst_norm(const Model& model, const VecX& q) {
  double worst = 0.0;
  for (const Joint& joint : model.joints) {
    if (joint.kind == JointKind::kBall) worst = std::max(worst, std::abs(q.segment<4>(joint.q_begin).norm() - 1.0));
    if (joint.kind == JointKind::kFree) worst = std::max(worst, std::abs(q.segment<4>(joint.q_begin + 3).norm() - 1.0));
  }
  return worst;
}

/// One free body with its centre off the origin.
Model make_body(const Vec3& moments) {
  ModelBuilder builder;
  builder.set_gravity(Vec3::Zero());
  BodySpec spec;
  spec.name = "body";
  spec.mass = 2.0;
  spec.com = Vec3(0.3, -0.1, 0.2);
  spec.inertia = moments.asDiagonal();
  builder.add_body(spec);
  return builder.build();
}

/// Free root, hinges, a slider and a ball: nothing holds it.
Model make_floating_tree() {
  ModelBuilder builder;
  builder.set_gravity(Vec3::Zero());
  scenes::Random random(5);
  const JointKind kinds[5] = {JointKind::kFree, JointKind::kRevolute, JointKind::kBall, JointKind::kPrismatic,
                              JointKind::kRevolute};
  const int parents[5] = {kGround, 0, 0, 1, 2};
  for (int b = 0; b < 5; ++b) {
    BodySpec spec;
    spec.name = "b" + std::to_string(b);
    spec.parent = parents[b];
    spec.joint = make_joint(kinds[b], random.direction(), Pose{random.rotation(), 0.3 * random.normal3()});
    spec.mass = 1.0 + 0.5 * b;
    spec.com = 0.1 * random.normal3();
    spec.inertia = testing::random_inertia(random, 0.05);
    builder.add_body(spec);
    VecX v(num_velocities(kinds[b]));
    for (double& x : v) x = 0.5 * random.normal();
    builder.set_start_velocity(b, v);
  }
  return builder.build();
}

TEST(Integrate, ConstantSpinIsExactInOneStep) {
  // A turn by 2.5 rad about a fixed axis in one step, about the centre of mass.
  const Model model = make_body(Vec3(0.1, 0.1, 0.1));
  const Vec3 w(1.2, -0.7, 0.4), u(3.0, 1.0, -2.0);
  const double dt = 2.5 / w.norm();
  VecX q = model.q0, v(6);
  v << u, w;
  const VecX v_hat = v;
  integrate(model, v_hat, VecX::Zero(6), 0.0, dt, q, v);
  const Mat3 R = exp_so3(dt * w);
  EXPECT_NEAR((quaternion_to_matrix(q.tail<4>()) - R).norm(), 0.0, tolerance(1e-14));
  const Vec3 com = model.bodies[0].com;
  EXPECT_NEAR((q.head<3>() + R * com - (com + dt * u)).norm(), 0.0, tolerance(1e-14)) << "the centre moves straight";
  EXPECT_EQ(v, v_hat);
}

TEST(Integrate, QuaternionsStayUnit) {
  const Model model = testing::make_random_trees(3, 12, {JointKind::kFree, JointKind::kBall, JointKind::kRevolute});
  scenes::Random random(1);
  VecX q, v;
  testing::random_state(model, random, q, v);
  for (int i = 0; i < 10000; ++i) {
    VecX v_hat(model.num_v);
    for (double& x : v_hat) x = 50.0 * random.normal();
    integrate(model, v_hat, VecX::Zero(model.num_v), 0.0, 1e-2, q, v);
    ASSERT_LE(worst_norm(model, q), tolerance(4e-16)) << i;
  }
}

TEST(Integrate, BackwardUndoesForward) {
  for (int seed = 0; seed < 20; ++seed) {
    const Model model = testing::make_random_trees(seed, 6, testing::all_joint_kinds());
    scenes::Random random(seed);
    VecX q, v;
    testing::random_state(model, random, q, v);
    const VecX start = q, v_hat = v, zero = VecX::Zero(model.num_v);
    integrate(model, v_hat, zero, 0.0, 0.3, q, v);
    if (model.num_v > 0) {
      EXPECT_GT((q - start).norm(), 1e-2);
    }
    integrate(model, v_hat, zero, 0.0, -0.3, q, v);
    EXPECT_NEAR((q - start).norm(), 0.0, tolerance(1e-13)) << seed;
  }
}

TEST(Integrate, VelocityIsRecoveredFromTheTheta) {
  // v̂ = θ v + (1 - θ) v⁺ + d, solved for v⁺. No free single body here: those carry their momentum on.
  const Model model = testing::make_random_trees(7, 8, {JointKind::kRevolute, JointKind::kBall, JointKind::kPrismatic});
  scenes::Random random(2);
  VecX q, v;
  testing::random_state(model, random, q, v);
  for (const double theta : {0.0, 0.25, 0.5, 0.9}) {
    VecX next(model.num_v), d(model.num_v);
    for (double& x : next) x = random.normal();
    for (double& x : d) x = random.normal();
    const VecX v_hat = theta * v + (1.0 - theta) * next + d;
    VecX q_new = q, v_new = v;
    integrate(model, v_hat, d, theta, 1e-2, q_new, v_new);
    EXPECT_NEAR((v_new - next).norm(), 0.0, tolerance(1e-14 / (1.0 - theta) * 4.0)) << theta;
  }
}

TEST(Integrate, ThetaHalfIsTheMidpointOfAFall) {
  // With θ = 1/2 the position of a body in free fall is exact: x = g t²/2.
  ModelBuilder builder;
  builder.add_solid("ball", Sphere{0.1}, 1.0, {});
  StepOptions options;
  options.theta = 0.5;
  Simulation sim(builder.build(), options);
  for (int i = 0; i < 240; ++i) sim.step();
  EXPECT_NEAR(sim.state().q[2], -0.5 * 9.81, tolerance(1e-12));
  EXPECT_NEAR(sim.state().v[2], -9.81, tolerance(1e-12));
}

TEST(Integrate, HalfStepIsHalfTheGyroscopicAcceleration) {
  const Model model = make_body(Vec3(0.02, 0.03, 0.04));
  VecX v(6);
  v << 0.0, 0.0, 0.0, 1.0, 2.0, 3.0;
  Kinematics kin;
  compute_kinematics(model, model.q0, v, kin);
  VecX d;
  compute_half_step(model, kin, 0.1, d);
  // Euler's equations: ω̇₁ = (I₂ - I₃) ω₂ω₃ / I₁ and so on.
  const Vec3 rate((0.03 - 0.04) * 6.0 / 0.02, (0.04 - 0.02) * 3.0 / 0.03, (0.02 - 0.03) * 2.0 / 0.04);
  EXPECT_NEAR((d.tail<3>() - 0.05 * rate).norm(), 0.0, tolerance(1e-15));
  EXPECT_EQ(d.head<3>(), Vec3::Zero());
}

TEST(Integrate, TumblingBodyKeepsItsMomentum) {
  for (const double theta : {0.0, 0.5}) {
    ModelBuilder builder;
    builder.set_gravity(Vec3::Zero());
    const int body = builder.add_solid("brick", Box{Vec3(0.3, 0.1, 0.05)}, 2.0, make_translation(1.0, 2.0, 3.0));
    VecX v(6);
    v << 0.1, -0.2, 0.3, 9.0, 8.0, 7.0;
    builder.set_start_velocity(body, v);
    StepOptions options;
    options.theta = theta;
    Simulation sim(builder.build(), options);
    const Momentum before = compute_momentum(sim.model(), sim.kinematics());
    const Vec3 start = before.angular - sim.kinematics().com[0].cross(before.linear);
    for (int i = 0; i < 2400; ++i) sim.step();
    const Momentum after = compute_momentum(sim.model(), sim.kinematics());
    const Vec3 end = after.angular - sim.kinematics().com[0].cross(after.linear);
    EXPECT_NEAR((after.linear - before.linear).norm(), 0.0, tolerance(1e-13)) << theta;
    EXPECT_NEAR((end - start).norm() / start.norm(), 0.0, tolerance(1e-12)) << theta;
  }
}

struct Drift {
  double linear, angular;
};

Drift drift_of_tree(double dt) {
  StepOptions options;
  options.dt = dt;
  Simulation sim(make_floating_tree(), options);
  const Momentum start = compute_momentum(sim.model(), sim.kinematics());
  const int steps = static_cast<int>(std::lround(0.5 / dt));
  for (int i = 0; i < steps; ++i) sim.step();
  const Momentum end = compute_momentum(sim.model(), sim.kinematics());
  return {(end.linear - start.linear).norm() / start.linear.norm(),
          (end.angular - start.angular).norm() / start.angular.norm()};
}

TEST(Integrate, FloatingTreeDriftsWithFirstOrder) {
  // The root's velocity is a coordinate, and links that turn carry momentum the step sees at its start only: both
  // drift, and halve with the step.
  const Drift coarse = drift_of_tree(1.0 / 2400.0), fine = drift_of_tree(1.0 / 4800.0);
  EXPECT_NEAR(coarse.linear / fine.linear, 2.0, 0.1);
  EXPECT_NEAR(coarse.angular / fine.angular, 2.0, 0.1);
  EXPECT_LT(coarse.linear, 1e-3);
  EXPECT_LT(coarse.angular, 1e-3);
}

}  // namespace
}  // namespace almond
