#pragma once
// What the tests of single solver parts share: random graphs of subsystems with every kind of constraint, one compiled
// island with its monitor, and the island's matrices as dense ones.

#include <gtest/gtest.h>

#include <Eigen/Cholesky>
#include <array>
#include <utility>
#include <vector>

#include "almond/solver/monitor.hpp"
#include "scenes/problems.hpp"
#include "scenes/random.hpp"

namespace almond::testing {

inline SideInput make_side(int subsystem, const MatX& J) {
  SideInput side;
  side.subsystem = subsystem;
  side.J = J;
  return side;
}

inline MatX random_matrix(int rows, int cols, scenes::Random& random) {
  MatX M(rows, cols);
  for (double& value : M.reshaped()) value = random.normal();
  return M;
}

inline VecX random_vector(int size, scenes::Random& random) { return random_matrix(size, 1, random); }

inline MatX random_spd(int n, scenes::Random& random) {
  const MatX M = random_matrix(n, n, random);
  return M * M.transpose() / n + 0.5 * MatX::Identity(n, n);
}

/// Subsystems and the pairs that touch; -1 as second is the ground, a pair of equals is one subsystem touching itself.
struct Graph {
  std::vector<int> dofs;
  std::vector<std::array<int, 2>> edges;
};

/// A contact on every edge; with `rows`, also a hard, soft, equality or bounded row on each, in turn.
inline ContactProblem make_graph_problem(const Graph& graph, bool rows, scenes::Random& random) {
  ContactProblem problem;
  for (const int n : graph.dofs) problem.add_subsystem(random_spd(n, random), random_vector(n, random));
  int kind = 0;
  for (const auto& [a, b] : graph.edges) {
    const auto sides_of = [&, first = a, second = b](int dim) {
      std::vector<SideInput> sides = {make_side(first, random_matrix(dim, graph.dofs[first], random))};
      if (second >= 0) sides.push_back(make_side(second, random_matrix(dim, graph.dofs[second], random)));
      return sides;
    };
    const std::vector<SideInput> sides = sides_of(3);
    const Vec3 e = 0.3 * random.normal3();
    const double mu = random.uniform(0.0, 1.0);
    if (sides.size() == 1) problem.add_contact(mu, e, sides[0]);
    if (sides.size() == 2) problem.add_contact(mu, e, sides[0], sides[1]);
    if (!rows) continue;
    switch (kind++ % 4) {
      case 0:
        problem.add_hard(random.normal(), sides_of(1));
        break;
      case 1:
        problem.add_soft(random.normal(), random.uniform(1.0, 5.0), random.uniform(0.1, 2.0), sides_of(1));
        break;
      case 2:
        problem.add_equality(random.normal(), sides_of(1));
        break;
      default:
        problem.add_bounded(random.normal(), random.uniform(0.05, 1.0), sides_of(1));
        break;
    }
  }
  problem.validate();
  return problem;
}

/// The first island of a problem, with a monitor whose goals are `goal` [m/s] and [N s].
class OneIsland {
 public:
  explicit OneIsland(ContactProblem problem, double goal = 1e-12, const CompileOptions& options = {})
      : problem_(std::move(problem)) {
    compile_islands(problem_, options, workspace_);
    EXPECT_GE(workspace_.count, 1);
    clock_.parts.resize(1);
    monitor.start(island(), 0, goal, goal, clock_);
    lambda.assign(island().rows, 0.0);
  }
  OneIsland(const OneIsland&) = delete;
  OneIsland& operator=(const OneIsland&) = delete;

  [[nodiscard]] const Island& island() const { return workspace_.islands[0]; }

  Monitor monitor;
  std::vector<double> lambda;  // start value and answer, in the island's order

 private:
  ContactProblem problem_;  // islands point into it
  IslandWorkspace workspace_;
  SolveClock clock_;
};

/// Whitened J of the island, rows of λ by padded velocities, built from products with unit vectors.
inline MatX dense_J(const Island& island) {
  MatX J(island.rows, island.v_size);
  std::vector<double> v(island.v_size, 0.0), side(island.side_rows);
  for (int k = 0; k < island.v_size; ++k) {
    v[k] = 1.0;
    multiply_J(island, v.data(), side.data());
    gather_sides(island, side.data(), false, J.col(k).data());
    v[k] = 0.0;
  }
  return J;
}

/// Numbers for the real dofs, zero for the padding.
inline VecX random_velocity(const Island& island, scenes::Random& random) {
  VecX v = VecX::Zero(island.v_size);
  for (const Node& node : island.nodes) v.segment(node.v_begin, node.dofs) = random_vector(node.dofs, random);
  return v;
}

inline MapConstVec as_vector(const std::vector<double>& x) { return {x.data(), static_cast<Eigen::Index>(x.size())}; }

}  // namespace almond::testing
