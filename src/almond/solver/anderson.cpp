#include "almond/solver/anderson.hpp"

#include <algorithm>
#include <cmath>
#include <cstddef>

#include "almond/solver/lanes.hpp"

namespace almond {

bool extrapolate(const double* history, int n, int m, double* out) {
  if (m < 2) return false;
  // Residuals f_l = y_{l+1} - y_l; differences df_l = f_{l+1} - f_l, l = 0..m-1; fit df γ = f_m.
  double gram[kMaxAnderson][kMaxAnderson] = {}, rhs[kMaxAnderson] = {};
  // Blocked over rows so that a block of all columns stays in cache; the last block is filled up with zeros.
  constexpr int kBlock = 192;
  alignas(64) double df[kMaxAnderson][kBlock], last[kBlock], dots[kMaxAnderson + 4];
  for (int begin = 0; begin < n; begin += kBlock) {
    const int count = std::min(kBlock, n - begin), padded = pad_lanes(count);
    for (int l = 0; l < m; ++l) {
      const double *y0 = history + static_cast<std::ptrdiff_t>(l) * n + begin, *y1 = y0 + n, *y2 = y1 + n;
      for (int i = 0; i < count; ++i) df[l][i] = y2[i] - 2.0 * y1[i] + y0[i];
      std::fill(df[l] + count, df[l] + padded, 0.0);
    }
    const double *ym = history + static_cast<std::ptrdiff_t>(m) * n + begin, *yn = ym + n;
    for (int i = 0; i < count; ++i) last[i] = yn[i] - ym[i];
    std::fill(last + count, last + padded, 0.0);
    const auto add_dots = [&](int columns, const double* x, double* to) {
      int c = 0;
      for (; c + 4 <= columns; c += 4) dot_columns<4>(df[c], padded, kBlock, x, dots + c);
      for (; c < columns; ++c) dot_columns<1>(df[c], padded, kBlock, x, dots + c);
      for (c = 0; c < columns; ++c) to[c] += dots[c];
    };
    for (int l = 0; l < m; ++l) add_dots(l + 1, df[l], gram[l]);
    add_dots(m, last, rhs);
  }
  double trace = 0.0;
  for (int l = 0; l < m; ++l) trace += gram[l][l];
  if (!(trace > 0.0) || !std::isfinite(trace)) return false;
  for (int l = 0; l < m; ++l) gram[l][l] += 1e-12 * trace;
  // Cholesky and two triangular solves.
  for (int l = 0; l < m; ++l) {
    for (int k = 0; k <= l; ++k) {
      double sum = gram[l][k];
      for (int j = 0; j < k; ++j) sum -= gram[l][j] * gram[k][j];
      if (l == k) {
        if (!(sum > 0.0)) return false;
        gram[l][l] = std::sqrt(sum);
      } else {
        gram[l][k] = sum / gram[k][k];
      }
    }
  }
  for (int l = 0; l < m; ++l) {
    for (int j = 0; j < l; ++j) rhs[l] -= gram[l][j] * rhs[j];
    rhs[l] /= gram[l][l];
  }
  for (int l = m - 1; l >= 0; --l) {
    for (int j = l + 1; j < m; ++j) rhs[l] -= gram[j][l] * rhs[j];
    rhs[l] /= gram[l][l];
  }
  for (int l = 0; l < m; ++l) {
    if (!std::isfinite(rhs[l]) || std::abs(rhs[l]) > 1e8) return false;
  }
  // Differences of neighbours first: they are nearly exact where γ is large and would magnify rounding.
  std::copy_n(history + static_cast<std::ptrdiff_t>(m + 1) * n, n, out);
  for (int l = 0; l < m; ++l) {
    const double *y1 = history + static_cast<std::ptrdiff_t>(l + 1) * n, *y2 = y1 + n;
    for (int i = 0; i < n; ++i) out[i] -= rhs[l] * (y2[i] - y1[i]);
  }
  return true;
}

}  // namespace almond
