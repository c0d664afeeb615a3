// Proves the move on the manifold and the θ-scheme against closed forms, and free motion of trees against conservation
// of energy and momentum and against a fine integration of the equations of motion.

#include <gtest/gtest.h>

#include <Eigen/Cholesky>
#include <cmath>

#include "almond/dynamics/drift.hpp"
#include "almond/dynamics/forces.hpp"
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

Kinematics at(const Model& model, const VecX& q, const VecX& v) {
  Kinematics kin;
  compute_kinematics(model, q, v, kin);
  return kin;
}

TEST(Drift, ConstantSpinIsExactInOneStep) {
  // A turn by 2.5 rad about a fixed axis in one step, about the centre of mass.
  const Model model = make_body(Vec3(0.1, 0.1, 0.1));
  const Vec3 w(1.2, -0.7, 0.4), u(3.0, 1.0, -2.0);
  const double dt = 2.5 / w.norm();
  DriftWorkspace workspace;
  VecX q = model.q0, v(6);
  v.head<3>() = u;
  v.tail<3>() = w;
  const VecX before = v;
  drift(model, at(model, q, v), v, VecX::Zero(6), -0.5 * dt, dt, workspace, q, v);
  const Mat3 R = exp_so3(dt * w);
  EXPECT_NEAR((quaternion_to_matrix(q.tail<4>()) - R).norm(), 0.0, tolerance(1e-14));
  const Vec3 com = model.bodies[0].com;
  EXPECT_NEAR((q.head<3>() + R * com - (com + dt * u)).norm(), 0.0, tolerance(1e-14)) << "the centre moves straight";
  EXPECT_EQ(v, before);
}

TEST(Drift, QuaternionsStayUnit) {
  const Model model = testing::make_random_trees(3, 12, {JointKind::kFree, JointKind::kBall, JointKind::kRevolute});
  scenes::Random random(1);
  VecX q, v;
  testing::random_state(model, random, q, v);
  for (int i = 0; i < 10000; ++i) {
    VecX v_hat(model.num_v);
    for (double& x : v_hat) x = 50.0 * random.normal();
    move(model, v_hat, 1e-2, q);
    ASSERT_LE(worst_norm(model, q), tolerance(4e-16)) << i;
  }
}

TEST(Drift, BackwardUndoesForward) {
  for (int seed = 0; seed < 20; ++seed) {
    const Model model = testing::make_random_trees(seed, 6, testing::all_joint_kinds());
    scenes::Random random(seed);
    VecX q, v;
    testing::random_state(model, random, q, v);
    const VecX start = q;
    move(model, v, 0.3, q);
    if (model.num_v > 0) {
      EXPECT_GT((q - start).norm(), 1e-2);
    }
    move(model, v, -0.3, q);
    EXPECT_NEAR((q - start).norm(), 0.0, tolerance(1e-13)) << seed;
  }
}

TEST(Drift, ThetaHalfIsTheMidpointOfAFall) {
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

TEST(Drift, HalfStepIsHalfTheGyroscopicAcceleration) {
  const Model model = make_body(Vec3(0.02, 0.03, 0.04));
  VecX v(6);
  v << 0.0, 0.0, 0.0, 1.0, 2.0, 3.0;
  VecX d;
  DriftWorkspace workspace;
  constexpr double h = 1e-5;
  compute_half_step(model, at(model, model.q0, v), VecX::Zero(6), h, workspace, d);
  // Euler's equations: ω̇₁ = (I₂ - I₃) ω₂ω₃ / I₁ and so on; the next term is h² ω³.
  const Vec3 rate((0.03 - 0.04) * 6.0 / 0.02, (0.04 - 0.02) * 3.0 / 0.03, (0.02 - 0.03) * 2.0 / 0.04);
  EXPECT_NEAR((d.tail<3>() / (0.5 * h) - rate).norm(), 0.0, tolerance(40.0 * h));
  EXPECT_EQ(d.head<3>(), Vec3::Zero());
}

TEST(Drift, TumblingBodyKeepsItsMomentum) {
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
    // Every carry rounds: some 5e-16 of it, one per step and another before it with θ > 0.
    EXPECT_NEAR((end - start).norm() / start.norm(), 0.0, tolerance((theta > 0.0 ? 4800 : 2400) * 5e-16)) << theta;
  }
}

// ---------------------------------------------------------------- trees in free motion

/// Rigid links, nothing but their own inertia: energy and momentum at the start, and what became of them.
struct Kept {
  double energy, linear, spin;  // relative changes
};

