#include "almond/model/surface_tree.hpp"

#include <Eigen/Geometry>
#include <algorithm>
#include <cmath>
#include <numeric>
#include <tuple>
#include <utility>

#include "almond/base/check.hpp"

namespace almond {
namespace {

constexpr double kFlatAngle = 1e-6;  // [rad] between faces that count as one

/// Number of the first vertex with the same position: files often repeat the corners for each triangle.
std::vector<int> weld(const std::vector<Vec3>& vertices) {
  const auto less = [&](int a, int b) {
    const Vec3 &p = vertices[a], &q = vertices[b];
    return std::tie(p.x(), p.y(), p.z(), a) < std::tie(q.x(), q.y(), q.z(), b);
  };
  std::vector<int> sorted(vertices.size()), result(vertices.size());
  std::iota(sorted.begin(), sorted.end(), 0);
  std::sort(sorted.begin(), sorted.end(), less);
  for (std::size_t i = 0; i < sorted.size(); ++i) {
    const bool same = i > 0 && vertices[sorted[i]] == vertices[sorted[i - 1]];
    result[sorted[i]] = same ? result[sorted[i - 1]] : sorted[i];
  }
  return result;
}

struct HalfEdge {
  int low, high, triangle, side;
  bool forward;  // from low to high
};

void connect(SurfaceTree& tree) {
  std::vector<HalfEdge> edges;
  edges.reserve(3 * tree.vertices.size());
  for (int t = 0; t < static_cast<int>(tree.vertices.size()); ++t)
    for (int k = 0; k < 3; ++k) {
      const int v = tree.vertices[t][k], w = tree.vertices[t][(k + 1) % 3];
      if (v != w) edges.push_back({std::min(v, w), std::max(v, w), t, k, v < w});
    }
  std::sort(edges.begin(), edges.end(), [](const HalfEdge& a, const HalfEdge& b) {
    return std::tie(a.low, a.high, a.triangle, a.side) < std::tie(b.low, b.high, b.triangle, b.side);
  });
  for (std::size_t i = 0, end = 0; i < edges.size(); i = end) {
    int forward = 0;
    for (end = i; end < edges.size() && edges[end].low == edges[i].low && edges[end].high == edges[i].high; ++end)
      forward += edges[end].forward ? 1 : -1;
    tree.open_edges += std::abs(forward);
    if (end - i == 2 && forward == 0) {
      tree.neighbors[edges[i].triangle][edges[i].side] = edges[i + 1].triangle;
      tree.neighbors[edges[i + 1].triangle][edges[i + 1].side] = edges[i].triangle;
    }
  }
}

/// Lists the triangles around each vertex and marks those that something can touch elsewhere than on a face.
void find_corners(const TriangleSoup& soup, SurfaceTree& tree) {
  const std::size_t count = tree.vertices.size();
  tree.around_begin.assign(soup.vertices.size() + 1, 0);
  for (const int t : tree.order)
    for (const int v : tree.vertices[t]) ++tree.around_begin[v + 1];
  std::partial_sum(tree.around_begin.begin(), tree.around_begin.end(), tree.around_begin.begin());
  tree.around.resize(static_cast<std::size_t>(tree.around_begin.back()));
  std::vector<int> next(tree.around_begin.begin(), tree.around_begin.end() - 1);
  for (const int t : tree.order)
    for (const int v : tree.vertices[t]) tree.around[next[v]++] = t;

  std::vector<std::uint8_t> sharp_vertex(soup.vertices.size(), 0);
  for (const int t : tree.order)
    for (int k = 0; k < 3; ++k) {
      const int v = tree.vertices[t][k], w = tree.vertices[t][(k + 1) % 3], other = tree.neighbors[t][k];
      bool sharp = other < 0;
      if (!sharp)
        for (const int u : tree.vertices[other]) {
          const Vec3 d = soup.vertices[u] - soup.vertices[v];
          if (u != v && u != w && tree.normals[t].dot(d) < -kFlatAngle * d.norm()) sharp = true;
        }
      if (sharp) sharp_vertex[v] = sharp_vertex[w] = 1;
    }
  tree.sharp.assign(count, 0);
  for (const int t : tree.order)
    for (const int v : tree.vertices[t])
      if (sharp_vertex[v] != 0) tree.sharp[t] = 1;
}

struct TreeBuilder {
  SurfaceTree& tree;
  const std::vector<Aabb>& boxes;    // (triangles)
  const std::vector<Vec3>& centers;  // (triangles)
  int leaf;

