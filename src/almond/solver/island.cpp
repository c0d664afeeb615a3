#include "almond/solver/island.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "almond/base/check.hpp"
#include "almond/solver/lanes.hpp"
#include "almond/solver/whiten.hpp"

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

/// Contacts that are idle, or move nothing.
void find_left_out(const ContactProblem& problem, const CompileOptions& options, std::vector<char>& left_out) {
  const bool all = options.idle == nullptr || options.idle->empty();
  left_out.resize(problem.contacts.size());
  for (std::size_t i = 0; i < left_out.size(); ++i)
    left_out[i] = (!all && (*options.idle)[i] != 0) || is_inert(problem, problem.contacts[i]) ? 1 : 0;
}

/// Visits (sides, number of sides, rows, index in λ's block order) of all constraints but those left out.
template <class Visit>
void for_each_constraint(const ContactProblem& problem, const std::vector<char>& left_out, Visit&& visit) {
  int index = 0;
  for (const Contact& c : problem.contacts) {
    if (left_out[static_cast<std::size_t>(index)] == 0) visit(c.sides, c.num_sides, 3, index);
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

/// A row of J into whole registers: no calls for so few numbers.
void copy_padded(const double* from, int cols, double* row, int ld) {
  int k = 0;
  for (; k + kLanes <= cols; k += kLanes) lanes_at(row + k) = lanes_at(from + k);
  for (; k < ld; k += kLanes) {
    Lanes rest{};
    for (int j = 0; j < kLanes && k + j < cols; ++j) rest[j] = from[k + j];
    lanes_at(row + k) = rest;
  }
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
  if (A.cols() == node.dofs) {
    std::copy(A.data(), A.data() + A.size(), island.U.data() + node.U_begin);
    std::copy(b.data(), b.data() + b.size(), island.b.data() + node.v_begin);
    return;
  }
  for (int c = 0; c < A.cols(); ++c) {
    for (int r = 0; r < A.rows(); ++r) island.U[node.U_begin + (at + c) * node.dofs + at + r] = A(r, c);
    island.b[node.v_begin + at + c] = b[c];
  }
}

}  // namespace

void compile_islands(const ContactProblem& problem, const CompileOptions& options, IslandWorkspace& ws) {
  const int num_subsystems = static_cast<int>(problem.subsystems.size());
  find_left_out(problem, options, ws.left_out);
  ws.parent.resize(num_subsystems);
  std::iota(ws.parent.begin(), ws.parent.end(), 0);
  ws.row_of.assign(num_subsystems, 0);  // used first as "touched"
  for_each_constraint(problem, ws.left_out, [&](const auto& sides, int num_sides, int, int) {
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
    if (options.whole) island.U.assign(size, 0.0);
    island.U.resize(size);  // every block is written below
    island.b.assign(island.v_size, 0.0);
  }
  for (int s = 0; s < num_subsystems; ++s) {
    if (ws.island_of[s] < 0 || ws.row_of[s] == 0) continue;
    Island& island = ws.islands[ws.island_of[s]];
    copy_dynamics(problem, s, options.whole ? ws.fill[s] : 0, island.nodes[ws.node_of[s]], island);
  }

  // Constraints: count, then place the side rows of each node one after the other, in constraint order.
  for_each_constraint(problem, ws.left_out, [&](const auto& sides, int num_sides, int dim, int index) {
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
  for_each_constraint(problem, ws.left_out, [&](const auto& sides, int num_sides, int dim, int) {
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
        } else if (!options.whole && node.ld >= kLanes) {
          copy_padded(from, cols, row, node.ld);
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

}  // namespace almond
