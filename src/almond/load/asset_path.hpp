#pragma once
// Where the files are that a robot file names.
//
//   package://NAME/rest   (also model://) in the package NAME
//   file:///path, /path   as it stands
//   other/path            beside the robot file
//
// Looked for in this order: the user's folders, those of the scene file, the robot file's folder and those above it,
// ROS_PACKAGE_PATH, and share/ below AMENT_PREFIX_PATH. A folder is the package NAME if it is called so or if its
// package.xml says so. What is found has to be a file that the robot file may name (file_trust.hpp); of the packages
// around and beside the robot's own, those with a package.xml and those called ..._description are.

#include <string>
#include <vector>

namespace almond {

/// The path of a regular file. Throws Error with every place where it was looked for. `folder` is that of the robot
/// file; a package's path must stay within the package. `scene_search`: folders that a scene file names.
[[nodiscard]] std::string find_asset(const std::string& name, const std::string& folder,
                                     const std::vector<std::string>& search,
                                     const std::vector<std::string>& scene_search = {});

}  // namespace almond
