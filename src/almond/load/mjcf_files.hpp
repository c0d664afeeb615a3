#pragma once
// The files of an MJCF model. MuJoCo's library opens none: each name is judged as MuJoCo will read it, before anybody
// looks what is there, and what may be read is handed over under that name (mujoco_model.cpp).
//
// MuJoCo takes \ for /, and makes a path of folder, meshdir and name by its letters alone: missing/../.. leads up where
// there is no folder "missing". So are paths made here, once.

#include <cstdint>
#include <filesystem>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "almond/load/robot_file.hpp"

namespace almond {

struct MjcfFiles {
  struct Asset {
    std::string path;  // where it really lies, links followed
    std::uint64_t bytes = 0;
    std::string stamp;  // another one once it was changed
  };
  std::string main;                            // the model
  std::map<std::string, std::string> texts;    // it and those that it includes or attaches, by MuJoCo's names for them
  std::map<std::string, Asset> assets;         // meshes, pictures and the like, likewise
  std::map<std::string, std::string> outside;  // what is said when MuJoCo asks for one that may not be read
  std::set<std::string> roots;                 // the first folder of every name
};

/// A model and no other file. `start` is the folder that its names start from, as MuJoCo has it.
[[nodiscard]] MjcfFiles make_mjcf_files(const std::string& text, const std::string& start = {});

/// Where names in a file in `folder` start from, as MuJoCo has it. Throws Error, beginning with `place`, for a folder
/// that it would take for another one.
[[nodiscard]] std::string mujoco_folder(const std::string& folder, const std::string& place);
/// The path that MuJoCo makes of them; `inner` is meshdir or the like, or empty.
[[nodiscard]] std::string mujoco_path(const std::string& folder, const std::string& inner, const std::string& name);
/// The path that is meant, of this machine.
[[nodiscard]] std::filesystem::path path_behind(const std::string& mujoco_path);
/// MuJoCo's names in a message, as the paths that are meant.
[[nodiscard]] std::string with_plain_paths(std::string message);

/// Throws Error for a name, or a folder, that is none of a plain file on every system: drives, addresses like file://,
/// archives.
void check_mujoco_name(const std::string& name, const std::string& place);
/// The name without its folders, as strippath has it.
[[nodiscard]] std::string strip_folders(const std::string& name);

/// What a model may read: who names it, and the folders that the user opened.
struct MjcfScope {
  const std::string& folder;  // of the model
  const FileOptions& options;
};

/// Looks for the file that `name` may mean: those of `paths` that may be read and are there are returned, the others
/// noted. With `expect_one`, throws Error, with the place, where none may be read, and where there is something else
/// than a file.
std::vector<std::string> find_mjcf_files(MjcfFiles& files, const std::vector<std::string>& paths,
                                         const std::string& name, const MjcfScope& scope, const std::string& place,
                                         bool expect_one = true);

}  // namespace almond
