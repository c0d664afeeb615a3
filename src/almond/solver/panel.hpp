#pragma once
// Dense kernels for narrow supernodes (a body, a robot), where setting up a general matrix product takes longer than
// the product.
//
// A *panel* is a block transposed: m columns, `stride` (a multiple of 8) rows, zeros below the last one. Lanes run
// along its rows, the dofs of later neighbours, so that six columns, as of a rigid body, leave no lane idle. kSize is m
// where the compiler shall know it, 0 where `size` tells.

#include <algorithm>
#include <cmath>

#include "almond/solver/lanes.hpp"

namespace almond {

/// Supernodes up to this size are narrow: above, Eigen's blocked kernels catch up.
inline constexpr int kNarrow = 40;

/// panel = blockᵀ, block (m x count).
template <int kSize>
void load_panel(const double* block, int size, int count, int stride, double* panel) {
  const int m = kSize > 0 ? kSize : size;
  for (int k = 0; k < m; ++k) lanes_at(panel + k * stride + pad_lanes(count) - kLanes) = Lanes{};
  for (int j = 0; j < count; ++j) {
    for (int k = 0; k < m; ++k) panel[k * stride + j] = block[j * m + k];
  }
}

/// block = panelᵀ.
template <int kSize>
void store_panel(const double* panel, int size, int count, int stride, double* block) {
  const int m = kSize > 0 ? kSize : size;
  for (int j = 0; j < count; ++j) {
    for (int k = 0; k < m; ++k) block[j * m + k] = panel[k * stride + j];
  }
}

/// In place [D; Uᵀ] -> [C; (C⁻¹U)ᵀ] with D = C Cᵀ; the lower half of D lies in the first rows. False if D is not
/// positive definite.
template <int kSize>
bool factor_panel(int size, int stride, double* panel) {
  const int m = kSize > 0 ? kSize : size;
  for (int k = 0; k < m; ++k) {
    double* column = panel + k * stride;
    double pivot = column[k];
    for (int l = 0; l < k; ++l) pivot -= panel[l * stride + k] * panel[l * stride + k];
    if (!(pivot > 0.0) || !std::isfinite(pivot)) return false;
    const double root = std::sqrt(pivot), inverse = root * (1.0 / pivot);  // root and quotient at the same time
    for (int r = k / kLanes * kLanes; r < stride; r += kLanes) {
      Lanes sum = lanes_at(column + r);
      for (int l = 0; l < k; ++l) sum -= panel[l * stride + k] * lanes_at(panel + l * stride + r);
      lanes_at(column + r) = sum * inverse;
    }
    column[k] = root;
  }
  return true;
}

/// In place Uᵀ -> (D⁻¹U)ᵀ with D = L R as partial pivoting leaves it (m x m), rows of U already swapped.
template <int kSize>
void solve_panel(const double* D, int size, int stride, double* panel) {
  const int m = kSize > 0 ? kSize : size;
  for (int r = 0; r < stride; r += kLanes) {
    for (int k = 1; k < m; ++k) {
      Lanes sum = lanes_at(panel + k * stride + r);
      for (int l = 0; l < k; ++l) sum -= D[l * m + k] * lanes_at(panel + l * stride + r);
      lanes_at(panel + k * stride + r) = sum;
    }
    for (int k = m - 1; k >= 0; --k) {
      Lanes sum = lanes_at(panel + k * stride + r);
      for (int l = k + 1; l < m; ++l) sum -= D[l * m + k] * lanes_at(panel + l * stride + r);
      lanes_at(panel + k * stride + r) = sum / D[k * m + k];
    }
  }
}

/// out (count x count, columns pad_lanes(count) apart) = P Qᵀ for two panels; with `upper` at least its upper half.
template <int kSize>
void multiply_panels(const double* P, const double* Q, int size, int stride, int count, bool upper, double* out) {
  const int m = kSize > 0 ? kSize : size, padded = pad_lanes(count);
  for (int j = 0; j < count; j += 4) {
    const int end = upper ? std::min(padded, j + 4) : padded;
    for (int r = 0; r < end; r += kLanes) {
      Lanes sum[4] = {};
      for (int k = 0; k < m; ++k) {
        const Lanes p = lanes_at(P + k * stride + r);
        for (int c = 0; c < 4; ++c) sum[c] += p * Q[k * stride + j + c];
      }
      for (int c = 0; c < 4; ++c) lanes_at(out + (j + c) * padded + r) = sum[c];
    }
  }
}

}  // namespace almond
