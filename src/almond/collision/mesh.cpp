// Triangle meshes and height fields against a convex shape, one triangle at a time, all in the mesh's frame.
//
// A triangle may be touched on its face, or at an edge or corner where the surface is convex. The normal n of a
// triangle taken alone is right if the triangles around the touched edge or corner all lie below the plane through it
// across n. If not, n comes from an inner edge, and the contact belongs to the face around it whose normal is nearest
// to n: this triangle (then it is resolved along the face's normal) or another one (then it is found there). So nothing
// catches on edges inside a flat surface.

#include <algorithm>
#include <cmath>

#include "almond/collision/convex.hpp"
#include "almond/collision/convex_workspace.hpp"
#include "almond/collision/primitives.hpp"
#include "almond/collision/surface.hpp"

namespace almond {
namespace {

constexpr double kSameNormal = 1e-6;  // [rad]
constexpr double kSamePoint = 1e-6;   // of the size of the convex shape

/// A convex shape near a surface, in the surface's frame.
struct Other {
  const Shape& shape;
  const Core& core;
  const Pose& X;
  const PairOptions& options;
  Vec3 center;  // inside

  [[nodiscard]] Vec3 lowest_point(const Vec3& n) const {
    int branch = 0;
    const Vec3 d = -(X.R.transpose() * n);
    return X * Vec3(support(core, d, branch) + core.radius * d);
  }
  [[nodiscard]] Aabb box() const {
    Aabb result;
    for (int i = 0; i < 3; ++i) {
      result.lower[i] = lowest_point(Vec3::Unit(i))[i] - options.margin;
      result.upper[i] = lowest_point(-Vec3::Unit(i))[i] + options.margin;
    }
    return result;
  }
};

bool is_same(const Vec3& n, const Vec3& other) { return (n - other).squaredNorm() <= kSameNormal * kSameNormal; }

/// Where along n the corners of a triangle tie: all of a face, an edge, a corner.
struct Touched {
  int count = 0;
  int k[3];
};

Touched find_touched(const Triangle& triangle, const Vec3& n) {
  int top = 0;
  for (int k = 1; k < 3; ++k)
    if (n.dot(triangle.corner[k]) > n.dot(triangle.corner[top])) top = k;
  Touched touched;
  for (int k = 0; k < 3; ++k) {
    const Vec3 d = triangle.corner[top] - triangle.corner[k];
    if (n.dot(d) <= 1e-5 * d.norm()) touched.k[touched.count++] = k;
  }
  return touched;
}

bool contains(const Triangle& triangle, int id) {
  return triangle.id[0] == id || triangle.id[1] == id || triangle.id[2] == id;
}

enum class Owner : std::uint8_t { kEdge, kFace, kNeighbor };

/// The surface around an edge or corner, as seen along a normal n.
struct Surroundings {
  Owner owner = Owner::kEdge;
  Vec3 outward = Vec3::Zero();  // sum of the normals
};

/// To whom a contact with normal n at an edge or corner of a triangle belongs.
template <class Surface>
Surroundings look_around(const Surface& surface, const Triangle& triangle, const Touched& touched, const Vec3& n) {
  Surroundings result;
  const double own = triangle.n.dot(n);
  double nearest = own;
  bool supported = true, elsewhere = false;
  const Vec3& origin = triangle.corner[touched.k[0]];
  surface.visit_around(triangle, touched.k[0], [&](const Triangle& other) {
    // Around an edge only the faces that share it count.
    if (touched.count == 2 && !contains(other, triangle.id[touched.k[1]])) return;
    for (const Vec3& corner : other.corner) {
      const Vec3 d = corner - origin;
      if (n.dot(d) > kSameNormal * d.norm()) supported = false;
    }
    result.outward += other.n;
    const double alignment = other.n.dot(n);
    if (alignment > nearest) {
      nearest = alignment;
      elsewhere = other.n.dot(triangle.n) < 1.0 - 1e-8;
    }
  });
  if (supported) {
    result.owner = own >= -kSameNormal ? Owner::kEdge : Owner::kNeighbor;
  } else {
    result.owner = elsewhere && nearest > own + kSameNormal ? Owner::kNeighbor : Owner::kFace;
  }
  return result;
}

/// Barycentric test of the shadow of p along the face's normal.
bool lies_over(const Triangle& triangle, const Vec3& p) {
  for (int k = 0; k < 3; ++k) {
    const Vec3 &a = triangle.corner[k], edge = triangle.corner[(k + 1) % 3] - a;
    if (triangle.n.dot(edge.cross(p - a)) < -1e-9 * edge.squaredNorm()) return false;
  }
  return true;
}

/// Names of points of one triangle. A corner of the convex shape keeps its name from triangle to triangle.
std::uint32_t name_point(int triangle, std::uint32_t name) {
  if (name < 0x40000000U) return name;
  std::uint32_t hash = name ^ (static_cast<std::uint32_t>(triangle) * 0x9e3779b1U);
  hash = (hash ^ (hash >> 16)) * 0x85ebca6bU;
  return hash ^ (hash >> 13);
}

/// The lowest point of the shape over a face, where its facet is a polygon that stands off from a round rim.
void add_lowest(const Triangle& triangle, const Other& other, int first, ConvexWorkspace::Impl& w) {
  const Vec3 lowest = other.lowest_point(triangle.n);
  const double gap = triangle.n.dot(lowest - triangle.corner[0]);
  if (gap > other.options.margin || !lies_over(triangle, lowest)) return;
  for (std::size_t i = first; i < w.found.points.size(); ++i)
    if (w.found.points[i].gap <= gap + 1e-9) return;
  w.found.points.push_back({lowest - 0.5 * gap * triangle.n, triangle.n, gap, kClosestFeature});
}

/// Contacts between the triangle's face and what the shape turns towards it.
void touch_face(const Triangle& triangle, const Other& other, ConvexWorkspace::Impl& w) {
  const int first = static_cast<int>(w.found.points.size());
  w.facet_a.count = 0;
  for (int k = 0; k < 3; ++k) w.facet_a.add(triangle.corner[k], static_cast<std::uint32_t>(triangle.id[k]));
  make_facet(other.shape, other.X, -triangle.n, w.facet_b);
  add_patch(w.facet_a, w.facet_b, triangle.n, other.options, w.found);
  if (w.facet_b.count > 1) add_lowest(triangle, other, first, w);
}

/// The same for a face without convex edges: nothing of the shape touches it but corners, ends of lines, rims.
void touch_inner_face(const Triangle& triangle, const Other& other, ConvexWorkspace::Impl& w) {
  const int first = static_cast<int>(w.found.points.size());
  make_facet(other.shape, other.X, -triangle.n, w.facet_b);
  for (int k = 0; k < w.facet_b.count; ++k) {
    const Vec3& p = w.facet_b.vertex[k];
    const double gap = triangle.n.dot(p - triangle.corner[0]);
    if (gap <= other.options.margin && lies_over(triangle, p))
      w.found.points.push_back({p - 0.5 * gap * triangle.n, triangle.n, gap, name_vertex_b(w.facet_b.id[k])});
  }
  if (w.facet_b.count > 1) add_lowest(triangle, other, first, w);
}

/// Contacts with an edge or corner of the triangle along the normal of the pair.
void touch_edge(const Triangle& triangle, const Touched& touched, const ConvexDistance& distance, const Other& other,
                ConvexWorkspace::Impl& w) {
  const int first = static_cast<int>(w.found.points.size());
  w.facet_a.count = 0;
  // In the order of the corners' numbers, so that both triangles of an edge give the same points.
  int k0 = touched.k[0], k1 = touched.k[touched.count - 1];
  if (triangle.id[k0] > triangle.id[k1]) std::swap(k0, k1);
  w.facet_a.add(triangle.corner[k0], static_cast<std::uint32_t>(triangle.id[k0]));
  if (k1 != k0) w.facet_a.add(triangle.corner[k1], static_cast<std::uint32_t>(triangle.id[k1]));
  make_facet(other.shape, other.X, -distance.n, w.facet_b);
  if (w.facet_a.count > 1 && w.facet_b.count > 1) add_patch(w.facet_a, w.facet_b, distance.n, other.options, w.found);
  for (std::size_t i = first; i < w.found.points.size(); ++i)
    if (w.found.points[i].gap <= distance.gap + 1e-9) return;
  const std::uint32_t name = w.facet_a.count == 1 ? name_vertex_a(w.facet_a.id[0]) : name_vertex_b(w.facet_b.id[0]);
  w.found.points.push_back({0.5 * (distance.p_a + distance.p_b), distance.n, distance.gap, name});
}

/// Overlapping cores: the shortest way out of a single triangle may lead under its neighbour, and so for the neighbour.
/// Seen from a little farther out along the surface's own normal the nearest features are the right ones.
template <class Surface>
Owner look_from_outside(const Surface& surface, const Triangle& triangle, const Core& core, const Vec3& outward,
                        const Other& other, ConvexDistance& distance, Touched& touched, ConvexWorkspace::Impl& w) {
  const double length = outward.norm();
  if (!(length > 0.0)) return Owner::kNeighbor;
  // The way out of the triangle alone may be much shorter than that of the whole surface.
  Vec3 step = outward * (3.0 * -(distance.gap + other.core.radius) / length);
  ConvexDistance seen;
  for (int tries = 0;; ++tries, step *= 4.0) {
    if (tries == 5) return Owner::kNeighbor;
    seen = compute_distance(core, Pose{}, other.core, Pose{other.X.R, other.X.p + step}, w.epa);
    if (seen.gap > -other.core.radius) break;
  }
  seen.gap -= seen.n.dot(step);
  seen.p_b = seen.p_a + seen.gap * seen.n;
  distance = seen;
  touched = find_touched(triangle, seen.n);
  return touched.count < 3 ? look_around(surface, triangle, touched, seen.n).owner : Owner::kFace;
}

template <class Surface>
void touch_triangle(const Surface& surface, int t, const Other& other, ConvexWorkspace::Impl& w) {
  const Triangle triangle = surface.triangle(t);
  if (triangle.n.dot(other.lowest_point(triangle.n) - triangle.corner[0]) > other.options.margin) return;
  // Shapes behind a mesh's face are not its business: it may be the far side of a thin wall.
  const bool in_front = Surface::kSolidBelow || triangle.n.dot(other.center - triangle.corner[0]) >= 0.0;
  if (!surface.sharp(t)) {
    if (in_front) touch_inner_face(triangle, other, w);
    return;
  }
  const Core core = make_triangle_core(triangle.corner[0], triangle.corner[1], triangle.corner[2]);
  ConvexDistance distance = compute_distance(core, Pose{}, other.core, other.X, w.epa);
  const bool deep = distance.n.dot(triangle.n) < 0.0;
  // Behind a height field lies its ground, however far.
  if (!(distance.gap <= other.options.margin) && !(Surface::kSolidBelow && deep)) return;
  Touched touched = find_touched(triangle, distance.n);
  Owner owner = Owner::kFace;
  if (touched.count < 3) {
    const Surroundings around = look_around(surface, triangle, touched, distance.n);
    owner = around.owner;
    if (owner == Owner::kNeighbor && distance.gap < -other.core.radius)
      owner = look_from_outside(surface, triangle, core, around.outward, other, distance, touched, w);
  }
  if (owner == Owner::kEdge) touch_edge(triangle, touched, distance, other, w);
  if (owner == Owner::kFace && in_front) touch_face(triangle, other, w);
}

/// Drops points that coincide in place and normal with an earlier one, and makes the names distinct.
void merge_points(double size, Manifold& found) {
  std::size_t kept = 0;
  for (std::size_t i = 0; i < found.points.size(); ++i) {
    ManifoldPoint point = found.points[i];
    bool same = false;
    for (std::size_t j = 0; j < kept && !same; ++j) {
      ManifoldPoint& other = found.points[j];
      same = (other.p - point.p).squaredNorm() <= kSamePoint * kSamePoint * size * size && is_same(other.n, point.n);
      if (same) other.gap = std::min(other.gap, point.gap);
      if (!same && other.feature == point.feature) {
        // Start over: the new name may be taken, too.
        point.feature = point.feature * 0x9e3779b1U + 1U;
        j = static_cast<std::size_t>(-1);
      }
    }
    if (!same) found.points[kept++] = point;
  }
  found.points.erase(found.points.begin() + static_cast<std::ptrdiff_t>(kept), found.points.end());
}

/// Moves the points into the manifold, world frame. Those with one normal form one flat contact and share its limit.
void hand_over(const Pose& X_a, const PairOptions& options, Manifold& found, Manifold& manifold) {
  while (!found.points.empty()) {
    const int first = static_cast<int>(manifold.points.size());
    const Vec3 n = found.points.front().n;
    std::size_t left = 0;
    for (std::size_t i = 0; i < found.points.size(); ++i) {
      const ManifoldPoint& point = found.points[i];
      if (is_same(point.n, n)) {
        manifold.points.push_back({X_a * point.p, X_a.R * point.n, point.gap, point.feature});
      } else {
        found.points[left++] = point;
      }
    }
    found.points.erase(found.points.begin() + static_cast<std::ptrdiff_t>(left), found.points.end());
    reduce_points(first, X_a.R * n, options.max_points, manifold);
  }
}

template <class Surface>
void collide_surface(const Surface& surface, const Pose& X_a, const Shape& b, const Pose& X_b,
                     const PairOptions& options, ConvexWorkspace::Impl& w, Manifold& manifold) {
  const Core core = make_core(b);
  const Pose X_ab{X_a.R.transpose() * X_b.R, X_a.R.transpose() * (X_b.p - X_a.p)};
  const Other other{b, core, X_ab, options, X_ab * (core.hull != nullptr ? core.hull->center : Vec3(Vec3::Zero()))};
  surface.find(other.box(), w.triangles);
  w.found.clear();
  for (const int t : w.triangles) {
    const std::size_t first = w.found.points.size();
    touch_triangle(surface, t, other, w);
    for (std::size_t i = first; i < w.found.points.size(); ++i)
      w.found.points[i].feature = name_point(t, w.found.points[i].feature);
  }
  merge_points(core.extent + core.radius, w.found);
  hand_over(X_a, options, w.found, manifold);
}

}  // namespace

void collide_mesh(const Shape& a, const Pose& X_a, const Shape& b, const Pose& X_b, const PairOptions& options,
                  ConvexWorkspace& workspace, Manifold& manifold) {
  if (const auto* mesh = std::get_if<TriangleMesh>(&a))
    collide_surface(MeshSurface{*mesh->mesh, *mesh->tree}, X_a, b, X_b, options, *workspace.impl, manifold);
  if (const auto* field = std::get_if<HeightField>(&a))
    collide_surface(GridSurface{*field->grid}, X_a, b, X_b, options, *workspace.impl, manifold);
}

}  // namespace almond
