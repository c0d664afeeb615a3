#include "almond/model/mesh_distance.hpp"

#include <Eigen/Geometry>
#include <algorithm>
#include <cmath>
#include <numbers>

#include "almond/base/check.hpp"

namespace almond {
namespace {

constexpr double kFar = 3.0;  // radii of a group from which it looks like a dipole

double squared_distance(const Aabb& box, const Vec3& p) {
  return (box.lower - p).cwiseMax(p - box.upper).cwiseMax(0.0).squaredNorm();
}

double squared_distance_to_edge(const Vec3& ap, const Vec3& ab) {
  return (ap - std::clamp(ap.dot(ab) / ab.squaredNorm(), 0.0, 1.0) * ab).squaredNorm();
}

/// Over the face where p lies inside all three edges' planes, else to the nearest edge.
double squared_distance(const Vec3& p, const Vec3& a, const Vec3& b, const Vec3& c) {
  const Vec3 ab = b - a, bc = c - b, ca = a - c, pa = p - a, pb = p - b, pc = p - c;
  const Vec3 n = ab.cross(-ca);
  if (n.dot(ab.cross(pa)) >= 0.0 && n.dot(bc.cross(pb)) >= 0.0 && n.dot(ca.cross(pc)) >= 0.0) {
    const double height = n.dot(pa);
    return height * height / n.squaredNorm();
  }
  return std::min(
      {squared_distance_to_edge(pa, ab), squared_distance_to_edge(pb, bc), squared_distance_to_edge(pc, ca)});
}

/// tan(Ω/2) = [a b c] / (|a||b||c| + (a·b)|c| + (b·c)|a| + (c·a)|b|), Van Oosterom and Strackee 1983
double solid_angle(const Vec3& a, const Vec3& b, const Vec3& c) {
  const double la = a.norm(), lb = b.norm(), lc = c.norm();
  return 2.0 * std::atan2(a.dot(b.cross(c)), la * lb * lc + a.dot(b) * lc + b.dot(c) * la + c.dot(a) * lb);
}

}  // namespace

MeshDistance::MeshDistance(const TriangleSoup& soup) {
  require(!soup.triangles.empty(), "the mesh has no triangles, expected a closed surface");
  const TriangleMesh mesh = make_triangle_mesh(soup);
  static_cast<void>(solid_properties(mesh, 1.0));  // throws where there is no solid
  tree_ = mesh.tree;
  for (const int t : tree_->order) {
    const auto& [i, j, k] = soup.triangles[static_cast<std::size_t>(t)];
    corners_.push_back({soup.vertices[i], soup.vertices[j], soup.vertices[k]});
  }
  // Children stand after their parents: from the back, each node finds its own done.
  const int count = static_cast<int>(tree_->nodes.size());
  dipoles_.resize(static_cast<std::size_t>(count));
  std::vector<double> weights(static_cast<std::size_t>(count), 0.0);
  for (int i = count - 1; i >= 0; --i) {
    const SurfaceNode& node = tree_->nodes[i];
    Dipole& sum = dipoles_[i];
    const auto add = [&](const Vec3& center, const Vec3& area, double weight) {
      sum.center += weight * center;
      sum.area += area;
      weights[i] += weight;
    };
    for (int t = node.begin; t < node.begin + node.count; ++t) {
      const auto& [a, b, c] = corners_[t];
      const Vec3 area = 0.5 * (b - a).cross(c - a);
      add((a + b + c) / 3.0, area, area.norm());
    }
    if (node.count == 0)
      for (int child = i + 1; child < node.skip; child = tree_->nodes[child].skip)
        add(dipoles_[child].center, dipoles_[child].area, weights[child]);
    sum.center /= weights[i];
    sum.radius = (node.box.upper - sum.center).cwiseMax(sum.center - node.box.lower).norm();
  }
}

double MeshDistance::distance(const Vec3& p, double bound, double relaxed, int& hint) const {
  constexpr int kDepth = 64;  // halves at every level: enough for any count
  struct Entry {
    int node;
    double squared;
  };
  Entry stack[kDepth];
  int top = 0, nearest = hint;
  const auto squared_to = [&](int t) { return squared_distance(p, corners_[t].a, corners_[t].b, corners_[t].c); };
  const double keep = (1.0 - relaxed) * (1.0 - relaxed);
  double best = squared_to(nearest), limit = std::min(keep * best, bound * bound);
  stack[top++] = {0, squared_distance(tree_->nodes[0].box, p)};
  while (top > 0) {
    const Entry entry = stack[--top];
    if (entry.squared >= limit) continue;
    const SurfaceNode& node = tree_->nodes[entry.node];
    for (int t = node.begin; t < node.begin + node.count; ++t) {
      const double squared = squared_to(t);
      if (squared < best) {
        best = squared;
        limit = std::min(keep * best, limit);
        nearest = t;
      }
    }
    if (node.count > 0) continue;
    const int first = entry.node + 1, second = tree_->nodes[first].skip;
    Entry near{first, squared_distance(tree_->nodes[first].box, p)};
    Entry far{second, squared_distance(tree_->nodes[second].box, p)};
    if (far.squared < near.squared) std::swap(near, far);
    if (far.squared < limit) stack[top++] = far;
    if (near.squared < limit) stack[top++] = near;
  }
  hint = nearest;
  return std::sqrt(limit);
}

double MeshDistance::distance(const Vec3& p) const {
  int any = 0;
  return distance(p, kInfinity, 0.0, any);
}

double MeshDistance::winding(const Vec3& p) const {
  double sum = 0.0;
  for (int i = 0; i < static_cast<int>(tree_->nodes.size());) {
    const SurfaceNode& node = tree_->nodes[i];
    const Vec3 r = dipoles_[i].center - p;
    const double squared = r.squaredNorm();
    if (squared > kFar * kFar * dipoles_[i].radius * dipoles_[i].radius) {
      sum += dipoles_[i].area.dot(r) / (squared * std::sqrt(squared));
      i = node.skip;
      continue;
    }
    for (int t = node.begin; t < node.begin + node.count; ++t)
      sum += solid_angle(corners_[t].a - p, corners_[t].b - p, corners_[t].c - p);
    ++i;
  }
  return sum / (4.0 * std::numbers::pi);
}

double DistanceWalker::at(const Vec3& p) {
  const double step = (p - last_).norm(), known = std::abs(d_);
  const double d = mesh_.distance(p, bound_, 0.0, nearest_);
  // The ball of radius |d| about the last point holds no surface: what lies in it is on the same side.
  const bool same = known > step * (1.0 + 1e-9);
  const bool inside = same ? d_ < 0.0 : mesh_.winding(p) > 0.5;
  last_ = p;
  d_ = inside ? -d : d;
  return d_;
}

}  // namespace almond