  /// Splits at the median along the longest side of the box of the centres; equal centres are ordered by index.
  void build(int begin, int end) {
    const int node = static_cast<int>(tree.nodes.size());
    tree.nodes.emplace_back();
    Aabb box, middle;
    for (int i = begin; i < end; ++i) {
      box.add(boxes[tree.order[i]].lower);
      box.add(boxes[tree.order[i]].upper);
      middle.add(centers[tree.order[i]]);
    }
    tree.nodes[node].box = box;
    if (end - begin <= leaf) {
      tree.nodes[node].begin = begin;
      tree.nodes[node].count = end - begin;
    } else {
      int axis = 0;
      (middle.upper - middle.lower).maxCoeff(&axis);
      const int half = begin + (end - begin) / 2;
      std::nth_element(tree.order.begin() + begin, tree.order.begin() + half, tree.order.begin() + end,
                       [&](int a, int b) { return std::pair(centers[a][axis], a) < std::pair(centers[b][axis], b); });
      build(begin, half);
      build(half, end);
    }
    tree.nodes[node].skip = static_cast<int>(tree.nodes.size());
  }
};

}  // namespace

std::shared_ptr<const SurfaceTree> make_surface_tree(const TriangleSoup& soup, int leaf) {
  auto tree = std::make_shared<SurfaceTree>();
  const std::size_t count = soup.triangles.size();
  const std::vector<int> first = weld(soup.vertices);
  tree->normals.assign(count, Vec3::Zero());
  tree->neighbors.assign(count, {-1, -1, -1});
  tree->vertices.resize(count);
  std::vector<Aabb> boxes(count);
  std::vector<Vec3> centers(count);
  for (std::size_t t = 0; t < count; ++t) {
    const auto& [i, j, k] = soup.triangles[t];
    const Vec3 &a = soup.vertices[i], &b = soup.vertices[j], &c = soup.vertices[k];
    tree->vertices[t] = {first[i], first[j], first[k]};
    for (const Vec3* p : {&a, &b, &c}) boxes[t].add(*p);
    centers[t] = 0.5 * (boxes[t].lower + boxes[t].upper);
    // A triangle flatter than rounding has no direction of its own; its neighbours cover it.
    const Vec3 area = (b - a).cross(c - a);
    const double longest = std::max({(b - a).squaredNorm(), (c - a).squaredNorm(), (c - b).squaredNorm()});
    if (area.norm() > 1e-12 * longest) {
      tree->normals[t] = area.normalized();
      tree->order.push_back(static_cast<int>(t));
    }
  }
  connect(*tree);
  find_corners(soup, *tree);
  tree->nodes.reserve(tree->order.size());
  if (!tree->order.empty()) TreeBuilder{*tree, boxes, centers, leaf}.build(0, static_cast<int>(tree->order.size()));
  return tree;
}

TriangleMesh make_triangle_mesh(TriangleSoup soup) {
  TriangleMesh result;
  for (std::size_t i = 0; i < soup.vertices.size(); ++i)
    require(soup.vertices[i].allFinite(), "triangle mesh: vertex " + std::to_string(i) + " is not finite");
  const int count = static_cast<int>(soup.vertices.size());
  for (std::size_t t = 0; t < soup.triangles.size(); ++t)
    for (const int v : soup.triangles[t])
      require(v >= 0 && v < count, "triangle mesh: triangle " + std::to_string(t) + " names vertex " +
                                       std::to_string(v) + ", expected 0 to " + std::to_string(count - 1));
  result.tree = make_surface_tree(soup);
  result.mesh = std::make_shared<const TriangleSoup>(std::move(soup));
  return result;
}

}  // namespace almond
