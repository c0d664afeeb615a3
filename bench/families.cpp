// Parts of the benchmark that need no file: nuts, towers, and problems without a solution.

#include <algorithm>
#include <cmath>

#include "bench/benches.hpp"
#include "bench/peers.hpp"
#include "bench/summary.hpp"
#include "scenes/problems.hpp"

namespace almond::bench {
namespace {

constexpr int kNutContacts = 120, kNutSeeds = 100, kQuickPeerSeeds = 10;
constexpr double kFamilyTarget = 1e-8;

BenchProblem to_bench(scenes::NamedProblem named) { return {named.name, std::move(named.problem), !named.feasible}; }

bool within_target(const Run& run) {
  return run.certificate.finite && run.certificate.residual <= kFamilyTarget &&
         run.certificate.natural_map <= kFamilyTarget;
}

struct FamilyResult {
  std::size_t solved = 0, problems = 0;
  double median_ms = kNaN, slowest_ms = 0.0, worst_natural = 0.0;
};

FamilyResult summarise(const std::vector<Run>& runs) {
  FamilyResult result;
  std::vector<double> times;
  for (const Run& run : runs) {
    ++result.problems;
    result.solved += within_target(run) ? 1U : 0U;
    const double natural = run.certificate.natural_map;
    result.worst_natural = std::isfinite(natural) ? std::max(result.worst_natural, natural) : kInfinity;
    if (!std::isfinite(run.time_ms)) continue;
    times.push_back(run.time_ms);
    result.slowest_ms = std::max(result.slowest_ms, run.time_ms);
  }
  result.median_ms = median(times);
  return result;
}

std::vector<Cell> family_row(const std::string& solver, const FamilyResult& r) {
  const Tone tone = r.solved == r.problems ? Tone::kGood : Tone::kBad;
  return {text_cell(solver),
          count_cell(static_cast<double>(r.problems)),
          count_cell(static_cast<double>(r.solved), tone),
          time_cell(r.median_ms),
          time_cell(r.slowest_ms),
          residual_cell(r.worst_natural)};
}

Run solve_family(const BenchProblem& problem, SolverKind kind, double budget_ms) {
  Settings settings;
  settings.solver = kind;
  settings.budget_ms = budget_ms;
  return run_solver(problem, settings, 3);
}

}  // namespace

void add_nut(const BenchOptions& options, Report& report, Alarms& alarms) {
  std::vector<BenchProblem> nuts;
  for (int seed = 0; seed < kNutSeeds; ++seed) {
    nuts.push_back(to_bench(scenes::make_nut(kNutContacts, static_cast<std::uint64_t>(seed))));
    nuts.back().name = "nut" + std::to_string(seed);
  }
  Table table{"nut",
              "A nut on its bolt: 6 dofs, 120 contacts, 100 seeds",
              "Solved: residual and natural map at 1e-8. Pinocchio's ADMM runs once per seed with tolerance 1e-10 and "
              "2000 iterations. "
              "Times in ms.",
              {"solver", "problems", "solved", "median", "slowest", "worst natural map"},
              {}};
  for (const SolverKind kind : options.solver_kinds()) {
    std::vector<Run> runs;
    for (const BenchProblem& nut : nuts) {
      options.progress(nut.name + "  " + to_string(kind));
      runs.push_back(solve_family(nut, kind, options.budget()));
      alarms.add(runs.back());
    }
    const FamilyResult result = summarise(runs);
    table.rows.push_back(family_row(to_string(kind), result));
    if (kind != SolverKind::kAuto) continue;
    report.add_claim("auto: nuts with 120 contacts solved to 1e-8", "100 of 100",
                     count_text(result.solved, result.problems, {}), result.solved == result.problems);
    report.add_claim("auto: nuts with 120 contacts, median time", "at most 1 ms",
                     time_cell(result.median_ms).text + " ms", result.median_ms <= 1.0);
  }
  std::vector<std::string> notes;
  for (const Peer& peer :
       find_peers(options.peers == "all" || options.peers == "pinocchio" ? "pinocchio" : "none", notes)) {
    if (peer.solver != "admm") continue;
    options.progress("nuts  " + peer.name);
    if (options.quick) nuts.resize(kQuickPeerSeeds);
    table.rows.push_back(family_row(peer.name, summarise(run_peer_once(peer, nuts, 2000, 1e-10, 300e3))));
  }
  report.tables.push_back(std::move(table));
}

void add_towers(const BenchOptions& options, Report& report, Alarms& alarms) {
  Table table{"towers",
              "Mass-ratio towers",
              "A heavy box on light ones, at rest. Natural map of the answer and time in ms; green: residual and "
              "natural map at 1e-8.",
              {"boxes", "mass ratio"},
              {}};
  const std::vector<SolverKind> kinds = options.solver_kinds();
  for (const SolverKind kind : kinds) {
    table.columns.emplace_back(to_string(kind));
    table.columns.push_back(std::string(to_string(kind)) + " ms");
  }
  std::vector<std::vector<Run>> runs(kinds.size());
  for (const int boxes : {2, 5, 10}) {
    for (const double ratio : {1.0, 10.0, 100.0, 1e3, 1e4}) {
      BenchProblem tower = to_bench(scenes::make_tower(boxes, ratio));
      tower.name = std::to_string(boxes) + " boxes 1:" + residual_cell(ratio).text;
      std::vector<Cell> row = {count_cell(boxes), count_cell(ratio)};
      for (std::size_t k = 0; k < kinds.size(); ++k) {
        options.progress("tower " + tower.name + "  " + to_string(kinds[k]));
        const Run run = solve_family(tower, kinds[k], options.budget());
        alarms.add(run);
        row.push_back(residual_cell(run.certificate.natural_map, within_target(run) ? Tone::kGood : Tone::kBad));
        row.push_back(time_cell(run.time_ms));
        runs[k].push_back(run);
      }
      table.rows.push_back(std::move(row));
    }
  }
  for (std::size_t k = 0; k < kinds.size(); ++k) {
    if (kinds[k] != SolverKind::kAuto && kinds[k] != SolverKind::kSpn && kinds[k] != SolverKind::kCanal) continue;
    std::vector<std::string> missing;
    for (const Run& run : runs[k]) {
      if (!within_target(run)) missing.push_back(run.problem);
    }
    report.add_claim(std::string(to_string(kinds[k])) + ": mass-ratio towers up to 1e4 solved to 1e-8", "all",
                     count_text(runs[k].size() - missing.size(), runs[k].size(), missing), missing.empty());
  }
  report.tables.push_back(std::move(table));
}

void add_jams(const BenchOptions& options, Report& report, const Alarms& alarms) {
  Table table{"jams",
              "Problems without a solution",
              "Jams and opposed penetrations must be called infeasible. Times in ms.",
              {"problem", "solver", "status", "time", "natural map"},
              {}};
  std::vector<BenchProblem> problems = {to_bench(scenes::make_wedge_jam()),
                                        to_bench(scenes::make_opposed_penetrations())};
  for (const int boxes : {2, 4, 6}) {
    for (const int squeezed : {0, boxes - 1})
      problems.push_back(to_bench(scenes::make_squeezed_tower(boxes, squeezed)));
  }
  for (scenes::NamedProblem& named : scenes::demo_problems()) {
    const bool known =
        std::any_of(problems.begin(), problems.end(), [&](const BenchProblem& p) { return p.name == named.name; });
    if (!named.feasible && !known) problems.push_back(to_bench(std::move(named)));
  }
  std::size_t flagged = 0, tried = 0;
  double slowest = 0.0;
  std::vector<std::string> missing;
  for (const BenchProblem& problem : problems) {
    for (const SolverKind kind : options.solver_kinds()) {
      options.progress(problem.name + "  " + to_string(kind));
      const Run run = solve_family(problem, kind, options.budget());
      const bool right = run.status == Status::kInfeasible;
      table.rows.push_back({text_cell(problem.name), text_cell(run.solver),
                            text_cell(to_string(run.status), right ? Tone::kGood : Tone::kBad), time_cell(run.time_ms),
                            residual_cell(run.certificate.natural_map)});
      if (kind != SolverKind::kAuto) continue;
      ++tried;
      slowest = std::max(slowest, run.time_ms);
      if (right && run.time_ms <= 5.0) {
        ++flagged;
      } else {
        missing.push_back(problem.name);
      }
    }
  }
  if (tried > 0) {
    report.add_claim("auto: jams and opposed penetrations are called infeasible", "all within 5 ms",
                     count_text(flagged, tried, missing) + "; slowest " + time_cell(slowest).text + " ms",
                     flagged == tried);
  }
  report.add_claim("no feasible problem is called infeasible", "no false alarm, any solver",
                   count_text(static_cast<std::size_t>(alarms.feasible) - alarms.false_alarms.size(),
                              static_cast<std::size_t>(alarms.feasible), alarms.false_alarms) +
                       " solves",
                   alarms.false_alarms.empty());
  report.tables.push_back(std::move(table));
}

}  // namespace almond::bench
