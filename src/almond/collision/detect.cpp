#include "almond/collision/detect.hpp"

#include <algorithm>
#include <cmath>

#include "almond/collision/broadphase.hpp"
#include "almond/collision/convex.hpp"
#include "almond/collision/narrowphase.hpp"
#include "almond/collision/sdf_pairs.hpp"

namespace almond {

struct CollisionWorkspace::Impl {
  BroadphaseInput input;
  BroadphaseWorkspace broadphase;
  std::vector<std::pair<int, int>> pairs;
  ConvexWorkspace convex;
  SdfWorkspace sdf;
  Manifold manifold;
  std::size_t most = 0;  // contacts after which detection ends, short of the others; 0: none
};

CollisionWorkspace::CollisionWorkspace() : impl_(std::make_unique<Impl>()) {}
CollisionWorkspace::~CollisionWorkspace() = default;
CollisionWorkspace::CollisionWorkspace(CollisionWorkspace&&) noexcept = default;
CollisionWorkspace& CollisionWorkspace::operator=(CollisionWorkspace&&) noexcept = default;

namespace {

constexpr double kMarginPerRadius =
    0.1;  // margins stay small beside the shapes, or grains would feel each other at rest

constexpr double kSdfMarginPerRadius = 0.01;  // surfaces that fit closely are near each other everywhere

bool is_fixed(const Model& model, const Geom& geom) {
  return geom.body < 0 || model.bodies[static_cast<std::size_t>(geom.body)].weld < 0;
}

/// All that may_collide() looks at: another model in the same place, with boxes where those of the last one were, is
/// told from it by this.
void list_rules(const Model& model, std::vector<std::uint32_t>& rules) {
  rules.clear();
  const auto add = [&](auto... values) { (rules.push_back(static_cast<std::uint32_t>(values)), ...); };
  for (const Geom& geom : model.geoms) add(geom.group, geom.mask, geom.body);
  for (const Body& body : model.bodies) add(body.weld, body.parent);
  add(model.excluded.size(), model.included.size());  // which numbers belong to which
  for (const auto& [a, b] : model.excluded) add(a, b);
  for (const auto& [a, b] : model.included) add(a, b);
  for (const GeomPair& pair : model.pairs) add(pair.a, pair.b);
}

void fill_input(const Model& model, const std::vector<Pose>& X_WG, const std::vector<GeomMotion>& motion,
                const CollisionOptions& options, BroadphaseInput& input) {
  const std::size_t count = model.geoms.size();
  input.model = &model;
  list_rules(model, input.rules);
  input.boxes.resize(count);
  input.fixed.resize(count);
  input.planes.clear();
  const double fat = 0.5 * options.margin;
  for (std::size_t k = 0; k < count; ++k) {
    const Geom& geom = model.geoms[k];
    const Vec3& shift = motion[k].shift;
    const double reach = fat + motion[k].spin;
    input.fixed[k] = is_fixed(model, geom) ? 1 : 0;
    if (std::holds_alternative<Plane>(geom.shape)) {
      // Swept along its normal only; tilting is in the spin.
      const Vec3 n = X_WG[k].R.col(2);
      input.planes.push_back({static_cast<int>(k), n, n.dot(X_WG[k].p) + reach + std::max(0.0, n.dot(shift))});
      continue;
    }
    Aabb box = make_box(geom.shape, X_WG[k], geom.radius);
    box.lower += shift.cwiseMin(0.0) - Vec3::Constant(reach);
    box.upper += shift.cwiseMax(0.0) + Vec3::Constant(reach);
    input.boxes[k] = box;
  }
}

double rest_margin(const Geom& a, const Geom& b, const CollisionOptions& options) {
  const double per_radius = meets_sdf(a, b) ? kSdfMarginPerRadius : kMarginPerRadius;
  return std::min(options.margin, per_radius * std::min(a.radius, b.radius));
}

/// The gap up to which a pair is reported.
double pair_margin(const Geom& a, const Geom& b, const GeomMotion& motion_a, const GeomMotion& motion_b,
                   const CollisionOptions& options) {
  return rest_margin(a, b, options) + (motion_a.shift - motion_b.shift).norm() + motion_a.spin + motion_b.spin;
}

/// What is known of the motion: all but what `spin` holds beyond the turns. A turn bends paths off their tangents.
PairMotion pair_motion(const Geom& a, const Pose& X_a, const GeomMotion& motion_a, const Geom& b, const Pose& X_b,
                       const GeomMotion& motion_b, const CollisionOptions& options) {
  const auto beyond = [](const Geom& geom, const GeomMotion& motion) {
    const double angle = motion.turn.norm();
    if (angle == 0.0) return motion.spin;  // a plane has no radius to turn with
    return std::max(0.0, motion.spin - geom.radius * angle) + 0.5 * geom.radius * angle * angle;
  };
  return {motion_b.shift - motion_a.shift,
          motion_a.turn,
          motion_b.turn,
          X_a.p,
          X_b.p,
          rest_margin(a, b, options) + beyond(a, motion_a) + beyond(b, motion_b)};
}

/// Depths beyond the diameter of the smaller shape are no contact any more: they are cut there, the point staying with
/// the smaller shape.
void cut_depths(double radius_a, double radius_b, Manifold& manifold) {
  const double limit = 2.0 * std::min(radius_a, radius_b), side = radius_a < radius_b ? 1.0 : -1.0;
  for (ManifoldPoint& point : manifold.points) {
    if (!(point.gap < -limit)) continue;
    // p lies half a gap from either surface.
    point.p += 0.5 * side * (-limit - point.gap) * point.n;
    point.gap = -limit;
    ++manifold.suspicious;
  }
}

std::span<const ContactName> names_of_pair(const std::vector<ContactName>& names, int a, int b) {
  const auto begin = std::lower_bound(names.begin(), names.end(), ContactName{a, b, 0});
  const auto end = std::upper_bound(begin, names.end(), ContactName{a, b, 0xffffffffU});
  return {begin, end};
}

/// Whether two geoms move so little against each other that the points between them should stay the same. What slides
/// is better served by those that spread best.
bool keeps_still(const Geom& a, const GeomMotion& motion_a, const Geom& b, const GeomMotion& motion_b) {
  constexpr double kStill = 1e-6;  // [m] in a step
  const double radius = std::min(a.radius, b.radius);
  return (motion_b.shift - motion_a.shift).norm() + radius * (motion_b.turn - motion_a.turn).norm() < kStill;
}

/// By feature, each name once: equal names are told apart by counting on, so that no point is lost.
void sort_points(std::vector<ManifoldPoint>& points) {
  for (std::size_t i = 1; i < points.size(); ++i) {
    for (std::size_t k = i; k > 0 && points[k].feature < points[k - 1].feature; --k) {
      std::swap(points[k], points[k - 1]);
    }
  }
  for (std::size_t k = 1; k < points.size(); ++k) {
    if (points[k].feature <= points[k - 1].feature) points[k].feature = points[k - 1].feature + 1;
  }
}

}  // namespace

void detect_contacts(const Model& model, const std::vector<Pose>& X_WG, const std::vector<GeomMotion>& motion,
                     const CollisionOptions& options, CollisionWorkspace& workspace, Contacts& contacts,
                     std::span<const std::uint8_t> among) {
  CollisionWorkspace::Impl& impl = workspace.impl();
  contacts.points.clear();
  contacts.spare.clear();
  contacts.pairs_tested = contacts.suspicious = 0;
  fill_input(model, X_WG, motion, options, impl.input);
  find_pairs(impl.input, impl.broadphase, impl.pairs);

  for (const auto& [i, k] : impl.pairs) {
    if (impl.most > 0 && contacts.points.size() + contacts.spare.size() > impl.most) return;
    if (!among.empty() && among[i] == 0 && among[k] == 0) continue;
    const Geom &a = model.geoms[i], &b = model.geoms[k];
    PairOptions pair{pair_margin(a, b, motion[i], motion[k], options),
                     options.max_points_per_pair,
                     options.max_points_per_sdf_pair,
                     {}};
    // Bounding balls: cheaper than any pair of shapes. Planes have no ball.
    const double reach = a.radius + b.radius + pair.margin;
    if ((X_WG[k].p - X_WG[i].p).squaredNorm() > reach * reach) continue;
    ++contacts.pairs_tested;
    Manifold& manifold = impl.manifold;
    manifold.clear();
    if (meets_sdf(a, b)) {
      if (keeps_still(a, motion[i], b, motion[k])) pair.carried = names_of_pair(contacts.carried, i, k);
      pair.motion = pair_motion(a, X_WG[i], motion[i], b, X_WG[k], motion[k], options);
      collide_sdf(a, X_WG[i], b, X_WG[k], pair, impl.sdf, manifold);
    } else {
      collide_pair(a.shape, X_WG[i], b.shape, X_WG[k], pair, impl.convex, manifold);
    }
    if (manifold.points.empty()) continue;
    cut_depths(a.radius, b.radius, manifold);
    sort_points(manifold.points);
    contacts.suspicious += manifold.suspicious;
    const Material material = combine(model, i, k);
    const auto make = [&, i = i, k = k](const ManifoldPoint& point) {
      return ContactPoint{
          i, k, a.body, b.body, point.p, point.n, point.gap, material.mu, material.restitution, point.feature};
    };
    for (const ManifoldPoint& point : manifold.points) contacts.points.push_back(make(point));
    for (const ManifoldPoint& point : manifold.spare) contacts.spare.push_back(make(point));
  }
}

Crowd count_crowd(const Model& model, const std::vector<Pose>& X_WG, const std::vector<GeomMotion>& motion,
                  const CollisionOptions& options, const Crowd& most, Contacts& contacts) {
  CollisionWorkspace workspace;
  CollisionWorkspace::Impl& impl = workspace.impl();
  impl.broadphase.most = most.pairs;
  impl.most = most.contacts;
  contacts = {};
  fill_input(model, X_WG, motion, options, impl.input);
  find_pairs(impl.input, impl.broadphase, impl.pairs);
  const std::size_t pairs = std::max(impl.broadphase.near.size(), impl.pairs.size());
  if (pairs <= most.pairs) detect_contacts(model, X_WG, motion, options, workspace, contacts);
  return {pairs, contacts.points.size() + contacts.spare.size()};
}

}  // namespace almond
