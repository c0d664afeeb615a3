#pragma once
// Mesh files: STL (text and binary), OBJ and DAE -> triangles, or their convex hull.
//
// Corners at the same place become one vertex, and triangles without area are dropped. A closed surface that is inside
// out is turned round. What a user may want to know of a mesh is said in the notes, one line each.

#include "almond/load/robot_file.hpp"

namespace almond {

/// In metres, after `scale` along the file's axes. A DAE file's unit is applied; its up-axis is not, as in ROS.
/// Throws Error with the path and what was expected: no such file, not a mesh, no triangles, a vertex that is not
/// finite, larger than 512 MB.
[[nodiscard]] TriangleSoup load_mesh(const std::string& path, const Vec3& scale, FileNotes& notes);

/// The convex hull of the same points. The same file at the same scale is read once while its hull is in use. A flat
/// mesh is given a thickness of 1 mm (less where it is small), and a hull of more than kMaxHullVertices is simplified;
/// the notes say by how much.
[[nodiscard]] std::shared_ptr<const Polytope> load_hull(const std::string& path, const Vec3& scale, FileNotes& notes);

inline constexpr int kMaxHullVertices = 512;  // twice as many cost a pair about twice the time

}  // namespace almond
