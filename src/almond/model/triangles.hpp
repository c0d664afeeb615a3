#pragma once
// Shapes made of flat pieces, as triangles.

#include "almond/model/shape.hpp"

namespace almond {

/// Faces as fans around their first corners.
[[nodiscard]] TriangleSoup make_triangles(const Polytope& hull);
/// Two for each cell, split as the height field's own.
[[nodiscard]] TriangleSoup make_triangles(const HeightGrid& grid);

}  // namespace almond
