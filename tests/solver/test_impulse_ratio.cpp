// No answer is called solved whose impulses no mass of the model could need: rows that are only rounding, rows that
// contradict each other, and random ones that nearly do. Against momenta worked out by hand, changes of units, and the
// largest momentum that masses and velocities allow.

#include <gtest/gtest.h>

#include <cmath>

#include "almond/solver/certificate.hpp"
#include "almond/solver/solve.hpp"
#include "common/helpers.hpp"
#include "scenes/random.hpp"

namespace almond {
namespace {

using scenes::Random;
using testing::all_solvers;
using testing::solve_with;
using testing::test_name;

SideInput make_side(int subsystem, const MatX& J) {
  SideInput side;
  side.subsystem = subsystem;
  side.J = J;
  return side;
}

MatX row(std::initializer_list<double> values) {
  MatX J(1, static_cast<Eigen::Index>(values.size()));
  int k = 0;
  for (const double value : values) J(0, k++) = value;
  return J;
}

Certificate judge(const ContactProblem& problem, const VecX& lambda) {
  return make_certificate(problem, compute_velocity(problem, lambda), lambda);
}

TEST(ImpulseRatio, IsOneForABodyThatIsStopped) {
  // Closed form: m v stops it, whatever m, v and the direction.
  for (const double mass : {1e-3, 2.0, 1e4})
    for (const double speed : {1e-6, 1.0, 300.0}) {
      ContactProblem problem;
      problem.add_subsystem(mass * Mat3::Identity(), Vec3(0.0, 0.0, -mass * speed));
      problem.add_contact(0.5, Vec3::Zero(), make_side(0, Mat3::Identity()));
      EXPECT_NEAR(judge(problem, Vec3(0.0, 0.0, mass * speed)).impulse_ratio, 1.0, 1e-12);
      const Solution solution = solve_with(problem, SolverKind::kAuto);
      EXPECT_EQ(solution.status, Status::kSolved);
      EXPECT_NEAR(solution.certificate.impulse_ratio, 1.0, 1e-9);
    }
}

TEST(ImpulseRatio, CountsWhatABiasAsksFor) {
  // At rest and pushed apart at 0.2 m/s: λ = m e.
  ContactProblem problem;
  problem.add_subsystem(3.0 * Mat3::Identity(), Vec3::Zero());
  problem.add_contact(0.0, Vec3(0.0, 0.0, -0.2), make_side(0, Mat3::Identity()));
  const Solution solution = solve_with(problem, SolverKind::kAuto);
  EXPECT_EQ(solution.status, Status::kSolved);
  EXPECT_NEAR(solution.lambda[2], 0.6, 1e-9);
  EXPECT_NEAR(judge(problem, solution.lambda).impulse_ratio, 1.0, 1e-9);
}

class ImpulseRatioOf : public ::testing::TestWithParam<SolverKind> {};

TEST_P(ImpulseRatioOf, ARowThatIsRoundingIsNotSolved) {
  // A hinge and a slide; a closure of two rows, one of which lies across both and is 1e-16 of rounding.
  for (const double bias : {0.0, 1e-9, 0.1}) {
    ContactProblem problem;
    problem.add_subsystem(Vec2(0.02, 1.5).asDiagonal().toDenseMatrix(), Vec2(0.01, -0.3));
    problem.add_equality(0.0, {make_side(0, row({0.2, 1.0}))});
    problem.add_equality(bias, {make_side(0, row({1e-16, -3e-17}))});
    const Solution solution = solve_with(problem, GetParam());
    const double momentum = 1.5 * (0.5 + 0.2 + bias);  // heaviest mass, fastest free motion
    const bool solved = solution.status == Status::kSolved;
    EXPECT_TRUE(!solved || VecX(solution.lambda).lpNorm<Eigen::Infinity>() <= kMostImpulseRatio * momentum) << bias;
    EXPECT_TRUE(!solved || bias < 1e-3) << "nothing within reason closes it";
  }
}

TEST_P(ImpulseRatioOf, RowsThatContradictEachOtherAreNotSolved) {
  // v_1 = 0 and v_1 + 1e-9 v_2 = 0.1: only v_2 = 1e8 m/s does both.
  ContactProblem problem;
  problem.add_subsystem(MatX::Identity(2, 2), VecX::Ones(2));
  problem.add_equality(0.0, {make_side(0, row({1.0, 0.0}))});
  problem.add_equality(-0.1, {make_side(0, row({1.0, 1e-9}))});
  const Solution solution = solve_with(problem, GetParam());
  EXPECT_NE(solution.status, Status::kSolved);
  testing::expect_finite(solution);
}

TEST_P(ImpulseRatioOf, NearlyDependentRowsAtRandom) {
  Random random(17);
  int solved = 0;
  for (int trial = 0; trial < 60; ++trial) {
    const int n = 3 + trial % 4;
    MatX factor(n, n);
    for (double& x : factor.reshaped()) x = random.uniform(-1.0, 1.0);
    const MatX A = std::pow(10.0, random.uniform(-2.0, 2.0)) * (factor * factor.transpose() + MatX::Identity(n, n));
    VecX v(n);
    for (double& x : v) x = random.uniform(-1.0, 1.0);
    ContactProblem problem;
    problem.add_subsystem(A, A * v);
    MatX first(1, n);
    for (double& x : first.reshaped()) x = random.uniform(-1.0, 1.0);
    double fastest = v.lpNorm<Eigen::Infinity>();
    for (int k = 0; k < 3; ++k) {  // three that differ in their last digits
      MatX J = first;
      const double apart = std::pow(10.0, random.uniform(-16.0, -1.0));
      for (double& x : J.reshaped()) x += apart * random.uniform(-1.0, 1.0);
      if (k == 2 && trial % 3 == 0) J *= 1e-14;
      const double e = trial % 2 == 0 ? 0.1 * random.uniform(-1.0, 1.0) : 0.0;
      fastest = std::max({fastest, std::abs(e), (J * v).norm()});
      if (trial % 5 == 4) {
        problem.add_hard(e, {make_side(0, J)});
      } else {
        problem.add_equality(e, {make_side(0, J)});
      }
    }
    Settings settings;
    settings.solver = GetParam();
    settings.budget_ms = 100.0;
    const Solution solution = solve_with(problem, settings);
    testing::expect_finite(solution);
    if (solution.status != Status::kSolved) continue;
    ++solved;
    // All that the body has, at a lever of its shortest row entry that counts, is at most n times this.
    EXPECT_LE(VecX(solution.lambda).lpNorm<Eigen::Infinity>(),
              kMostImpulseRatio * n * A.diagonal().maxCoeff() * fastest)
        << trial;
    const Certificate c = judge(problem, solution.lambda);
    EXPECT_LE(c.impulse_ratio, 1.01 * kMostImpulseRatio) << trial;
    EXPECT_NEAR(c.impulse_ratio, solution.certificate.impulse_ratio, 1e-6 * c.impulse_ratio) << trial;
  }
  EXPECT_GT(solved, 10) << "rows that agree are solved as ever";
}

INSTANTIATE_TEST_SUITE_P(Solvers, ImpulseRatioOf, ::testing::ValuesIn(all_solvers()),
                         [](const auto& solver) { return test_name(to_string(solver.param)); });

TEST(ImpulseRatio, UnitsDoNotMatter) {
  // A body with two contacts: masses in other units, and velocities of other scales, in A, b, J.
  const MatX J0 = (MatX(3, 3) << 0.0, 1.0, 0.3, 0.0, 0.0, 0.0, 1.0, 0.0, -0.2).finished();
  const Mat3 A = Vec3(2.0, 2.0, 0.05).asDiagonal();
  const Vec3 b(-0.4, 0.1, 0.02), scale(1.0, 1.0, 7.0);
  const Vec3 lambda(0.1, 0.0, 0.7);
  ContactProblem one, other;
  one.add_subsystem(A, b);
  one.add_contact(0.5, Vec3(0.0, 0.0, 0.1), make_side(0, J0));
  other.add_subsystem(1e3 * scale.cwiseInverse().asDiagonal() * A * scale.cwiseInverse().asDiagonal(),
                      1e3 * scale.cwiseInverse().asDiagonal() * b);
  other.add_contact(0.5, Vec3(0.0, 0.0, 0.1), make_side(0, J0 * scale.cwiseInverse().asDiagonal()));
  EXPECT_NEAR(judge(one, lambda).impulse_ratio, judge(other, 1e3 * lambda).impulse_ratio, 1e-9);
}

TEST(ImpulseRatio, WhatIsSqueezedWithoutReasonIsLetGo) {
  // Between two walls at rest any squeeze obeys the law. A start that has one is not gone on from.
  ContactProblem problem;
  problem.add_subsystem(Mat3::Identity(), Vec3::Zero());
  Mat3 turned;
  turned << 1.0, 0.0, 0.0, 0.0, -1.0, 0.0, 0.0, 0.0, -1.0;
  problem.add_contact(0.5, Vec3::Zero(), make_side(0, Mat3::Identity()));
  problem.add_contact(0.5, Vec3::Zero(), make_side(0, turned));
  Settings settings;
  settings.warm_start = true;
  Workspace workspace;
  Solution solution;
  solution.lambda = Vec6(0.0, 0.0, 5.0, 0.0, 0.0, 5.0);
  solution.v = Vec3::Zero();
  EXPECT_EQ(solve(problem, settings, workspace, solution), Status::kSolved);
  EXPECT_EQ(VecX(solution.lambda).norm(), 0.0);
}

}  // namespace
}  // namespace almond
