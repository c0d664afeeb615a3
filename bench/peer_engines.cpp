#include "bench/peer_engines.hpp"

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <nlohmann/json.hpp>

#include "almond/base/check.hpp"
#include "almond/base/text.hpp"
#include "almond/load/file_io.hpp"
#include "almond/load/mjcf.hpp"
#include "almond/load/npz.hpp"
#include "bench/plot.hpp"
#include "bench/process.hpp"
#include "bench/scripts.hpp"

namespace almond::bench {
namespace {

using Json = nlohmann::json;

std::string script() { return find_script("peer_run.py"); }

/// Numbers and truth values, nested objects with a dot.
void flatten(const Json& json, const std::string& prefix, std::map<std::string, double>& out) {
  for (const auto& [key, value] : json.items()) {
    const std::string name = prefix.empty() ? key : prefix + "." + key;
    if (value.is_object()) flatten(value, name, out);
    if (value.is_number()) out[name] = value.get<double>();
    if (value.is_boolean()) out[name] = value.get<bool>() ? 1.0 : 0.0;
  }
}

Json read_json(const std::string& path) {
  if (!std::filesystem::exists(path)) return {};
  return Json::parse(read_file(path), nullptr, false);
}

std::string describe(const ProcessResult& result) {
  if (!result.started) return "could not be started";
  if (result.timed_out && result.errors == kInterruptedText) return "left out: interrupted";
  if (result.timed_out) return "FAIL: hung and was stopped";
  if (result.exit_code < 0) return "FAIL: crashed with signal " + std::to_string(-result.exit_code);
  return "FAIL: " + (result.errors.empty() ? "exit code " + std::to_string(result.exit_code) : result.errors);
}

/// A step may be long, and what the referee needs comes after the cap [ms].
double time_limit(const RunOptions& options) { return 1e3 * (3.0 * options.cap_s + 120.0); }

/// What the referee makes of a trail, into the figures.
void judge(const PeerScene& scene, const Interpreters& interpreters, const std::string& trail, PeerRun& run) {
  const auto python = interpreters.python.find("mujoco");
  if (python == interpreters.python.end()) return;
  const ProcessResult result =
      run_process({python->second, script(), "judge", scene.name, trail, trail + ".json"}, 300e3);
  flatten(read_json(trail + ".json"), "", run.figures);
  if (!result.started || result.exit_code != 0) run.failure = describe(result) + " (the referee)";
}

PeerRun run_own(const PeerScene& scene, const Interpreters& interpreters, const RunOptions& options,
                const std::string& folder) {
  const std::string stem = folder + "/almond_" + scene.name + (options.cold ? "_cold" : "");
  const std::string trail = options.again ? "" : stem + ".npz";
  const std::string out = stem + (options.again ? ".again.json" : ".figures.json");
  const int steps = options.seconds > 0.0 ? static_cast<int>(std::lround(240.0 * options.seconds)) : scene.steps;
  const ProcessResult result = run_apart(
      [&] {
        const PeerRun made =
            options.cold ? run_almond_cold(scene, trail)
                         : run_almond(scene, std::min(steps, scene.steps), options.cap_s, options.growth, trail);
        write_file(out, Json(made.figures).dump());
      },
      time_limit(options));
  PeerRun run{"almond", scene.name, {}, trail};
  flatten(read_json(out), "", run.figures);
  if (result.timed_out || result.exit_code != 0) run.failure = describe(result);
  if (run.failure.empty() && !options.again) judge(scene, interpreters, trail, run);
  return run;
}

}  // namespace

const std::vector<Engine>& all_engines() {
  static const std::vector<Engine> engines = {
      {"almond", "", "the default setting", "#d7263d"},
      {"mj_default", "mujoco", "Newton, elliptic cones", "#0b6fb8"},
      {"mj_firm", "mujoco", "impratio 10, solref 3 dt, solimp .99 .999 1e-4", "#4aa3df"},
      {"mj_hard", "mujoco", "impratio 100, solref 2 dt, solimp .99 .999 1e-4", "#1b2f6b"},
      {"mj_cg", "mujoco", "CG, elliptic cones", "#129a63"},
      {"mj_noslip", "mujoco", "Newton, 10 noslip iterations", "#5bb5a2"},
      {"drake_lagged", "drake", "discrete, lagged: its default; hydroelastic boxes", "#e08e00"},
      {"drake_sap", "drake", "discrete, SAP; hydroelastic boxes", "#c9a26b"},
      {"drake_tamsi", "drake", "discrete, TAMSI; hydroelastic boxes", "#8c5a2b"},
      {"bullet50", "pybullet", "multibody PGS, 50 iterations", "#7b3fb3"},
      {"bullet1000", "pybullet", "multibody PGS, 1000 iterations", "#b48ad6"},
      {"pinocchio-admm", "pin", "ADMM: nuts and single problems", solver_colour("pinocchio-admm"), true},
      {"pinocchio-pgs", "pin", "PGS: single problems", solver_colour("pinocchio-pgs"), true},
      {"siconos-nsgs", "siconos", "NSGS: single problems", solver_colour("siconos-nsgs"), true},
      {"siconos-nsn", "siconos", "NSN_AC: single problems", solver_colour("siconos-nsn"), true},
      {"siconos-admm", "siconos", "ADMM: single problems", solver_colour("siconos-admm"), true}};
  return engines;
}

const Engine& find_engine(const std::string& name) {
  std::vector<std::string> names;
  std::string list;
  for (const Engine& engine : all_engines()) {
    if (engine.name == name) return engine;
    names.push_back(engine.name);
    list += (list.empty() ? "" : ", ") + engine.name;
  }
  const std::string near = nearest_name(name, names);
  throw Error("--engines " + quote(name) + ": no such engine; known: " + list +
              (near.empty() ? "" : "; did you mean " + near + "?"));
}

std::string Interpreters::how(const Engine& engine) {
  if (engine.package == "siconos") return "not installed: Debian packages python3-siconos and python3-numpy";
  if (engine.package == "pin") return "not installed: pip install pin scipy into .venv";
  return "not installed: pip install numpy " + engine.package +
         " into .venv (make peers), or name an interpreter in ALMOND_PEERS_PYTHON";
}

namespace {

/// Versions by package, as an interpreter tells them; null: it tells nothing.
Json ask_versions(const std::string& python) {
  const TemporaryFolder folder;
  const std::string file = folder.path() + "/engines.json";
  if (python.empty()) return {};
  const ProcessResult result = run_process({python, script(), "engines", file}, 120e3);
  return result.started && result.exit_code == 0 ? read_json(file) : Json();
}

void note_version(const std::string& package, const Json& versions, const std::string& python, Interpreters& found) {
  if (!versions.is_object() || !versions.contains(package) || !versions[package].is_string()) return;
  if (found.python.try_emplace(package, python).second) found.version[package] = versions[package].get<std::string>();
}

}  // namespace

Interpreters find_interpreters() {
  Interpreters found;
  std::map<std::string, Json> told;
  const auto ask = [&](const std::string& python) -> const Json& {
    const auto at = told.find(python);
    return at != told.end() ? at->second : told.emplace(python, ask_versions(python)).first->second;
  };
  const std::string named = from_environment("ALMOND_PEERS_PYTHON", "");
  const std::vector<std::string> known = {find_own_python(), "python3"};
  for (const std::string& python : named.empty() ? known : std::vector<std::string>{named}) {
    const Json& versions = ask(python);
    require(named.empty() || versions.is_object(),
            "ALMOND_PEERS_PYTHON is " + quote(named) +
                ", expected a Python interpreter that has NumPy (pip install numpy mujoco)");
    if (versions.is_object() && found.numpy.empty()) found.numpy = python;
    for (const char* package : {"mujoco", "drake", "pybullet"}) note_version(package, versions, python, found);
  }
  note_version("pin", ask(find_python()), find_python(), found);
  note_version("siconos", ask(find_siconos_python()), find_siconos_python(), found);
  return found;
}

std::map<std::string, PeerScene> export_scenes(const Interpreters& interpreters, const std::vector<std::string>& names,
                                               int cases, const std::string& folder) {
  require(
      !interpreters.numpy.empty(),
      "bench peers: no Python with NumPy: make peers, or pip install numpy mujoco into .venv, or name an interpreter "
      "in ALMOND_PEERS_PYTHON");
  std::vector<std::string> command = {interpreters.numpy, script(), "export", folder, std::to_string(cases)};
  command.insert(command.end(), names.begin(), names.end());
  const ProcessResult result = run_process(command, 120e3);
  require(result.started && result.exit_code == 0, "bench peers: export of scenes: " + describe(result));
  std::map<std::string, PeerScene> scenes;
  const Json exported = read_json(folder + "/scenes.json");
  for (const auto& [name, json] : exported.items()) {
    PeerScene& scene = scenes[name];
    scene.name = name;
    scene.mjcf = folder + "/" + name + ".xml";
    scene.steps = json["steps"].get<int>();
    scene.settle = json["settle"].get<int>();
    scene.bodies = json["bodies"].get<std::vector<std::string>>();
    const NpzArchive archive = NpzArchive::read(folder + "/" + name + ".npz");
    const auto& values = std::get<std::vector<double>>(archive.at("wrenches").data);
    const auto width = static_cast<Eigen::Index>(6 * scene.bodies.size());
    for (int k = 0; k < cases; ++k) scene.wrenches.emplace_back(MapConstVec(values.data() + k * width, width));
  }
  return scenes;
}

PeerRun run_engine(const Engine& engine, const PeerScene& scene, const Interpreters& interpreters,
                   const RunOptions& options, const std::string& folder) {
  PeerRun run{engine.name, scene.name, {}, {}};
  if (!interpreters.has(engine)) {
    run.failure = interpreters.how(engine);
    return run;
  }
  if (engine.name == "almond") return run_own(scene, interpreters, options, folder);
  const std::string out = folder + "/" + engine.name + "_" + scene.name + (options.cold ? "_cold" : "") +
                          (options.again ? ".again.json" : ".json");
  std::vector<std::string> command = {interpreters.python.at(engine.package), script()};
  if (options.cold) {
    command.insert(command.end(), {"cold", engine.name, scene.name, std::to_string(scene.wrenches.size()), out});
  } else {
    command.insert(command.end(), {options.again ? "again" : "run", engine.name, scene.name, to_text(options.seconds),
                                   to_text(options.cap_s), out});
  }
  const ProcessResult result = run_process(command, time_limit(options));
  run.trail = out + ".npz";
  flatten(read_json(out), "", run.figures);
  if (!result.started || result.timed_out || result.exit_code != 0) run.failure = describe(result);
  // Poses of an engine whose interpreter lacks the referee.
  if (run.failure.empty() && !options.cold && !options.again && !run.has("judged.finite"))
    judge(scene, interpreters, run.trail, run);
  return run;
}

}  // namespace almond::bench
