#pragma once
// Baselines of the paper's ablation (Table II): the augmented Lagrangian loop of CANAL around Newton methods that work
// on the strict surrogate r(v) = 0 of (19) directly, by descent on the merit ψ(v) = ½‖r(v)‖². Whitened, so norms are
// energies.
//
//   dogleg      trust region of radius Δ around v (Nocedal and Wright, Algorithm 11.6): with H = r'(v), g = Hᵀr,
//                 p_U = -(‖g‖²/‖Hg‖²) g,  p_N = -H⁻¹r,   p = where the path 0 -> p_U -> p_N leaves the ball
//                 accept if ψ falls by 1e-4 of what ½‖r + Hp‖² promises; Δ quartered below 1/4, doubled above 3/4
//   damped-sn   damped semismooth Newton (De Luca, Facchinei, Kanzow): d = p_N, or -g where p_N does not descend;
//                 α = 1, 1/2, 1/4, ... until ψ(v + αd) <= ψ(v) + 1e-4 α gᵀd
//
// β stays fixed during an inner loop and grows by (27) only. ψ is not convex: an inner loop may end in a point where it
// cannot be reduced. That is counted (Monitor::inner_failures), its λ is used as it is, and the outer loop goes on.
// SPN differs by making β the trust region.

#include "almond/solver/surrogate.hpp"

namespace almond {

struct StrictAlOptions {
  double c0 = 100.0, kappa = 10.0, zeta = 0.25, c_max = 1e5, inner_tol = 1e-12;  // as in CANAL
  int max_inner = 100;                                                           // Newton steps of one inner loop
  int patience = 25;   // outers without a tenth of progress before it gives up
  bool fixed = false;  // run monitor.max_iterations outers, measure only at the end
};

struct StrictAlWorkspace {
  Surrogate surrogate;
  std::vector<double> r, gradient, newton, product;  // (v_size)
  std::vector<double> delta, trial;                  // (rows)
};

/// From λ (in and out). kSolved, kStalled, kInfeasible, kTimeBudget, kMaxIterations, kNumericalError.
Status solve_dogleg(const Island& island, const StrictAlOptions& options, Monitor& monitor,
                    StrictAlWorkspace& workspace, double* lambda);
Status solve_damped_sn(const Island& island, const StrictAlOptions& options, Monitor& monitor,
                       StrictAlWorkspace& workspace, double* lambda);

/// One inner loop from the surrogate's velocity: the point it ends in is the surrogate's.
NewtonResult newton_dogleg(const NewtonOptions& options, Monitor& monitor, StrictAlWorkspace& workspace);
NewtonResult newton_damped(const NewtonOptions& options, Monitor& monitor, StrictAlWorkspace& workspace);

}  // namespace almond
