#include "bench/benches.hpp"

#include <filesystem>

#include "almond/base/check.hpp"
#include "almond/base/text.hpp"
#include "almond/load/problem_file.hpp"

namespace almond::bench {
namespace {

namespace fs = std::filesystem;

Report small_report(const char* name, const char* title, const char* lead) {
  Report report;
  report.name = name;
  report.title = std::string("Almond: ") + title;
  report.lead = lead;
  report.facts = machine_facts();
  return report;
}

Report bench_nut(const BenchOptions& options) {
  Report report =
      small_report("nut", "a nut on its bolt", "One rigid body held by 120 contacts on a helical thread, 100 seeds.");
  Alarms alarms;
  add_nut(options, report, alarms);
  return report;
}

Report bench_towers(const BenchOptions& options) {
  Report report = small_report("towers", "towers and jams",
                               "A heavy box on light ones, up to a mass ratio of 10,000; and problems that "
                               "have no solution, which must be recognised.");
  Alarms alarms;
  add_towers(options, report, alarms);
  add_jams(options, report, alarms);
  return report;
}

Report bench_subadmm(const BenchOptions& options) {
  Report report =
      small_report("subadmm", "the price of 100 SubADMM iterations",
                   "Against a dense 300x300 Cholesky in the same run, with and without subsystem and body splitting.");
  std::vector<BenchProblem> problems;
  for (const std::string& folder : options.problem_folders()) {
    const fs::path file = fs::path(folder) / "quad8_s300.npz";
    if (fs::exists(file)) problems.push_back({"quad8_s300", load_problem(file.string()), false});
  }
  add_subadmm(options, problems.empty() ? nullptr : &problems.front(), report);
  return report;
}

Report bench_factor(const BenchOptions& options) {
  Report report =
      small_report("factor", "the factor of a Newton step",
                   "Block-sparse LLT and LU of one Newton matrix against Eigen's simplicial and dense LLT.");
  add_factor(options, load_folders(options.problem_folders(), report.notes), report);
  return report;
}

}  // namespace

std::vector<SolverKind> BenchOptions::solver_kinds() const {
  if (!solvers.empty()) return solvers;
  return {SolverKind::kAuto, SolverKind::kSpn, SolverKind::kCanal, SolverKind::kSubAdmm, SolverKind::kPgs};
}

std::vector<std::string> BenchOptions::problem_folders() const { return folders.empty() ? default_folders() : folders; }

std::string count_text(std::size_t good, std::size_t all, const std::vector<std::string>& missing) {
  std::string text = std::to_string(good) + " of " + std::to_string(all);
  for (std::size_t k = 0; k < missing.size() && k < 4; ++k) text += (k == 0 ? "; not " : ", ") + missing[k];
  if (missing.size() > 4) text += " and " + std::to_string(missing.size() - 4) + " more";
  return text;
}

void Alarms::add(const Run& run) {
  if (run.peer) return;
  ++feasible;
  if (run.status == Status::kInfeasible) false_alarms.push_back(run.problem + " (" + run.solver + ")");
}

const std::vector<BenchEntry>& bench_entries() {
  static const std::vector<BenchEntry> entries = {
      {"paper", "the paper's tables and figures: its values, ours, and whether its claims hold", bench_paper},
      {"peers", "MuJoCo, Drake and Bullet beside Almond on the same scenes: time and error", bench_peers},
      {"fclib", "our solvers and peers on a folder of problem files, and all of the next four", bench_fclib},
      {"nut", "100 random nuts of 120 contacts", bench_nut},
      {"towers", "mass-ratio towers up to 1e4, jams and opposed penetrations", bench_towers},
      {"subadmm", "100 SubADMM iterations against a 300x300 Cholesky; ablations", bench_subadmm},
      {"factor", "the block-sparse factor of a Newton step against Eigen's simplicial and dense LLT", bench_factor},
      {"robots", "robot files against Pinocchio and MuJoCo, and how each falls on a floor", bench_robots},
      {"sdf", "signed distance functions: time per query, and the neural bolt against the analytic one", bench_sdf},
      {"budget", "how far a solve overruns its time, on scenes that need more than they are given", bench_budget},
  };
  return entries;
}

const BenchEntry& find_bench(const std::string& name) {
  std::vector<std::string> names;
  std::string list;
  for (const BenchEntry& entry : bench_entries()) {
    if (name == entry.name) return entry;
    names.emplace_back(entry.name);
    list += (list.empty() ? "" : ", ") + std::string(entry.name);
  }
  const std::string near = nearest_name(name, names);
  throw Error("bench " + quote(name) + ": no such benchmark; known: " + list +
              (near.empty() ? "" : "; did you mean " + near + "?"));
}

}  // namespace almond::bench
