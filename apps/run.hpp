#pragma once
// Runs a scene and keeps what was asked for. Prints nothing and writes no file.

#include <functional>
#include <map>

#include "almond/view/replay.hpp"
#include "apps/run_statistics.hpp"
#include "apps/trajectory.hpp"
#include "scenes/scene.hpp"

namespace almond::app {

struct RunProgress {
  int done = 0, all = 0;          // steps
  double time = 0.0;              // simulated [s]
  double real_time_factor = 0.0;  // simulated by elapsed time
  int unconverged = 0;            // steps so far
  const StepReport& last;
};

struct RunOptions {
  int steps = 1;
  bool trajectory = false;      // keep all poses and velocities
  std::vector<int> dump_steps;  // keep the problems of these steps, counted from 0
  Replay* replay = nullptr;     // takes every step, if there is one
  /// After each step; false ends the run there. May be empty.
  std::function<bool(const RunProgress&)> after_step;
};

struct RunRecord {
  bool interrupted = false;  // ended before all steps were done
  int own_steps = 0;         // of the scene, where it was asked for fewer and missed its goal
  double wall_s = 0.0;
  RunStatistics statistics;
  Energy energy_start, energy_end;
  scenes::Outcome outcome;  // of a run that was interrupted: metrics, no success
  Trajectory trajectory;
  std::map<int, ContactProblem> problems;  // by step, with the start values that the solver had
};

/// Advances the simulation, which holds the scene's model and options, from its present state.
[[nodiscard]] RunRecord run_scene(const scenes::Scene& scene, Simulation& simulation, const RunOptions& options);

}  // namespace almond::app
