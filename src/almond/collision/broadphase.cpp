#include "almond/collision/broadphase.hpp"

#include <algorithm>
#include <cmath>

namespace almond {

namespace {

using Forest = BroadphaseWorkspace::Forest;
using Item = BroadphaseWorkspace::Item;
using Node = BroadphaseWorkspace::Node;

/// Size classes a factor of 8 apart: a floor among grains would otherwise swell every box above it in the tree.
int size_class(const Aabb& box) {
  const double size = (box.upper - box.lower).maxCoeff();
  return std::isfinite(size) && size > 0.0 ? (std::ilogb(size) + 1200) / 3 : 0;
}

struct Builder {
  const std::vector<Aabb>& boxes;  // by geom
  std::vector<Item>& items;
  std::vector<Node>& nodes;

  /// Appends the subtree of items [begin, end).
  void build(int begin, int end) {
    const int self = static_cast<int>(nodes.size());
    nodes.emplace_back();
    if (end - begin == 1) {
      Node& leaf = nodes[self];
      leaf.geom = items[begin].geom;
      leaf.skip = self + 1;
      const Aabb& box = boxes[leaf.geom];
      for (int k = 0; k < 3; ++k) leaf.bound[k] = box.lower[k], leaf.bound[4 + k] = -box.upper[k];
      leaf.bound[3] = leaf.bound[7] = 0.0;
      return;
    }
    const int middle = split(begin, end);
    build(begin, middle);
    const int second = static_cast<int>(nodes.size());
    build(middle, end);
    Node& node = nodes[self];
    const Node &left = nodes[self + 1], &right = nodes[second];
    for (int k = 0; k < 8; ++k) node.bound[k] = std::min(left.bound[k], right.bound[k]);
    node.geom = -1;
    node.skip = static_cast<int>(nodes.size());
  }

  /// Halves the items by the median of their centres along the axis on which they spread most.
  int split(int begin, int end) {
    Vec3 lower = items[begin].center, upper = lower;
    for (int k = begin + 1; k < end; ++k) {
      lower = lower.cwiseMin(items[k].center);
      upper = upper.cwiseMax(items[k].center);
    }
    int axis = 0;
    (upper - lower).maxCoeff(&axis);
    const int middle = begin + (end - begin) / 2;
    std::nth_element(items.begin() + begin, items.begin() + middle, items.begin() + end,
                     [axis](const Item& i, const Item& k) {
                       const double x = i.center[axis], y = k.center[axis];
                       return x < y || (x == y && i.geom < k.geom);
                     });
    return middle;
  }
};

/// Builds the forest over `geoms`, unless it stands there already: what cannot move is the same in every step.
void build_forest(const std::vector<Aabb>& boxes, const std::vector<int>& geoms, Forest& forest) {
  const auto same = [&] {
    if (geoms != forest.geoms) return false;
    for (std::size_t k = 0; k < geoms.size(); ++k) {
      const Aabb &now = boxes[geoms[k]], &then = forest.boxes[k];
      if (now.lower != then.lower || now.upper != then.upper) return false;
    }
    return true;
  };
  if (same()) return;
  forest.geoms = geoms;
  forest.boxes.clear();
  forest.items.clear();
  forest.nodes.clear();
  for (const int geom : geoms) {
    const Aabb& box = boxes[geom];
    forest.boxes.push_back(box);
    forest.items.push_back({0.5 * (box.lower + box.upper), size_class(box), geom});
  }
  const auto by_class = [](const Item& i, const Item& k) {
    return i.size_class != k.size_class ? i.size_class < k.size_class : i.geom < k.geom;
  };
  if (!std::is_sorted(forest.items.begin(), forest.items.end(), by_class)) {
    std::sort(forest.items.begin(), forest.items.end(), by_class);
  }
  Builder builder{boxes, forest.items, forest.nodes};
  const int count = static_cast<int>(forest.items.size());
  for (int begin = 0, end = 0; begin < count; begin = end) {
    while (end < count && forest.items[end].size_class == forest.items[begin].size_class) ++end;
    builder.build(begin, end);
  }
}

/// All leaves from node `start` on that overlap the leaf, as pairs.
void query(const std::vector<Node>& nodes, int start, const Node& leaf, std::vector<std::pair<int, int>>& found) {
  // lower <= upper of the other, both ways: node.bound <= reach in every entry.
  double reach[8];
  for (int k = 0; k < 4; ++k) reach[k] = -leaf.bound[4 + k], reach[4 + k] = -leaf.bound[k];
  const int end = static_cast<int>(nodes.size());
  for (int at = start; at < end;) {
    const Node& node = nodes[at];
    int apart = 0;
    for (int k = 0; k < 8; ++k) apart |= node.bound[k] > reach[k] ? 1 : 0;
    if (apart != 0) {
      at = node.skip;
      continue;
    }
    if (node.geom >= 0) found.emplace_back(std::min(leaf.geom, node.geom), std::max(leaf.geom, node.geom));
    ++at;
  }
}

/// Orders by the first geom (counting), then by the second within its few.
void sort_pairs(std::size_t num_geoms, const std::vector<std::pair<int, int>>& found, std::vector<int>& begin,
                std::vector<std::pair<int, int>>& pairs) {
  begin.assign(num_geoms + 1, 0);
  for (const auto& pair : found) ++begin[pair.first + 1];
  for (std::size_t k = 0; k < num_geoms; ++k) begin[k + 1] += begin[k];
  pairs.resize(found.size());
  for (const auto& pair : found) pairs[begin[pair.first]++] = pair;
  // begin[k] is now where the pairs of geom k end.
  for (std::size_t k = 0; k < num_geoms; ++k) {
    std::sort(pairs.begin() + (k == 0 ? 0 : begin[k - 1]), pairs.begin() + begin[k]);
  }
}

}  // namespace

void find_pairs(const BroadphaseInput& input, BroadphaseWorkspace& workspace, std::vector<std::pair<int, int>>& pairs) {
  const std::size_t count = input.boxes.size();
  workspace.has_box.assign(count, 1);
  workspace.found.clear();
  for (const auto& plane : input.planes) workspace.has_box[plane.geom] = 0;

  for (const bool fixed : {false, true}) {
    workspace.geoms.clear();
    for (std::size_t k = 0; k < count; ++k) {
      if (workspace.has_box[k] != 0 && (input.fixed[k] != 0) == fixed) workspace.geoms.push_back(static_cast<int>(k));
    }
    build_forest(input.boxes, workspace.geoms, fixed ? workspace.standing : workspace.moving);
  }

  const std::vector<Node>& moving = workspace.moving.nodes;
  for (int at = 0; at < static_cast<int>(moving.size()); ++at) {
    if (moving[at].geom < 0) continue;
    query(moving, at + 1, moving[at], workspace.found);
    query(workspace.standing.nodes, 0, moving[at], workspace.found);
  }
  for (const auto& plane : input.planes) {
    for (int k = 0; k < static_cast<int>(count); ++k) {
      if (workspace.has_box[k] == 0 || (input.fixed[k] != 0 && input.fixed[plane.geom] != 0)) continue;
      const Aabb& box = input.boxes[k];
      // The corner deepest in the half-space.
      const Vec3 corner = (plane.n.array() > 0.0).select(box.lower, box.upper);
      if (plane.n.dot(corner) <= plane.offset) {
        workspace.found.emplace_back(std::min(k, plane.geom), std::max(k, plane.geom));
      }
    }
  }
  sort_pairs(count, workspace.found, workspace.begin, pairs);
}

}  // namespace almond
