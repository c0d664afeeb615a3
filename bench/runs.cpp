#include "bench/runs.hpp"

#include <Eigen/Cholesky>
#include <algorithm>
#include <cmath>

#include "almond/base/timer.hpp"
#include "almond/solver/certificate.hpp"
#include "almond/solver/solve.hpp"

namespace almond::bench {
namespace {

constexpr double kShortMs = 20.0;  // shorter solves are repeated more often
constexpr int kMostRepeats = 100;
constexpr double kRepeatAllowanceMs = 500.0;  // untraced repeats stop when they have taken this long
constexpr double kLeastTimeMs = 1e-4;         // for logarithmic axes
constexpr double kFloor = 1e-12;              // natural map below which a curve ends: rounding

/// Whether a point says more than the one kept before it: a visible gain, a visible time later, or a target crossed
/// (`before`: the best natural map until then). A trace of every sweep would fill megabytes.
bool is_news(const TracePoint& point, const TracePoint& kept, double before) {
  const bool crossed = std::any_of(kNaturalTargets.begin(), kNaturalTargets.end(),
                                   [&](double target) { return point.natural_map <= target && before > target; });
  return crossed || point.natural_map < 0.98 * kept.natural_map || point.residual < 0.98 * kept.residual ||
         point.time_ms > 1.1 * kept.time_ms;
}

}  // namespace

bool Run::solved_within(double ms) const {
  if (peer) return to_natural[2] <= ms && to_residual <= ms;
  return certificate.finite && certificate.residual <= kResidualTarget &&
         certificate.natural_map <= kNaturalTargets[2] && time_ms <= ms;
}

bool Run::natural_within(double target, double ms) const { return time_to_natural(curve, target) <= ms; }

Run run_solver(const BenchProblem& problem, const Settings& settings, int repeats) {
  Run run;
  run.problem = problem.name;
  run.solver = to_string(settings.solver);
  run.contacts = problem.problem.num_contacts();
  run.dofs = problem.problem.num_dofs();

  Settings traced_settings = settings;
  traced_settings.trace = true;
  Workspace workspace;
  Solution traced;
  solve(problem.problem, traced_settings, workspace, traced);

  Settings plain_settings = settings;
  plain_settings.trace = false;
  Solution solution;
  std::vector<double> times;
  double total = 0.0;
  const auto enough = [&] {
    const auto count = static_cast<int>(times.size());
    return count > 0 &&
           (total >= kRepeatAllowanceMs || (count >= repeats && (total >= kShortMs || count >= kMostRepeats)));
  };
  while (!enough()) {
    workspace.forget();
    solution = Solution{};
    run.status = solve(problem.problem, plain_settings, workspace, solution);
    times.push_back(solution.info.time_ms);
    total += times.back();
  }
  run.time_ms = median(times);
  run.iterations = solution.info.iterations;
  run.newton_steps = solution.info.newton_steps;
  run.certificate = make_certificate(problem.problem, solution.v, solution.lambda);

  // Tracing disturbs the caches between iterations. Where both solves did the same work, the plain one sets the clock.
  std::vector<TracePoint> points = traced.info.trace;
  const bool same_work = traced.info.iterations == run.iterations && traced.info.newton_steps == run.newton_steps &&
                         traced.status == run.status && traced.info.time_ms > 0.0;
  const double scale = same_work ? run.time_ms / traced.info.time_ms : 1.0;
  for (TracePoint& point : points) point.time_ms *= scale;
  points.push_back({run.time_ms, run.iterations, run.certificate.natural_map, run.certificate.residual});
  finish_curve(std::move(points), run);
  return run;
}

void finish_curve(std::vector<TracePoint> points, Run& run) {
  std::stable_sort(points.begin(), points.end(),
                   [](const TracePoint& a, const TracePoint& b) { return a.time_ms < b.time_ms; });
  run.curve.clear();
  double best_natural = kInfinity, best_residual = kInfinity;
  TracePoint latest{};
  bool pending = false;
  for (TracePoint point : points) {
    if (!std::isfinite(point.natural_map) || !std::isfinite(point.residual)) continue;
    const double before = best_natural;
    best_natural = std::min(best_natural, point.natural_map);
    best_residual = std::min(best_residual, point.residual);
    point.natural_map = best_natural;
    point.residual = best_residual;
    if (run.to_residual == kNever && best_residual <= kResidualTarget) run.to_residual = point.time_ms;
    latest = point;
    pending = !run.curve.empty() && !is_news(point, run.curve.back(), before);
    if (!pending) run.curve.push_back(point);
  }
  if (pending) run.curve.push_back(latest);
  for (std::size_t k = 0; k < kNaturalTargets.size(); ++k) {
    run.to_natural[k] = time_to_natural(run.curve, kNaturalTargets[k]);
  }
}

double time_to_natural(const std::vector<TracePoint>& curve, double target) {
  for (const TracePoint& point : curve) {
    if (point.natural_map <= target) return point.time_ms;
  }
  return kNever;
}

Series natural_series(const Run& run) {
  Series series;
  series.name = run.solver;
  series.dashed = run.peer;
  for (const TracePoint& point : run.curve) {
    series.points.push_back({std::max(point.time_ms, kLeastTimeMs), std::max(point.natural_map, kFloor)});
    if (point.natural_map <= kFloor) break;
  }
  return series;
}

double median(std::vector<double> values) {
  if (values.empty()) return kNaN;
  std::sort(values.begin(), values.end());
  const std::size_t half = values.size() / 2;
  return values.size() % 2 == 1 ? values[half] : 0.5 * (values[half - 1] + values[half]);
}

double geometric_mean(const std::vector<double>& values) {
  if (values.empty()) return kNaN;
  double sum = 0.0;
  for (const double value : values) sum += std::log(value);
  return std::exp(sum / static_cast<double>(values.size()));
}

double time_cholesky_300() {
  constexpr int kSize = 300, kRepeats = 100;
  // Any well-conditioned symmetric matrix does: the work does not depend on the values.
  MatX A(kSize, kSize);
  for (int i = 0; i < kSize; ++i) {
    for (int j = 0; j < kSize; ++j) A(i, j) = (i == j ? 2.0 * kSize : 0.0) + std::cos(0.7 * (i + j) + 0.01 * i * j);
  }
  A = (0.5 * (A + A.transpose())).eval();
  Eigen::LLT<MatX> factor(kSize);
  std::vector<double> times;
  for (int k = 0; k < kRepeats; ++k) {
    const Stopwatch watch;
    factor.compute(A);
    times.push_back(watch.elapsed_ms());
  }
  return median(times);
}

}  // namespace almond::bench
