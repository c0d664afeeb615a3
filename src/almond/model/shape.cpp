#include "almond/model/shape.hpp"

#include <Eigen/Geometry>
#include <algorithm>
#include <cmath>
#include <map>
#include <numbers>

#include "almond/base/check.hpp"
#include "almond/model/sdf_solid.hpp"
#include "almond/model/surface_tree.hpp"

namespace almond {
namespace {

constexpr double kPi = std::numbers::pi;

/// Whether an even number of triangles meets at every edge: what is then left open is turned the wrong way round.
bool all_edges_paired(const SurfaceTree& tree) {
  std::map<std::pair<int, int>, int> count;
  for (const auto& corners : tree.vertices)
    for (int k = 0; k < 3; ++k) {
      const int v = corners[k], w = corners[(k + 1) % 3];
      if (v != w) ++count[{std::min(v, w), std::max(v, w)}];
    }
  return std::all_of(count.begin(), count.end(), [](const auto& edge) { return edge.second % 2 == 0; });
}

std::string at(const Vec3& p) { return "(" + to_text(p.x()) + ", " + to_text(p.y()) + ", " + to_text(p.z()) + ")"; }

void check_size(double value, const char* what, const std::string& place, bool zero_allowed = false) {
  const bool ok = std::isfinite(value) && (value > 0.0 || (zero_allowed && value == 0.0));
  if (!ok)
    throw Error(place + ": " + what + " is " + to_text(value) + ", expected finite and " +
                (zero_allowed ? ">= 0" : "> 0"));
}

void check_sizes(const Vec3& value, const char* what, const std::string& place) {
  for (int i = 0; i < 3; ++i) check_size(value[i], (std::string(what) + " " + "xyz"[i]).c_str(), place);
}

void check_vertices(const std::vector<Vec3>& vertices, const std::string& place) {
  for (std::size_t i = 0; i < vertices.size(); ++i)
    if (!vertices[i].allFinite())
      throw Error(place + ": vertex " + std::to_string(i) + " is " + at(vertices[i]) + ", expected finite numbers");
}

void check_soup(const TriangleSoup& soup, const std::string& place) {
  require(!soup.triangles.empty(), place + ": the mesh has no triangles");
  check_vertices(soup.vertices, place);
  const int count = static_cast<int>(soup.vertices.size());
  for (std::size_t t = 0; t < soup.triangles.size(); ++t)
    for (const int v : soup.triangles[t])
      if (v < 0 || v >= count)
        throw Error(place + ": triangle " + std::to_string(t) + " names vertex " + std::to_string(v) +
                    ", expected 0 to " + std::to_string(count - 1));
}

/// Sizes and indices as make_polytope gives them.
void check_hull(const Polytope& hull, const std::string& place) {
  check_vertices(hull.vertices, place);
  const std::size_t vertices = hull.vertices.size(), faces = hull.faces.size();
  require(vertices >= 4 && faces >= 4, place + ": the convex mesh has " + std::to_string(vertices) + " vertices and " +
                                           std::to_string(faces) +
                                           " faces, expected at least 4; make_polytope builds one");
  require(hull.normals.size() == faces, place + ": the convex mesh has " + std::to_string(hull.normals.size()) +
                                            " normals, expected one per face = " + std::to_string(faces));
  require(hull.neighbors.size() == vertices,
          place + ": the convex mesh has " + std::to_string(hull.neighbors.size()) +
              " neighbor lists, expected one per vertex = " + std::to_string(vertices));
  const auto check_indices = [&](const std::vector<int>& list, const char* what, std::size_t number) {
    for (const int v : list)
      if (v < 0 || v >= static_cast<int>(vertices))
        throw Error(place + ": " + what + " " + std::to_string(number) + " names vertex " + std::to_string(v) +
                    ", expected 0 to " + std::to_string(vertices - 1));
  };
  for (std::size_t f = 0; f < faces; ++f) {
    check_indices(hull.faces[f], "face", f);
    require(hull.faces[f].size() >= 3, place + ": face " + std::to_string(f) + " has " +
                                           std::to_string(hull.faces[f].size()) + " corners, expected at least 3");
  }
  for (std::size_t v = 0; v < vertices; ++v) check_indices(hull.neighbors[v], "neighbor list", v);
}

struct Check {
  const std::string& place;

