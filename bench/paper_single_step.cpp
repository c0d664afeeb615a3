// One step of a nut on its bolt and of a pile of dishes, solved by each method from a cold start: residual over time,
// time over iterations (Fig. 5 and 7).

#include <algorithm>
#include <cmath>

#include "almond/solver/certificate.hpp"
#include "almond/solver/solve.hpp"
#include "bench/paper.hpp"
#include "scenes/parts.hpp"

namespace almond::bench {
namespace {

constexpr double kTarget = 1e-8, kFloor = 1e-13;  // residuals [N s]: solved; end of the axis
constexpr int kGrid = 60;                         // points of a curve over time

/// One contender of the figures.
struct Method {
  const char* name;
  Settings settings;
  int traced_iterations;  // of the figure over iterations
};

std::vector<Method> make_methods(double budget_ms) {
  std::vector<Method> methods;
  const auto add = [&](const char* name, SolverKind kind, int iterations) {
    Method method{name, {}, iterations};
    method.settings.solver = kind;
    // Newton methods end by themselves; a limit would only count the breaks that the system takes.
    const bool newton = kind == SolverKind::kCanal || kind == SolverKind::kAuto;
    method.settings.budget_ms = newton ? 20.0 * budget_ms : budget_ms;
    methods.push_back(method);
  };
  add("canal", SolverKind::kCanal, 15);
  add("subadmm", SolverKind::kSubAdmm, 100);
  add("pgs", SolverKind::kPgs, 100);
  add("auto", SolverKind::kAuto, 0);
  add("subadmm, plain", SolverKind::kSubAdmm, 100);
  methods.back().settings.admm_relax = 1.0;
  methods.back().settings.admm_anderson = 0;
  return methods;
}

/// Everything about one method on all cases.
struct Outcome {
  std::vector<Run> runs;
  std::vector<std::vector<double>> time_at;  // [iteration][case], as far as a case went
  double per_iteration_us = kNaN;            // median over the cases
  std::vector<double> growth;                // (cases) time of the last third of iterations by that of the first
  int solved = 0;

