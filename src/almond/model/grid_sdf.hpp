#pragma once
// A signed distance function sampled on a regular grid around a closed mesh.
//
// Within `band` of the surface distances are kept at every node, in blocks of 8³ nodes, and φ is the quadratic B-spline
//
//   φ(x) = Σ c_i B2(x/h - i),   c = f - Δf / 8   (Δ: second differences of the node values f; exact for quadratics)
//
// of 27 coefficients: smooth, so that normals do not jump from cell to cell. On curved surfaces its error falls with
// the third power of the cell; an edge or corner of the mesh is rounded over about a cell, and a wall needs about three
// cells. Farther away only the corners of blocks are kept, as lower bounds of the distance.

#include <functional>

#include "almond/model/sdf.hpp"

namespace almond {

struct GridOptions {
  double cell = 0.0;  // [m]; 0: the longest edge of the mesh's box over kDefaultCells
  double band = 0.0;  // how far off the surface φ is the distance [m]; 0: 3 cells; at least 2
  int workers = 1;    // threads; the answer does not depend on them

  static constexpr double kDefaultCells = 100.0;
};

/// Called with the share that is done, 0 to 1, from the calling thread.
using GridProgress = std::function<void(double)>;

/// What is kept. Node (i, j, k) lies at origin + cell (i, j, k); block (a, b, c) answers for what is nearest to the
/// nodes from 8 (a, b, c) to 8 (a, b, c) + 7.
struct SdfGrid {
  static constexpr int kBlock = 8, kSide = kBlock + 2, kBlockValues = kSide * kSide * kSide;
  static constexpr int kOutside = -1, kInside = -2;

  Vec3 origin = Vec3::Zero();
  double cell = 0.0, band = 0.0;  // [m]
  std::array<int, 3> blocks{};
  std::vector<int> table;      // (blocks, x fastest) number in `values`, or kOutside or kInside
  std::vector<float> values;   // (numbered blocks * kBlockValues + 1, x fastest) c, one node beyond on each side [m]
  std::vector<float> far;      // (corners of blocks, x fastest) no more than the distance to the surface [m]
  double slack = 0.0;          // by how much |∇φ| was found above 1 within the band
  double surface_error = 0.0;  // largest |φ| at vertices and centres of the triangles [m]
  double lost = 0.0;  // share of the mesh's area where φ does not rise along its normal: walls thinner than cells

  /// Distances at nodes are cut off here: they do not count for φ within the band.
  [[nodiscard]] double most() const { return band + 3.0 * cell; }
  [[nodiscard]] std::size_t bytes() const {
    return sizeof(int) * table.size() + sizeof(float) * (values.size() + far.size());
  }
};

/// Throws Error for a mesh that is open or inside out, and for cells so small that the grid would not fit in memory.
[[nodiscard]] SdfGrid make_grid(const TriangleSoup& closed_mesh, const GridOptions& options = {},
                                const GridProgress& progress = {});

/// The function of a grid. Its gradients are of unit length, along those of φ. Its surface is `mesh`, the triangles it
/// was made from, cut where edges are longer than asked for: off the zero set by no more than `surface_error`.
[[nodiscard]] SdfPtr make_grid_sdf(std::shared_ptr<const SdfGrid> grid, TriangleSoup mesh);

/// Both in one.
[[nodiscard]] SdfPtr make_grid_sdf(const TriangleSoup& closed_mesh, const GridOptions& options = {},
                                   const GridProgress& progress = {});

}  // namespace almond
