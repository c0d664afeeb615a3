// What is left when time is up: nothing approaches, nothing is thrown, an exact answer stays as it is.

#include <gtest/gtest.h>

#include <cmath>

#include "almond/solver/shock.hpp"
#include "almond/solver/solve.hpp"
#include "tests/common/helpers.hpp"
#include "tests/solver/island_fixture.hpp"

namespace almond {
namespace {

using testing::as_vector;
using testing::OneIsland;

constexpr double kLeft = 1e-6;  // of approach, where sweeps ended [m/s]: 4 nm a step

/// Σ ½ v² of whitened velocities: the kinetic energy.
double energy(const std::vector<double>& v) { return 0.5 * as_vector(v).squaredNorm(); }

double deepest_approach(const Island& island, const std::vector<double>& v) {
  std::vector<double> side(island.side_rows), w(island.rows);
  multiply_J(island, v.data(), side.data());
  gather_sides(island, side.data(), true, w.data());
  double worst = 0.0;
  for (int i = 0; i < island.num_contacts; ++i) worst = std::max(worst, -w[3 * i + 2]);
  return worst;
}

TEST(Shock, FallingTowerStopsAtOnceWhateverItsTopWeighs) {
  for (const double ratio : {1.0, 50.0, 1e4}) {
    OneIsland one(scenes::make_tower(10, ratio).problem);
    MeasureWorkspace measured;
    measure(one.island(), one.lambda.data(), measured);  // λ = 0: everything falls
    ASSERT_GT(deepest_approach(one.island(), measured.v), 1e-3);
    ShockWorkspace ws;
    ASSERT_TRUE(stop_approach(one.island(), one.lambda.data(), measured, ws));
    EXPECT_LE(deepest_approach(one.island(), ws.v), kLeft) << ratio;
    EXPECT_LE(energy(ws.v), 1e-6 * energy(measured.v)) << ratio;  // the answer is rest
  }
}

TEST(Shock, ExactAnswersStay) {
  for (const ContactProblem& problem : {scenes::make_tower(6, 20.0).problem, scenes::make_quadrupeds(2, 3).problem,
                                        scenes::make_random(8, 20, 0.5, 1).problem}) {
    OneIsland one(problem);
    Settings settings;
    settings.tol = 1e-12;
    Workspace workspace;
    Solution solution;
    ASSERT_EQ(solve(problem, settings, workspace, solution), Status::kSolved);
    const Island& island = one.island();
    for (int i = 0; i < island.num_constraints; ++i) {
      const Constraint& c = island.constraints[i];
      for (int r = 0; r < c.dim; ++r) one.lambda[c.row + r] = solution.lambda[problem_row(problem, island, i) + r];
    }
    MeasureWorkspace measured;
    measure(island, one.lambda.data(), measured);
    ShockWorkspace ws;
    if (!stop_approach(island, one.lambda.data(), measured, ws)) continue;
    EXPECT_LE((as_vector(ws.v) - as_vector(measured.v)).norm(),
              testing::tolerance(1e-8) * (1.0 + as_vector(measured.v).norm()));
  }
}

/// A mass of 1 kg on the ground that λ carries, sliding: friction may take μ times its weight, and not more.
TEST(Shock, SlidingIsStoppedAsFarAsFrictionReaches) {
  constexpr double kMu = 0.5, kWeight = 1.0;
  for (const double speed : {0.3, 0.8}) {
    ContactProblem problem;
    problem.add_subsystem(Mat3::Identity(), Vec3(speed, 0.0, -kWeight));
    problem.add_contact(kMu, Vec3::Zero(), testing::make_side(0, Mat3::Identity()));
    OneIsland one(problem);
    one.lambda[2] = kWeight;
    MeasureWorkspace measured;
    measure(one.island(), one.lambda.data(), measured);
    ShockWorkspace ws;
    ASSERT_TRUE(stop_approach(one.island(), one.lambda.data(), measured, ws));
    EXPECT_NEAR(as_vector(ws.v).norm(), std::max(0.0, speed - kMu * kWeight), 1e-6) << speed;
  }
}

TEST(Shock, WhatTouchesNoGroundIsLeftAlone) {
  ContactProblem problem;
  for (int k = 0; k < 2; ++k) problem.add_subsystem(Mat3::Identity(), Vec3(0.0, 0.0, k == 0 ? 1.0 : -1.0));
  problem.add_contact(0.5, Vec3::Zero(), testing::make_side(0, -Mat3::Identity()),
                      testing::make_side(1, Mat3::Identity()));
  OneIsland one(problem);
  MeasureWorkspace measured;
  measure(one.island(), one.lambda.data(), measured);
  ShockWorkspace ws;
  EXPECT_FALSE(stop_approach(one.island(), one.lambda.data(), measured, ws));
}

/// A joint at its limit and nothing else, as a robot in the air has it: nothing to stop, and no contacts to share by.
TEST(Shock, RowsWithoutContactsAreNoApproach) {
  ContactProblem problem;
  problem.add_subsystem(MatX::Identity(2, 2), VecX::Constant(2, -1.0));
  const SideInput side{0, MatX::Identity(1, 2), -1, {}};
  problem.add_hard(0.0, {side});
  OneIsland one(problem);
  MeasureWorkspace measured;
  measure(one.island(), one.lambda.data(), measured);
  ShockWorkspace ws;
  EXPECT_FALSE(stop_approach(one.island(), one.lambda.data(), measured, ws));

  Settings settings;
  settings.warm_start = true;
  settings.budget_ms = 1e-6;
  Workspace workspace;
  Solution solution;
  solution.lambda.setZero(problem.num_rows());
  solution.v.setZero(problem.num_dofs());
  solve(problem, settings, workspace, solution);
  testing::expect_finite(solution);
}

/// A budget of almost nothing: the tower would fall through itself, and stands.
TEST(Shock, SolveThatIsCutOffLetsNothingApproach) {
  const ContactProblem problem = scenes::make_tower(40, 1000.0).problem;
  for (const SolverKind kind : {SolverKind::kAuto, SolverKind::kCanal, SolverKind::kSubAdmm}) {
    Settings settings;
    settings.solver = kind;
    settings.budget_ms = 0.02;
    settings.warm_start = true;
    Workspace workspace;
    Solution solution;
    solution.lambda.setZero(problem.num_rows());
    solution.v.setZero(problem.num_dofs());
    solve(problem, settings, workspace, solution);
    if (solution.status != Status::kTimeBudget) continue;  // a machine of the future
    const VecX w = make_dense_J(problem) * solution.v + make_dense_e(problem);
    for (int i = 0; i < problem.num_contacts(); ++i) EXPECT_GE(w[3 * i + 2], -kLeft) << i;
    EXPECT_GT(solution.certificate.residual, 1e-8);  // and does not call it exact
  }
}

}  // namespace
}  // namespace almond
