// What 100 iterations of SubADMM cost, against a dense 300x300 Cholesky in the same run, and what subsystem and body
// splitting buy.

#include <cmath>

#include "almond/base/check.hpp"
#include "almond/base/timer.hpp"
#include "almond/solver/certificate.hpp"
#include "almond/solver/solve.hpp"
#include "bench/benches.hpp"
#include "scenes/problems.hpp"

namespace almond::bench {
namespace {

constexpr int kIterations = 100;

struct Cost {
  double solve_ms = kNaN, loop_ms = kNaN, call_ms = kNaN, natural_map = kNaN;
};

/// Medians over many cold solves in one workspace: as in a simulator, memory is there, answers are not.
Cost measure(const ContactProblem& problem, SolverKind kind, int repeats) {
  Settings settings;
  settings.solver = kind;
  settings.max_iterations = kIterations;
  settings.fixed_iterations = true;
  Workspace workspace;
  Solution solution;
  std::vector<double> solves, loops, calls;
  double total = 0.0;
  for (int k = 0; k < repeats && (k < 3 || total < 2000.0); ++k) {
    const Stopwatch watch;
    solve(problem, settings, workspace, solution);
    calls.push_back(watch.elapsed_ms());
    solves.push_back(solution.info.time_ms);
    loops.push_back(solution.info.time_ms - solution.info.setup_ms);
    total += calls.back();
  }
  const Certificate certificate = make_certificate(problem, solution.v, solution.lambda);
  return {median(solves), median(loops), median(calls), certificate.natural_map};
}

}  // namespace

void add_subadmm(const BenchOptions& options, const BenchProblem* quad8, Report& report) {
  std::vector<BenchProblem> problems;
  if (quad8 != nullptr) problems.push_back(*quad8);
  for (const int robots : {8, 27}) {
    scenes::NamedProblem trees = scenes::make_quadrupeds(robots, 1);
    const std::string name = std::to_string(robots) + " quadrupeds";
    problems.push_back({name + ", blocks", scenes::without_trees(trees.problem), false});
    problems.push_back({name + ", trees", std::move(trees.problem), false});
  }
  const int repeats = options.quick ? 30 : 200;
  Table table{
      "subadmm",
      "The price of 100 SubADMM iterations",
      "Times in ms, medians of cold solves in one workspace. Solve: everything from the problem to v and \u03bb; loop: "
      "the "
      "iterations alone; Cholesky: one dense 300x300 factorisation, measured around each row.",
      {"problem", "contacts", "dofs", "solver", "solve", "loop", "Cholesky 300", "solve / Cholesky", "natural map"},
      {}};
  for (const BenchProblem& problem : problems) {
    for (const SolverKind kind : {SolverKind::kSubAdmm, SolverKind::kAdmmNoBody, SolverKind::kAdmmNoSub}) {
      options.progress("100 iterations, " + problem.name + "  " + to_string(kind));
      const double before = time_cholesky_300();
      const Cost cost = measure(problem.problem, kind, repeats);
      const double cholesky = 0.5 * (before + time_cholesky_300());
      const double ratio = cost.solve_ms / cholesky;
      table.rows.push_back({text_cell(problem.name), count_cell(problem.problem.num_contacts()),
                            count_cell(problem.problem.num_dofs()), text_cell(to_string(kind)),
                            time_cell(cost.solve_ms), time_cell(cost.loop_ms), time_cell(cholesky), ratio_cell(ratio),
                            residual_cell(cost.natural_map)});
      if (&problem != &problems.front() || quad8 == nullptr || kind != SolverKind::kSubAdmm) continue;
      report.add_claim("subadmm: 100 iterations on quad8_s300 (144 dofs, 92 contacts), everything counted",
                       "at most 1.0x a 300x300 dense Cholesky",
                       ratio_cell(ratio).text + ": " + time_cell(cost.solve_ms).text + " ms (loop alone " +
                           time_cell(cost.loop_ms).text + " ms) against " + time_cell(cholesky).text + " ms",
                       ratio <= 1.0);
    }
  }
  if (quad8 == nullptr) report.notes.push_back("quad8_s300.npz is not in the folders: its claim was not measured");
  report.tables.push_back(std::move(table));
}

}  // namespace almond::bench
