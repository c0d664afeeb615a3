#include "almond/collision/broadphase.hpp"

#include <algorithm>
#include <array>
#include <cmath>

namespace almond {

namespace {

using Bound = BroadphaseWorkspace::Bound;
using Forest = BroadphaseWorkspace::Forest;
using Item = BroadphaseWorkspace::Item;
using Node = BroadphaseWorkspace::Node;

constexpr int kLeafSize = 8;  // best of 2 to 12 for 1000 and 10000 spheres in a pile

Bound make_bound(const Aabb& box) {
  Bound bound;
  bound << box.lower, 0.0, -box.upper, 0.0;
  return bound;
}

/// The largest bound that still overlaps: boxes overlap if bound <= reach of the other in every entry.
Bound make_reach(const Bound& bound) {
  Bound reach;
  reach << -bound.tail<4>(), -bound.head<4>();
  return reach;
}

bool overlap(const Bound& bound, const Bound& reach) { return (bound - reach).maxCoeff() <= 0.0; }

/// Size classes a factor of 8 apart: a floor among grains would otherwise swell every box above it in the tree.
int size_class(const Aabb& box) {
  const double size = (box.upper - box.lower).maxCoeff();
  return std::isfinite(size) && size > 0.0 ? (std::ilogb(size) + 1200) / 3 : 0;
}

struct Builder {
  std::vector<Item>& items;
  std::vector<Bound>& bounds;  // (items), filled leaf by leaf
  std::vector<Node>& nodes;
  const std::vector<Aabb>& boxes;  // by geom

