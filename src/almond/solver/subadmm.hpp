#pragma once
// SubADMM (Algorithm 2) on the whitened, penalty-scaled problem.
//
// With β_i per constraint let Ĵ_ij = √β_i J_ij, ê_i = √β_i e_i, and y, s, λ in units of √β as well. Then β drops out
// and one iteration in Douglas-Rachford form, with the state y_ij per side, is
//
//   λ_i = T(-(Σ_j y_ij + ê_i) / |Z_i|)                         (36)-(38), strict T, parallel over constraints:
//   slack.hpp s_ij = y_ij + 2 λ_i                                         (= β z_ij - u_ij) v_j = (I + Σ_i Ĵ_ijᵀ
//   Ĵ_ij)⁻¹ (b_j + Σ_i Ĵ_ijᵀ s_ij)         (34), parallel over subsystems: node_map.hpp y_ij <- r (Ĵ_ij v_j - s_ij / 2)
//   + (1 - r/2) y_ij            r = 1: the paper's (35); r = 1.6: over-relaxed
//
// so z = (y + s) / 2, and Ĵv follows from two states in a row. Two sides on one tree are two slacks: that keeps H block
// diagonal over bodies (31).
//
// β_i = c w_i with w_i = 1 / W̄_i, or the paper's pseudo-density; c is rebalanced (43) on residuals made free of units.
// Anderson acceleration extrapolates y every m + 1 iterations; a step after which the fixed-point residual is larger is
// shortened, then undone.
//
// Without a solution λ runs away: it grows by the same amount over and over while the law stays violated. When nothing
// was gained for a while, plain iterations are run and the drift of λ is compared over stretches. A drift that leads
// far is suspicious, but a large penalty can also wedge bodies that have a solution, so the run starts again from λ = 0
// with a small one. If λ runs away there too, along a direction that proves it may (recession.hpp): kInfeasible.

#include "almond/base/parallel.hpp"
#include "almond/solver/monitor.hpp"
#include "almond/solver/node_map.hpp"
#include "almond/solver/slack.hpp"

namespace almond {

struct SubAdmmOptions {
  int max_iterations = 0;  // 0: until the monitor says stop
  bool fixed = false;      // exactly max_iterations, measure only at the end
  double c0 = 10.0;
  double gamma = 5.0;
  double relax = 1.6;
  int anderson = 10;
  bool adapt = true;
  bool keep = false;            // continue with the penalty of the last call
  bool pseudo_density = false;  // β0 from body mass / contacts on the body, the same for all contacts
  TreePath tree_path = TreePath::kCheapest;
  WorkerPool* pool = nullptr;
};

struct SubAdmmWorkspace {
  double c = 0.0;  // current penalty
  NodeMaps maps;
  Slacks slacks;
  std::vector<double> weight, sqrt_beta;  // (constraints)
  LineVector scale;                       // (padded side rows) √β
  LineVector history;                     // (anderson + 2) states y, padded side rows each
  LineVector s, z_old, saved;
  std::vector<double> mark, drift, drift_before, trial;  // λ of the jam test
  std::vector<int> node_bounds;                          // nodes of each worker, by cost
  std::vector<char> node_ok;
};

/// From λ (in and out).
Status solve_subadmm(const Island& island, const SubAdmmOptions& options, Monitor& monitor, SubAdmmWorkspace& workspace,
                     double* lambda);

/// w_i: β_i = c w_i. 1 / W̄_i, or with pseudo-density the geometric mean over the bodies in contact of mass / contacts;
/// rows that are no contacts then get the weight that an average contact has relative to its W̄.
void compute_penalty_weights(const Island& island, bool pseudo_density, std::vector<double>& weight);

}  // namespace almond
