#include "almond/solver/stick.hpp"

#include <algorithm>

namespace almond {
namespace {

constexpr double kFirstC = 100.0, kGrowth = 10.0, kMostC = 1e6;
constexpr int kMostOuters = 10;
constexpr double kSliding = 0.02;  // natural map of an answer that slips for sure
constexpr double kFall = 0.5;      // of the natural map per iteration, or something slips

}  // namespace

Status solve_stick(const Island& island, double near, Monitor& monitor, Surrogate& surrogate, double& c,
                   double* lambda) {
  surrogate.start(island);
  surrogate.set_velocity_from(lambda);
  NewtonOptions inner;
  inner.max_steps = 50;
  inner.tolerance = 1e-13 * std::max(island.b_norm, kEpsilon);
  inner.relative = 1e-3;
  inner.defect = 0.1;
  double natural_before = kInfinity;
  c = kFirstC;
  for (int outer = 1; outer <= kMostOuters; ++outer, c = std::min(kGrowth * c, kMostC)) {
    surrogate.set_anchor(lambda);
    surrogate.set_penalty(c);
    const NewtonResult newton = surrogate.newton_convex(inner, monitor);
    if (newton.factor_failed) return Status::kNumericalError;
    if (!newton.converged) return monitor.expired() ? Status::kTimeBudget : Status::kMaxIterations;
    std::copy(surrogate.lambda().begin(), surrogate.lambda().end(), lambda);
    ++monitor.iterations;
    monitor.trace(lambda, monitor.iterations);
    if (monitor.observe(lambda) <= 1.0) return Status::kSolved;
    const double natural = monitor.last_natural();
    if (!(natural <= kSliding) || natural > kFall * natural_before) return Status::kStalled;
    if (natural < near || monitor.out_of_iterations()) return Status::kMaxIterations;
    if (monitor.expired()) return Status::kTimeBudget;
    natural_before = natural;
  }
  return Status::kMaxIterations;
}

}  // namespace almond
