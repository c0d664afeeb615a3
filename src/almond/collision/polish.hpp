#pragma once
// The last digits of a normal between curved cores.
//
// GJK and EPA close in on a curved surface by a constant factor per step. Near the end the branches (support.hpp) that
// carry the answer are known, k = 1..m, m <= 3, and the rest is a small smooth system for n, h and weights w:
//
//   Σ wₖ sₖ(n) = h n,   Σ wₖ = 1        the nearest point of the face they span lies along n
//   nᵀsₖ(n) = nᵀs₁(n)                   they reach equally far
//
// m = 1: a smooth point of D; m = 2: an edge, say a box's edge against a cylinder's side; m = 3: a flat face.

#include "almond/collision/support.hpp"

namespace almond {

/// Newton's method from the normal `start` and the points and weights of `simplex` (at most 3). True if it converged to
/// a local minimum of h to rounding: `result` is set. For cores apart that is the distance; else it is the depth of the
/// valley it started in. `result.iterations` counts its steps in any case.
[[nodiscard]] bool polish_normal(Difference& difference, const Simplex& simplex, const Vec3& start,
                                 CoreDistance& result);

}  // namespace almond
