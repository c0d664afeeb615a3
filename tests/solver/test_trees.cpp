// Tree algorithms against the sums they stand for, and solvers on trees against the same problems without trees.

#include <gtest/gtest.h>

#include <Eigen/Cholesky>

#include "almond/base/spatial.hpp"
#include "almond/base/tree.hpp"
#include "scenes/random.hpp"
#include "tests/common/helpers.hpp"

namespace almond {
namespace {

using scenes::Random;

std::vector<scenes::NamedProblem> tree_problems() {
  std::vector<scenes::NamedProblem> problems;
  for (std::uint64_t seed = 1; seed <= 3; ++seed) {
    problems.push_back(scenes::make_closed_chain(6, seed));
    problems.push_back(scenes::make_branching_tree(12, 8, seed));
    problems.push_back(scenes::make_quadrupeds(2, seed));
  }
  return problems;
}

MatX body_jacobian(const Tree& tree, int body) {
  Mat6X J(6, tree.num_dofs());
  compute_body_jacobian(tree, body, J);
  return J;
}

TEST(Tree, ComposeIsTheSumOverBodies) {
  Random random(1);
  for (const scenes::NamedProblem& named : tree_problems())
    for (const Tree& tree : named.problem.trees) {
      // Any symmetric 6x6 per body, not only inertias: SubADMM adds β JᵀJ to them.
      std::vector<Mat6> H(tree.M);
      for (Mat6& h : H) {
        Mat6 x;
        for (double& value : x.reshaped()) value = random.normal();
        h += x * x.transpose();
      }
      MatX expected = tree.diagonal.asDiagonal();
      for (int b = 0; b < tree.num_bodies(); ++b)
        expected += body_jacobian(tree, b).transpose() * H[b] * body_jacobian(tree, b);
      MatX A(tree.num_dofs(), tree.num_dofs());
      std::vector<Mat6> scratch;
      compose(tree, H, tree.diagonal, scratch, A);
      EXPECT_LE((A - expected).cwiseAbs().maxCoeff(), 1e-13 * expected.cwiseAbs().maxCoeff()) << named.name;
      EXPECT_EQ(A, MatX(A.transpose()));
    }
}

TEST(Tree, ComposedMatrixOfTheProblemIsDense) {
  for (const scenes::NamedProblem& named : tree_problems()) {
    const Tree& tree = named.problem.trees[0];
    MatX expected = tree.diagonal.asDiagonal();
    for (int b = 0; b < tree.num_bodies(); ++b)
      expected += body_jacobian(tree, b).transpose() * tree.M[b] * body_jacobian(tree, b);
    EXPECT_LE((MatX(named.problem.A(0)) - expected).cwiseAbs().maxCoeff(), 1e-13 * expected.cwiseAbs().maxCoeff());
  }
}

TEST(Tree, PassesAreTheBodyJacobiansAndTheirTransposes) {
  Random random(2);
  for (const scenes::NamedProblem& named : tree_problems()) {
    const Tree& tree = named.problem.trees[0];
    VecX v(tree.num_dofs());
    for (double& value : v) value = random.normal();
    Mat6X V(6, tree.num_bodies()), F(6, tree.num_bodies());
    for (double& value : F.reshaped()) value = random.normal();
    forward_pass(tree, v, V);
    VecX expected_tau = VecX::Zero(tree.num_dofs()), tau(tree.num_dofs());
    for (int b = 0; b < tree.num_bodies(); ++b) {
      EXPECT_LE((V.col(b) - body_jacobian(tree, b) * v).norm(), 1e-13 * (1.0 + V.col(b).norm()));
      expected_tau += body_jacobian(tree, b).transpose() * F.col(b);
    }
    Mat6X accumulated = F;
    backward_pass(tree, accumulated, tau);
    EXPECT_LE((tau - expected_tau).norm(), 1e-13 * (1.0 + tau.norm()));
    // Power is the same in either space.
    EXPECT_NEAR(tau.dot(v), (F.array() * V.array()).sum(), 1e-12 * (1.0 + std::abs(tau.dot(v))));
  }
}

TEST(Tree, DofParentsGiveThePatternWithoutFill) {
  for (const scenes::NamedProblem& named : tree_problems()) {
    const Tree& tree = named.problem.trees[0];
    const int n = tree.num_dofs();
    std::vector<int> dof_parent;
    compute_dof_parents(tree, dof_parent);
    Eigen::MatrixXi related = Eigen::MatrixXi::Zero(n, n);
    for (int k = 0; k < n; ++k)
      for (int l = k; l >= 0; l = dof_parent[l]) related(k, l) = related(l, k) = 1;
    const MatX A = named.problem.A(0);
    // A is zero off the pattern, and so is the U of A = U Uᵀ (leaves first).
    MatX flipped = A.reverse();
    const MatX L = flipped.llt().matrixL();
    const MatX U = L.reverse();
    for (int k = 0; k < n; ++k)
      for (int l = 0; l < k; ++l)
        if (related(k, l) == 0) {
          EXPECT_EQ(A(k, l), 0.0) << named.name << " " << k << " " << l;
          EXPECT_EQ(U(l, k), 0.0) << named.name << " " << k << " " << l;
        }
  }
}

TEST(Spatial, InertiaAndPointJacobian) {
  Random random(3);
  const double mass = 2.5;
  const Vec3 c = random.normal3(), p = random.normal3(), v = random.normal3(), omega = random.normal3();
  const Mat3 R = random.rotation();
  const Mat3 I_c = R * Vec3(0.1, 0.2, 0.25).asDiagonal() * R.transpose();
  Vec6 V;
  V << v, omega;
  // Kinetic energy at the reference point equals the one at the centre (König).
  const Vec3 v_c = v + omega.cross(c);
  const double energy = 0.5 * mass * v_c.squaredNorm() + 0.5 * omega.dot(I_c * omega);
  EXPECT_NEAR(0.5 * V.dot(make_spatial_inertia(mass, c, I_c) * V), energy, 1e-13 * energy);
  EXPECT_LE((make_point_jacobian(p, R) * V - R.transpose() * (v + omega.cross(p))).norm(), 1e-14);
  // A hinge leaves its own points where they are.
  const Vec3 axis = random.direction();
  EXPECT_LE((make_point_jacobian(p + 0.7 * axis, R) * make_revolute(axis, p)).norm(), 1e-14);
  EXPECT_LE((R.transpose() * R - Mat3::Identity()).norm(), 1e-14);
  // The series and the quotient meet where they change over.
  const Vec3 below = 0.99999e-4 * axis, above = 1.00001e-4 * axis;
  EXPECT_LE((exp_so3(above) - exp_so3(below) - skew(above - below)).norm(), 1e-12);
  for (int i = 0; i < 100; ++i) {
    const Mat3 frame = make_frame(random.direction());
    EXPECT_LE((frame.transpose() * frame - Mat3::Identity()).norm(), 1e-14);
    EXPECT_NEAR(frame.determinant(), 1.0, 1e-14);
  }
}

class TreeSolve : public ::testing::TestWithParam<SolverKind> {};

TEST_P(TreeSolve, TreesChangeNothing) {
  for (const scenes::NamedProblem& named : tree_problems()) {
    const ContactProblem plain = scenes::without_trees(named.problem);
    plain.validate();
    const Solution with = testing::solve_with(named.problem, GetParam(), 1e-9);
    const Solution without = testing::solve_with(plain, GetParam(), 1e-9);
    testing::expect_finite(with);
    EXPECT_EQ(with.status, Status::kSolved) << named.name << ": " << to_string(with.status);
    EXPECT_EQ(without.status, Status::kSolved) << named.name << ": " << to_string(without.status);
    const double q = testing::free_contact_velocity(plain).norm();
    EXPECT_LE((make_dense_J(plain) * (with.v - without.v)).norm(), testing::tolerance(1e-6 * q)) << named.name;
  }
}

INSTANTIATE_TEST_SUITE_P(Solvers, TreeSolve,
                         ::testing::Values(SolverKind::kAuto, SolverKind::kCanal, SolverKind::kSubAdmm,
                                           SolverKind::kSpn, SolverKind::kPgs),
                         [](const auto& instance) { return testing::test_name(to_string(instance.param)); });

TEST(SubAdmm, SplittingBodiesOfOneTreeAgrees) {
  for (const scenes::NamedProblem& named : tree_problems()) {
    Settings settings;
    settings.solver = SolverKind::kSubAdmm;
    settings.tol = 1e-9;
    settings.budget_ms = 10000.0;
    const Solution merged = testing::solve_with(named.problem, settings);
    settings.admm_split_bodies = true;
    const Solution split = testing::solve_with(named.problem, settings);
    EXPECT_EQ(split.status, Status::kSolved) << named.name << ": " << to_string(split.status);
    const double q = testing::free_contact_velocity(named.problem).norm();
    EXPECT_LE((make_dense_J(named.problem) * (split.v - merged.v)).norm(), testing::tolerance(1e-6 * q)) << named.name;
  }
}

TEST(SubAdmm, ArticulatedBodyVariantAgrees) {
  for (const scenes::NamedProblem& named : tree_problems()) {
    Settings settings;
    settings.solver = SolverKind::kSubAdmm;
    settings.tol = 1e-9;
    settings.budget_ms = 10000.0;
    const Solution factored = testing::solve_with(named.problem, settings);
    settings.admm_aba = true;
    const Solution aba = testing::solve_with(named.problem, settings);
    EXPECT_EQ(aba.status, Status::kSolved) << named.name << ": " << to_string(aba.status);
    const double q = testing::free_contact_velocity(named.problem).norm();
    EXPECT_LE((make_dense_J(named.problem) * (aba.v - factored.v)).norm(), testing::tolerance(1e-6 * q)) << named.name;
  }
}

}  // namespace
}  // namespace almond
