// Scene files: a world that can be built and stepped, or one line.

#include "almond/load/scene_file.hpp"
#include "fuzz/robots.hpp"
#include "scenes/file_scene.hpp"

namespace almond::fuzz {

void read_input(const std::string& input) {
  const SceneFile scene = parse_scene(input, mesh_folder(), "input.json");
  step_once(scenes::load_scene(scene).scene.model);
}

std::vector<std::string> make_seeds() {
  return {
      repository_file("examples/scenes/heap.json"),
      R"({"almond_scene": 1, "name": "n", "gravity": [0, 0, -9.81], "time_step": 0.004, "steps": 10, "floor": {"height": 0, "friction": 0.5},
"robots": [{"file": "leg.urdf", "name": "l", "base": "floating", "position": [0, 0, 1], "joints": {"knee": 0.1}, "hold": true}],
"objects": [{"name": "b", "shape": "box", "size": [0.1, 0.2, 0.3], "mass": 1, "position": [0, 0, 2], "velocity": [1, 0, 0, 0, 0, 0]},
{"shape": "mesh", "file": "box.obj", "scale": 0.1, "mass": 2, "position": [3, 0, 1], "quaternion": [1, 0, 0, 0]},
{"shape": "capsule", "size": [0.1, 0.3], "mass": 1, "position": [5, 0, 1], "friction": 0.2, "restitution": 0.1}]})",
      R"({"almond_scene": 1, "robots": [{"file": "sub/../leg.urdf", "search": ["sub"]}], "objects": [{"shape": "mesh", "file": "sub/box.stl", "mass": 1},
{"shape": {"kind": "mesh_sdf", "file": "missing/../../secret.stl"}, "mass": 1}, {"shape": "mesh", "file": "pipe.stl", "mass": 1}]})",
      // Surfaces take their time; a ball has the least.
      R"({"almond_scene": 1, "floor": "below", "objects": [{"shape": {"kind": "sphere", "radius": 0.1, "surface": {"max_edge": 0.1}}, "mass": 1}]})",
  };
}

}  // namespace almond::fuzz
