#pragma once
// The engines of `almond bench peers`: which there are, which are installed, and one run of each on one scene.

#include <map>
#include <string>
#include <vector>

#include "bench/peer_almond.hpp"

namespace almond::bench {

struct Engine {
  std::string name;     // mj_firm, drake_sap, bullet50, almond
  std::string package;  // of PyPI; empty: none is needed
  std::string about;    // its setting
  std::string colour;
  bool solver = false;  // of single problems: it steps no scene
};

/// All of them, in the order of the tables.
[[nodiscard]] const std::vector<Engine>& all_engines();
/// Throws Error naming the option, with the nearest known name.
[[nodiscard]] const Engine& find_engine(const std::string& name);

/// Interpreters and versions by package: ALMOND_PEERS_PYTHON, the checkout's .venv, python3; those of solvers as
/// find_peers() takes them.
struct Interpreters {
  std::string numpy;  // one that has NumPy; empty: there is none
  std::map<std::string, std::string> python, version;

  [[nodiscard]] bool has(const Engine& engine) const {
    return engine.package.empty() || python.count(engine.package) > 0;
  }
  /// What to do about an engine that is not there.
  [[nodiscard]] static std::string how(const Engine& engine);
};
[[nodiscard]] Interpreters find_interpreters();

/// Writes scenes and wrenches into `folder`. Throws Error where Python cannot.
[[nodiscard]] std::map<std::string, PeerScene> export_scenes(const Interpreters& interpreters,
                                                             const std::vector<std::string>& names, int cases,
                                                             const std::string& folder);

struct RunOptions {
  double seconds = 0.0;  // of simulation; 0: as the scene says
  double cap_s = 40.0;   // of wall clock
  bool cold = false;     // single steps under wrenches instead
  bool growth = false;
  bool again = false;  // another pass: its times are all that is wanted
};

/// One engine on one scene. Crashes, hangs and exceptions are told in PeerRun::failure.
[[nodiscard]] PeerRun run_engine(const Engine& engine, const PeerScene& scene, const Interpreters& interpreters,
                                 const RunOptions& options, const std::string& folder);

}  // namespace almond::bench