/// Spin about the common centre of mass.
Vec3 spin_of(const Model& model, const Kinematics& kin) {
  const Momentum momentum = compute_momentum(model, kin);
  Vec3 centre = Vec3::Zero();
  double mass = 0.0;
  for (int b = 0; b < model.num_bodies(); ++b) {
    centre += model.bodies[b].mass * kin.com[b];
    mass += model.bodies[b].mass;
  }
  return momentum.angular - (centre / mass).cross(momentum.linear);
}

Kept run_free(const Model& model, double dt, double theta, int steps) {
  StepOptions options;
  options.dt = dt;
  options.theta = theta;
  Simulation sim(model, options);
  const double energy = sim.energy().kinetic;
  const Vec3 linear = compute_momentum(model, sim.kinematics()).linear, spin = spin_of(model, sim.kinematics());
  Kept kept{};
  for (int i = 0; i < steps; ++i) {
    EXPECT_EQ(sim.step().status, Status::kSolved);
    const Kinematics& kin = sim.kinematics();
    kept.energy = std::max(kept.energy, std::abs(sim.energy().kinetic / energy - 1.0));
    kept.linear = std::max(kept.linear, (compute_momentum(model, kin).linear - linear).norm() / linear.norm());
    kept.spin = std::max(kept.spin, (spin_of(model, kin) - spin).norm() / spin.norm());
  }
  return kept;
}

class FreeTree : public ::testing::TestWithParam<double> {};

TEST_P(FreeTree, KeepsMomentumAndEnergy) {
  // To rounding, at any speed a step can follow: links turn by up to 0.1 rad per step here.
  const Kept kept = run_free(make_floating_tree(), 1.0 / 240.0, GetParam(), 2400);
  EXPECT_NEAR(kept.linear, 0.0, tolerance(1e-12));
  EXPECT_NEAR(kept.spin, 0.0, tolerance(1e-12));
  EXPECT_NEAR(kept.energy, 0.0, tolerance(1e-11));
}

INSTANTIATE_TEST_SUITE_P(Thetas, FreeTree, ::testing::Values(0.0, 0.25, 0.5, 0.75));

/// Seven links in series, every joint at `speed`, no gravity.
Model make_whirling_arm(double speed) {
  ModelBuilder builder;
  builder.set_gravity(Vec3::Zero());
  int parent = kGround;
  for (int i = 0; i < 7; ++i) {
    BodySpec link;
    link.name = "link" + std::to_string(i);
    link.parent = parent;
    link.joint = make_joint(JointKind::kRevolute, i % 2 == 0 ? Vec3::UnitZ() : Vec3::UnitY());
    link.joint.X_PJ.p = Vec3(0.0, 0.0, 0.15);
    link.joint.armature = i == 3 ? 0.01 : 0.0;
    link.com = Vec3(0.02, 0.0, 0.07);
    link.mass = 2.0;
    link.inertia = 0.005 * Mat3::Identity();
    parent = builder.add_body(link);
    builder.set_start_velocity(i, VecX::Constant(1, (i % 3 == 0 ? -1.0 : 1.0) * speed));
  }
  return builder.build();
}

TEST(Drift, WhirlingArmKeepsItsEnergy) {
  for (const double speed : {1.0, 6.0, 20.0}) {
    Simulation sim(make_whirling_arm(speed));
    const double energy = sim.energy().kinetic;
    for (int i = 0; i < 2400; ++i) sim.step();
    EXPECT_NEAR(sim.energy().kinetic / energy, 1.0, tolerance(1e-10)) << speed;
  }
}

TEST(Drift, NoSpeedMakesEnergy) {
  // Joints at 200 rad/s turn by almost a radian per step: nothing is right any more, but nothing grows.
  Simulation sim(make_whirling_arm(200.0));
  const double energy = sim.energy().kinetic;
  for (int i = 0; i < 2400; ++i) {
    sim.step();
    ASSERT_LE(sim.energy().kinetic, energy * (1.0 + 1e-9)) << i;
  }
}

/// q after `time` by classical Runge-Kutta on v̇ = M⁻¹(f - c), in `steps` steps; hinges only.
VecX integrate_finely(const Model& model, double time, int steps) {
  VecX q = model.q0, v = model.v0;
  const double h = time / steps;
  const auto rate = [&](const VecX& at_q, const VecX& at_v) {
    Kinematics kin = at(model, at_q, at_v);
    ForceWorkspace forces;
    VecX f, c;
    compute_forces(model, kin, {}, forces, f);
    compute_velocity_products(model, kin, forces, c);
    State state;
    state.q = at_q;
    state.v = at_v;
    Assembly assembly;
    assemble(model, state, kin, {}, make_inputs(model), StepOptions{}, assembly);
    return VecX(make_dense_A(assembly.problem).llt().solve(f - c));
  };
  for (int i = 0; i < steps; ++i) {
    const VecX a1 = rate(q, v), v2 = v + 0.5 * h * a1;
    const VecX a2 = rate(q + 0.5 * h * v, v2), v3 = v + 0.5 * h * a2;
    const VecX a3 = rate(q + 0.5 * h * v2, v3), v4 = v + h * a3;
    const VecX a4 = rate(q + h * v3, v4);
    q += h / 6.0 * (v + 2.0 * v2 + 2.0 * v3 + v4);
    v += h / 6.0 * (a1 + 2.0 * a2 + 2.0 * a3 + a4);
  }
  return q;
}

