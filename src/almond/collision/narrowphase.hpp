#pragma once
// Pair table: closed forms first, GJK / EPA on support functions for the rest, triangles of meshes one by one.

#include "almond/collision/manifold.hpp"

namespace almond {

struct ConvexWorkspace;  // convex.hpp

/// Contacts of shape a at X_a with shape b at X_b (world), appended to an empty manifold. Any order of the shapes: with
/// a and b exchanged the same points come back with opposite normals. Plane against plane, plane or height field
/// against height field or triangle mesh, and mesh against mesh give nothing.
void collide_pair(const Shape& a, const Pose& X_a, const Shape& b, const Pose& X_b, const PairOptions& options,
                  ConvexWorkspace& workspace, Manifold& manifold);

}  // namespace almond
