#pragma once
// Signed distance shapes as JSON, the same words in scene files and in MJCF's custom texts: docs/sdf_files.md.
//
//   {"kind": "bowl", "foot_radius": 0.025, "rim_radius": 0.07, "height": 0.05, "wall": 0.004}

#include "almond/load/robot_file.hpp"
#include "almond/model/grid_sdf.hpp"

namespace almond {

struct SdfDescription {
  SdfPtr sdf;
  SurfaceOptions surface;  // "surface" of the outermost shape
};

/// What all shapes of a file take together.
struct SdfTotals {
  int shapes = 0;  // of unions and the like
  std::size_t grid_bytes = 0;
};

/// Throws Error with place, value and what was expected. Mesh files are looked for in `folder`; `notes` say what became
/// of them, `progress` how far a grid is. Where `totals` are given, they grow, and what is too much in sum is refused.
[[nodiscard]] SdfDescription parse_sdf(const std::string& text, const std::string& place, const std::string& folder,
                                       FileNotes& notes, const GridProgress& progress = {},
                                       SdfTotals* totals = nullptr);

}  // namespace almond
