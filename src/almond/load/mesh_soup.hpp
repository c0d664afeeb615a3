#pragma once
// What mesh_file and mesh_hull share.

#include "almond/load/robot_file.hpp"

namespace almond {

/// The start of a note: mesh "hand.stl".
[[nodiscard]] std::string mesh_label(const std::string& path);

/// Triangles in metres on joined vertices; nothing is dropped or turned.
[[nodiscard]] TriangleSoup load_soup(const std::string& path, const Vec3& scale, FileNotes& notes);

}  // namespace almond
