// Block LU and LLT of the Newton matrix against dense Eigen, on random graphs of mixed block sizes.

#include <gtest/gtest.h>

#include <Eigen/LU>
#include <cmath>

#include "almond/solver/factor.hpp"
#include "tests/solver/island_fixture.hpp"

namespace almond {
namespace {

using scenes::Random;
using testing::Graph;
using testing::OneIsland;

std::vector<int> random_sizes(int nodes, int largest, Random& random) {
  std::vector<int> sizes(nodes);
  for (int& n : sizes) n = 1 + random.index(largest);
  return sizes;
}

Graph make_chain(int nodes, int largest, Random& random) {
  Graph g{random_sizes(nodes, largest, random), {{0, -1}}};
  for (int k = 0; k + 1 < nodes; ++k) g.edges.push_back({k + 1, k});
  return g;
}

Graph make_star(int nodes, int largest, Random& random) {
  Graph g{random_sizes(nodes, largest, random), {}};
  for (int k = 1; k < nodes; ++k) g.edges.push_back({0, k});
  return g;
}

Graph make_clique(int nodes, int largest, Random& random) {
  Graph g{random_sizes(nodes, largest, random), {}};
  for (int a = 0; a < nodes; ++a) {
    for (int b = 0; b < a; ++b) g.edges.push_back({b, a});
  }
  return g;
}

/// A grid of width 4: fills in.
Graph make_grid(int nodes, int largest, Random& random) {
  Graph g{random_sizes(nodes, largest, random), {}};
  for (int k = 1; k < nodes; ++k) {
    g.edges.push_back({k - 1, k});
    if (k >= 4) g.edges.push_back({k, k - 4});
  }
  return g;
}

/// A spanning tree plus chords, repeated edges, ground contacts and subsystems that touch themselves.
Graph make_random_graph(int nodes, int largest, Random& random) {
  Graph g{random_sizes(nodes, largest, random), {}};
  for (int k = 1; k < nodes; ++k) g.edges.push_back({k, random.index(k)});
  for (int k = 0; k < nodes; ++k) {
    const int a = random.index(nodes), b = random.index(nodes + 2) - 1;
    g.edges.push_back({a, b < nodes ? b : a});
  }
  return g;
}

/// K of contacts and rows: symmetric positive semidefinite, or strict-like nonsymmetric with some blocks zero.
std::vector<double> make_K(const Island& island, bool symmetric, double size, Random& random) {
  std::vector<double> K;
  for (int i = 0; i < island.num_contacts; ++i) {
    MatXr block = testing::random_matrix(3, 3, random);
    if (symmetric) block = (block * block.transpose()).eval();
    if (!symmetric) block += 3.0 * MatXr::Identity(3, 3);
    if (i % 4 == 3) block.setZero();
    block *= size;
    K.insert(K.end(), block.data(), block.data() + 9);
  }
  for (int i = island.num_contacts; i < island.num_constraints; ++i)
    K.push_back(i % 3 == 0 ? 0.0 : size * random.uniform());
  return K;
}

MatX dense_H(const Island& island, const std::vector<double>& K) {
  const MatX J = testing::dense_J(island);
  MatX KJ(island.rows, island.v_size);
  for (int i = 0; i < island.num_constraints; ++i) {
    const int row = island.constraints[i].row;
    if (i < island.num_contacts) {
      KJ.middleRows(row, 3) = MapConstMatr(&K[9 * i], 3, 3) * J.middleRows(row, 3);
    } else {
      KJ.row(row) = K[9 * island.num_contacts + island.row_index(i)] * J.row(row);
    }
  }
  return MatX::Identity(island.v_size, island.v_size) + J.transpose() * KJ;
}

void expect_solves(const Island& island, bool symmetric, double size, Random& random, BlockFactor& factor) {
  const std::vector<double> K = make_K(island, symmetric, size, random);
  const MatX H = dense_H(island, K);
  const VecX rhs = testing::random_velocity(island, random);
  const VecX expected = H.partialPivLu().solve(rhs);
  factor.assemble(island, K.data(), symmetric);
  ASSERT_TRUE(symmetric ? factor.factor_llt() : factor.factor_lu());
  VecX x = rhs;
  factor.solve(island, x.data());
  // Backward error, and the answer itself within the condition number.
  EXPECT_LE((H * x - rhs).norm(), 1e-11 * (H.norm() * x.norm() + rhs.norm()));
  EXPECT_LE((x - expected).norm(), 1e-8 * expected.norm());
  // LLT data solved as LU must agree.
  if (!symmetric) return;
  factor.assemble(island, K.data(), false);
  ASSERT_TRUE(factor.factor_lu());
  VecX y = rhs;
  factor.solve(island, y.data());
  EXPECT_LE((x - y).norm(), 1e-8 * expected.norm());
}

using MakeGraph = Graph (*)(int, int, Random&);
struct Family {
  const char* name;
  MakeGraph make;
  int nodes;
};

class Graphs : public ::testing::TestWithParam<Family> {};

INSTANTIATE_TEST_SUITE_P(Families, Graphs,
                         ::testing::Values(Family{"Chain", make_chain, 12}, Family{"Star", make_star, 10},
                                           Family{"Clique", make_clique, 6}, Family{"Grid", make_grid, 14},
                                           Family{"Random", make_random_graph, 9}),
                         [](const auto& instance) { return instance.param.name; });

TEST_P(Graphs, AgreeWithDense) {
  for (std::uint64_t seed = 1; seed <= 4; ++seed) {
    Random random(seed);
    const int largest = seed % 2 == 0 ? 20 : 6;  // 12 and above take another path of assembly
    const ContactProblem problem =
        testing::make_graph_problem(GetParam().make(GetParam().nodes, largest, random), true, random);
    for (const bool merge : {true, false}) {
      const OneIsland one(problem, 1.0, {merge, false});
      BlockFactor factor;
      factor.analyze(one.island());
      for (const double size : {1e-3, 1.0, 100.0}) {
        expect_solves(one.island(), true, size, random, factor);
        expect_solves(one.island(), false, size, random, factor);
      }
    }
  }
}

TEST(BlockFactor, SizesOneToTwenty) {
  Random random(11);
  for (int n = 1; n <= 20; ++n) {
    for (const int other : {1, 6, 13}) {
      const ContactProblem problem =
          testing::make_graph_problem({{n, other}, {{0, 1}, {1, 0}, {0, 0}, {0, -1}}}, true, random);
      for (const bool merge : {true, false}) {
        const OneIsland one(problem, 1.0, {merge, false});
        BlockFactor factor;
        factor.analyze(one.island());
        expect_solves(one.island(), true, 1.0, random, factor);
        expect_solves(one.island(), false, 1.0, random, factor);
      }
    }
  }
}

TEST(BlockFactor, MoreNodesThanOneWordOfBits) {
  Random random(12);
  for (const int nodes : {63, 64, 65, 130}) {
    const ContactProblem problem = testing::make_graph_problem(make_random_graph(nodes, 2, random), false, random);
    const OneIsland one(problem);
    BlockFactor factor;
    factor.analyze(one.island());
    expect_solves(one.island(), true, 1.0, random, factor);
    expect_solves(one.island(), false, 1.0, random, factor);
  }
}

TEST(BlockFactor, WholeSystemAsOneNode) {
  Random random(13);
  const ContactProblem problem = testing::make_graph_problem(make_grid(6, 6, random), true, random);
  const OneIsland one(problem, 1.0, {true, true});
  ASSERT_EQ(one.island().nodes.size(), 1u);
  BlockFactor factor;
  factor.analyze(one.island());
  expect_solves(one.island(), true, 1.0, random, factor);
  expect_solves(one.island(), false, 1.0, random, factor);
}

TEST(BlockFactor, AnalysisIsReusedAndRenewed) {
  // Same graph with other numbers, more constraints on the same graph, other sizes, another graph, and back.
  Random random(14);
  const Graph chain = {{6, 6, 3, 14, 6}, {{0, 1}, {1, 2}, {2, 3}, {3, 4}}};
  Graph denser = chain, resized = chain, ring = chain;
  for (int k = 0; k < 4; ++k) denser.edges.push_back({k + 1, k});
  denser.edges.push_back({2, -1});
  resized.dofs = {6, 7, 3, 6, 14};
  ring.edges.push_back({4, 0});
  BlockFactor factor;
  for (const Graph& graph : {chain, chain, denser, chain, resized, ring, chain, denser}) {
    const ContactProblem problem = testing::make_graph_problem(graph, true, random);
    const OneIsland one(problem);
    factor.analyze(one.island());
    expect_solves(one.island(), true, 1.0, random, factor);
    expect_solves(one.island(), false, 1.0, random, factor);
    BlockFactor fresh;
    fresh.analyze(one.island());
    EXPECT_EQ(factor.flops(), fresh.flops());  // cost models must not depend on what was solved before
  }
}

TEST(BlockFactor, ReusedFactorGivesTheSameBits) {
  Random random(15);
  const ContactProblem problem = testing::make_graph_problem(make_random_graph(8, 9, random), true, random);
  const ContactProblem other = testing::make_graph_problem(make_clique(5, 20, random), true, random);
  const OneIsland one(problem), two(other);
  const std::vector<double> K = make_K(one.island(), false, 1.0, random), K2 = make_K(two.island(), true, 1.0, random);
  const VecX rhs = testing::random_velocity(one.island(), random);
  const auto solve = [&](BlockFactor& factor) {
    factor.analyze(one.island());
    factor.assemble(one.island(), K.data(), false);
    EXPECT_TRUE(factor.factor_lu());
    VecX x = rhs;
    factor.solve(one.island(), x.data());
    return x;
  };
  BlockFactor fresh, used;
  used.analyze(two.island());
  used.assemble(two.island(), K2.data(), true);
  EXPECT_TRUE(used.factor_llt());
  EXPECT_EQ(solve(fresh), solve(used));
}

TEST(BlockFactor, ChainsAndStarsDoNotFillIn) {
  // Twice the chain costs twice; the hub of a star is eliminated last, so leaves never see each other.
  Random random(16);
  const auto flops = [&](MakeGraph make, int nodes) {
    Graph graph = make(nodes, 1, random);
    std::fill(graph.dofs.begin(), graph.dofs.end(), 6);
    const ContactProblem problem = testing::make_graph_problem(graph, false, random);
    const OneIsland one(problem);
    BlockFactor factor;
    factor.analyze(one.island());
    return factor.flops();
  };
  EXPECT_NEAR(flops(make_chain, 60) / flops(make_chain, 30), 2.0, 0.1);
  EXPECT_NEAR(flops(make_star, 60) / flops(make_star, 30), 2.0, 0.1);
  EXPECT_GT(flops(make_clique, 20) / flops(make_clique, 10), 6.0);
}

TEST(BlockFactor, UnusablePivotsAreSaid) {
  ContactProblem problem;
  problem.add_subsystem(MatX::Identity(2, 2), VecX::Zero(2));
  problem.add_hard(0.0, {testing::make_side(0, (MatX(1, 2) << 1.0, 0.0).finished())});
  const OneIsland one(problem);
  BlockFactor factor;
  factor.analyze(one.island());
  const double singular = -1.0, indefinite = -3.0, nan = kNaN;  // H = diag(1 + K, 1)
  factor.assemble(one.island(), &singular, false);
  EXPECT_FALSE(factor.factor_lu());
  factor.assemble(one.island(), &indefinite, true);
  EXPECT_FALSE(factor.factor_llt());
  factor.assemble(one.island(), &indefinite, false);
  EXPECT_TRUE(factor.factor_lu());
  factor.assemble(one.island(), &nan, false);
  EXPECT_FALSE(factor.factor_lu());
  factor.assemble(one.island(), &nan, true);
  EXPECT_FALSE(factor.factor_llt());
  // A shift makes it usable: H = diag(0.5, 1.5).
  factor.assemble(one.island(), &singular, true);
  factor.add_diagonal(one.island(), 0.5);
  ASSERT_TRUE(factor.factor_llt());
  VecX x = VecX::Zero(one.island().v_size);
  x[0] = x[1] = 3.0;
  factor.solve(one.island(), x.data());
  EXPECT_NEAR(x[0], 6.0, 1e-14);
  EXPECT_NEAR(x[1], 2.0, 1e-14);
}

}  // namespace
}  // namespace almond
