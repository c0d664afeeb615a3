// Whether a solve ends when its time is up: scenes that need more, with little time, by every solver.

#include <sys/resource.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdio>

#include "bench/benches.hpp"
#include "bench/paper.hpp"
#include "scenes/scene.hpp"

namespace almond::bench {
namespace {

constexpr double kAllowed = 1.2;  // times the budget, at the 99.9th percentile
constexpr double kNoTime = 1e-3;  // [ms]: a budget that is over before anything has begun

struct CutScene {
  std::string name, scene;
  std::vector<std::pair<std::string, double>> parameters;
};

std::vector<CutScene> cut_scenes() {
  return {{"dish pile", "pile", {}},
          {"200 balls", "spheres", {{"count", 200.0}}},
          {"27 quadrupeds", "quadrupeds", {{"robots", 27.0}}},
          {"tower, 1e4", "tower", {{"cubes", 10.0}, {"top", 1000.0}}}};
}

/// How often this thread had to make room for others so far; a step in which it had to is no measurement of ours.
long evictions() {
  rusage usage{};
  getrusage(RUSAGE_THREAD, &usage);
  return usage.ru_nivcsw;
}

struct Overrun {
  std::vector<double> ratios;  // solve time / budget, of undisturbed steps
  int steps = 0, cut = 0, solved = 0, disturbed = 0;

