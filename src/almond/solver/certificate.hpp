#pragma once
// The oracle: how exactly (v, λ) obeys the law, computed from the problem alone and by no solver's code.
//
//   w = J v + e,  v = A⁻¹(b + Jᵀλ)
//   residual     ‖λ - T(λ - w)‖₂ / contacts                                            (paper, Sec. VII; T of (17))
//   natural_map  sqrt(Σ ‖(λ_i - P_C(λ_i - ρ_i (w_i + p_i))) / ρ_i‖²) / ‖q‖, p = (0, 0, μ‖w_t‖), ρ_i = 3 / tr W_ii
//
// q = J A⁻¹b + e is the free velocity. Where bodies that are tied together fly, q is what rounding leaves of a motion
// that the rows do not see: kFlight of what the energy of that motion can make of the rows stands for ‖q‖ then. The
// natural map is invariant to the units of mass and length, but for this: where ‖q‖ is below kStill nothing moves, and
// it is taken as it is.
//
//   impulse_ratio  max |λ_i| / (sqrt(m bᵀA⁻¹b) + max m_i |e_i|),  m = max m_i
//   m_i            min(tr(W_ii⁻¹) / dim, max_k A_kk / r_k²)
//
// over subsystems joined by constraints that bear; r_k is the longest lever, max |J_ik|, of their rows on dof k. It
// says how many times the momentum of free motion an impulse is. m_i is what constraint i weighs, but no
// more than the heaviest dof weighs: of a row that is only rounding W_ii is nothing, and its impulse anything.

#include <algorithm>
#include <cmath>

#include "almond/solver/problem.hpp"
#include "almond/solver/result.hpp"

namespace almond {

inline constexpr double kStill = 1e-15;  // [m/s]
inline constexpr double kFlight = 1e-4;  // of that speed: a map of 1e-9 is 1e-13 of it, which two factors of A agree to

/// What the natural map is divided by, from Σ q² and Σ tr(W_s) b_sᵀA_s⁻¹b_s over the sides s of all constraints.
[[nodiscard]] inline double natural_map_unit(double q2, double reach2) {
  const double unit2 = std::max(q2, kFlight * kFlight * reach2);
  return unit2 > kStill * kStill ? std::sqrt(unit2) : 1.0;
}

/// Impulses may be so many times what free motion has: more, and no mass could need them. Levers, wedges and towers
/// make tens of it.
inline constexpr double kMostImpulseRatio = 1e3;
inline constexpr double kShortLever = 1e-3;  // [m] and less is no lever to speak of

/// What a dof of inertia A_kk weighs at a lever; at one that is only rounding, nothing.
[[nodiscard]] inline double mass_at_lever(double inertia, double lever) {
  const double r = std::max(lever, kShortLever), share = std::min(lever / kShortLever, 1.0);
  return inertia * share * share / (r * r);
}

/// v = A⁻¹(b + Jᵀλ).
[[nodiscard]] VecX compute_velocity(const ContactProblem& problem, const VecX& lambda);

/// Judges λ (and v, whose dynamics residual is reported). Allocates; meant for reports and tests.
[[nodiscard]] Certificate make_certificate(const ContactProblem& problem, const VecX& v, const VecX& lambda);

}  // namespace almond
