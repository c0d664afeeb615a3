#pragma once
// A running world: what Python's Simulation holds.

#include <functional>
#include <memory>

#include "almond/load/mjcf.hpp"
#include "almond/view/painter.hpp"
#include "almond/view/replay.hpp"
#include "parts.hpp"
#include "snapshot.hpp"

namespace almond::python {

/// A simulation with what a scene adds to it.
struct PySimulation {
  explicit PySimulation(scenes::Scene s, std::uint64_t start_seed, std::vector<Look> l = {},
                        std::vector<Control> c = {})
      : scene(std::move(s)),
        simulation(scene.model, scene.options, start_seed),
        looks(std::move(l)),
        controls(std::move(c)),
        seed(start_seed),
        start_memory(read_memory(scene)) {
    wrenches.setZero(static_cast<Eigen::Index>(scene.model.bodies.size()), 6);
  }

  scenes::Scene scene;
  Simulation simulation;
  std::vector<Look> looks;
  std::vector<Control> controls;
  std::vector<std::string> notes;
  std::uint64_t seed;        // that reset() begins with
  std::string start_memory;  // of the script
  MatXr wrenches;            // (bodies, 6): force, torque
  StepReport report;
  ReplayOptions recording;
  std::unique_ptr<Replay> replay;
  std::unique_ptr<Painter> painter;                      // since the first picture
  bool scripted = true;                                  // the scene's own control acts
  bool has_last = false;                                 // last() is the step that led to the state
  std::function<std::unique_ptr<PySimulation>()> again;  // makes it anew, where its script cannot be copied
  std::atomic<bool> busy{false};

  [[nodiscard]] const Model& model() const { return simulation.model(); }
  [[nodiscard]] World world() {
    return {model(), simulation.state(), simulation.inputs(), {wrenches.data(), wrenches.rows(), 6}, &scene};
  }
};

using PySimulationPtr = std::unique_ptr<PySimulation>;

/// Another world in the same state, that goes on by itself: without what was recorded.
[[nodiscard]] PySimulationPtr clone(PySimulation& self);

/// The functions that make simulations.
void add_makers(nb::module_& m);

}  // namespace almond::python
