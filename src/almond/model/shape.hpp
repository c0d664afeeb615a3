#pragma once
// Shapes for collision, each in its own frame. Axes of revolution are z; sizes are in metres.

#include <array>
#include <memory>
#include <string>
#include <variant>
#include <vector>

#include "almond/base/types.hpp"

namespace almond {

struct Sphere {
  double radius;
};

/// Points within `radius` of the segment from (0, 0, -half_length) to (0, 0, half_length).
struct Capsule {
  double radius, half_length;
};

/// The half-space z <= 0.
struct Plane {};

struct Box {
  Vec3 half;  // half edge lengths
};

struct Cylinder {
  double radius, half_length;
};

/// Base disc at z = -half_length, apex at z = half_length.
struct Cone {
  double radius, half_length;
};

struct Ellipsoid {
  Vec3 radii;
};

/// Triangles (v0, v1, v2), counterclockwise seen from outside.
struct TriangleSoup {
  std::vector<Vec3> vertices;
  std::vector<std::array<int, 3>> triangles;
};

/// A convex polytope: hull vertices and its flat faces as convex polygons, counterclockwise seen from outside.
struct Polytope {
  std::vector<Vec3> vertices;
  std::vector<std::vector<int>> faces;
  std::vector<Vec3> normals;                // (faces) outward, unit
  std::vector<std::vector<int>> neighbors;  // (vertices) along edges
  Vec3 center;                              // mean of the vertices, inside
};

/// The convex hull of a set of points. Throws Error when they do not span a volume.
[[nodiscard]] std::shared_ptr<const Polytope> make_polytope(const std::vector<Vec3>& points);

struct ConvexMesh {
  std::shared_ptr<const Polytope> hull;
};

/// A surface of triangles, contacts on its outer side; no volume is assumed. Any geom may hold one, bodies that move
/// too; two triangle meshes do not collide with each other.
struct SurfaceTree;  // surface_tree.hpp: boxes over the triangles, and which faces meet at each edge
struct TriangleMesh {
  std::shared_ptr<const TriangleSoup> mesh;
  std::shared_ptr<const SurfaceTree> tree;
};

/// Builds the search tree once; copies share it. Throws Error for an index out of range or a vertex that is not finite.
[[nodiscard]] TriangleMesh make_triangle_mesh(TriangleSoup soup);

/// Heights over a rectangle centred at the origin: z = height(row i, column j) at
/// x = (2 j / (columns - 1) - 1) half_x, y = (2 i / (rows - 1) - 1) half_y; cells are split into two triangles along
/// the diagonal from (i, j) to (i + 1, j + 1). Solid below.
struct HeightGrid {
  int rows = 0, columns = 0;  // >= 2
  double half_x = 0.0, half_y = 0.0;
  std::vector<double> height;  // (rows * columns), row by row
};

struct HeightField {
  std::shared_ptr<const HeightGrid> grid;
};

/// A solid given by a signed distance function, of any form: bowls, threads, nuts, unions of others.
class Sdf;        // sdf.hpp: the function
struct SdfSolid;  // sdf_solid.hpp: the function, with triangles on its surface
struct SdfShape {
  std::shared_ptr<const SdfSolid> solid;
};

/// Cuts the surface into triangles with edges and chords of at most these [m]; 0: an eighth and two thousandths of
/// the shape's radius. Throws Error where the function has no bounded surface.
[[nodiscard]] SdfShape make_sdf_shape(std::shared_ptr<const Sdf> field, double max_edge = 0.0,
                                      double chord_error = 0.0);

using Shape = std::variant<Sphere, Capsule, Plane, Box, Cylinder, Cone, Ellipsoid, ConvexMesh, TriangleMesh,
                           HeightField, SdfShape>;

/// "sphere", "box", ... as in messages and files.
[[nodiscard]] const char* shape_name(const Shape& shape);

/// Throws Error naming the size that is not positive and finite, the vertex that is not finite, the index out of range.
void check_shape(const Shape& shape, const std::string& place);

/// Radius of the smallest sphere about the shape's origin that holds it; infinite for a plane.
[[nodiscard]] double bounding_radius(const Shape& shape);

/// Volume, centre and inertia about the centre of the solid at density 1, in the shape's frame.
struct MassProperties {
  double mass = 0.0;
  Vec3 com = Vec3::Zero();
  Mat3 inertia = Mat3::Zero();
};

/// Throws Error for shapes without a finite volume (plane, height field, open mesh).
[[nodiscard]] MassProperties solid_properties(const Shape& shape, double density);

}  // namespace almond
