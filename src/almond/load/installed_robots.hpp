#pragma once
// Robots that Python packages bring along: https://pypi.org/project/example-robot-data has some forty, with meshes.

#include <string>

namespace almond {

/// The folder `robots` of the package example-robot-data; empty: it is not there. Looked for in this order: the folder
/// that ALMOND_ROBOTS names, the environments of ALMOND_PINOCCHIO_PYTHON and VIRTUAL_ENV, `.venv` in the folders above
/// the program, and in the present one.
[[nodiscard]] std::string find_robot_folder();

/// A file below that folder, "panda_description/urdf/panda.urdf"; empty: it is not there.
[[nodiscard]] std::string find_installed_robot(const std::string& file);

/// The same; throws Error that says how to install it.
[[nodiscard]] std::string need_installed_robot(const std::string& file);

}  // namespace almond
