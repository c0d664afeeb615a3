// The problem of a state is the one that a step solves.

#include <gtest/gtest.h>

#include "almond/base/check.hpp"
#include "almond/sim/next_problem.hpp"
#include "almond/sim/step.hpp"
#include "scenes/parts.hpp"

namespace almond {
namespace {

TEST(NextProblem, IsWhatTheStepSolves) {
  Simulation sim(scenes::make_tower_model(3, 2.0, 0.5));
  for (int k = 0; k < 20; ++k) static_cast<void>(sim.step());
  const ContactProblem problem = next_problem(sim.model(), sim.options(), sim.inputs(), sim.state());
  const State before = sim.state();
  static_cast<void>(sim.step());
  const ContactProblem& solved = sim.last().assembly.problem;
  ASSERT_EQ(problem.num_contacts(), solved.num_contacts());
  ASSERT_GT(problem.num_contacts(), 0);
  EXPECT_EQ(make_dense_J(problem), make_dense_J(solved));
  EXPECT_EQ(make_dense_A(problem), make_dense_A(solved));
  // Solved on its own it gives the velocities of the step.
  Settings settings = sim.options().solver;
  settings.warm_start = false;
  Workspace workspace;
  Solution solution;
  EXPECT_EQ(solve(problem, settings, workspace, solution), Status::kSolved);
  EXPECT_LE((VecX(solution.v) - sim.state().v).norm(), 1e-6);
  EXPECT_NE(before.time, sim.state().time);
}

TEST(NextProblem, RefusesWhatIsNotOfTheModel) {
  Simulation sim(scenes::make_tower_model(3, 2.0, 0.5));
  State state = sim.state();
  state.v.conservativeResize(5);
  EXPECT_THROW(static_cast<void>(next_problem(sim.model(), sim.options(), sim.inputs(), state)), Error);
  Inputs inputs = sim.inputs();
  inputs.wrenches.resize(1);
  EXPECT_THROW(static_cast<void>(next_problem(sim.model(), sim.options(), inputs, sim.state())), Error);
}

}  // namespace
}  // namespace almond