  void operator()(const Sphere& s) const { check_size(s.radius, "radius", place); }
  // A capsule of length zero is a sphere.
  void operator()(const Capsule& s) const {
    check_size(s.radius, "radius", place);
    check_size(s.half_length, "half length", place, true);
  }
  void operator()(const Plane&) const {}
  void operator()(const Box& s) const { check_sizes(s.half, "half edge", place); }
  void operator()(const Cylinder& s) const {
    check_size(s.radius, "radius", place);
    check_size(s.half_length, "half length", place);
  }
  void operator()(const Cone& s) const {
    check_size(s.radius, "radius", place);
    check_size(s.half_length, "half length", place);
  }
  void operator()(const Ellipsoid& s) const { check_sizes(s.radii, "radius", place); }
  void operator()(const ConvexMesh& s) const {
    require(s.hull != nullptr, place + ": the convex mesh is empty; make_polytope builds one");
    check_hull(*s.hull, place);
  }
  void operator()(const TriangleMesh& s) const {
    require(s.mesh != nullptr && s.tree != nullptr, place + ": the mesh is empty; make_triangle_mesh builds one");
    check_soup(*s.mesh, place);
    require(!s.tree->order.empty(), place + ": none of the " + std::to_string(s.mesh->triangles.size()) +
                                        " triangles has an area, expected at least one that has");
  }
  void operator()(const HeightField& s) const {
    require(s.grid != nullptr, place + ": the height field has no grid");
    const HeightGrid& g = *s.grid;
    require(g.rows >= 2 && g.columns >= 2, place + ": height field of " + std::to_string(g.rows) + " x " +
                                               std::to_string(g.columns) + " heights, expected at least 2 x 2");
    check_size(g.half_x, "half x", place);
    check_size(g.half_y, "half y", place);
    const std::size_t expected = static_cast<std::size_t>(g.rows) * static_cast<std::size_t>(g.columns);
    require(g.height.size() == expected, place + ": height field has " + std::to_string(g.height.size()) +
                                             " heights, expected rows x columns = " + std::to_string(expected));
    for (std::size_t i = 0; i < g.height.size(); ++i)
      if (!std::isfinite(g.height[i]))
        throw Error(place + ": height " + std::to_string(i) + " is " + to_text(g.height[i]) +
                    ", expected a finite number");
  }
  void operator()(const SdfShape& s) const {
    require(s.solid != nullptr && s.solid->field != nullptr && s.solid->tree != nullptr,
            place + ": the signed distance shape is empty; make_sdf_shape builds one");
  }
};

double largest_norm(const std::vector<Vec3>& points) {
  double r2 = 0.0;
  for (const Vec3& p : points) r2 = std::max(r2, p.squaredNorm());
  return std::sqrt(r2);
}

struct BoundingRadius {
  double operator()(const Sphere& s) const { return s.radius; }
  double operator()(const Capsule& s) const { return s.radius + s.half_length; }
  double operator()(const Plane&) const { return kInfinity; }
  double operator()(const Box& s) const { return s.half.norm(); }
  double operator()(const Cylinder& s) const { return std::hypot(s.radius, s.half_length); }
  double operator()(const Cone& s) const { return std::hypot(s.radius, s.half_length); }
  double operator()(const Ellipsoid& s) const { return s.radii.maxCoeff(); }
  double operator()(const ConvexMesh& s) const { return largest_norm(s.hull->vertices); }
  double operator()(const TriangleMesh& s) const { return largest_norm(s.mesh->vertices); }
  double operator()(const HeightField& s) const {
    double z = 0.0;
    for (const double h : s.grid->height) z = std::max(z, std::abs(h));
    return std::hypot(s.grid->half_x, s.grid->half_y, z);
  }
  double operator()(const SdfShape& s) const { return largest_norm(s.solid->surface.vertices) + s.solid->chord_error; }
};

/// Sums over tetrahedra (reference, a, b, c): volume, first and second moments about the reference.
///   ∫ x xᵀ = V/20 (Σ xᵢxᵢᵀ + s sᵀ),  s = Σ xᵢ,  the fourth vertex being the origin.
struct TetrahedronSum {
  Vec3 reference;  // near the surface's middle: far tetrahedra of both signs would cancel
  double volume = 0.0;
  Vec3 first = Vec3::Zero();
  Mat3 second = Mat3::Zero();

  void add(const Vec3& p0, const Vec3& p1, const Vec3& p2) {
    const Vec3 a = p0 - reference, b = p1 - reference, c = p2 - reference, s = a + b + c;
    const double v = a.dot(b.cross(c)) / 6.0;
    volume += v;
    first += 0.25 * v * s;
    second += 0.05 * v * (a * a.transpose() + b * b.transpose() + c * c.transpose() + s * s.transpose());
  }

