#pragma once
// Pairs with closed forms. Shapes are exact, normals point from the first shape to the second, points with
// gap <= options.margin are appended to the manifold. Answers are finite for any overlap: where the closest features
// coincide (same centres, crossing axes) a direction fixed in the first shape's frame stands in for the normal.

#include "almond/collision/manifold.hpp"
#include "almond/collision/patch.hpp"

namespace almond {

/// Name of the closest pair of points where no corner of a patch stands for it.
inline constexpr std::uint32_t kClosestFeature = 0xc0000000U;

void collide_sphere_sphere(const Sphere& a, const Pose& X_a, const Sphere& b, const Pose& X_b,
                           const PairOptions& options, Manifold& manifold);
void collide_sphere_capsule(const Sphere& a, const Pose& X_a, const Capsule& b, const Pose& X_b,
                            const PairOptions& options, Manifold& manifold);
void collide_sphere_box(const Sphere& a, const Pose& X_a, const Box& b, const Pose& X_b, const PairOptions& options,
                        Manifold& manifold);

/// One point; nearly parallel capsules touch at both ends of their common length, too.
void collide_capsule_capsule(const Capsule& a, const Pose& X_a, const Capsule& b, const Pose& X_b,
                             const PairOptions& options, Manifold& manifold);

/// One point, or the two ends of the length that lies along a face or an edge.
void collide_capsule_box(const Capsule& a, const Pose& X_a, const Box& b, const Pose& X_b, const PairOptions& options,
                         Manifold& manifold);

/// Separating axes, then clipped faces, or one point of two crossing edges; the closest points of separated boxes whose
/// corners face each other.
void collide_box_box(const Box& a, const Pose& X_a, const Box& b, const Pose& X_b, const PairOptions& options,
                     Manifold& manifold);

/// The plane is the first shape, its normal the normal of every point. Corners of a box or hull, ends of a capsule, the
/// lowest point of a sphere or ellipsoid; rims of cylinders and cones at fixed angles of the body and at their lowest.
void collide_plane(const Pose& X_a, const Shape& b, const Pose& X_b, const PairOptions& options, Manifold& manifold);

/// The face, edge or corner of a box that looks along n (world): axes within `sine` of perpendicular to n are spanned.
/// Ids are corner numbers, bit k set on the positive side of axis k.
[[nodiscard]] Facet make_box_facet(const Box& box, const Pose& X, const Vec3& n, double sine);

/// Closest points of the segments p ± d and q ± e: parameters in [-1, 1].
struct SegmentPair {
  double s, t;
};
[[nodiscard]] SegmentPair closest_on_segments(const Vec3& p, const Vec3& d, const Vec3& q, const Vec3& e);

}  // namespace almond
