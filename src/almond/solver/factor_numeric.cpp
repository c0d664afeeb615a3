// Numeric part of the block-sparse factor: LLT and LU of supernodes, updates of later ones, solves.

#include <Eigen/Cholesky>
#include <Eigen/LU>
#include <algorithm>
#include <cmath>
#include <type_traits>

#include "almond/solver/factor.hpp"
#include "almond/solver/panel.hpp"

namespace almond {
namespace {

using Strided = Eigen::Map<MatX, 0, Eigen::OuterStride<>>;

/// Calls f with the size as a constant for a point, a body and two bodies (the end of most eliminations), else with 0.
template <class Function>
auto with_size(int m, Function f) {
  switch (m) {
    case 3:
      return f(std::integral_constant<int, 3>());
    case 6:
      return f(std::integral_constant<int, 6>());
    case 12:
      return f(std::integral_constant<int, 12>());
    default:
      return f(std::integral_constant<int, 0>());
  }
}

bool is_usable(const MapMat& D) {
  for (Eigen::Index k = 0; k < D.rows(); ++k) {
    if (D(k, k) == 0.0 || !std::isfinite(D(k, k))) return false;
  }
  return true;
}

/// C and C⁻¹U in place of D (lower half) and U; update = UᵀD⁻¹U.
template <int kSize>
bool llt_narrow(int size, int t, double* D, double* U, double* panel, double* update) {
  const int m = kSize > 0 ? kSize : size, top = pad_lanes(m), stride = top + pad_lanes(t);
  for (int k = 0; k < m; ++k) {
    for (int r = 0; r < top; r += kLanes) lanes_at(panel + k * stride + r) = Lanes{};
    for (int r = k; r < m; ++r) panel[k * stride + r] = D[k * m + r];
  }
  if (t > 0) load_panel<kSize>(U, m, t, stride, panel + top);
  if (!factor_panel<kSize>(m, stride, panel)) return false;
  for (int k = 0; k < m; ++k) {
    for (int r = k; r < m; ++r) D[k * m + r] = panel[k * stride + r];
  }
  if (t == 0) return true;
  store_panel<kSize>(panel + top, m, t, stride, U);
  multiply_panels<kSize>(panel + top, panel + top, m, stride, t, true, update);
  return true;
}

bool llt_wide(int m, int t, double* values_D, double* values_U, double* values_update) {
  MapMat D(values_D, m, m), U(values_U, m, t);
  if (Eigen::internal::llt_inplace<double, Eigen::Lower>::blocked(D) >= 0 || !is_usable(D)) return false;
  if (t == 0) return true;
  D.triangularView<Eigen::Lower>().solveInPlace(U);
  Strided update(values_update, t, t, Eigen::OuterStride<>(pad_lanes(t)));
  update.triangularView<Eigen::Upper>() = U.transpose() * U;
  return true;
}

/// D⁻¹U in place of U, D already factored and U swapped; update = L D⁻¹ U. L: (m x t), transposed.
template <int kSize>
void update_lu_narrow(int size, int t, const double* D, double* U, const double* L, double* panel, double* update) {
  const int m = kSize > 0 ? kSize : size, stride = pad_lanes(t);
  double* panel_L = panel + m * stride;
  load_panel<kSize>(U, m, t, stride, panel);
  load_panel<kSize>(L, m, t, stride, panel_L);
  solve_panel<kSize>(D, m, stride, panel);
  store_panel<kSize>(panel, m, t, stride, U);
  multiply_panels<kSize>(panel_L, panel, m, stride, t, false, update);
}

void update_lu_wide(const MapMat& D, MapMat& U, const MapConstMat& L, double* values_update) {
  D.triangularView<Eigen::UnitLower>().solveInPlace(U);
  D.triangularView<Eigen::Upper>().solveInPlace(U);
  const Eigen::Index t = U.cols();
  Strided(values_update, t, t, Eigen::OuterStride<>(pad_lanes(static_cast<int>(t)))).noalias() = L.transpose() * U;
}

/// out -= in, or inᵀ, for a block of rows x cols.
template <int kRows>
void subtract_fixed(const double* in, int ld_in, int size, int cols, bool transposed, double* out, int ld) {
  const int rows = kRows > 0 ? kRows : size;
  for (int c = 0; c < cols; ++c) {
    if (transposed) {
      for (int r = 0; r < rows; ++r) out[c * ld + r] -= in[r * ld_in + c];
    } else {
      for (int r = 0; r < rows; ++r) out[c * ld + r] -= in[c * ld_in + r];
    }
  }
}

void subtract(const double* in, int ld_in, int rows, int cols, bool transposed, double* out, int ld) {
  if (rows == 6) {
    subtract_fixed<6>(in, ld_in, rows, cols, transposed, out, ld);
  } else {
    subtract_fixed<0>(in, ld_in, rows, cols, transposed, out, ld);
  }
}

// Solves with a short supernode keep their part of the vector at hand and divide ahead.
constexpr int kShort = 12;

/// y = D⁻¹ y, of LLT the first half: C⁻¹ y. Then out = Bᵀ y, B (m x t).
template <int kSize>
void forward_short(const double* D, const double* B, int size, int t, bool symmetric, double* y_inout, double* out) {
  const int m = kSize > 0 ? kSize : size;
  double y[kSize > 0 ? kSize : kShort], inverse[kSize > 0 ? kSize : kShort];
  std::copy_n(y_inout, m, y);
  for (int k = 0; k < m; ++k) inverse[k] = 1.0 / D[k * m + k];
  for (int k = 0; k < m; ++k) {
    if (symmetric) y[k] *= inverse[k];
    for (int r = k + 1; r < m; ++r) y[r] -= D[k * m + r] * y[k];
  }
  for (int k = m - 1; !symmetric && k >= 0; --k) {
    y[k] *= inverse[k];
    for (int r = 0; r < k; ++r) y[r] -= D[k * m + r] * y[k];
  }
  std::copy_n(y, m, y_inout);
  for (int j = 0; j < t; ++j) {
    double sum = 0.0;
    for (int k = 0; k < m; ++k) sum += B[j * m + k] * y[k];
    out[j] = sum;
  }
}

/// y -= U x, U (m x t); of LLT then C⁻ᵀ y.
template <int kSize>
void backward_short(const double* D, const double* U, int size, int t, bool symmetric, const double* x,
                    double* y_inout) {
  const int m = kSize > 0 ? kSize : size;
  double y[kSize > 0 ? kSize : kShort], inverse[kSize > 0 ? kSize : kShort];
  std::copy_n(y_inout, m, y);
  for (int k = 0; k < m; ++k) inverse[k] = 1.0 / D[k * m + k];
  for (int j = 0; j < t; ++j) {
    for (int k = 0; k < m; ++k) y[k] -= U[j * m + k] * x[j];
  }
  for (int k = m - 1; symmetric && k >= 0; --k) {
    for (int r = k + 1; r < m; ++r) y[k] -= D[k * m + r] * y[r];
    y[k] *= inverse[k];
  }
  std::copy_n(y, m, y_inout);
}

void forward_long(const MapConstMat& D, const MapConstMat& B, bool symmetric, double* y_inout, double* out) {
  MapVec y(y_inout, D.rows());
  if (symmetric) {
    D.triangularView<Eigen::Lower>().solveInPlace(y);
  } else {
    D.triangularView<Eigen::UnitLower>().solveInPlace(y);
    D.triangularView<Eigen::Upper>().solveInPlace(y);
  }
  if (B.cols() > 0) MapVec(out, B.cols()).noalias() = B.transpose() * y;
}

void backward_long(const MapConstMat& D, const MapConstMat& U, bool symmetric, const double* x, double* y_inout) {
  MapVec y(y_inout, D.rows());
  if (U.cols() > 0) y.noalias() -= U * MapConstVec(x, U.cols());
  if (symmetric) D.transpose().triangularView<Eigen::Upper>().solveInPlace(y);
}

}  // namespace

bool BlockFactor::factor_lu() {
  symmetric_ = false;
  for (const Supernode& s : supernodes_) {
    const int m = s.size, t = s.trailing;
    MapMat D(values_.data() + s.D, m, m), U(values_.data() + s.U, m, t);
    int swaps = 0;
    int* pivots = &pivots_[s.pivots];
    Eigen::internal::partial_lu_impl<double, Eigen::ColMajor, int>::blocked_lu(m, m, D.data(), m, pivots, swaps);
    if (!is_usable(D)) return false;
    if (t == 0) continue;
    for (int k = 0; k < m; ++k) {
      if (pivots[k] != k) U.row(k).swap(U.row(pivots[k]));
    }
    const double* L = values_.data() + s.L;
    if (m <= kNarrow) {
      with_size(
          m, [&](auto size) { update_lu_narrow<size()>(m, t, D.data(), U.data(), L, panel_.data(), update_.data()); });
    } else {
      update_lu_wide(D, U, MapConstMat(L, m, t), update_.data());
    }
    scatter_update(s);
  }
  return true;
}

bool BlockFactor::factor_llt() {
  symmetric_ = true;
  for (const Supernode& s : supernodes_) {
    const int m = s.size, t = s.trailing;
    double *D = values_.data() + s.D, *U = values_.data() + s.U, *update = update_.data();
    const auto narrow = [&](auto size) { return llt_narrow<size()>(m, t, D, U, panel_.data(), update); };
    const bool ok = m <= kNarrow ? with_size(m, narrow) : llt_wide(m, t, D, U, update);
    if (!ok) return false;
    if (t > 0) scatter_update_upper(s);
  }
  return true;
}

void BlockFactor::scatter_update(const Supernode& s) {
  const int count = s.list_end - s.list_begin, ld = pad_lanes(s.trailing);
  for (int b = 0; b < count; ++b) {
    const int col = list_offset_[s.list_begin + b], nb = dofs_[order_[lists_[s.list_begin + b]]];
    for (int a = 0; a < count; ++a) {
      const Target& target = pair_targets_[s.pairs + a * count + b];
      const int row = list_offset_[s.list_begin + a], na = dofs_[order_[lists_[s.list_begin + a]]];
      const double* in = &update_[static_cast<std::size_t>(col) * ld + row];
      double* out = values_.data() + target.offset;
      const bool t = target.transposed;
      subtract(in, ld, t ? nb : na, t ? na : nb, t, out, target.ld);
    }
  }
}

// The update is known above its diagonal. Of H are stored the blocks above the diagonal and, inside D, the lower half.
void BlockFactor::scatter_update_upper(const Supernode& s) {
  const int count = s.list_end - s.list_begin, ld = pad_lanes(s.trailing);
  for (int b = 0; b < count; ++b) {
    const int position = lists_[s.list_begin + b], col = list_offset_[s.list_begin + b], nb = dofs_[order_[position]];
    for (int a = 0; a <= b; ++a) {
      const int row = list_offset_[s.list_begin + a], na = dofs_[order_[lists_[s.list_begin + a]]];
      const double* in = &update_[static_cast<std::size_t>(col) * ld + row];
      const bool t = owner_[lists_[s.list_begin + a]] == owner_[position];
      const Target& target = pair_targets_[s.pairs + (t ? b * count + a : a * count + b)];
      subtract(in, ld, t ? nb : na, t ? na : nb, t, values_.data() + target.offset, target.ld);
    }
  }
}

void BlockFactor::solve(const Island& island, double* x) {
  // Gather into elimination order.
  int at = 0;
  for (int p = 0; p < num_nodes_; ++p) {
    const Node& node = island.nodes[order_[p]];
    std::copy_n(x + node.v_begin, node.dofs, &rhs_[at]);
    at += node.dofs;
  }
  // rhs_ is contiguous per supernode because positions are.
  for (const Supernode& s : supernodes_) {
    const int m = s.size, t = s.trailing;
    const double *D = values_.data() + s.D, *B = values_.data() + (symmetric_ ? s.U : s.L);
    double *y = &rhs_[s.pivots], *push = update_.data();
    for (int k = 0; !symmetric_ && k < m; ++k) std::swap(y[k], y[pivots_[s.pivots + k]]);
    if (m <= kShort) {
      with_size(m, [&](auto size) { forward_short<size()>(D, B, m, t, symmetric_, y, push); });
    } else {
      forward_long(MapConstMat(D, m, m), MapConstMat(B, m, t), symmetric_, y, push);
    }
    for (int l = s.list_begin; l < s.list_end; ++l) {
      const int p = lists_[l];
      double* to = &rhs_[supernodes_[owner_[p]].pivots + local_offset_[p]];
      for (int r = 0; r < dofs_[order_[p]]; ++r) to[r] -= push[list_offset_[l] + r];
    }
  }
  for (auto it = supernodes_.rbegin(); it != supernodes_.rend(); ++it) {
    const Supernode& s = *it;
    const int m = s.size, t = s.trailing;
    const double *D = values_.data() + s.D, *U = values_.data() + s.U;
    double *y = &rhs_[s.pivots], *later = update_.data();
    for (int l = s.list_begin; l < s.list_end; ++l) {
      const int p = lists_[l];
      const double* from = &rhs_[supernodes_[owner_[p]].pivots + local_offset_[p]];
      std::copy_n(from, dofs_[order_[p]], later + list_offset_[l]);
    }
    if (m <= kShort) {
      with_size(m, [&](auto size) { backward_short<size()>(D, U, m, t, symmetric_, later, y); });
    } else {
      backward_long(MapConstMat(D, m, m), MapConstMat(U, m, t), symmetric_, later, y);
    }
  }
  at = 0;
  for (int p = 0; p < num_nodes_; ++p) {
    const Node& node = island.nodes[order_[p]];
    std::copy_n(&rhs_[at], node.dofs, x + node.v_begin);
    at += node.dofs;
  }
}

}  // namespace almond
