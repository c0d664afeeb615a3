// Proves the articulated-body solve against the dense matrix of the same tree.

#include <gtest/gtest.h>

#include <Eigen/Cholesky>

#include "almond/base/articulated.hpp"
#include "common/helpers.hpp"
#include "common/random_tree.hpp"

namespace almond {
namespace {

struct AnyTree {
  std::vector<int> parent, dof_offset{0};
  Mat6X S;
  std::vector<Mat6> M;
  VecX diagonal;
};

/// Bodies with 0 to 3 dofs (6 at the root now and then), hung at random.
AnyTree make_tree(scenes::Random& random, int bodies, bool chain) {
  AnyTree tree;
  for (int b = 0; b < bodies; ++b) {
    tree.parent.push_back(chain ? b - 1 : static_cast<int>(random.uniform() * (b + 1)) - 1);
    const int dofs = b == 0 && random.uniform() < 0.5 ? 6 : static_cast<int>(random.uniform() * 4.0);
    tree.dof_offset.push_back(tree.dof_offset.back() + dofs);
    tree.M.push_back(
        make_spatial_inertia(0.5 + random.uniform(), 0.3 * random.normal3(), testing::random_inertia(random, 0.05)));
  }
  tree.S.resize(6, tree.dof_offset.back());
  for (double& x : tree.S.reshaped()) x = random.normal();
  tree.diagonal = VecX::Zero(tree.S.cols());
  for (double& x : tree.diagonal) x = random.uniform() < 0.3 ? random.uniform() : 0.0;
  return tree;
}

TEST(Articulated, SolvesAsTheDenseMatrixDoes) {
  ArticulatedFactor factor;  // kept from tree to tree
  for (int seed = 0; seed < 60; ++seed) {
    scenes::Random random(seed);
    const AnyTree tree = make_tree(random, 1 + seed % 12, seed % 3 == 0);
    const auto dofs = tree.S.cols();
    if (dofs == 0) continue;
    MatX A(dofs, dofs);
    std::vector<Mat6> composite;
    compose(tree, tree.M, tree.diagonal, composite, A);
    VecX tau(dofs);
    for (double& x : tau) x = random.normal();
    const VecX exact = A.llt().solve(tau);
    ASSERT_TRUE(factor_articulated(tree, tree.M, tree.diagonal, factor)) << seed;
    solve_articulated(tree, factor, tau);
    EXPECT_NEAR((tau - exact).norm() / exact.norm(), 0.0, testing::tolerance(1e-9)) << seed;
    EXPECT_NEAR((A * tau - A * exact).norm() / (A * exact).norm(), 0.0, testing::tolerance(1e-11)) << seed;
  }
}

TEST(Articulated, SaysWhereThereIsNoInertia) {
  AnyTree tree;
  tree.parent = {-1};
  tree.dof_offset = {0, 1};
  tree.S = Vec6::Unit(5);
  tree.M = {make_spatial_inertia(1.0, Vec3::Zero(), Mat3::Zero())};
  tree.diagonal = VecX::Zero(1);
  ArticulatedFactor factor;
  EXPECT_FALSE(factor_articulated(tree, tree.M, tree.diagonal, factor));
  tree.diagonal[0] = 0.1;
  EXPECT_TRUE(factor_articulated(tree, tree.M, tree.diagonal, factor));
}

}  // namespace
}  // namespace almond
