#include "almond/sim/second_look.hpp"

#include <algorithm>
#include <cmath>
#include <tuple>

#include "almond/dynamics/drift.hpp"
#include "almond/sim/held.hpp"
#include "almond/sim/touched.hpp"

namespace almond {
namespace {

/// By pair and feature, each name once.
void put_in_order(std::vector<ContactPoint>& points) {
  std::sort(points.begin(), points.end(), [](const ContactPoint& a, const ContactPoint& b) {
    return std::tie(a.geom_a, a.geom_b, a.feature) < std::tie(b.geom_a, b.geom_b, b.feature);
  });
  for (std::size_t i = 1; i < points.size(); ++i) {
    const ContactPoint& last = points[i - 1];
    if (points[i].geom_a == last.geom_a && points[i].geom_b == last.geom_b)
      points[i].feature = std::max(points[i].feature, last.feature + 1);
  }
}

/// Of b against a, where they meet.
Vec3 relative_velocity(const Model& model, const StepWorkspace& w, const ContactPoint& point) {
  return point_velocity(model, w.kinematics, w.V, point.body_b, point.on_b()) -
         point_velocity(model, w.kinematics, w.V, point.body_a, point.on_a());
}

/// What corrections leave of an overlap in a step.
double left_of(double gap, const StepOptions& options) {
  return gap + std::min(-options.erp * gap, options.max_correction * options.dt);
}

}  // namespace

bool is_sane(const Eigen::Ref<const VecX>& v) {
  return v.allFinite() && (v.size() == 0 || v.cwiseAbs().maxCoeff() <= kLargest);
}

void compute_motion(const Model& model, const Kinematics& kin, const Mat6X& V, double dt,
                    std::vector<GeomMotion>& motion) {
  motion.resize(model.geoms.size());
  const double fall = 2.0 * model.gravity.norm() * dt * dt;
  for (int g = 0; g < model.num_geoms(); ++g) {
    const Geom& geom = model.geoms[g];
    const bool moves = geom.body >= 0 && model.bodies[geom.body].subsystem >= 0;
    motion[g] = {};
    if (!moves) continue;
    motion[g].shift = dt * point_velocity(model, kin, V, geom.body, kin.X_WG[g].p);
    const double reach = std::isfinite(geom.radius) ? geom.radius : 0.0;
    motion[g].turn = dt * V.col(geom.body).tail<3>();
    motion[g].spin = reach * motion[g].turn.norm() + fall;
  }
}

bool outruns(const Model& model, const StepOptions& options, const State& state, StepWorkspace& w) {
  constexpr double kLever = 0.1;  // [m]: a change of velocity that moves nothing by more than the margin is passed over
  const double slack = options.collision.margin, dt = options.dt;
  w.assembly.moved = w.solution.v;
  if (model.num_v == 0 || !w.assembly.moved.allFinite()) return false;
  if ((w.assembly.moved - state.v).cwiseAbs().maxCoeff() * dt * kLever < 0.1 * slack) return false;
  compute_velocities(model, w.kinematics, w.assembly.moved, w.V);
  compute_motion(model, w.kinematics, w.V, dt, w.found);
  bool farther = false;
  for (std::size_t g = 0; g < w.motion.size(); ++g) {
    const double extra = (w.found[g].shift - w.motion[g].shift).norm() + w.found[g].spin - w.motion[g].spin;
    if (extra <= slack) continue;
    farther = true;
    w.motion[g].spin += extra;
  }
  return farther;
}

bool take_in_spares(const Model& model, const StepOptions& options, StepWorkspace& w) {
  constexpr double kDeepest = 1e-4;  // [m] that a point left out may sink in a step
  constexpr double kLever = 10.0;    // [m]: no point is farther from what it turns about
  if (!is_sane(w.solution.v) || w.solution.v.lpNorm<1>() * options.dt * kLever < kDeepest) return false;
  w.assembly.moved = w.solution.v;
  compute_velocities(model, w.kinematics, w.assembly.moved, w.V);
  std::vector<ContactPoint>& points = w.contacts.points;
  const std::size_t before = points.size();
  std::size_t left = 0;
  for (const ContactPoint& spare : w.contacts.spare) {
    const double speed = spare.n.dot(relative_velocity(model, w, spare));
    if (spare.gap + options.dt * speed < std::min(spare.gap, 0.0) - kDeepest) {
      points.push_back(spare);
    } else {
      w.contacts.spare[left++] = spare;
    }
  }
  w.contacts.spare.resize(left);
  if (points.size() == before) return false;
  put_in_order(points);
  return true;
}

bool find_end(const Model& model, const StepOptions& options, const State& state, StepWorkspace& w) {
  constexpr double kSlow = 1e-3;  // [rad, m] in a step
  const double h = (1.0 - options.theta) * options.dt;
  if (w.contacts.points.empty() || w.motion.empty() || !is_sane(w.solution.v)) return false;
  if (h * w.solution.v.cwiseAbs().maxCoeff() < kSlow) return false;
  w.motion_v = w.solution.v;
  compute_velocities(model, w.kinematics, w.motion_v, w.V);
  move_on(model, state, h, w);
  compute_poses(model, w.before, w.after);
  return true;
}

bool bend_paths(const Model& model, const StepOptions& options, StepWorkspace& w) {
  constexpr double kDeepest = 5e-5;  // [m] that may be left
  constexpr double kLever = 1.0;     // [m]: a turn by x bends the path of a point by x² / 2 of its distance
  const double h = (1.0 - options.theta) * options.dt;
  const double turn = h * w.motion_v.cwiseAbs().maxCoeff();
  if (0.5 * turn * turn * kLever < kDeepest) return false;
  const auto bend = [&](int body, const Vec3& p) -> Vec3 {
    if (body < 0) return Vec3::Zero();
    const Pose &from = w.kinematics.X_WB[body], &to = w.after.X_WB[body];
    return to.p + to.R * (from.R.transpose() * (p - from.p)) - p -
           h * point_velocity(model, w.kinematics, w.V, body, p);
  };
  bool any = false;
  for (std::size_t i = 0; i < w.contacts.points.size(); ++i) {
    const ContactPoint& point = w.contacts.points[i];
    const Vec3 speed = relative_velocity(model, w, point);
    const double sag = point.n.dot(bend(point.body_b, point.on_b()) - bend(point.body_a, point.on_a()));
    const double end = point.gap + h * point.n.dot(speed) + sag;
    const double left = left_of(std::min(point.gap, 0.0), options);
    if (sag > -kDeepest || end > left - kDeepest) continue;
    double& e = w.assembly.problem.contacts[i].e[2];
    e = std::max(e + (end - left) / h, -2.0 * options.max_correction);
    any = true;
  }
  return any;
}

namespace {
constexpr double kDeepest = 2e-4;  // [m] that an overlap may grow by in a step
}  // namespace

bool may_swing(const Model& model, const StepOptions& options, StepWorkspace& w) {
  const double h = (1.0 - options.theta) * options.dt;
  const auto swings = [&](int body, int geom) {
    return body >= 0 && !std::holds_alternative<Sphere>(model.geoms[geom].shape) &&
           h * model.geoms[geom].radius * w.V.col(body).tail<3>().norm() > kDeepest;
  };
  // Or passes by so far that the normal turns: round things that fly side by side.
  constexpr double kPassing = 0.3;  // of the smaller one's radius
  const auto passes = [&](const ContactPoint& p) {
    const Vec3 way = h * relative_velocity(model, w, p);
    const double radius = std::min(model.geoms[p.geom_a].radius, model.geoms[p.geom_b].radius);
    return (way - p.n * p.n.dot(way)).norm() > kPassing * radius;
  };
  w.swings.assign(model.geoms.size(), 0);
  bool any = false;
  for (const ContactPoint& p : w.contacts.points) {
    const bool past = passes(p), a = past || swings(p.body_a, p.geom_a), b = past || swings(p.body_b, p.geom_b);
    if (a) w.swings[p.geom_a] = 1;
    if (b) w.swings[p.geom_b] = 1;
    any |= a || b;
  }
  return any;
}

bool look_ahead(const Model& model, const StepOptions& options, StepWorkspace& w) {
  const double h = (1.0 - options.theta) * options.dt;
  w.still.assign(w.motion.size(), {});
  CollisionOptions near = options.collision;
  near.margin = 0.0;
  detect_contacts(model, w.after.X_WG, w.still, near, w.collision_ahead, w.ahead, w.swings);
  std::vector<ContactPoint>& points = w.contacts.points;
  const std::size_t before = points.size();
  for (ContactPoint point : w.ahead.points) {
    if (point.gap > -kDeepest) continue;
    double deepest = 0.0;
    for (std::size_t i = 0; i < before; ++i)
      if (points[i].geom_a == point.geom_a && points[i].geom_b == point.geom_b)
        deepest = std::min(deepest, points[i].gap);
    const double left = left_of(deepest, options);
    if (point.gap > left - kDeepest) continue;
    // Where the places that meet are now, each by itself: a lever that is off by their distance lets spin count as
    // approach. A ball meets with the same place however it turns.
    const auto start = [&](int body, int geom) -> Vec3 {
      if (body < 0) return point.p;
      const bool ball = std::holds_alternative<Sphere>(model.geoms[geom].shape);
      const Pose& from = ball ? w.kinematics.X_WG[geom] : w.kinematics.X_WB[body];
      const Pose& to = ball ? w.after.X_WG[geom] : w.after.X_WB[body];
      return from.p + (ball ? Vec3(point.p - to.p) : Vec3(from.R * (to.R.transpose() * (point.p - to.p))));
    };
    const Vec3 a = start(point.body_a, point.geom_a), b = start(point.body_b, point.geom_b);
    point.p = 0.5 * (a + b);
    point.apart = b - a;
    point.gap -= left + h * point.n.dot(relative_velocity(model, w, point));
    if (can_open(model, w.kinematics, point)) points.push_back(point);
  }
  if (points.size() == before) return false;
  put_in_order(points);
  return true;
}

}  // namespace almond
