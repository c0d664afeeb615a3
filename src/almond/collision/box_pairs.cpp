// Sphere and capsule against a box: a point or segment core with a radius. Outside, the closest point of the box
// decides; once the core itself is inside, the shortest way out does.

#include <algorithm>
#include <array>
#include <cmath>

#include "almond/collision/primitives.hpp"

namespace almond {

namespace {

constexpr double kTouching = 1e-12;  // of the box's size: closer cores count as inside

/// The shortest way of a segment p ± d out of a box about the origin.
struct WayOut {
  Vec3 direction = Vec3::UnitX();  // box frame, unit
  double depth = kInfinity;        // how far
};

void try_axis(const Vec3& m, const Vec3& p, const Vec3& d, const Vec3& half, double handicap, WayOut& best) {
  const double middle = m.dot(p), reach = std::abs(m.dot(d)), extent = m.cwiseAbs().dot(half);
  const double sign = middle >= 0.0 ? 1.0 : -1.0;
  const double depth = extent - std::abs(middle) + reach;
  if (depth + handicap < best.depth) best = {sign * m, depth};
}

WayOut find_way_out(const Vec3& p, const Vec3& d, const Vec3& half) {
  WayOut best;
  for (int k = 0; k < 3; ++k) try_axis(Vec3::Unit(k), p, d, half, 0.0, best);
  // Across the segment and an edge; faces are preferred so that rounding does not choose between equals.
  const double length = d.norm();
  for (int k = 0; k < 3; ++k) {
    const Vec3 across = d.cross(Vec3::Unit(k));
    const double size = across.norm();
    if (size > 1e-6 * length && length > 0.0) try_axis(across / size, p, d, half, 1e-6 * half.minCoeff(), best);
  }
  return best;
}

/// Parameter in [-1, 1] of the point of p + t d closest to the box: the derivative of the squared distance is piecewise
/// linear and increasing, with kinks where a coordinate enters or leaves the box.
double closest_on_segment(const Vec3& p, const Vec3& d, const Vec3& half) {
  const auto slope = [&](double t) {
    const Vec3 x = p + t * d;
    return (x - x.cwiseMax(-half).cwiseMin(half)).dot(d);
  };
  std::array<double, 8> knot;  // sorted
  int count = 0;
  const auto insert = [&](double t) {
    int k = count++;
    for (; k > 0 && knot[k - 1] > t; --k) knot[k] = knot[k - 1];
    knot[k] = t;
  };
  insert(-1.0);
  for (int k = 0; k < 3; ++k) {
    if (d[k] == 0.0) continue;
    for (const double side : {-half[k], half[k]}) {
      const double t = (side - p[k]) / d[k];
      if (t > -1.0 && t < 1.0) insert(t);
    }
  }
  insert(1.0);

  double before = slope(-1.0);
  if (before >= 0.0) return -1.0;
  for (int k = 1; k < count; ++k) {
    const double after = slope(knot[k]);
    if (after >= 0.0) {
      const double fraction = before / (before - after);
      return knot[k - 1] + fraction * (knot[k] - knot[k - 1]);
    }
    before = after;
  }
  return 1.0;
}

}  // namespace

Facet make_box_facet(const Box& box, const Pose& X, const Vec3& n, double sine) {
  const Vec3 m = X.R.transpose() * n;
  // The axis most along n is never spanned.
  int main_axis = 0;
  m.cwiseAbs().maxCoeff(&main_axis);
  std::array<int, 2> spanned{};
  int count = 0;
  std::uint32_t base = 0;
  for (int k = 0; k < 3; ++k) {
    if (k != main_axis && std::abs(m[k]) < sine) {
      spanned[count++] = k;
    } else if (m[k] >= 0.0) {
      base |= 1U << k;
    }
  }
  Facet facet;
  const auto add = [&](std::uint32_t corner) {
    Vec3 x;
    for (int k = 0; k < 3; ++k) x[k] = (corner >> k & 1U) != 0 ? box.half[k] : -box.half[k];
    facet.add(X * x, corner);
  };
  add(base);
  if (count >= 1) add(base | 1U << spanned[0]);
  if (count == 2) {
    add(base | 1U << spanned[0] | 1U << spanned[1]);
    add(base | 1U << spanned[1]);
  }
  return facet;
}

void collide_sphere_box(const Sphere& a, const Pose& X_a, const Box& b, const Pose& X_b, const PairOptions& options,
                        Manifold& manifold) {
  const Vec3 x = X_b.R.transpose() * (X_a.p - X_b.p);
  const Vec3 nearest = x.cwiseMax(-b.half).cwiseMin(b.half);
  const double distance = (nearest - x).norm();
  Vec3 m;  // from the sphere into the box, box frame
  double gap;
  if (distance > kTouching * b.half.maxCoeff()) {
    m = (nearest - x) / distance;
    gap = distance - a.radius;
  } else {
    const WayOut out = find_way_out(x, Vec3::Zero(), b.half);
    m = -out.direction;
    gap = -out.depth - a.radius;
  }
  if (gap > options.margin) return;
  const Vec3 n = X_b.R * m;
  manifold.points.push_back({X_a.p + (a.radius + 0.5 * gap) * n, n, gap, 0});
}

void collide_capsule_box(const Capsule& a, const Pose& X_a, const Box& b, const Pose& X_b, const PairOptions& options,
                         Manifold& manifold) {
  const Vec3 p = X_b.R.transpose() * (X_a.p - X_b.p);
  const Vec3 d = X_b.R.transpose() * (a.half_length * X_a.R.col(2));
  double t = closest_on_segment(p, d, b.half);
  const Vec3 x = p + t * d, nearest = x.cwiseMax(-b.half).cwiseMin(b.half);
  const double distance = (nearest - x).norm();
  Vec3 m;  // from the capsule into the box, box frame
  double gap;
  if (distance > kTouching * b.half.maxCoeff()) {
    m = (nearest - x) / distance;
    gap = distance - a.radius;
  } else {
    const WayOut out = find_way_out(p, d, b.half);
    m = -out.direction;
    gap = -out.depth - a.radius;
    const double along = m.dot(d);
    t = std::abs(along) > 1e-9 * a.half_length ? (along > 0.0 ? 1.0 : -1.0) : 0.0;
  }
  if (gap > options.margin) return;
  const Vec3 n = X_b.R * m;

  // The length that lies along the face or edge opposite. Each point of the axis carries a ball, whose lowest point
  // counts.
  constexpr double kFlatSine = 0.05;
  const int first = static_cast<int>(manifold.points.size());
  if (a.half_length > 1e-6 * a.radius) {
    Facet line;
    const Vec3 axis = a.half_length * X_a.R.col(2), lowest = X_a.p + a.radius * n;
    line.add(lowest - axis, 0);
    line.add(lowest + axis, 1);
    add_patch(line, make_box_facet(b, X_b, -n, kFlatSine), n, options, manifold);
  }
  double least = kInfinity;
  for (std::size_t k = first; k < manifold.points.size(); ++k) least = std::min(least, manifold.points[k].gap);
  if (least > gap + 1e-9 * b.half.maxCoeff()) {
    const Vec3 core = X_b * Vec3(p + t * d);
    manifold.points.push_back({core + (a.radius + 0.5 * gap) * n, n, gap, kClosestFeature});
  }
}

}  // namespace almond
