#pragma once
// Signed distance functions: φ(x) < 0 inside, > 0 outside, in the shape's frame [m]. Every kind answers for a block of
// points at a time, value and gradient, so that its loops fill vector registers.
//
// What holds for all of them, and is tested for all of them: the sign is right, |∇φ| = 1 where φ is smooth (within
// `slack`), and |φ(x) - φ(y)| <= (1 + slack) |x - y|. So a ball of radius r around x touches nothing where φ(x) > r.
// Where `exact()`, φ is the distance to the surface outside; elsewhere (differences, intersections) it may be less.

#include <memory>
#include <string>
#include <vector>

#include "almond/base/pose.hpp"
#include "almond/model/surface_tree.hpp"

namespace almond {

/// Points and answers side by side.
struct SdfBlock {
  static constexpr int kSize = 64;
  int count = 0;
  alignas(64) double x[kSize], y[kSize], z[kSize];
  alignas(64) double d[kSize], gx[kSize], gy[kSize], gz[kSize];

  void set(int i, const Vec3& p) {
    x[i] = p.x();
    y[i] = p.y();
    z[i] = p.z();
  }
  void add(const Vec3& p) { set(count++, p); }
  [[nodiscard]] Vec3 point(int i) const { return {x[i], y[i], z[i]}; }
  [[nodiscard]] Vec3 gradient(int i) const { return {gx[i], gy[i], gz[i]}; }
};

struct SdfSample {
  double d = 0.0;          // [m]
  Vec3 g = Vec3::UnitZ();  // ∇φ
};

/// How finely a surface is cut into triangles.
struct SurfaceOptions {
  double max_edge = 0.0;     // no edge much longer than this [m]; contacts are as dense as the triangles
  double chord_error = 0.0;  // the surface bulges out of a triangle by no more than this [m]
};

class Sdf {
 public:
  virtual ~Sdf() = default;

  /// Fills d and ∇φ for the first `count` points.
  virtual void sample(SdfBlock& block) const = 0;
  [[nodiscard]] SdfSample sample(const Vec3& p) const;
  [[nodiscard]] double value(const Vec3& p) const { return sample(p).d; }

  /// A box that holds the solid; may be infinite for the building blocks of others.
  [[nodiscard]] virtual Aabb bounds() const = 0;
  [[nodiscard]] virtual bool exact() const { return true; }
  /// By how much gradients may be off 1.
  [[nodiscard]] virtual double slack() const { return 1e-9; }
  /// "sphere", "thread", ... for messages.
  [[nodiscard]] virtual std::string name() const { return "function"; }

  /// Appends triangles that cover the surface, counterclockwise seen from outside, corners on the surface. By dual
  /// contouring within the bounds where a kind knows no better.
  virtual void add_surface(const SurfaceOptions& options, TriangleSoup& soup) const;
};

using SdfPtr = std::shared_ptr<const Sdf>;

/// A kind given by a function of one point, `K::at(x, y, z, d, gx, gy, gz)`, written without branches.
template <class K>
class PointwiseSdf : public Sdf {
 public:
  using Sdf::sample;
  void sample(SdfBlock& b) const final {
    const K self = static_cast<const K&>(*this);  // a copy: its numbers stay in registers
#pragma GCC ivdep
    for (int i = 0; i < b.count; ++i) self.at(b.x[i], b.y[i], b.z[i], b.d[i], b.gx[i], b.gy[i], b.gz[i]);
  }
};

// Primitives, in the frames of the shapes of the same name (shape.hpp).
[[nodiscard]] SdfPtr make_sphere_sdf(double radius);
[[nodiscard]] SdfPtr make_box_sdf(const Vec3& half);
[[nodiscard]] SdfPtr make_capsule_sdf(double radius, double half_length);
[[nodiscard]] SdfPtr make_cylinder_sdf(double radius, double half_length);
[[nodiscard]] SdfPtr make_cone_sdf(double radius, double half_length);
[[nodiscard]] SdfPtr make_ellipsoid_sdf(const Vec3& radii);
/// A hexagonal prism about z, flats at x = ± across_flats / 2.
[[nodiscard]] SdfPtr make_hexagon_sdf(double across_flats, double half_height);

// Operations. Throw Error when a child is missing.
/// All points within r of the child; r < 0 shrinks it. Rounds convex edges by r > 0.
[[nodiscard]] SdfPtr make_offset(SdfPtr child, double r);
/// The child at a pose. Throws Error where X.R is no rotation.
[[nodiscard]] SdfPtr make_posed(SdfPtr child, const Pose& X);
[[nodiscard]] SdfPtr make_union(std::vector<SdfPtr> children);
[[nodiscard]] SdfPtr make_intersection(std::vector<SdfPtr> children);
/// The first without the second.
[[nodiscard]] SdfPtr make_difference(SdfPtr a, SdfPtr b);

}  // namespace almond