  [[nodiscard]] double solved_pct() const { return steps == 0 ? kNaN : 100.0 * solved / steps; }
  [[nodiscard]] double at(double share) const { return ratios.empty() ? kNaN : quantile(ratios, share); }
};

/// Of no steps where somebody interrupts.
Overrun measure(const CutScene& cut, SolverKind solver, double budget_ms, int steps, const BenchOptions& options) {
  if (options.stopped()) return {};  // to build a scene takes a while
  scenes::Scene scene = scenes::make_scene(cut.scene, cut.parameters);
  scene.options.solver.solver = solver;
  scene.options.solver.budget_ms = budget_ms;
  Simulation sim(std::move(scene.model), scene.options);
  Overrun overrun;
  for (int i = 0; i < steps; ++i) {
    if (options.stopped()) return {};
    if (scene.control) scene.control(sim);
    const long before = evictions();
    const StepReport report = sim.step();
    const bool disturbed = evictions() != before;
    ++overrun.steps;
    overrun.cut += report.status == Status::kTimeBudget ? 1 : 0;
    overrun.solved += report.status == Status::kSolved ? 1 : 0;
    overrun.disturbed += disturbed ? 1 : 0;
    if (i > 0 && !disturbed) overrun.ratios.push_back(report.solve_ms / budget_ms);  // the first one takes memory
  }
  return overrun;
}

/// What the solves of a step take when they have no time at all [ms]: to read the problem, and to leave velocities that
/// can be gone on with. No budget below it can be kept.
double least_time(const CutScene& scene, SolverKind solver, int steps, const BenchOptions& options) {
  const Overrun overrun = measure(scene, solver, kNoTime, steps, options);
  return overrun.ratios.empty() ? kInfinity : kNoTime * quantile(overrun.ratios, 0.999);
}

/// With less, nothing can be done in the time but to keep it.
bool is_judged(double budget_ms, double least_ms) { return budget_ms >= 2.0 * least_ms; }

std::vector<Cell> make_row(const std::string& scene, SolverKind solver, double budget_ms, double least_ms,
                           const Overrun& overrun) {
  const double tail = overrun.at(0.999);
  const bool judged = is_judged(budget_ms, least_ms);
  char budget[32], least[32], solved[32] = "-";
  if (overrun.steps > 0) std::snprintf(solved, sizeof solved, "%.1f", overrun.solved_pct());
  std::snprintf(budget, sizeof budget, "%g", budget_ms);
  std::snprintf(least, sizeof least, "%.2g", least_ms);
  return {text_cell(scene),
          text_cell(to_string(solver)),
          {budget, budget_ms, Tone::kPlain},
          {least, least_ms, Tone::kPlain},
          count_cell(overrun.steps),
          count_cell(overrun.cut),
          {solved, overrun.solved_pct(), Tone::kPlain},
          count_cell(overrun.disturbed),
          ratio_cell(overrun.at(0.5)),
          ratio_cell(overrun.at(0.99)),
          ratio_cell(tail, !judged            ? Tone::kPlain
                           : tail <= kAllowed ? Tone::kGood
                                              : Tone::kBad),
          ratio_cell(overrun.at(1.0))};
}

constexpr std::array<double, 7> kBudgets = {0.25, 0.5, 1.0, 2.0, 4.0, 8.0, 16.0};  // [ms]

/// One scene by one solver, with every budget.
struct SceneRun {
  std::string name;
  double least_ms = kNaN;
  std::vector<Overrun> overruns;  // by budget; fewer where somebody interrupts
};

SceneRun run_scene(const CutScene& scene, SolverKind solver, int steps, const BenchOptions& options) {
  SceneRun run{scene.name, kNaN, {}};
  options.progress(scene.name + ", " + to_string(solver) + ", without time");
  run.least_ms = least_time(scene, solver, steps / 2, options);
  char text[80];
  std::snprintf(text, sizeof text, ": least %.2g ms; overrun (99.9 %%) and steps solved", run.least_ms);
  std::string line = scene.name + ", " + to_string(solver) + text;
  for (const double budget_ms : kBudgets) {
    std::snprintf(text, sizeof text, "%g ms", budget_ms);
    options.progress(scene.name + ", " + to_string(solver) + ", " + text);
    Overrun overrun = measure(scene, solver, budget_ms, steps, options);
    if (overrun.steps == 0) break;
    std::snprintf(text, sizeof text, "%s %g ms: %s %.0f %%", run.overruns.empty() ? "" : ",", budget_ms,
                  ratio_cell(overrun.at(0.999)).text.c_str(), overrun.solved_pct());
    line += text;
    run.overruns.push_back(std::move(overrun));
  }
  if (!run.overruns.empty()) options.say(line);
  return run;
}

}  // namespace

Report bench_budget(const BenchOptions& options) {
  const int steps = options.quick ? 240 : 1000;  // what falls has come down by then
  Report report;
  report.name = "budget";
  report.title = "Almond: a solve ends when its time is up";
  report.lead =
      "Time of all solves of a step by the budget of the step, over scenes that need more than they are given, and how "
      "many steps are solved all the same. Steps in which the system gave the core to others are counted and left out: "
      "measure on an idle core. Judged are budgets that are at least twice what a scene takes without any time to "
      "solve in.";
  report.facts = machine_facts();
  Table each, all;
  each.name = "scenes";
  each.title = "By scene";
  all.name = "budget";
  all.title = "The scene that overruns most, of those that are judged";
  each.columns = all.columns = {"scene",      "solver",    "budget [ms]", "least [ms]", "steps",  "cut",
                                "solved [%]", "disturbed", "median",      "99 %",       "99.9 %", "longest"};
  for (const SolverKind solver : options.solver_kinds()) {
    std::vector<SceneRun> runs;
    for (const CutScene& scene : cut_scenes()) runs.push_back(run_scene(scene, solver, steps, options));
    for (std::size_t k = 0; k < kBudgets.size(); ++k) {
      const double budget_ms = kBudgets[k];
      const SceneRun* worst = nullptr;
      bool complete = true;
      for (const SceneRun& run : runs) {
        complete = complete && k < run.overruns.size();
        if (k >= run.overruns.size()) continue;
        each.rows.push_back(make_row(run.name, solver, budget_ms, run.least_ms, run.overruns[k]));
        const bool judged = is_judged(budget_ms, run.least_ms) && !run.overruns[k].ratios.empty();
        if (judged && (worst == nullptr || run.overruns[k].at(0.999) > worst->overruns[k].at(0.999))) worst = &run;
      }
      if (!complete || worst == nullptr) continue;  // interrupted: no verdict on all scenes from some
      const Overrun& overrun = worst->overruns[k];
      all.rows.push_back(make_row(worst->name, solver, budget_ms, worst->least_ms, overrun));
      char claim[120], measured[120];
      std::snprintf(claim, sizeof claim, "%s ends within %g ms in every scene", to_string(solver), budget_ms);
      std::snprintf(measured, sizeof measured, "at most %.2f x (%s), %d of %d cut", overrun.at(0.999),
                    worst->name.c_str(), overrun.cut, overrun.steps);
      report.add_claim(claim, "1.2 x the budget at 99.9 %", measured, overrun.at(0.999) <= kAllowed);
    }
  }
  report.tables = {std::move(all), std::move(each)};
  return report;
}

}  // namespace almond::bench
