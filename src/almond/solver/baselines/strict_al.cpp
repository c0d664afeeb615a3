#include "almond/solver/baselines/strict_al.hpp"

#include <algorithm>
#include <cmath>

#include "almond/solver/ray.hpp"

namespace almond {
namespace {

constexpr double kSufficient = 1e-4;    // share of the promised decrease that is asked for
constexpr double kJamViolation = 1e-6;  // natural map below which nothing is called jammed
constexpr int kMostTries = 100;
constexpr double kSmallestStep = 1e-12;  // relative to the first one: below, the merit cannot be reduced

double dot(const std::vector<double>& x, const std::vector<double>& y) {
  double sum = 0.0;
  for (std::size_t i = 0; i < x.size(); ++i) sum += x[i] * y[i];
  return sum;
}

double norm(const std::vector<double>& x) { return std::sqrt(dot(x, x)); }

/// p of length <= radius on the path 0 -> Cauchy point -> Newton point. `newton` empty: only the first leg exists.
void take_dogleg(const std::vector<double>& gradient, double cauchy, const std::vector<double>& newton, double radius,
                 std::vector<double>& p) {
  const double gg = dot(gradient, gradient), cauchy_length = cauchy * std::sqrt(gg);
  if (!newton.empty() && dot(newton, newton) <= radius * radius) {
    p = newton;
    return;
  }
  if (newton.empty() || cauchy_length >= radius) {
    const double scale = std::min(cauchy, radius / std::sqrt(gg));
    for (std::size_t i = 0; i < p.size(); ++i) p[i] = -scale * gradient[i];
    return;
  }
  // ‖p_U + τ(p_N - p_U)‖ = radius, τ in (0, 1): a τ² + 2b τ = c with c > 0.
  double a = 0.0, b = 0.0;
  for (std::size_t i = 0; i < p.size(); ++i) {
    const double leg = newton[i] + cauchy * gradient[i];
    a += leg * leg;
    b -= cauchy * gradient[i] * leg;
  }
  const double c = radius * radius - cauchy_length * cauchy_length;
  const double tau = std::clamp(c / (b + std::sqrt(b * b + a * c)), 0.0, 1.0);
  for (std::size_t i = 0; i < p.size(); ++i) p[i] = (1.0 - tau) * -cauchy * gradient[i] + tau * newton[i];
}

void resize(const Island& island, StrictAlWorkspace& ws) {
  for (std::vector<double>* x : {&ws.r, &ws.gradient, &ws.newton, &ws.product}) x->resize(island.v_size);
  ws.delta.resize(island.rows);
}

template <class Inner>
Status solve_strict_al(const Island& island, const StrictAlOptions& options, Monitor& monitor, StrictAlWorkspace& ws,
                       double* lambda, Inner&& inner_loop) {
  Surrogate& surrogate = ws.surrogate;
  surrogate.start(island);
  surrogate.set_velocity_from(lambda);
  resize(island, ws);
  double w_mean = 0.0;
  for (double w : island.w_bar) w_mean += w / static_cast<double>(island.w_bar.size());

  NewtonOptions inner_options;
  inner_options.max_steps = options.max_inner;
  inner_options.tolerance = options.inner_tol * std::max(island.b_norm, kEpsilon);

  double c = options.c0, al_prev = kInfinity, score_reference = kInfinity;
  int last_gain = 0, jam_count = 0;
  const bool fixed = options.fixed && monitor.max_iterations > 0;
  for (int outer = 1;; ++outer) {
    surrogate.set_anchor(lambda);
    surrogate.set_penalty_uniform(c / w_mean);
    surrogate.refresh();
    const NewtonResult inner = inner_loop(inner_options, monitor, ws);
    if (!std::isfinite(inner.r_norm)) return Status::kNumericalError;
    if (!inner.converged) {
      if (monitor.expired()) return Status::kTimeBudget;
      ++monitor.inner_failures;
    }
    std::copy(surrogate.lambda().begin(), surrogate.lambda().end(), lambda);
    const double al = surrogate.al_residual();
    ++monitor.iterations;
    monitor.trace(lambda, monitor.iterations);

    if (!fixed || monitor.out_of_iterations()) {
      const double score = monitor.observe(lambda);
      if (score <= 1.0) return Status::kSolved;
      if (!std::isfinite(score)) return Status::kNumericalError;
      if (monitor.out_of_iterations()) return Status::kMaxIterations;
      if (score < 0.9 * score_reference) {
        score_reference = score;
        last_gain = outer;
      } else if (outer - last_gain > options.patience) {
        return Status::kStalled;
      }
      // Jammed: the violation stands still although the inner loops succeed, and the ray of λ has no end.
      const bool still = inner.converged && al > 0.9 * al_prev && monitor.last_natural() > kJamViolation;
      jam_count = still ? jam_count + 1 : 0;
      if (jam_count >= 3) {
        for (int i = 0; i < island.rows; ++i) ws.delta[i] = lambda[i] - surrogate.anchor()[i];
        if (walk_ray(island, lambda, ws.delta.data(), monitor, ws.trial).unbounded) {
          monitor.force_best(lambda);
          return Status::kInfeasible;
        }
        jam_count = 0;
      }
    }
    if (monitor.expired()) return Status::kTimeBudget;
    // (27)
    if (al > options.zeta * al_prev && al > 1e-11 * island.q_norm) c = std::min(options.kappa * c, options.c_max);
    al_prev = al;
  }
}

}  // namespace

NewtonResult newton_dogleg(const NewtonOptions& options, Monitor& monitor, StrictAlWorkspace& ws) {
  Surrogate& surrogate = ws.surrogate;
  NewtonResult result;
  double r_norm = surrogate.evaluate(true);
  double radius = norm(surrogate.velocity());
  bool stuck = false;
  while (!stuck) {
    const double goal = std::max(options.tolerance, surrogate.rounding_floor());
    result.converged = r_norm <= goal;
    if (result.converged || result.steps >= options.max_steps || monitor.expired() || !std::isfinite(r_norm)) break;
    ws.r = surrogate.r();
    const bool has_newton = surrogate.newton_direction(true);
    ++result.steps;
    ++monitor.newton_steps;
    ws.newton.clear();
    if (has_newton) ws.newton.assign(surrogate.direction().begin(), surrogate.direction().end());
    if (radius == 0.0) radius = has_newton ? norm(ws.newton) : r_norm;
    surrogate.multiply_HT(ws.r.data(), ws.gradient.data());
    surrogate.multiply_H(ws.gradient.data(), ws.product.data());
    const double gg = dot(ws.gradient, ws.gradient), curvature = dot(ws.product, ws.product);
    if (!(gg > 0.0) || !(curvature > 0.0)) break;

    // Shrink the region until the model can be trusted; the factor is kept.
    const double first_radius = radius;
    int tries = 0;
    for (bool accepted = false; !accepted && !stuck;) {
      std::vector<double>& p = surrogate.direction();
      take_dogleg(ws.gradient, gg / curvature, ws.newton, radius, p);
      surrogate.compute_direction_products();
      surrogate.multiply_H(p.data(), ws.product.data());
      double model = 0.0;
      for (std::size_t i = 0; i < p.size(); ++i) model += (ws.r[i] + ws.product[i]) * (ws.r[i] + ws.product[i]);
      const double trial = surrogate.evaluate_at(true, 1.0), length = norm(p);
      const double promised = r_norm * r_norm - model, gained = r_norm * r_norm - trial * trial;
      const double ratio = promised > 0.0 && std::isfinite(trial) ? gained / promised : -1.0;
      if (ratio > 0.75 && length > 0.99 * radius) {
        radius *= 2.0;
      } else if (!(ratio >= 0.25)) {
        radius = 0.25 * length;
      }
      accepted = ratio > kSufficient;
      if (accepted) {
        surrogate.move(1.0);
        r_norm = trial;
      } else {
        // Where numbers overflow, the region need not shrink.
        stuck = !(radius > kSmallestStep * first_radius) || ++tries >= kMostTries;
      }
    }
    if (stuck) {
      r_norm = surrogate.evaluate(true);
      result.converged = r_norm <= options.stuck_factor * goal;
    }
  }
  result.r_norm = r_norm;
  return result;
}

NewtonResult newton_damped(const NewtonOptions& options, Monitor& monitor, StrictAlWorkspace& ws) {
  constexpr double kDescent = 1e-8, kPower = 2.1;  // a Newton step is used if gᵀd <= -kDescent ‖d‖^kPower
  Surrogate& surrogate = ws.surrogate;
  const double scale = std::max(norm(surrogate.velocity()), kEpsilon);
  NewtonResult result;
  double r_norm = surrogate.evaluate(true);
  for (;;) {
    const double goal = std::max(options.tolerance, surrogate.rounding_floor());
    result.converged = r_norm <= goal;
    if (result.converged || result.steps >= options.max_steps || monitor.expired() || !std::isfinite(r_norm)) break;
    ws.r = surrogate.r();
    bool newton = surrogate.newton_direction(true);
    ++result.steps;
    ++monitor.newton_steps;
    std::vector<double>& d = surrogate.direction();
    double slope = -r_norm * r_norm;  // gᵀd = rᵀH d
    if (newton) {
      const double length = norm(d);
      newton = slope <= -kDescent * length * length * std::pow(length / scale, kPower - 2.0);
    }
    if (!newton) {
      surrogate.multiply_HT(ws.r.data(), ws.gradient.data());
      for (std::size_t i = 0; i < d.size(); ++i) d[i] = -ws.gradient[i];
      slope = -dot(d, d);
      surrogate.compute_direction_products();
    }
    double alpha = 1.0, trial = surrogate.evaluate_at(true, alpha);
    while (!(0.5 * trial * trial <= 0.5 * r_norm * r_norm + kSufficient * alpha * slope) && alpha > kSmallestStep) {
      alpha *= 0.5;
      trial = surrogate.evaluate_at(true, alpha);
    }
    if (alpha <= kSmallestStep) {
      r_norm = surrogate.evaluate(true);
      result.converged = r_norm <= options.stuck_factor * goal;
      break;
    }
    surrogate.move(alpha);
    r_norm = trial;
  }
  result.r_norm = r_norm;
  return result;
}

Status solve_dogleg(const Island& island, const StrictAlOptions& options, Monitor& monitor, StrictAlWorkspace& ws,
                    double* lambda) {
  return solve_strict_al(island, options, monitor, ws, lambda, newton_dogleg);
}

Status solve_damped_sn(const Island& island, const StrictAlOptions& options, Monitor& monitor, StrictAlWorkspace& ws,
                       double* lambda) {
  return solve_strict_al(island, options, monitor, ws, lambda, newton_damped);
}

}  // namespace almond
