#include "almond/sim/independent.hpp"

#include <algorithm>
#include <cmath>

namespace almond {
namespace {

constexpr std::size_t kMostRows = 400;
constexpr double kDependent = 1e-9;   // of the largest W_ii of the closure
constexpr double kCompliance = 1e-6;  // likewise

/// W = J M⁻¹ Jᵀ over all equality rows, tree by tree.
bool compute_delassus(const Model& model, const Kinematics& kin, IndependenceWorkspace& w, Assembly& assembly) {
  const ContactProblem& problem = assembly.problem;
  const std::vector<Row>& rows = problem.equality;
  const auto count = static_cast<Eigen::Index>(rows.size());
  w.W.setZero(count, count);
  w.Y.clear();
  w.Y_start.assign(2 * rows.size(), -1);
  w.touched.assign(model.trees.size(), 0);
  for (const Row& row : rows)
    for (int s = 0; s < row.num_sides; ++s) w.touched[row.sides[s].subsystem] = 1;
  for (std::size_t t = 0; t < model.trees.size(); ++t) {
    if (w.touched[t] == 0) continue;
    const int dofs = model.trees[t].dofs;
    bool factored = false;
    for (std::size_t i = 0; i < rows.size(); ++i) {
      for (int s = 0; s < rows[i].num_sides; ++s) {
        if (rows[i].sides[s].subsystem != static_cast<int>(t)) continue;
        if (!factored && !factor_mass(model, static_cast<int>(t), kin, assembly.implicit, assembly.drift)) return false;
        factored = true;
        const double* J = problem.J_pool.data() + rows[i].sides[s].J_start;
        w.Y_start[2 * i + s] = static_cast<int>(w.Y.size());
        w.Y.insert(w.Y.end(), J, J + dofs);
        solve_mass(model, static_cast<int>(t), kin, assembly.drift, MapVec(w.Y.data() + w.Y_start[2 * i + s], dofs));
      }
    }
    for (std::size_t i = 0; i < rows.size(); ++i) {
      for (int s = 0; s < rows[i].num_sides; ++s) {
        if (rows[i].sides[s].subsystem != static_cast<int>(t)) continue;
        const Eigen::Map<const VecX> J(problem.J_pool.data() + rows[i].sides[s].J_start, dofs);
        for (std::size_t k = 0; k <= i; ++k) {
          for (int o = 0; o < rows[k].num_sides; ++o) {
            if (rows[k].sides[o].subsystem != static_cast<int>(t)) continue;
            const double part = J.dot(Eigen::Map<const VecX>(w.Y.data() + w.Y_start[2 * k + o], dofs));
            w.W(static_cast<Eigen::Index>(i), static_cast<Eigen::Index>(k)) += part;
          }
        }
      }
    }
  }
  w.W.triangularView<Eigen::StrictlyUpper>() = w.W.transpose();
  return true;
}

/// Largest W_ii of the same closure and the same unit.
void compute_scales(const Assembly& assembly, IndependenceWorkspace& w) {
  const auto& tags = assembly.equality;
  const auto count = static_cast<Eigen::Index>(tags.size());
  w.scale.resize(count);
  for (Eigen::Index i = 0; i < count; ++i) {
    w.scale[i] = 0.0;
    for (Eigen::Index k = 0; k < count; ++k)
      if (tags[k].index == tags[i].index && (tags[k].row < 3) == (tags[i].row < 3))
        w.scale[i] = std::max(w.scale[i], w.W(k, k));
  }
}

void find_independent(IndependenceWorkspace& w) {
  const Eigen::Index count = w.W.rows();
  w.left = w.W.diagonal();
  w.L.resize(count, count);
  w.kept.assign(static_cast<std::size_t>(count), 0);
  for (Eigen::Index rank = 0; rank < count; ++rank) {
    Eigen::Index pivot = -1;
    double best = kDependent;
    for (Eigen::Index i = 0; i < count; ++i) {
      if (w.kept[i] != 0 || !(w.left[i] > best * w.scale[i])) continue;
      best = w.left[i] / w.scale[i];
      pivot = i;
    }
    if (pivot < 0) return;
    w.kept[pivot] = 1;
    const double root = std::sqrt(w.left[pivot]);
    for (Eigen::Index i = 0; i < count; ++i) {
      if (w.kept[i] != 0 && i != pivot) continue;
      double entry = w.W(i, pivot);
      for (Eigen::Index m = 0; m < rank; ++m) entry -= w.L(i, m) * w.L(pivot, m);
      w.L(i, rank) = entry / root;
      if (i != pivot) w.left[i] -= w.L(i, rank) * w.L(i, rank);
    }
  }
}

}  // namespace

void soften_closures(const Model& model, const Kinematics& kin, IndependenceWorkspace& w, Assembly& assembly) {
  ContactProblem& problem = assembly.problem;
  std::vector<Row>& rows = problem.equality;
  assembly.soft_closures = static_cast<int>(problem.soft.size());
  if (rows.empty() || rows.size() > kMostRows || !compute_delassus(model, kin, w, assembly)) return;
  compute_scales(assembly, w);
  find_independent(w);
  std::size_t left = 0;
  for (std::size_t i = 0; i < rows.size(); ++i) {
    if (w.kept[i] == 0) continue;
    Row row = rows[i];
    row.k = row.b = 1.0 / (kCompliance * w.scale[static_cast<Eigen::Index>(i)]);
    problem.soft.push_back(row);
    assembly.soft.push_back(assembly.equality[i]);
    assembly.correction[left++] = assembly.correction[i];
  }
  rows.clear();
  assembly.equality.clear();
  assembly.correction.resize(left);
}

}  // namespace almond
