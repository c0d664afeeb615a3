// The certificate says zero exactly for answers that obey the law, and the right number for those that do not: against
// closed forms, numbers worked out by hand, a second implementation on dense matrices, and changes of units.

#include <gtest/gtest.h>

#include <Eigen/Cholesky>
#include <algorithm>
#include <cmath>

#include "almond/solver/certificate.hpp"
#include "scenes/random.hpp"
#include "tests/common/helpers.hpp"

namespace almond {
namespace {

using scenes::Random;

SideInput make_side(int subsystem, const MatX& J) {
  SideInput side;
  side.subsystem = subsystem;
  side.J = J;
  return side;
}

/// A particle of mass 2 above the ground with b such that it falls at `speed`.
ContactProblem make_particle(double mu, const Vec3& velocity) {
  ContactProblem problem;
  problem.add_subsystem(2.0 * Mat3::Identity(), 2.0 * velocity);
  problem.add_contact(mu, Vec3::Zero(), make_side(0, Mat3::Identity()));
  return problem;
}

Certificate judge(const ContactProblem& problem, const VecX& lambda) {
  return make_certificate(problem, compute_velocity(problem, lambda), lambda);
}

TEST(Certificate, StickingParticleByHand) {
  const ContactProblem problem = make_particle(0.5, Vec3(0.1, 0.0, -1.0));
  const Certificate c = judge(problem, Vec3(-0.2, 0.0, 2.0));  // stops it: 2 (0.1, 0, -1) + λ = 0
  EXPECT_LE(c.residual, 1e-15);
  EXPECT_LE(c.natural_map, 1e-15);
  EXPECT_EQ(c.modes, (std::array<int, 3>{0, 1, 0}));
  EXPECT_EQ(c.mode[0], ContactMode::kStick);
  EXPECT_LE(c.dynamics_residual, 1e-15);
}

TEST(Certificate, SlidingParticleByHand) {
  const ContactProblem problem = make_particle(0.5, Vec3(3.0, 0.0, -1.0));
  const Certificate c = judge(problem, Vec3(-1.0, 0.0, 2.0));  // full friction: v = (2.5, 0, 0)
  EXPECT_LE(c.residual, 1e-15);
  EXPECT_LE(c.natural_map, 1e-15);
  EXPECT_LE(c.slip_error, 1e-15);
  EXPECT_EQ(c.mode[0], ContactMode::kSlip);
}

TEST(Certificate, OpenParticleByHand) {
  const ContactProblem problem = make_particle(0.5, Vec3(3.0, 0.0, 0.5));
  const Certificate c = judge(problem, Vec3::Zero());
  EXPECT_EQ(c.residual, 0.0);
  EXPECT_EQ(c.natural_map, 0.0);
  EXPECT_EQ(c.mode[0], ContactMode::kOpen);
}

TEST(Certificate, NoImpulseAtAllByHand) {
  // w = q = (0, 0, -1): T(-w) = (0, 0, 1), so the residual is 1. tr W = 3/2, ρ = 2: P_C(2) = 2, and 2/ρ/|q| = 1.
  const Certificate c = judge(make_particle(0.5, Vec3(0.0, 0.0, -1.0)), Vec3::Zero());
  EXPECT_NEAR(c.residual, 1.0, 1e-15);
  EXPECT_NEAR(c.natural_map, 1.0, 1e-15);
  EXPECT_NEAR(c.normal_violation, 1.0, 1e-15);
  EXPECT_EQ(c.complementarity, 0.0);
}

TEST(Certificate, WhatStandsStillIsSolved) {
  // Free velocities that are rounding of nothing: relative to them any answer looks wrong.
  for (const double speed : {0.0, 1e-300, 1e-34, 1e-16}) {
    const ContactProblem problem = make_particle(0.5, speed * Vec3(1.0, 0.0, -1.0));
    EXPECT_LE(judge(problem, Vec3(1e-40, 0.0, 1e-40)).natural_map, 1e-15) << speed;
    for (const SolverKind kind : testing::all_solvers())
      EXPECT_EQ(testing::solve_with(problem, kind).status, Status::kSolved) << to_string(kind) << " " << speed;
  }
}

TEST(Certificate, EveryViolationHasItsNumber) {
  const ContactProblem problem = make_particle(0.5, Vec3(1.0, 0.0, -1.0));
  // Too much push: v = (1, 0, 1), so λ_n w_n = 4 and friction is missing: μ λ_n |w_t| = 2.
  Certificate c = judge(problem, Vec3(0.0, 0.0, 4.0));
  EXPECT_NEAR(c.complementarity, 4.0, 1e-14);
  EXPECT_NEAR(c.slip_error, 2.0, 1e-14);
  EXPECT_EQ(c.cone_violation, 0.0);
  // An impulse that pulls lies |λ| outside the cone.
  c = judge(problem, Vec3(0.0, 0.0, -3.0));
  EXPECT_NEAR(c.cone_violation, 3.0, 1e-14);
  // Sideways only: the nearest point of the cone (μ = 1/2) is 1/sqrt(1 + μ²) away.
  c = judge(problem, Vec3(1.0, 0.0, 0.0));
  EXPECT_NEAR(c.cone_violation, 1.0 / std::sqrt(1.25), 1e-14);
  // A velocity that does not belong to λ.
  const VecX lambda = Vec3(0.0, 0.0, 2.0);
  c = make_certificate(problem, compute_velocity(problem, lambda) + Vec3(0.5, 0.0, 0.0), lambda);
  EXPECT_NEAR(c.dynamics_residual, 1.0 / (std::sqrt(8.0) + 2.0), 1e-14);
}

TEST(Certificate, ScalarRowsByHand) {
  const scenes::NamedProblem named = scenes::make_scalar_rows();
  const ContactProblem& problem = named.problem;
  // λ from the closed-form velocity: each coordinate has one row, m (v - u) = J λ; the carts share the last hard row.
  VecX lambda(8);
  const auto impulse = [&](int dof, double J) {
    return (problem.A(dof)(0, 0) * named.expected_v[dof] - problem.b[dof]) / J;
  };
  lambda << impulse(0, 1.0), impulse(1, 1.0), impulse(8, 1.0), impulse(2, 2.0), impulse(3, 4.0), impulse(4, 1.0),
      impulse(5, 1.0), impulse(6, 1.0);
  Certificate c = make_certificate(problem, named.expected_v, lambda);
  EXPECT_LE(c.residual, 1e-15);
  EXPECT_LE(c.natural_map, 1e-15);
  EXPECT_LE(c.row_violation, 1e-14);
  EXPECT_LE(c.dynamics_residual, 1e-15);
  // Braking harder than the dry friction may.
  lambda[5] -= 0.25;
  c = judge(problem, lambda);
  EXPECT_NEAR(c.cone_violation, 0.25, 1e-14);
  EXPECT_EQ(c.worst_constraint, 5);
  EXPECT_GT(c.natural_map, 1e-3);
}

/// Both residuals on dense matrices, straight from the definitions.
struct DenseResiduals {
  double residual = 0.0, natural_map = 0.0;
  int worst = -1;
};

Vec3 cone_by_search(double mu, const Vec3& x) {
  // The projection lies in the plane of x and the axis: inside, apex, or on the ray (μ, 1) at the foot of the normal.
  const Vec2 t = x.head<2>();
  const double length = t.norm();
  if (length <= mu * x[2]) return x;
  const double along = (mu * length + x[2]) / (mu * mu + 1.0);
  if (along <= 0.0) return Vec3::Zero();
  Vec3 result;
  result << mu * along * t / length, along;
  return result;
}

DenseResiduals compute_dense(const ContactProblem& problem, const VecX& lambda) {
  const MatX A = make_dense_A(problem), J = make_dense_J(problem);
  const VecX b = MapConstVec(problem.b.data(), problem.num_dofs());
  VecX e = make_dense_e(problem);
  const int m = problem.num_contacts(), rows = problem.num_scalar_rows();
  const auto num_hard = static_cast<int>(problem.hard.size()), num_soft = static_cast<int>(problem.soft.size());
  const auto num_equality = static_cast<int>(problem.equality.size());
  VecX compliance = VecX::Zero(problem.num_rows());
  for (int s = 0; s < num_soft; ++s) {
    const int r = 3 * m + num_hard + s;
    e[r] *= problem.soft[s].k / problem.soft[s].b;
    compliance[r] = 1.0 / problem.soft[s].b;
  }
  const Eigen::LDLT<MatX> A_factor(A);
  const MatX W = J * A_factor.solve(J.transpose());
  const VecX q = J * A_factor.solve(b) + e;
  const VecX w = W * lambda + q + compliance.cwiseProduct(lambda);
  double strict2 = 0.0, map2 = 0.0, worst = -1.0;
  DenseResiduals out;
  const auto add = [&](int index, double strict, double entry) {
    strict2 += strict;
    map2 += entry;
    if (entry > worst) {
      worst = entry;
      out.worst = index;
    }
  };
  for (int i = 0; i < m; ++i) {
    const double mu = problem.contacts[i].mu;
    const Vec3 l = lambda.segment<3>(3 * i), wi = w.segment<3>(3 * i);
    Vec3 T = l - wi;
    T[2] = std::max(0.0, T[2]);
    if (T.head<2>().norm() > mu * T[2]) T.head<2>() *= mu * T[2] / T.head<2>().norm();
    const double rho = 3.0 / W.block<3, 3>(3 * i, 3 * i).trace();
    const Vec3 shift(0.0, 0.0, mu * wi.head<2>().norm());
    add(i, (l - T).squaredNorm(), ((l - cone_by_search(mu, l - rho * (wi + shift))) / rho).squaredNorm());
  }
  for (int r = 0; r < rows; ++r) {
    const int row = 3 * m + r;
    double low = -kInfinity, high = kInfinity;
    if (r < num_hard) low = 0.0;
    if (r >= num_hard + num_soft + num_equality) {
      high = problem.bounded[r - num_hard - num_soft - num_equality].limit;
      low = -high;
    }
    const auto map = [&](double rho) { return lambda[row] - std::clamp(lambda[row] - rho * w[row], low, high); };
    const double rho = 1.0 / (W(row, row) + compliance[row]), unit = 1.0 / (1.0 + compliance[row]);
    add(m + r, map(unit) * map(unit), map(rho) * map(rho) / (rho * rho));
  }
  out.residual = std::sqrt(strict2) / (m + rows);
  out.natural_map = std::sqrt(map2) / q.norm();
  return out;
}

TEST(Certificate, AgreesWithDenseMatricesOnRandomImpulses) {
  Random random(5);
  for (const scenes::NamedProblem& named : testing::feasible_problems()) {
    const ContactProblem& problem = named.problem;
    for (const double size : {0.01, 1.0}) {
      VecX lambda(problem.num_rows());
      for (double& value : lambda) value = size * random.normal();
      const Certificate c = judge(problem, lambda);
      const DenseResiduals dense = compute_dense(problem, lambda);
      EXPECT_NEAR(c.residual, dense.residual, 1e-10 * dense.residual) << named.name;
      EXPECT_NEAR(c.natural_map, dense.natural_map, 1e-10 * dense.natural_map) << named.name;
      EXPECT_EQ(c.worst_constraint, dense.worst) << named.name;
    }
  }
}

TEST(Certificate, NaturalMapIsFreeOfUnits) {
  ContactProblem problem = scenes::make_random(3, 6, 0.4, 2).problem;
  Random random(3);
  VecX lambda(problem.num_rows());
  for (double& value : lambda) value = random.normal();
  const double before = judge(problem, lambda).natural_map;
  // Grams for kilograms, centimetres for metres (angular velocities keep their unit, so only J and e change).
  const double mass = 1000.0, length = 100.0;
  for (double& value : problem.A_pool) value *= mass;
  for (double& value : problem.b) value *= mass;
  for (double& value : problem.J_pool) value *= length;
  for (Contact& contact : problem.contacts) contact.e *= length;
  EXPECT_NEAR(judge(problem, lambda * mass / length).natural_map, before, 1e-12 * before);
}

TEST(Certificate, LinksThatCannotMoveApartHaveUnitScale) {
  // Two sides on one subsystem that cancel: W = 0, and the impulse does nothing. Only the sign of e matters.
  ContactProblem problem;
  problem.add_subsystem(2.0 * Mat3::Identity(), Vec3(1.0, 2.0, 3.0));
  const Mat3 J = Vec3(0.1, 0.2, 0.3).asDiagonal();
  problem.add_contact(0.5, Vec3(0.0, 0.0, 0.2), make_side(0, J), make_side(0, -J));
  Certificate c = judge(problem, Vec3::Zero());
  EXPECT_EQ(c.natural_map, 0.0);
  EXPECT_EQ(c.residual, 0.0);
  problem.contacts[0].e[2] = -0.2;
  c = judge(problem, Vec3::Zero());
  EXPECT_NEAR(c.natural_map, 1.0, 1e-14);
  EXPECT_NEAR(c.normal_violation, 0.2, 1e-15);
}

TEST(Certificate, NoConstraintsIsExact) {
  const scenes::NamedProblem named = scenes::make_no_contacts(3, 1);
  const Certificate c = make_certificate(named.problem, named.expected_v, VecX());
  EXPECT_EQ(c.residual, 0.0);
  EXPECT_EQ(c.natural_map, 0.0);
  EXPECT_EQ(c.worst_constraint, -1);
  EXPECT_LE(c.dynamics_residual, 1e-15);
}

TEST(Certificate, ZeroFreeVelocityIsNotDividedBy) {
  const scenes::NamedProblem named = scenes::make_weightless(3);
  const Certificate c = judge(named.problem, VecX::Zero(9));
  EXPECT_EQ(c.natural_map, 0.0);
  EXPECT_EQ(c.residual, 0.0);
  EXPECT_EQ(c.modes, (std::array<int, 3>{3, 0, 0}));
}

TEST(Certificate, NotANumberIsSaid) {
  const ContactProblem problem = make_particle(0.5, Vec3(0.0, 0.0, -1.0));
  for (const double bad : {kNaN, kInfinity}) {
    const Certificate c = make_certificate(problem, VecX::Zero(3), VecX::Constant(3, bad));
    EXPECT_FALSE(c.finite);
    EXPECT_FALSE(c.natural_map <= 1e300);
    EXPECT_FALSE(make_certificate(problem, VecX::Constant(3, bad), VecX::Zero(3)).finite);
  }
}

}  // namespace
}  // namespace almond
