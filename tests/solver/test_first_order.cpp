// Factor-free inner solvers of CANAL's convex subproblem: they end at the minimiser that Newton finds.

#include <gtest/gtest.h>

#include <cmath>

#include "almond/solver/first_order.hpp"
#include "tests/solver/island_fixture.hpp"

namespace almond {
namespace {

using testing::OneIsland;

class FirstOrder : public ::testing::TestWithParam<InnerSolver> {};

INSTANTIATE_TEST_SUITE_P(Methods, FirstOrder,
                         ::testing::Values(InnerSolver::kConjugateGradient, InnerSolver::kAcceleratedGradient),
                         [](const auto& instance) {
                           return instance.param == InnerSolver::kConjugateGradient ? "ConjugateGradient"
                                                                                    : "AcceleratedGradient";
                         });

std::vector<ContactProblem> make_problems() {
  scenes::Random random(1);
  return {scenes::make_random(4, 8, 0.4, 1).problem, scenes::make_nut(12, 1).problem,
          scenes::make_closed_chain(5, 1).problem, scenes::make_frictionless(4, 8, 1).problem,
          testing::make_graph_problem({{6, 3, 7}, {{0, 1}, {1, 2}, {2, -1}, {0, -1}, {2, 2}}}, true, random)};
}

void start(const OneIsland& one, double c, Surrogate& surrogate) {
  surrogate.start(one.island());
  surrogate.set_penalty(c);
  surrogate.set_velocity_from(one.lambda.data());
  surrogate.lag_p(1.0);
}

TEST_P(FirstOrder, EndsWhereNewtonEnds) {
  for (const ContactProblem& problem : make_problems()) {
    for (const double c : {1.0, 100.0}) {
      OneIsland one(problem);
      NewtonOptions options;
      options.max_steps = 50;
      options.tolerance = 1e-10 * one.island().b_norm;
      Surrogate newton, mine;
      start(one, c, newton);
      ASSERT_TRUE(newton.newton_convex(options, one.monitor).converged);
      start(one, c, mine);
      const NewtonResult result = minimize_first_order(GetParam(), options, one.monitor, mine);
      EXPECT_TRUE(result.converged) << "c " << c << " after " << result.steps;
      // ∇h = r and ∇²h >= I: the distance to the minimiser is at most ‖r‖.
      EXPECT_LE((testing::as_vector(mine.velocity()) - testing::as_vector(newton.velocity())).norm(),
                2.0 * result.r_norm + 2.0 * options.tolerance + 1e-12 * one.island().b_norm);
    }
  }
}

TEST_P(FirstOrder, CountsItsStepsAndKeepsItsLimit) {
  OneIsland one(make_problems()[1]);
  Surrogate surrogate;
  start(one, 1e4, surrogate);
  NewtonOptions options;
  options.max_steps = 1;
  options.tolerance = 1e-300;
  options.stuck_factor = 1.0;
  const NewtonResult result = minimize_first_order(GetParam(), options, one.monitor, surrogate);
  EXPECT_GT(result.steps, 0);
  EXPECT_EQ(one.monitor.newton_steps, result.steps);
  EXPECT_LE(result.steps, 200);
  for (const double v : surrogate.velocity()) EXPECT_TRUE(std::isfinite(v));
}

TEST_P(FirstOrder, AtTheMinimiserThereIsNothingToDo) {
  OneIsland one(make_problems()[0]);
  Surrogate surrogate;
  start(one, 10.0, surrogate);
  NewtonOptions options;
  options.max_steps = 50;
  options.tolerance = 1e-12 * one.island().b_norm;
  ASSERT_TRUE(surrogate.newton_convex(options, one.monitor).converged);
  options.tolerance = 1e-10 * one.island().b_norm;
  const NewtonResult result = minimize_first_order(GetParam(), options, one.monitor, surrogate);
  EXPECT_TRUE(result.converged);
  EXPECT_EQ(result.steps, 0);
}

}  // namespace
}  // namespace almond
