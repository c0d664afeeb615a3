// ContactProblem stores what it was given, expands body Jacobians along the tree, and splits whole matrices into
// subsystems: each against the dense matrices written by hand.

#include <gtest/gtest.h>

#include <Eigen/Cholesky>

#include "almond/base/check.hpp"
#include "almond/base/tree.hpp"
#include "scenes/random.hpp"
#include "tests/common/allocation.hpp"
#include "tests/common/helpers.hpp"

namespace almond {
namespace {

using scenes::Random;

MatX random_matrix(Random& random, int rows, int cols) {
  MatX m(rows, cols);
  for (int c = 0; c < cols; ++c)
    for (int r = 0; r < rows; ++r) m(r, c) = random.normal();
  return m;
}

MatX random_spd(Random& random, int n) {
  const MatX m = random_matrix(random, n, n);
  return m * m.transpose() + n * MatX::Identity(n, n);
}

SideInput make_side(int subsystem, const MatX& J) {
  SideInput side;
  side.subsystem = subsystem;
  side.J = J;
  return side;
}

TEST(Problem, ReturnsWhatWasAdded) {
  Random random(1);
  const MatX A0 = random_spd(random, 3), A1 = random_spd(random, 6);
  const VecX b0 = random_matrix(random, 3, 1), b1 = random_matrix(random, 6, 1);
  const MatX J0 = random_matrix(random, 3, 3), J1 = random_matrix(random, 3, 6);
  ContactProblem problem;
  EXPECT_EQ(problem.add_subsystem(A0, b0), 0);
  EXPECT_EQ(problem.add_subsystem(A1, b1), 1);
  EXPECT_EQ(problem.add_contact(0.3, Vec3(1, 2, 3), make_side(0, J0), make_side(1, J1)), 0);
  EXPECT_EQ(problem.add_contact(0.0, Vec3(4, 5, 6), make_side(1, J1)), 1);
  EXPECT_EQ(problem.add_hard(7.0, {make_side(0, J0.row(0))}), 0);
  EXPECT_EQ(problem.add_soft(8.0, 2.0, 3.0, {make_side(1, J1.row(1)), make_side(0, J0.row(1))}), 0);
  EXPECT_EQ(problem.add_equality(9.0, {make_side(1, J1.row(2))}), 0);
  EXPECT_EQ(problem.add_bounded(10.0, 0.5, {make_side(0, J0.row(2))}), 0);
  problem.validate();

  EXPECT_EQ(problem.num_dofs(), 9);
  EXPECT_EQ(problem.num_contacts(), 2);
  EXPECT_EQ(problem.num_scalar_rows(), 4);
  EXPECT_EQ(problem.num_rows(), 10);
  EXPECT_EQ(problem.A(1), A1);
  EXPECT_EQ(problem.b_of(1), b1);
  EXPECT_EQ(MatX(problem.J(problem.contacts[0].sides[1], 3)), J1);

  MatX J = MatX::Zero(10, 9);
  J.block(0, 0, 3, 3) = J0;
  J.block(0, 3, 3, 6) = J1;
  J.block(3, 3, 3, 6) = J1;
  J.block(6, 0, 1, 3) = J0.row(0);
  J.block(7, 3, 1, 6) = J1.row(1);
  J.block(7, 0, 1, 3) = J0.row(1);
  J.block(8, 3, 1, 6) = J1.row(2);
  J.block(9, 0, 1, 3) = J0.row(2);
  EXPECT_EQ(make_dense_J(problem), J);
  VecX e(10);
  e << 1, 2, 3, 4, 5, 6, 7, 8, 9, 10;
  EXPECT_EQ(make_dense_e(problem), e);
  MatX A = MatX::Zero(9, 9);
  A.topLeftCorner(3, 3) = A0;
  A.bottomRightCorner(6, 6) = A1;
  EXPECT_EQ(make_dense_A(problem), A);
}

TEST(Problem, TwoSidesOnOneSubsystemAddUp) {
  ContactProblem problem;
  problem.add_subsystem(MatX::Identity(3, 3), VecX::Zero(3));
  problem.add_contact(0.1, Vec3::Zero(), make_side(0, 3.0 * MatX::Identity(3, 3)), make_side(0, -MatX::Identity(3, 3)));
  problem.validate();
  EXPECT_EQ(make_dense_J(problem), 2.0 * MatX::Identity(3, 3));
}

TEST(Problem, BodyJacobianIsExpandedAlongTheTree) {
  const ContactProblem problem = scenes::make_quadrupeds(2, 3).problem;
  problem.validate();
  int checked = 0;
  for (const Contact& contact : problem.contacts)
    for (int s = 0; s < contact.num_sides; ++s) {
      const Side& side = contact.sides[s];
      const Tree& tree = problem.trees[problem.subsystems[side.subsystem].tree];
      Mat6X J_b(6, tree.num_dofs());
      compute_body_jacobian(tree, side.body, J_b);
      EXPECT_LE((problem.J(side, 3) - problem.J_body(side, 3) * J_b).cwiseAbs().maxCoeff(), 1e-15);
      ++checked;
    }
  EXPECT_GE(checked, 10);
}

TEST(Problem, ClearKeepsCapacity) {
  if (!testing::can_count_allocations()) GTEST_SKIP() << "allocations cannot be counted in this build";
  ContactProblem problem;
  const Mat3 identity = Mat3::Identity();
  const Vec3 zero = Vec3::Zero();
  const SideInput side = make_side(0, identity), row = make_side(0, identity.row(0));
  const std::vector<SideInput> sides = {row};
  const MatX A = identity;
  const VecX b = zero;
  const auto fill = [&] {
    problem.clear();
    problem.add_subsystem(A, b);
    for (int i = 0; i < 50; ++i) problem.add_contact(0.5, zero, side);
    for (int i = 0; i < 50; ++i) problem.add_hard(0.0, sides);
  };
  fill();
  const testing::AllocationCounter counter;
  fill();
  EXPECT_EQ(counter.count(), 0);
  EXPECT_EQ(problem.num_contacts(), 50);
  problem.clear();
  EXPECT_EQ(problem.num_dofs(), 0);
  EXPECT_EQ(problem.num_rows(), 0);
}

TEST(MakeProblem, RoundTripsThroughDenseMatrices) {
  const ContactProblem original = scenes::make_random(5, 12, 0.4, 7).problem;
  const MatX A = make_dense_A(original), J = make_dense_J(original);
  const VecX b = MapConstVec(original.b.data(), original.num_dofs()), e = make_dense_e(original);
  const VecX mu = VecX::Constant(12, 0.4);
  const ContactProblem given = make_problem(A, b, J, e, mu, {0, 6, 12, 18, 24, 30});
  const ContactProblem found = make_problem(A, b, J, e, mu);
  for (const ContactProblem* problem : {&given, &found}) {
    problem->validate();
    EXPECT_EQ(problem->subsystems.size(), 5u);
    EXPECT_EQ(make_dense_A(*problem), A);
    EXPECT_EQ(make_dense_J(*problem), J);
    EXPECT_EQ(make_dense_e(*problem), e);
    EXPECT_EQ(problem->b, original.b);
    EXPECT_EQ(problem->contacts[3].mu, 0.4);
  }
}

TEST(MakeProblem, FindsTheBlocksOfA) {
  MatX A = MatX::Identity(6, 6);
  A(0, 2) = A(2, 0) = 0.1;  // couples 0..2; 3 alone; 4, 5
  A(4, 5) = A(5, 4) = 0.2;
  MatX J = MatX::Zero(3, 6);
  J(2, 1) = J(2, 3) = 1.0;
  const ContactProblem problem = make_problem(A, VecX::Zero(6), J, VecX::Zero(3), VecX::Constant(1, 0.5));
  ASSERT_EQ(problem.subsystems.size(), 3u);
  EXPECT_EQ(problem.subsystems[0].dofs, 3);
  EXPECT_EQ(problem.subsystems[1].dofs, 1);
  EXPECT_EQ(problem.subsystems[2].dofs, 2);
  ASSERT_EQ(problem.contacts[0].num_sides, 2);
  EXPECT_EQ(problem.contacts[0].sides[0].subsystem, 0);
  EXPECT_EQ(problem.contacts[0].sides[1].subsystem, 1);
}

TEST(MakeProblem, DiagonalMassMatrixBecomesBodiesOfSix) {
  const ContactProblem spheres = scenes::make_spheres(10, 1).problem;
  const MatX A = make_dense_A(spheres), J = make_dense_J(spheres);
  ASSERT_TRUE(A.isDiagonal());
  VecX mu = VecX::Constant(spheres.num_contacts(), 0.3);
  const ContactProblem problem =
      make_problem(A, MapConstVec(spheres.b.data(), spheres.num_dofs()), J, make_dense_e(spheres), mu);
  EXPECT_EQ(problem.subsystems.size(), 10u);
  EXPECT_EQ(make_dense_J(problem), J);
}

TEST(MakeProblem, MergesBlocksThatOneContactTouches) {
  // Five masses on a line and a contact that touches the first three: no uniform size divides five.
  MatX J = MatX::Zero(3, 5);
  J(2, 0) = J(1, 1) = J(0, 2) = 1.0;
  const ContactProblem problem =
      make_problem(MatX::Identity(5, 5), VecX::Zero(5), J, VecX::Zero(3), VecX::Constant(1, 0.5));
  ASSERT_EQ(problem.subsystems.size(), 3u);
  EXPECT_EQ(problem.subsystems[0].dofs, 3);
  EXPECT_EQ(make_dense_J(problem), J);
}

TEST(MakeProblem, WithoutContacts) {
  const ContactProblem problem = make_problem(MatX::Identity(2, 2), VecX::Ones(2), MatX(0, 2), VecX(0), VecX(0));
  problem.validate();
  EXPECT_EQ(problem.num_contacts(), 0);
  EXPECT_EQ(problem.num_dofs(), 2);
}

TEST(Problem, GeneratorsGiveValidProblems) {
  for (const scenes::NamedProblem& named : testing::feasible_problems()) named.problem.validate();
  for (const scenes::NamedProblem& named : scenes::demo_problems()) named.problem.validate();
}

}  // namespace
}  // namespace almond
