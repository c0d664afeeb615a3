// The words for CANAL's inner solvers mean those solvers: each brings the same contact velocities, and others are
// refused. A workspace that was moved goes on with the same bits.

#include <gtest/gtest.h>

#include "almond/solver/setting_fields.hpp"
#include "almond/solver/solve.hpp"
#include "common/helpers.hpp"

namespace almond::testing {
namespace {

TEST(InnerWords, EachIsASolverThatSolves) {
  const scenes::NamedProblem named = unique_problems().front();
  std::vector<VecX> velocities;
  for (const auto& [word, inner] :
       {std::pair("newton", InnerSolver::kNewton), std::pair("cg", InnerSolver::kConjugateGradient),
        std::pair("apg", InnerSolver::kAcceleratedGradient)}) {
    Settings settings;
    settings.solver = SolverKind::kCanal;
    settings.canal_inner = inner_from_string(word, "--set");
    EXPECT_EQ(settings.canal_inner, inner) << word;
    const Solution solution = solve_with(named.problem, settings);
    EXPECT_EQ(solution.status, Status::kSolved) << word;
    velocities.push_back(contact_velocity(named.problem, solution.v));
    // Both are solved to settings.tol, and the velocity is unique: they agree to what that leaves open.
    EXPECT_LE((velocities.back() - velocities.front()).lpNorm<Eigen::Infinity>(), tolerance(1e-6)) << word;
  }
  for (const char* word : {"", "Newton", "cg ", "admm"})
    EXPECT_EQ(error_of([&] { static_cast<void>(inner_from_string(word, "place")); }),
              "place: expected newton, cg or apg");
}

TEST(Workspaces, CanBeMoved) {
  const scenes::NamedProblem named = hyperstatic_problems().front();
  const Settings settings;
  Workspace stays, first;
  Solution expected, solution;
  for (Workspace* workspace : {&stays, &first}) solve(named.problem, settings, *workspace, solution);
  solve(named.problem, settings, stays, expected);
  Workspace second(std::move(first)), third;
  third = std::move(second);
  solve(named.problem, settings, third, solution);
  EXPECT_EQ(solution.v, expected.v);
  EXPECT_EQ(solution.lambda, expected.lambda);
  EXPECT_EQ(solution.info.iterations, expected.info.iterations);
}

}  // namespace
}  // namespace almond::testing
