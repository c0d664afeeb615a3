#pragma once
// Contacts of signed distance shapes: the function of one against the triangles of the other, both ways where both have
// a function; balls against a function directly.
//
//   min φ_A(x) over each triangle of B, by Frank-Wolfe (Macklin et al. 2020)
//
// The triangles only guide the search: what is found is moved onto B's own surface before its gap is measured.

#include "almond/collision/manifold.hpp"
#include "almond/model/model.hpp"
#include "almond/model/sdf_solid.hpp"

namespace almond {

/// A point of the other shape's surface near the surface of the function's, in the frame of the function.
struct SdfContact {
  Vec3 x = Vec3::Zero();
  Vec3 n = Vec3::UnitZ();  // ∇φ there
  double gap = 0.0;        // φ
  std::uint32_t feature = 0;
};

/// Scratch; grows on first use.
struct SdfWorkspace {
  std::vector<int> frontier, next, triangles;
  std::vector<int> slot;      // (vertices) where a vertex stands in the lists below, -1: not looked at
  std::vector<int> vertices;  // those looked at
  std::vector<SdfSample> at_vertex;
  std::vector<Vec3> place;  // of these vertices in the function's frame
  std::vector<char> taken;
  std::vector<int> inner;  // triangles with a minimum between their corners
  std::vector<SdfContact> found;
  std::vector<float> cloud;  // of reduce_cloud
  std::vector<std::pair<double, int>> order;
};

struct SdfCounts {
  int nodes = 0, triangles = 0, vertices = 0, inner = 0, points = 0;  // looked at, and found before reduction
};

/// Whether a pair is one for this file.
[[nodiscard]] inline bool meets_sdf(const Geom& a, const Geom& b) {
  return std::holds_alternative<SdfShape>(a.shape) || std::holds_alternative<SdfShape>(b.shape);
}

/// Contacts of two geoms of which at least one is a signed distance shape, world frame, appended to an empty manifold;
/// at most options.max_cloud of them, the others in manifold.spare.
SdfCounts collide_sdf(const Geom& a, const Pose& X_a, const Geom& b, const Pose& X_b, const PairOptions& options,
                      SdfWorkspace& workspace, Manifold& manifold);

/// How far a corner of either shape's triangles, or a point a little below it, lies inside the other's function at
/// most; 0 where none does [m]. Finds overlaps that have no contact: where walls have passed each other there is no way
/// out.
[[nodiscard]] double sdf_overlap(const Geom& a, const Pose& X_a, const Geom& b, const Pose& X_b);

/// Leaves at most options.max_cloud of the points: one by one those farthest from all chosen before, in place and
/// normal, first of what is carried, then of what touches, then of all, the nearer the better; then the deepest that
/// are left. Outlines, normals and depth stay spanned.
void reduce_cloud(const PairOptions& options, SdfWorkspace& workspace, Manifold& manifold);

}  // namespace almond
