#include "almond/solver/island.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "almond/base/check.hpp"
#include "almond/solver/lanes.hpp"

namespace almond {
namespace {

/// Whole registers, but for what fits into half of one.
int padded(int dofs) { return dofs <= kLanes / 2 ? kLanes / 2 : pad_lanes(dofs); }

int find_root(std::vector<int>& parent, int i) {
  while (parent[i] != i) {
    parent[i] = parent[parent[i]];
    i = parent[i];
  }
  return i;
}

void unite(std::vector<int>& parent, int i, int j) {
  i = find_root(parent, i);
  j = find_root(parent, j);
  if (i != j) parent[std::max(i, j)] = std::min(i, j);
}

/// Visits (sides, number of sides, rows, index in λ's block order), leaving out contacts that move nothing.
template <class Visit>
void for_each_constraint(const ContactProblem& problem, const CompileOptions& options, Visit&& visit) {
  const bool all = options.idle == nullptr || options.idle->empty();
  int index = 0;
  for (const Contact& c : problem.contacts) {
    if ((all || (*options.idle)[static_cast<std::size_t>(index)] == 0) && !is_inert(problem, c))
      visit(c.sides, c.num_sides, 3, index);
    ++index;
  }
  for (const std::vector<Row>* pool : {&problem.hard, &problem.soft, &problem.equality, &problem.bounded}) {
    for (const Row& r : *pool) visit(r.sides, r.num_sides, 1, index++);
  }
}

/// Bias, compliance and bounds of the one-component rows in normal form.
void append_row_data(const ContactProblem& problem, int scalar_index, Island& island) {
  int i = scalar_index;
  const auto take = [&](const std::vector<Row>& pool) {
    if (i < static_cast<int>(pool.size())) return true;
    i -= static_cast<int>(pool.size());
    return false;
  };
  double e = 0.0, compliance = 0.0, lower = -kInfinity, upper = kInfinity;
  if (take(problem.hard)) {
    e = problem.hard[i].e;
    lower = 0.0;
  } else if (take(problem.soft)) {
    const Row& r = problem.soft[i];
    e = r.k / r.b * r.e;
    compliance = 1.0 / r.b;
    lower = -r.limit;
    upper = r.limit;
  } else if (take(problem.equality)) {
    e = problem.equality[i].e;
  } else {
    const Row& r = problem.bounded[i];
    e = r.e;
    lower = -r.limit;
    upper = r.limit;
  }
  island.e.push_back(e);
  island.compliance.push_back(compliance);
  island.lower.push_back(lower);
  island.upper.push_back(upper);
}

/// Columns up to the last that is not zero.
int used_columns(const MapConstMatr& J) {
  const auto cols = static_cast<int>(J.cols());
  int used = 0;
  for (Eigen::Index r = 0; r < J.rows(); ++r) {
    const double* row = J.data() + r * cols;
    int k = cols;
    while (k > used && row[k - 1] == 0.0) --k;
    used = k;
  }
  return used;
}

void clear(Island& island) {
  island.nodes.clear();
  island.constraints.clear();
  for (std::vector<double>* x : {&island.U, &island.b, &island.e, &island.q, &island.mu, &island.compliance,
                                 &island.lower, &island.upper, &island.W, &island.w_bar}) {
    x->clear();
  }
  island.num_contacts = island.num_constraints = island.rows = island.side_rows = 0;
  island.v_size = island.num_dofs = 0;
  island.degenerate = false;
}

int add_node(int subsystem, int dofs, Island& island) {
  Node node;
  node.subsystem = subsystem;
  node.dofs = dofs;
  node.ld = padded(dofs);
  node.v_begin = island.v_size;
  island.v_size += node.ld;
  island.num_dofs += dofs;
  island.nodes.push_back(node);
  return static_cast<int>(island.nodes.size()) - 1;
}

/// Copies A_j and b_j of a subsystem into rows [at, at + n) of a node.
void copy_dynamics(const ContactProblem& problem, int subsystem, int at, const Node& node, Island& island) {
  const MapConstMat A = problem.A(subsystem);
  const MapConstVec b = problem.b_of(subsystem);
  for (int c = 0; c < A.cols(); ++c) {
    for (int r = 0; r < A.rows(); ++r) island.U[node.U_begin + (at + c) * node.dofs + at + r] = A(r, c);
    island.b[node.v_begin + at + c] = b[c];
  }
}

/// A = U Uᵀ in place (upper triangle), last column first. False if A is not positive definite.
bool factor_upper(double* A, int n) {
  for (int j = n - 1; j >= 0; --j) {
    double* column = A + static_cast<std::ptrdiff_t>(j) * n;
    if (!(column[j] > 0.0) || !std::isfinite(column[j])) return false;
    const double pivot = std::sqrt(column[j]), inverse = 1.0 / pivot;
    column[j] = pivot;
    for (int i = 0; i < j; ++i) column[i] *= inverse;
    for (int k = 0; k < j; ++k) {
      const double x = column[k];
      if (x == 0.0) continue;
      double* other = A + static_cast<std::ptrdiff_t>(k) * n;
      for (int i = 0; i <= k; ++i) other[i] -= x * column[i];
    }
  }
  return true;
}

bool is_diagonal(const double* A, int n) {
  for (int c = 0; c < n; ++c) {
    for (int r = 0; r < c; ++r) {
      if (A[c * n + r] != 0.0) return false;
    }
  }
  return true;
}

/// x <- U⁻¹ x.
void solve_upper(const double* U, int n, bool diagonal, double* x) {
  if (diagonal) {
    for (int k = 0; k < n; ++k) x[k] /= U[k * n + k];
    return;
  }
  for (int k = n - 1; k >= 0; --k) {
    if (x[k] == 0.0) continue;
    const double* column = U + static_cast<std::ptrdiff_t>(k) * n;
    const double value = x[k] / column[k];
    x[k] = value;
    for (int i = 0; i < k; ++i) x[i] -= value * column[i];
  }
}

/// x <- U⁻ᵀ x.
void solve_upper_transposed(const double* U, int n, bool diagonal, double* x) {
  if (diagonal) {
    for (int k = 0; k < n; ++k) x[k] /= U[k * n + k];
    return;
  }
  for (int k = 0; k < n; ++k) {
    const double* column = U + static_cast<std::ptrdiff_t>(k) * n;
    double sum = x[k];
    for (int i = 0; i < k; ++i) sum -= column[i] * x[i];
    x[k] = sum / column[k];
  }
}

/// Four rows at a time x <- U⁻¹ x: their chains of pivots run side by side. `inverse` holds 1 / U_kk.
void solve_upper_rows(const double* U, int n, const double* inverse, double* rows, int ld, int count) {
  int r = 0;
  for (; r + 4 <= count; r += 4, rows += 4 * ld) {
    double* __restrict x0 = rows, * __restrict x1 = rows + ld, * __restrict x2 = x1 + ld, * __restrict x3 = x2 + ld;
    for (int k = n - 1; k >= 0; --k) {
      if (x0[k] == 0.0 && x1[k] == 0.0 && x2[k] == 0.0 && x3[k] == 0.0) continue;
      const double* __restrict column = U + static_cast<std::ptrdiff_t>(k) * n;
      const double v0 = x0[k] *= inverse[k], v1 = x1[k] *= inverse[k], v2 = x2[k] *= inverse[k],
                   v3 = x3[k] *= inverse[k];
      for (int i = 0; i < k; ++i) {
        x0[i] -= v0 * column[i];
        x1[i] -= v1 * column[i];
        x2[i] -= v2 * column[i];
        x3[i] -= v3 * column[i];
      }
    }
  }
  for (; r < count; ++r, rows += ld) solve_upper(U, n, false, rows);
}

/// Factors A, whitens b and J.
void whiten(Island& island, std::vector<double>& scratch) {
  for (Node& node : island.nodes) {
    double* U = &island.U[node.U_begin];
    node.diagonal = is_diagonal(U, node.dofs);
    bool ok = true;
    if (node.diagonal) {
      for (int k = 0; k < node.dofs; ++k) {
        double& d = U[k * node.dofs + k];
        ok = ok && d > 0.0 && std::isfinite(d);
        d = std::sqrt(d);
      }
    } else {
      ok = factor_upper(U, node.dofs);
    }
    if (!ok) {
      island.degenerate = true;
      return;
    }
    solve_upper(U, node.dofs, node.diagonal, &island.b[node.v_begin]);
    // J U⁻ᵀ: each row x solves U xᵀ = Jᵀ.
    double* J = &island.J[node.J_begin];
    scratch.resize(std::max<std::size_t>(scratch.size(), node.dofs));
    for (int k = 0; k < node.dofs; ++k) scratch[k] = 1.0 / U[k * node.dofs + k];
    if (!node.diagonal) {
      solve_upper_rows(U, node.dofs, scratch.data(), J, node.ld, node.side_rows);
      continue;
    }
    for (int r = 0; r < node.side_rows; ++r, J += node.ld) {
      for (int k = 0; k < node.dofs; ++k) J[k] *= scratch[k];
    }
  }
}

/// W_ii (row by row) of a contact between two rigid bodies, or one and the ground: eight padded dofs each.
void multiply_bodies(const Island& island, const Constraint& c, double* W) {
  const double* J = &island.J[c.J[0]];
  Lanes x[3] = {lanes_at(J), lanes_at(J + kLanes), lanes_at(J + 2 * kLanes)};
  Lanes upper[4] = {x[0] * x[0], x[0] * x[1], x[0] * x[2], x[1] * x[1]}, lower[4] = {x[1] * x[2], x[2] * x[2], {}, {}};
  if (c.num_sides == 2) {
    J = &island.J[c.J[1]];
    for (int r = 0; r < 3; ++r) x[r] = lanes_at(J + r * kLanes);
    upper[0] += x[0] * x[0];
    upper[1] += x[0] * x[1];
    upper[2] += x[0] * x[2];
    upper[3] += x[1] * x[1];
    lower[0] += x[1] * x[2];
    lower[1] += x[2] * x[2];
  }
  double sums[8];
  add_lanes(upper, sums);
  add_lanes(lower, sums + 4);
  W[0] = sums[0];
  W[1] = W[3] = sums[1];
  W[2] = W[6] = sums[2];
  W[4] = sums[3];
  W[5] = W[7] = sums[4];
  W[8] = sums[5];
}

/// Between bodies that move apart from each other, both without further joints.
bool joins_bodies(const Island& island, const Constraint& c) {
  return c.dim == 3 && island.nodes[c.node[0]].ld == kLanes &&
         (c.num_sides == 1 || (c.node[0] != c.node[1] && island.nodes[c.node[1]].ld == kLanes));
}

/// Diagonal blocks of W = J Jᵀ + compliance, and the free velocity.
void compute_delassus(Island& island, std::vector<double>& scratch) {
  island.W.clear();
  island.w_bar.clear();
  for (int i = 0; i < island.num_constraints; ++i) {
    const Constraint& c = island.constraints[i];
    double W[9] = {};
    const bool bodies = joins_bodies(island, c);
    if (bodies) multiply_bodies(island, c, W);
    for (int s = 0; s < c.num_sides && !bodies; ++s) {
      const int ld = island.nodes[c.node[s]].ld;
      const double* J = &island.J[c.J[s]];
      for (int r = 0; r < c.dim; ++r) {
        for (int l = 0; l <= r; ++l) {
          double sum = 0.0;
          for (int j = 0; j < ld; ++j) sum += J[r * ld + j] * J[l * ld + j];
          W[r * c.dim + l] += sum;
        }
      }
    }
    if (c.num_sides == 2 && c.node[0] == c.node[1]) {  // both ends move with the same velocities
      const int ld = island.nodes[c.node[0]].ld;
      const double *J0 = &island.J[c.J[0]], *J1 = &island.J[c.J[1]];
      for (int r = 0; r < c.dim; ++r) {
        for (int l = 0; l <= r; ++l) {
          double sum = 0.0;
          for (int j = 0; j < ld; ++j) sum += J0[r * ld + j] * J1[l * ld + j] + J1[r * ld + j] * J0[l * ld + j];
          W[r * c.dim + l] += sum;
        }
      }
    }
    for (int r = 0; r < c.dim && !bodies; ++r) {
      for (int l = r + 1; l < c.dim; ++l) W[r * c.dim + l] = W[l * c.dim + r];
    }
    if (c.dim == 1) W[0] += island.compliance[island.row_index(i)];
    island.W.insert(island.W.end(), W, W + c.dim * c.dim);
    const double mean = c.dim == 3 ? (W[0] + W[4] + W[8]) / 3.0 : W[0];
    island.w_bar.push_back(mean > 0.0 ? mean : 1.0);
  }
  island.q.resize(island.rows);
  scratch.resize(std::max<std::size_t>(scratch.size(), island.side_rows));
  multiply_J(island, island.b.data(), scratch.data());
  island.sides2 = 0.0;
  for (int r = 0; r < island.side_rows; ++r) island.sides2 += scratch[r] * scratch[r];
  gather_sides(island, scratch.data(), true, island.q.data());
  double q2 = 0.0, b2 = 0.0;
  for (double x : island.q) q2 += x * x;
  for (double x : island.b) b2 += x * x;
  island.q_norm = std::sqrt(q2);
  island.b_norm = std::sqrt(b2);
}

}  // namespace

void compile_islands(const ContactProblem& problem, const CompileOptions& options, IslandWorkspace& ws) {
  const int num_subsystems = static_cast<int>(problem.subsystems.size());
  ws.parent.resize(num_subsystems);
  std::iota(ws.parent.begin(), ws.parent.end(), 0);
  ws.row_of.assign(num_subsystems, 0);  // used first as "touched"
  for_each_constraint(problem, options, [&](const auto& sides, int num_sides, int, int) {
    ws.row_of[sides[0].subsystem] = 1;
    if (num_sides == 2) {
      ws.row_of[sides[1].subsystem] = 1;
      unite(ws.parent, sides[0].subsystem, sides[1].subsystem);
    }
  });

  // Number the islands in order of their first subsystem; untouched subsystems move freely.
  ws.island_of.assign(num_subsystems, -1);
  ws.node_of.assign(num_subsystems, -1);
  ws.free_subsystems.clear();
  ws.count = 0;
  for (int s = 0; s < num_subsystems; ++s) {
    if (ws.row_of[s] == 0) {
      ws.free_subsystems.push_back(s);
      continue;
    }
    const int root = options.whole ? 0 : find_root(ws.parent, s);
    int id = options.whole ? (ws.count > 0 ? 0 : -1) : ws.island_of[root];
    if (id < 0) {
      id = ws.count++;
      if (static_cast<int>(ws.islands.size()) < ws.count) ws.islands.emplace_back();
      clear(ws.islands[id]);
      ws.islands[id].problem = &problem;
      if (!options.whole) ws.island_of[root] = id;
    }
    ws.island_of[s] = id;
    Island& island = ws.islands[id];
    if (options.whole) {  // one node: remember the place inside it
      if (island.nodes.empty()) island.nodes.emplace_back();
      ws.node_of[s] = 0;
      ws.fill.resize(num_subsystems);
      ws.fill[s] = island.num_dofs;
      island.num_dofs += problem.subsystems[s].dofs;
    } else {
      ws.node_of[s] = add_node(s, problem.subsystems[s].dofs, island);
      const int tree = problem.subsystems[s].tree;
      if (tree >= 0) island.nodes.back().tree = &problem.trees[tree];
    }
  }
  if (options.whole && ws.count > 0) {
    Island& island = ws.islands[0];
    const int n = island.num_dofs;
    island.nodes.clear();
    island.v_size = island.num_dofs = 0;
    add_node(-1, n, island);
  }

  // Dynamics.
  for (int k = 0; k < ws.count; ++k) {
    Island& island = ws.islands[k];
    int size = 0;
    for (Node& node : island.nodes) {
      node.U_begin = size;
      size += node.dofs * node.dofs;
    }
    island.U.assign(size, 0.0);
    island.b.assign(island.v_size, 0.0);
  }
  for (int s = 0; s < num_subsystems; ++s) {
    if (ws.island_of[s] < 0 || ws.row_of[s] == 0) continue;
    Island& island = ws.islands[ws.island_of[s]];
    copy_dynamics(problem, s, options.whole ? ws.fill[s] : 0, island.nodes[ws.node_of[s]], island);
  }

  // Constraints: count, then place the side rows of each node one after the other, in constraint order.
  for_each_constraint(problem, options, [&](const auto& sides, int num_sides, int dim, int index) {
    Island& island = ws.islands[ws.island_of[sides[0].subsystem]];
    Constraint c;
    c.dim = dim;
    c.index = index;
    c.num_sides = num_sides;
    c.parts = sides.data();
    c.num_parts = num_sides;
    c.row = island.rows;
    for (int s = 0; s < num_sides; ++s) c.node[s] = ws.node_of[sides[s].subsystem];
    const bool same = num_sides == 2 && c.node[0] == c.node[1];
    if (same && (options.merge_sides || options.whole)) c.num_sides = 1;
    for (int s = 0; s < c.num_sides; ++s) {
      Node& node = island.nodes[c.node[s]];
      c.slot[s] = node.side_rows;  // relative for now
      node.side_rows += dim;
    }
    island.rows += dim;
    island.num_contacts += dim == 3;
    island.constraints.push_back(c);
  });
  for (int k = 0; k < ws.count; ++k) {
    Island& island = ws.islands[k];
    island.num_constraints = static_cast<int>(island.constraints.size());
    int J_size = 0;
    for (Node& node : island.nodes) {
      node.side_begin = island.side_rows;
      node.J_begin = J_size;
      island.side_rows += node.side_rows;
      J_size += node.side_rows * node.ld;
    }
    island.J.resize(J_size);  // every row is written below
    for (Constraint& c : island.constraints) {
      for (int s = 0; s < c.num_sides; ++s) {
        const Node& node = island.nodes[c.node[s]];
        c.J[s] = node.J_begin + c.slot[s] * node.ld;
        c.slot[s] += node.side_begin;
      }
    }
  }

  // Values of J, e and the row data.
  ws.fill.resize(std::max<std::size_t>(ws.fill.size(), num_subsystems));
  ws.parent.assign(ws.count, 0);  // next constraint of each island
  for_each_constraint(problem, options, [&](const auto& sides, int num_sides, int dim, int) {
    const int id = ws.island_of[sides[0].subsystem];
    Island& island = ws.islands[id];
    Constraint& c = island.constraints[ws.parent[id]++];
    for (int s = 0; s < num_sides; ++s) {
      const int into = std::min(s, c.num_sides - 1);
      const Node& node = island.nodes[c.node[into]];
      const MapConstMatr J = problem.J(sides[s], dim);
      const int at = options.whole ? ws.fill[sides[s].subsystem] : 0;
      const int cols = static_cast<int>(J.cols());
      for (int r = 0; r < dim; ++r) {
        double* row = &island.J[c.J[into] + r * node.ld];
        const double* from = J.data() + r * cols;
        if (s != into) {  // both sides on one node: the first has been written
          for (int j = 0; j < cols; ++j) row[at + j] += from[j];
        } else if (node.ld == kLanes && cols == 6) {  // a rigid body: no call for so few numbers
          lanes_at(row) = Lanes{from[0], from[1], from[2], from[3], from[4], from[5], 0.0, 0.0};
        } else {
          std::fill(row, row + at, 0.0);
          std::copy(from, from + cols, row + at);
          std::fill(row + at + cols, row + node.ld, 0.0);
        }
      }
      if (node.ld <= kLanes) {
        c.width[into] = node.ld;
      } else if (c.width[into] < node.ld) {  // whitening fills in towards the root only
        c.width[into] = std::max(c.width[into], pad_lanes(at + used_columns(J)));
      }
    }
    if (dim == 3) {
      const Contact& contact = problem.contacts[c.index];
      island.mu.push_back(contact.mu);
      island.e.insert(island.e.end(), contact.e.data(), contact.e.data() + 3);
    } else {
      append_row_data(problem, c.index - problem.num_contacts(), island);
    }
  });

  for (int k = 0; k < ws.count; ++k) {
    Island& island = ws.islands[k];
    whiten(island, ws.scratch);
    if (!island.degenerate) compute_delassus(island, ws.scratch);
  }
}

bool is_inert(const ContactProblem& problem, const Contact& contact) {
  for (int s = 0; s < contact.num_sides; ++s) {
    const MapConstMatr J = problem.J(contact.sides[s], 3);
    if (!std::all_of(J.data(), J.data() + J.size(), [](double x) { return x == 0.0; })) return false;
  }
  return true;
}

int problem_row(const ContactProblem& problem, const Island& island, int constraint) {
  const Constraint& c = island.constraints[constraint];
  const int m = problem.num_contacts();
  return c.index < m ? 3 * c.index : 3 * m + (c.index - m);
}

void unwhiten(const Island& island, const Node& node, const double* v_white, double* v) {
  std::copy(v_white, v_white + node.dofs, v);
  solve_upper_transposed(&island.U[node.U_begin], node.dofs, node.diagonal, v);
}

bool solve_free(const ContactProblem& problem, int subsystem, IslandWorkspace& ws, double* v) {
  const MapConstMat A = problem.A(subsystem);
  const MapConstVec b = problem.b_of(subsystem);
  const int n = static_cast<int>(A.cols());
  ws.scratch.resize(std::max<std::size_t>(ws.scratch.size(), static_cast<std::size_t>(n) * n));
  std::copy(A.data(), A.data() + A.size(), ws.scratch.begin());
  if (!factor_upper(ws.scratch.data(), n)) return false;
  std::copy(b.data(), b.data() + n, v);
  solve_upper(ws.scratch.data(), n, false, v);
  solve_upper_transposed(ws.scratch.data(), n, false, v);
  return true;
}

}  // namespace almond
