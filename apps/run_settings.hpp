#pragma once
// A scene as the command line of `almond run` wants it.

#include <optional>
#include <string>
#include <vector>

#include "scenes/file_scene.hpp"

namespace CLI {
class App;
}

namespace almond::app {

/// How a robot file is read, and what is put beside it.
struct FileArguments {
  std::optional<std::string> base, meshes, keyframe, floor;
  std::vector<std::string> joints;   // NAME=VALUE
  std::vector<std::string> search;   // folders
  std::vector<std::string> objects;  // JSON
  bool hold = false, no_self_collision = false, strict = false;
};

/// What is not given stays as the scene has it.
struct SceneArguments {
  std::string name;  // of a scene, or a file
  FileArguments file;
  std::uint64_t seed = 0;
  bool looks = false;  // read what is only seen, too
  std::optional<std::string> solver;
  std::optional<int> steps, max_iterations, threads;
  std::optional<double> dt, tol, budget_ms, theta;
  std::vector<std::string> assignments;  // key=value: a parameter of the scene, a step option, a solver setting
};

/// Throws Error naming the option, the value and what was expected; unknown keys with the nearest known one. The
/// options as a whole are checked by Simulation.
[[nodiscard]] scenes::LoadedScene make_scene(const SceneArguments& arguments);

/// The file with what the options say of it.
[[nodiscard]] scenes::LoadedScene load_file(const std::string& path, const FileArguments& arguments,
                                            bool with_looks = false);

/// Options of FileArguments, for the commands that read robot files.
void add_file_options(CLI::App& command, FileArguments& arguments);

/// The scene's name and all options that SceneArguments hold, but the number of steps.
void add_scene_options(CLI::App& command, SceneArguments& arguments);

/// "2 spatial tendon, 1 flex"; empty where nothing was ignored.
[[nodiscard]] std::string ignored_text(const FileNotes& notes);

}  // namespace almond::app
