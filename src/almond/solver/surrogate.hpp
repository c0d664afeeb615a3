#pragma once
// The surrogate problem (10) of one augmented Lagrangian iteration, solved by Newton: shared by CANAL, SPN and the
// baselines. Whitened, so A = I.
//
//   x_i = λ_i - β_i (J_i v + e_i [+ p_i])        anchor λ, penalty β_i = c / W̄_i
//   r(v) = v - b - Jᵀ T(x)                        (19) strict T, or (21) proximal T with p lagged
//   H = I + Jᵀ diag(β_i dT_i) J                   (24)
//
// strict    nonsymmetric H, LU, backtracking on ‖r‖: no guarantee, but p is inside and nothing lags
// convex    symmetric H, LLT, exact line search on the strongly convex h (22): always converges
//   h(v) = ½‖v‖² - bᵀv + Σ ‖λ_i‖²/(2β_i),   ∇h = r                                            (22)
// ERRATUM: |λ|²/(2β) is the potential of contacts, hard and equality rows only. A soft row (4) has T(x) = x/(1+βc),
// thus (1+βc) λ²/(2β), still quadratic; a bounded row has Huber's λx/β - λ²/(2β), linear in x where T clamps.
//
// Converged when ‖r‖ <= max(tolerance, floor), floor = 8 ε sqrt(Σ_active W̄_i (β_i(|J_i v| + |e_i|) + |λ_i|)²): below
// that, rounding is all there is.

#include <vector>

#include "almond/solver/factor.hpp"
#include "almond/solver/line_search.hpp"
#include "almond/solver/monitor.hpp"

namespace almond {

struct NewtonResult {
  bool converged = false;
  bool factor_failed = false;
  int steps = 0;
  double r_norm = 0.0;
  int region_changes = 0;  // contacts whose region differed between the first and the last evaluation
};

struct NewtonOptions {
  int max_steps = 15;
  double tolerance = 0.0;              // on ‖r‖, absolute
  double relative = 0.0;               // converged as well when ‖r‖ fell by this factor
  double defect = 0.0;                 // and the v of λ differs from v by less than this part of the AL residual
  double stuck_factor = 100.0;         // accept when stuck below this multiple of the floor
  double line_tolerance = kExactStep;  // convex: slope at the end of a step by that at its begin
  int patience = 6;                    // strict: fail when ‖r‖ was not halved within so many steps
};

class Surrogate {
 public:
  /// Sizes the arrays; c_i are set by set_penalty.
  void start(const Island& island);
  void set_penalty(double c);
  /// Per-constraint β may be the mean-based one of the paper (uniform) or scaled; see set_penalty_uniform.
  void set_penalty_uniform(double beta);
  void set_anchor(const double* lambda);
  /// v (padded) becomes the current point.
  void set_velocity(const double* v);
  /// v = b + Jᵀλ.
  void set_velocity_from(const double* lambda);
  /// p of the convex form, one per contact [m/s]; from the tangential velocity now: p = μ‖J_t v + e_t‖.
  void lag_p(double damping);
  void clear_p();

  NewtonResult newton_strict(const NewtonOptions& options, Monitor& monitor);
  NewtonResult newton_convex(const NewtonOptions& options, Monitor& monitor);

  /// T(x) at the current v.
  [[nodiscard]] const std::vector<double>& lambda() const { return T_; }
  [[nodiscard]] const std::vector<double>& anchor() const { return anchor_; }
  [[nodiscard]] const std::vector<double>& velocity() const { return v_; }
  [[nodiscard]] const std::vector<double>& Jv() const { return Jv_; }
  [[nodiscard]] const std::vector<double>& p() const { return p_; }
  [[nodiscard]] const std::vector<double>& beta() const { return beta_; }
  /// ‖(λ_i - λ_prev)/β_i‖ = ‖Jv - z‖ over all rows: the AL residual [m/s].
  [[nodiscard]] double al_residual() const;
  /// ‖J r‖: how far J v is from the velocity that T(x) gives [m/s].
  [[nodiscard]] double defect();
  /// Change of p that lag_p would make now: sqrt(Σ (μ‖w_t‖ - p)²) [m/s].
  [[nodiscard]] double p_change() const;
  BlockFactor& factor() { return factor_; }

  /// r at the current v with strict or proximal T; fills x, T, regions. Returns ‖r‖.
  double evaluate(bool strict);
  double evaluate_at(bool strict, double alpha);  // at v + α d, does not move
  void compute_direction_products();              // Jd from d
  /// K = β dT at the current x; H; factor; d = -H⁻¹ r. False if the factor failed.
  bool newton_direction(bool strict);
  void move(double alpha);
  /// Minimiser of h along d, (26), up to a slope of `tolerance` by that here; needs r and compute_direction_products.
  double line_search(double tolerance = kExactStep);
  /// J v anew from v: the increments of move() round.
  void refresh() { set_velocity(v_.data()); }
  [[nodiscard]] double rounding_floor() const;
  /// What rounding of T(x) makes of J v [m/s]: grows with the penalty.
  [[nodiscard]] double rounding_defect() const;
  [[nodiscard]] const std::vector<double>& r() const { return r_; }
  std::vector<double>& direction() { return d_; }
  /// out = H x for the last assembled K.
  void multiply_H(const double* x, double* out) { multiply_H(x, false, out); }
  /// out = Hᵀ x.
  void multiply_HT(const double* x, double* out) { multiply_H(x, true, out); }

 private:
  void apply_T(bool strict, double alpha);
  double compute_residual(double alpha);  // r at v + α d for the T of apply_T, and its norm
  void multiply_H(const double* x, bool transposed, double* out);

  const Island* island_ = nullptr;
  BlockFactor factor_;
  std::vector<double> beta_, anchor_, p_;  // (constraints), (rows), (contacts)
  std::vector<double> v_, d_, r_, trial_;  // (v_size)
  std::vector<double> Jv_, Jd_, x_, T_;    // (rows)
  std::vector<double> side_, K_, Kx_;
  std::vector<char> region_, first_region_;
};

}  // namespace almond
