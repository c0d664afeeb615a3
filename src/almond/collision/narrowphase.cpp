#include "almond/collision/narrowphase.hpp"

#include "almond/collision/convex.hpp"
#include "almond/collision/primitives.hpp"

namespace almond {

namespace {

/// Shapes are brought into this order, so that each pair has one implementation and one answer.
int rank_of(const Shape& shape) {
  struct Rank {
    int operator()(const Plane&) const { return 0; }
    int operator()(const TriangleMesh&) const { return 1; }
    int operator()(const HeightField&) const { return 2; }
    int operator()(const Sphere&) const { return 3; }
    int operator()(const Capsule&) const { return 4; }
    int operator()(const Box&) const { return 5; }
    int operator()(const Cylinder&) const { return 6; }
    int operator()(const Cone&) const { return 7; }
    int operator()(const Ellipsoid&) const { return 8; }
    int operator()(const ConvexMesh&) const { return 9; }
    int operator()(const SdfShape&) const { return 10; }
  };
  return std::visit(Rank{}, shape);
}

bool is_surface(const Shape& shape) {
  return std::holds_alternative<TriangleMesh>(shape) || std::holds_alternative<HeightField>(shape);
}

void collide_ordered(const Shape& a, const Pose& X_a, const Shape& b, const Pose& X_b, const PairOptions& options,
                     ConvexWorkspace& workspace, Manifold& manifold) {
  if (std::holds_alternative<Plane>(a)) return collide_plane(X_a, b, X_b, options, manifold);
  if (std::holds_alternative<SdfShape>(b)) return;  // of sdf_pairs
  if (is_surface(a)) {
    if (!is_surface(b)) collide_mesh(a, X_a, b, X_b, options, workspace, manifold);
    return;
  }
  if (const auto* sphere = std::get_if<Sphere>(&a)) {
    if (const auto* other = std::get_if<Sphere>(&b))
      return collide_sphere_sphere(*sphere, X_a, *other, X_b, options, manifold);
    if (const auto* other = std::get_if<Capsule>(&b))
      return collide_sphere_capsule(*sphere, X_a, *other, X_b, options, manifold);
    if (const auto* other = std::get_if<Box>(&b))
      return collide_sphere_box(*sphere, X_a, *other, X_b, options, manifold);
  } else if (const auto* capsule = std::get_if<Capsule>(&a)) {
    if (const auto* other = std::get_if<Capsule>(&b))
      return collide_capsule_capsule(*capsule, X_a, *other, X_b, options, manifold);
    if (const auto* other = std::get_if<Box>(&b))
      return collide_capsule_box(*capsule, X_a, *other, X_b, options, manifold);
  } else if (const auto* box = std::get_if<Box>(&a)) {
    if (const auto* other = std::get_if<Box>(&b)) return collide_box_box(*box, X_a, *other, X_b, options, manifold);
  }
  collide_convex(a, X_a, b, X_b, options, workspace, manifold);
}

}  // namespace

void collide_pair(const Shape& a, const Pose& X_a, const Shape& b, const Pose& X_b, const PairOptions& options,
                  ConvexWorkspace& workspace, Manifold& manifold) {
  if (rank_of(a) <= rank_of(b)) {
    collide_ordered(a, X_a, b, X_b, options, workspace, manifold);
  } else {
    collide_ordered(b, X_b, a, X_a, options, workspace, manifold);
    for (auto* points : {&manifold.points, &manifold.spare})
      for (ManifoldPoint& point : *points) point.n = -point.n;
  }
}

}  // namespace almond
