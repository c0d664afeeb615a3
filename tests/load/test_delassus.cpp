// Bodies are found again in a Delassus matrix: the parts add up to W, and there are as many as were put in. Oracles:
// the random rigid bodies that W was made from, and W itself.

#include <gtest/gtest.h>

#include <Eigen/Cholesky>
#include <Eigen/Eigenvalues>
#include <Eigen/Geometry>
#include <map>

#include "almond/load/body_cover.hpp"
#include "almond/load/delassus.hpp"
#include "load/load_fixture.hpp"

namespace almond::testing {
namespace {

/// Rigid bodies with point contacts between pairs of them (-1: the ground).
struct Bodies {
  std::mt19937_64 random{1};
  std::vector<MatX> inverse_root;             // 6 x 6 per body, M⁻¹ = R Rᵀ
  std::vector<std::pair<int, int>> contacts;  // bodies of each contact

  int add_body() {
    const MatX M = random_inertia(random, 6);
    inverse_root.push_back(MatX(M.llt().matrixL()).inverse().transpose());
    return static_cast<int>(inverse_root.size()) - 1;
  }

  void touch(int a, int b, int count) {
    for (int i = 0; i < count; ++i) contacts.emplace_back(a, b);
  }

  /// J M^-1/2 (3 m x 6 bodies): a contact at point p in a random frame has rows R [1, -[p]x].
  MatX jacobian() {
    const auto m = static_cast<int>(contacts.size());
    MatX J = MatX::Zero(3 * m, 6 * static_cast<int>(inverse_root.size()));
    for (int i = 0; i < m; ++i) {
      const MatX vectors = random_matrix(random, 3, 2);
      const Mat3 frame =
          Eigen::Quaterniond(1.0, vectors(0, 0), vectors(1, 0), vectors(2, 0)).normalized().toRotationMatrix();
      Mat3 cross;
      cross << 0, -vectors(2, 1), vectors(1, 1), vectors(2, 1), 0, -vectors(0, 1), -vectors(1, 1), vectors(0, 1), 0;
      Eigen::Matrix<double, 3, 6> rows;
      rows << frame, -frame * cross;
      for (const auto& [body, sign] : {std::pair(contacts[i].first, 1.0), std::pair(contacts[i].second, -1.0)}) {
        if (body >= 0) J.block(3 * i, 6 * body, 3, 6) = sign * rows * inverse_root[body];
      }
    }
    return J;
  }
};

Csr to_csr(const MatX& W) {
  Csr csr = Csr::empty(static_cast<int>(W.rows()), static_cast<int>(W.cols()));
  for (int r = 0; r < csr.rows; ++r) {
    for (int c = 0; c < csr.cols; ++c) {
      if (W(r, c) == 0.0) continue;
      csr.column.push_back(c);
      csr.value.push_back(W(r, c));
    }
    csr.start[r + 1] = static_cast<int>(csr.column.size());
  }
  return csr;
}

ContactProblem recover(const MatX& W, LoadReport& report) {
  const std::vector<double> q(static_cast<std::size_t>(W.rows()), 0.0), mu(q.size() / 3, 0.5);
  ContactProblem problem = make_problem_from_delassus(to_csr(W), q, mu, report);
  problem.validate();
  return problem;
}

/// Largest |J Jᵀ - W| relative to the largest entry; every subsystem has unit mass.
double error_of_parts(const ContactProblem& problem, const MatX& W) {
  const MatX J = make_dense_J(problem);
  return (J * J.transpose() - W).cwiseAbs().maxCoeff() / W.cwiseAbs().maxCoeff();
}

std::map<int, int> count_by_dofs(const ContactProblem& problem) {
  std::map<int, int> counts;
  for (const Subsystem& sub : problem.subsystems) ++counts[sub.dofs];
  return counts;
}

TEST(Delassus, FindsEveryBodyOfAStack) {
  Bodies bodies;
  for (int b = 0; b < 12; ++b) bodies.touch(b - 1, bodies.add_body(), 4);
  const MatX J = bodies.jacobian();
  LoadReport report;
  const ContactProblem problem = recover(J * J.transpose(), report);
  EXPECT_EQ(count_by_dofs(problem), (std::map<int, int>{{6, 12}}));
  EXPECT_LT(error_of_parts(problem, J * J.transpose()), 1e-12);
  EXPECT_TRUE(has_note(report, "bodies recovered from W: 12 in 1 islands, 0 islands kept whole"));
}

TEST(Delassus, FindsEveryBodyOfAWall) {
  // Bricks on two below them each: triangles of bodies, and cliques of up to six classes.
  Bodies bodies;
  constexpr int kRows = 5, kCols = 6;
  std::vector<std::vector<int>> brick(kRows, std::vector<int>(kCols));
  for (int r = 0; r < kRows; ++r) {
    for (int c = 0; c < kCols; ++c) {
      brick[r][c] = bodies.add_body();
      bodies.touch(r > 0 ? brick[r - 1][c] : -1, brick[r][c], 3);
      if (r > 0 && c + 1 < kCols) bodies.touch(brick[r - 1][c + 1], brick[r][c], 3);
      if (c > 0) bodies.touch(brick[r][c - 1], brick[r][c], 3);
    }
  }
  const MatX J = bodies.jacobian(), W = J * J.transpose();
  LoadReport report;
  const ContactProblem problem = recover(W, report);
  EXPECT_EQ(count_by_dofs(problem), (std::map<int, int>{{6, kRows * kCols}}));
  EXPECT_LT(error_of_parts(problem, W), 1e-12);
  for (std::size_t i = 0; i < problem.contacts.size(); ++i) {
    EXPECT_EQ(problem.contacts[i].num_sides, bodies.contacts[i].first < 0 ? 1 : 2);
  }
}

TEST(Delassus, RandomPilesAddUp) {
  for (int seed = 0; seed < 40; ++seed) {
    SCOPED_TRACE(seed);
    Bodies bodies;
    bodies.random.seed(static_cast<std::uint64_t>(seed));
    const int count = 3 + static_cast<int>(bodies.random() % 15);
    for (int b = 0; b < count; ++b) bodies.add_body();
    for (int k = 0; k < 2 * count; ++k) {
      const int a = static_cast<int>(bodies.random() % static_cast<unsigned>(count + 1)) - 1;
      const int b = static_cast<int>(bodies.random() % static_cast<unsigned>(count));
      if (a != b) bodies.touch(a, b, 1 + static_cast<int>(bodies.random() % 4));
    }
    const MatX J = bodies.jacobian(), W = J * J.transpose();
    LoadReport report;
    const ContactProblem problem = recover(W, report);
    EXPECT_LT(error_of_parts(problem, W), 2e-12);
    EXPECT_LE(problem.num_dofs(), 6 * count);
    EXPECT_FALSE(has_note(report, "projected"));
  }
}

TEST(Delassus, HeavyBodiesUnderLightOnesKeepTheirAccuracy) {
  // Masses alternate over twelve decades; each block must be right relative to its own contacts.
  Bodies bodies;
  for (int b = 0; b < 8; ++b) {
    bodies.touch(b - 1, bodies.add_body(), 4);
    bodies.inverse_root[b] *= b % 2 == 0 ? 1e-6 : 1.0;
  }
  const MatX J = bodies.jacobian(), W = J * J.transpose();
  LoadReport report;
  const ContactProblem problem = recover(W, report);
  const MatX ours = make_dense_J(problem);
  const VecX size = W.diagonal().cwiseSqrt();
  const MatX error =
      size.cwiseInverse().asDiagonal() * (ours * ours.transpose() - W) * size.cwiseInverse().asDiagonal();
  EXPECT_LT(error.cwiseAbs().maxCoeff(), 1e-11);
  EXPECT_LE(count_by_dofs(problem).rbegin()->first, 12);
}

TEST(Delassus, AsymmetryIsRemovedAndSaid) {
  Bodies bodies;
  for (int b = 0; b < 3; ++b) bodies.touch(b - 1, bodies.add_body(), 4);
  const MatX J = bodies.jacobian();
  MatX W = J * J.transpose();
  const MatX symmetric = W;
  MatX skew = 1e-3 * random_matrix(bodies.random, static_cast<int>(W.rows()), static_cast<int>(W.cols()));
  skew = (skew - skew.transpose()).eval();
  W += (W.array() != 0.0).select(skew, 0.0);
  LoadReport report;
  const ContactProblem problem = recover(W, report);
  EXPECT_TRUE(has_note(report, "W symmetrised"));
  EXPECT_LT(error_of_parts(problem, symmetric), 1e-12);
}

TEST(Delassus, NegativeEigenvaluesAreRemovedAndSaid) {
  std::mt19937_64 random(4);
  const MatX orthogonal = Eigen::SelfAdjointEigenSolver<MatX>(random_inertia(random, 6)).eigenvectors();
  VecX values(6);
  values << 1, 0.5, 0.25, 1e-3, -1e-7, -1e-5;
  const MatX W = orthogonal * values.asDiagonal() * orthogonal.transpose();
  const MatX nearest = orthogonal * values.cwiseMax(0.0).asDiagonal() * orthogonal.transpose();
  LoadReport report;
  const ContactProblem problem = recover(W, report);
  EXPECT_TRUE(has_note(report, "W projected"));
  EXPECT_TRUE(has_note(report, "down to -1e-05"));
  EXPECT_EQ(problem.num_dofs(), 4);
  EXPECT_LT(error_of_parts(problem, nearest), 1e-14);
}

TEST(Delassus, ContactsOnNothingStay) {
  MatX W = MatX::Zero(6, 6);
  W.topLeftCorner(3, 3).setIdentity();
  LoadReport report;
  const ContactProblem problem = recover(W, report);
  EXPECT_EQ(problem.num_contacts(), 2);
  EXPECT_EQ(problem.num_dofs(), 3);
  EXPECT_TRUE(has_note(report, "1 constraint(s) act on nothing (W_ii = 0), kept"));
  EXPECT_EQ(error_of_parts(problem, W), 0.0);
}

TEST(Delassus, EveryEdgeIsCoveredOnceAndEveryVertexTwiceAtMost) {
  // The cover's contract on random graphs, line graphs or not.
  std::mt19937_64 random(2);
  int found = 0;
  for (int trial = 0; trial < 300; ++trial) {
    const int n = 2 + static_cast<int>(random() % 9);
    std::vector<std::vector<int>> graph(static_cast<std::size_t>(n));
    for (int a = 0; a < n; ++a) {
      for (int b = a + 1; b < n; ++b) {
        if (random() % 2 == 0) continue;
        graph[a].push_back(b);
        graph[b].push_back(a);
      }
    }
    for (auto& list : graph) std::sort(list.begin(), list.end());
    const auto clusters = cover_by_bodies(graph);
    if (clusters.empty()) continue;
    ++found;
    std::vector<int> uses(static_cast<std::size_t>(n), 0);
    for (const auto& cluster : clusters) {
      for (const int v : cluster) ++uses[v];
    }
    for (const int use : uses) EXPECT_LE(use, 2);
    for (int a = 0; a < n; ++a) {
      for (const int b : graph[a]) {
        int shared = 0;
        for (const auto& cluster : clusters) {
          shared +=
              std::count(cluster.begin(), cluster.end(), a) > 0 && std::count(cluster.begin(), cluster.end(), b) > 0;
        }
        EXPECT_GE(shared, 1);
      }
    }
  }
  EXPECT_GT(found, 100);
}

#ifdef ALMOND_HAVE_HDF5

TEST(Delassus, BodiesOfRealProblems) {
  const std::string folder = shared_folder();
  if (folder.empty()) GTEST_SKIP() << "needs the folder of FCLIB problems";
  // File, total dofs (the rank of W), largest subsystem allowed.
  struct Expected {
    std::string file;
    int rank, largest;
  };
  const std::vector<Expected> expected = {{"KaplasTower-i1061-4", 504, 6},   {"RockPile_tob1", 743, 24},
                                          {"Capsules-i100-1090", 553, 24},   {"Capsules-i101-404", 478, 24},
                                          {"BoxesStack1-i100000-32", 78, 6}, {"fclib_local_problem_test", 72, 6}};
  for (const auto& [file, rank, largest] : expected) {
    SCOPED_TRACE(file);
    LoadReport report;
    const ContactProblem problem = load_problem(folder + "/fclib/" + file + ".hdf5", &report);
    EXPECT_EQ(problem.num_dofs(), rank);
    EXPECT_LE(count_by_dofs(problem).rbegin()->first, largest);
    EXPECT_FALSE(has_note(report, "projected"));
  }
}

#endif  // ALMOND_HAVE_HDF5

}  // namespace
}  // namespace almond::testing
