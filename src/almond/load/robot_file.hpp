#pragma once
// What the readers of robot files share: how a file is asked for, what is said about it, and what comes of it besides
// the elements they add to a ModelBuilder.

#include <functional>
#include <map>
#include <string>
#include <vector>

#include "almond/model/builder.hpp"
#include "almond/model/look.hpp"

namespace almond {

enum class Base : std::uint8_t { kAsInFile, kFixed, kFloating };
enum class MeshUse : std::uint8_t { kHull, kTriangles, kNone };  // of meshes that collide

/// How much is done of what takes long, 0 to 1.
using ShareProgress = std::function<void(const std::string& what, double share)>;

struct FileOptions {
  std::string name;  // of this instance: "name/" is put before all names of the file; empty: nothing is
  Pose X_WF;         // where the file's world lies
  Base base = Base::kAsInFile;
  MeshUse meshes = MeshUse::kHull;
  std::vector<std::string> search;        // folders for package:// and relative mesh paths, before all others
  std::vector<std::string> scene_search;  // those of a scene file, after them: links that lead out of them are refused
  std::map<std::string, double> joints;   // start values by the joint's name in the file
  std::vector<std::string> without;       // links that are left out with all that hangs on them: a hand; URDF only
  std::vector<std::string> locked;        // joints that stay where they start, as if they were fixed; URDF only
  bool self_collision = true;
  std::vector<Look>* looks = nullptr;  // takes what is only seen; null: meshes that do not collide are not read
  /// Called before each mesh that collides with the number of those done and of all. May be empty.
  std::function<void(int done, int all)> progress;
  /// Called while a distance grid is made, with the name of what it is for. May be empty.
  ShareProgress grid_progress;
};

/// What a reader did that its user should know of.
struct FileNotes {
  std::vector<std::string> said;       // "mesh \"hand.stl\": 1204 triangles as their convex hull of 96 vertices"
  std::map<std::string, int> ignored;  // elements without effect here, by kind: "transmission" -> 7
};

/// Of the ignored ones those that would move something: not what is seen, sensed or told to controllers.
[[nodiscard]] std::map<std::string, int> lost_elements(const FileNotes& notes);
/// "2 x spatial tendon, 1 x flex"; empty where there are none.
[[nodiscard]] std::string elements_text(const std::map<std::string, int>& elements);

}  // namespace almond
