#pragma once
// Factor-free inner solvers for CANAL's convex subproblem: nonlinear conjugate gradient (Polak-Ribière+, exact line
// search) and accelerated gradient with restart. Both need products with J only: memory and time per step are linear in
// the size, at the price of many steps when β is large. The paper names them as future work.

#include "almond/solver/surrogate.hpp"

namespace almond {

/// Minimises h (22) from the surrogate's velocity. Steps are counted as Newton steps are; the limit scales with them.
NewtonResult minimize_first_order(InnerSolver method, const NewtonOptions& options, Monitor& monitor,
                                  Surrogate& surrogate);

}  // namespace almond
