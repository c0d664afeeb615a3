// Contacts that are left out because they are open and stay so change nothing: the answer is that of the whole problem,
// and its certificate the one that no solver's code computes.

#include <gtest/gtest.h>

#include "almond/solver/certificate.hpp"
#include "almond/solver/idle.hpp"
#include "almond/solver/solve.hpp"
#include "tests/common/helpers.hpp"

namespace almond {
namespace {

/// A particle of 1 kg above a floor, between a wall at the left and one at the right: rows t1, t2, n of each contact,
/// normals z, x, -x. `left` and `right`: the speed at which it would reach the wall in the step.
ContactProblem make_alley(const Vec3& v_free, double left, double right) {
  MatX J(9, 3);
  J << Vec3::UnitX().transpose(), Vec3::UnitY().transpose(), Vec3::UnitZ().transpose(),  //
      Vec3::UnitY().transpose(), Vec3::UnitZ().transpose(), Vec3::UnitX().transpose(),   //
      Vec3::UnitY().transpose(), -Vec3::UnitZ().transpose(), -Vec3::UnitX().transpose();
  VecX e = VecX::Zero(9);
  e[5] = left;
  e[8] = right;
  return make_problem(MatX::Identity(3, 3), v_free, J, e, VecX::Zero(3));
}

Settings warm() {
  Settings settings;
  settings.warm_start = true;
  settings.tol = 1e-10;
  return settings;
}

TEST(Idle, OpenContactsWithoutLoadAre) {
  const ContactProblem problem = make_alley(Vec3(0.0, 0.0, -0.1), 10.0, 1.0);
  Solution start;
  start.v = Vec3::Zero();
  start.lambda = VecX::Zero(9);
  start.lambda[2] = 0.1;
  IdleContacts contacts;
  choose_idle(problem, start, contacts);
  EXPECT_EQ(contacts.idle, (std::vector<char>{0, 1, 1}));
  EXPECT_FALSE(wake_idle(problem, VecX(Vec3(0.5, 0.0, 0.0)), contacts));
  EXPECT_TRUE(wake_idle(problem, VecX(Vec3(1.5, 0.0, 0.0)), contacts));  // through the wall at the right
  EXPECT_EQ(contacts.idle, (std::vector<char>{0, 1, 0}));
  EXPECT_EQ(contacts.woken, (std::vector<char>{0, 0, 1}));
  EXPECT_EQ(contacts.count, 1);
  wake_all(contacts);
  EXPECT_EQ(contacts.woken, (std::vector<char>{0, 1, 1}));
  EXPECT_FALSE(contacts.has(1));
}

TEST(Idle, WhatWouldApproachIsWoken) {
  // The start knows nothing of the push to the right: it ends at the wall, not behind it, and falls no further.
  const ContactProblem problem = make_alley(Vec3(3.0, 0.0, -0.1), 1.0, 1.0);
  Workspace workspace;
  Solution solution;
  solution.v = Vec3::Zero();
  solution.lambda = VecX::Zero(9);
  solution.lambda[2] = 0.1;
  EXPECT_EQ(solve(problem, warm(), workspace, solution), Status::kSolved);
  EXPECT_LT((solution.v - Vec3(1.0, 0.0, 0.0)).norm(), 1e-9);
  EXPECT_NEAR(solution.lambda[8], 2.0, 1e-9);
}

TEST(Idle, IslandsWithoutAWokenContactAreSolvedOnce) {
  // The alley beside a tower, of which nothing is known at the start.
  const ContactProblem alley = make_alley(Vec3(3.0, 0.0, -0.1), 1.0, 1.0), tower = scenes::make_tower(6, 100.0).problem;
  const auto both = [](const VecX& x, const VecX& y) { return VecX((VecX(x.size() + y.size()) << x, y).finished()); };
  const auto diagonal = [](const MatX& x, const MatX& y) {
    MatX xy = MatX::Zero(x.rows() + y.rows(), x.cols() + y.cols());
    xy.topLeftCorner(x.rows(), x.cols()) = x;
    xy.bottomRightCorner(y.rows(), y.cols()) = y;
    return xy;
  };
  const auto b_of = [](const ContactProblem& of) { return VecX(Eigen::Map<const VecX>(of.b.data(), of.num_dofs())); };
  const auto mu_of = [](const ContactProblem& of) {
    VecX mu(of.num_contacts());
    for (int i = 0; i < of.num_contacts(); ++i) mu[i] = of.contacts[i].mu;
    return mu;
  };
  std::vector<int> offsets = {0, 3};
  for (const Subsystem& sub : tower.subsystems) offsets.push_back(3 + sub.offset + sub.dofs);
  const ContactProblem problem =
      make_problem(diagonal(make_dense_A(alley), make_dense_A(tower)), both(b_of(alley), b_of(tower)),
                   diagonal(make_dense_J(alley), make_dense_J(tower)), both(make_dense_e(alley), make_dense_e(tower)),
                   both(mu_of(alley), mu_of(tower)), offsets);
  const auto work = [](const ContactProblem& of, bool loaded) {
    Workspace workspace;
    Solution solution;
    solution.v = VecX::Zero(of.num_dofs());
    solution.lambda = VecX::Zero(of.num_rows());
    if (loaded) solution.lambda[2] = 0.1;
    EXPECT_EQ(solve(of, warm(), workspace, solution), Status::kSolved);
    return solution.info.newton_steps + solution.info.pgs_sweeps + solution.info.admm_iterations;
  };
  const int of_alley = work(alley, true), of_tower = work(tower, false), of_both = work(problem, true);
  EXPECT_GT(of_tower, 10);
  EXPECT_EQ(of_both, of_alley + of_tower);
}

class IdleContactsOf : public ::testing::TestWithParam<int> {};

TEST_P(IdleContactsOf, AStepChangeNothing) {
  // The answer of one problem is the start of the next, whose loads are others by a tenth.
  const scenes::NamedProblem named = testing::unique_problems()[GetParam()];
  ContactProblem problem = named.problem;
  const Solution before = testing::solve_with(problem, SolverKind::kAuto, 1e-9);
  ASSERT_EQ(before.status, Status::kSolved) << named.name;
  for (std::size_t i = 0; i < problem.b.size(); ++i) problem.b[i] *= i % 2 == 0 ? 1.1 : 0.9;
  const Solution reference = testing::solve_with(problem, SolverKind::kAuto, 1e-9);
  if (reference.status != Status::kSolved) GTEST_SKIP() << named.name << " has no answer with other loads";
  Settings settings = warm();
  settings.tol = 1e-9;
  Workspace workspace;
  Solution solution = before;
  EXPECT_EQ(solve(problem, settings, workspace, solution), Status::kSolved) << named.name;
  const VecX q = testing::free_contact_velocity(problem);
  EXPECT_LE((make_dense_J(problem) * (solution.v - reference.v)).norm(), testing::tolerance(1e-6) * q.norm())
      << named.name;
  const Certificate judged = make_certificate(problem, solution.v, solution.lambda);
  EXPECT_LE(judged.residual, settings.tol);
  EXPECT_LE(judged.natural_map, 0.1 * settings.tol);
  EXPECT_EQ(judged.modes[0] + judged.modes[1] + judged.modes[2], problem.num_contacts());
  EXPECT_EQ(solution.certificate.mode.size(), problem.contacts.size());
}

INSTANTIATE_TEST_SUITE_P(Problems, IdleContactsOf, ::testing::Range(0, testing::kNumUniqueProblems),
                         [](const auto& instance) {
                           return testing::test_name(testing::unique_problems()[instance.param].name);
                         });

}  // namespace
}  // namespace almond
