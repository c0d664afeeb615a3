#include "almond/solver/tree_map.hpp"

#include <algorithm>
#include <cmath>

#include "almond/base/tree.hpp"

namespace almond {
namespace {

constexpr int kSix = kLanes;     // a six-vector, padded
constexpr int kMat6 = 6 * kSix;  // a 6x6, columns padded

/// H x for the six padded columns of H.
inline void multiply6(const double* H, const double* x, double* out) {
  Lanes sum{};
  for (int c = 0; c < 6; ++c) sum += x[c] * lanes_at(H + c * kSix);
  lanes_at(out) = sum;
}

inline double dot6(const double* x, const double* y) { return add_lanes(lanes_at(x) * lanes_at(y)); }

/// The only nonzero entry of a row, or -1.
int find_single(const double* row, int n) {
  int found = -1;
  for (int j = 0; j < n; ++j) {
    if (row[j] == 0.0) continue;
    if (found >= 0) return -1;
    found = j;
  }
  return found;
}

}  // namespace

void TreeMap::lay_out(const Island& island, int node, const int* sides, int num_sides, const std::vector<int>& row_of) {
  problem_ = island.problem;
  const Subsystem& subsystem = problem_->subsystems[island.nodes[node].subsystem];
  tree_ = island.nodes[node].tree;
  b_ = &problem_->b[subsystem.offset];
  num_bodies_ = tree_->num_bodies();
  num_dofs_ = tree_->num_dofs();

  compute_dof_parents(*tree_, dof_parent_);
  path_begin_.assign(1, 0);
  path_.clear();
  for (int k = 0; k < num_dofs_; ++k) {
    for (int l = k; l >= 0; l = dof_parent_[l]) path_.push_back(l);
    path_begin_.push_back(static_cast<int>(path_.size()));
  }
  S_.assign(static_cast<std::size_t>(num_dofs_) * kSix, 0.0);
  for (int k = 0; k < num_dofs_; ++k) std::copy_n(tree_->S.col(k).data(), 6, &S_[k * kSix]);

  body_sides_.clear();
  joint_rows_.clear();
  general_rows_.clear();
  int J_rows = 0;
  for (int i = 0; i < num_sides; ++i) {
    const int side = sides[i];
    const Constraint& c = island.constraints[side / 2];
    const bool merged = c.num_parts > c.num_sides;
    const Side& part = c.parts[side % 2];
    const int row = row_of[side];
    if (!merged && part.J_body_start >= 0) {
      body_sides_.push_back({row, c.dim, part.body, J_rows * kSix, &problem_->J_pool[part.J_body_start]});
      J_rows += c.dim;
      continue;
    }
    for (int r = 0; r < c.dim; ++r) {
      const double* J = &problem_->J_pool[part.J_start + r * num_dofs_];
      const int dof = merged ? -1 : find_single(J, num_dofs_);
      if (dof >= 0) {
        joint_rows_.push_back({row + r, dof, J[dof], 0.0});
      } else {
        general_rows_.push_back({row + r, c.parts, c.num_parts, c.dim, r});
        if (!merged) general_rows_.back().parts = &part, general_rows_.back().num_parts = 1;
      }
    }
  }
  J_.assign(static_cast<std::size_t>(J_rows) * kSix, 0.0);
  W_.assign(static_cast<std::size_t>(num_bodies_) * kSix, 0.0);
  V_.assign(static_cast<std::size_t>(num_bodies_) * kSix, 0.0);
  U_.assign(static_cast<std::size_t>(num_dofs_) * kSix, 0.0);
  H_.resize(static_cast<std::size_t>(num_bodies_) * kMat6);
  L_.resize(path_.size());
  pivot_.resize(num_dofs_);
  diagonal_.resize(num_dofs_);
  v_.resize(num_dofs_);
  const std::size_t general = general_rows_.size();
  G_.resize(general * num_dofs_);
  X_.resize(general * num_dofs_);
  C_.resize(general * general);
  w_.resize(general);
}

double TreeMap::cost(TreeSolve solve) const {
  const double n = num_dofs_, general = static_cast<double>(general_rows_.size());
  double sum = 2.0 * static_cast<double>(J_.size()) + 2.0 * static_cast<double>(joint_rows_.size());
  sum += 2.0 * kSix * num_bodies_ + 2.0 * kSix * n;
  sum += solve == TreeSolve::kFactor ? 2.0 * static_cast<double>(path_.size()) : 2.0 * kSix * n;
  sum += general * (4.0 * n + general);
  return sum;
}

double TreeMap::num_touched() const {
  const auto depth = [&](int dof) { return static_cast<double>(path_begin_[dof + 1] - path_begin_[dof]); };
  double sum = static_cast<double>(general_rows_.size()) * num_dofs_;
  for (const JointRow& row : joint_rows_) sum += depth(row.dof);
  for (const BodySide& side : body_sides_) {
    int body = side.body;
    while (body >= 0 && tree_->dof_offset[body] == tree_->dof_offset[body + 1]) body = tree_->parent[body];
    if (body >= 0) sum += side.dim * depth(tree_->dof_offset[body + 1] - 1);
  }
  return sum;
}

bool TreeMap::factor(TreeSolve solve, const double* scale) {
  solve_ = solve;
  compose_bodies(scale);
  const bool ok = solve == TreeSolve::kFactor ? factor_joint_space() : factor_articulated();
  if (ok && !general_rows_.empty()) factor_general(scale);
  return ok;
}

// (41): H_b = M_b + Σ Ĵᵀ Ĵ; joint rows on the diagonal.
void TreeMap::compose_bodies(const double* scale) {
  for (int b = 0; b < num_bodies_; ++b) {
    double* H = &H_[b * kMat6];
    std::fill_n(H, kMat6, 0.0);
    for (int c = 0; c < 6; ++c) std::copy_n(tree_->M[b].col(c).data(), 6, H + c * kSix);
  }
  for (const BodySide& side : body_sides_) {
    double* H = &H_[side.body * kMat6];
    for (int r = 0; r < side.dim; ++r) {
      double* J = &J_[side.J + r * kSix];
      for (int c = 0; c < 6; ++c) J[c] = scale[side.row + r] * side.from[6 * r + c];
      for (int c = 0; c < 6; ++c) lanes_at(H + c * kSix) += J[c] * lanes_at(J);
    }
  }
  std::copy_n(tree_->diagonal.data(), num_dofs_, diagonal_.begin());
  for (JointRow& row : joint_rows_) {
    row.value = scale[row.row] * row.from;
    diagonal_[row.dof] += row.value * row.value;
  }
}

// (40) on the pattern of the tree, then H = LᵀL from the leaves: row k only changes rows of its ancestors.
bool TreeMap::factor_joint_space() {
  alignas(64) double F[kSix];
  for (int b = num_bodies_ - 1; b >= 0; --b) {
    for (int k = tree_->dof_offset[b]; k < tree_->dof_offset[b + 1]; ++k) {
      multiply6(&H_[b * kMat6], &S_[k * kSix], F);
      for (int p = path_begin_[k]; p < path_begin_[k + 1]; ++p) L_[p] = dot6(&S_[path_[p] * kSix], F);
      L_[path_begin_[k]] += diagonal_[k];
    }
    if (const int parent = tree_->parent[b]; parent >= 0) {
      for (int i = 0; i < kMat6; i += kLanes) lanes_at(&H_[parent * kMat6 + i]) += lanes_at(&H_[b * kMat6 + i]);
    }
  }
  for (int k = num_dofs_ - 1; k >= 0; --k) {
    double* row = &L_[path_begin_[k]];
    const int length = path_begin_[k + 1] - path_begin_[k];
    if (!(row[0] > 0.0)) return false;
    const double inverse = 1.0 / std::sqrt(row[0]);
    pivot_[k] = inverse;
    for (int d = 0; d < length; ++d) row[d] *= inverse;
    for (int d = 1; d < length; ++d) {
      double* above = &L_[path_begin_[path_[path_begin_[k] + d]]];
      for (int t = d; t < length; ++t) above[t - d] -= row[d] * row[t];
    }
  }
  return true;
}

// Articulated bodies: U_k = H^A S_k, d_k = S_kᵀU_k + diag, H^A -= U_k U_kᵀ / d_k, dof by dof from the leaves. A joint
// of several dofs is a chain of joints of one with nothing in between.
bool TreeMap::factor_articulated() {
  for (int b = num_bodies_ - 1; b >= 0; --b) {
    double* H = &H_[b * kMat6];
    for (int k = tree_->dof_offset[b + 1] - 1; k >= tree_->dof_offset[b]; --k) {
      double* U = &U_[k * kSix];
      multiply6(H, &S_[k * kSix], U);
      const double d = dot6(&S_[k * kSix], U) + diagonal_[k];
      if (!(d > 0.0)) return false;
      pivot_[k] = 1.0 / d;
      for (int c = 0; c < 6; ++c) lanes_at(H + c * kSix) -= (U[c] * pivot_[k]) * lanes_at(U);
    }
    if (const int parent = tree_->parent[b]; parent >= 0) {
      for (int i = 0; i < kMat6; i += kLanes) lanes_at(&H_[parent * kMat6 + i]) += lanes_at(H + i);
    }
  }
  return true;
}

void TreeMap::factor_general(const double* scale) {
  const int n = num_dofs_, k = static_cast<int>(general_rows_.size());
  std::fill(G_.begin(), G_.end(), 0.0);
  for (int i = 0; i < k; ++i) {
    const GeneralRow& g = general_rows_[i];
    for (int part = 0; part < g.num_parts; ++part) {
      const double* J = &problem_->J_pool[g.parts[part].J_start + g.component * n];
      for (int j = 0; j < n; ++j) G_[i * n + j] += scale[g.row] * J[j];
    }
    std::copy_n(&G_[i * n], n, &X_[i * n]);
    if (solve_ == TreeSolve::kFactor) {
      solve_tree(&X_[i * n]);
    } else {
      std::fill(W_.begin(), W_.end(), 0.0);
      sweep_back(&X_[i * n]);
      sweep_forth(&X_[i * n]);
    }
  }
  // Cholesky of 1 + G X, lower, row-major.
  for (int i = 0; i < k; ++i) {
    for (int j = 0; j <= i; ++j) {
      double sum = i == j ? 1.0 : 0.0;
      for (int l = 0; l < n; ++l) sum += G_[i * n + l] * X_[j * n + l];
      for (int l = 0; l < j; ++l) sum -= C_[i * k + l] * C_[j * k + l];
      C_[i * k + j] = i == j ? std::sqrt(sum) : sum / C_[j * k + j];
    }
  }
}

void TreeMap::solve_tree(double* x) {
  for (int k = num_dofs_ - 1; k >= 0; --k) {  // Lᵀ y = x
    const int begin = path_begin_[k], end = path_begin_[k + 1];
    const double y = x[k] * pivot_[k];
    x[k] = y;
    for (int p = begin + 1; p < end; ++p) x[path_[p]] -= L_[p] * y;
  }
  for (int k = 0; k < num_dofs_; ++k) {  // L v = y
    const int begin = path_begin_[k], end = path_begin_[k + 1];
    double sum = x[k];
    for (int p = begin + 1; p < end; ++p) sum -= L_[p] * x[path_[p]];
    x[k] = sum * pivot_[k];
  }
}

void TreeMap::sweep_back(double* tau) {
  for (int b = num_bodies_ - 1; b >= 0; --b) {
    Lanes W = lanes_at(&W_[b * kSix]);
    for (int k = tree_->dof_offset[b + 1] - 1; k >= tree_->dof_offset[b]; --k) {
      tau[k] += add_lanes(lanes_at(&S_[k * kSix]) * W);
      W -= (tau[k] * pivot_[k]) * lanes_at(&U_[k * kSix]);
    }
    if (const int parent = tree_->parent[b]; parent >= 0) lanes_at(&W_[parent * kSix]) += W;
  }
}

void TreeMap::sweep_forth(double* tau) {
  for (int b = 0; b < num_bodies_; ++b) {
    Lanes V{};
    if (const int parent = tree_->parent[b]; parent >= 0) V = lanes_at(&V_[parent * kSix]);
    for (int k = tree_->dof_offset[b]; k < tree_->dof_offset[b + 1]; ++k) {
      tau[k] = (tau[k] - add_lanes(lanes_at(&U_[k * kSix]) * V)) * pivot_[k];
      V += tau[k] * lanes_at(&S_[k * kSix]);
    }
    lanes_at(&V_[b * kSix]) = V;
  }
}

void TreeMap::correct(double* v) {
  const int n = num_dofs_, k = static_cast<int>(general_rows_.size());
  for (int i = 0; i < k; ++i) {
    double sum = 0.0;
    for (int j = 0; j < n; ++j) sum += G_[i * n + j] * v[j];
    for (int j = 0; j < i; ++j) sum -= C_[i * k + j] * w_[j];
    w_[i] = sum / C_[i * k + i];
  }
  for (int i = k - 1; i >= 0; --i) {
    for (int j = i + 1; j < k; ++j) w_[i] -= C_[j * k + i] * w_[j];
    w_[i] /= C_[i * k + i];
    for (int j = 0; j < n; ++j) v[j] -= w_[i] * X_[i * n + j];
  }
}

void TreeMap::forward() {
  for (int b = 0; b < num_bodies_; ++b) {
    Lanes V{};
    if (const int parent = tree_->parent[b]; parent >= 0) V = lanes_at(&V_[parent * kSix]);
    for (int k = tree_->dof_offset[b]; k < tree_->dof_offset[b + 1]; ++k) V += v_[k] * lanes_at(&S_[k * kSix]);
    lanes_at(&V_[b * kSix]) = V;
  }
}

void TreeMap::apply(const double* s, double* out) {
  const int k = static_cast<int>(general_rows_.size());
  std::fill(W_.begin(), W_.end(), 0.0);
  for (const BodySide& side : body_sides_) {
    Lanes W = lanes_at(&W_[side.body * kSix]);
    for (int r = 0; r < side.dim; ++r) W += s[side.row + r] * lanes_at(&J_[side.J + r * kSix]);
    lanes_at(&W_[side.body * kSix]) = W;
  }
  std::copy_n(b_, num_dofs_, v_.begin());
  for (const JointRow& row : joint_rows_) v_[row.dof] += row.value * s[row.row];
  for (int i = 0; i < k; ++i) {
    const double value = s[general_rows_[i].row];
    for (int j = 0; j < num_dofs_; ++j) v_[j] += value * G_[i * num_dofs_ + j];
  }

  if (solve_ == TreeSolve::kArticulated) {
    sweep_back(v_.data());
    sweep_forth(v_.data());
  } else {
    for (int b = num_bodies_ - 1; b >= 0; --b) {
      for (int d = tree_->dof_offset[b]; d < tree_->dof_offset[b + 1]; ++d) v_[d] += dot6(&S_[d * kSix], &W_[b * kSix]);
      if (const int parent = tree_->parent[b]; parent >= 0) lanes_at(&W_[parent * kSix]) += lanes_at(&W_[b * kSix]);
    }
    solve_tree(v_.data());
  }
  if (k > 0) correct(v_.data());
  if (k > 0 || solve_ == TreeSolve::kFactor) forward();

  for (const BodySide& side : body_sides_) {
    const Lanes& V = lanes_at(&V_[side.body * kSix]);
    for (int r = 0; r < side.dim; ++r) out[side.row + r] = add_lanes(lanes_at(&J_[side.J + r * kSix]) * V);
  }
  for (const JointRow& row : joint_rows_) out[row.row] = row.value * v_[row.dof];
  for (int i = 0; i < k; ++i) {
    double sum = 0.0;
    for (int j = 0; j < num_dofs_; ++j) sum += G_[i * num_dofs_ + j] * v_[j];
    out[general_rows_[i].row] = sum;
  }
}

}  // namespace almond
