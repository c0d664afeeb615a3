// Strict proximal Newton: closed forms at every mass ratio, a fixed point at the answer, quick where lagging p is slow,
// and a jam called one.

#include <gtest/gtest.h>

#include <cmath>

#include "almond/solver/canal.hpp"
#include "almond/solver/spn.hpp"
#include "tests/common/helpers.hpp"
#include "tests/solver/island_fixture.hpp"

namespace almond {
namespace {

using scenes::NamedProblem;
using testing::OneIsland;

TEST(Spn, TowersRestAtEveryMassRatio) {
  for (const int boxes : {2, 4, 8}) {
    for (const double ratio : {1.0, 1e2, 1e4}) {
      const NamedProblem named = scenes::make_tower(boxes, ratio);
      const Solution solution = testing::solve_with(named.problem, SolverKind::kSpn, 1e-9);
      EXPECT_EQ(solution.status, Status::kSolved) << boxes << " boxes, ratio " << ratio;
      EXPECT_LE((solution.v - named.expected_v).norm(), testing::tolerance(1e-7)) << boxes << " " << ratio;
    }
  }
}

TEST(Spn, ClosedForms) {
  const NamedProblem problems[] = {scenes::make_slope_block(20.0, 0.5, 0.0),
                                   scenes::make_slope_block(35.0, 0.5, 0.1),
                                   scenes::make_spinning_box(0.3, 2.0),
                                   scenes::make_thrown_sphere(0.1, 1.0),
                                   scenes::make_thrown_sphere(1.0, 1.0),
                                   scenes::make_redundant_box(3),
                                   scenes::make_scalar_rows(),
                                   scenes::make_dropped_box(1.0)};
  for (const NamedProblem& named : problems) {
    const Solution solution = testing::solve_with(named.problem, SolverKind::kSpn, 1e-10);
    EXPECT_EQ(solution.status, Status::kSolved) << named.name;
    EXPECT_LE((solution.v - named.expected_v).norm(), testing::tolerance(1e-8)) << named.name;
  }
}

TEST(Spn, TheAnswerIsAFixedPoint) {
  for (const NamedProblem& named : testing::feasible_problems()) {
    OneIsland first(named.problem, 1e-10), again(named.problem, 1e-9);
    SpnWorkspace ws;
    ASSERT_EQ(solve_spn(first.island(), {}, first.monitor, ws, first.lambda.data()), Status::kSolved) << named.name;
    again.lambda = first.lambda;
    EXPECT_EQ(solve_spn(again.island(), {}, again.monitor, ws, again.lambda.data()), Status::kSolved) << named.name;
    EXPECT_LE(again.monitor.iterations, 1) << named.name;
    EXPECT_LE(again.monitor.newton_steps, 3) << named.name;
  }
}

TEST(Spn, NeedsFewerOutersThanLaggingP) {
  // Sliding nuts: every contact slips, and CANAL without polish waits for p.
  int spn = 0, canal = 0;
  for (std::uint64_t seed = 1; seed <= 4; ++seed) {
    const ContactProblem problem = scenes::make_nut(24, seed).problem;
    OneIsland one(problem, 1e-9), two(problem, 1e-9);
    SpnWorkspace spn_ws;
    CanalWorkspace canal_ws;
    CanalOptions options;
    options.polish = false;
    EXPECT_EQ(solve_spn(one.island(), {}, one.monitor, spn_ws, one.lambda.data()), Status::kSolved) << seed;
    solve_canal(two.island(), options, two.monitor, canal_ws, two.lambda.data());
    spn += one.monitor.iterations;
    canal += two.monitor.iterations;
  }
  EXPECT_LT(spn, canal);
}

TEST(Spn, LimitsAreKept) {
  OneIsland one(scenes::make_block_pile(6, 1).problem, 1e-15);
  SpnWorkspace ws;
  SpnOptions options;
  options.max_outer = 2;
  EXPECT_EQ(solve_spn(one.island(), options, one.monitor, ws, one.lambda.data()), Status::kMaxIterations);
  EXPECT_EQ(one.monitor.iterations, 2);
  EXPECT_LE(one.monitor.newton_steps, 2 * (3 * 15 + 50));
}

TEST(Spn, BelowRoundingItSaysStalled) {
  // A goal that no double can reach.
  OneIsland one(scenes::make_random(4, 8, 0.4, 1).problem, 1e-30);
  SpnWorkspace ws;
  EXPECT_EQ(solve_spn(one.island(), {}, one.monitor, ws, one.lambda.data()), Status::kStalled);
  EXPECT_LE(one.monitor.best_natural(), 1e-12);
}

TEST(Spn, JamsAreCalledSo) {
  for (const NamedProblem& named : {scenes::make_wedge_jam(), scenes::make_opposed_penetrations()}) {
    OneIsland one(named.problem, 1e-9);
    SpnWorkspace ws;
    EXPECT_EQ(solve_spn(one.island(), {}, one.monitor, ws, one.lambda.data()), Status::kInfeasible) << named.name;
    EXPECT_TRUE(testing::as_vector(one.lambda).allFinite());
    EXPECT_LE(one.monitor.newton_steps, 200) << named.name;
  }
}

TEST(Spn, NoFiniteStartIsSaid) {
  OneIsland one(scenes::make_dropped_box(1.0).problem, 1e-9);
  SpnWorkspace ws;
  one.lambda.assign(one.lambda.size(), kNaN);
  EXPECT_EQ(solve_spn(one.island(), {}, one.monitor, ws, one.lambda.data()), Status::kNumericalError);
  for (int i = 0; i < one.island().rows; ++i) EXPECT_TRUE(std::isfinite(one.monitor.best_lambda()[i]));
}

}  // namespace
}  // namespace almond
