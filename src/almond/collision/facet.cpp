#include "almond/collision/facet.hpp"

#include <algorithm>
#include <cmath>
#include <numbers>

#include "almond/collision/primitives.hpp"
#include "almond/collision/support.hpp"

namespace almond {
namespace {

constexpr double kSine = 0.0523;                   // of 3 degrees
constexpr int kRimPoints = 8;                      // ids 0-7 at the lower rim, 8-15 at the upper one
constexpr std::uint32_t kLower = 16, kUpper = 17;  // the point of a rim, or end of a side line, that looks along n

/// Facets in the shape's frame; d is the direction in it.
struct LocalFacet {
  const Vec3& d;
  Facet& facet;

  void add_rim(double radius, double z, std::uint32_t first) {
    for (int k = 0; k < kRimPoints; ++k) {
      const double angle = 2.0 * std::numbers::pi * k / kRimPoints;
      facet.add(Vec3(radius * std::cos(angle), radius * std::sin(angle), z), first + static_cast<std::uint32_t>(k));
    }
  }
  [[nodiscard]] Vec3 rim_point(double radius, double z) const {
    const double across = std::hypot(d.x(), d.y());
    return across > 0.0 ? Vec3(radius * d.x() / across, radius * d.y() / across, z) : Vec3(radius, 0.0, z);
  }

  void operator()(const Sphere& s) { facet.add(s.radius * d, 0); }

  void operator()(const Capsule& s) {
    const bool along = std::abs(d.z()) < kSine;
    if (along || d.z() < 0.0) facet.add(Vec3(0.0, 0.0, -s.half_length) + s.radius * d, 0);
    if (along || d.z() >= 0.0) facet.add(Vec3(0.0, 0.0, s.half_length) + s.radius * d, 1);
  }

  void operator()(const Cylinder& s) {
    const double across = std::hypot(d.x(), d.y());
    if (across < kSine)
      return add_rim(s.radius, d.z() < 0.0 ? -s.half_length : s.half_length, d.z() < 0.0 ? 0 : kRimPoints);
    const bool side = std::abs(d.z()) < kSine;
    if (side || d.z() < 0.0) facet.add(rim_point(s.radius, -s.half_length), kLower);
    if (side || d.z() >= 0.0) facet.add(rim_point(s.radius, s.half_length), kUpper);
  }

  void operator()(const Cone& s) {
    const double across = std::hypot(d.x(), d.y());
    if (d.z() < 0.0 && across < kSine) return add_rim(s.radius, -s.half_length, 0);
    // Along a side line d has no component: the line from rim to apex is (-r, 2h) in (radial, z).
    const double slant = std::hypot(s.radius, 2.0 * s.half_length);
    const double rise = (2.0 * s.half_length * d.z() - s.radius * across) / slant;
    if (rise < kSine) facet.add(rim_point(s.radius, -s.half_length), kLower);
    if (rise > -kSine) facet.add(Vec3(0.0, 0.0, s.half_length), kUpper);
  }

  void operator()(const Ellipsoid& s) {
    const Vec3 scaled = s.radii.cwiseProduct(d);
    facet.add(s.radii.cwiseProduct(scaled) / scaled.norm(), 0);
  }

  void operator()(const ConvexMesh& s) {
    const Polytope& hull = *s.hull;
    std::size_t best = 0;
    for (std::size_t f = 1; f < hull.faces.size(); ++f)
      if (hull.normals[f].dot(d) > hull.normals[best].dot(d)) best = f;
    if (hull.normals[best].cross(d).norm() < kSine && hull.normals[best].dot(d) > 0.0)
      return add_face(hull, hull.faces[best]);

    int v = 0;
    static_cast<void>(support(make_core(s), d, v));
    // The edge nearest to perpendicular, if there is one.
    int other = -1;
    double least = kSine;
    for (const int w : hull.neighbors[v]) {
      const Vec3 edge = hull.vertices[w] - hull.vertices[v];
      const double sine = std::abs(d.dot(edge)) / edge.norm();
      if (sine < least) least = sine, other = w;
    }
    add_vertex(hull, other < 0 ? v : std::min(v, other));
    if (other >= 0) add_vertex(hull, std::max(v, other));
  }

  void operator()(const Box&) {}
  void operator()(const Plane&) {}
  void operator()(const TriangleMesh&) {}
  void operator()(const HeightField&) {}
  void operator()(const SdfShape&) {}

  void add_vertex(const Polytope& hull, int v) { facet.add(hull.vertices[v], static_cast<std::uint32_t>(v)); }

  /// A face with more corners than fit is thinned evenly: its outline is then nearly round.
  void add_face(const Polytope& hull, const std::vector<int>& face) {
    const int count = static_cast<int>(face.size()), kept = std::min(count, Facet::kMax);
    for (int k = 0; k < kept; ++k) add_vertex(hull, face[static_cast<std::size_t>(k) * count / kept]);
  }
};

}  // namespace

void make_facet(const Shape& shape, const Pose& X, const Vec3& n, Facet& facet) {
  if (const auto* box = std::get_if<Box>(&shape)) {
    facet = make_box_facet(*box, X, n, kSine);
    return;
  }
  facet.count = 0;
  const Vec3 d = X.R.transpose() * n;
  LocalFacet visitor{d, facet};
  std::visit(visitor, shape);
  for (int k = 0; k < facet.count; ++k) facet.vertex[k] = X * facet.vertex[k];
}

}  // namespace almond
