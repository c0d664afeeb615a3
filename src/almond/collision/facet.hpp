#pragma once
// The flat part of a shape that faces a direction: what patches are clipped from.

#include "almond/base/pose.hpp"
#include "almond/collision/patch.hpp"

namespace almond {

/// Face, edge or vertex of a convex shape at X that looks along the unit vector n (world). A face or edge counts when n
/// is within about 3 degrees of it. Curved rims are fixed polygons in the shape's frame, so that their points keep
/// their names.
void make_facet(const Shape& shape, const Pose& X, const Vec3& n, Facet& facet);

}  // namespace almond
