// Whether a solve ends when its time is up: scenes that need more, with little time, by every solver.

#include <sys/resource.h>

#include <algorithm>
#include <cmath>
#include <cstdio>

#include "bench/benches.hpp"
#include "bench/paper.hpp"
#include "scenes/scene.hpp"

namespace almond::bench {
namespace {

constexpr double kAllowed = 1.2;  // times the budget, at the 99.9th percentile

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
  int steps = 0, cut = 0, disturbed = 0;

  void add(const Overrun& other) {
    ratios.insert(ratios.end(), other.ratios.begin(), other.ratios.end());
    steps += other.steps;
    cut += other.cut;
    disturbed += other.disturbed;
  }
};

Overrun measure(const CutScene& cut, SolverKind solver, double budget_ms, int steps) {
  scenes::Scene scene = scenes::make_scene(cut.scene, cut.parameters);
  scene.options.solver.solver = solver;
  scene.options.solver.budget_ms = budget_ms;
  Simulation sim(std::move(scene.model), scene.options);
  Overrun overrun;
  for (int i = 0; i < steps; ++i) {
    if (scene.control) scene.control(sim);
    const long before = evictions();
    const StepReport report = sim.step();
    const bool disturbed = evictions() != before;
    ++overrun.steps;
    overrun.cut += report.status == Status::kTimeBudget ? 1 : 0;
    overrun.disturbed += disturbed ? 1 : 0;
    if (i > 0 && !disturbed) overrun.ratios.push_back(report.solve_ms / budget_ms);  // the first one takes memory
  }
  return overrun;
}

std::vector<Cell> make_row(const std::string& scene, SolverKind solver, double budget_ms, const Overrun& overrun) {
  const auto at = [&](double share) { return overrun.ratios.empty() ? kNaN : quantile(overrun.ratios, share); };
  const double tail = at(0.999);
  char budget[32];
  std::snprintf(budget, sizeof budget, "%g", budget_ms);
  return {text_cell(scene),
          text_cell(to_string(solver)),
          {budget, budget_ms, Tone::kPlain},
          count_cell(overrun.steps),
          count_cell(overrun.cut),
          count_cell(overrun.disturbed),
          ratio_cell(at(0.5)),
          ratio_cell(at(0.99)),
          ratio_cell(tail, tail <= kAllowed ? Tone::kGood : Tone::kBad),
          ratio_cell(at(1.0))};
}

}  // namespace

Report bench_budget(const BenchOptions& options) {
  const int steps = options.quick ? 60 : 1000;
  Report report;
  report.name = "budget";
  report.title = "Almond: a solve ends when its time is up";
  report.lead =
      "Time of all solves of a step by the budget of the step, over scenes that need more than they are given. Steps "
      "in "
      "which the system gave the core to others are counted and left out: measure on an idle core.";
  report.facts = machine_facts();
  Table each, all;
  each.name = "scenes";
  each.title = "By scene";
  all.name = "budget";
  all.title = "Over all scenes";
  each.columns = all.columns = {"scene",     "solver", "budget [ms]", "steps",  "cut",
                                "disturbed", "median", "99 %",        "99.9 %", "longest"};
  for (const SolverKind solver : options.solver_kinds()) {
    for (const double budget_ms : {0.25, 0.5, 1.0, 2.0}) {
      Overrun sum;
      for (const CutScene& scene : cut_scenes()) {
        options.progress(scene.name + ", " + to_string(solver) + ", " + std::to_string(budget_ms) + " ms");
        const Overrun overrun = measure(scene, solver, budget_ms, steps);
        each.rows.push_back(make_row(scene.name, solver, budget_ms, overrun));
        sum.add(overrun);
      }
      all.rows.push_back(make_row("all", solver, budget_ms, sum));
      const double tail = sum.ratios.empty() ? kInfinity : quantile(sum.ratios, 0.999);
      char claim[120], measured[60];
      std::snprintf(claim, sizeof claim, "%s ends within %g ms", to_string(solver), budget_ms);
      std::snprintf(measured, sizeof measured, "%.2f x, %d of %d cut", tail, sum.cut, sum.steps);
      report.add_claim(claim, "1.2 x the budget at 99.9 %", measured, tail <= kAllowed);
    }
  }
  report.tables = {std::move(all), std::move(each)};
  return report;
}

}  // namespace almond::bench
