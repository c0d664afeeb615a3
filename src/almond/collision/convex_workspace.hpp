#pragma once
// What ConvexWorkspace holds; for the files that work in it.

#include "almond/collision/convex.hpp"
#include "almond/collision/epa.hpp"
#include "almond/collision/facet.hpp"

namespace almond {

struct ConvexWorkspace::Impl {
  EpaWorkspace epa;
  Facet facet_a, facet_b;
  // Meshes: triangles near the other shape, and their contacts in the mesh's frame.
  std::vector<int> triangles;
  Manifold found;
};

/// Signed distance of two shapes given by their cores, radii included; world frame.
[[nodiscard]] ConvexDistance compute_distance(const Core& a, const Pose& X_a, const Core& b, const Pose& X_b,
                                              EpaWorkspace& workspace);

}  // namespace almond
