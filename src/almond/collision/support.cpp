#include "almond/collision/support.hpp"

#include <algorithm>
#include <cmath>

namespace almond {
namespace {

// Below this number of vertices looking at all of them is faster than climbing.
constexpr int kClimbFrom = 32;

struct MakeCore {
  Core& core;

  void operator()(const Sphere& s) const { core.radius = s.radius; }
  void operator()(const Capsule& s) const {
    core.kind = CoreKind::kSegment;
    core.radius = s.radius;
    core.size.z() = core.extent = s.half_length;
  }
  void operator()(const Box& s) const {
    core.kind = CoreKind::kBox;
    core.size = s.half;
    core.extent = s.half.norm();
  }
  void operator()(const Cylinder& s) const { round(CoreKind::kCylinder, s.radius, s.half_length); }
  void operator()(const Cone& s) const { round(CoreKind::kCone, s.radius, s.half_length); }
  void operator()(const Ellipsoid& s) const {
    core.kind = CoreKind::kEllipsoid;
    core.size = s.radii;
    core.extent = s.radii.maxCoeff();
  }
  void operator()(const ConvexMesh& s) const {
    core.kind = CoreKind::kPolytope;
    core.hull = s.hull.get();
    double r2 = 0.0;
    for (const Vec3& p : s.hull->vertices) r2 = std::max(r2, p.squaredNorm());
    core.extent = std::sqrt(r2);
  }
  void operator()(const Plane&) const {}
  void operator()(const TriangleMesh&) const {}
  void operator()(const HeightField&) const {}
  void operator()(const SdfShape&) const {}

