#pragma once
// Why λ may run away: a recession direction of the impulses.
//
//   δ in the cones (bounds),  Jᵀδ = 0,  qᵀδ < 0
//
// Such a δ moves nothing and gains at every step. By Farkas' lemma no velocity then has all of Jv + e in the dual
// cones, which would be sufficient for a solution. It is not necessary: friction may still find one, at small λ.

#include <vector>

#include "almond/solver/island.hpp"

namespace almond {

/// Whether δ (rows of the island) is one, to a hundredth of its size.
[[nodiscard]] bool is_recession_direction(const Island& island, const double* delta, std::vector<double>& scratch);

/// Whether δ proves that no velocity keeps the contacts from approaching, friction or not (Farkas): its normal part
///   d >= 0,  Jᵀd = 0,  eᵀd < 0      so that  0 <= dᵀ(Jv + e) = dᵀe < 0  for every v
/// holds up to velocities of ten thousand times the free one.
[[nodiscard]] bool proves_infeasible(const Island& island, const double* delta, std::vector<double>& scratch);

}  // namespace almond
