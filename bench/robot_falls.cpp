#include "bench/robot_falls.hpp"

#include <algorithm>
#include <cmath>
#include <filesystem>

#include "almond/base/check.hpp"
#include "almond/base/timer.hpp"
#include "almond/load/file_io.hpp"
#include "almond/load/xml_scan.hpp"
#include "bench/runs.hpp"
#include "scenes/file_scene.hpp"

namespace almond::bench {
namespace {

namespace fs = std::filesystem;

bool has_floor(const Model& model) {
  return std::any_of(model.geoms.begin(), model.geoms.end(), [&](const Geom& geom) {
    const bool fixed = geom.body == kGround || model.bodies[geom.body].weld == kGround;
    return fixed && (std::holds_alternative<Plane>(geom.shape) || std::holds_alternative<HeightField>(geom.shape));
  });
}

scenes::LoadedScene load(const std::string& path) {
  SceneFile description = scenes::describe_file(path);
  if (is_urdf(path)) {
    description.robots[0].options.base = Base::kFloating;
    description.floor_below = true;
    return scenes::load_scene(description);
  }
  scenes::LoadedScene loaded = scenes::load_scene(description);
  if (has_floor(loaded.scene.model)) return loaded;
  description.floor_below = true;
  return scenes::load_scene(description);
}

}  // namespace

bool is_urdf(const std::string& path) { return fs::path(path).extension() == ".urdf"; }

std::vector<RobotSource> installed_robots(const std::string& python) {
  std::vector<RobotSource> found;
  std::error_code ignored;
  // Not canonical: the interpreter of a virtual environment is a link to the system's.
  const fs::path library = fs::path(python).parent_path().parent_path() / "lib";
  for (const fs::directory_entry& version : fs::directory_iterator(library, ignored)) {
    const fs::path site = version.path() / "site-packages";
    const auto add = [&](const char* name, const fs::path& folder, bool urdf) {
      if (fs::is_directory(folder)) found.push_back({name, folder.string(), urdf, !urdf});
    };
    add("example-robot-data", site / "cmeel.prefix/share/example-robot-data/robots", true);
    for (const char* name : {"gymnasium", "dm_control", "robosuite"}) add(name, site / name, false);
  }
  return found;
}

RobotFiles find_robot_files(const RobotSource& source) {
  constexpr auto kSkip = fs::directory_options::skip_permission_denied;
  RobotFiles found;
  std::error_code error;
  for (const fs::directory_entry& entry : fs::recursive_directory_iterator(source.folder, kSkip, error)) {
    const std::string path = entry.path().string(), extension = entry.path().extension().string();
    if (!entry.is_regular_file()) continue;
    if (extension == ".urdf" && source.urdf) found.files.push_back(path);
    if (extension != ".xml" || !source.mjcf) continue;
    if (root_element(read_file(path)) == "mujoco") {
      found.files.push_back(path);
    } else {
      ++found.passed_over;
    }
  }
  require(!error, source.folder + ": cannot read this folder: " + error.message());
  std::sort(found.files.begin(), found.files.end());
  return found;
}

Fall let_fall(const std::string& path, double seconds, double limit_s) {
  Fall fall;
  try {
    scenes::LoadedScene loaded = load(path);
    Simulation simulation(std::move(loaded.scene.model), loaded.scene.options);
    const Model& model = simulation.model();
    fall.bodies = model.num_bodies();
    fall.dofs = model.num_v;
    for (const Body& body : model.bodies) fall.mass += body.mass;
    if (fall.dofs == 0) return fall;
    fall.wanted = std::max(1, static_cast<int>(std::lround(seconds / simulation.options().dt)));
    std::vector<double> step_ms;
    bool clear = false;  // of what overlaps in the file already
    const Stopwatch watch;
    while (fall.steps < fall.wanted && watch.elapsed_ms() < 1e3 * limit_s) {
      const StepReport report = simulation.step();
      ++fall.steps;
      fall.unsolved += report.status == Status::kSolved ? 0 : 1;
      fall.contacts = std::max(fall.contacts, report.contacts);
      const double overlap = 1e3 * report.penetration;
      if (fall.steps == 1) fall.start_mm = overlap;
      clear = clear || overlap <= kMostOverlap;
      if (clear) fall.deepest_mm = std::max(fall.deepest_mm, overlap);
      fall.finite = fall.finite && report.status != Status::kNumericalError;
      step_ms.push_back(report.step_ms);
    }
    if (!clear) fall.deepest_mm = fall.start_mm;
    fall.finite = fall.finite && simulation.state().q.allFinite() && simulation.state().v.allFinite();
    fall.median_step_ms = median(step_ms);
  } catch (const std::exception& error) {
    fall.refused = error.what();
  }
  return fall;
}

}  // namespace almond::bench
