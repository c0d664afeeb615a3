#pragma once
// What collision needs to know about a triangle mesh, computed once: a tree of boxes over the triangles, their normals,
// and the triangle across each edge.

#include <cstdint>

#include "almond/model/shape.hpp"

namespace almond {

struct Aabb {
  Vec3 lower = Vec3::Constant(kInfinity), upper = Vec3::Constant(-kInfinity);

  void add(const Vec3& p) {
    lower = lower.cwiseMin(p);
    upper = upper.cwiseMax(p);
  }
  [[nodiscard]] bool overlaps(const Aabb& other) const {
    return (lower.array() <= other.upper.array()).all() && (other.lower.array() <= upper.array()).all();
  }
};

/// Nodes in depth-first order: the first child follows its parent, `skip` is the node after the whole subtree.
struct SurfaceNode {
  Aabb box;
  int skip = 0;
  int begin = 0, count = 0;  // leaf: a range of `order`; count = 0: an inner node
};

struct SurfaceTree {
  std::vector<SurfaceNode> nodes;
  std::vector<int> order;                     // triangles, leaf by leaf; those without area are left out
  std::vector<Vec3> normals;                  // (triangles) unit; zero for a triangle without area
  std::vector<std::array<int, 3>> vertices;   // (triangles) as in the mesh, equal positions given one number
  std::vector<std::array<int, 3>> neighbors;  // (triangles) the one beyond edge (k, k + 1); -1: none, or several
  std::vector<int> around_begin, around;      // triangles around each vertex number: (vertices + 1), (all)
  std::vector<std::uint8_t> sharp;            // (triangles) whether a convex or open edge leaves one of its corners
  int open_edges = 0;                         // directed edges without an opposite one
};

/// Boxes are divided down to `leaf` triangles.
[[nodiscard]] std::shared_ptr<const SurfaceTree> make_surface_tree(const TriangleSoup& soup, int leaf = 4);

}  // namespace almond
