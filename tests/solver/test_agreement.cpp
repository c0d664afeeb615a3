// Solvers that share no iteration agree in the contact velocity J v (never in λ, which is not unique), and trees, warm
// starts and μ = 0 change nothing.

#include <gtest/gtest.h>

#include <Eigen/Cholesky>
#include <cmath>
#include <string>

#include "almond/solver/certificate.hpp"
#include "almond/solver/solve.hpp"
#include "tests/common/helpers.hpp"

namespace almond {
namespace {

using scenes::NamedProblem;

double velocity_difference(const ContactProblem& problem, const VecX& v, const VecX& reference) {
  const VecX q = testing::free_contact_velocity(problem);
  return (make_dense_J(problem) * (v - reference)).norm() / q.norm();
}

bool is_main(SolverKind kind) { return kind <= SolverKind::kPgs; }

class Agreement : public ::testing::TestWithParam<int> {};

TEST_P(Agreement, InContactVelocity) {
  const NamedProblem named = testing::unique_problems()[GetParam()];
  const ContactProblem& problem = named.problem;
  const Solution reference = testing::solve_with(problem, SolverKind::kAuto, 1e-9);
  ASSERT_EQ(reference.status, Status::kSolved) << named.name << " " << to_string(reference.status);
  for (const SolverKind kind : testing::all_solvers()) {
    const Solution solution = testing::solve_with(problem, kind, 1e-9);
    testing::expect_finite(solution);
    // The baselines may stall, as published; what they call solved must still be the same answer.
    if (is_main(kind)) {
      EXPECT_EQ(solution.status, Status::kSolved)
          << to_string(kind) << " on " << named.name << ": " << to_string(solution.status) << ", natural map "
          << solution.certificate.natural_map;
    }
    if (solution.status != Status::kSolved) continue;
    EXPECT_LE(velocity_difference(problem, solution.v, reference.v), testing::tolerance(1e-6))
        << to_string(kind) << " on " << named.name;
  }
}

INSTANTIATE_TEST_SUITE_P(Problems, Agreement, ::testing::Range(0, testing::kNumUniqueProblems),
                         [](const auto& instance) {
                           return testing::test_name(testing::unique_problems()[instance.param].name);
                         });

TEST(Agreement, ManyAnswersAreAllCertified) {
  // Hyperstatic contact with friction: v is not unique either (a wedged block may move or not), so solvers differ and
  // each answer is judged by itself.
  for (const NamedProblem& named : testing::hyperstatic_problems())
    for (const SolverKind kind : testing::all_solvers()) {
      if (!is_main(kind)) continue;
      const Solution solution = testing::solve_with(named.problem, kind, 1e-8);
      const std::string what = std::string(to_string(kind)) + " on " + named.name + ": " + to_string(solution.status);
      const Certificate certificate = make_certificate(named.problem, solution.v, solution.lambda);
      if (solution.status == Status::kSolved) {
        EXPECT_LE(certificate.natural_map, 1e-9) << what;
        EXPECT_LE(certificate.residual, 1e-8) << what;
      } else {  // first-order and lagged methods may give up on a wedge, and then say so
        EXPECT_NE(kind, SolverKind::kAuto) << what;
        EXPECT_EQ(solution.status, Status::kStalled) << what << ", natural map " << certificate.natural_map;
      }
    }
}

TEST(Agreement, StatedStatusMatchesTheCertificate) {
  // Whatever a solver claims, an independent certificate of its λ says the same, up to rounding (1e-11 is 1% of the
  // goal).
  for (const NamedProblem& named : testing::feasible_problems())
    for (const SolverKind kind : testing::all_solvers()) {
      Settings settings;
      settings.solver = kind;
      settings.budget_ms = 100.0;
      const Solution solution = testing::solve_with(named.problem, settings);
      const Certificate c = make_certificate(named.problem, solution.v, solution.lambda);
      const Certificate& stated = solution.certificate;
      EXPECT_LE(c.dynamics_residual, 1e-9) << to_string(kind) << " on " << named.name;
      EXPECT_NEAR(c.natural_map, stated.natural_map, 1e-3 * c.natural_map + 1e-11)
          << to_string(kind) << " on " << named.name;
      EXPECT_NEAR(c.residual, stated.residual, 1e-3 * c.residual + 1e-11) << to_string(kind) << " on " << named.name;
      EXPECT_EQ(c.modes[0] + c.modes[1] + c.modes[2], named.problem.num_contacts());
      EXPECT_EQ(c.mode.size(), stated.mode.size()) << to_string(kind) << " on " << named.name;
      if (solution.status != Status::kSolved) continue;
      EXPECT_LE(c.residual, settings.tol) << to_string(kind) << " on " << named.name;
      EXPECT_LE(c.natural_map, settings.tol / 10) << to_string(kind) << " on " << named.name;
    }
}

/// min ½ v'Av - b'v  s.t.  J_n v + e_n >= 0, by projected gradient on the dual, with restarts of its momentum.
VecX solve_qp(const ContactProblem& problem) {
  const int m = problem.num_contacts();
  const MatX A = make_dense_A(problem), J_all = make_dense_J(problem);
  MatX J(m, problem.num_dofs());
  VecX e(m);
  for (int i = 0; i < m; ++i) {
    J.row(i) = J_all.row(3 * i + 2);
    e[i] = problem.contacts[i].e[2];
  }
  const Eigen::LLT<MatX> factor(A);
  const VecX b = MapConstVec(problem.b.data(), problem.num_dofs());
  const MatX W = J * factor.solve(J.transpose());
  const VecX q = J * factor.solve(b) + e;
  const double step = 1.0 / W.norm();
  VecX lambda = VecX::Zero(m), y = lambda;
  double t = 1.0;
  for (int k = 0; k < 200000; ++k) {
    const VecX next = (y - step * (W * y + q)).cwiseMax(0.0);
    if ((y - next).dot(next - lambda) > 0.0) t = 1.0;
    const double t_next = 0.5 * (1.0 + std::sqrt(1.0 + 4.0 * t * t));
    y = next + (t - 1.0) / t_next * (next - lambda);
    t = t_next;
    if ((next - lambda).norm() <= 1e-16 * next.norm()) break;
    lambda = next;
  }
  return factor.solve(b + J.transpose() * lambda);
}

TEST(Frictionless, IsTheQuadraticProgram) {
  for (std::uint64_t seed = 1; seed <= 5; ++seed) {
    const NamedProblem named = scenes::make_frictionless(5, 10, seed);
    const VecX v_qp = solve_qp(named.problem);
    ASSERT_LE((v_qp - named.expected_v).norm(), 1e-8 * named.expected_v.norm());
    for (const SolverKind kind : testing::all_solvers()) {
      if (!is_main(kind)) continue;
      const Solution solution = testing::solve_with(named.problem, kind, 1e-9);
      EXPECT_LE((solution.v - v_qp).norm(), testing::tolerance(1e-8 * v_qp.norm())) << to_string(kind) << " " << seed;
    }
  }
}

TEST(WarmStart, FromTheAnswerNeedsNoWork) {
  for (const NamedProblem& named : testing::feasible_problems())
    for (const SolverKind kind : testing::all_solvers()) {
      if (!is_main(kind)) continue;
      Settings settings;
      settings.solver = kind;
      Workspace workspace;
      Solution solution;
      solve(named.problem, settings, workspace, solution);
      if (solution.status != Status::kSolved) continue;  // judged above
      const VecX v = solution.v;
      settings.warm_start = true;
      EXPECT_EQ(solve(named.problem, settings, workspace, solution), Status::kSolved) << named.name;
      EXPECT_EQ(solution.info.iterations, 0) << to_string(kind) << " on " << named.name;
      EXPECT_EQ(solution.info.newton_steps, 0) << to_string(kind) << " on " << named.name;
      EXPECT_LE((solution.v - v).norm(), 1e-12 * (1.0 + v.norm())) << to_string(kind) << " on " << named.name;
    }
}

}  // namespace
}  // namespace almond
