// Rows that free motion does not move are judged by the motion of the whole tree: joints of what falls stand still, and
// rounding is not taken for their velocity. Against closed forms, and against the measure of before where rows do move.

#include <gtest/gtest.h>

#include <Eigen/LU>
#include <cmath>

#include "almond/solver/certificate.hpp"
#include "common/helpers.hpp"
#include "scenes/random.hpp"

namespace almond {
namespace {

using scenes::Random;
using testing::solve_with;

SideInput make_side(int subsystem, const MatX& J) {
  SideInput side;
  side.subsystem = subsystem;
  side.J = J;
  return side;
}

/// A floating tree of `joints` joints, coupled at random, with link masses over `spread` decades, that flies at v: the
/// base moves, the joints do not.
MatX make_mass(int joints, double spread, Random& random) {
  const int n = 6 + joints;
  MatX factor(n, n);
  for (int r = 0; r < n; ++r) {
    const double size = std::pow(10.0, -spread * std::max(0, r - 5) / joints);
    for (int c = 0; c < n; ++c) factor(r, c) = size * random.uniform(-1.0, 1.0) + (r == c ? 2.0 * size : 0.0);
  }
  return factor * factor.transpose();
}

/// Dry friction on each joint, of an effort that would be noticed.
ContactProblem make_flight(int joints, double spread, double speed, Random& random) {
  const int n = 6 + joints;
  const MatX A = make_mass(joints, spread, random);
  VecX v = VecX::Zero(n);
  for (int k = 0; k < 6; ++k) v[k] = speed * random.uniform(-1.0, 1.0);
  ContactProblem problem;
  problem.add_subsystem(A, A * v);
  for (int k = 6; k < n; ++k)
    problem.add_bounded(0.0, 1e-3 * A(k, k), {make_side(0, MatX(VecX::Unit(n, k).transpose()))});
  problem.validate();
  return problem;
}

TEST(FreeMotion, WhatFliesIsSolvedWithoutAnIteration) {
  Random random(7);
  for (const double spread : {0.0, 2.0, 4.0})
    for (const double speed : {1e-6, 1e-3, 1.0, 1e3})
      for (const int joints : {1, 2, 8, 24}) {
        const ContactProblem problem = make_flight(joints, spread, speed, random);
        const Solution solution = solve_with(problem, SolverKind::kAuto, 1e-8);
        const std::string place =
            std::to_string(joints) + " joints, 1e-" + std::to_string(spread) + ", " + std::to_string(speed) + " m/s: ";
        EXPECT_EQ(solution.status, Status::kSolved) << place;
        // At inertias over eight decades rounding in b itself is more than the goal.
        if (spread < 3.0) {
          EXPECT_LE(solution.info.iterations, 0) << place << "nothing to do";
        }
        const Certificate c = make_certificate(problem, solution.v, solution.lambda);
        EXPECT_LE(c.natural_map, 1e-9) << place;
        // Closed form: the base goes on, the joints keep still to rounding of what its energy could make of them.
        const VecX v = solution.v;
        const MatX inverse = problem.A(0).inverse();
        for (int k = 6; k < 6 + joints; ++k)
          EXPECT_LE(std::abs(v[k]), 1e-12 * std::sqrt(inverse(k, k) * problem.b_of(0).dot(v))) << place << k;
      }
}

TEST(FreeMotion, JointsThatMoveAreHeldAsExactlyAsBefore) {
  // One joint turns at `turn` while the base flies: friction stops it, λ = -turn / W. An answer that is off by a
  // millionth leaves a millionth of `turn`, and the natural map is relative to `turn` or to kFlight of what the energy
  // of flight could make of it, sqrt(W bᵀA⁻¹b), whichever is more.
  Random random(3);
  for (const double turn : {1.0, 1e-2, 1e-4, 1e-6}) {
    const int n = 7;
    const MatX A = make_mass(1, 0.0, random);
    VecX v = VecX::Ones(n);
    v[6] = turn;
    ContactProblem problem;
    problem.add_subsystem(A, A * v);
    problem.add_bounded(0.0, 1e3, {make_side(0, MatX(VecX::Unit(n, 6).transpose()))});
    const double W = A.inverse()(6, 6), exact = -turn / W, error = 1e-6;
    const double floor = kFlight * std::sqrt(W * v.dot(A * v));
    const VecX lambda = VecX::Constant(1, exact * (1.0 - error));
    const double expected = error * turn / std::max(turn, floor);
    EXPECT_NEAR(make_certificate(problem, compute_velocity(problem, lambda), lambda).natural_map, expected,
                1e-6 * expected + 1e-10);
    EXPECT_NEAR(solve_with(problem, SolverKind::kAuto, 1e-8).lambda[0], exact, 1e-9 * std::max(turn, floor) / W);
  }
}

TEST(FreeMotion, UnitsOfMassAndLengthDoNotMatter) {
  Random random(11);
  const ContactProblem metres = make_flight(5, 2.0, 1.0, random);
  // Lengths in millimetres, masses in grams: joints stay in rad.
  const int n = metres.num_dofs();
  VecX unit = VecX::Ones(n);
  unit.head(3).setConstant(1e3);  // of v
  const double energy = 1e3 * 1e6;
  const MatX A = energy * unit.cwiseInverse().asDiagonal() * MatX(metres.A(0)) * unit.cwiseInverse().asDiagonal();
  ContactProblem millimetres;
  millimetres.add_subsystem(A, energy * unit.cwiseInverse().asDiagonal() * VecX(metres.b_of(0)));
  for (const Row& row : metres.bounded)
    millimetres.add_bounded(0.0, energy * row.limit, {make_side(0, metres.J(row.sides[0], 1))});
  VecX lambda(5);
  for (int k = 0; k < 5; ++k) lambda[k] = 1e-3 * random.uniform(-1.0, 1.0) * metres.bounded[k].limit;
  const Certificate a = make_certificate(metres, compute_velocity(metres, lambda), lambda);
  const VecX scaled = energy * lambda;
  const Certificate b = make_certificate(millimetres, compute_velocity(millimetres, scaled), scaled);
  EXPECT_GT(a.natural_map, 1e-6);
  EXPECT_NEAR(b.natural_map, a.natural_map, 1e-6 * a.natural_map);
}

TEST(FreeMotion, SolverAndCertificateAgree) {
  Random random(5);
  for (int k = 0; k < 20; ++k) {
    ContactProblem problem = make_flight(6, 2.0, 1.0, random);
    const Solution solution = solve_with(problem, SolverKind::kAuto, 1e-8);
    const Certificate c = make_certificate(problem, solution.v, solution.lambda);
    EXPECT_NEAR(c.natural_map, solution.certificate.natural_map, 1e-8);  // two factors of A
  }
}

}  // namespace
}  // namespace almond
