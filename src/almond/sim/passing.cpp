#include "almond/sim/passing.hpp"

#include <algorithm>
#include <cmath>

#include "almond/dynamics/drift.hpp"
#include "almond/sim/held.hpp"
#include "almond/sim/second_look.hpp"
#include "almond/sim/touched.hpp"

namespace almond {
namespace {

constexpr double kDeepest = 1e-3;      // [m] that bodies may be in each other at the end of a step,
constexpr double kShare = 0.25;        // and of the thickness of a pair;
constexpr double kGrowth = 0.2;        // of these, where they began beyond
constexpr double kLeastShare = 0.05;   // of the smaller radius that a pair is thick, shells and threads too
constexpr double kBetweenLooks = 0.5;  // of the thickness of a pair that it moves past from pose to pose
constexpr int kMostLooks = 32;         // a pair that asks for more cannot be followed

/// Half of what a shape measures across where it is thinnest, about. A surface, or a shell, has no thickness; what is
/// under a floor has no end.
struct HalfThickness {
  double operator()(const Sphere& s) const { return s.radius; }
  double operator()(const Capsule& s) const { return s.radius; }
  double operator()(const Plane&) const { return kInfinity; }
  double operator()(const Box& s) const { return s.half.minCoeff(); }
  double operator()(const Cylinder& s) const { return std::min(s.radius, s.half_length); }
  double operator()(const Cone& s) const {
    return 2.0 * s.radius * s.half_length / (s.radius + std::hypot(s.radius, 2.0 * s.half_length));
  }
  double operator()(const Ellipsoid& s) const { return s.radii.minCoeff(); }
  double operator()(const ConvexMesh& s) const {
    double least = kInfinity;
    for (std::size_t f = 0; f < s.hull->faces.size(); ++f)
      least = std::min(least, s.hull->normals[f].dot(s.hull->vertices[s.hull->faces[f][0]] - s.hull->center));
    return least;
  }
  double operator()(const TriangleMesh&) const { return 0.0; }
  double operator()(const HeightField&) const { return kInfinity; }
  double operator()(const SdfShape&) const { return 0.0; }
};

/// Half of what a pair measures across along its thinnest way through each other.
double half_thickness(const Geom& a, const Geom& b) {
  const double both = std::visit(HalfThickness{}, a.shape) + std::visit(HalfThickness{}, b.shape);
  return std::max(both, kLeastShare * std::min(a.radius, b.radius));
}

/// How deep a pair may be in each other on the way: a point that came so far is through, or as good as.
double most_on_the_way(const Geom& a, const Geom& b) {
  const double thinner = std::min(std::visit(HalfThickness{}, a.shape), std::visit(HalfThickness{}, b.shape));
  const double share = kShare * half_thickness(a, b);
  return thinner > 0.0 ? std::min(share, 2.0 * thinner) : share;
}

/// And at the end.
double most_at_the_end(const Geom& a, const Geom& b) { return std::min(kDeepest, kShare * half_thickness(a, b)); }

bool is_same_pair(const ContactPoint& x, const ContactPoint& y) { return x.geom_a == y.geom_a && x.geom_b == y.geom_b; }

/// Of places that are to meet from the side the gap is none: what is to be closed until they do.
double deepest_of(const std::vector<ContactPoint>& points, const ContactPoint& pair) {
  double deepest = 0.0;
  for (const ContactPoint& point : points)
    if (is_same_pair(point, pair) && point.apart.isZero(0.0)) deepest = std::min(deepest, point.gap);
  return deepest;
}

/// Poses on the way that pairs ask for, the end included; marks the geoms that ask for more than that. One pair that
/// moves too far to be followed is as bad as one that passes: what was not looked at is not solved.
double count_looks(const Model& model, double h, StepWorkspace& w) {
  double looks = 1.0;
  const std::vector<ContactPoint>& points = w.contacts.points;
  for (std::size_t i = 0; i < points.size(); ++i) {
    const ContactPoint& point = points[i];
    if (i > 0 && is_same_pair(points[i - 1], point)) continue;
    const auto shift = [&](int body, int geom) -> Vec3 {
      return h * point_velocity(model, w.kinematics, w.V, body, w.kinematics.X_WG[geom].p);
    };
    const auto sweep = [&](int body, int geom) {  // no point gets farther by turning than a diameter
      const double radius = model.geoms[geom].radius;
      if (body < 0 || !std::isfinite(radius) || std::holds_alternative<Sphere>(model.geoms[geom].shape)) return 0.0;
      return radius * std::min(h * w.V.col(body).tail<3>().norm(), 2.0);
    };
    const double way = (shift(point.body_b, point.geom_b) - shift(point.body_a, point.geom_a)).norm() +
                       sweep(point.body_a, point.geom_a) + sweep(point.body_b, point.geom_b);
    const Geom &a = model.geoms[point.geom_a], &b = model.geoms[point.geom_b];
    if (way <= kBetweenLooks * kLeastShare * std::min(a.radius, b.radius)) continue;  // thickness takes a while
    const double wanted = way / (kBetweenLooks * half_thickness(a, b));
    if (!(wanted > 1.0)) continue;
    looks = std::max(looks, std::ceil(wanted));
    w.swings[point.geom_a] = w.swings[point.geom_b] = 1;
  }
  return looks;
}

}  // namespace

int count_passing(const Model& model, const StepOptions& options, const State& state, bool end_is_seen,
                  StepWorkspace& w) {
  constexpr double kSlow = 1e-3;  // [rad, m] in a step
  const double h = (1.0 - options.theta) * options.dt;
  if (w.contacts.points.empty() || !is_sane(w.motion_v)) return 0;
  if (h * w.motion_v.cwiseAbs().maxCoeff() < kSlow) return 0;
  compute_velocities(model, w.kinematics, w.motion_v, w.V);
  const bool swings = may_swing(model, options, w);
  const double wanted = count_looks(model, h, w);
  if (wanted > kMostLooks) return 1;
  if ((!swings || end_is_seen) && wanted == 1.0) return 0;
  const int looks = static_cast<int>(wanted);
  w.still.assign(w.motion.size(), {});
  CollisionOptions near = options.collision;
  near.margin = 0.0;
  int passing = 0;
  for (int look = 1; look <= looks && passing == 0; ++look) {
    move_on(model, state, h * look / looks, w);
    compute_poses(model, w.before, w.after);
    detect_contacts(model, w.after.X_WG, w.still, near, w.collision_ahead, w.ahead, w.swings);
    leave_out_held(model, w.after, w.ahead);  // as they were at the start, whose overlaps are not known here
    const std::vector<ContactPoint>& points = w.ahead.points;
    for (std::size_t i = 0; i < points.size(); ++i) {
      const ContactPoint& pair = points[i];
      if (i > 0 && is_same_pair(points[i - 1], pair)) continue;
      const Geom &a = model.geoms[pair.geom_a], &b = model.geoms[pair.geom_b];
      const double most = look < looks ? most_on_the_way(a, b) : most_at_the_end(a, b);
      const double now = deepest_of(points, pair);
      const double start = deepest_of(w.contacts.points, pair);
      if (now < -most && (start >= -most || now < start - kGrowth * most)) ++passing;
    }
  }
  return passing;
}

}  // namespace almond
