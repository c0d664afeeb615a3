// Spheres and capsules: points and segments with a radius. The distance is taken between the cores, then the radii are
// subtracted.

#include "almond/collision/primitives.hpp"

#include <algorithm>
#include <cmath>

namespace almond {

namespace {

/// A contact of two balls at c_a and c_b; `fallback` is the normal where the centres coincide.
ManifoldPoint make_ball_contact(const Vec3& c_a, double r_a, const Vec3& c_b, double r_b, const Vec3& fallback,
                                std::uint32_t feature) {
  const Vec3 d = c_b - c_a;
  const double distance = d.norm();
  const Vec3 n = distance > 1e-14 * (r_a + r_b) ? Vec3(d / distance) : fallback;
  const double gap = distance - r_a - r_b;
  return {c_a + (r_a + 0.5 * gap) * n, n, gap, feature};
}

void add_within(const ManifoldPoint& point, const PairOptions& options, Manifold& manifold) {
  if (point.gap <= options.margin) manifold.points.push_back(point);
}

}  // namespace

void collide_sphere_sphere(const Sphere& a, const Pose& X_a, const Sphere& b, const Pose& X_b,
                           const PairOptions& options, Manifold& manifold) {
  add_within(make_ball_contact(X_a.p, a.radius, X_b.p, b.radius, X_a.R.col(2), 0), options, manifold);
}

void collide_sphere_capsule(const Sphere& a, const Pose& X_a, const Capsule& b, const Pose& X_b,
                            const PairOptions& options, Manifold& manifold) {
  const Vec3 axis = X_b.R.col(2);
  const double t = std::clamp(axis.dot(X_a.p - X_b.p), -b.half_length, b.half_length);
  // On the axis every direction across it is equally deep.
  add_within(make_ball_contact(X_a.p, a.radius, X_b.p + t * axis, b.radius, X_b.R.col(0), 0), options, manifold);
}

SegmentPair closest_on_segments(const Vec3& p, const Vec3& d, const Vec3& q, const Vec3& e) {
  // min |p + s d - q - t e|² over the square: the free minimum over s, t clamped, then s again for the clamped t.
  const Vec3 r = p - q;
  const double dd = d.squaredNorm(), ee = e.squaredNorm(), de = d.dot(e), dr = d.dot(r), er = e.dot(r);
  const auto clamp1 = [](double x) { return std::clamp(x, -1.0, 1.0); };
  if (dd <= 0.0 && ee <= 0.0) return {0.0, 0.0};
  if (dd <= 0.0) return {0.0, clamp1(er / ee)};
  if (ee <= 0.0) return {clamp1(-dr / dd), 0.0};
  // dd ee - de² by the cross product: no cancellation for nearly parallel segments.
  const double det = d.cross(e).squaredNorm();
  double s = det > 1e-24 * dd * ee ? clamp1((de * er - dr * ee) / det) : 0.0;
  const double t = clamp1((de * s + er) / ee);
  s = clamp1((de * t - dr) / dd);
  return {s, t};
}

void collide_capsule_capsule(const Capsule& a, const Pose& X_a, const Capsule& b, const Pose& X_b,
                             const PairOptions& options, Manifold& manifold) {
  const Vec3 u = X_a.R.col(2), w = X_b.R.col(2);
  const Vec3 d = a.half_length * u, e = b.half_length * w;
  const SegmentPair closest = closest_on_segments(X_a.p, d, X_b.p, e);
  // Where the axes cross, the normal is across both, towards b's centre.
  Vec3 across = u.cross(w);
  const double sine = across.norm();
  across = sine > 1e-9 ? Vec3(across / sine) : Vec3(X_a.R.col(0));
  if (across.dot(X_b.p - X_a.p) < 0.0) across = -across;
  const auto contact = [&](double s, double t, std::uint32_t feature) {
    return make_ball_contact(X_a.p + s * d, a.radius, X_b.p + t * e, b.radius, across, feature);
  };
  const ManifoldPoint nearest = contact(closest.s, closest.t, 0);

  constexpr double kParallelSine = 0.1;
  const double radii = a.radius + b.radius;
  const double shorter = std::min(a.half_length, b.half_length);
  if (sine < kParallelSine && shorter > 1e-6 * radii) {
    // Both ends of the common length: an end of one capsule beside the other one. Where both ends are, the closer one;
    // a's end is 1 or 2, b's is 3 or 4.
    double least = kInfinity;
    for (const double s : {-1.0, 1.0}) {
      const double t = u.dot(w) > 0.0 ? s : -s;
      const double foot_b = w.dot(X_a.p + s * d - X_b.p) / b.half_length;
      const double foot_a = u.dot(X_b.p + t * e - X_a.p) / a.half_length;
      constexpr double kEnd = 1.0 + 1e-6;
      const ManifoldPoint end_a = contact(s, std::clamp(foot_b, -1.0, 1.0), s < 0.0 ? 1 : 2);
      const ManifoldPoint end_b = contact(std::clamp(foot_a, -1.0, 1.0), t, t < 0.0 ? 3 : 4);
      const bool has_a = std::abs(foot_b) <= kEnd, has_b = std::abs(foot_a) <= kEnd;
      if (!has_a && !has_b) continue;
      const ManifoldPoint& end = has_a && (!has_b || end_a.gap <= end_b.gap + 1e-6 * radii) ? end_a : end_b;
      add_within(end, options, manifold);
      least = std::min(least, end.gap);
    }
    // Skew axes come closest in between.
    if (nearest.gap >= least - 1e-5 * radii) return;
  }
  add_within(nearest, options, manifold);
}

}  // namespace almond
