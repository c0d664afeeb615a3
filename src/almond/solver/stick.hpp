#pragma once
// The convex problem, p = 0 in (20): its velocity is unique, and where nothing slips in it, it obeys the law.
//
// Newton on the proximal surrogate with a penalty that grows in every iteration: nothing lags, so each takes off as
// much again. Where something slips, p = 0 is wrong and the natural map stops falling at once; λ is then near the
// answer all the same, since what slips slips little, and a good place for SPN to begin.

#include "almond/solver/surrogate.hpp"

namespace almond {

/// From λ (in and out), until the natural map is below `near`; c is the penalty that it came to. kSolved: an answer
/// without slip. kStalled: something slips; anything else: no answer yet.
Status solve_stick(const Island& island, double near, Monitor& monitor, Surrogate& surrogate, double& c,
                   double* lambda);

}  // namespace almond
