// The paper's PGS against ours: one keeps the Delassus matrix, the other velocities, and both take the same steps.

#include <gtest/gtest.h>

#include "almond/solver/solve.hpp"
#include "almond/view/replay.hpp"
#include "bench/delassus_pgs.hpp"
#include "scenes/bottle.hpp"
#include "scenes/problems.hpp"

namespace almond::bench {
namespace {

VecX after_sweeps(const ContactProblem& problem, int sweeps) {
  Settings settings;
  settings.solver = SolverKind::kPgs;
  settings.max_iterations = sweeps;
  settings.fixed_iterations = true;
  Workspace workspace;
  Solution solution;
  solve(problem, settings, workspace, solution);
  return solution.lambda;
}

void expect_same_steps(const ContactProblem& problem) {
  DelassusPgs pgs(problem);
  for (int k = 0; k < 20; ++k) pgs.sweep();
  const VecX ours = after_sweeps(problem, 20);
  EXPECT_LT((pgs.lambda() - ours).norm(), 1e-9 * (1.0 + ours.norm()));
  EXPECT_GT(ours.norm(), 0.0);
}

TEST(DelassusPgs, TakesTheStepsOfTheSolverOnBalls) {
  scenes::Scene scene = scenes::make_bottle_scene(9);
  Simulation sim(scene.model, scene.options);
  for (int k = 0; k < 60; ++k) {
    scene.control(sim);
    static_cast<void>(sim.step());
  }
  const ContactProblem problem = copy_problem(sim, "balls");
  ASSERT_GT(problem.num_contacts(), 9);
  expect_same_steps(problem);
}

TEST(DelassusPgs, TakesTheStepsOfTheSolverWhereNormalAndTangentAreCoupled) {
  expect_same_steps(scenes::make_random(4, 12, 0.5, 7).problem);
}

TEST(DelassusPgs, OneStepForAWholeContactLeadsToTheSameAnswer) {
  const ContactProblem problem = scenes::make_tower(2, 1.0).problem;
  for (const PgsStep step : {PgsStep::kEach, PgsStep::kLargest, PgsStep::kTrace})
    EXPECT_LT(residual_after_sweeps(problem, step, 20000), 1e-9);
}

TEST(DelassusPgs, HoldsRowsAsTheSolverDoes) {
  // One mass between a floor with friction, a stop, a soft row, an equality and dry friction.
  ContactProblem problem;
  const int body = problem.add_subsystem(MatX::Identity(6, 6) * 2.0, VecX::LinSpaced(6, -1.0, 1.5));
  MatXr J = MatXr::Zero(3, 6);
  J.leftCols<3>().setIdentity();
  const auto side = [&](const MatXr& rows) {
    SideInput input;
    input.subsystem = body;
    input.J = rows;
    return input;
  };
  const auto row = [&](int k) {
    MatXr one = MatXr::Zero(1, 6);
    one(0, k) = 1.0;
    return side(one);
  };
  problem.add_contact(0.4, Vec3(0.0, 0.0, -0.3), side(J));
  problem.add_hard(-0.2, {row(3)});
  problem.add_soft(0.1, 2.0, 3.0, {row(4)});
  problem.add_equality(0.05, {row(5)});
  problem.add_bounded(0.0, 0.1, {row(0)});
  problem.validate();
  expect_same_steps(problem);
}

TEST(DelassusPgs, RunEndsAtItsToleranceOrTime) {
  scenes::Scene scene = scenes::make_bottle_scene(9);
  Simulation sim(scene.model, scene.options);
  for (int k = 0; k < 60; ++k) static_cast<void>(sim.step());
  BenchProblem problem;
  problem.problem = copy_problem(sim, "balls");
  const bench::Run solved = run_delassus_pgs(problem, 1e-8, 1e4);
  EXPECT_EQ(solved.status, Status::kSolved);
  EXPECT_LE(solved.certificate.residual, 1e-8);
  const bench::Run stopped = run_delassus_pgs(problem, 0.0, 0.5);
  EXPECT_EQ(stopped.status, Status::kTimeBudget);
  const std::vector<double> times = time_delassus_pgs(problem.problem, 10, 2);
  ASSERT_EQ(times.size(), 11U);
  EXPECT_TRUE(std::is_sorted(times.begin(), times.end()));
}

}  // namespace
}  // namespace almond::bench
