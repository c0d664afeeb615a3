#pragma once
// What a solver is told (Settings) and what it says (Status, Certificate, SolveInfo, Solution).

#include <array>
#include <string>
#include <vector>

#include "almond/base/grow_vector.hpp"
#include "almond/base/types.hpp"

namespace almond {

enum class SolverKind : std::uint8_t {
  kAuto,        // the default: PGS while it promises to be enough, SubADMM, SPN, alternating when stalled
  kCanal,       // Algorithm 1, cascaded Newton augmented Lagrangian
  kSubAdmm,     // Algorithm 2, subsystem ADMM
  kSpn,         // strict proximal Newton
  kPgs,         // projected Gauss-Seidel
  kAdmmNoSub,   // baseline: ADMM on the whole system
  kAdmmNoBody,  // baseline: ADMM per subsystem without body splitting
  kDogleg,      // baseline: AL with a trust-region dogleg on the strict surrogate
  kDampedSn,    // baseline: AL with a damped semismooth Newton on the strict surrogate
};
inline constexpr int kNumSolverKinds = 9;

/// Names as on the command line: auto, canal, subadmm, spn, pgs, admm-nosub, admm-nobody, dogleg, damped-sn.
[[nodiscard]] const char* to_string(SolverKind kind);
/// Throws Error with the nearest known name.
[[nodiscard]] SolverKind solver_from_string(const std::string& name);

enum class Status : std::uint8_t {
  kSolved,          // both tolerances reached
  kMaxIterations,   // iteration limit
  kTimeBudget,      // wall-clock budget used up
  kStalled,         // no progress possible by this method, or by impulses alone that no mass could need; best iterate
  kInfeasible,      // jammed or opposed: impulses run away, nothing gets closer; least violating answer returned
  kNumericalError,  // a factorisation failed; best finite iterate returned
};
[[nodiscard]] const char* to_string(Status status);
/// The one that says less of the answer: the status of several solves is that of the worst.
[[nodiscard]] Status worse(Status a, Status b);

/// Problems of more degrees of freedom are crowds: 20 free bodies, six or seven quadrupeds.
inline constexpr int kCrowdDofs = 120;

enum class InnerSolver : std::uint8_t { kNewton, kConjugateGradient, kAcceleratedGradient };

struct Settings {
  SolverKind solver = SolverKind::kAuto;
  double tol = 1e-8;        // paper residual <= tol and natural map <= tol / 10
  int max_iterations = 0;   // outer iterations; 0: no limit but the method's own
  double budget_ms = 0.0;   // wall-clock budget; 0: none
  double max_work = 0.0;    // auto: visits to constraints (sweeps x constraints) per island, Newton steps by flops; at
                            // least 100 iterations, ten times as many where there is no crowd; 0: no limit
  double crowd_tol = 0.0;   // paper residual that is enough for problems of more than kCrowdDofs dofs, a natural map of
                            // ten times that (three: up to 300 dofs) at rest and a hundred times in motion; 0: tol
  bool warm_start = false;  // start from the λ in the Solution that is passed in
  bool squeezed = false;    // and from nothing else: what it presses together may hold, where λ = 0 is an answer too
  int threads = 1;          // workers for islands, subsystems and constraints
  bool trace = false;       // record the residual over time (the clock stops while it is measured)
  bool prefer_stick = false;      // auto: where the law has several answers, look for one without slip first
  bool fixed_iterations = false;  // run exactly max_iterations, no convergence tests (SubADMM, PGS, baselines)

  // CANAL, the paper's hyperparameters, with β = c / mean_i(tr W_ii / 3): c is free of units.
  double canal_c0 = 100.0;
  double canal_kappa = 10.0;  // (27) growth of β
  double canal_zeta = 0.25;   // required decrease of |Jv - z|
  double canal_c_max = 1e5;
  double canal_inner_tol = 1e-12;  // gradient at which an inner loop ends, by ‖b‖
  bool canal_polish = true;        // strict-Newton steps when only the lag of p is left
  InnerSolver canal_inner = InnerSolver::kNewton;

  // SubADMM
  double admm_c0 = 10.0;             // β_i = c / W̄_i
  double admm_gamma = 5.0;           // (43) imbalance of the residuals that changes β
  double admm_relax = 1.6;           // over-relaxation, 1: the paper's
  int admm_anderson = 10;            // memory of Anderson acceleration, 0: none
  bool admm_dense = false;           // trees: no notice of their zeros
  bool admm_aba = false;             // trees: articulated-body solve instead of the factor
  bool admm_split_bodies = false;    // (31) also between bodies of one subsystem: each gets a slack of its own
  bool admm_pseudo_density = false;  // β0 from body mass / number of contacts instead of W̄

  double pgs_omega = 1.0;
  int pgs_anderson = 0;  // memory of Anderson acceleration over sweeps, 0: none

  /// Throws Error naming the field, the value and the range.
  void validate() const;
};

/// The residual at which a problem of so many dofs counts as solved: tol, or crowd_tol where that is larger and
/// applies.
[[nodiscard]] double enough_residual(const Settings& settings, int dofs);

enum class ContactMode : std::uint8_t { kOpen, kStick, kSlip };
[[nodiscard]] const char* to_string(ContactMode mode);  // open, stick, slip

/// How far (v, λ) is from the law, with v = A⁻¹(b + Jᵀλ). make_certificate() computes it from the problem and λ alone,
/// by no solver's code; solve() fills the one of its Solution from its own numbers.
struct Certificate {
  double residual = kNaN;       // paper, Sec. VII: ‖λ - T(λ - (Jv+e))‖₂ / (contacts + rows), unit β [N s]
  double natural_map = kNaN;    // `rels`: Delassus-scaled natural map relative to ‖q‖ [-]
  double normal_violation = 0;  // worst max(0, -(J_n v + e_n)) [m/s]
  double complementarity = 0;   // worst |λ_n (J_n v + e_n)| [J]
  double cone_violation = 0;    // worst distance of λ_i to its cone or bounds [N s]
  double slip_error = 0;  // worst μλ_n‖w_t‖ + λ_t·w_t over contacts: 0 iff friction opposes slip at full [J]
  double dynamics_residual = 0;  // ‖A v - b - Jᵀλ‖ / (‖b‖ + ‖Jᵀλ‖) of the v handed to make_certificate()
  double row_violation = 0;      // worst violation over hard, soft, equality, bounded rows [m/s]
  double impulse_ratio =
      0;  // largest impulse by what the masses it acts on could need; nothing above 1000 is solved [-]
  int worst_constraint = -1;      // index (contacts first, then rows in λ's order) of the largest natural-map entry
  std::array<int, 3> modes{};     // number of contacts open, stick, slip
  std::vector<ContactMode> mode;  // (contacts)
  bool finite = true;
};

struct TracePoint {
  double time_ms;
  int iteration;
  double natural_map;
  double residual;
};

struct SolveInfo {
  int iterations = 0;    // outer iterations, sweeps
  int newton_steps = 0;  // linear solves with a new factor
  int islands = 0;
  double time_ms = 0.0;   // wall clock of the solve, trace evaluation not counted
  double setup_ms = 0.0;  // of which: islands, A⁻¹, W_ii
  int pgs_sweeps = 0, admm_iterations = 0, inner_failures = 0;
  double work = 0.0;  // visits to constraints, Newton steps by flops: the same in every run, unlike time
  std::vector<TracePoint> trace;
};

struct Solution {
  GrowVector v;       // (n)
  GrowVector lambda;  // (rows), see problem.hpp for the order
  Status status = Status::kNumericalError;
  Certificate certificate;
  SolveInfo info;
};

}  // namespace almond
