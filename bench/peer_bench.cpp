// `almond bench peers`: other engines and Almond on the same scenes, judged by the same referee.

#include "bench/peer_bench.hpp"

#include <algorithm>
#include <filesystem>
#include <set>

#include "almond/base/check.hpp"
#include "almond/base/text.hpp"
#include "almond/base/timer.hpp"
#include "almond/load/file_io.hpp"
#include "bench/paper.hpp"

namespace almond::bench {
namespace {

bool contains(const std::vector<std::string>& names, const std::string& name) {
  return std::find(names.begin(), names.end(), name) != names.end();
}

/// Those asked for; else all, or, of a quick run, Almond and four settings of MuJoCo.
std::vector<Engine> choose_engines(const BenchOptions& options) {
  static const std::vector<std::string> kQuick = {"almond", "mj_default", "mj_firm", "mj_hard", "mj_cg"};
  for (const std::string& name : options.engines) static_cast<void>(find_engine(name));
  std::vector<Engine> chosen;
  for (const Engine& engine : all_engines()) {
    const bool wanted = !options.engines.empty() ? contains(options.engines, engine.name)
                                                 : !options.quick || contains(kQuick, engine.name);
    if (wanted) chosen.push_back(engine);
  }
  return chosen;
}

std::vector<PeerPart> choose_parts(const BenchOptions& options) {
  std::string names;
  std::set<std::string> unknown(options.parts.begin(), options.parts.end());
  std::vector<PeerPart> chosen;
  for (const PeerPart& part : peer_parts()) {
    names += (names.empty() ? "" : ", ") + std::string(part.name);
    unknown.erase(part.name);
    const bool wanted =
        options.parts.empty() ? !options.quick || !part.quick.empty() : contains(options.parts, part.name);
    if (!wanted) continue;
    chosen.push_back(part);
    if (options.quick && !part.quick.empty()) chosen.back().scenes = part.quick;
  }
  if (!unknown.empty()) throw Error("bench peers: no part " + quote(*unknown.begin()) + ", expected one of " + names);
  return chosen;
}

Table engine_table(const std::vector<Engine>& engines, const Interpreters& interpreters) {
  Table table{"engines", "Engines", "", {"engine", "setting", "installed"}, {}};
  for (const Engine& engine : engines) {
    const bool own = engine.package.empty();
    table.rows.push_back(
        {text_cell(engine.name), text_cell(engine.about),
         !interpreters.has(engine) ? text_cell("no: pip install " + engine.package, Tone::kBad)
         : own                     ? text_cell(ALMOND_VERSION, Tone::kGood)
               : text_cell(engine.package + " " + interpreters.version.at(engine.package), Tone::kGood)});
  }
  return table;
}

/// As MJCF, for `almond run`, `almond compare` and MuJoCo's viewer.
void save_scenes(const std::map<std::string, PeerScene>& scenes, const std::string& folder) {
  if (folder.empty()) return;
  std::error_code error;
  std::filesystem::create_directories(folder, error);
  require(!error, "--save " + folder + ": cannot make this folder: " + error.message());
  for (const auto& [name, scene] : scenes) write_file(folder + "/" + name + ".xml", read_file(scene.mjcf));
}

Report run_part(const PeerPart& part, const std::vector<Engine>& engines, const Interpreters& interpreters,
                const std::map<std::string, PeerScene>& scenes, const BenchOptions& options,
                const std::string& folder) {
  Report report;
  report.name = part.name;
  report.title = part.title;
  report.lead = part.lead;
  const std::string name = part.name;
  RunOptions run;
  run.cap_s = options.quick ? 8.0 : name == "growth" ? 100.0 : 40.0;
  run.cold = name == "cold";
  run.growth = name == "growth";
  run.seconds = options.quick ? part.quick_seconds : 0.0;
  PeerRuns runs;
  for (const std::string& scene : part.scenes)
    for (const Engine& engine : engines) {
      if (!part.engines.empty() && !contains(part.engines, engine.name)) continue;
      options.progress(name + ", " + scene + ": " + engine.name);
      runs.push_back(run_engine(engine, scenes.at(scene), interpreters, run, folder));
    }
  report.tables.push_back(peer_table(part, runs));
  add_peer_plots(part, runs, report);
  if (run.growth) add_growth(part, runs, report);
  add_peer_claims(part, runs, report);
  return report;
}

}  // namespace

Report bench_peers(const BenchOptions& options) {
  const std::vector<Engine> engines = choose_engines(options);
  const std::vector<PeerPart> parts = choose_parts(options);
  save_scenes({}, options.save);  // before minutes of work: can it be written to
  Report report;
  report.name = "peers";
  report.title = "Almond beside MuJoCo, Drake and Bullet";
  report.lead =
      "The same scenes in every engine, from one description, at 240 steps a second on one thread: what a step costs "
      "and how far it is from the law. Almond has one setting for all of them, its default. Times are of the thread "
      "that steps, the median over all steps of the run. Every engine's poses go to one referee: overlaps are those "
      "that MuJoCo's collision finds, speeds are differences of poses. The residual is the paper's, in N s: e0 asks "
      "that nothing approaches where it touches, erp.2 also that a fifth of an overlap is undone; both are MuJoCo's "
      "own "
      "impulses and velocities, and Almond's, whose push out of an overlap counts as an error here. Almond's "
      "certificate is "
      "the residual of the problem that it solved.";
  report.facts = machine_facts();
  const Stopwatch watch;
  const double before = time_cholesky_300();
  options.progress("which engines are installed");
  const Interpreters interpreters = find_interpreters();
  std::vector<std::string> names;
  for (const PeerPart& part : parts)
    for (const std::string& scene : part.scenes)
      if (!contains(names, scene)) names.push_back(scene);
  const TemporaryFolder folder;
  const std::map<std::string, PeerScene> scenes =
      export_scenes(interpreters, names, options.quick ? 10 : 30, folder.path());
  save_scenes(scenes, options.save);
  report.tables.push_back(engine_table(engines, interpreters));
  std::set<std::string> missing;
  for (const Engine& engine : engines)
    if (!interpreters.has(engine)) missing.insert(engine.package);
  for (const std::string& package : missing)
    report.notes.push_back(package + " is not installed: pip install " + package);
  if (interpreters.python.count("mujoco") == 0)
    report.notes.push_back("without MuJoCo there is no referee: times are all there is");
  for (const PeerPart& part : parts)
    report.parts.push_back(run_part(part, engines, interpreters, scenes, options, folder.path()));
  report.sheet = make_sheet(report);
  const double cholesky = 0.5 * (before + time_cholesky_300());
  report.facts.emplace_back("yardstick", time_cell(cholesky).text + " ms for a dense Cholesky of 300x300");
  report.facts.emplace_back("size", options.quick ? "quick: fewer scenes, fewer engines" : "full");
  report.facts.emplace_back("duration", count_cell(watch.elapsed_ms() / 1e3).text + " s");
  return report;
}

}  // namespace almond::bench