  void round(CoreKind kind, double radius, double half_length) const {
    core.kind = kind;
    core.size = Vec3(radius, radius, half_length);
    core.extent = std::hypot(radius, half_length);
  }
};

int farthest_vertex(const Polytope& hull, const Vec3& d, int start) {
  const int count = static_cast<int>(hull.vertices.size());
  int best = 0;
  if (count < kClimbFrom) {
    double value = d.dot(hull.vertices[0]);
    for (int v = 1; v < count; ++v) {
      const double candidate = d.dot(hull.vertices[v]);
      if (candidate > value) value = candidate, best = v;
    }
    return best;
  }
  // On a convex body a vertex without a higher neighbour is the highest; the value rises strictly, so this ends.
  best = start < count ? start : 0;
  double value = d.dot(hull.vertices[best]);
  for (int from = -1; from != best;) {
    from = best;
    for (const int v : hull.neighbors[from]) {
      const double candidate = d.dot(hull.vertices[v]);
      if (candidate > value) value = candidate, best = v;
    }
  }
  return best;
}

/// Point of the circle of radius r in the plane z that lies farthest along d; any point where d is along the axis.
Vec3 rim_point(double r, double z, const Vec3& d) {
  const double across = std::hypot(d.x(), d.y());
  return across > 0.0 ? Vec3(r * d.x() / across, r * d.y() / across, z) : Vec3(r, 0.0, z);
}

}  // namespace

Core make_core(const Shape& shape) {
  Core core;
  std::visit(MakeCore{core}, shape);
  return core;
}

Core make_triangle_core(const Vec3& a, const Vec3& b, const Vec3& c) {
  Core core;
  core.kind = CoreKind::kTriangle;
  core.corner[0] = a;
  core.corner[1] = b;
  core.corner[2] = c;
  core.extent = std::sqrt(std::max({a.squaredNorm(), b.squaredNorm(), c.squaredNorm()}));
  return core;
}

Vec3 support(const Core& core, const Vec3& d, int& branch) {
  switch (core.kind) {
    case CoreKind::kPoint:
    case CoreKind::kEllipsoid:
      branch = 0;
      break;
    case CoreKind::kSegment:
    case CoreKind::kCylinder:
      branch = d.z() < 0.0 ? 0 : 1;
      break;
    case CoreKind::kBox:
      branch = (d.x() < 0.0 ? 0 : 1) + (d.y() < 0.0 ? 0 : 2) + (d.z() < 0.0 ? 0 : 4);
      break;
    case CoreKind::kCone:
      // The apex lies farther than the base when h d_z > r |d_xy| - h d_z.
      branch = 2.0 * core.size.z() * d.z() > core.size.x() * std::hypot(d.x(), d.y()) ? 1 : 0;
      break;
    case CoreKind::kPolytope:
      branch = farthest_vertex(*core.hull, d, branch);
      break;
    case CoreKind::kTriangle: {
      const double x = d.dot(core.corner[0]), y = d.dot(core.corner[1]), z = d.dot(core.corner[2]);
      branch = x >= y ? (x >= z ? 0 : 2) : (y >= z ? 1 : 2);
      break;
    }
  }
  return branch_support(core, branch, d);
}

Vec3 branch_support(const Core& core, int branch, const Vec3& d) {
  const Vec3& size = core.size;
  switch (core.kind) {
    case CoreKind::kPoint:
      return Vec3::Zero();
    case CoreKind::kSegment:
      return {0.0, 0.0, branch == 0 ? -size.z() : size.z()};
    case CoreKind::kBox:
      return {(branch & 1) != 0 ? size.x() : -size.x(), (branch & 2) != 0 ? size.y() : -size.y(),
              (branch & 4) != 0 ? size.z() : -size.z()};
    case CoreKind::kCylinder:
      return rim_point(size.x(), branch == 0 ? -size.z() : size.z(), d);
    case CoreKind::kCone:
      return branch == 0 ? rim_point(size.x(), -size.z(), d) : Vec3(0.0, 0.0, size.z());
    case CoreKind::kEllipsoid: {
      const Vec3 scaled = size.cwiseProduct(d);
      const double norm = scaled.norm();
      return norm > 0.0 ? Vec3(size.cwiseProduct(scaled) / norm) : Vec3(size.x(), 0.0, 0.0);
    }
    case CoreKind::kPolytope:
      return core.hull->vertices[branch];
    case CoreKind::kTriangle:
      return core.corner[branch];
  }
  return Vec3::Zero();
}

Mat3 branch_jacobian(const Core& core, int branch, const Vec3& d) {
  Mat3 J = Mat3::Zero();
  if (core.kind == CoreKind::kEllipsoid) {
    // s = D²d / |Dd|:  ∂s = (D² - s sᵀ) / |Dd|
    const double norm = core.size.cwiseProduct(d).norm();
    const Vec3 squares = core.size.cwiseAbs2(), s = squares.cwiseProduct(d) / norm;
    J = -s * s.transpose();
    J.diagonal() += squares;
    J /= norm;
  } else if (core.kind == CoreKind::kCylinder || (core.kind == CoreKind::kCone && branch == 0)) {
    // A circle: the point moves along its tangent.
    const double across = std::hypot(d.x(), d.y());
    if (across > 0.0) {
      const Vec3 tangent(-d.y() / across, d.x() / across, 0.0);
      J = core.size.x() / across * tangent * tangent.transpose();
    }
  }
  return J;
}

DifferencePoint Difference::support(const Vec3& d) {
  DifferencePoint point;
  point.a = almond::support(a, d, branch_a);
  point.b = X_ab * almond::support(b, -(X_ab.R.transpose() * d), branch_b);
  point.y = point.a - point.b;
  point.branch_a = branch_a;
  point.branch_b = branch_b;
  return point;
}

DifferencePoint Difference::branch_support(int of_a, int of_b, const Vec3& d) const {
  DifferencePoint point;
  point.a = almond::branch_support(a, of_a, d);
  point.b = X_ab * almond::branch_support(b, of_b, -(X_ab.R.transpose() * d));
  point.y = point.a - point.b;
  point.branch_a = of_a;
  point.branch_b = of_b;
  return point;
}

Mat3 Difference::branch_jacobian(int of_a, int of_b, const Vec3& d) const {
  // s_D(d) = s_A(d) - s_B(-d), so both parts add up.
  return almond::branch_jacobian(a, of_a, d) +
         X_ab.R * almond::branch_jacobian(b, of_b, -(X_ab.R.transpose() * d)) * X_ab.R.transpose();
}

}  // namespace almond
