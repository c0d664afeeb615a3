// Table I: what other engines solve, by what, and which of them are installed here.

#include <nlohmann/json.hpp>

#include "almond/load/file_io.hpp"
#include "bench/paper.hpp"
#include "bench/process.hpp"
#include "bench/scripts.hpp"

namespace almond::bench {

Report run_engines(const BenchOptions& options) {
  Report report;
  report.name = "engines";
  report.title = "Engines, their contact models and solvers (Table I)";
  report.lead =
      "What each engine makes of the contact law, and how it solves that, as the paper's Table I has it, and the "
      "version "
      "that this machine has. LCP: pyramids for cones; convex: slip lifts off, contact is soft; NCP: the law itself.";
  struct Engine {
    const char *name, *model, *solver, *how;
  };
  const Engine engines[] = {{"Bullet", "LCP", "direct, PGS", "pip install pybullet"},
                            {"MuJoCo", "convex", "Newton, CG, PGS", "pip install mujoco"},
                            {"DART", "LCP", "direct, PGS", "pip install dartpy"},
                            {"PhysX", "NCP", "PGS, TGS", "no package for Debian or PyPI"},
                            {"Drake", "convex", "Newton", "pip install drake"},
                            {"ODE", "LCP", "direct, PGS", "apt-get install libode-dev"}};
  options.progress("which engines are installed");
  nlohmann::json versions = nlohmann::json::object();
  const TemporaryFolder folder;
  const std::string file = folder.path() + "/engines.json", script = find_script("engines.py");
  for (const std::string& python : {find_python(), std::string("python3")}) {
    const ProcessResult result = run_process({python, script, file}, 60e3);
    if (!result.started || result.exit_code != 0) continue;
    const nlohmann::json found = nlohmann::json::parse(read_file(file), nullptr, false);
    if (!found.is_object()) continue;
    for (const auto& [name, version] : found.items())
      if (version.is_string() && !versions.contains(name)) versions[name] = version;
  }
  Table table{"table1", "Table I", "", {"engine", "model", "solver", "installed"}, {}};
  for (const Engine& engine : engines) {
    const bool here = versions.contains(engine.name);
    table.rows.push_back({text_cell(engine.name), text_cell(engine.model), text_cell(engine.solver),
                          here ? text_cell(versions[engine.name].get<std::string>(), Tone::kGood)
                               : text_cell(std::string("no: ") + engine.how, Tone::kQuiet)});
  }
  table.rows.push_back({text_cell("Almond"), text_cell("NCP"), text_cell("CANAL, SubADMM, SPN, PGS"),
                        text_cell(ALMOND_VERSION, Tone::kGood)});
  report.tables.push_back(std::move(table));
  return report;
}

}  // namespace almond::bench
