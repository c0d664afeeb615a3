#pragma once
// Scene files: several robot files and objects in one world. JSON; the fields are in docs/formats.md and
// docs/scene.schema.json.

#include <optional>

#include "almond/load/robot_file.hpp"

namespace almond {

/// One robot file, put somewhere.
struct SceneRobot {
  std::string path;
  FileOptions options;
  std::string keyframe;  // of an MJCF file; empty: its reference
  bool hold = false;     // drives on all joints that have none keep them where they start
};

/// A shape, free where it has a mass.
struct SceneObject {
  std::string name;
  Shape shape = Sphere{0.1};
  Pose X_WB;
  Material material;
  std::optional<double> mass;  // [kg]
  Vec6 velocity = Vec6::Zero();
  FileNotes notes;  // on its mesh
};

struct SceneFile {
  std::string name;
  std::optional<Vec3> gravity;  // else that of the first MJCF file, else 9.81 downwards
  std::optional<double> time_step;
  std::optional<int> steps;
  std::optional<double> floor;  // height of a plane
  bool floor_below = false;     // a plane 5 cm below the lowest point at the start instead
  Material floor_material;
  std::vector<SceneRobot> robots;
  std::vector<SceneObject> objects;
};

/// Throws Error with file, field, value and what was expected. Paths are taken from the file's own folder.
/// `progress` is told of distance grids, which may take long.
[[nodiscard]] SceneFile load_scene_file(const std::string& path, const ShareProgress& progress = {});
[[nodiscard]] SceneFile parse_scene(const std::string& text, const std::string& folder, const std::string& place,
                                    const ShareProgress& progress = {});
/// One object from the JSON of a scene file's list, as the command line takes it.
[[nodiscard]] SceneObject parse_object(const std::string& text, const std::string& place,
                                       const ShareProgress& progress = {});

[[nodiscard]] Base base_from_string(const std::string& text, const std::string& place);
[[nodiscard]] MeshUse mesh_use_from_string(const std::string& text, const std::string& place);

}  // namespace almond
