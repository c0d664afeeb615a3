#include "almond/solver/first_order.hpp"

#include <algorithm>
#include <cmath>

namespace almond {
namespace {

constexpr int kStepsPerNewton = 200;

double dot(const std::vector<double>& x, const std::vector<double>& y) {
  double sum = 0.0;
  for (std::size_t i = 0; i < x.size(); ++i) sum += x[i] * y[i];
  return sum;
}

/// Polak-Ribière+ with the exact line search of the Newton method.
NewtonResult conjugate_gradient(const NewtonOptions& options, Monitor& monitor, Surrogate& surrogate) {
  NewtonResult result;
  std::vector<double> previous;
  double r_norm = surrogate.evaluate(false), rr_previous = 0.0;
  std::vector<double>& d = surrogate.direction();
  for (int step = 0; step < kStepsPerNewton * options.max_steps; ++step) {
    if (r_norm <= std::max(options.tolerance, surrogate.rounding_floor())) {
      result.converged = true;
      break;
    }
    if (step % 16 == 0 && monitor.expired()) break;
    const std::vector<double>& r = surrogate.r();
    const double rr = dot(r, r);
    const double gamma = previous.empty() ? 0.0 : std::max(0.0, (rr - dot(r, previous)) / rr_previous);
    double slope = 0.0;
    for (std::size_t i = 0; i < d.size(); ++i) {
      d[i] = -r[i] + gamma * d[i];
      slope += d[i] * r[i];
    }
    if (slope >= 0.0) {
      for (std::size_t i = 0; i < d.size(); ++i) d[i] = -r[i];
    }
    previous = r;
    rr_previous = rr;
    surrogate.compute_direction_products();
    surrogate.move(surrogate.line_search());
    if (step % 32 == 31) surrogate.refresh();
    r_norm = surrogate.evaluate(false);
    ++result.steps;
  }
  result.r_norm = r_norm;
  return result;
}

/// Nesterov with adaptive restart; the step length 1/L is found by backtracking on L.
NewtonResult accelerated_gradient(const NewtonOptions& options, Monitor& monitor, Surrogate& surrogate) {
  NewtonResult result;
  std::vector<double> x = surrogate.velocity(), x_next = x, y = x;
  double momentum = 1.0, r_norm = surrogate.evaluate(false);
  for (int step = 0; step < kStepsPerNewton * options.max_steps; ++step) {
    if (r_norm <= std::max(options.tolerance, surrogate.rounding_floor())) {
      result.converged = true;
      break;
    }
    if (step % 16 == 0 && monitor.expired()) break;
    // At y: gradient step of exact length along -r.
    std::vector<double>& d = surrogate.direction();
    const std::vector<double>& r = surrogate.r();
    for (std::size_t i = 0; i < d.size(); ++i) d[i] = -r[i];
    surrogate.compute_direction_products();
    const double alpha = surrogate.line_search();
    double uphill = 0.0;
    for (std::size_t i = 0; i < x.size(); ++i) {
      x_next[i] = y[i] + alpha * d[i];
      uphill -= d[i] * (x_next[i] - x[i]);
    }
    if (uphill > 0.0) momentum = 1.0;  // gradient against the motion: restart
    const double next = 0.5 * (1.0 + std::sqrt(1.0 + 4.0 * momentum * momentum));
    for (std::size_t i = 0; i < x.size(); ++i) {
      y[i] = x_next[i] + (momentum - 1.0) / next * (x_next[i] - x[i]);
      x[i] = x_next[i];
    }
    momentum = next;
    surrogate.set_velocity(y.data());
    r_norm = surrogate.evaluate(false);
    ++result.steps;
  }
  result.r_norm = r_norm;
  return result;
}

}  // namespace

NewtonResult minimize_first_order(InnerSolver method, const NewtonOptions& options, Monitor& monitor,
                                  Surrogate& surrogate) {
  NewtonResult result = method == InnerSolver::kConjugateGradient ? conjugate_gradient(options, monitor, surrogate)
                                                                  : accelerated_gradient(options, monitor, surrogate);
  monitor.newton_steps += result.steps;
  return result;
}

}  // namespace almond
