#pragma once
// Which geoms are near each other: boxes along the world's axes, and the pairs of boxes that overlap.
//
// Geoms that move and geoms that stand lie in forests of their own, one tree for each class of sizes, built by median
// splits. Every moving box looks for those after it in its own forest and for all in the other one.
//
// What rests is not searched again: boxes are kept a little wider than they are, and as long as none leaves its wide
// one, the pairs are among those found before. So the answer is that of a search from nothing.

#include <cstdint>
#include <utility>
#include <vector>

#include "almond/base/pose.hpp"
#include "almond/model/model.hpp"
#include "almond/model/shape.hpp"
#include "almond/model/surface_tree.hpp"

namespace almond {

/// The smallest box around a shape at X; `radius` is its bounding radius. Triangle meshes take the box of their local
/// box, height fields reach up and down by their radius (a pass over all heights would cost more than it saves).
[[nodiscard]] Aabb make_box(const Shape& shape, const Pose& X, double radius);

/// What the broad phase looks at, index = geom.
struct BroadphaseInput {
  struct HalfSpace {
    int geom;
    Vec3 n;         // unit, out of the half-space
    double offset;  // points with nᵀx <= offset lie inside; margins included
  };
  std::vector<Aabb> boxes;           // (geoms) margins and motion included; ignored for half-spaces
  std::vector<std::uint8_t> fixed;   // (geoms) 1: cannot move; two such geoms make no pair
  std::vector<HalfSpace> planes;     // geoms without a box, by index; two such geoms make no pair
  const Model* model = nullptr;      // where there is one, geoms that may not collide make no pair;
  std::vector<std::uint32_t> rules;  // and all that this depends on
};

/// Scratch; grows on first use.
struct BroadphaseWorkspace {
  std::size_t most = 0;  // pairs after which a search ends, short of the others; 0: none
  /// lower, 0, -upper, 0: the union of two boxes is the smaller of each entry.
  using Bound = Eigen::Array<double, 8, 1>;
  /// Nodes in preorder: the subtree of a node ends before `skip`. A leaf holds a few items.
  struct Node {
    Bound bound;
    int skip;
    int begin, count;  // count = 0: inner node
  };
  struct Item {
    Vec3 center;
    int size_class, geom;
  };
  struct Forest {
    std::vector<int> geoms;     // ascending
    std::vector<Aabb> boxes;    // (geoms)
    std::vector<Item> items;    // (geoms) in the order of the leaves
    std::vector<Bound> bounds;  // (items)
    std::vector<Node> nodes;
  };
  Forest moving, standing;
  std::vector<int> geoms;                    // those of the forest to be built
  std::vector<std::uint8_t> fixed, has_box;  // (geoms) that `fat` and `near` were made for
  std::vector<std::uint32_t> rules;          // likewise
  std::vector<Aabb> fat, then;               // (geoms) boxes that searches saw, and those of the last call
  std::vector<std::uint8_t> left;            // (geoms) whether the box left its fat one,
  std::vector<int> leavers;                  // and which did
  std::vector<std::pair<int, int>> near;     // that may meet, whose fat boxes overlap; sorted
  std::vector<std::pair<int, int>> found;    // unsorted
  std::vector<int> begin;                    // (geoms + 1) ranges of the first geom
};

/// Pairs (a < b) whose boxes overlap, or where a box reaches into a half-space; sorted. At least one of each can move.
void find_pairs(const BroadphaseInput& input, BroadphaseWorkspace& workspace, std::vector<std::pair<int, int>>& pairs);

}  // namespace almond
