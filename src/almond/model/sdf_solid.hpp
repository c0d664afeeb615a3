#pragma once
// A signed distance function ready for contact: with triangles on its surface, and its mass properties.

#include "almond/model/sdf.hpp"

namespace almond {

struct SdfSolid {
  SdfPtr field;                             // null: a surface without inside
  TriangleSoup surface;                     // triangles of some area, every vertex used
  std::vector<Vec3> normals;                // (vertices) ∇φ there
  std::shared_ptr<const SurfaceTree> tree;  // over the triangles
  double max_edge = 0.0;                    // longest edge [m]
  double chord_error = 0.0;                 // largest |φ| found at the middles of triangles and edges [m]
};

/// Cuts the surface into triangles. Options left at 0: edges of an eighth of the bounding radius, chords within two
/// thousandths of it. Throws Error where there is no surface.
[[nodiscard]] std::shared_ptr<const SdfSolid> make_sdf_solid(SdfPtr field, SurfaceOptions options = {});

/// What any shape is to a signed distance shape it meets: function and triangles; a sphere needs no triangles, meshes
/// and height fields have no function. Null for a plane.
[[nodiscard]] std::shared_ptr<const SdfSolid> make_counterpart(const Shape& shape);

/// Volume, centre and inertia at density 1, by dividing the bounds into cells: full, empty, or cut by a plane.
[[nodiscard]] MassProperties integrate(const Sdf& sdf);

}  // namespace almond
