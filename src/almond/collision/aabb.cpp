// Boxes of the shapes. Along a world axis e the half width of a rotated shape is its support function at Rᵀe.

#include "almond/collision/broadphase.hpp"
#include "almond/model/sdf_solid.hpp"

namespace almond {

namespace {

Aabb box_of_points(const std::vector<Vec3>& points, const Pose& X) {
  Aabb box;
  for (const Vec3& point : points) box.add(X.R * point);
  return {box.lower + X.p, box.upper + X.p};
}

Aabb centered(const Vec3& p, const Vec3& half) { return {p - half, p + half}; }

/// Half widths of a disc of radius r across the axis u.
Vec3 disc_half(const Vec3& u, double r) { return r * (1.0 - u.array().square()).max(0.0).sqrt().matrix(); }

struct MakeBox {
  const Pose& X;
  double radius;

  /// Of a box in the shape's frame, which grows by `extra` first.
  [[nodiscard]] Aabb turned(const Aabb& local, double extra) const {
    const Vec3 middle = 0.5 * (local.lower + local.upper), half = 0.5 * (local.upper - local.lower);
    return centered(X * middle, X.R.cwiseAbs() * (half + Vec3::Constant(extra)));
  }

  Aabb operator()(const Sphere& sphere) const { return centered(X.p, Vec3::Constant(sphere.radius)); }
  Aabb operator()(const Capsule& capsule) const {
    return centered(X.p, capsule.half_length * X.R.col(2).cwiseAbs() + Vec3::Constant(capsule.radius));
  }
  Aabb operator()(const Plane&) const { return centered(Vec3::Zero(), Vec3::Constant(kInfinity)); }
  Aabb operator()(const Box& box) const { return centered(X.p, X.R.cwiseAbs() * box.half); }
  Aabb operator()(const Cylinder& cylinder) const {
    const Vec3 u = X.R.col(2);
    return centered(X.p, cylinder.half_length * u.cwiseAbs() + disc_half(u, cylinder.radius));
  }
  Aabb operator()(const Cone& cone) const {
    const Vec3 u = X.R.col(2), apex = X.p + cone.half_length * u, base = X.p - cone.half_length * u;
    const Vec3 half = disc_half(u, cone.radius);
    return {apex.cwiseMin(base - half), apex.cwiseMax(base + half)};
  }
  Aabb operator()(const Ellipsoid& ellipsoid) const {
    return centered(X.p, (X.R * ellipsoid.radii.asDiagonal()).rowwise().norm());
  }
  Aabb operator()(const ConvexMesh& mesh) const { return box_of_points(mesh.hull->vertices, X); }
  Aabb operator()(const TriangleMesh& mesh) const {
    if (mesh.tree->nodes.empty()) return {X.p, X.p};
    return turned(mesh.tree->nodes[0].box, 0.0);
  }
  Aabb operator()(const SdfShape& shape) const {
    return turned(shape.solid->tree->nodes[0].box, shape.solid->chord_error);
  }
  Aabb operator()(const HeightField& field) const {
    return centered(X.p, X.R.cwiseAbs() * Vec3(field.grid->half_x, field.grid->half_y, radius));
  }
};

}  // namespace

Aabb make_box(const Shape& shape, const Pose& X, double radius) { return std::visit(MakeBox{X, radius}, shape); }

}  // namespace almond
