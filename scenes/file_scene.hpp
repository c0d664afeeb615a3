#pragma once
// Scenes from files: robots in URDF and MJCF, scene files with several of them.

#include "almond/load/mjcf.hpp"
#include "almond/load/scene_file.hpp"
#include "scenes/scene.hpp"

namespace almond::scenes {

struct LoadedScene {
  Scene scene;
  FileNotes notes;
  std::vector<Control> controls;  // of all MJCF files, in order
  std::vector<Look> looks;        // what is only seen, if it was asked for
};

/// Sets the inputs of drives from the controls of an MJCF file.
void apply_controls(const std::vector<Control>& controls, const VecX& ctrl, Inputs& inputs);

/// Whether a name is that of a file: .urdf, .xml, .mjcf or .json.
[[nodiscard]] bool is_scene_file(const std::string& name);

/// A scene of one robot file, or what a .json scene file describes.
[[nodiscard]] SceneFile describe_file(const std::string& path, const ShareProgress& progress = {});

/// Folders for the robots of a scene file that do not lie beside it, and for meshes of all robots, before all others.
void add_search(const std::string& path, const std::vector<std::string>& folders, SceneFile& description);

/// Reads all files and builds the world. Pairs of bodies of one robot that overlap at the start by more than 0.1 mm
/// never collide, and the notes say which. `with_looks`: what is only seen is read, too. Throws Error.
[[nodiscard]] LoadedScene load_scene(const SceneFile& description, bool with_looks = false);

}  // namespace almond::scenes
