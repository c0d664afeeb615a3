#pragma once
// Scenes by name: a model, how it is driven, how it is judged. Shared by the program, the tests and the benchmarks.

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "almond/model/look.hpp"
#include "almond/sim/step.hpp"

namespace almond::scenes {

class Memory;  // memory.hpp

struct Metric {
  std::string name;  // ends with its unit: sink_mm
  double value;
};

struct Outcome {
  std::optional<bool> success;  // none: the scene has no goal
  std::vector<Metric> metrics;
  std::string reached = {};  // how far a task came and what stopped it; empty: the scene has none
};

/// What a parameter may be: low to high, or above low.
struct Range {
  double low = -1e6, high = 1e6;
  bool whole = false, above = false;

  [[nodiscard]] bool has(double value) const;  // false for NaN
};
/// "0.1 to 8", "a whole number from 1 to 60", "> 0, at most 1e6".
[[nodiscard]] std::string expected_text(const Range& range);

/// What a scene can be given: `--set name=value`.
struct Parameter {
  std::string name;
  double value;      // the default
  std::string text;  // what it means, with its unit
  Range range = {};
};

struct Scene {
  std::string name;
  Model model;
  StepOptions options;
  int steps = 720;    // of a run without --steps
  int own_steps = 0;  // those of a run that asks for fewer; 0: it asks for none or more
  /// Before each step: inputs from the time and the state. May be empty.
  std::function<void(Simulation&)> control;
  bool has_task = false;  // `control` remembers how far it is: it cannot go on from a state alone
  /// After each step. May be empty.
  std::function<void(Simulation&, const StepReport&)> observe;
  /// Writes or reads what the others remember between steps. Empty: nothing.
  std::function<void(Memory&)> remember;
  /// After the last step. May be empty.
  std::function<Outcome(Simulation&)> judge;
  /// What is only seen: reads meshes, so it is called where something is drawn. May be empty.
  std::function<std::vector<Look>()> make_looks;
};

struct SceneInfo {
  std::string name;
  std::string summary;  // one line
  std::vector<Parameter> parameters;
  /// `values` as `parameters`; the seed decides everything random.
  std::function<Scene(const std::vector<double>& values, std::uint64_t seed)> make;
};

/// All scenes, in the order in which they are listed.
[[nodiscard]] const std::vector<SceneInfo>& all_scenes();

/// Throws Error with the nearest known name.
[[nodiscard]] const SceneInfo& find_scene(const std::string& name);

/// The scene with some parameters given. Throws Error naming an unknown parameter and the nearest known one, or a value
/// out of range.
[[nodiscard]] Scene make_scene(const std::string& name, const std::vector<std::pair<std::string, double>>& given = {},
                               std::uint64_t seed = 0);

/// Height of a body over the hand of the gripper scenes [m].
[[nodiscard]] double offset_in_hand(Simulation& sim, const std::string& body);

}  // namespace almond::scenes
