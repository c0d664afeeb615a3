#pragma once
// Anderson acceleration, type II, of a fixed-point iteration y_{k+1} = F(y_k).
//
//   f_l = y_{l+1} - y_l,   γ = argmin ‖f_m - Σ γ_l (f_{l+1} - f_l)‖,   y = y_{m+1} - Σ γ_l (y_{l+2} - y_{l+1})

namespace almond {

inline constexpr int kMaxAnderson = 16;

/// Extrapolates from the states y_0 .. y_{m+1} (columns of length n, one after the other), m <= kMaxAnderson.
/// False, and nothing written, if the least-squares problem has no useful solution.
bool extrapolate(const double* history, int n, int m, double* out);

}  // namespace almond
