// A solve that is asked to stop ends at the next look at the clock with a finite answer, and the workspace serves the
// next solve as if nothing had been. Against the same solve that nobody stops.

#include <gtest/gtest.h>

#include "almond/solver/stop.hpp"
#include "tests/solver/island_fixture.hpp"

namespace almond {
namespace {

/// Blocks in a row that push each other and slide: far from done after a few iterations.
ContactProblem make_row(int blocks) {
  ContactProblem problem;
  for (int k = 0; k < blocks; ++k) problem.add_subsystem(Mat3::Identity(), Vec3(1.0 / (k + 1), 0.1 * k, -0.5));
  for (int k = 0; k < blocks; ++k)
    problem.add_contact(0.4, Vec3(0.0, 0.0, 0.01 * k), testing::make_side(k, Mat3::Identity()));
  for (int k = 0; k + 1 < blocks; ++k)
    problem.add_contact(0.3, Vec3::Zero(), testing::make_side(k, -Mat3::Identity()),
                        testing::make_side(k + 1, Mat3::Identity()));
  problem.validate();
  return problem;
}

TEST(Stop, EverySolverEndsAtTheNextLookAndServesTheNextSolve) {
  const ContactProblem problem = make_row(12);
  for (int kind = 0; kind < kNumSolverKinds; ++kind) {
    Settings endless;
    endless.solver = static_cast<SolverKind>(kind);
    endless.tol = 1e-300;
    Workspace workspace;
    Solution stopped;
    int asked = 0;
    set_stop(workspace, [&] { return ++asked > 2; });
    EXPECT_NE(solve(problem, endless, workspace, stopped), Status::kSolved) << to_string(endless.solver);
    EXPECT_GT(asked, 2) << to_string(endless.solver);
    EXPECT_TRUE(stopped.v.allFinite() && stopped.lambda.allFinite());

    Settings plain;
    plain.solver = endless.solver;
    Solution after, fresh;
    Workspace other;
    set_stop(workspace, {});
    workspace.forget();
    EXPECT_EQ(solve(problem, plain, workspace, after), solve(problem, plain, other, fresh));
    EXPECT_EQ((after.v - fresh.v).norm(), 0.0) << to_string(endless.solver);
  }
}

TEST(Stop, RunsOfAFixedLengthEndToo) {
  const ContactProblem problem = make_row(6);
  for (const SolverKind kind : {SolverKind::kPgs, SolverKind::kSubAdmm, SolverKind::kDogleg}) {
    Settings settings;
    settings.solver = kind;
    settings.fixed_iterations = true;
    settings.max_iterations = 1000000000;
    Workspace workspace;
    Solution solution;
    set_stop(workspace, [] { return true; });
    solve(problem, settings, workspace, solution);
    EXPECT_LT(solution.info.iterations, 1000) << to_string(kind);
    EXPECT_TRUE(solution.v.allFinite());
  }
}

TEST(Stop, OneThatSaysNoChangesNothing) {
  const ContactProblem problem = make_row(8);
  Workspace asked, alone;
  Solution a, b;
  set_stop(asked, [] { return false; });
  EXPECT_EQ(solve(problem, Settings{}, asked, a), Status::kSolved);
  EXPECT_EQ(solve(problem, Settings{}, alone, b), Status::kSolved);
  EXPECT_EQ((a.lambda - b.lambda).norm(), 0.0);
}

}  // namespace
}  // namespace almond
