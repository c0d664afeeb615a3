#pragma once
// Support functions of convex cores, and of the difference of two of them.
//
//   core C        a convex set in the shape's frame; the shape is all points within `radius` of it
//   s_C(d)        argmax over C of dᵀx
//   D = A - B     { a - b }, in the frame of A;  s_D(d) = s_A(d) - s_B(-d)
//   h(n)          nᵀ s_D(n): signed overlap along the unit vector n. The signed distance of the cores is max over n of
//   -h(n),
//                 attained at the normal from A to B.

#include "almond/base/pose.hpp"
#include "almond/model/shape.hpp"

namespace almond {

enum class CoreKind : std::uint8_t { kPoint, kSegment, kBox, kCylinder, kCone, kEllipsoid, kPolytope, kTriangle };

struct Core {
  CoreKind kind = CoreKind::kPoint;
  double radius = 0.0;       // around the core [m]
  double extent = 0.0;       // bounding radius of the core about its frame's origin [m]
  Vec3 size = Vec3::Zero();  // box: half edges; ellipsoid: radii; segment, cylinder, cone: (radius, -, half length)
  const Polytope* hull = nullptr;  // kPolytope
  Vec3 corner[3];                  // kTriangle

  [[nodiscard]] bool curved() const { return kind >= CoreKind::kCylinder && kind <= CoreKind::kEllipsoid; }
};

/// The core of a convex shape; a plane, mesh or height field has none and gives a point.
[[nodiscard]] Core make_core(const Shape& shape);
[[nodiscard]] Core make_triangle_core(const Vec3& a, const Vec3& b, const Vec3& c);

/// A core's surface is made of branches, each with one smooth support function: a corner, one rim of a cylinder, an
/// ellipsoid. s_C(d) is that of the branch that reaches farthest; `branch` is where the search over a large polytope
/// starts and receives the branch found.
[[nodiscard]] Vec3 support(const Core& core, const Vec3& d, int& branch);

/// The support function of one branch, and its derivative at the unit vector d (zero for a corner).
[[nodiscard]] Vec3 branch_support(const Core& core, int branch, const Vec3& d);
[[nodiscard]] Mat3 branch_jacobian(const Core& core, int branch, const Vec3& d);

/// A point y = a - b of D; a and b in the frame of A.
struct DifferencePoint {
  Vec3 y, a, b;
  int branch_a, branch_b;
};

struct Difference {
  const Core& a;
  const Core& b;
  Pose X_ab;                       // frame of B in that of A
  int branch_a = 0, branch_b = 0;  // of the last answer

  [[nodiscard]] DifferencePoint support(const Vec3& d);
  /// The point of given branches along d, and the derivative of y.
  [[nodiscard]] DifferencePoint branch_support(int branch_a, int branch_b, const Vec3& d) const;
  [[nodiscard]] Mat3 branch_jacobian(int branch_a, int branch_b, const Vec3& d) const;
  [[nodiscard]] double size() const { return a.extent + b.extent; }
  [[nodiscard]] bool curved() const { return a.curved() || b.curved(); }
};

/// Up to four points of D and the weights of the point v = Σ weight y nearest to the origin.
struct Simplex {
  int count = 0;
  DifferencePoint point[4];
  double weight[4] = {};
};

/// Signed distance of the cores, in the frame of A.
struct CoreDistance {
  double gap = 0.0;                             // [m]
  Vec3 n = Vec3::UnitZ();                       // from A to B
  Vec3 p_a = Vec3::Zero(), p_b = Vec3::Zero();  // p_b - p_a = gap n
  bool converged = true;
  int iterations = 0;
};

}  // namespace almond
