// Simulations of models, scenes and files, and copies of simulations.

#include "almond/base/text.hpp"
#include "scenes/file_scene.hpp"
#include "simulation.hpp"

namespace almond::python {
namespace {

PySimulationPtr from_model(const Model& model, std::uint64_t seed, const nb::dict& options) {
  scenes::Scene scene;
  scene.name = model.name;
  scene.model = model;
  scene.options = make_options(model);
  apply_options(options, scene.options);
  return std::make_unique<PySimulation>(std::move(scene), seed);
}

/// Keyword arguments that are parameters of the scene are taken out of `given`.
PySimulationPtr from_scene(const std::string& name, std::uint64_t seed, const nb::dict& given) {
  const scenes::SceneInfo& info = scenes::find_scene(name);
  std::vector<std::pair<std::string, double>> parameters;
  nb::dict rest;
  for (const auto& [key, value] : given) {
    const auto k = nb::cast<std::string>(key);
    const bool own = std::any_of(info.parameters.begin(), info.parameters.end(),
                                 [&](const scenes::Parameter& p) { return p.name == k; });
    if (own) {
      parameters.emplace_back(k, read_number(value, k));
    } else {
      rest[key] = value;
    }
  }
  std::vector<std::string> own;
  for (const scenes::Parameter& p : info.parameters) own.push_back(p.name);
  scenes::Scene scene = scenes::make_scene(name, parameters, seed);
  apply_options(rest, scene.options, own);
  const bool has_memory = static_cast<bool>(scene.remember);
  const StepOptions options = scene.options;
  auto result = std::make_unique<PySimulation>(std::move(scene), seed);
  if (has_memory) {  // copies of its functions would share what they remember
    result->again = [=] {
      scenes::Scene fresh = scenes::make_scene(name, parameters, seed);
      fresh.options = options;
      return std::make_unique<PySimulation>(std::move(fresh), seed);
    };
  }
  return result;
}

PySimulationPtr from_file(const std::string& path, std::uint64_t seed, const std::string& base, nb::handle floor,
                          bool hold, const std::string& keyframe, const std::vector<std::string>& search,
                          const nb::dict& joints, const nb::dict& options) {
  SceneFile description = scenes::describe_file(path);
  scenes::add_search(path, search, description);
  for (SceneRobot& robot : description.robots) {
    if (!base.empty()) robot.options.base = base_from_string(base, "base");
    if (!keyframe.empty()) robot.keyframe = keyframe;
    robot.hold = robot.hold || hold;
    for (const auto& [key, value] : joints) {
      const std::string name = read_name(key, "joints");
      robot.options.joints[name] = read_number(value, name);
    }
  }
  if (nb::isinstance<nb::str>(floor)) {
    if (nb::cast<std::string>(floor) != "below")
      raise_value_error("floor: is " + quote(nb::cast<std::string>(floor)) + ", expected a height, \"below\" or None");
    description.floor_below = true;
  } else if (!floor.is_none()) {
    description.floor = read_number(floor, "floor");
  }
  scenes::LoadedScene loaded = scenes::load_scene(description, true);
  apply_options(options, loaded.scene.options);
  auto result = std::make_unique<PySimulation>(std::move(loaded.scene), seed, std::move(loaded.looks),
                                               std::move(loaded.controls));
  result->notes = tell_notes(path, loaded.notes);
  return result;
}

}  // namespace

PySimulationPtr clone(PySimulation& self) {
  const Busy busy(self.busy, "this simulation");
  PySimulationPtr copy =
      self.again ? self.again() : std::make_unique<PySimulation>(self.scene, self.seed, self.looks, self.controls);
  copy->again = self.again;
  copy->notes = self.notes;
  copy->scripted = self.scripted;
  copy->report = self.report;
  restore(read_snapshot(take_snapshot(self.world()), copy->world()), copy->world());
  return copy;
}

void add_makers(nb::module_& m) {
  m.def("simulation_of_model", &from_model, nb::arg("model"), nb::arg("seed"), nb::arg("options"));
  m.def("simulation_of_scene", &from_scene, nb::arg("name"), nb::arg("seed"), nb::arg("options"));
  m.def("simulation_of_file", &from_file, nb::arg("path"), nb::arg("seed"), nb::arg("base"), nb::arg("floor").none(),
        nb::arg("hold"), nb::arg("keyframe"), nb::arg("search"), nb::arg("joints"), nb::arg("options"));
  m.def("is_scene_file", &scenes::is_scene_file);
  m.def("scenes", [] {
    nb::list list;
    for (const scenes::SceneInfo& info : scenes::all_scenes()) {
      nb::dict parameters;
      for (const scenes::Parameter& p : info.parameters) parameters[p.name.c_str()] = nb::make_tuple(p.value, p.text);
      list.append(nb::make_tuple(info.name, info.summary, parameters));
    }
    return list;
  });
}

}  // namespace almond::python
