#pragma once
// Almond on the scenes of peer_scenes.py, from the same MJCF that MuJoCo runs, with the default setting. What comes out
// is what peer_run.py writes for the other engines.

#include <map>
#include <string>
#include <vector>

#include "almond/base/types.hpp"
#include "almond/solver/problem.hpp"

namespace almond::bench {

/// A scene as peer_run.py exported it.
struct PeerScene {
  std::string name;
  std::string mjcf;                 // path
  int steps = 0, settle = 0;        // of a run; before the wrenches of cold cases
  std::vector<std::string> bodies;  // in the order of the poses
  std::vector<VecX> wrenches;       // (cases) 6 per body: force, torque
};

/// One engine on one scene: figures by the names that peer_run.py gives them, nested ones as "cpu.median".
struct PeerRun {
  std::string engine, scene;
  std::string failure;  // why there are no figures; empty: there are
  std::string trail;    // .npz with its poses and the time of each step, as long as the benchmark runs; may be empty
  std::map<std::string, double> figures = {};
  double took_ms = 0.0;                                    // wall clock of the first pass, with what goes with it
  std::vector<std::map<std::string, double>> passes = {};  // the figures of each pass; empty: there was one

  /// NaN where there is none.
  [[nodiscard]] double at(const std::string& figure) const;
  [[nodiscard]] bool has(const std::string& figure) const { return figures.count(figure) > 0; }
};

/// "cpu.median", "cpu.p95" and "cpu.max" of the values.
void add_spread(const std::string& name, const std::vector<double>& values, PeerRun& run);

/// Steps the scene, for `cap_s` of wall clock at most, and writes poses and contacts for the referee into `trail` (an
/// .npz; empty: they are not kept). `growth`: only the last pose. Of those, and of runs that the cap cuts, only the
/// second half of the steps is counted, as what falls freely costs nothing.
[[nodiscard]] PeerRun run_almond(const PeerScene& scene, int steps, double cap_s, bool growth,
                                 const std::string& trail);

/// [N s] about what the peers' loaded steps of cubes and dishes end at; Almond's time to it stands beside that to an
/// exact answer.
inline constexpr double kRoughResidual = 2e-4;

/// Single steps under the wrenches from the settled state, nothing known from before.
[[nodiscard]] PeerRun run_almond_cold(const PeerScene& scene, const std::string& trail);

/// The contact problem of the first of these steps. Throws Error where the scene cannot be read.
[[nodiscard]] ContactProblem make_cold_problem(const PeerScene& scene);

}  // namespace almond::bench
