#pragma once
// Exact line search (26): the minimiser of a strictly convex φ along a descent direction, as the root of its slope.
//
// Safeguarded Newton: from α = 1, double until φ' >= 0, then Newton steps kept inside the bracket, bisection otherwise.

#include <algorithm>
#include <cmath>

namespace almond {

inline constexpr double kExactStep = 1e-10;

/// `slope(α, curvature)` returns φ'(α) and fills φ''(α) >= 0; φ'(0) = `initial` < 0 is assumed. Stops at
/// |φ'| <= tolerance |φ'(0)|. The last α that `slope` was called with is the one that comes back.
template <class Slope>
double find_step(Slope&& slope, double initial, double tolerance = kExactStep) {
  constexpr int kMaxEvaluations = 60;
  constexpr double kLargestStep = 1e8;
  double curvature = 0.0, low = 0.0, high = 1.0;
  double value = slope(high, curvature);
  if (!(initial < 0.0)) return high;  // at rounding: the Newton step itself
  while (value < 0.0 && high < kLargestStep) {
    if (-value <= -tolerance * initial) return high;
    low = high;
    high *= 2.0;
    value = slope(high, curvature);
  }
  double alpha = high;
  for (int k = 0; k < kMaxEvaluations; ++k) {
    if (std::abs(value) <= -tolerance * initial) break;
    if (value < 0.0) {
      low = alpha;
    } else {
      high = alpha;
    }
    double next = curvature > 0.0 ? alpha - value / curvature : 0.5 * (low + high);
    if (!(next > low && next < high)) next = 0.5 * (low + high);
    if (high - low <= 1e-15 * high) break;
    alpha = next;
    value = slope(alpha, curvature);
  }
  return alpha;
}

/// Where φ'(0) is not known.
template <class Slope>
double find_step(Slope&& slope) {
  double curvature = 0.0;
  const double initial = slope(0.0, curvature);
  return find_step(slope, initial);
}

}  // namespace almond
