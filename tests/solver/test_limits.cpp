// The edges: problems without a solution, degenerate ones, limits on iterations and time, wild start values, memory. A
// status is always honest and every number finite.

#include <gtest/gtest.h>

#include <Eigen/Cholesky>
#include <cmath>

#include "almond/solver/certificate.hpp"
#include "almond/solver/solve.hpp"
#include "tests/common/allocation.hpp"
#include "tests/common/helpers.hpp"

namespace almond {
namespace {

using scenes::NamedProblem;

class EverySolver : public ::testing::TestWithParam<SolverKind> {};
class JamAware : public ::testing::TestWithParam<SolverKind> {};

const auto kName = [](const auto& instance) { return testing::test_name(to_string(instance.param)); };

INSTANTIATE_TEST_SUITE_P(Solvers, EverySolver, ::testing::ValuesIn(testing::all_solvers()), kName);
INSTANTIATE_TEST_SUITE_P(Solvers, JamAware,
                         ::testing::Values(SolverKind::kAuto, SolverKind::kCanal, SolverKind::kSpn,
                                           SolverKind::kSubAdmm),
                         kName);

// ---- no solution

TEST_P(JamAware, JamsAndOpposedPenetrationsAreCalledInfeasible) {
  for (const NamedProblem& named : {scenes::make_wedge_jam(), scenes::make_opposed_penetrations()}) {
    const Solution solution = testing::solve_with(named.problem, GetParam(), 1e-8);
    EXPECT_EQ(solution.status, Status::kInfeasible) << named.name << ": " << to_string(solution.status);
    testing::expect_finite(solution);
    EXPECT_GT(solution.certificate.natural_map, 1e-3) << named.name;
  }
}

TEST(Jam, IsRecognisedInsideATower) {
  // Two walls close in on one box: w_n of the two contacts add up to -0.2 m/s, whatever v is.
  for (const int boxes : {1, 2, 4, 6}) {
    for (int squeezed = 0; squeezed < boxes; ++squeezed) {
      const NamedProblem named = scenes::make_squeezed_tower(boxes, squeezed);
      for (const SolverKind kind : {SolverKind::kAuto, SolverKind::kCanal}) {
        const Solution solution = testing::solve_with(named.problem, kind, 1e-8);
        EXPECT_EQ(solution.status, Status::kInfeasible)
            << to_string(kind) << " on " << named.name << ": " << to_string(solution.status);
        const VecX w = make_dense_J(named.problem) * solution.v + make_dense_e(named.problem);
        EXPECT_NEAR(w[w.size() - 4] + w[w.size() - 1], -0.2, 1e-9) << named.name;  // the walls come last
      }
    }
  }
}

TEST(Jam, NoVerdictWhereOneMethodAloneSeesIt) {
  // Built backwards from an answer, so there is one; paths of single methods run into jams on these.
  for (const int contacts : {20, 30}) {
    for (std::uint64_t seed = 0; seed < 100; ++seed) {
      const NamedProblem named = scenes::make_nut(contacts, seed);
      EXPECT_NE(testing::solve_with(named.problem, SolverKind::kAuto, 1e-8).status, Status::kInfeasible)
          << contacts << " contacts, seed " << seed;
    }
  }
}

TEST_P(EverySolver, BelowRoundingItEnds) {
  // A tolerance that no double can reach, no budget and no limit of iterations: it gives up by itself.
  for (const NamedProblem& named : {scenes::make_thrown_sphere(0.3, 1.0), scenes::make_spinning_box(0.3, 2.0)}) {
    Settings settings;
    settings.solver = GetParam();
    settings.tol = 1e-20;
    const Solution solution = testing::solve_with(named.problem, settings);
    testing::expect_finite(solution);
    EXPECT_NE(solution.status, Status::kInfeasible) << named.name;
    EXPECT_LE(solution.certificate.natural_map, 1e-9) << named.name << ": " << to_string(solution.status);
  }
}

TEST_P(JamAware, AWarmStartWithoutTimeIsSweptNotLost) {
  // No time at all: what comes back are sweeps of Gauss-Seidel from the start, never a step that was cut off.
  const NamedProblem named = scenes::make_tower(5, 10.0);
  Solution solution = testing::solve_with(named.problem, SolverKind::kAuto, 1e-8);
  solution.lambda *= 0.97;
  const VecX start = solution.lambda;
  const double before = make_certificate(named.problem, compute_velocity(named.problem, start), start).natural_map;
  Settings settings;
  settings.solver = GetParam();
  settings.warm_start = true;
  settings.budget_ms = 1e-6;
  Workspace workspace;
  EXPECT_EQ(solve(named.problem, settings, workspace, solution), Status::kTimeBudget);
  EXPECT_LT(solution.certificate.natural_map, before);
  EXPECT_GT(solution.info.pgs_sweeps, 3);
  testing::expect_finite(solution);
}

TEST_P(JamAware, LeastViolatingAnswerIsReturned) {
  // Floor and ceiling both demand 0.1 m/s of a ball that they hold fast: at best each is missed by 0.1.
  const NamedProblem named = scenes::make_opposed_penetrations();
  const Solution solution = testing::solve_with(named.problem, GetParam(), 1e-8);
  const double least = std::sqrt(2.0) * 0.1 / testing::free_contact_velocity(named.problem).norm();
  EXPECT_LE(solution.certificate.natural_map, (1.0 + testing::tolerance(0.05)) * least);
}

/// Puts the blocks of `other` behind those of `problem`; the two do not touch.
void append(ContactProblem& problem, const ContactProblem& other) {
  const auto base = static_cast<int>(problem.subsystems.size());
  for (std::size_t s = 0; s < other.subsystems.size(); ++s)
    problem.add_subsystem(other.A(static_cast<int>(s)), other.b_of(static_cast<int>(s)));
  for (const Contact& contact : other.contacts) {
    SideInput sides[2];
    for (int s = 0; s < contact.num_sides; ++s) {
      sides[s].subsystem = base + contact.sides[s].subsystem;
      sides[s].J = other.J(contact.sides[s], 3);
    }
    if (contact.num_sides == 1) problem.add_contact(contact.mu, contact.e, sides[0]);
    if (contact.num_sides == 2) problem.add_contact(contact.mu, contact.e, sides[0], sides[1]);
  }
}

TEST_P(JamAware, OneJamDoesNotSpoilTheOtherIslands) {
  const NamedProblem sphere = scenes::make_thrown_sphere(0.3, 1.0), jam = scenes::make_wedge_jam();
  ContactProblem both = sphere.problem;
  append(both, jam.problem);
  both.validate();
  const Solution solution = testing::solve_with(both, GetParam(), 1e-8);
  EXPECT_EQ(solution.status, Status::kInfeasible) << to_string(solution.status);
  EXPECT_EQ(solution.info.islands, 2);
  EXPECT_LE((solution.v.head(6) - sphere.expected_v).norm(), testing::tolerance(1e-6));
}

TEST_P(EverySolver, InfeasibleProblemsGiveFiniteNumbersAndNoClaim) {
  for (const NamedProblem& named : {scenes::make_wedge_jam(), scenes::make_opposed_penetrations()}) {
    const Solution solution = testing::solve_with(named.problem, GetParam(), 1e-8);
    EXPECT_NE(solution.status, Status::kSolved) << named.name;
    testing::expect_finite(solution);
  }
}

TEST_P(EverySolver, NoFalseAlarm) {
  std::vector<NamedProblem> problems = testing::feasible_problems();
  for (const double ratio : {1.0, 1e2, 1e4}) problems.push_back(scenes::make_tower(4, ratio));
  for (const double mu : {0.5, 2.0}) problems.push_back(scenes::make_painleve_rod(mu));
  problems.push_back(scenes::make_redundant_box(4));
  for (std::uint64_t seed = 1; seed <= 3; ++seed) problems.push_back(scenes::make_nut(60, seed));
  for (const NamedProblem& named : problems) {
    Settings settings;
    settings.solver = GetParam();
    settings.budget_ms = 100.0;
    const Solution solution = testing::solve_with(named.problem, settings);
    EXPECT_NE(solution.status, Status::kInfeasible) << named.name;
    EXPECT_NE(solution.status, Status::kNumericalError) << named.name;
  }
}

// ---- degenerate input

TEST_P(EverySolver, NothingAtAll) {
  const Solution solution = testing::solve_with(ContactProblem(), GetParam());
  EXPECT_EQ(solution.status, Status::kSolved);
  EXPECT_EQ(solution.v.size(), 0);
  EXPECT_EQ(solution.lambda.size(), 0);
}

TEST_P(EverySolver, ContactThatMovesNothing) {
  // J = 0: λ has no effect. With e_n >= 0 the law holds at λ = 0, with e_n < 0 it cannot hold at all.
  for (const double bias : {0.3, -0.3}) {
    ContactProblem problem = scenes::make_thrown_sphere(0.3, 1.0).problem;
    SideInput side;
    side.subsystem = 0;
    side.J = MatXr::Zero(3, 6);
    problem.add_contact(0.5, Vec3(0.0, 0.0, bias), side);
    const Solution solution = testing::solve_with(problem, GetParam(), 1e-8);
    testing::expect_finite(solution);
    EXPECT_EQ(solution.status == Status::kSolved, bias > 0.0) << bias << " " << to_string(solution.status);
    EXPECT_LE((solution.v - scenes::make_thrown_sphere(0.3, 1.0).expected_v).norm(), testing::tolerance(1e-6)) << bias;
  }
}

TEST_P(EverySolver, RowsOfZerosInWholeMatrices) {
  const ContactProblem problem =
      make_problem(Mat3::Identity(), Vec3(1, 2, 3), MatX::Zero(3, 3), Vec3(0.0, 0.0, 0.1), VecX::Constant(1, 0.5));
  problem.validate();
  const Solution solution = testing::solve_with(problem, GetParam(), 1e-8);
  EXPECT_EQ(solution.status, Status::kSolved) << to_string(solution.status);
  EXPECT_LE((solution.v - Vec3(1, 2, 3)).norm(), 1e-14);
  EXPECT_EQ(solution.lambda, VecX(VecX::Zero(3)));
}

TEST_P(EverySolver, WhatCannotBeJudgedIsNotCalledSolved) {
  ContactProblem problem;
  problem.add_subsystem(Mat3::Identity(), Vec3(1.0, 0.0, -0.1));
  SideInput side;
  side.subsystem = 0;
  side.J = Mat3::Identity();
  problem.add_contact(0.5, Vec3(0.0, 0.0, 1e300), side);  // its square overflows
  Settings settings;
  settings.solver = GetParam();
  Workspace workspace;
  Solution solution;
  solve(problem, settings, workspace, solution);
  EXPECT_TRUE(solution.v.allFinite() && solution.lambda.allFinite());
  EXPECT_EQ(solution.certificate.residual, kInfinity);
  EXPECT_NE(solution.status, Status::kSolved);
}

TEST_P(EverySolver, WildStartValuesDoNoHarm) {
  const NamedProblem named = scenes::make_dropped_box(1.0);
  for (const double start : {1e6, -1e6, 1e300, kNaN, kInfinity}) {
    Settings settings;
    settings.solver = GetParam();
    settings.warm_start = true;
    settings.budget_ms = 2000.0;
    Workspace workspace;
    Solution solution;
    solution.lambda = VecX::Constant(named.problem.num_rows(), start);
    solution.v = VecX::Constant(named.problem.num_dofs(), start);
    solve(named.problem, settings, workspace, solution);
    SCOPED_TRACE(start);
    testing::expect_finite(solution);
    EXPECT_EQ(solution.status, Status::kSolved);
  }
  // A start of another size is not one.
  Settings settings;
  settings.solver = GetParam();
  settings.warm_start = true;
  Workspace workspace;
  Solution solution;
  solution.lambda = VecX::Ones(5);
  EXPECT_EQ(solve(named.problem, settings, workspace, solution), Status::kSolved);
}

TEST_P(EverySolver, UnitsOfMassDoNotMatterForTheVelocity) {
  for (const double mass : {1e-6, 1e3}) {
    NamedProblem named = scenes::make_spinning_box(0.3, 2.0);
    for (double& value : named.problem.A_pool) value *= mass;
    for (double& value : named.problem.b) value *= mass;
    const Solution solution = testing::solve_with(named.problem, GetParam(), 1e-8);
    testing::expect_finite(solution);
    EXPECT_EQ(solution.status, Status::kSolved) << mass << " " << to_string(solution.status);
    EXPECT_LE((solution.v - named.expected_v).norm(), testing::tolerance(1e-7)) << mass;
  }
}

// ---- limits

TEST_P(EverySolver, OneIterationIsFiniteAndSaysSo) {
  for (const NamedProblem& named : testing::feasible_problems()) {
    Settings settings;
    settings.solver = GetParam();
    settings.max_iterations = 1;
    const Solution solution = testing::solve_with(named.problem, settings);
    testing::expect_finite(solution);
    EXPECT_LE(solution.info.iterations, 1) << named.name;
    const bool good =
        solution.certificate.residual <= settings.tol && solution.certificate.natural_map <= settings.tol / 10;
    EXPECT_EQ(solution.status == Status::kSolved, good) << named.name << " " << to_string(solution.status);
  }
}

TEST_P(EverySolver, TimeBudgetIsKept) {
  const NamedProblem named = scenes::make_spheres(40, 1);
  Settings settings;
  settings.solver = GetParam();
  settings.tol = 1e-15;
  settings.budget_ms = 20.0;
  const Solution solution = testing::solve_with(named.problem, settings);
  testing::expect_finite(solution);
  EXPECT_NE(solution.status, Status::kSolved);
  EXPECT_NE(solution.status, Status::kInfeasible);
  // One linear solve or sweep may end late; a run without limit takes far longer than this.
  EXPECT_LT(solution.info.time_ms, 1000.0);
}

TEST(FixedIterations, AreRunExactly) {
  for (const SolverKind kind :
       {SolverKind::kSubAdmm, SolverKind::kPgs, SolverKind::kAdmmNoSub, SolverKind::kAdmmNoBody}) {
    Settings settings;
    settings.solver = kind;
    settings.fixed_iterations = true;
    for (const int count : {1, 17, 100}) {
      settings.max_iterations = count;
      const Solution solution = testing::solve_with(scenes::make_quadrupeds(2, 1).problem, settings);
      EXPECT_EQ(solution.info.iterations, count) << to_string(kind);
      testing::expect_finite(solution);
    }
    // Also from the answer.
    const NamedProblem named = scenes::make_quadrupeds(2, 1);
    Workspace workspace;
    Solution solution = testing::solve_with(named.problem, SolverKind::kAuto, 1e-8);
    settings.warm_start = true;
    solve(named.problem, settings, workspace, solution);
    EXPECT_EQ(solution.info.iterations, 100) << to_string(kind);
  }
}

TEST_P(EverySolver, TraceEndsAtTheAnswer) {
  Settings settings;
  settings.solver = GetParam();
  settings.trace = true;
  settings.budget_ms = 5000.0;
  const Solution solution = testing::solve_with(scenes::make_random(4, 10, 0.3, 1).problem, settings);
  ASSERT_FALSE(solution.info.trace.empty());
  double time = 0.0, best = kInfinity;
  for (const TracePoint& point : solution.info.trace) {
    EXPECT_GE(point.time_ms, time);
    time = point.time_ms;
    EXPECT_TRUE(std::isfinite(point.natural_map) && std::isfinite(point.residual));
    best = std::min(best, point.natural_map);
  }
  EXPECT_LE(time, solution.info.time_ms + 1e-6);
  if (solution.status == Status::kSolved) {
    EXPECT_LE(best, settings.tol / 10);
  }
}

// ---- one iteration of CANAL is the soft convex contact

Vec3 project_cone(double mu, const Vec3& x) {
  const double tangent = x.head<2>().norm();
  if (tangent <= mu * x[2]) return x;
  if (mu * tangent <= -x[2]) return Vec3::Zero();
  const double normal = (x[2] + mu * tangent) / (1.0 + mu * mu);
  Vec3 result;
  result << mu * normal * x.head<2>() / tangent, normal;
  return result;
}

/// argmin of h (22) with u = 0 and p = μ|q_t|, by an accelerated gradient method in the metric A + β JᵀJ ⪰ ∇²h.
VecX solve_soft_convex(const ContactProblem& problem, double c) {
  const MatX A = make_dense_A(problem), J = make_dense_J(problem);
  const VecX b = MapConstVec(problem.b.data(), problem.num_dofs());
  const Eigen::LLT<MatX> factor(A);
  const MatX W = J * factor.solve(J.transpose());
  const double beta = c / (W.trace() / static_cast<double>(W.rows()));
  VecX e = make_dense_e(problem);
  const VecX q = J * factor.solve(b) + e;
  const int m = problem.num_contacts();
  for (int i = 0; i < m; ++i) e[3 * i + 2] += problem.contacts[i].mu * q.segment<2>(3 * i).norm();
  const Eigen::LLT<MatX> metric(A + beta * J.transpose() * J);
  const auto gradient = [&](const VecX& v) {
    const VecX x = -beta * (J * v + e);
    VecX lambda(3 * m);
    for (int i = 0; i < m; ++i) lambda.segment<3>(3 * i) = project_cone(problem.contacts[i].mu, x.segment<3>(3 * i));
    return VecX(A * v - b - J.transpose() * lambda);
  };
  VecX v = factor.solve(b), y = v;
  double t = 1.0;
  for (int k = 0; k < 100000; ++k) {
    const VecX g = gradient(y), next = y - metric.solve(g);
    if (g.dot(next - v) > 0.0) t = 1.0;
    const double t_next = 0.5 * (1.0 + std::sqrt(1.0 + 4.0 * t * t));
    y = next + (t - 1.0) / t_next * (next - v);
    t = t_next;
    v = next;
    if (gradient(v).norm() <= 1e-14 * b.norm()) break;
  }
  EXPECT_LE(gradient(v).norm(), 1e-12 * b.norm());
  return v;
}

TEST(Canal, OneIterationIsTheSoftConvexContact) {
  // One island each, so that there is one mean of W.
  const NamedProblem problems[] = {scenes::make_slope_block(27.0, 0.5, 0.3),
                                   scenes::make_nut(12, 1),
                                   scenes::make_nut(20, 2),
                                   scenes::make_tower(3, 10.0),
                                   scenes::make_spinning_box(0.3, 2.0),
                                   scenes::make_block_pile(4, 1)};
  for (const NamedProblem& named : problems) {
    Settings settings;
    settings.solver = SolverKind::kCanal;
    settings.max_iterations = 1;
    settings.canal_polish = false;
    const VecX expected = solve_soft_convex(named.problem, settings.canal_c0);
    for (const InnerSolver inner :
         {InnerSolver::kNewton, InnerSolver::kConjugateGradient, InnerSolver::kAcceleratedGradient}) {
      settings.canal_inner = inner;
      const Solution solution = testing::solve_with(named.problem, settings);
      EXPECT_LE((solution.v - expected).norm(), testing::tolerance(1e-7 * (1.0 + expected.norm())))
          << named.name << " inner " << static_cast<int>(inner);
    }
  }
}

// ---- memory

TEST_P(EverySolver, SecondSolveAllocatesNothing) {
  if (!testing::can_count_allocations()) GTEST_SKIP() << "allocations cannot be counted in this build";
  const NamedProblem problems[] = {scenes::make_block_pile(8, 1), scenes::make_quadrupeds(2, 1),
                                   scenes::make_closed_chain(5, 1), scenes::make_nut(40, 1)};
  for (const NamedProblem& named : problems) {
    Settings settings;
    settings.solver = GetParam();
    settings.budget_ms = 3000.0;
    Workspace workspace;
    Solution solution;
    solve(named.problem, settings, workspace, solution);
    const testing::AllocationCounter counter;
    solve(named.problem, settings, workspace, solution);
    EXPECT_EQ(counter.count(), 0) << named.name;
    // Nor when it has to do all the work anew; the answer is the same.
    const VecX v = solution.v, lambda = solution.lambda;
    workspace.forget();
    const testing::AllocationCounter after_forgetting;
    solve(named.problem, settings, workspace, solution);
    EXPECT_EQ(after_forgetting.count(), 0) << named.name;
    EXPECT_TRUE(solution.v == v && solution.lambda == lambda) << named.name;
  }
}

TEST_P(EverySolver, WorkspaceCarriesNothingOver) {
  // A dirty workspace gives the same bits as a fresh one.
  Settings settings;
  settings.solver = GetParam();
  settings.max_iterations = 200;
  Workspace workspace;
  Solution solution;
  for (const NamedProblem& named : {scenes::make_nut(30, 1), scenes::make_quadrupeds(2, 1), scenes::make_nut(20, 2),
                                    scenes::make_block_pile(6, 2)}) {
    const Solution fresh = testing::solve_with(named.problem, settings);
    solve(named.problem, settings, workspace, solution);
    EXPECT_EQ(solution.lambda, fresh.lambda) << named.name;
    EXPECT_EQ(solution.v, fresh.v) << named.name;
    EXPECT_EQ(solution.info.iterations, fresh.info.iterations) << named.name;
  }
}

}  // namespace
}  // namespace almond
