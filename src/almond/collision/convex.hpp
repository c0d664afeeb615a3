#pragma once
// Convex shapes by their support functions: signed distance by GJK (apart) and EPA (overlapping), and flat patches.
//
//   support(d) = argmax over the shape of dᵀx.   Distance is taken between cores: a sphere is a point with radius, a
//   capsule a segment with radius; the radius is added at the end, so round shapes never need EPA for shallow contact.

#include <memory>

#include "almond/collision/manifold.hpp"

namespace almond {

/// Scratch of one thread; grows on first use.
struct ConvexWorkspace {
  ConvexWorkspace();
  ~ConvexWorkspace();
  ConvexWorkspace(ConvexWorkspace&&) noexcept;
  ConvexWorkspace& operator=(ConvexWorkspace&&) noexcept;
  struct Impl;
  std::unique_ptr<Impl> impl;
};

/// Closest points of two convex shapes (sphere, capsule, box, cylinder, cone, ellipsoid, convex mesh), or the deepest
/// overlap.
struct ConvexDistance {
  double gap = 0.0;                             // signed [m]
  Vec3 n = Vec3::UnitZ();                       // world, from a to b
  Vec3 p_a = Vec3::Zero(), p_b = Vec3::Zero();  // world, on the surfaces; p_b - p_a = gap n
  bool converged = true;
};
[[nodiscard]] ConvexDistance signed_distance(const Shape& a, const Pose& X_a, const Shape& b, const Pose& X_b,
                                             ConvexWorkspace& workspace);

/// Contacts of two convex shapes: the signed distance, and where both are flat along its normal, the clipped patch.
void collide_convex(const Shape& a, const Pose& X_a, const Shape& b, const Pose& X_b, const PairOptions& options,
                    ConvexWorkspace& workspace, Manifold& manifold);

/// Contacts of a triangle mesh or height field (a) with a convex shape (b).
void collide_mesh(const Shape& a, const Pose& X_a, const Shape& b, const Pose& X_b, const PairOptions& options,
                  ConvexWorkspace& workspace, Manifold& manifold);

}  // namespace almond
