#pragma once
// CANAL (Algorithm 1): augmented Lagrangian whose surrogate is made convex by lagging p.
//
//   p_i = μ‖z_t + e_t‖ from the last iteration                (20), ERRATUM: the text omits e_t
//   v   = argmin h(v)  by exact Newton                        (21)-(26), surrogate.hpp
//   λ  <- T(x),  i.e. u <- u + β(Jv - z)                      (11)
//   β  <- κβ up to β_max if |Jv - z| did not fall by ζ        (27)
//
// DEVIATION: β = c / mean_i(tr W_ii / 3), so c is free of units; β grows only if |Jv - z| and not the lag of p is what
// is left; the loop ends on the certificate, not on |Jv - z| alone; p is damped when it cycles; once the regions stand
// still a few Newton steps on the strict surrogate remove the lag ("polish"). A stalled or jammed problem is said to be
// so.
//
// One iteration (max_iterations = 1) is the soft convex contact of MuJoCo and Drake: compliance 1/β, p from the free
// velocity.

#include "almond/solver/surrogate.hpp"

namespace almond {

struct CanalOptions {
  double c0 = 100.0, kappa = 10.0, zeta = 0.25, c_max = 1e5, inner_tol = 1e-12;
  bool polish = true;
  InnerSolver inner = InnerSolver::kNewton;
  int max_outer = 0;   // 0: no limit but stalling
  int patience = 150;  // outers without a tenth of progress before it gives up
};

struct CanalWorkspace {
  Surrogate surrogate;
  std::vector<double> v0, delta, trial;
  std::vector<double> gradient, direction, previous;  // first-order inner solvers
};

Status solve_canal(const Island& island, const CanalOptions& options, Monitor& monitor, CanalWorkspace& workspace,
                   double* lambda);

}  // namespace almond
