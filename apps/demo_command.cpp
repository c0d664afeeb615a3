// `almond demo`: built-in problems, every solver, live, then a page with the curves and one with a run to look at.

#include <CLI/CLI.hpp>
#include <cstdio>
#include <filesystem>
#include <memory>

#include "almond/base/check.hpp"
#include "almond/view/page.hpp"
#include "apps/commands.hpp"
#include "apps/common.hpp"
#include "apps/run_report.hpp"
#include "apps/run_settings.hpp"
#include "bench/page.hpp"
#include "bench/summary.hpp"
#include "scenes/problems.hpp"

namespace almond::app {
namespace {

struct DemoOptions {
  std::string html = "almond_demo.html", replay = "almond_replay.html", json;
  double budget_ms = 200.0;
};

/// What should come out: solved, or for a problem without solution, said to be infeasible.
bool is_right(const bench::Run& run, bool feasible) {
  return feasible ? run.status == Status::kSolved : run.status == Status::kInfeasible;
}

bench::Table demo_table(const std::vector<bench::Run>& runs, const std::vector<bool>& feasible,
                        const std::string& title) {
  bench::Table table{"demo", title, "", {"problem", "solver", "residual", "natural map", "time ms", "status"}, {}};
  for (std::size_t k = 0; k < runs.size(); ++k) {
    const bench::Run& run = runs[k];
    const bool right = is_right(run, feasible[k]);
    const bench::Tone tone = right ? bench::Tone::kGood : bench::Tone::kBad;
    table.rows.push_back({bench::text_cell(run.problem), bench::text_cell(run.solver),
                          bench::residual_cell(run.certificate.residual),
                          bench::residual_cell(run.certificate.natural_map), bench::time_cell(run.time_ms),
                          bench::text_cell(to_string(run.status), tone)});
  }
  return table;
}

bench::Table score_table(const std::vector<bench::Run>& runs, const std::vector<bool>& feasible) {
  bench::Table table{
      "score",
      "Solvers at a glance",
      "Right: solved to residual 1e-8 and natural map 1e-9, or for a problem without solution, called infeasible.",
      {"solver", "right", "of", "geometric mean ms"},
      {}};
  for (const std::string& solver : bench::solver_names(runs)) {
    int right = 0, all = 0;
    std::vector<double> times;
    for (std::size_t k = 0; k < runs.size(); ++k) {
      if (runs[k].solver != solver) continue;
      ++all;
      right += is_right(runs[k], feasible[k]) ? 1 : 0;
      times.push_back(std::max(runs[k].time_ms, 1e-4));
    }
    table.rows.push_back({bench::text_cell(solver),
                          bench::count_cell(right, right == all ? bench::Tone::kGood : bench::Tone::kBad),
                          bench::count_cell(all), bench::time_cell(bench::geometric_mean(times))});
  }
  return table;
}

bench::Report demo_report(const std::vector<bench::Run>& runs, const std::vector<bool>& feasible, double budget_ms) {
  bench::Report report;
  report.name = "demo";
  report.title = "Almond: exact contact, solved nine ways";
  report.lead =
      "Built-in contact problems, one of each family: blocks on slopes, towers, nuts, piles, robots, jams. Every "
      "solver starts "
      "cold with default settings. The natural map measures how far the impulses are from the Signorini-Coulomb law; "
      "point at a "
      "curve to read it, click a heading to sort.";
  report.facts = bench::machine_facts();
  report.facts.emplace_back("budget per solve", std::to_string(static_cast<int>(budget_ms)) + " ms");
  report.tables = {score_table(runs, feasible), demo_table(runs, feasible, "All solves")};
  report.legend = bench::solver_names(runs);
  int index = 0;
  for (const bench::Plot& plot : bench::curve_plots(runs, budget_ms)) {
    report.figures.push_back(
        {"curve" + std::to_string(index++), plot.title, "Natural map over time", bench::to_svg(plot)});
  }
  return report;
}

/// A scene by one solver, packed to play with; what came of it is said.
std::string demo_run(const std::string& name, const std::string& solver, double budget_ms, std::FILE* out) {
  SceneArguments arguments;
  arguments.name = name;
  arguments.solver = solver;
  if (budget_ms > 0.0) arguments.budget_ms = budget_ms;
  arguments.looks = true;
  scenes::LoadedScene loaded = make_scene(arguments);
  scenes::Scene& scene = loaded.scene;
  Simulation simulation(std::move(scene.model), scene.options);
  ReplayOptions kept;
  kept.title = scene.name + ", " + solver + (budget_ms > 0.0 ? ", " + to_text(budget_ms) + " ms a step" : "");
  Replay replay(simulation.model(), make_looks(simulation.model(), loaded.looks), simulation.options().dt, kept);
  Progress progress;
  RunOptions options;
  options.steps = scene.steps;
  options.replay = &replay;
  options.after_step = [&](const RunProgress& now) {
    if (now.done % 20 == 0)
      progress.show(kept.title + ": " + std::to_string(now.done) + " / " + std::to_string(scene.steps) + " steps");
    return true;
  };
  const RunRecord record = run_scene(scene, simulation, options);
  progress.clear();
  if (!record.outcome.reached.empty())
    std::fprintf(out, "%s: %s\n", kept.title.c_str(), record.outcome.reached.c_str());
  return replay.finish(simulation, page_facts(simulation, record));
}

/// Robots to look at: one that piles dishes, by PGS and by CANAL with a millisecond a step; a heap of robots where the
/// files of that robot are not there.
std::string demo_page(std::FILE* out) {
  constexpr double kBudget = 1.0;  // [ms]
  try {
    return make_page({demo_run("dish_piling", "pgs", kBudget, out), demo_run("dish_piling", "canal", kBudget, out)});
  } catch (const Error& error) {
    std::fprintf(out,
                 "A robot that piles dishes is left out (400 MB, then `make demo` again): %s. Now a heap of robots.\n",
                 error.what());
  }
  return make_page({demo_run("quadrupeds", "auto", 0.0, out)});
}

int run_demo(const DemoOptions& options) {
  check_budget(options.budget_ms);
  check_output("--replay", options.replay);
  check_output("--html", options.html);
  check_output("--json", options.json);
  std::vector<scenes::NamedProblem> problems = scenes::demo_problems();
  std::vector<bench::Run> runs;
  std::vector<bool> feasible;
  Progress progress;
  std::FILE* out = options.json == "-" || options.html == "-" || options.replay == "-" ? stderr : stdout;
  const std::size_t total = problems.size() * static_cast<std::size_t>(kNumSolverKinds);
  for (scenes::NamedProblem& named : problems) {
    const bench::BenchProblem problem{named.name, std::move(named.problem), !named.feasible};
    std::vector<bench::Run> own;
    for (int k = 0; k < kNumSolverKinds; ++k) {
      const auto kind = static_cast<SolverKind>(k);
      const std::string last =
          own.empty() ? "" : "   last residual " + bench::residual_cell(own.back().certificate.residual).text;
      progress.show("[" + std::to_string(runs.size() + own.size() + 1) + "/" + std::to_string(total) + "] " +
                    problem.name + "  " + to_string(kind) + last);
      Settings settings;
      settings.solver = kind;
      settings.budget_ms = options.budget_ms;
      own.push_back(bench::run_solver(problem, settings, 3));
    }
    progress.clear();
    const std::string heading = problem.name + ": " + std::to_string(problem.problem.num_contacts()) + " contacts, " +
                                std::to_string(problem.problem.num_dofs()) + " dofs" +
                                (problem.infeasible ? ", no solution exists" : "");
    bench::Table table = demo_table(own, std::vector<bool>(own.size(), !problem.infeasible), heading);
    table.columns.erase(table.columns.begin());
    for (auto& row : table.rows) row.erase(row.begin());
    std::fprintf(out, "%s\n", bench::to_text(table, use_colour()).c_str());
    std::fflush(out);
    runs.insert(runs.end(), own.begin(), own.end());
    feasible.insert(feasible.end(), own.size(), !problem.infeasible);
  }
  const bench::Report report = demo_report(runs, feasible, options.budget_ms);
  std::fputs(bench::to_text(report.tables.front(), use_colour()).c_str(), out);
  write_output(options.json, bench::to_json(report));
  write_output(options.html, bench::to_html(report));
  if (options.html != "-") {
    std::fprintf(out, "\nCurves of residual over time: %s\n", std::filesystem::absolute(options.html).c_str());
  }
  if (have_page() && !options.replay.empty()) {
    write_output(options.replay, demo_page(out));
    if (options.replay != "-")
      std::fprintf(out, "Robots to play with in a browser: %s\n", std::filesystem::absolute(options.replay).c_str());
  }
  return kDone;
}

}  // namespace

Action add_demo_command(CLI::App& command) {
  const auto o = std::make_shared<DemoOptions>();
  command.add_option("--html", o->html, "page to write (default almond_demo.html)");
  command.add_option("--replay", o->replay, "page with a run to look at (default almond_replay.html; \"\": none)");
  command.add_option("--json", o->json, "write the table as JSON (-: standard output)");
  expect_number(command.add_option("--budget-ms", o->budget_ms, "wall-clock limit of one solve (default 200)"));
  return [o] { return run_demo(*o); };
}

}  // namespace almond::app
