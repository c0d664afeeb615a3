#include "almond/solver/canal.hpp"

#include <algorithm>
#include <cmath>

#include "almond/solver/first_order.hpp"
#include "almond/solver/ray.hpp"

namespace almond {
namespace {

constexpr double kJamViolation = 1e-6;

/// Decides when strict Newton steps are worth a try and how long to wait after a failure.
struct Polish {
  int wait = 0, next_wait = 1;
  bool due(const NewtonResult& inner, double al, double dp, int contacts) {
    if (inner.region_changes > std::max(1, contacts / 100) || dp <= 3.0 * al) return false;
    if (wait > 0) {
      --wait;
      return false;
    }
    return true;
  }
  void failed() {
    wait = next_wait;
    next_wait = std::min(64, 2 * next_wait);
  }
};

double mean(const std::vector<double>& x) {
  double sum = 0.0;
  for (double value : x) sum += value;
  return x.empty() ? 1.0 : sum / static_cast<double>(x.size());
}

}  // namespace

Status solve_canal(const Island& island, const CanalOptions& options, Monitor& monitor, CanalWorkspace& ws,
                   double* lambda) {
  Surrogate& surrogate = ws.surrogate;
  surrogate.start(island);
  surrogate.set_velocity_from(lambda);
  surrogate.lag_p(1.0);
  const double w_mean = mean(island.w_bar);
  double c = options.c0;

  NewtonOptions convex;
  convex.max_steps = 50;
  convex.tolerance = options.inner_tol * std::max(island.b_norm, kEpsilon);
  NewtonOptions strict = convex;
  strict.max_steps = 10;

  Polish polish;
  double al_prev = kInfinity, dp_least = kInfinity, damping = 1.0;
  double score_reference = kInfinity;
  int dp_wait = 0, last_gain = 0, jam_count = 0;
  bool lag_is_gone = false;  // the last outer was strict

  for (int outer = 1;; ++outer) {
    surrogate.set_anchor(lambda);
    surrogate.set_penalty_uniform(c / w_mean);
    if (outer > 1) surrogate.lag_p(lag_is_gone ? 1.0 : damping);
    const NewtonResult inner = options.inner == InnerSolver::kNewton
                                   ? surrogate.newton_convex(convex, monitor)
                                   : minimize_first_order(options.inner, convex, monitor, surrogate);
    if (inner.factor_failed) return Status::kNumericalError;
    if (!inner.converged && monitor.expired()) return Status::kTimeBudget;  // λ of an unfinished inner loop is useless

    if (!inner.converged) ++monitor.inner_failures;

    double al = surrogate.al_residual();
    const double dp = surrogate.p_change();
    lag_is_gone = false;
    if (options.polish && outer > 1 && polish.due(inner, al, dp, island.num_contacts)) {
      ws.v0 = surrogate.velocity();
      const NewtonResult step = surrogate.newton_strict(strict, monitor);
      if (step.converged) {
        lag_is_gone = true;
        al = surrogate.al_residual();
      } else {
        polish.failed();
        surrogate.set_velocity(ws.v0.data());
        surrogate.evaluate(false);
      }
    }
    std::copy(surrogate.lambda().begin(), surrogate.lambda().end(), lambda);

    ++monitor.iterations;
    monitor.trace(lambda, monitor.iterations);
    const double score = monitor.observe(lambda);
    const double natural = monitor.last_natural();
    if (score <= 1.0) return Status::kSolved;
    if (!std::isfinite(score)) return Status::kNumericalError;
    if (monitor.expired()) return Status::kTimeBudget;
    if (monitor.out_of_iterations() || (options.max_outer > 0 && outer >= options.max_outer)) {
      return Status::kMaxIterations;
    }

    // Jammed: the violation stands still at full penalty and the ray of λ has no end.
    jam_count = al > 0.9 * al_prev && natural > kJamViolation ? jam_count + 1 : 0;
    if (jam_count >= 3) {
      ws.delta.resize(island.rows);
      for (int i = 0; i < island.rows; ++i) ws.delta[i] = lambda[i] - surrogate.anchor()[i];
      if (walk_ray(island, lambda, ws.delta.data(), monitor, ws.trial).unbounded) {
        monitor.force_best(lambda);
        return Status::kInfeasible;
      }
      jam_count = 0;
    }
    // (27), guarded: the penalty helps against |Jv - z|, not against the lag of p.
    if (al > options.zeta * al_prev && (al > 0.3 * dp || lag_is_gone) && al > 1e-11 * island.q_norm) {
      c = std::min(options.kappa * c, options.c_max);
    }
    al_prev = al;
    // A limit cycle of p: damp it.
    if (dp < 0.95 * dp_least) {
      dp_least = dp;
      dp_wait = 0;
    } else if (++dp_wait >= 6) {
      damping = std::max(0.1, 0.5 * damping);
      dp_wait = 0;
      dp_least = dp;
    }
    if (score < 0.9 * score_reference) {
      score_reference = score;
      last_gain = outer;
    } else if (outer - last_gain > options.patience) {
      return Status::kStalled;
    }
  }
}

}  // namespace almond
