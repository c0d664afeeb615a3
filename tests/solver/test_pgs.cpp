// Projected Gauss-Seidel: exact where one sweep is exact, descending where there is something to descend on, out of its
// limit cycles, and judged by the natural map elsewhere.

#include <gtest/gtest.h>

#include <cmath>

#include "almond/solver/pgs.hpp"
#include "tests/common/helpers.hpp"
#include "tests/solver/island_fixture.hpp"

namespace almond {
namespace {

using testing::OneIsland;

TEST(Pgs, OneContactWithIsotropicInertiaIsExactAfterOneSweep) {
  // A particle: W = I/m, so normal and tangent do not see each other.
  const double mass = 2.0;
  for (const double mu : {0.0, 0.3, 2.0}) {
    for (const double speed : {-1.0, 0.5}) {
      ContactProblem problem;
      const Vec3 velocity(1.0, -0.5, speed);
      problem.add_subsystem(mass * Mat3::Identity(), mass * velocity);
      problem.add_contact(mu, Vec3::Zero(), testing::make_side(0, Mat3::Identity()));
      OneIsland one(problem);
      PgsWorkspace ws;
      PgsOptions options;
      options.fixed = true;
      options.max_sweeps = 1;
      solve_pgs(one.island(), options, one.monitor, ws, one.lambda.data());
      Vec3 expected = Vec3::Zero();
      if (speed < 0.0) {
        expected[2] = -mass * speed;
        expected.head<2>() = -mass * velocity.head<2>();
        const double radius = mu * expected[2], shear = expected.head<2>().norm();
        if (shear > radius) expected.head<2>() *= radius / shear;
      }
      EXPECT_LE((testing::as_vector(one.lambda) - expected).norm(), 1e-14) << mu << " " << speed;
      EXPECT_EQ(one.monitor.pgs_sweeps, 1);
    }
  }
}

TEST(Pgs, OneContactThatSticksIsExactAfterOneSweepThatTriesStick) {
  // A block held at a corner: levers couple normal and tangent, so only all three at once are exact: λ = -W⁻¹ q.
  Mat3 A;
  A << 2.0, 0.3, -0.9, 0.3, 1.0, 0.2, -0.9, 0.2, 1.5;
  const Vec3 free(0.4, -0.2, -1.0);
  const auto sweep = [&](double mu, bool stick) {
    ContactProblem problem;
    problem.add_subsystem(A, A * free);
    problem.add_contact(mu, Vec3::Zero(), testing::make_side(0, Mat3::Identity()));
    OneIsland one(problem);
    PgsWorkspace ws;
    PgsOptions options;
    options.stick = stick;
    options.fixed = true;
    options.max_sweeps = 1;
    solve_pgs(one.island(), options, one.monitor, ws, one.lambda.data());
    return Vec3(testing::as_vector(one.lambda));
  };
  const Vec3 exact = -A * free;  // W = A⁻¹
  ASSERT_LT(exact.head<2>().norm(), 2.0 * exact[2]);
  EXPECT_LE((sweep(2.0, true) - exact).norm(), 1e-14);
  EXPECT_GT((sweep(2.0, false) - exact).norm(), 1e-2);
  // Where the cone does not permit it, it is the sweep that it was.
  ASSERT_GT(exact.head<2>().norm(), 0.2 * exact[2]);
  EXPECT_EQ(sweep(0.2, true), sweep(0.2, false));
}

TEST(Pgs, ContactsWithoutAnInverseAreSweptAsBefore) {
  // Two dofs cannot answer three rows: W has none.
  ContactProblem problem;
  problem.add_subsystem(Eigen::Matrix2d::Identity(), Eigen::Vector2d(0.3, -1.0));
  Eigen::Matrix<double, 3, 2> J;
  J << 1.0, 0.0, 0.0, 0.0, 0.0, 1.0;
  problem.add_contact(0.5, Vec3::Zero(), testing::make_side(0, J));
  OneIsland one(problem);
  PgsWorkspace ws;
  PgsOptions options;
  options.stick = true;
  options.max_sweeps = 4;
  EXPECT_EQ(solve_pgs(one.island(), options, one.monitor, ws, one.lambda.data()), Status::kSolved);
  EXPECT_LE((Vec3(testing::as_vector(one.lambda)) - Vec3(-0.3, 0.0, 1.0)).norm(), 1e-14);
}

TEST(Pgs, ScalarRowsMatchTheirClosedForms) {
  const scenes::NamedProblem named = scenes::make_scalar_rows();
  const Solution solution = testing::solve_with(named.problem, SolverKind::kPgs, 1e-12);
  EXPECT_EQ(solution.status, Status::kSolved);
  EXPECT_LE((solution.v - named.expected_v).norm(), testing::tolerance(1e-11));
}

TEST(Pgs, FixedSweepsAreRunExactlyAndKeepTheDynamics) {
  for (const scenes::NamedProblem& named : {scenes::make_block_pile(6, 1), scenes::make_quadrupeds(2, 1)}) {
    OneIsland one(named.problem);
    PgsWorkspace ws;
    PgsOptions options;
    options.fixed = true;
    options.max_sweeps = 37;
    EXPECT_EQ(solve_pgs(one.island(), options, one.monitor, ws, one.lambda.data()), Status::kMaxIterations);
    EXPECT_EQ(one.monitor.iterations, 37);
    // v was updated 37 times in place: still v = b + Jᵀλ.
    MeasureWorkspace measured;
    measure(one.island(), one.lambda.data(), measured);
    EXPECT_LE((testing::as_vector(ws.v) - testing::as_vector(measured.v)).norm(), 1e-12 * one.island().b_norm);
  }
}

TEST(Pgs, WithoutFrictionEverySweepLowersTheDualEnergy) {
  // min ½λᵀWλ + qᵀλ over λ_n >= 0: each row is minimised exactly in its turn.
  for (std::uint64_t seed = 1; seed <= 5; ++seed) {
    OneIsland one(scenes::make_frictionless(4, 8, seed).problem);
    const MatX J = testing::dense_J(one.island()), W = J * J.transpose();
    const MapConstVec q = testing::as_vector(one.island().q);
    PgsWorkspace ws;
    PgsOptions options;
    options.fixed = true;
    options.max_sweeps = 1;
    double energy = 0.0;
    for (int sweep = 0; sweep < 60; ++sweep) {
      solve_pgs(one.island(), options, one.monitor, ws, one.lambda.data());
      const VecX lambda = testing::as_vector(one.lambda);
      const double next = 0.5 * lambda.dot(W * lambda) + q.dot(lambda);
      EXPECT_LE(next, energy + 1e-14 * q.squaredNorm()) << "seed " << seed << " sweep " << sweep;
      energy = next;
    }
    EXPECT_LT(energy, 0.0);
  }
}

TEST(Pgs, LimitCyclesAreLeftByHalvingOmega) {
  // With ω = 1 and no help these three go round for ever; halving ω when progress stops solves them.
  for (const scenes::NamedProblem& named : {scenes::make_branching_tree(4, 4, 3), scenes::make_branching_tree(4, 4, 52),
                                            scenes::make_random(4, 8, 0.5, 21)}) {
    PgsWorkspace ws;
    PgsOptions options;
    {
      OneIsland one(named.problem);
      options.fixed = true;
      options.max_sweeps = 3000;
      solve_pgs(one.island(), options, one.monitor, ws, one.lambda.data());
      EXPECT_GT(one.monitor.last_natural(), 1e-4) << named.name << " no longer cycles: choose another";
    }
    OneIsland one(named.problem, 1e-9);
    options.fixed = false;
    EXPECT_EQ(solve_pgs(one.island(), options, one.monitor, ws, one.lambda.data()), Status::kSolved) << named.name;
  }
}

TEST(Pgs, AndersonReachesTheSameVelocity) {
  for (const scenes::NamedProblem& named :
       {scenes::make_tower(3, 10.0), scenes::make_frictionless(4, 8, 2), scenes::make_closed_chain(5, 1)}) {
    VecX v[2];
    int sweeps[2];
    for (const int memory : {0, 8}) {
      OneIsland one(named.problem, 1e-10);
      PgsWorkspace ws;
      PgsOptions options;
      options.max_sweeps = 200000;
      options.anderson = memory;
      EXPECT_EQ(solve_pgs(one.island(), options, one.monitor, ws, one.lambda.data()), Status::kSolved) << named.name;
      MeasureWorkspace measured;
      measure(one.island(), one.monitor.best_lambda(), measured);
      v[memory > 0 ? 1 : 0] = testing::as_vector(measured.v);
      sweeps[memory > 0 ? 1 : 0] = one.monitor.pgs_sweeps;
    }
    EXPECT_LE((v[0] - v[1]).norm(), 1e-7 * (1.0 + v[0].norm())) << named.name;
    EXPECT_LE(sweeps[1], 2 * sweeps[0]) << named.name;
  }
}

TEST(Pgs, ProbeStaysWhereSweepsAreEnoughAndLeavesWhereTheyAreNot) {
  PgsWorkspace ws;
  PgsOptions options;
  options.probe = options.max_sweeps = 100;
  {  // a sphere on the ground: a few sweeps
    OneIsland one(scenes::make_thrown_sphere(0.3, 1.0).problem, 1e-10);
    EXPECT_EQ(solve_pgs(one.island(), options, one.monitor, ws, one.lambda.data()), Status::kSolved);
  }
  {  // a heavy box on light ones: thousands
    const ContactProblem tower = scenes::make_tower(5, 1000.0).problem;
    OneIsland one(tower, 1e-10);
    EXPECT_EQ(solve_pgs(one.island(), options, one.monitor, ws, one.lambda.data()), Status::kMaxIterations);
    EXPECT_LE(one.monitor.pgs_sweeps, 32);
    options.least = 40;
    OneIsland again(tower, 1e-10);
    EXPECT_EQ(solve_pgs(again.island(), options, again.monitor, ws, again.lambda.data()), Status::kMaxIterations);
    EXPECT_GE(again.monitor.pgs_sweeps, 40);
    EXPECT_LE(again.monitor.pgs_sweeps, 60);
  }
}

TEST(Pgs, EndsForTheReasonItSays) {
  const ContactProblem jam = scenes::make_wedge_jam().problem;
  PgsWorkspace ws;
  PgsOptions options;
  {
    OneIsland one(jam);
    options.max_sweeps = 50;
    EXPECT_EQ(solve_pgs(one.island(), options, one.monitor, ws, one.lambda.data()), Status::kMaxIterations);
    EXPECT_EQ(one.monitor.pgs_sweeps, 50);
  }
  {
    OneIsland one(jam);
    options.max_sweeps = 100000;
    EXPECT_EQ(solve_pgs(one.island(), options, one.monitor, ws, one.lambda.data()), Status::kInfeasible);
    EXPECT_LT(one.monitor.pgs_sweeps, 2000);
  }
  {
    OneIsland one(jam);
    one.monitor.max_iterations = 7;
    EXPECT_EQ(solve_pgs(one.island(), PgsOptions{}, one.monitor, ws, one.lambda.data()), Status::kMaxIterations);
    EXPECT_EQ(one.monitor.iterations, 7);
  }
}

}  // namespace
}  // namespace almond
