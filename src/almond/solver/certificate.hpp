#pragma once
// The oracle: how exactly (v, λ) obeys the law, computed from the problem alone and by no solver's code.
//
//   w = J v + e,  v = A⁻¹(b + Jᵀλ)
//   residual     ‖λ - T(λ - w)‖₂ / contacts                                            (paper, Sec. VII; T of (17))
//   natural_map  sqrt(Σ ‖(λ_i - P_C(λ_i - ρ_i (w_i + p_i))) / ρ_i‖²) / ‖q‖, p = (0, 0, μ‖w_t‖), ρ_i = 3 / tr W_ii
//
// q = J A⁻¹b + e is the free velocity. The natural map is invariant to the units of mass and length, but for this:
// where ‖q‖ is below kStill nothing moves, and it is taken as it is.

#include <algorithm>
#include <cmath>

#include "almond/solver/problem.hpp"
#include "almond/solver/result.hpp"

namespace almond {

inline constexpr double kStill = 1e-15;  // [m/s]

/// What the natural map is divided by, from Σ q² and Σ q_s².
[[nodiscard]] inline double natural_map_unit(double q2, double sides2) {
  const double unit2 = std::max(q2, 1e-12 * sides2);
  return unit2 > kStill * kStill ? std::sqrt(unit2) : 1.0;
}

/// v = A⁻¹(b + Jᵀλ).
[[nodiscard]] VecX compute_velocity(const ContactProblem& problem, const VecX& lambda);

/// Judges λ (and v, whose dynamics residual is reported). Allocates; meant for reports and tests.
[[nodiscard]] Certificate make_certificate(const ContactProblem& problem, const VecX& v, const VecX& lambda);

}  // namespace almond
