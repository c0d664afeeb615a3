#pragma once
// Distance and side of a closed mesh, through a tree over its triangles.
//
// The side is that of the generalised winding number (Jacobson et al. 2013): the solid angles of all triangles seen
// from the point, over 4π; far groups of triangles count as one dipole (Barill et al. 2018). It needs no normals at
// edges and corners, so walls of no thickness, bodies that touch at a vertex, cavities and overlapping parts are told
// apart, and small flaws do not matter.

#include "almond/model/surface_tree.hpp"

namespace almond {

class MeshDistance {
 public:
  /// Throws Error for a mesh that is open, inside out or without volume.
  explicit MeshDistance(const TriangleSoup& soup);

  /// To the nearest triangle [m], or `bound` where it is farther. With `relaxed` > 0 the answer may be less by that
  /// share, and is found sooner. `hint` is a triangle that may be the nearest, and becomes the one that was found.
  double distance(const Vec3& p, double bound, double relaxed, int& hint) const;
  [[nodiscard]] double distance(const Vec3& p) const;
  /// About 1 inside, 0 outside, within some hundredths.
  [[nodiscard]] double winding(const Vec3& p) const;
  [[nodiscard]] const Aabb& box() const { return tree_->nodes[0].box; }

 private:
  struct Corners {
    Vec3 a, b, c;
  };
  /// All triangles below a node, seen from afar.
  struct Dipole {
    Vec3 center = Vec3::Zero(), area = Vec3::Zero();  // [m], Σ area * normal [m²]
    double radius = 0.0;                              // of a ball about the centre that holds them
  };
  std::shared_ptr<const SurfaceTree> tree_;
  std::vector<Corners> corners_;  // in the order of the tree's leaves
  std::vector<Dipole> dipoles_;   // (nodes)
};

/// Signed distances at points one after the other: near points help each other. One per thread. No
/// more than `bound`.
class DistanceWalker {
 public:
  explicit DistanceWalker(const MeshDistance& mesh, double bound = kInfinity) : mesh_(mesh), bound_(bound) {}
  double at(const Vec3& p);

 private:
  const MeshDistance& mesh_;
  double bound_;
  Vec3 last_ = Vec3::Zero();
  int nearest_ = 0;
  double d_ = 0.0;  // at `last_`; 0: nothing is known
};

}  // namespace almond
