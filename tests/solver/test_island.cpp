// The compiled island is the problem in other words: against dense matrices made by Eigen from the problem itself, and
// against the certificate, on graphs of mixed block sizes, free subsystems and links that touch themselves.

#include <gtest/gtest.h>

#include <Eigen/Cholesky>
#include <algorithm>
#include <cmath>
#include <set>

#include "almond/solver/certificate.hpp"
#include "tests/common/allocation.hpp"
#include "tests/common/helpers.hpp"
#include "tests/solver/island_fixture.hpp"

namespace almond {
namespace {

using scenes::Random;
using testing::Graph;

/// W, q and bᵀA⁻¹b of the whole problem, soft rows in normal form (e scaled by k/b); compliance per row of λ.
struct Dense {
  explicit Dense(const ContactProblem& problem) {
    const MatX A = make_dense_A(problem), J = make_dense_J(problem);
    b = MapConstVec(problem.b.data(), problem.num_dofs());
    e = make_dense_e(problem);
    compliance = VecX::Zero(problem.num_rows());
    const auto first_soft = 3 * problem.num_contacts() + static_cast<int>(problem.hard.size());
    for (std::size_t s = 0; s < problem.soft.size(); ++s) {
      e[first_soft + static_cast<int>(s)] *= problem.soft[s].k / problem.soft[s].b;
      compliance[first_soft + static_cast<int>(s)] = 1.0 / problem.soft[s].b;
    }
    const Eigen::LDLT<MatX> factor(A);
    W = J * factor.solve(J.transpose());
    q = J * factor.solve(b) + e;
    energy = b.dot(factor.solve(b));
  }
  MatX W;
  VecX b, e, q, compliance;
  double energy = 0.0;
};

/// Rows of λ of the problem for the rows of an island.
std::vector<int> rows_of(const ContactProblem& problem, const Island& island) {
  std::vector<int> rows;
  for (int i = 0; i < island.num_constraints; ++i) {
    for (int r = 0; r < island.constraints[i].dim; ++r) rows.push_back(problem_row(problem, island, i) + r);
  }
  return rows;
}

Graph mixed_graph() {
  // Blocks of 6, 7, 8, 18, 1 and 3 dofs; subsystem 3 touches itself, 6 and 7 are apart, 8 is touched by nothing.
  return {{6, 7, 8, 18, 1, 3, 6, 2, 5},
          {{0, 1}, {1, 2}, {2, 3}, {3, 3}, {3, -1}, {4, 0}, {5, 2}, {0, -1}, {6, 7}, {7, -1}, {3, 0}, {5, 5}}};
}

class Compile : public ::testing::TestWithParam<CompileOptions> {};

INSTANTIATE_TEST_SUITE_P(Ways, Compile,
                         ::testing::Values(CompileOptions{true, false}, CompileOptions{false, false},
                                           CompileOptions{true, true}),
                         [](const auto& instance) {
                           return instance.param.whole ? "Whole" : instance.param.merge_sides ? "Merged" : "Apart";
                         });

TEST_P(Compile, WhiteningReproducesTheDelassusOperator) {
  for (std::uint64_t seed = 1; seed <= 5; ++seed) {
    Random random(seed);
    const ContactProblem problem = testing::make_graph_problem(mixed_graph(), true, random);
    const Dense dense(problem);
    IslandWorkspace ws;
    compile_islands(problem, GetParam(), ws);
    ASSERT_EQ(ws.count, GetParam().whole ? 1 : 2);
    MatX W = MatX::Zero(problem.num_rows(), problem.num_rows());  // what the islands know; zero between them
    std::set<int> seen;
    double b2 = 0.0;
    for (int k = 0; k < ws.count; ++k) {
      const Island& island = ws.islands[k];
      ASSERT_FALSE(island.degenerate);
      const std::vector<int> rows = rows_of(problem, island);
      ASSERT_EQ(static_cast<int>(rows.size()), island.rows);
      seen.insert(rows.begin(), rows.end());
      const MatX J = testing::dense_J(island), block = J * J.transpose();
      for (int r = 0; r < island.rows; ++r) {
        for (int c = 0; c < island.rows; ++c) W(rows[r], rows[c]) = block(r, c);
        EXPECT_NEAR(island.q[r], dense.q[rows[r]], 1e-12 * dense.q.norm());
        EXPECT_NEAR(island.e[r], dense.e[rows[r]], 1e-15);
      }
      EXPECT_NEAR(island.q_norm, testing::as_vector(island.q).norm(), 1e-12);
      b2 += island.b_norm * island.b_norm;
      // Diagonal blocks and their means; those of soft rows hold the compliance.
      int at = 0;
      for (int i = 0; i < island.num_constraints; ++i) {
        const int dim = island.constraints[i].dim, row = rows[island.constraints[i].row];
        MatX Wii = dense.W.block(row, row, dim, dim);
        Wii.diagonal() += dense.compliance.segment(row, dim);
        EXPECT_LE((MapConstMatr(&island.W[at], dim, dim) - Wii).norm(), 1e-12 * Wii.norm());
        EXPECT_NEAR(island.w_bar[i], Wii.trace() / dim, 1e-12 * Wii.norm());
        at += dim * dim;
      }
      EXPECT_EQ(at, static_cast<int>(island.W.size()));
    }
    EXPECT_EQ(static_cast<int>(seen.size()), problem.num_rows());
    EXPECT_LE((W - dense.W).norm(), 1e-12 * dense.W.norm());
    for (const int s : ws.free_subsystems) b2 += problem.b_of(s).dot(problem.A(s).ldlt().solve(problem.b_of(s)));
    EXPECT_NEAR(b2, dense.energy, 1e-12 * dense.energy);
  }
}

TEST_P(Compile, VelocityFromImpulsesIsTheOneOfTheProblem) {
  Random random(3);
  const ContactProblem problem = testing::make_graph_problem(mixed_graph(), true, random);
  const VecX lambda = testing::random_vector(problem.num_rows(), random);
  const VecX expected = compute_velocity(problem, lambda);
  IslandWorkspace ws;
  compile_islands(problem, GetParam(), ws);
  for (int k = 0; k < ws.count; ++k) {
    const Island& island = ws.islands[k];
    const std::vector<int> rows = rows_of(problem, island);
    std::vector<double> mine(island.rows);
    for (int r = 0; r < island.rows; ++r) mine[r] = lambda[rows[r]];
    MeasureWorkspace measured;
    measure(island, mine.data(), measured);
    for (const Node& node : island.nodes) {
      VecX v(node.dofs);
      unwhiten(island, node, &measured.v[node.v_begin], v.data());
      if (node.subsystem >= 0) {
        EXPECT_LE((v - expected.segment(problem.subsystems[node.subsystem].offset, node.dofs)).norm(), 1e-12);
      } else {  // everything that is touched, in the order of the subsystems
        EXPECT_LE((v - expected.head(node.dofs)).norm(), 1e-12 * expected.norm());
      }
      for (int j = node.dofs; j < node.ld; ++j) EXPECT_EQ(measured.v[node.v_begin + j], 0.0);
    }
  }
  for (const int s : ws.free_subsystems) {
    VecX v(problem.subsystems[s].dofs);
    ASSERT_TRUE(solve_free(problem, s, ws, v.data()));
    EXPECT_LE((v - expected.segment(problem.subsystems[s].offset, v.size())).norm(), 1e-13);
  }
}

TEST(Island, FactorIsUpperTriangularAndSparseLikeATree) {
  Random random(4);
  const ContactProblem problem = testing::make_graph_problem(mixed_graph(), false, random);
  const testing::OneIsland one(problem);
  for (const Node& node : one.island().nodes) {
    const MatX U = MapConstMat(&one.island().U[node.U_begin], node.dofs, node.dofs).triangularView<Eigen::Upper>();
    EXPECT_LE((U * U.transpose() - problem.A(node.subsystem)).norm(), 1e-13 * problem.A(node.subsystem).norm());
  }
  // Leaf to root elimination fills nothing in: dofs on different branches of a tree stay apart.
  const ContactProblem branching = scenes::make_branching_tree(12, 6, 3).problem;
  const testing::OneIsland branch(branching);
  const Tree& tree = branching.trees[0];
  const int n = tree.num_dofs();
  std::vector<int> body_of(n);
  for (int body = 0; body < tree.num_bodies(); ++body) {
    for (int k = tree.dof_offset[body]; k < tree.dof_offset[body + 1]; ++k) body_of[k] = body;
  }
  const auto is_above = [&](int body, int below) {
    while (below > body) below = tree.parent[below];
    return below == body;
  };
  const MapConstMat U(&branch.island().U[branch.island().nodes[0].U_begin], n, n);
  int apart = 0;
  for (int c = 0; c < n; ++c) {
    for (int r = 0; r < c; ++r) {
      if (is_above(body_of[r], body_of[c])) continue;
      EXPECT_EQ(U(r, c), 0.0) << r << " " << c;
      ++apart;
    }
  }
  EXPECT_GT(apart, 0);
}

TEST(Island, ComponentsAndFreeSubsystemsAreFound) {
  // Chains joined in a scrambled order: {0, 5, 2}, {1, 4}, {3}, {7}; 6 and 8 free.
  Random random(5);
  const Graph graph = {{2, 3, 1, 6, 4, 2, 5, 1, 3}, {{5, 2}, {1, 4}, {3, -1}, {0, 5}, {7, -1}, {7, 7}}};
  const ContactProblem problem = testing::make_graph_problem(graph, true, random);
  IslandWorkspace ws;
  compile_islands(problem, {}, ws);
  ASSERT_EQ(ws.count, 4);
  EXPECT_EQ(ws.free_subsystems, (std::vector<int>{6, 8}));
  const std::vector<std::vector<int>> expected = {{0, 2, 5}, {1, 4}, {3}, {7}};
  for (int k = 0; k < 4; ++k) {
    std::vector<int> members;
    int dofs = 0;
    for (const Node& node : ws.islands[k].nodes) {
      members.push_back(node.subsystem);
      dofs += node.dofs;
    }
    EXPECT_EQ(members, expected[k]);
    EXPECT_EQ(ws.islands[k].num_dofs, dofs);
  }
  EXPECT_EQ(ws.islands[0].num_contacts, 2);
  EXPECT_EQ(ws.islands[3].num_constraints, 4);
}

TEST(Island, NoConstraintsIsNoIsland) {
  const ContactProblem problem = scenes::make_no_contacts(3, 1).problem;
  for (const bool whole : {false, true}) {
    IslandWorkspace ws;
    compile_islands(problem, {true, whole}, ws);
    EXPECT_EQ(ws.count, 0);
    EXPECT_EQ(ws.free_subsystems.size(), 3u);
  }
}

TEST(Island, SidesOnOneSubsystemMergeOrStayApart) {
  Random random(6);
  const ContactProblem problem = testing::make_graph_problem({{7}, {{0, 0}, {0, -1}}}, true, random);
  const testing::OneIsland merged(problem, 1.0, {true, false}), apart(problem, 1.0, {false, false});
  EXPECT_EQ(merged.island().constraints[0].num_sides, 1);
  EXPECT_EQ(apart.island().constraints[0].num_sides, 2);
  EXPECT_EQ(apart.island().side_rows, merged.island().side_rows + 4);
  EXPECT_LE((testing::dense_J(merged.island()) - testing::dense_J(apart.island())).norm(), 1e-14);
}

TEST(Island, RowsHaveTheirNormalForm) {
  ContactProblem problem;
  problem.add_subsystem(MatX::Identity(1, 1), VecX::Zero(1));
  const std::vector<SideInput> side = {testing::make_side(0, MatX::Ones(1, 1))};
  problem.add_bounded(0.1, 3.0, side);
  problem.add_equality(0.2, side);
  problem.add_soft(0.3, 8.0, 4.0, side);
  problem.add_hard(0.4, side);
  const testing::OneIsland one(problem);
  const Island& island = one.island();  // order of λ: hard, soft, equality, bounded
  EXPECT_EQ(island.e, (std::vector<double>{0.4, 0.6, 0.2, 0.1}));
  EXPECT_EQ(island.compliance, (std::vector<double>{0.0, 0.25, 0.0, 0.0}));
  EXPECT_EQ(island.lower, (std::vector<double>{0.0, -kInfinity, -kInfinity, -3.0}));
  EXPECT_EQ(island.upper, (std::vector<double>{kInfinity, kInfinity, kInfinity, 3.0}));
  EXPECT_EQ(island.w_bar, (std::vector<double>{1.0, 1.25, 1.0, 1.0}));
}

TEST(Island, MatrixThatIsNotPositiveDefiniteIsSaid) {
  for (const double bad : {0.0, -1.0, kNaN, kInfinity}) {
    for (const double off_diagonal : {0.0, 0.5}) {
      ContactProblem problem;
      MatX A = Mat3::Identity();
      A(0, 1) = A(1, 0) = off_diagonal;
      A(2, 2) = bad;
      problem.add_subsystem(A, Vec3::Ones());
      problem.add_contact(0.5, Vec3::Zero(), testing::make_side(0, Mat3::Identity()));
      IslandWorkspace ws;
      compile_islands(problem, {}, ws);
      EXPECT_TRUE(ws.islands[0].degenerate) << bad;
    }
  }
}

TEST(Measure, EqualsTheCertificate) {
  Random random(7);
  std::vector<scenes::NamedProblem> problems = testing::feasible_problems();
  problems.push_back({"mixed", testing::make_graph_problem(mixed_graph(), true, random), {}, true});
  problems.push_back(scenes::make_scalar_rows());
  problems.push_back(scenes::make_weightless(2));
  for (const scenes::NamedProblem& named : problems) {
    const ContactProblem& problem = named.problem;
    IslandWorkspace ws;
    compile_islands(problem, {}, ws);
    double q2 = 0.0;
    for (int k = 0; k < ws.count; ++k) q2 += ws.islands[k].q_norm * ws.islands[k].q_norm;
    for (const double size : {0.0, 0.01, 1.0}) {
      const VecX lambda = size * testing::random_vector(problem.num_rows(), random);
      Residuals sum;
      for (int k = 0; k < ws.count; ++k) {
        const std::vector<int> rows = rows_of(problem, ws.islands[k]);
        std::vector<double> mine(rows.size());
        for (std::size_t r = 0; r < rows.size(); ++r) mine[r] = lambda[rows[r]];
        MeasureWorkspace measured;
        const Residuals part = measure(ws.islands[k], mine.data(), measured);
        sum.natural2 += part.natural2;
        sum.residual2 += part.residual2;
      }
      const Certificate c = make_certificate(problem, compute_velocity(problem, lambda), lambda);
      const double natural = std::sqrt(sum.natural2) / (q2 > 0.0 ? std::sqrt(q2) : 1.0);
      const double residual = std::sqrt(sum.residual2) / (problem.num_contacts() + problem.num_scalar_rows());
      EXPECT_NEAR(natural, c.natural_map, 1e-12 * (1.0 + c.natural_map)) << named.name << " " << size;
      EXPECT_NEAR(residual, c.residual, 1e-12 * (1.0 + c.residual)) << named.name << " " << size;
    }
  }
}

TEST(Island, SecondCompilationAllocatesNothing) {
  if (!testing::can_count_allocations()) GTEST_SKIP() << "allocations cannot be counted in this build";
  Random random(8);
  const ContactProblem problem = testing::make_graph_problem(mixed_graph(), true, random);
  for (const bool whole : {false, true}) {
    IslandWorkspace ws;
    compile_islands(problem, {true, whole}, ws);
    const testing::AllocationCounter counter;
    compile_islands(problem, {true, whole}, ws);
    EXPECT_EQ(counter.count(), 0);
  }
}

TEST(Island, WorkspaceCarriesNothingOver) {
  Random random(9);
  const ContactProblem large = testing::make_graph_problem(mixed_graph(), true, random);
  const ContactProblem small = testing::make_graph_problem({{4, 6, 3}, {{0, 2}, {2, -1}}}, true, random);
  IslandWorkspace used, fresh;
  compile_islands(large, {true, true}, used);
  compile_islands(large, {}, used);
  compile_islands(small, {}, used);
  compile_islands(small, {}, fresh);
  ASSERT_EQ(used.count, fresh.count);
  EXPECT_EQ(used.free_subsystems, fresh.free_subsystems);
  EXPECT_EQ(used.islands[0].J, fresh.islands[0].J);
  EXPECT_EQ(used.islands[0].W, fresh.islands[0].W);
  EXPECT_EQ(used.islands[0].q, fresh.islands[0].q);
  EXPECT_EQ(used.islands[0].mu, fresh.islands[0].mu);
  EXPECT_EQ(used.islands[0].lower, fresh.islands[0].lower);
}

}  // namespace
}  // namespace almond
