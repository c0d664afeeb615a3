#pragma once
// The distances of a grid; grid_sdf.hpp is what users see.

#include "almond/model/grid_sdf.hpp"

namespace almond {

/// All but `slack` and `surface_error`.
[[nodiscard]] SdfGrid build_grid(const TriangleSoup& mesh, const GridOptions& options, const GridProgress& progress);

}  // namespace almond
