#include "almond/solver/whiten.hpp"

#include <algorithm>
#include <cmath>

#include "almond/solver/lanes.hpp"

namespace almond {
namespace {

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

/// Products of the rows of J with each other, lane by lane: (0,0) (0,1) (0,2) (1,1), and (1,2) (2,2). With `other`, of
/// the sums of its rows and those of J.
struct RowProducts {
  Lanes first[4] = {}, second[4] = {};

  void add(const double* J, const double* other, int ld, int width) {
    for (int k = 0; k < width; k += kLanes) {
      Lanes x[3] = {lanes_at(J + k), lanes_at(J + ld + k), lanes_at(J + 2 * ld + k)};
      for (int r = 0; r < 3 && other != nullptr; ++r) x[r] += lanes_at(other + r * ld + k);
      first[0] += x[0] * x[0];
      first[1] += x[0] * x[1];
      first[2] += x[0] * x[2];
      first[3] += x[1] * x[1];
      second[0] += x[1] * x[2];
      second[1] += x[2] * x[2];
    }
  }
};

/// W_ii (row by row) of a contact.
void compute_block(const Island& island, const Constraint& c, double* W) {
  RowProducts products;
  const bool same = c.num_sides == 2 && c.node[0] == c.node[1];  // both ends move with the same velocities
  for (int s = 0; s < (same ? 1 : c.num_sides); ++s) {
    const int ld = island.nodes[c.node[s]].ld;
    const double *J = &island.J[c.J[s]], *other = same ? &island.J[c.J[1]] : nullptr;
    if (ld >= kLanes) {
      products.add(J, other, ld, same ? ld : c.width[s]);
      continue;
    }
    double wide[3 * kLanes] = {};
    for (int r = 0; r < 3; ++r)
      for (int k = 0; k < ld; ++k) wide[r * kLanes + k] = J[r * ld + k] + (same ? other[r * ld + k] : 0.0);
    products.add(wide, nullptr, kLanes, kLanes);
  }
  double sums[8];
  add_lanes(products.first, sums);
  add_lanes(products.second, sums + 4);
  W[0] = sums[0];
  W[1] = W[3] = sums[1];
  W[2] = W[6] = sums[2];
  W[4] = sums[3];
  W[5] = W[7] = sums[4];
  W[8] = sums[5];
}

/// W_ii of a row.
double compute_scalar(const Island& island, const Constraint& c) {
  double W = 0.0;
  const bool same = c.num_sides == 2 && c.node[0] == c.node[1];
  for (int s = 0; s < (same ? 1 : c.num_sides); ++s) {
    const double *J = &island.J[c.J[s]], *other = same ? &island.J[c.J[1]] : nullptr;
    for (int k = 0; k < island.nodes[c.node[s]].ld; ++k) {
      const double x = J[k] + (same ? other[k] : 0.0);
      W += x * x;
    }
  }
  return W;
}

}  // namespace

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

// Four rows at a time: their chains of pivots run side by side.
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

void compute_delassus(Island& island, std::vector<double>& scratch) {
  island.W.clear();
  island.w_bar.clear();
  for (int i = 0; i < island.num_constraints; ++i) {
    const Constraint& c = island.constraints[i];
    double W[9];
    if (c.dim == 3) {
      compute_block(island, c, W);
    } else {
      W[0] = compute_scalar(island, c) + island.compliance[island.row_index(i)];
    }
    island.W.insert(island.W.end(), W, W + c.dim * c.dim);
    const double mean = c.dim == 3 ? (W[0] + W[4] + W[8]) / 3.0 : W[0];
    island.w_bar.push_back(mean > 0.0 ? mean : 1.0);
  }
  island.q.resize(island.rows);
  scratch.resize(std::max<std::size_t>(scratch.size(), island.side_rows));
  multiply_J(island, island.b.data(), scratch.data());
  island.reach2 = 0.0;
  for (const Node& node : island.nodes) {
    const double energy2 = MapConstVec(&island.b[node.v_begin], node.ld).squaredNorm();
    const double rows2 = MapConstVec(&island.J[node.J_begin], node.side_rows * node.ld).squaredNorm();
    island.reach2 += energy2 * rows2;
  }
  gather_sides(island, scratch.data(), true, island.q.data());
  double q2 = 0.0, b2 = 0.0;
  for (double x : island.q) q2 += x * x;
  for (double x : island.b) b2 += x * x;
  island.q_norm = std::sqrt(q2);
  island.b_norm = std::sqrt(b2);
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
