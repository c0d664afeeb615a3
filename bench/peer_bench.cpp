// `almond bench peers`: other engines and Almond on the same scenes, judged by the same referee.

#include "bench/peer_bench.hpp"

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <set>

#include "almond/base/check.hpp"
#include "almond/base/text.hpp"
#include "almond/base/timer.hpp"
#include "almond/load/file_io.hpp"
#include "bench/paper.hpp"
#include "bench/peer_replays.hpp"

namespace almond::bench {
namespace {

bool contains(const std::vector<std::string>& names, const std::string& name) {
  return std::find(names.begin(), names.end(), name) != names.end();
}

/// Those asked for; else all, or, of a quick run, Almond, four settings of MuJoCo and the solvers.
std::vector<Engine> choose_engines(const BenchOptions& options) {
  static const std::vector<std::string> kQuick = {"almond", "mj_default", "mj_firm", "mj_hard", "mj_cg"};
  for (const std::string& name : options.engines) static_cast<void>(find_engine(name));
  std::vector<Engine> chosen;
  for (const Engine& engine : all_engines()) {
    const bool wanted = !options.engines.empty() ? contains(options.engines, engine.name)
                                                 : !options.quick || engine.solver || contains(kQuick, engine.name);
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
    const bool is_quick = !part.quick.empty() || part.solvers != nullptr;
    const bool wanted = options.parts.empty() ? !options.quick || is_quick : contains(options.parts, part.name);
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
         !interpreters.has(engine) ? text_cell(Interpreters::how(engine), Tone::kBad)
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

/// What all parts share.
struct Bench {
  const BenchOptions& options;
  const std::vector<Engine> engines;
  const Interpreters interpreters;
  const std::map<std::string, PeerScene> scenes;
  const std::string folder;
  const Stopwatch watch;
  int done = 0, runs = 0;  // of engines on scenes
};

bool takes_part(const PeerPart& part, const Engine& engine) {
  return part.solvers == nullptr && !engine.solver && (part.engines.empty() || contains(part.engines, engine.name));
}

/// Why --engines leaves nothing to do in a part; empty: it does not.
std::string why_nobody(const PeerPart& part, const std::vector<Engine>& engines) {
  const auto any = [&](const auto& test) { return std::any_of(engines.begin(), engines.end(), test); };
  if (part.solvers != nullptr)
    return any([](const Engine& engine) { return engine.name == "almond"; })
               ? ""
               : "nothing to do: solvers are measured against almond, which is not among --engines";
  if (any([&](const Engine& engine) { return takes_part(part, engine); })) return "";
  std::string known;
  for (const Engine& engine : all_engines())
    if (takes_part(part, engine)) known += (known.empty() ? "" : ", ") + engine.name;
  return "nothing to do: none of --engines takes part in it; expected some of " + known;
}

/// Where there is nothing to do at all, that is an error.
void check_parts(const std::vector<PeerPart>& parts, const std::vector<Engine>& engines) {
  for (const PeerPart& part : parts)
    if (why_nobody(part, engines).empty()) return;
  if (!parts.empty())
    throw Error(std::string("bench peers, part ") + parts.front().name + ": " + why_nobody(parts.front(), engines));
}

/// A line that stays: what a step of the scene costs here and there.
void say_scene(const PeerPart& part, const PeerRuns& runs, const std::string& scene, const BenchOptions& options) {
  std::string line = std::string(part.name) + ", " + scene + ":";
  for (const std::string& name : {std::string("almond"), std::string(part.rival)})
    if (const PeerRun* run = find_peer(runs, scene, name); run != nullptr)
      line += "  " + name + " " + time_cell(run->at(std::string(part.time) + ".median")).text + " ms";
  const Spread ratio = time_ratio(part, runs, scene);
  options.say(line + (std::isnan(ratio.middle) ? "" : "  ratio " + to_text(ratio)));
}

constexpr int kCases = 30;          // of loaded steps
constexpr double kQuickMs = 120e3;  // what is not done by then is left out of a quick run

/// Why an engine is spared its next scene; empty: it is not.
std::string why_not(const Engine& engine, const RunOptions& run, const PeerRuns& before, const Bench& bench) {
  if (bench.options.stopped()) return "left out: interrupted";
  if (bench.options.quick && bench.watch.elapsed_ms() > kQuickMs) return kTimeWasUp;
  if (!run.growth || !bench.interpreters.has(engine)) return "";
  for (const PeerRun& other : before)
    if (other.engine == engine.name && (other.at("cut") == 1.0 || !other.failure.empty()))
      return "spared: did not get to the end with fewer balls";
  return "";
}

/// Almond and the rival in turn, so that both meet the same machine, with nothing between the steps; false: not once.
/// Long runs are not repeated: they see enough of the machine, and what is looked at between long steps costs those
/// nothing to speak of.
bool repeat_passes(const PeerPart& part, const std::string& scene, RunOptions how, Bench& bench, PeerRuns& runs) {
  constexpr int kPasses = 3;
  constexpr double kLongMs = 20e3;  // of the first pass of both, the referee's work included
  const auto find = [&](const std::string& engine) {
    return std::find_if(runs.begin(), runs.end(), [&](const PeerRun& run) {
      return run.scene == scene && run.engine == engine && run.failure.empty() && run.at("cut") != 1.0;
    });
  };
  const auto own = find("almond"), rival = find(part.rival);
  if (!part.timed || own == runs.end() || rival == runs.end() || own->took_ms + rival->took_ms > kLongMs) return false;
  how.again = true;
  for (int pass = 1; pass <= kPasses; ++pass) {
    if (bench.options.stopped() || (bench.options.quick && bench.watch.elapsed_ms() > kQuickMs)) break;
    bench.options.progress(std::string(part.name) + ", " + scene + ": pass " + std::to_string(pass) + " of " +
                           std::to_string(kPasses));
    const auto run = [&](const std::string& engine) {
      return run_engine(find_engine(engine), bench.scenes.at(scene), bench.interpreters, how, bench.folder);
    };
    const PeerRun a = run(own->engine), b = run(rival->engine);
    if (!a.failure.empty() || !b.failure.empty()) break;
    add_pass(a, *own);
    add_pass(b, *rival);
  }
  return !own->passes.empty();
}

/// What could not be measured, by engine.
void note_failures(const PeerRuns& runs, Report& report) {
  std::size_t missing = 0;
  for (const PeerRun& run : runs) {
    if (run.failure.empty()) continue;
    missing += was_left_out(run) ? 1U : 0U;
    report.left_out = report.left_out || !was_spared(run);
    const bool told = was_left_out(run) || run.failure.rfind("not installed", 0) == 0;  // once for all runs
    if (!told) report.notes.push_back(run.scene + ", " + run.engine + ": " + run.failure);
  }
  if (missing > 0)
    report.notes.push_back(count_text(missing, runs.size(), {}) + " runs were not started, see the table");
}

/// A part of solvers that has no turn: a table that says so, as scenes have rows that do.
Report leave_out(const PeerPart& part, const std::string& why) {
  Report report = begin_report(part);
  Table table{part.name, part.title, "", {"problems", "note"}, {}};
  for (const std::string& scene : part.scenes) table.rows.push_back({text_cell(scene), text_cell(why, Tone::kQuiet)});
  if (part.scenes.empty()) table.rows.push_back({text_cell("all"), text_cell(why, Tone::kQuiet)});
  report.tables.push_back(std::move(table));
  report.notes = {why};
  report.left_out = true;
  return report;
}

RunOptions how_to_run(const PeerPart& part, bool quick) {
  const std::string name = part.name;
  RunOptions run;
  run.cap_s = quick ? 8.0 : name == "growth" ? 150.0 : 40.0;
  run.cold = name == "cold";
  run.growth = name == "growth";
  run.seconds = quick ? part.quick_seconds : 0.0;
  return run;
}

/// All engines on all scenes of a part, once.
PeerRuns measure(const PeerPart& part, Bench& bench) {
  const RunOptions run = how_to_run(part, bench.options.quick);
  PeerRuns runs;
  for (const std::string& scene : part.scenes) {
    for (const Engine& engine : bench.engines) {
      if (!takes_part(part, engine)) continue;
      bench.options.progress(std::to_string(++bench.done) + " of " + std::to_string(bench.runs) + ": " + part.name +
                             ", " + scene + ", " + engine.name);
      const Stopwatch watch;
      if (const std::string why = why_not(engine, run, runs, bench); !why.empty())
        runs.push_back({engine.name, scene, why, {}});
      else
        runs.push_back(run_engine(engine, bench.scenes.at(scene), bench.interpreters, run, bench.folder));
      runs.back().took_ms = watch.elapsed_ms();
    }
    if (!bench.options.quick) repeat_passes(part, scene, run, bench, runs);
    say_scene(part, runs, scene, bench.options);
  }
  return runs;
}

/// What the runs of a part come to.
Report report_on(const PeerPart& part, const PeerRuns& runs, const Bench& bench) {
  const BenchOptions& options = bench.options;
  const RunOptions run = how_to_run(part, options.quick);
  Report report = begin_report(part);
  report.tables.push_back(peer_table(part, runs));
  add_peer_plots(part, runs, report);
  if (run.growth) add_growth(part, runs, report);
  add_peer_claims(part, runs, report);
  note_failures(runs, report);
  if (options.replays.empty() || run.cold || run.growth) return report;
  options.progress(std::string(part.name) + ": replays");
  try {
    write_replays(part, runs, bench.scenes, options.replays, options.page, report);
  } catch (const Error& error) {
    report.notes.push_back(std::string("no replays: ") + error.what());
  }
  return report;
}

Report run_solvers(const PeerPart& part, const Bench& bench) {
  if (bench.options.stopped()) return leave_out(part, "left out: interrupted");
  if (bench.options.quick && bench.watch.elapsed_ms() > kQuickMs) return leave_out(part, kTimeWasUp);
  return part.solvers(part, bench.scenes, bench.options);
}

/// A part that has nothing to do, or cannot go on, says why; the others are not lost.
template <class Work>
Report try_part(const PeerPart& part, const Bench& bench, const Work& work) {
  Report report = begin_report(part);
  if (const std::string why = why_nobody(part, bench.engines); !why.empty()) {
    report.notes = {why};
    return report;
  }
  try {
    return work();
  } catch (const Error& error) {
    report.notes = {std::string("could not run: ") + error.what()};
    report.left_out = true;
    return report;
  }
}

std::vector<Report> run_parts(const std::vector<PeerPart>& parts, Bench& bench) {
  std::vector<PeerRuns> runs(parts.size());
  std::vector<Report> reports;
  for (std::size_t k = 0; k < parts.size(); ++k)
    reports.push_back(try_part(parts[k], bench, [&] {
      if (parts[k].solvers != nullptr) return run_solvers(parts[k], bench);
      runs[k] = measure(parts[k], bench);
      return begin_report(parts[k]);
    }));
  // A quick run sees every scene once before it sees any again.
  if (bench.options.quick) {
    for (std::size_t k = 0; k < parts.size(); ++k)
      for (const std::string& scene : parts[k].scenes)
        if (repeat_passes(parts[k], scene, how_to_run(parts[k], true), bench, runs[k]))
          say_scene(parts[k], runs[k], scene, bench.options);
  }
  for (std::size_t k = 0; k < parts.size(); ++k)
    if (!runs[k].empty()) reports[k] = try_part(parts[k], bench, [&] { return report_on(parts[k], runs[k], bench); });
  return reports;
}

}  // namespace

Report begin_report(const PeerPart& part) {
  Report report;
  report.name = part.name;
  report.title = part.title;
  report.lead = part.lead;
  return report;
}

Report bench_peers(const BenchOptions& options) {
  const std::vector<Engine> engines = choose_engines(options);
  check_replays(options.replays);  // before minutes of work: can they be made and written
  const std::vector<PeerPart> parts = choose_parts(options);
  check_parts(parts, engines);
  save_scenes({}, options.save);
  for (const std::string& problems : options.folders)
    require(!problem_files_in(problems).empty(),
            problems + ": no .hdf5, .h5, .npz or .json problem file in this folder");
  Report report;
  report.name = "peers";
  report.title = "Almond beside MuJoCo, Drake, Bullet, Pinocchio and Siconos";
  report.lead =
      "The same scenes in every engine, from one description, at 240 steps a second on one thread. Times are CPU times "
      "of the thread that steps, medians over all steps. One referee judges all: overlaps and speeds come from poses, "
      "by MuJoCo's collision; residuals from the impulses and velocities that the engine itself tells, in N s. e0 asks "
      "that nothing approaches where it touches, so a push out of an overlap is an error, Almond's as well; erp.2 also "
      "that a fifth of an overlap is undone. Drake tells contact points of balls and robots only, and Bullet's "
      "impulses are an indication. Almond runs at its default setting (loaded cold steps: 1e-8 for crowds as well); "
      "what it reports of itself stands in columns that say so.";
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
  const std::map<std::string, PeerScene> scenes = export_scenes(interpreters, names, kCases, folder.path());
  save_scenes(scenes, options.save);
  report.tables.push_back(engine_table(engines, interpreters));
  std::set<std::string> missing;
  for (const Engine& engine : engines)
    if (!interpreters.has(engine) && missing.insert(engine.package).second)
      report.notes.push_back(engine.package + " is " + Interpreters::how(engine));
  if (interpreters.python.count("mujoco") == 0)
    report.notes.push_back("without MuJoCo there is no referee: times are all there is");
  Bench bench{options, engines, interpreters, scenes, folder.path(), {}};
  for (const PeerPart& part : parts)
    for (const Engine& engine : engines)
      if (takes_part(part, engine)) bench.runs += static_cast<int>(part.scenes.size());
  report.parts = run_parts(parts, bench);
  if (!options.replays.empty() &&
      std::all_of(report.parts.begin(), report.parts.end(), [](const Report& part) { return part.links.empty(); }))
    report.notes.push_back(
        "--replays: there is nothing to play; only scenes that run for a while are kept, which cold, growth, nut and "
        "problems are not");
  report.sheet = make_sheet(report);
  const double cholesky = 0.5 * (before + time_cholesky_300());
  report.facts.emplace_back("yardstick", time_cell(cholesky).text + " ms for a dense Cholesky of 300x300");
  report.facts.emplace_back("size", options.quick ? "quick: fewer scenes, fewer engines" : "full");
  report.facts.emplace_back("duration", count_cell(watch.elapsed_ms() / 1e3).text + " s");
  return report;
}

}  // namespace almond::bench
