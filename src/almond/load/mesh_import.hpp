#pragma once
// A mesh file's triangles as they stand in it. The readers are our own: meshes come from anywhere, and assimp 5.2,
// which was tried first, crashes on damaged DAE files.

#include <string>

#include "almond/model/shape.hpp"

namespace almond {

/// The ending of `path` in small letters, by which the reader is chosen.
[[nodiscard]] std::string mesh_format(const std::string& path);

/// By the ending of `path`: .stl, .obj or .dae. Throws Error with the path and what was expected.
[[nodiscard]] TriangleSoup import_triangles(const std::string& path, const std::string& bytes);

[[nodiscard]] TriangleSoup import_stl(const std::string& path, const std::string& bytes);  // mesh_stl.cpp
[[nodiscard]] TriangleSoup import_obj(const std::string& path, const std::string& text);   // mesh_obj.cpp
/// Transforms of the nodes and the file's unit are applied; its up-axis is not. ROS, Gazebo and Pinocchio take the axes
/// of a DAE file as they are, and robots are drawn to fit that.
[[nodiscard]] TriangleSoup import_dae(const std::string& path, const std::string& text);  // mesh_dae.cpp

/// Appends a flat polygon as triangles: ears are cut off one by one, so that it may be concave.
void add_polygon(const std::vector<int>& corners, TriangleSoup& soup);  // mesh_polygon.cpp

}  // namespace almond
