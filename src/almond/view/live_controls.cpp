#include "almond/view/live_controls.hpp"

#include <cmath>
#include <nlohmann/json.hpp>

namespace almond {
namespace {

using Json = nlohmann::ordered_json;

Slider drive_slider(const Model& model, int d) {
  const Drive& drive = model.drives[d];
  const bool slides = drive.joint >= 0 && model.joints[drive.joint].kind == JointKind::kPrismatic;
  std::string name = drive.name;
  if (name.empty()) name = drive.joint >= 0 ? model.joints[drive.joint].name : model.tendons[drive.tendon].name;
  Slider slider{"drive" + std::to_string(d), name, slides ? "m" : "rad", "drives", -M_PI, M_PI, false};
  if (drive.mode == DriveMode::kTorque) {
    const double most = std::isfinite(drive.effort_limit) ? drive.effort_limit : 100.0;
    slider.unit = slides ? "N" : "N m";
    slider.min = -most;
    slider.max = most;
  } else if (drive.mode == DriveMode::kVelocity) {
    slider.unit = slides ? "m/s" : "rad/s";
    slider.min = -10.0;
    slider.max = 10.0;
  } else if (drive.joint >= 0 && std::isfinite(model.joints[drive.joint].lower) &&
             std::isfinite(model.joints[drive.joint].upper)) {
    slider.min = model.joints[drive.joint].lower;
    slider.max = model.joints[drive.joint].upper;
  } else if (slides) {
    slider.min = -1.0;
    slider.max = 1.0;
  }
  return slider;
}

}  // namespace

std::vector<Slider> make_sliders(const Model& model) {
  std::vector<Slider> all = {
      {"speed", "speed", "x", "world", 0.05, 4.0, true},
      {"gravity", "gravity", "m/s²", "world", 0.0, 25.0, false},
      {"friction", "friction", "x", "world", 0.0, 3.0, false},
      {"dt", "time step", "s", "world", 1e-4, 0.02, true},
      {"budget_ms", "budget", "ms", "solver", 0.0, 20.0, false, "no limit"},
      {"max_iterations", "iterations", "", "solver", 0.0, 200.0, false, "the method's own"},
      {"tol", "tolerance", "N s", "solver", 1e-12, 1e-2, true},
  };
  for (std::size_t d = 0; d < model.drives.size(); ++d) all.push_back(drive_slider(model, static_cast<int>(d)));
  return all;
}

std::string controls_json(const std::vector<Slider>& sliders, SolverKind solver) {
  Json solvers = Json::array(), rows = Json::array();
  for (int k = 0; k < kNumSolverKinds; ++k) solvers.push_back(to_string(static_cast<SolverKind>(k)));
  for (const Slider& s : sliders)
    rows.push_back({{"name", s.name},
                    {"label", s.label},
                    {"unit", s.unit},
                    {"group", s.group},
                    {"min", s.min},
                    {"max", s.max},
                    {"log", s.log},
                    {"zero", s.zero},
                    {"value", s.value}});
  const Json choice = {{"name", "solver"}, {"label", "solver"}, {"values", solvers}, {"value", to_string(solver)}};
  return Json{{"choices", Json::array({choice})}, {"sliders", rows}}.dump(-1, ' ', false,
                                                                          Json::error_handler_t::replace);
}

}  // namespace almond
