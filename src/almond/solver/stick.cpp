#include "almond/solver/stick.hpp"

#include <algorithm>

#include "almond/solver/certificate.hpp"

namespace almond {
namespace {

constexpr double kMostC = 1e6;
constexpr int kMostOuters = 10;
constexpr double kSliding = 0.02;   // natural map of an answer that slips for sure
constexpr double kFall = 0.5;       // of the natural map per iteration, or something slips
constexpr double kOfPenalty = 0.3;  // of the natural map that the penalty accounts for: with less, something slips

Status follow(const Island& island, double near, Monitor& monitor, Surrogate& surrogate, StickPath& path) {
  surrogate.start(island);
  surrogate.set_velocity_from(path.lambda.data());
  NewtonOptions inner;
  inner.max_steps = 50;
  inner.tolerance = 1e-13 * std::max(island.b_norm, kEpsilon);
  inner.relative = 1e-3;
  inner.line_tolerance = 1e-2;  // more precise steps do not save any
  inner.defect = 0.01;          // the penalty grows a hundredfold: what the last one left must not show
  while (path.outers++ < kMostOuters) {
    path.c = path.c > 0.0 ? std::min(path.penalty.growth * path.c, kMostC) : path.penalty.first;
    surrogate.set_anchor(path.lambda.data());
    surrogate.set_penalty(path.c);
    const NewtonResult newton = surrogate.newton_convex(inner, monitor);
    if (newton.factor_failed) return Status::kNumericalError;
    if (!newton.converged) return monitor.expired() ? Status::kTimeBudget : Status::kMaxIterations;
    path.lambda.assign(surrogate.lambda().begin(), surrogate.lambda().end());
    ++monitor.iterations;
    monitor.trace(path.lambda.data(), monitor.iterations);
    if (monitor.observe(path.lambda.data()) <= 1.0) return Status::kSolved;
    const double natural = monitor.last_natural(), before = path.natural;
    path.natural = natural;
    if (!(natural <= kSliding) || natural > kFall * before) return Status::kStalled;
    const double unit = natural_map_unit(island.q_norm * island.q_norm, island.reach2);
    if (surrogate.al_residual() < kOfPenalty * natural * unit) return Status::kStalled;
    if (natural < near || monitor.out_of_iterations()) return Status::kMaxIterations;
    if (monitor.expired()) return Status::kTimeBudget;
  }
  return Status::kMaxIterations;
}

}  // namespace

void StickPath::begin(const double* start, int rows, const StickPenalty& how) {
  lambda.assign(start, start + rows);
  penalty = how;
  c = 0.0;
  natural = kInfinity;
  outers = 0;
  status = Status::kMaxIterations;
}

Status solve_stick(const Island& island, double near, Monitor& monitor, Surrogate& surrogate, StickPath& path) {
  path.status = follow(island, near, monitor, surrogate, path);
  return path.status;
}

}  // namespace almond
