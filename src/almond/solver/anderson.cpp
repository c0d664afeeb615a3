#include "almond/solver/anderson.hpp"

#include <algorithm>
#include <cmath>
#include <cstddef>

#include "almond/solver/lanes.hpp"

namespace almond {
namespace {

void add(const AndersonSums& block, int m, AndersonSums& sums) {
  for (int l = 0; l < m; ++l) {
    for (int k = 0; k <= l; ++k) sums.gram[l][k] += block.gram[l][k];
    sums.rhs[l] += block.rhs[l];
  }
}

/// γ from the normal equations, which are destroyed.
bool solve(int m, AndersonSums& sums, double* gamma) {
  auto& gram = sums.gram;
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
  std::copy_n(sums.rhs, m, gamma);
  for (int l = 0; l < m; ++l) {
    for (int j = 0; j < l; ++j) gamma[l] -= gram[l][j] * gamma[j];
    gamma[l] /= gram[l][l];
  }
  for (int l = m - 1; l >= 0; --l) {
    for (int j = l + 1; j < m; ++j) gamma[l] -= gram[j][l] * gamma[j];
    gamma[l] /= gram[l][l];
  }
  return std::all_of(gamma, gamma + m, [](double x) { return std::isfinite(x) && std::abs(x) <= 1e8; });
}

}  // namespace

// Residuals f_l = y_{l+1} - y_l; differences df_l = f_{l+1} - f_l, l = 0..m-1; fit df γ = f_m. The last block is filled
// up with zeros.
void compute_anderson_sums(const double* history, int n, int m, int begin, AndersonSums& sums) {
  alignas(64) double df[kMaxAnderson][kAndersonBlock], last[kAndersonBlock];
  const int count = std::min(kAndersonBlock, n - begin), padded = pad_lanes(count);
  for (int l = 0; l < m; ++l) {
    const double *y0 = history + static_cast<std::ptrdiff_t>(l) * n + begin, *y1 = y0 + n, *y2 = y1 + n;
    for (int i = 0; i < count; ++i) df[l][i] = y2[i] - 2.0 * y1[i] + y0[i];
    std::fill(df[l] + count, df[l] + padded, 0.0);
  }
  const double *ym = history + static_cast<std::ptrdiff_t>(m) * n + begin, *yn = ym + n;
  for (int i = 0; i < count; ++i) last[i] = yn[i] - ym[i];
  std::fill(last + count, last + padded, 0.0);
  for (int l = 0; l < m; ++l) multiply_transposed(df[0], padded, kAndersonBlock, l + 1, df[l], sums.gram[l]);
  multiply_transposed(df[0], padded, kAndersonBlock, m, last, sums.rhs);
}

bool fit_anderson(const AndersonSums* blocks, int num_blocks, int m, double* gamma) {
  AndersonSums sums{};
  for (int b = 0; b < num_blocks; ++b) add(blocks[b], m, sums);
  return solve(m, sums, gamma);
}

// Differences of neighbours first: they are nearly exact where γ is large and would magnify rounding.
void combine_anderson(const double* history, int n, int m, const double* gamma, int begin, int end, double* out) {
  std::copy_n(history + static_cast<std::ptrdiff_t>(m + 1) * n + begin, end - begin, out + begin);
  for (int l = 0; l < m; ++l) {
    const double *y1 = history + static_cast<std::ptrdiff_t>(l + 1) * n, *y2 = y1 + n;
    for (int i = begin; i < end; ++i) out[i] -= gamma[l] * (y2[i] - y1[i]);
  }
}

bool extrapolate(const double* history, int n, int m, double* out) {
  if (m < 2) return false;
  AndersonSums sums{}, block;
  for (int begin = 0; begin < n; begin += kAndersonBlock) {
    compute_anderson_sums(history, n, m, begin, block);
    add(block, m, sums);
  }
  double gamma[kMaxAnderson];
  if (!solve(m, sums, gamma)) return false;
  combine_anderson(history, n, m, gamma, 0, n, out);
  return true;
}

}  // namespace almond
