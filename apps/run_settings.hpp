#pragma once
// A scene as the command line of `almond run` wants it.

#include <optional>
#include <string>
#include <vector>

#include "scenes/scene.hpp"

namespace almond::app {

/// What is not given stays as the scene has it.
struct SceneArguments {
  std::string name;
  std::uint64_t seed = 0;
  std::optional<std::string> solver;
  std::optional<int> steps, max_iterations, threads;
  std::optional<double> dt, tol, budget_ms, theta;
  std::vector<std::string> assignments;  // key=value: a parameter of the scene, a step option, a solver setting
};

/// Throws Error naming the option, the value and what was expected; unknown keys with the nearest known one. The
/// options as a whole are checked by Simulation.
[[nodiscard]] scenes::Scene make_scene(const SceneArguments& arguments);

}  // namespace almond::app