  [[nodiscard]] std::vector<double> residuals() const {
    std::vector<double> values;
    for (const Run& run : runs) values.push_back(run.certificate.residual);
    return values;
  }
  /// Until the residual is 1e-8; infinite where it never is [ms].
  [[nodiscard]] std::vector<double> times_to_target() const {
    std::vector<double> values;
    for (const Run& run : runs) values.push_back(run.to_residual);
    return values;
  }
  [[nodiscard]] double half_done() const { return quantile(times_to_target(), 0.5); }
  [[nodiscard]] std::vector<double> times() const {
    std::vector<double> values;
    for (const Run& run : runs) values.push_back(run.time_ms);
    return values;
  }
};

void trace_iterations(const BenchProblem& problem, const Method& method, Outcome& outcome) {
  if (method.traced_iterations == 0) return;
  Settings settings = method.settings;
  settings.trace = true;
  settings.max_iterations = method.traced_iterations;
  settings.budget_ms = 0.0;
  settings.fixed_iterations = settings.solver != SolverKind::kCanal;
  Workspace workspace;
  Solution solution;
  std::vector<double> best;  // of several: time after each iteration
  for (int round = 0; round < 3; ++round) {
    workspace.forget();
    solution = Solution{};
    solve(problem.problem, settings, workspace, solution);
    std::vector<double> at;
    for (const TracePoint& point : solution.info.trace) {
      const auto k = static_cast<std::size_t>(point.iteration);
      if (at.size() <= k) at.resize(k + 1, kNaN);
      at[k] = point.time_ms;
    }
    if (best.empty() || (!at.empty() && at.back() < best.back())) best = at;
  }
  if (best.size() < 2) return;
  if (outcome.time_at.size() < best.size()) outcome.time_at.resize(best.size());
  for (std::size_t k = 0; k < best.size(); ++k)
    if (std::isfinite(best[k])) outcome.time_at[k].push_back(best[k]);
  const std::size_t last = best.size() - 1, third = std::max<std::size_t>(1, last / 3);
  if (last >= 3) outcome.growth.push_back((best[last] - best[last - third]) / std::max(best[third] - best[0], 1e-9));
}

Outcome run_method(const std::vector<BenchProblem>& cases, const Method& method, const BenchOptions& options) {
  Outcome outcome;
  std::vector<double> costs;
  for (const BenchProblem& problem : cases) {
    options.progress(problem.name + "  " + method.name);
    outcome.runs.push_back(run_solver(problem, method.settings, 3));
    outcome.runs.back().solver = method.name;
    outcome.solved += outcome.runs.back().certificate.residual <= kTarget ? 1 : 0;
    trace_iterations(problem, method, outcome);
  }
  for (std::size_t k = 1; k < outcome.time_at.size(); ++k)
    if (!outcome.time_at[k].empty() && !outcome.time_at[0].empty())
      costs.push_back(1e3 * (median(outcome.time_at[k]) - median(outcome.time_at[0])) / static_cast<double>(k));
  if (!costs.empty()) outcome.per_iteration_us = costs.back();
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

std::string colour_of(const std::string& name) { return name == "subadmm, plain" ? "#7fcf9f" : solver_colour(name); }

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

struct Comparison {
  std::vector<Method> methods;
  std::vector<Outcome> outcomes;

  [[nodiscard]] const Outcome& of(const std::string& name) const {
    for (std::size_t k = 0; k < methods.size(); ++k)
      if (name == methods[k].name) return outcomes[k];
    return outcomes.front();
  }
};

Comparison compare(const std::vector<BenchProblem>& cases, double budget_ms, const BenchOptions& options) {
  Comparison result;
  result.methods = make_methods(budget_ms);
  for (const Method& method : result.methods) result.outcomes.push_back(run_method(cases, method, options));
  return result;
}

void draw(const Comparison& result, const std::string& name, const std::string& what, double budget_ms,
          Report& report) {
  Plot time, iterations;
  time.title = what;
  time.subtitle = "median, 10 to 90 %";
  time.x.label = "time [ms], cold start";
  time.y.label = "residual [N s]";
  time.x.low = 0.01;
  time.x.high = budget_ms;
  time.rules = {kTarget};
  iterations.title = what;
  iterations.subtitle = "median, 10 to 90 %";
  iterations.x.label = "iteration";
  iterations.x.logarithmic = false;
  iterations.y.label = "time [ms]";
  iterations.y.logarithmic = false;
  iterations.y.low = 0.0;
  double highest = 0.0;
  for (std::size_t k = 0; k < result.methods.size(); ++k) {
    time.series.push_back(over_time(result.methods[k].name, result.outcomes[k], time.x.low, budget_ms));
    Series series = over_iterations(result.methods[k].name, result.outcomes[k]);
    for (const Point& p : series.points) highest = std::max(highest, p.y);
    if (series.points.size() > 1) iterations.series.push_back(std::move(series));
  }
  iterations.x.low = 0.0;
  iterations.x.high = 100.0;
  iterations.y.high = 1.05 * highest;
  add_plot(time, name + "_time", report);
  add_plot(iterations, name + "_iterations", report);
}

void tabulate(const Comparison& result, const std::string& name, const std::string& title, Report& report) {
  Table table{name,
              title,
              "Cold start, one thread. Solved: residual at most 1e-8 when the solver stopped, by tolerance or by the "
              "time limit. Iterations of CANAL are its outer ones. Cost: time per iteration without the preparation.",
              {"solver", "cases", "solved", "median residual", "worst residual", "ms to 1e-8", "median ms", "90 % ms",
               "iterations", "Newton steps", "cost us"},
              {}};
  for (std::size_t k = 0; k < result.methods.size(); ++k) {
    const Outcome& o = result.outcomes[k];
    std::vector<double> iterations, steps;
    for (const Run& run : o.runs) {
      iterations.push_back(run.iterations);
      steps.push_back(run.newton_steps);
    }
    const std::vector<double> residuals = o.residuals();
    const auto cases = static_cast<double>(o.runs.size());
    table.rows.push_back(
        {text_cell(result.methods[k].name), count_cell(cases),
         count_cell(o.solved, o.solved == static_cast<int>(o.runs.size()) ? Tone::kGood : Tone::kPlain),
         residual_cell(median(residuals)), residual_cell(*std::max_element(residuals.begin(), residuals.end())),
         time_cell(o.half_done()), time_cell(median(o.times())), time_cell(quantile(o.times(), 0.9)),
         count_cell(median(iterations)), count_cell(median(steps)),
         std::isfinite(o.per_iteration_us) ? time_cell(o.per_iteration_us) : text_cell("-")});
  }
  report.tables.push_back(std::move(table));
}

std::string solved_text(const Outcome& outcome) {
  const std::vector<double> residuals = outcome.residuals();
  return std::to_string(outcome.solved) + " of " + std::to_string(residuals.size()) + " cases, median " +
         residual_cell(median(residuals)).text;
}

/// Median residual of a method at a time.
double residual_when(const Outcome& outcome, double time_ms) {
  std::vector<double> values;
  for (const Run& run : outcome.runs) values.push_back(residual_at(run, time_ms));
  return quantile(values, 0.5);
}

std::string residual_text(const Outcome& outcome, double time_ms) {
  return residual_cell(residual_when(outcome, time_ms)).text + " at " + time_cell(time_ms).text +
         " ms, when CANAL is at 1e-8";
}

/// Claims that the paper makes of both scenes.
void claim_costs(const Comparison& result, Report& report) {
  const double canal = result.of("canal").per_iteration_us, subadmm = result.of("subadmm, plain").per_iteration_us,
               pgs = result.of("pgs").per_iteration_us;
  report.add_claim("cost per iteration", "SubADMM < PGS < CANAL",
                   "SubADMM " + time_cell(subadmm).text + " us, PGS " + time_cell(pgs).text + " us, CANAL " +
                       time_cell(canal).text + " us",
                   subadmm < pgs && pgs < canal);
  const std::vector<double>& growth = result.of("canal").growth;
  report.add_claim("CANAL's cost per iteration falls as it goes on", "later iterations cost less than the first",
                   growth.empty() ? "not measured: too few iterations"
                                  : "last third of the iterations / first third: " + ratio_cell(median(growth)).text,
                   !growth.empty() && median(growth) < 1.0);
}

std::vector<double> iterations_of(const Outcome& outcome) {
  std::vector<double> values;
  for (const Run& run : outcome.runs) values.push_back(run.iterations);
  return values;
}

}  // namespace

Report run_bolt_nut(const BenchOptions& options) {
  Report report;
  report.name = "bolt_nut";
  report.title = "Bolt and nut, one step (Sec. VII-A, Fig. 5)";
  report.lead =
      "An M48 nut of steel, friction 0.2, pressed into the thread of its bolt by a random force of up to 100 N and a "
      "torque of up to 5 N m at ten places, then pushed by ten other random wrenches at each: 100 contact problems of "
      "6 "
      "degrees of freedom and up to 120 contacts. The bolt is a neural signed distance function, the nut's triangles "
      "are matched with it by Frank-Wolfe, and clouds of more than 120 points are reduced. The same again on the exact "
      "function of the thread, as a check.";
  const double budget_ms = 50.0;
  const int places = options.quick ? 2 : 10, pushes = options.quick ? 5 : 10;
  for (const bool neural : {true, false}) {
    const std::vector<BenchProblem> cases = make_nut_cases(neural, places, pushes, options);
    save_cases(cases, options);
    const Comparison result = compare(cases, budget_ms, options);
    const std::string key = neural ? "nut" : "nut_analytic",
                      what = neural ? "Nut on the neural bolt" : "Nut on the analytic bolt";
    draw(result, key, what, budget_ms, report);
    tabulate(result, key, what, report);
    if (!neural) {
      const Outcome& canal = result.of("canal");
      report.add_claim("the same holds on the analytic thread: CANAL reaches 1e-8", "all cases", solved_text(canal),
                       canal.solved == static_cast<int>(canal.runs.size()));
      continue;
    }
    const Outcome &canal = result.of("canal"), &plain = result.of("subadmm, plain"), &pgs = result.of("pgs"),
                  &best = result.of("auto");
    const auto all = static_cast<int>(canal.runs.size());
    report.add_claim("CANAL reaches 1e-8", "residuals of 1e-8 or less", solved_text(canal), canal.solved == all);
    report.add_claim("SubADMM reaches 1e-8", "residuals of 1e-8 or less",
                     solved_text(plain) + ", " + time_cell(median(plain.times())).text + " ms", plain.solved == all);
    report.add_claim("PGS struggles past 1e-4 in that time", "near 1e-4, far above the others",
                     residual_text(pgs, canal.half_done()) + "; in the end " + solved_text(pgs),
                     residual_when(pgs, canal.half_done()) > 1e-6);
    report.add_claim("CANAL is done in about 10 iterations", "about 10 outer iterations",
                     "median " + count_cell(median(iterations_of(canal))).text + ", 90 % " +
                         count_cell(quantile(iterations_of(canal), 0.9)).text,
                     median(iterations_of(canal)) <= 15.0);
    claim_costs(result, report);
    report.add_claim("beyond the paper: every case at 1e-8 from a cold start, median below 1 ms", "all, 1 ms (auto)",
                     solved_text(best) + ", " + time_cell(median(best.times())).text + " ms",
                     best.solved == all && median(best.times()) < 1.0);
  }
  report.notes.push_back(
      "first-order methods need thousands of iterations to 1e-8; relaxation and acceleration, which help SubADMM on "
      "piles "
      "and robots, do not help on a nut, where the plain iteration of the paper is as good");
  if (options.pictures) {
    Simulation nut(scenes::make_nut_model("M48", 0.2));
    for (int k = 0; k < 10; ++k) static_cast<void>(nut.step());
    add_picture(nut, "M48 nut on its bolt, and its contacts", {0.16, -0.2, 0.2, 0.0, 0.0, 0.085}, true, options,
                report);
  }
  return report;
}

namespace {

void compare_dishes(const DishCases& cases, const BenchOptions& options, Report& report) {
  const double budget_ms = 100.0;
  const bool gentle = cases.per_weight <= kGentle;
  const std::string key = gentle ? "dish" : "dish_rough",
                    what = gentle ? "Pile of dishes" : "Pile of dishes, rough wrenches";
  const Comparison result = compare(cases.feasible, budget_ms, options);
  draw(result, key, what, budget_ms, report);
  tabulate(result, key, what, report);
  const Outcome &canal = result.of("canal"), &plain = result.of("subadmm, plain"), &pgs = result.of("pgs"),
                &best = result.of("auto");
  const auto all = static_cast<int>(canal.runs.size());
  if (!gentle) {
    report.add_claim("beyond the paper: wrenches of three times the weight, every case at 1e-8 from a cold start",
                     "all (auto)", solved_text(best) + ", " + time_cell(median(best.times())).text + " ms",
                     best.solved == all);
    return;
  }
  report.add_claim("CANAL reaches residuals under 1e-8", "under 1e-8", solved_text(canal), canal.solved == all);
  report.add_claim("SubADMM struggles to get under 1e-6", "about 1e-6 when CANAL is done",
                   residual_text(plain, canal.half_done()) + "; in the end " + solved_text(plain),
                   residual_when(plain, canal.half_done()) > 1e-8);
  report.add_claim("PGS is worse than both", "worse than SubADMM and CANAL",
                   residual_text(pgs, canal.half_done()) + "; in the end " + solved_text(pgs),
                   residual_when(pgs, canal.half_done()) > residual_when(plain, canal.half_done()));
  claim_costs(result, report);
  report.add_claim("beyond the paper: every case at 1e-8 from a cold start", "all (auto)",
                   solved_text(best) + ", " + time_cell(median(best.times())).text + " ms", best.solved == all);
}

}  // namespace

Report run_dishes(const std::vector<DishCases>& cases, const BenchOptions& options) {
  Report report;
  report.name = "dishes";
  report.title = "Pile of dishes, one step (Sec. VII-B, Fig. 7)";
  report.lead =
      "Two bowls and a plate of 0.1 kg each under a pot of 5 kg, friction 0.5, at rest with 120 contacts in each of "
      "four "
      "pairs; then a random wrench on each dish at a lever of 5 cm. The paper does not say how large its wrenches are: "
      "with forces up to a tenth of a dish's weight CANAL takes the steps and reaches the residual of its Table II, so "
      "these are the "
      "cases here; those of up to three times the weight are harder. A case without an answer, with dishes wedged and "
      "pushed at once, is recognised and counted apart.";
  Table jammed{
      "dish_jams", "Dish cases without an answer", "Recognised by auto within a second.", {"case", "status", "ms"}, {}};
  for (const DishCases& set : cases) {
    const std::size_t all = set.feasible.size() + set.jammed.rows.size();
    report.notes.push_back("wrenches up to " + time_cell(set.per_weight).text +
                           " of the weight: " + std::to_string(set.jammed.rows.size()) + " of " + std::to_string(all) +
                           " cases have no answer and are left out of the curves");
    jammed.rows.insert(jammed.rows.end(), set.jammed.rows.begin(), set.jammed.rows.end());
    if (set.feasible.empty() || set.per_weight == kModerate) continue;
    compare_dishes(set, options, report);
  }
  if (!jammed.rows.empty()) report.tables.push_back(std::move(jammed));
  if (options.pictures) {
    Simulation pile(scenes::make_pile_model(5.0, 0.5));
    for (int k = 0; k < 240; ++k) static_cast<void>(pile.step());
    add_picture(pile, "Bowl, bowl, plate and pot at rest, and their contacts", {0.3, -0.36, 0.24, 0.0, 0.0, 0.06}, true,
                options, report);
  }
  return report;
}

}  // namespace almond::bench