  /// Appends the subtree of items [begin, end).
  void build(int begin, int end) {
    const int self = static_cast<int>(nodes.size());
    nodes.emplace_back();
    Bound bound;
    int count = 0;
    if (end - begin <= kLeafSize) {
      bound.setConstant(kInfinity);
      count = end - begin;
      for (int k = begin; k < end; ++k) {
        bounds[k] = make_bound(boxes[items[k].geom]);
        bound = bound.min(bounds[k]);
      }
    } else {
      const int middle = split(begin, end);
      build(begin, middle);
      const int second = static_cast<int>(nodes.size());
      build(middle, end);
      bound = nodes[self + 1].bound.min(nodes[second].bound);
    }
    nodes[self] = {bound, static_cast<int>(nodes.size()), begin, count};
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
  forest.bounds.resize(forest.items.size());
  Builder builder{forest.items, forest.bounds, forest.nodes, boxes};
  const int count = static_cast<int>(forest.items.size());
  for (int begin = 0, end = 0; begin < count; begin = end) {
    while (end < count && forest.items[end].size_class == forest.items[begin].size_class) ++end;
    builder.build(begin, end);
  }
}

void add_pair(int i, int k, std::vector<std::pair<int, int>>& found) {
  found.emplace_back(std::min(i, k), std::max(i, k));
}

/// Links of one robot lie close together for ever: what may not collide is left out before it is looked at again.
bool may_meet(const BroadphaseInput& input, int i, int k) {
  return input.model == nullptr || may_collide(*input.model, i, k);
}

/// Pairs of the items of a leaf with those of all leaves of `others` from node `start` on.
void query(const Forest& forest, const Node& leaf, const Forest& others, int start,
           std::vector<std::pair<int, int>>& found) {
  const Bound leaf_reach = make_reach(leaf.bound);
  std::array<Bound, kLeafSize> reach;
  std::array<int, kLeafSize> geom;
  const int end = static_cast<int>(others.nodes.size());
  for (int at = start; at < end;) {
    const Node& node = others.nodes[at];
    if (!overlap(node.bound, leaf_reach)) {
      at = node.skip;
      continue;
    }
    ++at;
    if (node.count == 0) continue;
    // Items that reach into the other leaf first: most do not.
    const Bound node_reach = make_reach(node.bound);
    int count = 0;
    for (int k = leaf.begin; k < leaf.begin + leaf.count; ++k) {
      if (!overlap(forest.bounds[k], node_reach)) continue;
      reach[count] = make_reach(forest.bounds[k]);
      geom[count++] = forest.items[k].geom;
    }
    if (count == 0) continue;
    for (int k = node.begin; k < node.begin + node.count; ++k) {
      if (!overlap(others.bounds[k], leaf_reach)) continue;
      for (int i = 0; i < count; ++i) {
        if (overlap(others.bounds[k], reach[i])) add_pair(geom[i], others.items[k].geom, found);
      }
    }
  }
}

/// Pairs within a leaf.
void query_inside(const Forest& forest, const Node& leaf, std::vector<std::pair<int, int>>& found) {
  for (int i = leaf.begin; i < leaf.begin + leaf.count; ++i) {
    const Bound reach = make_reach(forest.bounds[i]);
    for (int k = i + 1; k < leaf.begin + leaf.count; ++k) {
      if (overlap(forest.bounds[k], reach)) add_pair(forest.items[i].geom, forest.items[k].geom, found);
    }
  }
}

/// All pairs of `fat` boxes, by forests of what moves and what stands.
void search(const BroadphaseInput& input, BroadphaseWorkspace& w) {
  for (const bool fixed : {false, true}) {
    w.geoms.clear();
    for (std::size_t k = 0; k < input.boxes.size(); ++k) {
      if (w.has_box[k] != 0 && (input.fixed[k] != 0) == fixed) w.geoms.push_back(static_cast<int>(k));
    }
    build_forest(w.fat, w.geoms, fixed ? w.standing : w.moving);
  }
  w.near.clear();
  for (int at = 0; at < static_cast<int>(w.moving.nodes.size()); ++at) {
    const Node& leaf = w.moving.nodes[at];
    if (leaf.count == 0) continue;
    if (w.most > 0 && w.near.size() > w.most) return;
    query_inside(w.moving, leaf, w.near);
    query(w.moving, leaf, w.moving, at + 1, w.near);
    query(w.moving, leaf, w.standing, 0, w.near);
  }
  std::erase_if(w.near, [&](const auto& pair) { return !may_meet(input, pair.first, pair.second); });
}

/// Pairs of `fat` boxes where only a few changed: those of the others stay, and the few meet all.
void search_again(const BroadphaseInput& input, BroadphaseWorkspace& w) {
  std::erase_if(w.near, [&](const auto& pair) { return w.left[pair.first] != 0 || w.left[pair.second] != 0; });
  const int count = static_cast<int>(input.boxes.size());
  for (const int i : w.leavers) {
    for (int k = 0; k < count; ++k) {
      if (!w.fat[k].overlaps(w.fat[i]) || w.has_box[k] == 0 || k == i) continue;
      if ((w.left[k] != 0 && k < i) || (input.fixed[i] != 0 && input.fixed[k] != 0)) continue;
      if (may_meet(input, i, k)) add_pair(i, k, w.near);
    }
  }
}

double largest_change(const Aabb& now, const Aabb& then) {
  return std::max((now.lower - then.lower).cwiseAbs().maxCoeff(), (now.upper - then.upper).cwiseAbs().maxCoeff());
}

/// Boxes that left their fat ones get new ones: wider where they would stay inside for a while.
void fatten(const BroadphaseInput& input, BroadphaseWorkspace& w) {
  constexpr double kSlack = 0.05;  // of the size, on each side
  constexpr double kSteps = 8.0;
  const std::size_t count = input.boxes.size();
  w.left.assign(count, 0);
  w.leavers.clear();
  for (std::size_t k = 0; k < count; ++k) {
    if (w.has_box[k] == 0) continue;
    const Aabb& box = input.boxes[k];
    Aabb& fat = w.fat[k];
    if ((fat.lower.array() <= box.lower.array()).all() && (box.upper.array() <= fat.upper.array()).all()) continue;
    const double slack = kSlack * (box.upper - box.lower).maxCoeff();
    const bool calm = kSteps * largest_change(box, w.then[k]) < slack;
    fat = box;
    if (calm) {
      fat.lower.array() -= slack;
      fat.upper.array() += slack;
    }
    w.left[k] = 1;
    w.leavers.push_back(static_cast<int>(k));
  }
  w.then = input.boxes;
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

void find_pairs(const BroadphaseInput& input, BroadphaseWorkspace& w, std::vector<std::pair<int, int>>& pairs) {
  constexpr std::size_t kFew = 64;  // that meet all others sooner than a search from nothing ends
  const std::size_t count = input.boxes.size();
  const bool same =
      w.fat.size() == count && w.rules == input.rules && w.fixed == input.fixed && w.has_box.size() == count &&
      std::all_of(input.planes.begin(), input.planes.end(),
                  [&](const BroadphaseInput::HalfSpace& plane) { return w.has_box[plane.geom] == 0; }) &&
      std::count(w.has_box.begin(), w.has_box.end(), 0) == static_cast<std::ptrdiff_t>(input.planes.size());
  if (!same) {
    w.rules = input.rules;
    w.fixed = input.fixed;
    w.has_box.assign(count, 1);
    for (const auto& plane : input.planes) w.has_box[plane.geom] = 0;
    w.fat.assign(count, {});
    w.then = input.boxes;
  }
  fatten(input, w);
  if (!same || w.leavers.size() > kFew) {
    search(input, w);
  } else if (!w.leavers.empty()) {
    search_again(input, w);
  }
  if (!w.leavers.empty()) {
    w.found = w.near;
    sort_pairs(count, w.found, w.begin, w.near);
  }

  pairs.clear();
  for (const auto& plane : input.planes) {
    if (w.most > 0 && pairs.size() > w.most) return;
    for (int k = 0; k < static_cast<int>(count); ++k) {
      if (w.has_box[k] == 0 || (input.fixed[k] != 0 && input.fixed[plane.geom] != 0)) continue;
      const Aabb& box = input.boxes[k];
      // The corner deepest in the half-space.
      const Vec3 corner = (plane.n.array() > 0.0).select(box.lower, box.upper);
      if (plane.n.dot(corner) <= plane.offset && may_meet(input, k, plane.geom)) add_pair(k, plane.geom, pairs);
    }
  }
  for (const auto& pair : w.near) {
    if (input.boxes[pair.first].overlaps(input.boxes[pair.second])) pairs.push_back(pair);
  }
  if (std::is_sorted(pairs.begin(), pairs.end())) return;  // planes come first in most models
  w.found = pairs;
  sort_pairs(count, w.found, w.begin, pairs);
}

}  // namespace almond
