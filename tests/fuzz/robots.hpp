#pragma once
// What the targets for robot files share: meshes to refer to, and one step of what came out.

#include "almond/load/file_io.hpp"
#include "almond/sim/step.hpp"
#include "fuzz/fuzz.hpp"
#include "load/robot_samples.hpp"

namespace almond::fuzz {

/// A folder with box.stl, box.obj, box.dae, and other.xml to be included.
inline const std::string& mesh_folder() {
  static const std::string& folder = [&]() -> const std::string& {
    const testing::SampleBox box;
    write_file(own_folder() + "/box.stl", box.stl_binary());
    write_file(own_folder() + "/box.obj", box.obj());
    write_file(own_folder() + "/box.dae", box.dae());
    write_file(own_folder() + "/other.xml", "<mujoco><option timestep=\"0.001\"/></mujoco>");
    return own_folder();
  }();
  return folder;
}

/// Whatever a reader lets through can be stepped, and stays finite.
inline void step_once(Model model) {
  constexpr int kMostBodies = 64;
  if (model.num_bodies() > kMostBodies) return;
  StepOptions options;
  options.solver.max_iterations = 8;  // solvers have a target of their own
  Simulation simulation(std::move(model), options);
  static_cast<void>(simulation.step());
  check(simulation.state().q.allFinite() && simulation.state().v.allFinite(), "a step leaves finite numbers");
}

}  // namespace almond::fuzz
