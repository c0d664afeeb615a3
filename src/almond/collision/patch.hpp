#pragma once
// Flat contacts: two convex polygons that face each other along a normal become up to 8 points.

#include "almond/collision/manifold.hpp"

namespace almond {

/// Vertices of a face (or edge, or single point) in world coordinates, in order around it, each with a small id that is
/// the same in every step (vertex index of the shape).
struct Facet {
  static constexpr int kMax = 64;
  int count = 0;
  Vec3 vertex[kMax];
  std::uint32_t id[kMax];

  void add(const Vec3& p, std::uint32_t name) {
    vertex[count] = p;
    id[count++] = name;
  }
};

/// Intersects the shadows of both facets along n, measures each corner's own gap along n, keeps those within
/// options.margin, reduces to options.max_points (the deepest, then those that span the largest area), and appends
/// them. Points are named by the vertex or the crossing of edges they come from. Points and edges work as degenerate
/// polygons. Returns the number of points appended; 0 if the shadows do not meet. With a and b exchanged and n reversed
/// the same points come back under other names.
int add_patch(const Facet& a, const Facet& b, const Vec3& n, const PairOptions& options, Manifold& manifold);

/// Names of points: a vertex of either facet, or the crossing of an edge of a with an edge of b (edges by their first
/// vertex). Distinct for vertex ids below 2^15.
[[nodiscard]] std::uint32_t name_vertex_a(std::uint32_t id);
[[nodiscard]] std::uint32_t name_vertex_b(std::uint32_t id);
[[nodiscard]] std::uint32_t name_crossing(std::uint32_t edge_a, std::uint32_t edge_b);

/// Leaves at most max_points of the points from `first` on: the deepest, the one farthest from it, then whichever adds
/// the largest area across n. Near ties go to the point that comes first, so that rounding does not change the choice
/// from step to step.
void reduce_points(int first, const Vec3& n, int max_points, Manifold& manifold);

}  // namespace almond