  [[nodiscard]] MassProperties finish() const {
    const Vec3 com = first / volume;
    const Mat3 C = second - volume * com * com.transpose();
    return {volume, reference + com, C.trace() * Mat3::Identity() - C};
  }
};

/// A solid of revolution about z, or one with diagonal inertia, of density 1.
MassProperties diagonal(double mass, double ixx, double iyy, double izz, double com_z = 0.0) {
  return {mass, Vec3(0.0, 0.0, com_z), Vec3(ixx, iyy, izz).asDiagonal()};
}

struct Solid {
  MassProperties operator()(const Sphere& s) const {
    const double m = 4.0 / 3.0 * kPi * std::pow(s.radius, 3), i = 0.4 * m * s.radius * s.radius;
    return diagonal(m, i, i, i);
  }
  MassProperties operator()(const Capsule& s) const {
    const double r = s.radius, h = s.half_length;
    const double tube = 2.0 * kPi * r * r * h, caps = 4.0 / 3.0 * kPi * r * r * r;
    const double across = tube * (r * r / 4.0 + h * h / 3.0) + caps * (0.4 * r * r + h * h + 0.75 * h * r);
    return diagonal(tube + caps, across, across, tube * r * r / 2.0 + caps * 0.4 * r * r);
  }
  MassProperties operator()(const Plane&) const { throw Error("a plane has no finite volume, expected a solid"); }
  MassProperties operator()(const Box& s) const {
    const Vec3 q = s.half.cwiseAbs2();
    const double m = 8.0 * s.half.prod();
    return diagonal(m, m / 3.0 * (q.y() + q.z()), m / 3.0 * (q.x() + q.z()), m / 3.0 * (q.x() + q.y()));
  }
  MassProperties operator()(const Cylinder& s) const {
    const double r2 = s.radius * s.radius, h = s.half_length, m = 2.0 * kPi * r2 * h;
    const double across = m * (r2 / 4.0 + h * h / 3.0);
    return diagonal(m, across, across, m * r2 / 2.0);
  }
  MassProperties operator()(const Cone& s) const {
    const double r2 = s.radius * s.radius, h = s.half_length, m = 2.0 / 3.0 * kPi * r2 * h;
    const double across = 0.15 * m * (r2 + h * h);
    return diagonal(m, across, across, 0.3 * m * r2, -0.5 * h);
  }
  MassProperties operator()(const Ellipsoid& s) const {
    const Vec3 q = s.radii.cwiseAbs2();
    const double m = 4.0 / 3.0 * kPi * s.radii.prod();
    return diagonal(m, m / 5.0 * (q.y() + q.z()), m / 5.0 * (q.x() + q.z()), m / 5.0 * (q.x() + q.y()));
  }
  MassProperties operator()(const ConvexMesh& s) const {
    const Polytope& hull = *s.hull;
    TetrahedronSum sum{hull.center};
    for (const std::vector<int>& face : hull.faces)
      for (std::size_t k = 2; k < face.size(); ++k)
        sum.add(hull.vertices[face[0]], hull.vertices[face[k - 1]], hull.vertices[face[k]]);
    return sum.finish();
  }
  MassProperties operator()(const TriangleMesh& s) const {
    const TriangleSoup& soup = *s.mesh;
    const int open = s.tree->open_edges;
    if (open > 0 && all_edges_paired(*s.tree))
      throw Error("the triangles of the mesh disagree in orientation at " + std::to_string(open / 2) +
                  " edges, expected all counterclockwise seen from outside");
    if (open > 0)
      throw Error("the mesh is open: " + std::to_string(open) + " edges have no partner, expected a closed one");
    TetrahedronSum sum{Vec3::Zero()};
    for (const Vec3& p : soup.vertices) sum.reference += p / static_cast<double>(soup.vertices.size());
    for (const auto& t : soup.triangles) sum.add(soup.vertices[t[0]], soup.vertices[t[1]], soup.vertices[t[2]]);
    if (sum.volume <= 0.0)
      throw Error("the mesh is inside out: its volume is " + to_text(sum.volume) +
                  ", expected triangles counterclockwise seen from outside");
    return sum.finish();
  }
  MassProperties operator()(const HeightField&) const {
    throw Error("a height field has no finite volume, expected a solid");
  }
  MassProperties operator()(const SdfShape& s) const { return integrate(*s.solid->field); }
};

/// Volumes grow with the third power of the size, inertias with the fifth.
void check_range(const MassProperties& m, const Shape& shape) {
  const std::string subject = std::string("volume or inertia of a ") + shape_name(shape) + " that reaches " +
                              to_text(bounding_radius(shape)) + " m from its origin ";
  require(std::isfinite(m.mass) && m.inertia.allFinite(), subject + "overflows, expected a smaller one");
  require(m.mass > 0.0 && m.inertia.diagonal().minCoeff() > 0.0, subject + "underflows, expected a larger one");
}

}  // namespace

const char* shape_name(const Shape& shape) {
  static constexpr const char* kNames[] = {"sphere",        "capsule",      "plane",          "box",
                                           "cylinder",      "cone",         "ellipsoid",      "convex mesh",
                                           "triangle mesh", "height field", "signed distance"};
  static_assert(std::variant_size_v<Shape> == std::size(kNames));
  return kNames[shape.index()];
}

void check_shape(const Shape& shape, const std::string& place) {
  std::visit(Check{place}, shape);
  const double radius = bounding_radius(shape);
  require(std::holds_alternative<Plane>(shape) || std::isfinite(radius * radius),
          place + ": the " + shape_name(shape) + " reaches " + to_text(radius) +
              " m from its origin, the square of which overflows, expected a smaller one");
}

double bounding_radius(const Shape& shape) { return std::visit(BoundingRadius{}, shape); }

MassProperties solid_properties(const Shape& shape, double density) {
  if (!(std::isfinite(density) && density > 0.0))
    throw Error("density is " + to_text(density) + ", expected finite and > 0");
  MassProperties m = std::visit(Solid{}, shape);
  check_range(m, shape);
  m.mass *= density;
  m.inertia *= density;
  return m;
}

}  // namespace almond
