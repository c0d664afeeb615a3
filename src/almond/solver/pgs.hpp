#pragma once
// Projected Gauss-Seidel, normal then tangent, on whitened velocities: the Delassus matrix is never formed.
//
// For each contact in turn, with w = J_i v + e_i from the current v:
//   λ_n <- max(0, λ_n - ω w_n / W_nn),   w_t += W_tn Δλ_n
//   λ_t <- P_{μλ_n}(λ_t - ω w_t / ρ_t),  ρ_t = largest eigenvalue of W_tt
//   v   <- v + J_iᵀ Δλ
// With `stick` a contact first tries λ - ω W_ii⁻¹ w, all three components at once, and takes it where it lies in the
// cone: exact for what sticks, also where levers couple normal and tangent, as on robots.
// Rows of one component: λ <- clamp(λ - ω (w + cλ) / W_ii).
// A sweep costs O(side rows). On articulated trees ω = 1 can fall into a limit cycle; ω is halved when progress stops.
// If λ only grows, the ray test (ray.hpp) tells a jam.

#include "almond/solver/monitor.hpp"

namespace almond {

struct PgsWorkspace {
  std::vector<double> v, side, step_n, step_t;
  std::vector<double> inverse;  // of W_ii, 9 per contact; NaN: it has none
  std::vector<double> history, saved, weight, anchor, trial;
};

struct PgsOptions {
  int probe = 0;       // > 0: leave when the rate so far promises more sweeps than this,
  int least = 0;       // but not before so many
  int max_sweeps = 0;  // 0: until the monitor says stop
  double omega = 1.0;
  int anderson = 0;    // memory of Anderson acceleration, 0: none
  bool stick = false;  // try stick before normal and tangent one after the other
  bool fixed = false;  // run max_sweeps, measure only at the end
};

/// Sweeps from λ (in and out). Ends when solved, out of sweeps, time or iterations, or stalled.
Status solve_pgs(const Island& island, const PgsOptions& options, Monitor& monitor, PgsWorkspace& workspace,
                 double* lambda);

}  // namespace almond
