#include "almond/solver/impulse_ratio.hpp"

#include <algorithm>
#include <cmath>

#include "almond/solver/certificate.hpp"

namespace almond {
namespace {

int find_root(std::vector<int>& parent, int i) {
  while (parent[i] != i) i = parent[i] = parent[parent[i]];
  return i;
}

/// Largest |λ| of one constraint.
double size_of(const Constraint& c, const double* lambda) {
  double size = 0.0;
  for (int r = 0; r < c.dim; ++r) size = std::max(size, std::abs(lambda[c.row + r]));
  return size;
}

/// Visits (node, subsystem); the one node of a whole system has all of them.
template <class Visit>
void for_each_subsystem(const Island& island, Visit&& visit) {
  for (std::size_t k = 0; k < island.nodes.size(); ++k) {
    const int only = island.nodes[k].subsystem;
    const int begin = only >= 0 ? only : 0;
    const int end = only >= 0 ? only + 1 : static_cast<int>(island.problem->subsystems.size());
    for (int s = begin; s < end; ++s) visit(static_cast<int>(k), s);
  }
}

/// The longest lever on each dof, of rows that bear.
void find_reach(const Island& island, const double* lambda, std::vector<double>& reach) {
  const ContactProblem& problem = *island.problem;
  reach.resize(static_cast<std::size_t>(problem.num_dofs()));
  for_each_subsystem(island, [&](int, int s) {
    const Subsystem& sub = problem.subsystems[s];
    std::fill_n(reach.begin() + sub.offset, sub.dofs, 0.0);
  });
  for (const Constraint& c : island.constraints) {
    if (size_of(c, lambda) == 0.0) continue;
    for (int s = 0; s < c.num_parts; ++s) {
      const Subsystem& sub = problem.subsystems[c.parts[s].subsystem];
      const double* J = problem.J_pool.data() + c.parts[s].J_start;
      double* const out = reach.data() + sub.offset;
      for (int r = 0; r < c.dim; ++r, J += sub.dofs)
        for (int k = 0; k < sub.dofs; ++k) out[k] = std::max(out[k], std::abs(J[k]));
    }
  }
}

/// What the heaviest dof of a subsystem weighs at the longest lever on it.
double heaviest_dof(const ContactProblem& problem, int subsystem, const std::vector<double>& reach) {
  const Subsystem& sub = problem.subsystems[subsystem];
  const MapConstMat A = problem.A(subsystem);
  double mass = 0.0;
  for (int k = 0; k < sub.dofs; ++k)
    if (const double r = reach[sub.offset + k]; r > 0.0) mass = std::max(mass, mass_at_lever(A(k, k), r));
  return mass;
}

/// What a constraint weighs, tr(W_ii⁻¹) / dim. Of a contact it is the sum of principal minors by the determinant.
double weight_of(const Island& island, int i) {
  const int m = island.num_contacts;
  if (i >= m) return 1.0 / island.W[9 * m + (i - m)];
  const double* const W = &island.W[9 * i];
  const double c0 = W[4] * W[8] - W[5] * W[5], c1 = W[1] * W[8] - W[5] * W[2], c2 = W[1] * W[5] - W[4] * W[2];
  const double det = W[0] * c0 - W[1] * c1 + W[2] * c2;
  const double minors = c0 + (W[0] * W[8] - W[2] * W[2]) + (W[0] * W[4] - W[1] * W[1]);
  return det > 0.0 ? minors / (3.0 * det) : kInfinity;
}

}  // namespace

double impulse_ratio(const Island& island, const double* lambda, ImpulseWorkspace& w) {
  const std::size_t nodes = island.nodes.size();
  w.parent.resize(nodes);
  for (std::size_t k = 0; k < nodes; ++k) w.parent[k] = static_cast<int>(k);
  bool any = false;
  for (const Constraint& c : island.constraints) {
    if (size_of(c, lambda) == 0.0) continue;
    any = true;
    if (c.num_sides == 2) w.parent[find_root(w.parent, c.node[0])] = find_root(w.parent, c.node[1]);
  }
  if (!any) return 0.0;
  find_reach(island, lambda, w.reach);
  for (std::vector<double>* of_root : {&w.energy2, &w.heaviest, &w.mass, &w.pushed, &w.largest})
    of_root->assign(nodes, 0.0);
  for (std::size_t k = 0; k < nodes; ++k) {
    const Node& node = island.nodes[k];
    w.energy2[find_root(w.parent, static_cast<int>(k))] += MapConstVec(&island.b[node.v_begin], node.ld).squaredNorm();
  }
  for_each_subsystem(island, [&](int node, int s) {
    double& heaviest = w.heaviest[find_root(w.parent, node)];
    heaviest = std::max(heaviest, heaviest_dof(*island.problem, s, w.reach));
  });
  for (int i = 0; i < island.num_constraints; ++i) {
    const Constraint& c = island.constraints[i];
    const double size = size_of(c, lambda);
    if (size == 0.0) continue;
    const int root = find_root(w.parent, c.node[0]);
    const double mass = std::min(weight_of(island, i), w.heaviest[root]);
    w.mass[root] = std::max(w.mass[root], mass);
    w.largest[root] = std::max(w.largest[root], size);
    for (int r = 0; r < c.dim; ++r) w.pushed[root] = std::max(w.pushed[root], mass * std::abs(island.e[c.row + r]));
  }
  double ratio = 0.0;
  for (std::size_t k = 0; k < nodes; ++k)
    if (w.largest[k] > 0.0) ratio = std::max(ratio, w.largest[k] / (std::sqrt(w.mass[k] * w.energy2[k]) + w.pushed[k]));
  return ratio;
}

}  // namespace almond
