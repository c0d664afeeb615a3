#pragma once
// A task is a list of phases, one after the other. Each acts before every step until it is done, then is checked; the
// first check that fails ends the task, and the report says which, with its value and what was expected.
//
//   Task task{{{.name = "reach", .duration = 1.0, .act = ..., .check = ...}, ...}};
//   while (!task.over()) { advance(task, simulation); simulation.step(); }
//   std::puts(describe(task).c_str());

#include <functional>
#include <string>
#include <vector>

#include "almond/sim/step.hpp"

namespace almond {

/// A figure and the range it should lie in.
struct Check {
  std::string name;  // ends with its unit: travel_mm
  double value = 0.0;
  double low = -kInfinity, high = kInfinity;

  [[nodiscard]] bool good() const { return value >= low && value <= high; }  // false for NaN
};
/// "travel_mm is 3.2, expected 10 to 11", "..., expected at least 10", "..., expected at most 11".
[[nodiscard]] std::string to_text(const Check& check);

struct Phase {
  std::string name;
  double duration = kInfinity;  // at most [s]; without `done` it lasts exactly so long
  /// Once, before the first step of the phase. May be empty.
  std::function<void(Simulation&)> begin = {};
  /// Before each step, with the time since the phase began. May be empty.
  std::function<void(Simulation&, double t)> act = {};
  /// It is at its end when this holds. May be empty. Where it is given and `duration` passes first, the phase has
  /// failed, with the figure that it came to.
  std::function<Check(Simulation&, double t)> done = {};
  /// What must hold at its end. May be empty.
  std::function<std::vector<Check>(Simulation&)> check = {};
};

struct Task {
  std::vector<Phase> phases;
  std::size_t current = 0;         // phases.size(): all are done
  bool begun = false;              // the current phase
  double began = 0.0;              // when [s]
  std::vector<Check> checks = {};  // of phases that are done, named "phase: check"
  std::string failure = {};        // empty: none

  [[nodiscard]] bool over() const { return !failure.empty() || current == phases.size(); }
  [[nodiscard]] bool done() const { return failure.empty() && current == phases.size(); }
};

/// Call before each step: ends phases that are done and lets the present one act. A task that is over leaves the inputs
/// as they are.
void advance(Task& task, Simulation& simulation);

/// "done: 5 phases" or "phase 3 of 5, screw: travel_mm is 3.2, expected at least 10", or "phase 3 of 5, screw".
[[nodiscard]] std::string describe(const Task& task);

}  // namespace almond
