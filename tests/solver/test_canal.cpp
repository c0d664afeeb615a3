// CANAL: one outer iteration is soft contact in closed form, without friction each one descends on the dual, the answer
// is a fixed point, inner solvers agree, and a jam is called one.

#include <gtest/gtest.h>

#include <cmath>

#include "almond/solver/canal.hpp"
#include "almond/solver/solve.hpp"
#include "tests/common/helpers.hpp"
#include "tests/solver/island_fixture.hpp"

namespace almond {
namespace {

using scenes::NamedProblem;
using testing::OneIsland;

TEST(Canal, OneIterationIsASpringOfKnownStiffness) {
  // A particle that falls at s: m(v + s) = -β v, β = c m.  v = -s/(1 + c), whatever the inner solver.
  const double mass = 3.0, speed = 2.0;
  ContactProblem problem;
  problem.add_subsystem(mass * Mat3::Identity(), Vec3(0.0, 0.0, -mass * speed));
  problem.add_contact(0.5, Vec3::Zero(), testing::make_side(0, Mat3::Identity()));
  for (const InnerSolver inner :
       {InnerSolver::kNewton, InnerSolver::kConjugateGradient, InnerSolver::kAcceleratedGradient}) {
    for (const double c : {1.0, 100.0, 1e4}) {
      OneIsland one(problem);
      CanalWorkspace ws;
      CanalOptions options;
      options.c0 = c;
      options.inner = inner;
      options.max_outer = 1;
      EXPECT_EQ(solve_canal(one.island(), options, one.monitor, ws, one.lambda.data()), Status::kMaxIterations);
      EXPECT_EQ(one.monitor.iterations, 1);
      EXPECT_NEAR(one.lambda[2], mass * speed * c / (1.0 + c), 1e-9 * mass * speed) << c;
    }
  }
}

TEST(Canal, OneIterationUsesTheSlipOfTheFreeVelocity) {
  // Sliding particle, W = I/m: p = μ|u_t| from the free velocity u lifts the contact; x = -β(v + p n), prox of the
  // cone.
  const double mass = 2.0, mu = 0.5, c = 10.0, beta = c * mass;
  const Vec3 u(4.0, 0.0, -1.0);
  ContactProblem problem;
  problem.add_subsystem(mass * Mat3::Identity(), mass * u);
  problem.add_contact(mu, Vec3::Zero(), testing::make_side(0, Mat3::Identity()));
  OneIsland one(problem);
  CanalWorkspace ws;
  CanalOptions options;
  options.c0 = c;
  options.max_outer = 1;
  solve_canal(one.island(), options, one.monitor, ws, one.lambda.data());
  // Slip: λ = s (-μ, 0, 1) with s(1 + μ²) = -β(v_n + p + μ... ), v = u + λ/m: linear in s.
  //   s (1 + μ²) = x_n + μ|x_t|,  x_n = -β(u_n + s/m + μ u_t),  |x_t| = β(u_t - μ s/m)
  const double s = -beta * u[2] / ((1.0 + mu * mu) * (1.0 + beta / mass));
  EXPECT_NEAR(one.lambda[0], -mu * s, 1e-10);
  EXPECT_NEAR(one.lambda[1], 0.0, 1e-12);
  EXPECT_NEAR(one.lambda[2], s, 1e-10);
}

TEST(Canal, WithoutFrictionEveryIterationLowersTheDualEnergy) {
  // The augmented Lagrangian method is the proximal point method on  min ½λᵀWλ + qᵀλ, λ_n >= 0: monotone for every β.
  for (std::uint64_t seed = 1; seed <= 4; ++seed) {
    for (const double kappa : {1.0, 10.0}) {
      const ContactProblem problem = scenes::make_frictionless(4, 8, seed).problem;
      double energy = 0.0;
      for (int outers = 1; outers <= 12; ++outers) {
        OneIsland one(problem);
        CanalWorkspace ws;
        CanalOptions options;
        options.c0 = 3.0;
        options.kappa = kappa;
        options.max_outer = outers;
        const Status status = solve_canal(one.island(), options, one.monitor, ws, one.lambda.data());
        const MatX J = testing::dense_J(one.island());
        const VecX lambda = testing::as_vector(one.lambda), q = testing::as_vector(one.island().q);
        const double next = 0.5 * (J.transpose() * lambda).squaredNorm() + q.dot(lambda);
        EXPECT_LE(next, energy + 1e-12 * q.squaredNorm()) << "seed " << seed << " outers " << outers;
        energy = next;
        if (status == Status::kSolved) break;
      }
      EXPECT_LT(energy, 0.0);
    }
  }
}

TEST(Canal, TheAnswerIsAFixedPoint) {
  for (const NamedProblem& named : testing::feasible_problems()) {
    OneIsland first(named.problem, 1e-10), again(named.problem, 1e-9);
    CanalWorkspace ws;
    if (solve_canal(first.island(), {}, first.monitor, ws, first.lambda.data()) != Status::kSolved) continue;
    again.lambda = first.lambda;
    EXPECT_EQ(solve_canal(again.island(), {}, again.monitor, ws, again.lambda.data()), Status::kSolved) << named.name;
    EXPECT_LE(again.monitor.iterations, 1) << named.name;
    EXPECT_LE(again.monitor.newton_steps, 3) << named.name;
    MeasureWorkspace a, b;
    measure(first.island(), first.lambda.data(), a);
    measure(again.island(), again.lambda.data(), b);
    EXPECT_LE((testing::as_vector(a.v) - testing::as_vector(b.v)).norm(), 1e-7 * first.island().b_norm) << named.name;
  }
}

TEST(Canal, WarmStartAtTheSolutionTakesNoIteration) {
  const NamedProblem named = scenes::make_block_pile(6, 1);
  Solution solution = testing::solve_with(named.problem, SolverKind::kCanal, 1e-9);
  ASSERT_EQ(solution.status, Status::kSolved);
  Settings settings;
  settings.solver = SolverKind::kCanal;
  settings.warm_start = true;
  Workspace workspace;
  EXPECT_EQ(solve(named.problem, settings, workspace, solution), Status::kSolved);
  EXPECT_EQ(solution.info.iterations, 0);
}

TEST(Canal, InnerSolversReachTheSameVelocity) {
  for (const NamedProblem& named :
       {scenes::make_slope_block(20.0, 0.5, 0.0), scenes::make_spinning_box(0.3, 2.0),
        scenes::make_frictionless(4, 8, 1), scenes::make_nut(12, 1), scenes::make_closed_chain(4, 1)}) {
    VecX reference;
    for (const InnerSolver inner :
         {InnerSolver::kNewton, InnerSolver::kConjugateGradient, InnerSolver::kAcceleratedGradient}) {
      Settings settings;
      settings.solver = SolverKind::kCanal;
      settings.canal_inner = inner;
      settings.canal_c_max = 1e3;  // first-order methods pay with the square root of c
      settings.tol = 1e-8;
      settings.budget_ms = 10000.0;
      const Solution solution = testing::solve_with(named.problem, settings);
      EXPECT_EQ(solution.status, Status::kSolved) << named.name << " inner " << static_cast<int>(inner);
      if (inner == InnerSolver::kNewton) reference = solution.v;
      EXPECT_LE((solution.v - reference).norm(), testing::tolerance(1e-6)) << named.name;
    }
  }
}

TEST(Canal, PolishRemovesTheLagAndKeepsTheAnswer) {
  for (const NamedProblem& named : {scenes::make_random(4, 8, 0.4, 1), scenes::make_quadrupeds(2, 1)}) {
    VecX v[2];
    for (const bool polish : {false, true}) {
      OneIsland one(named.problem, 1e-9);
      CanalWorkspace ws;
      CanalOptions options;
      options.polish = polish;
      EXPECT_EQ(solve_canal(one.island(), options, one.monitor, ws, one.lambda.data()), Status::kSolved) << named.name;
      MeasureWorkspace measured;
      measure(one.island(), one.lambda.data(), measured);
      v[polish ? 1 : 0] = testing::as_vector(measured.v);
    }
    EXPECT_LE((v[0] - v[1]).norm(), 1e-6 * (1.0 + v[0].norm())) << named.name;
  }
}

TEST(Canal, JamsAreCalledSo) {
  for (const NamedProblem& named : {scenes::make_wedge_jam(), scenes::make_opposed_penetrations()}) {
    OneIsland one(named.problem, 1e-9);
    CanalWorkspace ws;
    EXPECT_EQ(solve_canal(one.island(), {}, one.monitor, ws, one.lambda.data()), Status::kInfeasible) << named.name;
    EXPECT_TRUE(testing::as_vector(one.lambda).allFinite());
  }
}

TEST(Canal, NoFiniteStartIsSaid) {
  OneIsland one(scenes::make_dropped_box(1.0).problem, 1e-9);
  CanalWorkspace ws;
  one.lambda.assign(one.lambda.size(), kNaN);
  EXPECT_EQ(solve_canal(one.island(), {}, one.monitor, ws, one.lambda.data()), Status::kNumericalError);
  for (int i = 0; i < one.island().rows; ++i) EXPECT_TRUE(std::isfinite(one.monitor.best_lambda()[i]));
}

}  // namespace
}  // namespace almond
