// Two boxes by separating axes: the 3 + 3 face normals and the 9 cross products of edges.
//
//   s(n) = |n·t| - r_a(n) - r_b(n),   t between the centres, r the half widths along n
//
// The axis of the largest s is the shallowest way out of an overlap. Apart, s is the distance unless a corner faces a
// corner or an edge; then the closest points themselves are searched. On a face axis the opposite faces are clipped,
// and every point gets its own gap.

#include <algorithm>
#include <cmath>

#include "almond/collision/primitives.hpp"

namespace almond {

namespace {

// A face wins over an edge unless the edge is better by this much, so that stacks do not flip between them.
constexpr double kRelativePreference = 0.01;  // of the depth
constexpr double kAbsolutePreference = 1e-5;  // of the smaller box
// 1.7 degrees. Nearer to a face's normal an edge axis clips the faces, too: their corners hold the crossing of the
// edges, and a wobbling box keeps its other corners.
constexpr double kNearFaceCosine = 0.99955;
constexpr double kParallelEdges = 1e-4;  // sine
// 15 degrees. Faces that look at each other so far off the normal still send their corners along: with their own gaps,
// for a box that tips over within the step.
constexpr double kTippingSine = 0.26;

struct Axis {
  double s = -kInfinity;
  Vec3 n = Vec3::UnitZ();        // a's frame, from a to b
  int edge_a = -1, edge_b = -1;  // axes of the edges; -1: a face
  bool flat = true;              // nearly the normal of a face
};

/// Corner of a box farthest along m (its own frame), as bits.
std::uint32_t support_corner(const Vec3& m) {
  return (m.x() >= 0.0 ? 1U : 0U) | (m.y() >= 0.0 ? 2U : 0U) | (m.z() >= 0.0 ? 4U : 0U);
}

Vec3 corner_of(const Box& box, std::uint32_t bits) {
  return {(bits & 1U) != 0 ? box.half.x() : -box.half.x(), (bits & 2U) != 0 ? box.half.y() : -box.half.y(),
          (bits & 4U) != 0 ? box.half.z() : -box.half.z()};
}

/// The axis that separates best; the first that does so by more than `margin` will do.
Axis find_axis(const Vec3& a, const Vec3& b, const Mat3& R, const Vec3& t, double margin) {
  const Mat3 abs_R = R.cwiseAbs();
  const Vec3 t_b = R.transpose() * t;
  const double size = std::min(a.maxCoeff(), b.maxCoeff());
  const auto towards_b = [&](const Vec3& n) -> Vec3 { return n.dot(t) < 0.0 ? Vec3(-n) : n; };

  Axis face;
  for (int i = 0; i < 3; ++i) {
    const double s = std::abs(t[i]) - a[i] - abs_R.row(i).dot(b);
    if (s > margin) return {s};
    if (s > face.s + kAbsolutePreference * size || i == 0) face = {s, towards_b(Vec3::Unit(i)), -1, -1, true};
  }
  for (int j = 0; j < 3; ++j) {
    const double s = std::abs(t_b[j]) - b[j] - abs_R.col(j).dot(a);
    if (s > margin) return {s};
    if (s > face.s + kAbsolutePreference * size) face = {s, towards_b(R.col(j)), -1, -1, true};
  }

  Axis edge;
  for (int i = 0; i < 3; ++i) {
    const int i1 = (i + 1) % 3, i2 = (i + 2) % 3;
    for (int j = 0; j < 3; ++j) {
      const int j1 = (j + 1) % 3, j2 = (j + 2) % 3;
      // n = e_i x R e_j has no entry i in a's frame and no entry j in b's.
      const double sine = std::sqrt(R(i1, j) * R(i1, j) + R(i2, j) * R(i2, j));
      if (sine < kParallelEdges) continue;
      const double apart = std::abs(t[i2] * R(i1, j) - t[i1] * R(i2, j));
      const double half_a = a[i1] * abs_R(i2, j) + a[i2] * abs_R(i1, j);
      const double half_b = b[j1] * abs_R(i, j2) + b[j2] * abs_R(i, j1);
      const double s = (apart - half_a - half_b) / sine;
      if (s > margin) return {s};
      if (s > edge.s) edge = {s, Vec3::Zero(), i, j, false};
    }
  }
  const double handicap = kRelativePreference * std::abs(face.s) + kAbsolutePreference * size;
  if (edge.s <= face.s + handicap) return face;
  const Vec3 n = Vec3::Unit(edge.edge_a).cross(R.col(edge.edge_b)).normalized();
  const double cosine = std::max(n.cwiseAbs().maxCoeff(), (R.transpose() * n).cwiseAbs().maxCoeff());
  edge.n = towards_b(n);
  edge.flat = cosine > kNearFaceCosine;
  return edge;
}

/// Where the two edges of an edge axis pass each other. `inside`: between the ends of both.
struct Crossing {
  Vec3 p_a, p_b;  // world
  std::uint32_t feature;
  bool inside;
};

Crossing find_crossing(const Box& a, const Pose& X_a, const Box& b, const Pose& X_b, const Axis& axis, const Vec3& n) {
  const std::uint32_t bits_a = support_corner(X_a.R.transpose() * n) & ~(1U << axis.edge_a);
  const std::uint32_t bits_b = support_corner(-(X_b.R.transpose() * n)) & ~(1U << axis.edge_b);
  Vec3 middle_a = corner_of(a, bits_a), middle_b = corner_of(b, bits_b);
  middle_a[axis.edge_a] = middle_b[axis.edge_b] = 0.0;
  const Vec3 p = X_a * middle_a, d = a.half[axis.edge_a] * X_a.R.col(axis.edge_a);
  const Vec3 q = X_b * middle_b, e = b.half[axis.edge_b] * X_b.R.col(axis.edge_b);
  const SegmentPair at = closest_on_segments(p, d, q, e);
  const auto edge_name = [](int edge, std::uint32_t bits) { return static_cast<std::uint32_t>(8 * (edge + 1)) + bits; };
  return {p + at.s * d, q + at.t * e, name_crossing(edge_name(axis.edge_a, bits_a), edge_name(axis.edge_b, bits_b)),
          std::abs(at.s) < 1.0 && std::abs(at.t) < 1.0};
}

struct ClosestPoints {
  double distance2 = kInfinity;
  Vec3 p_a, p_b;
};

/// Corners of one box against the other.
void try_corners(const Box& from, const Pose& X_from, const Box& to, const Pose& X_to, bool from_is_a,
                 ClosestPoints& best) {
  for (std::uint32_t k = 0; k < 8; ++k) {
    const Vec3 p = X_from * corner_of(from, k);
    const Vec3 x = X_to.R.transpose() * (p - X_to.p);
    const Vec3 nearest = x.cwiseMax(-to.half).cwiseMin(to.half);
    const double distance2 = (nearest - x).squaredNorm();
    if (distance2 >= best.distance2) continue;
    const Vec3 q = X_to * nearest;
    best = {distance2, from_is_a ? p : q, from_is_a ? q : p};
  }
}

struct Edge {
  Vec3 p, d;  // world: middle, half length
};

/// Edges 0 .. 11: four along each axis.
Edge make_edge(const Box& box, const Pose& X, int k) {
  const int axis = k / 4, u = (axis + 1) % 3, w = (axis + 2) % 3;
  Vec3 middle = Vec3::Zero();
  middle[u] = k % 2 == 0 ? -box.half[u] : box.half[u];
  middle[w] = k % 4 < 2 ? -box.half[w] : box.half[w];
  return {X * middle, box.half[axis] * X.R.col(axis)};
}

/// Closest points of two separated boxes: a corner and a box, or two edges.
ClosestPoints find_closest(const Box& a, const Pose& X_a, const Box& b, const Pose& X_b) {
  ClosestPoints best;
  try_corners(a, X_a, b, X_b, true, best);
  try_corners(b, X_b, a, X_a, false, best);
  for (int i = 0; i < 12; ++i) {
    const Edge edge_a = make_edge(a, X_a, i);
    for (int j = 0; j < 12; ++j) {
      const Edge edge_b = make_edge(b, X_b, j);
      const SegmentPair at = closest_on_segments(edge_a.p, edge_a.d, edge_b.p, edge_b.d);
      const Vec3 p_a = edge_a.p + at.s * edge_a.d, p_b = edge_b.p + at.t * edge_b.d;
      const double distance2 = (p_b - p_a).squaredNorm();
      if (distance2 < best.distance2) best = {distance2, p_a, p_b};
    }
  }
  return best;
}

double least_gap(const Manifold& manifold, std::size_t first) {
  double least = kInfinity;
  for (std::size_t k = first; k < manifold.points.size(); ++k) least = std::min(least, manifold.points[k].gap);
  return least;
}

}  // namespace

void collide_box_box(const Box& a, const Pose& X_a, const Box& b, const Pose& X_b, const PairOptions& options,
                     Manifold& manifold) {
  const Mat3 R = X_a.R.transpose() * X_b.R;
  const Vec3 t = X_a.R.transpose() * (X_b.p - X_a.p);
  const Axis axis = find_axis(a.half, b.half, R, t, options.margin);
  if (axis.s > options.margin) return;
  const Vec3 n = X_a.R * axis.n;
  const std::size_t first = manifold.points.size();
  const double tolerance = 1e-9 * std::min(a.half.maxCoeff(), b.half.maxCoeff());

  double least = kInfinity;
  if (axis.flat) {
    // Both faces that look along n; tilted ones as well, their points carry the slope in their gaps.
    constexpr double kAnySine = 2.0;
    add_patch(make_box_facet(a, X_a, n, kAnySine), make_box_facet(b, X_b, -n, kAnySine), n, options, manifold);
    least = least_gap(manifold, first);
    if (least <= axis.s + tolerance) return;
  }
  if (axis.edge_a >= 0) {
    const Crossing crossing = find_crossing(a, X_a, b, X_b, axis, n);
    if (crossing.inside || axis.s <= 0.0) {
      if (!axis.flat) {
        add_patch(make_box_facet(a, X_a, n, kTippingSine), make_box_facet(b, X_b, -n, kTippingSine), n, options,
                  manifold);
        if (least_gap(manifold, first) <= axis.s + tolerance) return;
      }
      manifold.points.push_back({0.5 * (crossing.p_a + crossing.p_b), n, axis.s, crossing.feature});
      return;
    }
  }
  if (axis.s <= 0.0) {
    if (least <= 0.0) return;
    // Nearly equal axes, and the faces of the chosen one do not meet: its deepest corner.
    const Vec3 p_b = X_b * corner_of(b, support_corner(-(X_b.R.transpose() * n)));
    manifold.points.push_back({p_b - 0.5 * axis.s * n, n, axis.s, kClosestFeature});
    return;
  }

  // Apart, and the closest features are not those of the axis.
  const ClosestPoints closest = find_closest(a, X_a, b, X_b);
  const double distance = std::sqrt(closest.distance2);
  if (least < kInfinity && least - distance <= 0.01 * least && axis.s >= 0.98 * distance) {
    // Practically the faces after all: keep them, moved so that no gap is promised that is not there.
    for (std::size_t k = first; k < manifold.points.size(); ++k)
      manifold.points[k].gap -= std::max(0.0, least - distance);
    return;
  }
  manifold.points.erase(manifold.points.begin() + static_cast<std::ptrdiff_t>(first), manifold.points.end());
  if (distance > options.margin) return;
  const Vec3 direction = distance > tolerance ? Vec3((closest.p_b - closest.p_a) / distance) : n;
  add_patch(make_box_facet(a, X_a, direction, kTippingSine), make_box_facet(b, X_b, -direction, kTippingSine),
            direction, options, manifold);
  // An edge that passes a corner crosses two others there at once: the closest point has one name for all of them.
  const Vec3 middle = 0.5 * (closest.p_a + closest.p_b);
  std::erase_if(manifold.points,
                [&](const ManifoldPoint& point) { return (point.p - middle).norm() < 1e3 * tolerance; });
  manifold.points.push_back({middle, direction, distance, kClosestFeature});
}

}  // namespace almond
