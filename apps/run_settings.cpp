#include "apps/run_settings.hpp"

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <map>
#include <variant>

#include "almond/base/check.hpp"
#include "almond/base/text.hpp"
#include "apps/common.hpp"

namespace almond::app {
namespace {

using StepField = std::variant<double*, int*>;

/// Fields of StepOptions that --set reaches.
std::map<std::string, StepField> step_fields(StepOptions& options) {
  return {{"dt", &options.dt},
          {"theta", &options.theta},
          {"erp", &options.erp},
          {"closure_erp", &options.closure_erp},
          {"max_correction", &options.max_correction},
          {"restitution_threshold", &options.restitution_threshold},
          {"margin", &options.collision.margin},
          {"max_points_per_pair", &options.collision.max_points_per_pair}};
}

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

void refuse_files(const std::string& name) {
  std::string extension = std::filesystem::path(name).extension().string();
  std::transform(extension.begin(), extension.end(), extension.begin(),
                 [](char c) { return static_cast<char>(std::tolower(static_cast<unsigned char>(c))); });
  require(extension != ".urdf" && extension != ".xml" && extension != ".mjcf" && extension != ".xacro",
          name + ": robot files are not read yet; almond scenes lists what can be run");
}

template <class Value>
void set_if_given(const std::optional<Value>& given, Value& field) {
  if (given) field = *given;
}

}  // namespace

scenes::Scene make_scene(const SceneArguments& arguments) {
  require(!arguments.name.empty(), "run: no scene given; almond scenes lists them");
  refuse_files(arguments.name);
  const scenes::SceneInfo& info = scenes::find_scene(arguments.name);
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
  scenes::Scene scene = scenes::make_scene(arguments.name, parameters, arguments.seed);
  StepOptions& options = scene.options;
  if (arguments.solver) options.solver.solver = solver_from_string(*arguments.solver);
  set_if_given(arguments.steps, scene.steps);
  set_if_given(arguments.max_iterations, options.solver.max_iterations);
  set_if_given(arguments.threads, options.solver.threads);
  set_if_given(arguments.dt, options.dt);
  set_if_given(arguments.tol, options.solver.tol);
  set_if_given(arguments.budget_ms, options.solver.budget_ms);
  set_if_given(arguments.theta, options.theta);
  for (const auto& [key, value] : step_options) set_step_option(key, value, options);
  for (const std::string& assignment : solver_settings) apply_setting(assignment, options.solver);
  require(scene.steps >= 1, "--steps " + std::to_string(scene.steps) + ": expected at least 1");
  return scene;
}

}  // namespace almond::app
