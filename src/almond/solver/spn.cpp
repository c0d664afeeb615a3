#include "almond/solver/spn.hpp"

#include <algorithm>
#include <cmath>

#include "almond/solver/ray.hpp"
#include "almond/solver/recession.hpp"

namespace almond {
namespace {

constexpr double kMinC = 0.1, kShrink = 5.0;
constexpr double kGrowth = 3.0;    // of c; twice where Newton is quick, once more where no contact changed its region
constexpr int kTries = 8;          // c, c/5, c/25 ...: small enough, and the strict surrogate is monotone
constexpr double kDefect = 0.1;    // of the AL residual: λ must be as good as it is new
constexpr double kRounding = 0.3;  // of the AL residual that rounding may be
constexpr int kJamOuters = 3;
constexpr int kEndlessRays = 3;  // in a row: what is not jammed settles meanwhile
constexpr double kFar = 1e-3;    // natural map from which on patience is short:
constexpr int kFarPatience = 66;
constexpr double kJamViolation = 1e-6;  // natural map below which nothing is called jammed

}  // namespace

Status solve_spn(const Island& island, const SpnOptions& options, Monitor& monitor, SpnWorkspace& ws, double* lambda) {
  Surrogate& surrogate = ws.surrogate;
  surrogate.start(island);
  surrogate.set_velocity_from(lambda);

  NewtonOptions strict;
  strict.max_steps = 15;
  strict.tolerance = 1e-13 * std::max(island.b_norm, kEpsilon);
  strict.relative = 1e-3;
  strict.defect = kDefect;
  NewtonOptions convex;
  convex.max_steps = 50;
  convex.tolerance = strict.tolerance;

  double c = options.c0;
  bool hold = false;                   // no growth right after a failure
  int convex_wait = 0, next_wait = 2;  // outers without a strict try after all failed
  double natural_prev = kInfinity, stall_reference = kInfinity;
  int stall_newton = monitor.newton_steps, stall_outer = 0, jam_count = 0;
  double jam_best = kInfinity;
  int endless_rays = 0;

  for (int outer = 1;; ++outer) {
    surrogate.set_anchor(lambda);
    bool failed = false, strict_done = false;
    int newton = 0;
    bool settled = false;  // no contact changed its region
    if (convex_wait == 0) {
      ws.v0 = surrogate.velocity();
      const double c_before = c;
      for (int t = 0; t < kTries && !strict_done; ++t) {
        surrogate.set_penalty(c);
        const NewtonResult inner = surrogate.newton_strict(strict, monitor);
        newton = inner.steps;
        strict_done = inner.converged;
        settled = inner.region_changes == 0;
        if (strict_done) break;
        failed = true;
        ++monitor.inner_failures;
        if (monitor.expired()) return Status::kTimeBudget;
        surrogate.set_velocity(ws.v0.data());
        if (t + 1 < kTries) c = std::max(kMinC, c / kShrink);
      }
      if (!strict_done) {
        c = c_before;
        convex_wait = next_wait;
        next_wait = std::min(8, 2 * next_wait);
      }
    }
    if (!strict_done) {
      if (convex_wait > 0) --convex_wait;
      surrogate.set_penalty(c);
      surrogate.lag_p(1.0);
      const NewtonResult inner = surrogate.newton_convex(convex, monitor);
      newton = inner.steps;
      if (inner.factor_failed) return Status::kNumericalError;
      if (!inner.converged && monitor.expired()) return Status::kTimeBudget;
    } else if (!failed) {
      next_wait = 2;
    }

    std::copy(surrogate.lambda().begin(), surrogate.lambda().end(), lambda);
    const double al = surrogate.al_residual();
    ++monitor.iterations;
    monitor.trace(lambda, monitor.iterations);
    const double score = monitor.observe(lambda);
    double natural = monitor.last_natural();
    if (score <= 1.0) return Status::kSolved;
    if (!std::isfinite(natural)) return Status::kNumericalError;
    if (monitor.expired()) return Status::kTimeBudget;
    if (monitor.out_of_iterations() || (options.max_outer > 0 && outer >= options.max_outer)) {
      return Status::kMaxIterations;
    }

    bool endless = false;
    if (natural > 0.5 * natural_prev) {
      ws.delta.resize(island.rows);
      for (int i = 0; i < island.rows; ++i) ws.delta[i] = lambda[i] - surrogate.anchor()[i];
      const double violation = natural;
      const RayResult ray = walk_ray(island, lambda, ws.delta.data(), monitor, ws.trial);
      endless = ray.unbounded && violation > kJamViolation;
      if (endless && (++endless_rays >= kEndlessRays || proves_infeasible(island, ws.delta.data(), ws.trial))) {
        monitor.force_best(lambda);
        return Status::kInfeasible;
      }
      if (ray.t > 0.0 && !endless) {
        for (int i = 0; i < island.rows; ++i) lambda[i] += ray.t * ws.delta[i];
        surrogate.set_velocity_from(lambda);
        if (monitor.observe(lambda) <= 1.0) return Status::kSolved;
        natural = monitor.last_natural();
      }
    }

    if (!endless) endless_rays = 0;

    // The next penalty.
    if (surrogate.rounding_defect() > kRounding * al) {
      c = std::max(kMinC, c / 10.0);
      hold = true;
    } else if (failed || hold) {
      hold = failed;
    } else if (strict_done && newton <= 6) {
      c = std::min(options.c_max, c * (newton <= 2 ? kGrowth * kGrowth : kGrowth) * (settled ? kGrowth : 1.0));
    }

    // Jam: full penalty, Newton works, and the law is still violated by the same amount.
    const bool jammed = strict_done && !failed && c >= options.c_max && natural > 1e-5 && natural > 0.9 * natural_prev;
    if (jammed) {
      if (jam_count == 0 || natural < 0.95 * jam_best) {
        ws.jam_lambda.assign(lambda, lambda + island.rows);
        jam_best = natural;
      }
      if (++jam_count >= kJamOuters) {
        std::copy(ws.jam_lambda.begin(), ws.jam_lambda.end(), lambda);
        monitor.force_best(lambda);
        return Status::kInfeasible;
      }
    } else {
      jam_count = 0;
    }
    natural_prev = natural;

    // Outers count as well: at rounding they need no Newton step. Far from the law there is nothing to wait for.
    const int patience = natural > kFar ? std::min(options.patience, kFarPatience) : options.patience;
    if (natural < 0.5 * stall_reference) {
      stall_reference = natural;
      stall_newton = monitor.newton_steps;
      stall_outer = outer;
    } else if (std::max(monitor.newton_steps - stall_newton, outer - stall_outer) > patience) {
      return Status::kStalled;
    }
  }
}

}  // namespace almond
