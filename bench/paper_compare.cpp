#include "bench/paper_compare.hpp"

#include <algorithm>
#include <cmath>

#include "almond/solver/certificate.hpp"
#include "almond/solver/solve.hpp"
#include "bench/delassus_pgs.hpp"

namespace almond::bench {
namespace {

constexpr double kFloor = 1e-13;  // end of the axis [N s]
constexpr int kGrid = 60;         // points of a curve over time

/// Time and residual after each iteration of one case, 0: before the first.
struct Course {
  std::vector<double> times, residuals;
};

Course follow(const std::vector<TracePoint>& trace) {
  Course course;
  for (const TracePoint& point : trace) {
    const auto k = static_cast<std::size_t>(point.iteration);
    if (course.times.size() <= k) {
      course.times.resize(k + 1, kNaN);
      course.residuals.resize(k + 1, kNaN);
    }
    course.times[k] = point.time_ms;
    course.residuals[k] = point.residual;
  }
  return course;
}

/// How many decades an iteration gains in the end, by how many at first.
double acceleration_of(const std::vector<double>& residuals) {
  std::size_t end = 0;
  while (end < residuals.size() && residuals[end] > kSolved) ++end;
  if (end < 6 || end >= residuals.size()) return kNaN;
  const auto decades = [&](std::size_t from, std::size_t to) { return std::log10(residuals[from] / residuals[to]); };
  return decades(end - 3, end) / std::max(decades(0, 3), 1e-3);
}

void add_course(const Course& best, Outcome& outcome) {
  if (best.times.size() < 2) return;
  if (outcome.time_at.size() < best.times.size()) outcome.time_at.resize(best.times.size());
  for (std::size_t k = 0; k < best.times.size(); ++k)
    if (std::isfinite(best.times[k])) outcome.time_at[k].push_back(best.times[k]);
  outcome.cost_us.push_back(1e3 * (best.times.back() - best.times.front()) /
                            static_cast<double>(best.times.size() - 1));
  const double late = late_by_early(best.times), gain = acceleration_of(best.residuals);
  if (std::isfinite(late)) outcome.late_cost.push_back(late);
  if (std::isfinite(gain)) outcome.acceleration.push_back(gain);
}

void trace_iterations(const BenchProblem& problem, const Method& method, Outcome& outcome) {
  if (method.traced_iterations == 0) return;
  Settings settings = method.settings;
  settings.trace = true;
  settings.max_iterations = method.traced_iterations;
  settings.budget_ms = 0.0;
  settings.fixed_iterations = settings.solver != SolverKind::kCanal;
  Workspace workspace;
  Solution solution;
  Course best;  // of several: the quickest
  for (int round = 0; round < 3; ++round) {
    workspace.forget();
    solution = Solution{};
    solve(problem.problem, settings, workspace, solution);
    Course course = follow(solution.info.trace);
    if (best.times.empty() || course.times.back() < best.times.back()) best = std::move(course);
  }
  if (settings.fixed_iterations)
    outcome.residual_fixed.push_back(make_certificate(problem.problem, solution.v, solution.lambda).residual);
  add_course(best, outcome);
}

void run_on_delassus(const BenchProblem& problem, const Method& method, Outcome& outcome) {
  outcome.runs.push_back(run_delassus_pgs(problem, method.settings.tol, method.settings.budget_ms));
  Course course;
  course.times = time_delassus_pgs(problem.problem, method.traced_iterations, 3);
  add_course(course, outcome);
  double fixed = kInfinity;  // after as many sweeps
  for (const TracePoint& point : outcome.runs.back().curve)
    if (point.iteration <= method.traced_iterations) fixed = point.residual;
  outcome.residual_fixed.push_back(fixed);
}

double first_iteration_below(const Run& run, double target) {
  for (const TracePoint& point : run.curve)
    if (point.residual <= target) return point.iteration;
  return kInfinity;
}

Outcome run_method(const std::vector<BenchProblem>& cases, const Method& method, const BenchOptions& options) {
  Outcome outcome;
  for (const BenchProblem& problem : cases) {
    options.progress(problem.name + "  " + method.name);
    if (method.on_delassus) {
      run_on_delassus(problem, method, outcome);
    } else {
      outcome.runs.push_back(run_solver(problem, method.settings, 3));
      trace_iterations(problem, method, outcome);
    }
    outcome.runs.back().solver = method.name;
    outcome.iterations_to_1e8.push_back(first_iteration_below(outcome.runs.back(), kSolved));
  }
  return outcome;
}

double residual_at(const Run& run, double time_ms) {
  double residual = kInfinity;
  for (const TracePoint& point : run.curve) {
    if (point.time_ms > time_ms) break;
    residual = point.residual;
  }
  return residual;
}

std::string colour_of(const std::string& name) {
  if (name == "subadmm, plain") return "#7fcf9f";
  if (name == "canal, plain") return "#7db4dd";
  if (name == "pgs on W") return "#e8a09a";
  return solver_colour(name);
}

/// Median over the cases with the band from 10 to 90 %.
Series over_time(const std::string& name, const Outcome& outcome, double from_ms, double to_ms) {
  Series series;
  series.name = name;
  series.colour = colour_of(name);
  series.steps = false;
  for (int k = 0; k <= kGrid; ++k) {
    const double t = from_ms * std::pow(to_ms / from_ms, static_cast<double>(k) / kGrid);
    std::vector<double> values;
    for (const Run& run : outcome.runs) values.push_back(std::max(residual_at(run, t), kFloor));
    const double low = quantile(values, 0.1), middle = quantile(values, 0.5), high = quantile(values, 0.9);
    if (!std::isfinite(middle)) continue;
    series.points.push_back({t, middle});
    series.low.push_back({t, low});
    series.high.push_back({t, std::isfinite(high) ? high : middle});
  }
  return series;
}

Series over_iterations(const std::string& name, const Outcome& outcome) {
  Series series;
  series.name = name;
  series.colour = colour_of(name);
  series.steps = false;
  series.markers = outcome.time_at.size() < 30;
  for (std::size_t k = 0; k < outcome.time_at.size(); ++k) {
    const std::vector<double>& at = outcome.time_at[k];
    if (2 * at.size() < outcome.runs.size()) continue;  // of half of the cases at least
    const double i = static_cast<double>(k);
    series.points.push_back({i, median(at)});
    series.low.push_back({i, quantile(at, 0.1)});
    series.high.push_back({i, quantile(at, 0.9)});
  }
  return series;
}

}  // namespace

std::vector<Method> make_methods(double budget_ms) {
  std::vector<Method> methods;
  const auto add = [&](const char* name, SolverKind kind, int iterations, bool plain = false) {
    Method method{name, {}, iterations};
    method.settings.solver = kind;
    if (plain) method.settings = make_plain(kind);
    // Newton methods end by themselves; a limit would only count the breaks that the system takes.
    const bool newton = kind == SolverKind::kCanal || kind == SolverKind::kAuto;
    method.settings.budget_ms = newton ? 20.0 * budget_ms : budget_ms;
    methods.push_back(method);
  };
  add("canal, plain", SolverKind::kCanal, 20, true);
  add("subadmm, plain", SolverKind::kSubAdmm, kFixed, true);
  add("pgs on W", SolverKind::kPgs, kFixed);
  methods.back().on_delassus = true;
  add("pgs", SolverKind::kPgs, kFixed);
  add("canal", SolverKind::kCanal, 20);
  add("subadmm", SolverKind::kSubAdmm, kFixed);
  add("auto", SolverKind::kAuto, 0);
  return methods;
}

int Outcome::solved() const {
  return static_cast<int>(
      std::count_if(runs.begin(), runs.end(), [](const Run& run) { return run.certificate.residual <= kSolved; }));
}

std::vector<double> Outcome::residuals() const {
  std::vector<double> values;
  for (const Run& run : runs) values.push_back(run.certificate.residual);
  return values;
}

std::vector<double> Outcome::times() const {
  std::vector<double> values;
  for (const Run& run : runs) values.push_back(run.time_ms);
  return values;
}

std::vector<double> Outcome::times_to_1e8() const {
  std::vector<double> values;
  for (const Run& run : runs) values.push_back(run.to_residual);
  return values;
}

double Outcome::residual_at(double time_ms) const {
  std::vector<double> values;
  for (const Run& run : runs) values.push_back(bench::residual_at(run, time_ms));
  return quantile(values, 0.5);
}

double Outcome::preparation_us() const { return time_at.empty() ? kNaN : 1e3 * median(time_at[0]); }

const Outcome& Comparison::of(const std::string& name) const {
  for (std::size_t k = 0; k < methods.size(); ++k)
    if (name == methods[k].name) return outcomes[k];
  return outcomes.front();
}

Comparison compare(const std::vector<BenchProblem>& cases, double budget_ms, const BenchOptions& options) {
  Comparison result;
  result.methods = make_methods(budget_ms);
  for (const Method& method : result.methods) result.outcomes.push_back(run_method(cases, method, options));
  return result;
}

void draw(const Comparison& result, const std::string& name, const std::string& what, double budget_ms,
          Report& report) {
  Plot time, iterations;
  time.title = what + ": residual over time";
  time.x.label = "time [ms], cold start";
  time.y.label = "residual [N s]";
  time.x.low = 0.01;
  time.x.high = budget_ms;
  time.rules = {kSolved};
  iterations.title = what + ": time over iterations";
  iterations.x = {"iteration", false, 0.0, 100.0};
  iterations.y = {"time [ms]", false, 0.0, 0.0};
  for (std::size_t k = 0; k < result.methods.size(); ++k) {
    time.series.push_back(over_time(result.methods[k].name, result.outcomes[k], time.x.low, budget_ms));
    Series series = over_iterations(result.methods[k].name, result.outcomes[k]);
    for (const Point& p : series.points) iterations.y.high = std::max(iterations.y.high, 1.05 * p.y);
    if (series.points.size() > 1) iterations.series.push_back(std::move(series));
  }
  add_plot(time, name + "_time", report);
  add_plot(iterations, name + "_iterations", report);
}

void tabulate(const Comparison& result, const std::string& name, const std::string& title, double budget_ms,
              Report& report) {
  Table table{
      name,
      title,
      "Cold start, one thread, at most " + count_cell(budget_ms).text +
          " ms (Newton methods: twenty times as long). Solved: residual at most 1e-8 when the solver stopped, by "
          "its tolerance, which is stricter, or by the limit. To 1e-8: medians over the cases. Cost: time per "
          "iteration without "
          "the preparation. After 100: median residual after 100 iterations.",
      {"solver", "cases", "solved", "median residual", "worst residual", "ms to 1e-8", "iterations to 1e-8", "ms",
       "90 % ms", "Newton steps", "preparation us", "cost us", "after 100"},
      {}};
  const auto optional = [](Cell cell) { return std::isfinite(cell.value) ? cell : text_cell("-", Tone::kQuiet); };
  for (std::size_t k = 0; k < result.methods.size(); ++k) {
    const Outcome& o = result.outcomes[k];
    std::vector<double> steps;
    for (const Run& run : o.runs) steps.push_back(run.newton_steps);
    const std::vector<double> residuals = o.residuals();
    table.rows.push_back(
        {text_cell(result.methods[k].name), count_cell(static_cast<double>(o.runs.size())),
         count_cell(o.solved(), o.all_solved() ? Tone::kGood : Tone::kPlain), residual_cell(median(residuals)),
         residual_cell(*std::max_element(residuals.begin(), residuals.end())),
         optional(time_cell(quantile(o.times_to_1e8(), 0.5))), optional(time_cell(quantile(o.iterations_to_1e8, 0.5))),
         time_cell(median(o.times())), time_cell(quantile(o.times(), 0.9)), count_cell(median(steps)),
         optional(time_cell(o.preparation_us())), optional(time_cell(median(o.cost_us))),
         optional(residual_cell(median(o.residual_fixed)))});
  }
  report.tables.push_back(std::move(table));
}

}  // namespace almond::bench
