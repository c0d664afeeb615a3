// The strict-surrogate baselines of the ablation: their inner loops descend on ‖r‖ and end where a convex problem says
// they must, their outer loop solves what it can and counts what it cannot.

#include <gtest/gtest.h>

#include <cmath>

#include "almond/solver/baselines/strict_al.hpp"
#include "almond/solver/solve.hpp"
#include "tests/common/helpers.hpp"
#include "tests/solver/island_fixture.hpp"

namespace almond {
namespace {

using scenes::NamedProblem;
using testing::OneIsland;

struct Method {
  SolverKind kind;
  NewtonResult (*inner)(const NewtonOptions&, Monitor&, StrictAlWorkspace&);
  Status (*solve)(const Island&, const StrictAlOptions&, Monitor&, StrictAlWorkspace&, double*);
};

class StrictAl : public ::testing::TestWithParam<Method> {};

INSTANTIATE_TEST_SUITE_P(Methods, StrictAl,
                         ::testing::Values(Method{SolverKind::kDogleg, newton_dogleg, solve_dogleg},
                                           Method{SolverKind::kDampedSn, newton_damped, solve_damped_sn}),
                         [](const auto& instance) { return testing::test_name(to_string(instance.param.kind)); });

void start(const OneIsland& one, double c, StrictAlWorkspace& ws) {
  ws.surrogate.start(one.island());
  ws.surrogate.set_penalty(c);
  ws.surrogate.set_velocity_from(one.lambda.data());
  ws.gradient.resize(one.island().v_size);
  ws.product.resize(one.island().v_size);
}

TEST_P(StrictAl, InnerLoopFindsTheConvexMinimiserWithoutFriction) {
  for (std::uint64_t seed = 1; seed <= 5; ++seed) {
    for (const double c : {1.0, 1e3}) {
      OneIsland one(scenes::make_frictionless(4, 8, seed).problem);
      StrictAlWorkspace ws;
      start(one, c, ws);
      NewtonOptions options;
      options.max_steps = 100;
      options.tolerance = 1e-12 * one.island().b_norm;
      const NewtonResult result = GetParam().inner(options, one.monitor, ws);
      EXPECT_TRUE(result.converged) << "seed " << seed << " c " << c;
      EXPECT_EQ(one.monitor.newton_steps, result.steps);
      Surrogate convex;
      convex.start(one.island());
      convex.set_penalty(c);
      convex.set_velocity_from(one.lambda.data());
      ASSERT_TRUE(convex.newton_convex(options, one.monitor).converged);
      EXPECT_LE((testing::as_vector(ws.surrogate.velocity()) - testing::as_vector(convex.velocity())).norm(),
                1e-10 * one.island().b_norm);
    }
  }
}

TEST_P(StrictAl, InnerLoopNeverRaisesTheMerit) {
  for (const NamedProblem& named : testing::feasible_problems()) {
    OneIsland one(named.problem);
    StrictAlWorkspace ws;
    start(one, 1e3, ws);
    NewtonOptions options;
    options.max_steps = 1;
    options.tolerance = 1e-12 * one.island().b_norm;
    double merit = ws.surrogate.evaluate(true);
    for (int step = 0; step < 25; ++step) {
      const NewtonResult result = GetParam().inner(options, one.monitor, ws);
      // What it says is what is there.
      ws.surrogate.refresh();
      EXPECT_NEAR(ws.surrogate.evaluate(true), result.r_norm, 1e-9 * (result.r_norm + one.island().b_norm))
          << named.name;
      EXPECT_LE(result.r_norm, merit * (1.0 + 1e-9)) << named.name << " step " << step;
      merit = result.r_norm;
      if (result.converged) break;
    }
  }
}

TEST_P(StrictAl, InnerLoopAtItsSolutionDoesNothing) {
  OneIsland one(scenes::make_dropped_box(1.0).problem);
  StrictAlWorkspace ws;
  start(one, 10.0, ws);
  NewtonOptions options;
  options.max_steps = 100;
  options.tolerance = 1e-12 * one.island().b_norm;
  ASSERT_TRUE(GetParam().inner(options, one.monitor, ws).converged);
  options.tolerance *= 10.0;
  const NewtonResult again = GetParam().inner(options, one.monitor, ws);
  EXPECT_TRUE(again.converged);
  EXPECT_EQ(again.steps, 0);
}

TEST_P(StrictAl, ClosedForms) {
  const NamedProblem problems[] = {scenes::make_slope_block(20.0, 0.5, 0.0),
                                   scenes::make_slope_block(35.0, 0.5, 0.1),
                                   scenes::make_spinning_box(0.3, 2.0),
                                   scenes::make_thrown_sphere(0.1, 1.0),
                                   scenes::make_thrown_sphere(1.0, 1.0),
                                   scenes::make_redundant_box(3),
                                   scenes::make_scalar_rows(),
                                   scenes::make_tower(4, 1e4)};
  for (const NamedProblem& named : problems) {
    const Solution solution = testing::solve_with(named.problem, GetParam().kind, 1e-9);
    EXPECT_EQ(solution.status, Status::kSolved) << named.name << ": " << to_string(solution.status);
    EXPECT_LE((solution.v - named.expected_v).norm(), testing::tolerance(1e-7)) << named.name;
  }
}

TEST_P(StrictAl, StatusIsHonestEverywhereAndMostIsSolved) {
  int solved = 0, total = 0, failures = 0;
  for (const NamedProblem& named : testing::feasible_problems()) {
    const Solution solution = testing::solve_with(named.problem, GetParam().kind, 1e-8);
    testing::expect_finite(solution);
    EXPECT_TRUE(solution.status == Status::kSolved || solution.status == Status::kStalled)
        << named.name << ": " << to_string(solution.status);
    if (solution.status == Status::kSolved) {
      EXPECT_LE(solution.certificate.natural_map, 1e-9) << named.name;
    } else {  // it gives up only because its inner loops failed
      EXPECT_GT(solution.info.inner_failures, 0) << named.name;
    }
    EXPECT_LE(solution.info.inner_failures, solution.info.iterations * solution.info.islands) << named.name;
    solved += solution.status == Status::kSolved;
    failures += solution.info.inner_failures;
    ++total;
  }
  EXPECT_GE(solved, total * 3 / 4);
  // The reason why CANAL exists: descent on ‖r‖ gets stuck now and then.
  EXPECT_GT(failures, 0);
}

TEST_P(StrictAl, TenLoopsAreTenLoops) {
  for (const NamedProblem& named : {scenes::make_block_pile(6, 1), scenes::make_tower(3, 10.0)}) {
    Settings settings;
    settings.solver = GetParam().kind;
    settings.max_iterations = 10;
    settings.fixed_iterations = true;
    settings.tol = 1e-3;  // no reason to stop earlier
    const Solution solution = testing::solve_with(named.problem, settings);
    EXPECT_EQ(solution.info.iterations, 10) << named.name;
    EXPECT_GE(solution.info.newton_steps, 1);
    EXPECT_LE(solution.certificate.natural_map, 1e-8) << named.name;
  }
}

TEST_P(StrictAl, TheAnswerIsAFixedPoint) {
  OneIsland first(scenes::make_block_pile(6, 1).problem, 1e-10), again(scenes::make_block_pile(6, 1).problem, 1e-9);
  StrictAlWorkspace ws;
  ASSERT_EQ(GetParam().solve(first.island(), {}, first.monitor, ws, first.lambda.data()), Status::kSolved);
  again.lambda = first.lambda;
  EXPECT_EQ(GetParam().solve(again.island(), {}, again.monitor, ws, again.lambda.data()), Status::kSolved);
  EXPECT_EQ(again.monitor.iterations, 1);
  EXPECT_LE(again.monitor.newton_steps, 3);
}

TEST_P(StrictAl, JamsAreCalledSo) {
  for (const NamedProblem& named : {scenes::make_wedge_jam(), scenes::make_opposed_penetrations()}) {
    OneIsland one(named.problem, 1e-9);
    StrictAlWorkspace ws;
    EXPECT_EQ(GetParam().solve(one.island(), {}, one.monitor, ws, one.lambda.data()), Status::kInfeasible)
        << named.name;
    EXPECT_TRUE(testing::as_vector(one.lambda).allFinite());
  }
}

TEST_P(StrictAl, NoFiniteStartIsSaid) {
  for (const double start : {kNaN, kInfinity, 1e300}) {
    OneIsland one(scenes::make_dropped_box(1.0).problem, 1e-9);
    StrictAlWorkspace ws;
    one.lambda.assign(one.lambda.size(), start);
    EXPECT_EQ(GetParam().solve(one.island(), {}, one.monitor, ws, one.lambda.data()), Status::kNumericalError) << start;
    for (int i = 0; i < one.island().rows; ++i) EXPECT_TRUE(std::isfinite(one.monitor.best_lambda()[i]));
  }
}

}  // namespace
}  // namespace almond
