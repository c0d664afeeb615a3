#pragma once
// What mesh_file and mesh_hull share.

#include "almond/load/robot_file.hpp"

namespace almond {

/// The start of a note: mesh "hand.stl".
[[nodiscard]] std::string mesh_label(const std::string& path);

/// The file's bytes. Throws Error for what is no file or larger than 512 MB.
[[nodiscard]] std::string read_mesh_bytes(const std::string& path);

/// Triangles in metres on joined vertices; nothing is dropped or turned.
[[nodiscard]] TriangleSoup make_soup(const std::string& path, const std::string& bytes, const Vec3& scale);

/// The longest edge of the box around it [m], and a note where it looks like a wrong unit.
[[nodiscard]] double longest_extent(const TriangleSoup& soup);

/// How well the triangles close.
struct Closedness {
  int open = 0, crowded = 0;  // edges with one triangle; with more than two, or two on the same side
  bool inside_out = false;    // closed, and all face inwards
};
[[nodiscard]] Closedness examine_closedness(const TriangleSoup& soup);

void say_extent(double extent, const std::string& place, FileNotes& notes);

}  // namespace almond
