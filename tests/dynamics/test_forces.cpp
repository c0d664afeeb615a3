// Proves mass matrix and forces of random trees against d'Alembert's principle and Lagrange's equations, both by finite
// differences, and energy and momentum against their balance.

#include <gtest/gtest.h>

#include <Eigen/Cholesky>
#include <Eigen/Eigenvalues>

#include "almond/dynamics/drift.hpp"
#include "almond/dynamics/forces.hpp"
#include "almond/sim/assemble.hpp"
#include "common/helpers.hpp"
#include "common/random_tree.hpp"

namespace almond {
namespace {

using testing::tolerance;

Kinematics kinematics_of(const Model& model, const VecX& q, const VecX& v) {
  Kinematics kin;
  compute_kinematics(model, q, v, kin);
  return kin;
}

VecX forces_of(const Model& model, const Kinematics& kin, const std::vector<Wrench>& wrenches = {}) {
  ForceWorkspace workspace;
  VecX f;
  compute_forces(model, kin, wrenches, workspace, f);
  return f;
}

/// M v̇ of free motion: applied forces less velocity products.
VecX driving_forces(const Model& model, const Kinematics& kin) {
  ForceWorkspace workspace;
  VecX c;
  compute_velocity_products(model, kin, workspace, c);
  return forces_of(model, kin) - c;
}

/// A of the problem: M, since these models have neither dampers nor springs.
MatX mass_matrix(const Model& model, const VecX& q, const VecX& v) {
  State state;
  state.q = q;
  state.v = v;
  Assembly assembly;
  assemble(model, state, kinematics_of(model, q, v), {}, make_inputs(model), StepOptions{}, assembly);
  assembly.problem.validate();
  return make_dense_A(assembly.problem);
}

/// Velocities of the centres of mass (3 x num_v) and angular velocities of a body, column by column.
struct Jacobians {
  MatX linear, angular;
};
Jacobians jacobians(const Model& model, const VecX& q, int body) {
  Jacobians J{MatX(3, model.num_v), MatX(3, model.num_v)};
  for (int k = 0; k < model.num_v; ++k) {
    const Kinematics kin = kinematics_of(model, q, VecX::Unit(model.num_v, k));
    J.linear.col(k) = point_velocity(model, kin, body, kin.com[body]);
    J.angular.col(k) = angular_velocity(model, kin, body);
  }
  return J;
}

VecX moved(const Model& model, const VecX& q, const VecX& v, double h) {
  VecX q_new = q;
  move(model, v, h, q_new);
  return q_new;
}

class ForcesOfTrees : public ::testing::TestWithParam<int> {
 protected:
  ForcesOfTrees()
      : random(2000 + GetParam()),
        model(testing::make_random_trees(GetParam(), 2 + GetParam() % 7, testing::all_joint_kinds())) {
    testing::random_state(model, random, q, v);
    for (int b = 0; b < model.num_bodies(); ++b)  // some carry a share of their weight, or more than it
      if ((GetParam() + b) % 3 == 0) model.bodies[b].gravcomp = 0.6 * (b % 4) - 0.5;
  }
  scenes::Random random;
  Model model;
  VecX q, v;
};

TEST_P(ForcesOfTrees, MassMatrixIsTheSumOverBodies) {
  if (model.num_v == 0) GTEST_SKIP() << "nothing moves";
  const MatX M = mass_matrix(model, q, v);
  EXPECT_NEAR((M - M.transpose()).norm(), 0.0, 1e-15 * M.norm());
  EXPECT_GT(Eigen::SelfAdjointEigenSolver<MatX>(M).eigenvalues().minCoeff(), 0.0);
  MatX sum = MatX::Zero(model.num_v, model.num_v);
  const Kinematics kin = kinematics_of(model, q, v);
  for (int b = 0; b < model.num_bodies(); ++b) {
    const Jacobians J = jacobians(model, q, b);
    sum += model.bodies[b].mass * J.linear.transpose() * J.linear + J.angular.transpose() * kin.I[b] * J.angular;
    const Joint& joint = model.joints[b];
    sum.diagonal().segment(joint.v_begin, num_velocities(joint.kind)).array() += joint.armature;
  }
  EXPECT_NEAR((M - sum).norm() / sum.norm(), 0.0, tolerance(1e-13));
  EXPECT_NEAR(compute_energy(model, q, v, kin).kinetic, 0.5 * v.dot(M * v), tolerance(1e-12 * v.dot(M * v)));
}

TEST_P(ForcesOfTrees, ForcesFollowDAlembert) {
  // Virtual power: (f - c)_k = Σ_b (m g - m a)·∂v_b/∂v_k - (I α + ω × I ω)·∂ω_b/∂v_k with a, α the accelerations at
  // constant v, by central differences.
  constexpr double h = 1e-5;
  const Kinematics kin = kinematics_of(model, q, v);
  const Kinematics plus = kinematics_of(model, moved(model, q, v, h), v);
  const Kinematics minus = kinematics_of(model, moved(model, q, v, -h), v);
  VecX expected = VecX::Zero(model.num_v);
  for (int b = 0; b < model.num_bodies(); ++b) {
    const Body& body = model.bodies[b];
    if (body.subsystem < 0) continue;
    const Vec3 a =
        (point_velocity(model, plus, b, plus.com[b]) - point_velocity(model, minus, b, minus.com[b])) / (2 * h);
    const Vec3 w = angular_velocity(model, kin, b);
    const Vec3 alpha = (angular_velocity(model, plus, b) - angular_velocity(model, minus, b)) / (2.0 * h);
    const Jacobians J = jacobians(model, q, b);
    expected += J.linear.transpose() * body.mass * ((1.0 - body.gravcomp) * model.gravity - a);
    expected -= J.angular.transpose() * (kin.I[b] * alpha + w.cross(kin.I[b] * w));
  }
  const double scale = 1.0 + expected.norm();
  EXPECT_NEAR((driving_forces(model, kin) - expected).norm() / scale, 0.0, tolerance(1e-8));
}

TEST_P(ForcesOfTrees, EnergyIsKept) {
  // dE/dt along v̇ = M⁻¹ (f - c) by central differences.
  if (model.num_v == 0) GTEST_SKIP() << "nothing moves";
  const Kinematics kin = kinematics_of(model, q, v);
  const VecX rate = mass_matrix(model, q, v).llt().solve(driving_forces(model, kin));
  constexpr double h = 1e-5;
  const auto energy_at = [&](double t) {
    // q(t) = q ⊕ (t v + t²/2 v̇), to second order: enough for a central difference.
    const VecX q_t = moved(model, q, v + 0.5 * t * rate, t), v_t = v + t * rate;
    return compute_energy(model, q_t, v_t, kinematics_of(model, q_t, v_t));
  };
  const Energy plus = energy_at(h), minus = energy_at(-h);
  const double power = (plus.total() - minus.total()) / (2.0 * h);
  const double exchanged = std::abs(plus.potential - minus.potential) / (2.0 * h);
  EXPECT_NEAR(power, 0.0, tolerance(1e-7 * (1.0 + exchanged + v.squaredNorm() * rate.norm()))) << exchanged;
}

TEST_P(ForcesOfTrees, WrenchesActByTheirPower) {
  const Kinematics kin = kinematics_of(model, q, v);
  std::vector<Wrench> wrenches(model.bodies.size());
  double power = 0.0, size = 0.0;
  for (int b = 0; b < model.num_bodies(); ++b) {
    wrenches[b] = {random.normal3(), random.normal3()};
    const double linear = wrenches[b].force.dot(point_velocity(model, kin, b, kin.com[b]));
    const double angular = wrenches[b].torque.dot(angular_velocity(model, kin, b));
    power += linear + angular;
    size += std::abs(linear) + std::abs(angular);
  }
  EXPECT_NEAR((forces_of(model, kin, wrenches) - forces_of(model, kin)).dot(v), power, tolerance(1e-12 * (1.0 + size)));
}

TEST_P(ForcesOfTrees, MomentumIsMassTimesMotionOfTheCentre) {
  const Kinematics kin = kinematics_of(model, q, v);
  constexpr double h = 1e-5;
  const Kinematics plus = kinematics_of(model, moved(model, q, v, h), v);
  const Kinematics minus = kinematics_of(model, moved(model, q, v, -h), v);
  Vec3 linear = Vec3::Zero(), angular = Vec3::Zero();
  for (int b = 0; b < model.num_bodies(); ++b) {
    if (model.bodies[b].subsystem < 0) continue;
    const Vec3 p = model.bodies[b].mass * (plus.com[b] - minus.com[b]) / (2.0 * h);
    linear += p;
    angular += kin.com[b].cross(p) + kin.I[b] * log_so3(plus.X_WB[b].R * minus.X_WB[b].R.transpose()) / (2.0 * h);
  }
  const Momentum momentum = compute_momentum(model, kin);
  EXPECT_NEAR((momentum.linear - linear).norm(), 0.0, tolerance(1e-6));
  EXPECT_NEAR((momentum.angular - angular).norm(), 0.0, tolerance(1e-6));
}

INSTANTIATE_TEST_SUITE_P(Seeds, ForcesOfTrees, ::testing::Range(0, 51));

// ---------------------------------------------------------------- Lagrange

class Lagrange : public ::testing::TestWithParam<int> {};

TEST_P(Lagrange, HoldsForHingesAndSliders) {
  // (f - c)_k = Q_k - Σ_ij (∂M_ki/∂q_j - ½ ∂M_ij/∂q_k) v_i v_j, with M(q) and the potential by central differences.
  const Model model = testing::make_random_trees(GetParam(), 2 + GetParam() % 4,
                                                 {JointKind::kRevolute, JointKind::kContinuous, JointKind::kPrismatic});
  scenes::Random random(3000 + GetParam());
  VecX q, v;
  testing::random_state(model, random, q, v);
  constexpr double h = 1e-5;
  const int n = model.num_v;
  std::vector<MatX> dM;
  VecX expected(n);
  for (int k = 0; k < n; ++k) {
    const VecX plus = q + h * VecX::Unit(n, k), minus = q - h * VecX::Unit(n, k);
    dM.push_back((mass_matrix(model, plus, v) - mass_matrix(model, minus, v)) / (2.0 * h));
    expected[k] = -(compute_energy(model, plus, v, kinematics_of(model, plus, v)).potential -
                    compute_energy(model, minus, v, kinematics_of(model, minus, v)).potential) /
                  (2.0 * h);
  }
  for (int k = 0; k < n; ++k) {
    expected[k] += 0.5 * v.dot(dM[k] * v);
    for (int j = 0; j < n; ++j) expected[k] -= dM[j].row(k).dot(v) * v[j];
  }
  const VecX f = driving_forces(model, kinematics_of(model, q, v));
  EXPECT_NEAR((f - expected).norm() / (1.0 + expected.norm()), 0.0, tolerance(1e-8));
}

INSTANTIATE_TEST_SUITE_P(Seeds, Lagrange, ::testing::Range(0, 51));

// ---------------------------------------------------------------- potentials by hand

TEST(Energy, OfSprings) {
  ModelBuilder builder;
  BodySpec spec;
  spec.name = "slide";
  spec.joint = make_joint(JointKind::kPrismatic, Vec3::UnitX());
  spec.joint.stiffness = 8.0;
  spec.joint.rest = 0.5;
  spec.mass = 2.0;
  spec.inertia = Mat3::Identity();
  Spring spring;
  spring.name = "spring";
  spring.body_a = builder.add_body(spec);
  spring.point_b = Vec3(4.0, 0.0, 0.0);
  spring.stiffness = 10.0;
  spring.rest_length = 1.0;
  builder.add_spring(spring);
  const Model model = builder.build();
  const VecX q = VecX::Constant(1, 1.0), v = VecX::Constant(1, 3.0);
  const Energy energy = compute_energy(model, q, v, kinematics_of(model, q, v));
  EXPECT_DOUBLE_EQ(energy.potential, 0.5 * 8.0 * 0.25 + 0.5 * 10.0 * 4.0);
  EXPECT_DOUBLE_EQ(energy.kinetic, 9.0);
}

}  // namespace
}  // namespace almond
