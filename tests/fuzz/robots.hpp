#pragma once
// What the targets for robot files share: meshes to refer to, and one step of what came out.

#include <sys/stat.h>

#include <filesystem>

#include "almond/load/file_io.hpp"
#include "almond/sim/step.hpp"
#include "fuzz/fuzz.hpp"
#include "load/robot_samples.hpp"

namespace almond::fuzz {

/// A folder with box.stl, box.obj, box.dae, leg.urdf, other.xml to be included, and what is none of a plain file: a
/// pipe, a folder and a link that leads out. Outside lie pipes: who opens one waits for ever, and is found.
inline const std::string& mesh_folder() {
  static const std::string folder = [] {
    namespace fs = std::filesystem;
    const testing::SampleBox box;
    std::string own = own_folder() + "/bot";
    fs::create_directories(own + "/sub");
    write_file(own + "/box.stl", box.stl_binary());
    write_file(own + "/box.obj", box.obj());
    write_file(own + "/box.dae", box.dae());
    write_file(own + "/sub/box.stl", box.stl_binary());
    const std::string inertial =
        R"(<inertial><mass value="1"/><inertia ixx="0.01" ixy="0" ixz="0" iyy="0.01" iyz="0" izz="0.01"/></inertial>)";
    write_file(own + "/leg.urdf", R"(<robot name="leg"><link name="thigh">)" + inertial +
                                      R"(</link><link name="shank">)" + inertial +
                                      R"(<collision><geometry><sphere radius="0.04"/></geometry></collision></link>
<joint name="knee" type="revolute"><parent link="thigh"/><child link="shank"/><axis xyz="0 1 0"/><origin xyz="0 0 -0.3"/>
<limit lower="-2.5" upper="0.5" effort="60" velocity="10"/></joint></robot>)");
    for (const char* const name : {"/other.xml", "/sub/other.xml"})
      write_file(own + name, "<mujoco><option timestep=\"0.001\"/></mujoco>");
    fs::create_directories(own + "/folder.stl");
    for (const std::string& pipe : {own + "/pipe.stl", own_folder() + "/secret.stl", own_folder() + "/secret.xml"})
      check(::mkfifo(pipe.c_str(), 0600) == 0, "pipes can be made");
    fs::create_symlink(own_folder() + "/secret.stl", own + "/out.stl");
    fs::create_symlink("pipe.stl", own + "/to_pipe.stl");
    return own;
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
