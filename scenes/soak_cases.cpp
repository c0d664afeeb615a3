#include "almond/base/check.hpp"
#include "almond/base/text.hpp"
#include "scenes/soak.hpp"

namespace almond::scenes {
namespace {

std::vector<SoakCase> list_cases() {
  std::vector<SoakCase> cases = {
      {"limp_quadrupeds_27", "quadrupeds", {{"robots", 27.0}}},
      {"spheres_200", "spheres", {{"count", 200.0}}},
      {"spheres_1000", "spheres", {{"count", 1000.0}}},
      {"mass_ratio_1e4", "tower", {{"cubes", 5.0}, {"top", 1000.0}}},
      {"thin_cup_3_m_per_s", "pour", {{"balls", 20.0}, {"speed", 3.0}}},
      {"light_cube_squeezed", "gripper", {{"mass", 1e-3}, {"squeeze", 1e4}, {"shake", 1.0}}},
      {"bouncing_ball", "ball", {{"restitution", 1.0}}},
      {"sticks_alone", "sticks", {}, true},
      {"whirling_sticks_alone", "sticks", {{"spin", 300.0}, {"height", 30.0}}, true},
      {"hanging_chain_alone", "hanging_chain", {}, true},
      {"hanging_chain_30_alone", "hanging_chain", {{"links", 30.0}}, true},
      {"pendulum_alone", "pendulum", {}, true},
      {"arm_alone", "arm", {}, true},
      {"chain_alone", "chain", {}, true},
      {"top_alone", "top", {}, true},
      {"painleve_alone", "painleve", {}, true},
      {"tower_alone", "tower", {}, true},
      {"quadrupeds_alone", "quadrupeds", {}, true},
  };
  for (const SceneInfo& info : all_scenes()) {
    if (info.name == "spheres") continue;  // spheres_200 is that scene
    cases.push_back({info.name, info.name, {}});
  }
  return cases;
}

}  // namespace

const std::vector<SoakCase>& soak_cases() {
  static const std::vector<SoakCase> cases = list_cases();
  return cases;
}

bool is_installed(const SoakCase& which) {
  try {
    static_cast<void>(make_scene(which.scene, which.parameters));
    return true;
  } catch (const Error&) {  // a robot's files are missing; a built-in scene is refused for nothing else
    return false;
  }
}

const SoakCase& find_soak_case(const std::string& name) {
  std::vector<std::string> names;
  for (const SoakCase& entry : soak_cases()) {
    if (entry.name == name) return entry;
    names.push_back(entry.name);
  }
  const std::string near = nearest_name(name, names);
  std::string list;
  for (const std::string& known : names) list += (list.empty() ? "" : ", ") + known;
  throw Error("no case of the soak is called " + quote(name) + "; " +
              (near.empty() ? "expected one of " + list : "did you mean " + quote(near) + "?"));
}

}  // namespace almond::scenes
