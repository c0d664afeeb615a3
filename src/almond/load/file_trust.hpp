#pragma once
// Which files a robot or scene file may name. Such files come from anywhere, and what they name is read: so they name
// files of their own tree, and others only where the user says so.
//
// The tree of a file is its package: the nearest folder around it with a package.xml, a model.config or a .git, or one
// that was installed (below share/, site-packages/ or dist-packages/). Where there is none, it is the file's folder, or
// the one above a folder called urdf, xml, mjcf, robots or the like.
//
// Folders that the user names are open to all: search folders, ALMOND_TRUSTED_FOLDERS (with ':' between them),
// ROS_PACKAGE_PATH, AMENT_PREFIX_PATH, and where example-robot-data is installed; links in them are the user's own.
// Search folders of a scene file open what really lies in them. Links are followed before it is looked where a file
// lies. An empty folder stands for a text that a program made: nothing is refused then.

#include <filesystem>
#include <string>
#include <vector>

namespace almond {

/// The folders of an environment variable, with ':' between them.
[[nodiscard]] std::vector<std::filesystem::path> environment_folders(const char* variable);

/// Where it really lies: links are followed to where they point, whether anything is there or not, so that the answer
/// does not tell one from the other.
[[nodiscard]] std::filesystem::path real_path(const std::filesystem::path& path);

/// The tree of a file in `folder`.
[[nodiscard]] std::filesystem::path tree_of(const std::filesystem::path& folder);

/// Whether a file in `folder` may name the file `path`; `search` is of the user, `scene_search` of a scene file.
[[nodiscard]] bool may_read(const std::filesystem::path& path, const std::string& folder,
                            const std::vector<std::string>& search, const std::vector<std::string>& scene_search = {});

/// Throws Error with the place that names it, the name, the tree, and what to do, unless may_read().
void check_may_read(const std::filesystem::path& path, const std::string& name, const std::string& folder,
                    const std::vector<std::string>& search, const std::vector<std::string>& scene_search,
                    const std::string& place = {});

/// The file that `place` in a scene file in `folder` names; refused unless it may.
[[nodiscard]] std::string named_file(const std::string& name, const std::string& folder, const std::string& place);

/// Whether a file lies in a tree of folders, both where they really are.
[[nodiscard]] bool lies_in(const std::filesystem::path& path, const std::filesystem::path& tree);

}  // namespace almond
