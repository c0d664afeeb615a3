#pragma once
// The benchmarks behind `almond bench NAME`. Each returns a Report; `fclib` holds all but `robots`, `sdf`, `paper`,
// `peers` and `budget`.

#include <functional>
#include <string>
#include <vector>

#include "bench/report.hpp"
#include "bench/runs.hpp"

namespace almond::bench {

struct BenchOptions {
  std::vector<std::string> folders;  // problem files; empty: ../shared/fclib and ../shared/problems where they exist;
                                     // robots: robot files; empty: those of installed packages; peers: problem
                                     // files for the part `problems`, beside those of its scenes
  std::vector<SolverKind> solvers;   // empty: the five first-class ones
  std::string peers = "all";         // all, none, siconos, pinocchio
  double budget_ms = 0.0;            // per solve; 0: 1000, or 200 when quick
  bool quick = false;
  bool files_only = false;           // fclib: leave out the parts that need no file
  std::string save;                  // folder for the problems (paper) or scenes (peers); empty: they are not kept
  std::vector<std::string> parts;    // paper, peers: those to run; empty: all
  std::vector<std::string> engines;  // peers: those to run; empty: all, or a few where it is quick
  std::string replays;               // peers: folder for pages that play the engines side by side; empty: none
  std::string page;                  // where the report's page will be, which its links start from; empty: nowhere
  bool pictures = false;             // paper: draw the scenes
  std::function<void(const std::string&)> progress = [](const std::string&) {};
  std::function<bool()> stopped = [] { return false; };  // peers, budget: no more runs, a report of what there is
  std::function<void(const std::string&)> say = [](const std::string&) {};  // a line that stays

  [[nodiscard]] double budget() const { return budget_ms > 0.0 ? budget_ms : (quick ? 200.0 : 1000.0); }
  [[nodiscard]] std::vector<SolverKind> solver_kinds() const;
  [[nodiscard]] std::vector<std::string> problem_folders() const;
};

struct BenchEntry {
  const char* name;
  const char* about;
  Report (*run)(const BenchOptions&);
};

/// All benchmarks, in the order they are listed.
[[nodiscard]] const std::vector<BenchEntry>& bench_entries();
/// Throws Error with the known names and the nearest one.
[[nodiscard]] const BenchEntry& find_bench(const std::string& name);

[[nodiscard]] Report bench_fclib(const BenchOptions& options);
[[nodiscard]] Report bench_robots(const BenchOptions& options);
/// Adds what contacts of signed distance shapes cost to its report.
void add_sdf_contacts(const BenchOptions& options, Report& report);
[[nodiscard]] Report bench_sdf(const BenchOptions& options);
[[nodiscard]] Report bench_paper(const BenchOptions& options);
[[nodiscard]] Report bench_peers(const BenchOptions& options);
[[nodiscard]] Report bench_budget(const BenchOptions& options);

/// Which feasible problems were called infeasible, gathered over the parts of a benchmark.
struct Alarms {
  int feasible = 0;
  std::vector<std::string> false_alarms;

  void add(const Run& run);  // of a problem that has a solution
};

// Parts: they add claims, tables and figures to a report.
void add_nut(const BenchOptions& options, Report& report, Alarms& alarms);
void add_towers(const BenchOptions& options, Report& report, Alarms& alarms);
void add_jams(const BenchOptions& options, Report& report, const Alarms& alarms);
/// 100 iterations of SubADMM and its ablations against a 300x300 Cholesky; `quad8` may be null.
void add_subadmm(const BenchOptions& options, const BenchProblem* quad8, Report& report);
/// The block-sparse factor of the Newton matrix against Eigen's, on generated problems and on `files`.
void add_factor(const BenchOptions& options, const std::vector<BenchProblem>& files, Report& report);

/// Claims about the problem files and about Siconos.
void add_file_claims(const std::vector<Run>& runs, const BenchOptions& options, bool has_siconos, Report& report,
                     Alarms& alarms);

/// Problem files of the folders, by size. Notes of the loader go to `notes`, with the name of the file. A file that
/// cannot be used ends it with an Error; with `bad`, what is wrong with it goes there.
[[nodiscard]] std::vector<BenchProblem> load_folders(const std::vector<std::string>& folders,
                                                     std::vector<std::string>& notes,
                                                     std::vector<std::string>* bad = nullptr);
/// The folders to use where none is named; may be empty.
[[nodiscard]] std::vector<std::string> default_folders();
/// Files with a problem in them, in order of name. Throws Error when the folder cannot be read.
[[nodiscard]] std::vector<std::string> problem_files_in(const std::string& folder);

/// "3 of 5", and up to four names of what is missing.
[[nodiscard]] std::string count_text(std::size_t good, std::size_t all, const std::vector<std::string>& missing);

}  // namespace almond::bench
