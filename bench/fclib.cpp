// `almond bench fclib`: every solver and peer on every problem file, then the parts that need no file.

#include <algorithm>
#include <filesystem>

#include "almond/base/check.hpp"
#include "almond/load/file_io.hpp"
#include "almond/load/problem_file.hpp"
#include "bench/benches.hpp"
#include "bench/peers.hpp"
#include "bench/process.hpp"
#include "bench/summary.hpp"

namespace almond::bench {
namespace {

namespace fs = std::filesystem;

constexpr int kRepeats = 5;

void run_own(const BenchProblem& problem, const BenchOptions& options, std::vector<Run>& runs) {
  for (const SolverKind kind : options.solver_kinds()) {
    options.progress(problem.name + "  " + to_string(kind));
    Settings settings;
    settings.solver = kind;
    settings.budget_ms = options.budget();
    runs.push_back(run_solver(problem, settings, kRepeats));
  }
}

void run_peers(const BenchProblem& problem, const std::vector<Peer>& peers, const BenchOptions& options,
               std::vector<Run>& runs) {
  if (peers.empty() || !fits_peers(problem.problem)) return;
  const TemporaryFolder folder;
  const std::string exported = folder.path() + "/problem.npz";
  export_delassus(problem.problem, exported);
  for (const Peer& peer : peers) {
    options.progress(problem.name + "  " + peer.name);
    runs.push_back(run_peer(peer, problem, exported, options.budget()));
  }
}

void say_problem(const BenchProblem& problem, const std::vector<Run>& runs, const BenchOptions& options) {
  const Run* best = nullptr;
  const Run* best_peer = nullptr;
  for (const Run& run : runs) {
    if (run.problem != problem.name) continue;
    const Run*& slot = run.peer ? best_peer : best;
    if (slot == nullptr || run.to_natural[2] < slot->to_natural[2]) slot = &run;
  }
  std::string line = problem.name + " (" + std::to_string(problem.problem.num_contacts()) + " contacts): ";
  for (const Run* run : {best, best_peer}) {
    if (run == nullptr) continue;
    const bool solved = run->to_natural[2] <= options.budget();
    line += run->solver + " " + (solved ? time_cell(run->to_natural[2]).text + " ms" : "unsolved") + "  ";
  }
  options.say(line);
}

void add_figures(const std::vector<Run>& runs, const BenchOptions& options, Report& report) {
  std::vector<Plot> sheet;
  for (const double target : {1e-6, 1e-9}) {
    sheet.push_back(performance_profile(runs, target, options.budget()));
    sheet.back().legend = false;  // the page has one for all figures, the sheet needs its own
    report.figures.push_back(
        {"profile" + almond::to_text(target), sheet.back().title, "Performance profiles", to_svg(sheet.back())});
  }
  for (Plot& plot : sheet) plot.legend = true;
  // Large problems first: there the solvers differ.
  std::vector<Plot> curves = curve_plots(runs, options.budget());
  std::reverse(curves.begin(), curves.end());
  int index = 0;
  for (const Plot& plot : curves) {
    report.figures.push_back({"curve" + std::to_string(index++), plot.title, "Natural map over time", to_svg(plot)});
    sheet.push_back(plot);
  }
  report.sheet = to_sheet(sheet, 3);
  report.legend = solver_names(runs);
}

}  // namespace

std::vector<std::string> problem_files_in(const std::string& folder) {
  std::error_code error;
  std::vector<std::string> files;
  for (const fs::directory_entry& entry : fs::directory_iterator(folder, error)) {
    const std::string extension = entry.path().extension().string();
    if (extension == ".hdf5" || extension == ".h5" || extension == ".npz" || extension == ".json") {
      files.push_back(entry.path().string());
    }
  }
  require(!error, folder + ": cannot read this folder: " + error.message());
  std::sort(files.begin(), files.end());
  return files;
}

std::vector<std::string> default_folders() {
  std::vector<std::string> folders;
  for (const char* name : {"fclib", "problems"}) {
    for (const fs::path& shared : {fs::path("../shared"), fs::path(ALMOND_SOURCE_DIR) / "../shared"}) {
      if (!fs::is_directory(shared / name)) continue;
      folders.push_back((shared / name).lexically_normal().string());
      break;
    }
  }
  return folders;
}

std::vector<BenchProblem> load_folders(const std::vector<std::string>& folders, std::vector<std::string>& notes,
                                       std::vector<std::string>* bad) {
  std::vector<BenchProblem> problems;
  for (const std::string& folder : folders) {
    for (const std::string& file : problem_files_in(folder)) {
      LoadReport loaded;
      BenchProblem problem;
      try {
        problem.problem = load_problem(file, &loaded);
      } catch (const Error& error) {
        if (bad == nullptr) throw;
        bad->emplace_back(error.what());
        continue;
      }
      problem.name = fs::path(file).stem().string();
      for (const std::string& note : loaded.notes) notes.push_back(problem.name + ": " + note);
      problems.push_back(std::move(problem));
    }
  }
  std::stable_sort(problems.begin(), problems.end(), [](const BenchProblem& a, const BenchProblem& b) {
    return a.problem.num_contacts() < b.problem.num_contacts();
  });
  return problems;
}

Report bench_fclib(const BenchOptions& options) {
  Report report;
  report.name = "fclib";
  report.title = "Almond: contact solvers on real problems";
  report.lead =
      "Every solver on every problem: cold start, default settings, one thread, the same residuals computed for all, "
      "peers in the "
      "same run. The natural map measures how far the impulses are from the Signorini-Coulomb law, relative to the "
      "free velocity. "
      "Own times count everything from the problem to v and \u03bb. The peers get the Delassus matrix W and q for "
      "nothing and are "
      "timed in CPU time around their solve call, in the faster of the matrix storages they offer. Where a file holds "
      "only W, "
      "the reader finds A and J with W = J A\u207b\u00b9 J\u1d40, which is not counted either.";
  report.facts = machine_facts();
  const std::vector<std::string> folders = options.problem_folders();
  require(!folders.empty(), "bench fclib: no problem files: name a folder with .hdf5, .npz or .json problems");
  const std::vector<BenchProblem> problems = load_folders(folders, report.notes);
  require(!problems.empty(), folders.front() + ": no .hdf5, .h5, .npz or .json problem file in this folder");
  const std::vector<Peer> peers = find_peers(options.peers, report.notes);
  const bool has_siconos =
      std::any_of(peers.begin(), peers.end(), [](const Peer& p) { return p.name.rfind("siconos", 0) == 0; });

  std::vector<Run> runs;
  for (const BenchProblem& problem : problems) {
    run_own(problem, options, runs);
    run_peers(problem, peers, options, runs);
    say_problem(problem, runs, options);
  }
  report.facts.emplace_back("budget per solve", almond::to_text(options.budget()) + " ms");
  report.facts.emplace_back("problems", std::to_string(problems.size()));

  Alarms alarms;
  add_file_claims(runs, options, has_siconos, report, alarms);
  report.tables.insert(report.tables.begin(), summary_table(runs, options.budget()));
  report.tables.push_back(times_table(runs));
  add_figures(runs, options, report);

  if (!options.files_only) {
    const auto quad8 =
        std::find_if(problems.begin(), problems.end(), [](const BenchProblem& p) { return p.name == "quad8_s300"; });
    add_subadmm(options, quad8 == problems.end() ? nullptr : &*quad8, report);
    add_factor(options, problems, report);
    add_nut(options, report, alarms);
    add_towers(options, report, alarms);
    add_jams(options, report, alarms);
  }
  report.tables.push_back(runs_table(runs));
  return report;
}

}  // namespace almond::bench
