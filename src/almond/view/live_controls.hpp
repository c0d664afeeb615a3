#pragma once
// What can be set while a simulation runs: its sliders, and how a page is told of them.

#include <string>
#include <vector>

#include "almond/model/model.hpp"
#include "almond/solver/result.hpp"

namespace almond {

struct Slider {
  std::string name, label, unit, group;
  double min = 0.0, max = 1.0;
  bool log = false;
  std::string zero = {};  // what 0 means, if not a number
  double value = 0.0;
};

/// Those of the world and the solver, and one "drive0", "drive1", ... for each drive. Without values.
[[nodiscard]] std::vector<Slider> make_sliders(const Model& model);

/// As the page takes it: {"choices": [the solver], "sliders": [...]}.
[[nodiscard]] std::string controls_json(const std::vector<Slider>& sliders, SolverKind solver);

}  // namespace almond
