#include "apps/run_settings.hpp"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cmath>
#include <filesystem>
#include <map>

#include "almond/base/check.hpp"
#include "almond/base/text.hpp"
#include "almond/base/timer.hpp"
#include "almond/sim/option_fields.hpp"
#include "apps/common.hpp"

namespace almond::app {
namespace {

/// False where no step option has this name.
bool set_step_option(const std::string& key, const std::string& value, StepOptions& options) {
  const std::map<std::string, StepField> fields = step_fields(options);
  const auto found = fields.find(key);
  if (found == fields.end()) return false;
  if (double* const* number = std::get_if<double*>(&found->second)) **number = parse_value(key, value);
  if (int* const* whole = std::get_if<int*>(&found->second)) **whole = parse_whole_value(key, value);
  return true;
}

std::vector<std::string> known_keys(const scenes::SceneInfo& info) {
  std::vector<std::string> names;
  for (const scenes::Parameter& parameter : info.parameters) names.push_back(parameter.name);
  StepOptions options;
  for (const auto& [name, field] : step_fields(options)) names.push_back(name);
  const std::vector<std::string> settings = setting_names();
  names.insert(names.end(), settings.begin(), settings.end());
  return names;
}

[[noreturn]] void refuse_key(const std::string& key, const scenes::SceneInfo& info) {
  const std::string near = nearest_name(key, known_keys(info));
  std::string own;
  for (const scenes::Parameter& parameter : info.parameters) own += (own.empty() ? "" : ", ") + parameter.name;
  throw Error("--set " + quote(key) + ": no such parameter or setting; " +
              (!near.empty() ? "did you mean " + near + "?"
               : own.empty() ? info.name + " has no parameters"
                             : info.name + " has " + own));
}

bool any_given(const FileArguments& a) {
  return a.base || a.meshes || a.keyframe || !a.joints.empty() || !a.search.empty() || !a.objects.empty() || a.floor ||
         a.hold || a.no_self_collision;
}

/// A scene without parameters: only step options and solver settings can be set.
scenes::SceneInfo info_of_file(const std::string& name) { return {name, "", {}, {}}; }

template <class Value>
void set_if_given(const std::optional<Value>& given, Value& field) {
  if (given) field = *given;
}

}  // namespace

scenes::LoadedScene load_file(const std::string& path, const FileArguments& arguments, bool with_looks) {
  constexpr double kQuickMs = 500.0, kShowEveryMs = 100.0;
  Progress progress;
  const Stopwatch since_start;
  Stopwatch since_shown;
  const auto show = [&](const std::string& text) {
    if (since_start.elapsed_ms() < kQuickMs || since_shown.elapsed_ms() < kShowEveryMs) return;
    progress.show(text);
    since_shown.restart();
  };
  const ShareProgress show_grid = [&](const std::string& what, double share) {
    show(what + ": distances " + std::to_string(static_cast<int>(100.0 * share)) + " %");
  };
  SceneFile description = scenes::describe_file(path, show_grid);
  scenes::add_search(path, arguments.search, description);
  for (SceneRobot& robot : description.robots) {
    FileOptions& options = robot.options;
    options.progress = [&, name = std::filesystem::path(robot.path).filename().string()](int done, int all) {
      show(name + ": meshes " + std::to_string(done) + " of " + std::to_string(all));
    };
    options.grid_progress = show_grid;
    if (arguments.base) options.base = base_from_string(*arguments.base, "--base");
    if (arguments.meshes) options.meshes = mesh_use_from_string(*arguments.meshes, "--meshes");
    if (arguments.keyframe) robot.keyframe = *arguments.keyframe;
    for (const std::string& assignment : arguments.joints) {
      const std::size_t equals = assignment.rfind('=');
      require(equals != std::string::npos && equals > 0, "--joint " + assignment + ": expected NAME=VALUE");
      options.joints[assignment.substr(0, equals)] =
          parse_number("--joint " + assignment, assignment.substr(equals + 1));
    }
    robot.hold = robot.hold || arguments.hold;
    options.self_collision = options.self_collision && !arguments.no_self_collision;
  }
  if (arguments.floor) {
    description.floor_below = *arguments.floor == "below";
    if (description.floor_below) description.floor.reset();
    if (!description.floor_below) description.floor = parse_number("--floor " + *arguments.floor, *arguments.floor);
  }
  for (std::size_t i = 0; i < arguments.objects.size(); ++i)
    description.objects.push_back(parse_object(arguments.objects[i], "--object", show_grid));
  scenes::LoadedScene loaded;
  try {
    loaded = scenes::load_scene(description, with_looks);
  } catch (const Error& error) {  // what the builder says of an element does not name the file
    const std::string what = error.what();
    throw Error(what.find(path) == std::string::npos ? path + ": " + what : what);
  }
  const std::map<std::string, int> lost = lost_elements(loaded.notes);
  require(!arguments.strict || lost.empty(),
          path + ": has elements without effect: " + elements_text(lost) + " (--strict)");
  return loaded;
}

void add_file_options(CLI::App& command, FileArguments& a) {
  command.add_option("--base", a.base, "of robot files: file (default), fixed or floating");
  command.add_option("--joint", a.joints, "NAME=VALUE: start value of a joint of a robot file; may be repeated")
      ->allow_extra_args(false);
  command.add_option("--keyframe", a.keyframe, "start at a keyframe of an MJCF file");
  command.add_flag("--hold", a.hold, "drives keep all joints without one where they start");
  command.add_option("--meshes", a.meshes, "collide as: hull (default), triangles or none");
  command
      .add_option("--search", a.search,
                  "a folder for package:// and relative mesh paths, and for robots of scene files; may be repeated")
      ->allow_extra_args(false);
  command.add_flag("--no-self-collision", a.no_self_collision, "links of one robot file do not touch each other");
  command.add_option("--floor", a.floor, "put a floor at this height, or \"below\": 5 cm below everything");
  command
      .add_option("--object", a.objects,
                  "JSON of one object of a scene file, such as '{\"shape\": \"box\", \"size\": [1, 1, 0.1]}'; "
                  "may be repeated")
      ->allow_extra_args(false);
}

void add_scene_options(CLI::App& command, SceneArguments& s) {
  command.add_option("SCENE", s.name,
                     "a scene by name (almond scenes lists them), or a file: .urdf, .xml, .mjcf, .json");
  command.add_option("--solver", s.solver,
                     "auto (default), canal, subadmm, spn, pgs, admm-nosub, admm-nobody, dogleg, damped-sn");
  expect_number(command.add_option("--dt", s.dt, "time step in seconds (default: the scene's, mostly 1/240)"));
  expect_number(command.add_option("--theta", s.theta, "0 (default): semi-implicit Euler; 0.5: leapfrog; below 1"));
  expect_number(command.add_option(
      "--tol", s.tol,
      "paper residual to reach; the natural map must reach a tenth of it (default 1e-8; in models of more "
      "than 120 degrees of freedom 1e-6, and a natural map of 1e-4, unless --set crowd_tol=0)"));
  expect_whole(command.add_option("--max-iters", s.max_iterations,
                                  "limit of outer iterations of each step (default 0: the method's own)"));
  expect_number(
      command.add_option("--budget-ms", s.budget_ms, "wall-clock limit of each step's solve (default 0: none)"));
  expect_whole(
      command.add_option("--threads", s.threads, "workers inside one solve (default 1); the same bits for any number"));
  expect_seed(command.add_option("--seed", s.seed, "decides everything random in a scene (default 0)"));
  command.add_option(
      "--set", s.assignments,
      "key=value: a parameter of the scene, a step option (erp, closure_erp, max_correction, restitution_threshold, "
      "margin, max_points_per_pair, theta), or a solver setting; may be repeated");
  add_file_options(command, s.file);
}

std::string ignored_text(const FileNotes& notes) { return elements_text(notes.ignored); }

namespace {

/// A file that is no scene was not meant as the name of one.
scenes::SceneInfo info_of_name(const std::string& name) {
  const auto& all = scenes::all_scenes();
  const bool known = std::any_of(all.begin(), all.end(), [&](const auto& info) { return info.name == name; });
  std::error_code code;
  if (known || !std::filesystem::exists(name, code)) return scenes::find_scene(name);
  require(!std::filesystem::is_directory(name, code), name + ": is a folder, expected a scene or a file of one");
  require(!is_page(name), name + ": is a replay, which almond view and almond compare take");
  const std::string ending = std::filesystem::path(name).extension().string();
  throw Error(name + ": is no scene, robot or replay by its ending" + (ending.empty() ? ", it has none" : "") +
              "; expected .urdf, .xml, .mjcf or .json, or with almond view .html");
}

}  // namespace

scenes::LoadedScene make_scene(const SceneArguments& arguments) {
  require(!arguments.name.empty(), "no scene given; almond scenes lists them");
  require(arguments.steps.value_or(1) >= 1,
          "--steps " + std::to_string(arguments.steps.value_or(0)) + ": expected at least 1");
  const bool is_file = scenes::is_scene_file(arguments.name);
  require(is_file || !any_given(arguments.file),
          arguments.name + ": is no file (.urdf, .xml, .mjcf, .json), but an option for files is given");
  const scenes::SceneInfo info = is_file ? info_of_file(arguments.name) : info_of_name(arguments.name);
  std::vector<std::pair<std::string, double>> parameters;
  std::vector<std::pair<std::string, std::string>> step_options;
  std::vector<std::string> solver_settings;
  const std::vector<std::string> settings = setting_names();
  for (const std::string& assignment : arguments.assignments) {
    const auto [key, value] = split_assignment(assignment);
    const bool is_parameter = std::any_of(info.parameters.begin(), info.parameters.end(),
                                          [&key = key](const scenes::Parameter& p) { return p.name == key; });
    StepOptions unused;
    if (is_parameter) {
      parameters.emplace_back(key, parse_value(key, value));
      require(std::isfinite(parameters.back().second), "--set " + assignment + ": expected a finite number");
    } else if (set_step_option(key, value, unused)) {
      step_options.emplace_back(key, value);
    } else if (std::find(settings.begin(), settings.end(), key) != settings.end()) {
      solver_settings.push_back(assignment);
    } else {
      refuse_key(key, info);
    }
  }
  scenes::LoadedScene loaded;
  if (is_file) {
    loaded = load_file(arguments.name, arguments.file, arguments.looks);
  } else {
    loaded.scene = scenes::make_scene(arguments.name, parameters, arguments.seed);
    if (arguments.looks && loaded.scene.make_looks) loaded.looks = loaded.scene.make_looks();
  }
  scenes::Scene& scene = loaded.scene;
  StepOptions& options = scene.options;
  if (arguments.solver) options.solver.solver = solver_from_string(*arguments.solver);
  const double usual_dt = options.dt;
  set_if_given(arguments.max_iterations, options.solver.max_iterations);
  set_if_given(arguments.threads, options.solver.threads);
  set_if_given(arguments.dt, options.dt);
  set_if_given(arguments.tol, options.solver.tol);
  set_if_given(arguments.budget_ms, options.solver.budget_ms);
  set_if_given(arguments.theta, options.theta);
  for (const auto& [key, value] : step_options) set_step_option(key, value, options);
  for (const std::string& assignment : solver_settings) apply_setting(assignment, options.solver);
  // Beyond these, what moves in a step is lost in the rounding of where things are.
  require(!(options.dt > 0.0) || (options.dt >= kShortestTimeStep && options.dt <= kLongestTimeStep) ||
              !std::isfinite(options.dt),
          arguments.name + ": dt is " + to_text(options.dt) + " s, expected " + to_text(kShortestTimeStep) + " to " +
              to_text(kLongestTimeStep));
  // Another time step, given either way: as long as the scene lasts, in more or fewer of them.
  if (options.dt > 0.0)
    scene.steps = static_cast<int>(std::clamp(std::round(scene.steps * (usual_dt / options.dt)), 1.0, 1e9));
  if (arguments.steps && *arguments.steps < scene.steps) scene.own_steps = scene.steps;
  set_if_given(arguments.steps, scene.steps);
  return loaded;
}

}  // namespace almond::app