/// Distance from `exact` after half a second in `steps` steps.
double error_after(const Model& model, const VecX& exact, int steps, double theta) {
  StepOptions options;
  options.dt = 0.5 / steps;
  options.theta = theta;
  Simulation sim(model, options);
  for (int i = 0; i < steps; ++i) sim.step();
  return (sim.state().q - exact).norm();
}

TEST(Drift, WhirlingArmFollowsTheEquationsOfMotion) {
  // Second order in dt: halving the step quarters the distance to the exact path.
  const Model model = make_whirling_arm(2.0);
  const VecX exact = integrate_finely(model, 0.5, 2000);
  for (const double theta : {0.0, 0.5}) {
    const double coarse = error_after(model, exact, 400, theta), fine = error_after(model, exact, 800, theta);
    EXPECT_NEAR(std::log2(coarse / fine), 2.0, 0.15) << theta << " " << coarse << " " << fine;
    EXPECT_LT(fine, 1e-4) << theta;
  }
}

TEST(Drift, LeapfrogIsSecondOrderUnderGravity) {
  ModelBuilder builder;
  for (int i = 0; i < 2; ++i) {
    BodySpec link;
    link.name = "link" + std::to_string(i);
    link.parent = i - 1;
    link.joint = make_joint(JointKind::kRevolute, Vec3::UnitY());
    if (i > 0) link.joint.X_PJ.p = Vec3(0.5, 0.0, 0.0);
    link.com = Vec3(0.25, 0.0, 0.0);
    link.mass = 1.0;
    link.inertia = 0.02 * Mat3::Identity();
    builder.add_body(link);
  }
  const Model model = builder.build();
  const VecX exact = integrate_finely(model, 0.5, 2000);
  EXPECT_NEAR(std::log2(error_after(model, exact, 400, 0.0) / error_after(model, exact, 800, 0.0)), 1.0, 0.1);
  EXPECT_NEAR(std::log2(error_after(model, exact, 400, 0.5) / error_after(model, exact, 800, 0.5)), 2.0, 0.1);
}

TEST(Drift, HeldJointStaysHeld) {
  // A stiff drive holds the elbow of a spinning arm: neither its position nor its speed may show the spin.
  ModelBuilder builder;
  builder.set_gravity(Vec3::Zero());
  for (int i = 0; i < 2; ++i) {
    BodySpec link;
    link.name = "link" + std::to_string(i);
    link.parent = i - 1;
    link.joint = make_joint(JointKind::kRevolute, Vec3::UnitZ());
    link.joint.name = "joint" + std::to_string(i);
    if (i > 0) link.joint.X_PJ.p = Vec3(0.5, 0.0, 0.0);
    link.com = Vec3(0.25, 0.0, 0.0);
    link.mass = 1.0;
    link.inertia = 0.02 * Mat3::Identity();
    builder.add_body(link);
  }
  builder.set_start(1, VecX::Constant(1, 1.0));
  builder.set_start_velocity(0, VecX::Constant(1, 5.0));
  Drive drive;
  drive.name = "elbow";
  drive.joint = 1;
  drive.mode = DriveMode::kPosition;
  drive.stiffness = 1e6;
  drive.damping = 1e4;
  drive.target = 1.0;
  for (const double limit : {kInfinity, 1e4}) {
    ModelBuilder copy = builder;
    drive.effort_limit = limit;
    copy.add_drive(drive);
    Simulation sim(copy.build());
    const double energy = sim.energy().kinetic;
    for (int i = 0; i < 240; ++i) sim.step();
    EXPECT_NEAR(sim.state().q[1], 1.0, 1e-4) << limit;
    EXPECT_NEAR(sim.state().v[1], 0.0, 2e-3) << limit;  // c / (M + dt D) is 3e-4 here, c / M alone 0.1
    EXPECT_NEAR(sim.energy().kinetic / energy, 1.0, 1e-3) << limit;
  }
}

}  // namespace
}  // namespace almond
