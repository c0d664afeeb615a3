#pragma once
// SubADMM (Algorithm 2) on the whitened, penalty-scaled problem.
//
// With β_i per constraint let Ĵ_ij = sqrt(β_i) J_ij, ê_i = sqrt(β_i) e_i, and y, s, λ in units of sqrt(β) as well. Then β
// drops out and one iteration in Douglas-Rachford form, with the state y_ij per side, is
//
//   λ_i = T(-(Σ_j y_ij + ê_i) / |Z_i|)                         (36)-(38), strict T, parallel over constraints
//   s_ij = y_ij + 2 λ_i                                         (= β z_ij - u_ij)
//   v_j = (I + Σ_i Ĵ_ijᵀ Ĵ_ij)⁻¹ (b_j + Σ_i Ĵ_ijᵀ s_ij)         (34), parallel over subsystems
//   y_ij <- r (Ĵ_ij v_j - s_ij / 2) + (1 - r/2) y_ij            r = 1: the paper's (35); r = 1.6: over-relaxed
//
// The loop needs Ĵ v only, so a node with few rows keeps one symmetric matrix G = Ĵ H⁻¹ Ĵᵀ and does Ĵv = Ĵ H⁻¹ b + G s;
// a node with many rows keeps Ĵ and H⁻¹. Fewer multiplications win.
//
// β: starts at c / W̄_i and is rebalanced (43) on residuals made free of units. Anderson acceleration extrapolates y every
// m iterations and is undone when the fixed-point residual grows. If that residual stands still while λ grows, the
// problem has no solution: kInfeasible.

#include "almond/base/parallel.hpp"
#include "almond/solver/monitor.hpp"

namespace almond {

struct SubAdmmOptions {
  int max_iterations = 0;   // 0: until the monitor says stop
  bool fixed = false;       // exactly max_iterations, measure only at the end
  double c0 = 10.0;
  double gamma = 5.0;
  double relax = 1.6;
  int anderson = 10;
  bool adapt = true;
  bool keep = false;        // continue with the penalty of the last call
  bool stop_on_stall = true;
  WorkerPool* pool = nullptr;
};

struct SubAdmmNode {
  int begin = 0;        // first padded side row
  int rows = 0;         // side rows
  int padded = 0;       // multiple of 8
  bool dual = false;    // G form
  int G = 0;            // into matrices_: padded x rows, column-major
  int J = 0, Jc = 0;    // into matrices_: row-major rows x ld; column-major padded x dofs
  int H = 0;            // into matrices_: ld x dofs
};

struct SubAdmmWorkspace {
  double c = 0.0;                       // current penalty
  double factored_c = 0.0;
  std::vector<SubAdmmNode> nodes;
  std::vector<int> slot;                // (2 x constraints) padded side rows
  std::vector<double> sqrt_beta, e_hat;
  std::vector<double> matrices, g0, v;
  std::vector<double> history;          // (anderson + 2) states y, padded side rows each
  std::vector<double> s, lambda, f_old, Jv, saved;
  std::vector<double> gram, work, coefficients;
  MatX H;
};

/// From λ (in and out).
Status solve_subadmm(const Island& island, const SubAdmmOptions& options, Monitor& monitor,
                     SubAdmmWorkspace& workspace, double* lambda);

}  // namespace almond
