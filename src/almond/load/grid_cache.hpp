#pragma once
// Signed distance grids of mesh files, kept on disk between runs beside the convex hulls (disk_cache.hpp). At most
// about 1 GB; a grid of more than 256 MB is made anew every time.

#include "almond/load/robot_file.hpp"
#include "almond/model/grid_sdf.hpp"

namespace almond {

/// The grid of a closed mesh: from the disk where the same triangles were seen with the same options, else made and
/// kept. The same bits either way. Throws Error like make_grid.
[[nodiscard]] std::shared_ptr<const SdfGrid> find_grid(const TriangleSoup& mesh, const GridOptions& options,
                                                       const GridProgress& progress = {});

/// The function of a mesh file (mesh_file.hpp). `notes` say what was made, and where walls are too thin for the cell.
/// What the grid takes is added to `bytes`, if there is one. Throws Error with the path.
[[nodiscard]] SdfPtr load_grid_sdf(const std::string& path, const Vec3& scale, const GridOptions& options,
                                   FileNotes& notes, const GridProgress& progress = {}, std::size_t* bytes = nullptr);

}  // namespace almond
