#pragma once
// SPN, strict proximal Newton: beyond the paper.
//
// CANAL's rate is set by the lag of p, not by |Jv - z|. SPN puts p inside: each outer iteration solves the *strict*
// surrogate (19) by semismooth Newton, with the penalty c (β_i = c / W̄_i) as a trust region:
//   inner Newton fails      c /= 5, again from the same point, until it works; if it never does, one convex outer
//   inner Newton is quick   c *= 3 to 27, up to c_max: internal forces that no velocity feels travel by c; most where
//                           no contact changed its region, since the rest is smooth
//   rounding shows          c /= 10
// Where friction makes the law non-monotone, small c passes a kink that large c cannot, and large c converges where
// small c drives λ away.
// A problem without a solution shows itself at c = c_max: the natural map stands still while λ grows ("jam").

#include "almond/solver/surrogate.hpp"

namespace almond {

struct SpnOptions {
  double c0 = 1.0;  // small: a path that starts far from jams; each quick outer multiplies it
  double c_max = 1e9;
  int patience = 400;  // leave when the best natural map was not halved within so many Newton steps
  int max_outer = 0;   // 0: no limit
};

struct SpnWorkspace {
  Surrogate surrogate;
  std::vector<double> v0, jam_lambda, delta, trial;
};

/// From λ (in and out). kSolved, kStalled, kInfeasible, kTimeBudget, kMaxIterations, kNumericalError.
Status solve_spn(const Island& island, const SpnOptions& options, Monitor& monitor, SpnWorkspace& workspace,
                 double* lambda);

}  // namespace almond
