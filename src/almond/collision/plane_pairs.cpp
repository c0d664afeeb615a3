// Everything against a plane: the plane is the half-space z <= 0 of its frame, its normal is the contact normal.

#include <algorithm>
#include <cmath>
#include <numbers>

#include "almond/collision/primitives.hpp"

namespace almond {

namespace {

/// Collects points of the other shape; the gap is their height over the plane.
struct PlaneContacts {
  Vec3 n, origin;
  const PairOptions& options;
  Manifold& manifold;

  [[nodiscard]] double height(const Vec3& p) const { return n.dot(p - origin); }
  void add(const Vec3& p, std::uint32_t feature) {
    const double gap = height(p);
    if (gap <= options.margin) manifold.points.push_back({p - 0.5 * gap * n, n, gap, feature});
  }
};

/// A circle of radius r about c in the plane of e1, e2. Fixed angles of the body keep their names while it stands; the
/// lowest point comes in where it is lower than those, in place of its neighbour. A rim that stands steeply has its
/// lowest point only: it rolls on it.
void add_rim(const Vec3& c, const Vec3& e1, const Vec3& e2, double r, std::uint32_t feature, PlaneContacts& contacts) {
  constexpr double kSteepSine = 0.5;
  constexpr std::uint32_t kLowest = 8;
  const double c1 = contacts.n.dot(e1), c2 = contacts.n.dot(e2);
  const double sine = std::hypot(c1, c2);  // of the angle between the rim's plane and the plane
  const Vec3 lowest = sine > 0.0 ? Vec3(c - (r / sine) * (c1 * e1 + c2 * e2)) : Vec3(c + r * e1);
  if (sine > kSteepSine) return contacts.add(lowest, feature + kLowest);

  const int count = contacts.options.max_points >= 8 ? 8 : 4;
  const double step = 2.0 * std::numbers::pi / count;
  // Lowest where n·(e1 cos φ + e2 sin φ) is least, at φ = atan2(-c2, -c1).
  const int nearest = (static_cast<int>(std::lround(std::atan2(-c2, -c1) / step)) + count) % count;
  const auto rim = [&](int k) -> Vec3 { return c + r * (std::cos(k * step) * e1 + std::sin(k * step) * e2); };
  const bool replace = contacts.height(lowest) < contacts.height(rim(nearest)) - 2e-5 * r;
  for (int k = 0; k < count; ++k) {
    if (replace && k == nearest) {
      contacts.add(lowest, feature + kLowest);
    } else {
      contacts.add(rim(k), feature + static_cast<std::uint32_t>(k * 8 / count));
    }
  }
}

struct AddShape {
  const Pose& X;
  PlaneContacts& contacts;

  void operator()(const Sphere& sphere) { contacts.add(X.p - sphere.radius * contacts.n, 0); }

  void operator()(const Capsule& capsule) {
    const Vec3 lowest = X.p - capsule.radius * contacts.n, axis = capsule.half_length * X.R.col(2);
    if (capsule.half_length <= 1e-9 * capsule.radius) return contacts.add(lowest, 0);
    contacts.add(lowest - axis, 0);
    contacts.add(lowest + axis, 1);
  }

  void operator()(const Box& box) {
    for (std::uint32_t k = 0; k < 8; ++k) {
      const Vec3 corner((k & 1U) != 0 ? box.half.x() : -box.half.x(), (k & 2U) != 0 ? box.half.y() : -box.half.y(),
                        (k & 4U) != 0 ? box.half.z() : -box.half.z());
      contacts.add(X * corner, k);
    }
  }

  void operator()(const Cylinder& cylinder) {
    const Vec3 axis = cylinder.half_length * X.R.col(2);
    add_rim(X.p - axis, X.R.col(0), X.R.col(1), cylinder.radius, 0, contacts);
    add_rim(X.p + axis, X.R.col(0), X.R.col(1), cylinder.radius, 16, contacts);
  }

  void operator()(const Cone& cone) {
    const Vec3 axis = cone.half_length * X.R.col(2);
    add_rim(X.p - axis, X.R.col(0), X.R.col(1), cone.radius, 0, contacts);
    contacts.add(X.p + axis, 16);
  }

  void operator()(const Ellipsoid& ellipsoid) {
    // Lowest point: x = -D² m / |D m| for the local normal m and D = diag(radii).
    const Vec3 scaled = ellipsoid.radii.cwiseProduct(X.R.transpose() * contacts.n);
    contacts.add(X * Vec3(-ellipsoid.radii.cwiseProduct(scaled) / scaled.norm()), 0);
  }

  void operator()(const ConvexMesh& mesh) { add_vertices(mesh.hull->vertices); }
  void operator()(const TriangleMesh& mesh) { add_vertices(mesh.mesh->vertices); }
  void operator()(const SdfShape&) {}  // of sdf_pairs

  void add_vertices(const std::vector<Vec3>& vertices) {
    // In the mesh's frame, so that each vertex costs one dot product.
    const Vec3 m = X.R.transpose() * contacts.n;
    const double offset = contacts.height(X.p);
    for (std::size_t k = 0; k < vertices.size(); ++k) {
      if (m.dot(vertices[k]) + offset <= contacts.options.margin) {
        contacts.add(X * vertices[k], static_cast<std::uint32_t>(k));
      }
    }
  }

  void operator()(const Plane&) {}
  void operator()(const HeightField&) {}
};

}  // namespace

void collide_plane(const Pose& X_a, const Shape& b, const Pose& X_b, const PairOptions& options, Manifold& manifold) {
  PlaneContacts contacts{X_a.R.col(2), X_a.p, options, manifold};
  const int first = static_cast<int>(manifold.points.size());
  std::visit(AddShape{X_b, contacts}, b);
  reduce_points(first, contacts.n, options.max_points, manifold);
}

}  // namespace almond
