#pragma once
// Anderson acceleration, type II, of a fixed-point iteration y_{k+1} = F(y_k).
//
//   f_l = y_{l+1} - y_l,   γ = argmin ‖f_m - Σ γ_l (f_{l+1} - f_l)‖,   y = y_{m+1} - Σ γ_l (y_{l+2} - y_{l+1})
//
// The sums over rows are formed block by block and added in order, so that workers who share the blocks get the same
// bits as one alone.

namespace almond {

inline constexpr int kMaxAnderson = 16;
inline constexpr int kAndersonBlock = 192;  // rows

/// Normal equations of the fit: (f_{l+1} - f_l) products, lower triangle, and those with f_m.
struct AndersonSums {
  double gram[kMaxAnderson][kMaxAnderson];
  double rhs[kMaxAnderson];
};

/// The sums over one block of rows [begin, begin + kAndersonBlock) of n.
void compute_anderson_sums(const double* history, int n, int m, int begin, AndersonSums& sums);
/// γ from the sums of all blocks; false if there is no useful solution.
bool fit_anderson(const AndersonSums* blocks, int num_blocks, int m, double* gamma);
/// The extrapolated state on rows [begin, end).
void combine_anderson(const double* history, int n, int m, const double* gamma, int begin, int end, double* out);

/// Extrapolates from the states y_0 .. y_{m+1} (columns of length n, one after the other), m <= kMaxAnderson.
/// False, and nothing written, if the least-squares problem has no useful solution.
bool extrapolate(const double* history, int n, int m, double* out);

}  // namespace almond
