// The example in README.md compiles as printed and gives the closed form: the block slips, so λ = (-μ m g dt, 0, m g
// dt). tests/test_docs.py compares the two texts.
#include <gtest/gtest.h>

#include "almond/solver/solve.hpp"
using namespace almond;

TEST(Readme, SlidingBlockMatchesClosedForm) {
  const MatX A = 2.0 * MatX::Identity(3, 3);          // mass: a block of 2 kg,
  const VecX b = Vec3(2.0, 0.0, -2.0 * 9.81 * 0.01);  // sliding at 1 m/s, under gravity for 10 ms: b = M v + f dt
  const ContactProblem problem = make_problem(A, b, MatX::Identity(3, 3), VecX::Zero(3), VecX::Constant(1, 0.5));
  Workspace workspace;
  Solution solution;
  const Status status = solve(problem, Settings{}, workspace, solution);  // λ = (-0.0981, 0, 0.1962) N s: it slips

  EXPECT_EQ(status, Status::kSolved);
  EXPECT_NEAR(solution.lambda(0), -0.0981, 1e-9);
  EXPECT_NEAR(solution.lambda(1), 0.0, 1e-9);
  EXPECT_NEAR(solution.lambda(2), 0.1962, 1e-9);
  EXPECT_NEAR(solution.v(0), 1.0 - 0.5 * 9.81 * 0.01, 1e-9);
}
