#include "almond/dynamics/drift.hpp"

#include <Eigen/LU>
#include <algorithm>
#include <cmath>

#include "almond/dynamics/free_turn.hpp"
#include "almond/dynamics/glide.hpp"

namespace almond {
namespace {

/// A mark of a tree; nothing is marked where there are none.
bool is_marked(const std::vector<char>& marks, std::size_t tree) { return !marks.empty() && marks[tree] != 0; }

void rotate(const Vec3& turn, Eigen::Ref<Vec4> q) {
  q = multiply_quaternions(exp_quaternion(turn), q);
  q.normalize();
}

void move_joint(const Body& body, const Joint& joint, const VecX& v, double h, VecX& q) {
  const double* u = v.data() + joint.v_begin;
  switch (joint.kind) {
    case JointKind::kFixed:
      return;
    case JointKind::kRevolute:
    case JointKind::kContinuous:
    case JointKind::kPrismatic:
      q[joint.q_begin] += h * u[0];
      return;
    case JointKind::kBall:
      rotate(h * Vec3(u[0], u[1], u[2]), q.segment<4>(joint.q_begin));
      return;
    case JointKind::kFree: {
      auto turned = q.segment<4>(joint.q_begin + 3);
      const Vec3 turn = h * Vec3(u[3], u[4], u[5]);
      const Vec3 before = quaternion_to_matrix(turned) * body.com;
      if (!turn.isZero(0.0)) rotate(turn, turned);
      q.segment<3>(joint.q_begin) += h * Vec3(u[0], u[1], u[2]) + before - quaternion_to_matrix(turned) * body.com;
    }
  }
}

/// A body that nothing touches turns as v alone has it, exactly. One that is held or lands goes by u, where the
/// constraints want it, and its velocity changes on the way as in free motion, seen from the body: neither its energy
/// changes nor its spin about a thin axis, whose energy a small tilt of the momentum would multiply.
void drift_single(const Model& model, const TreeInfo& tree, const Kinematics& kin, bool touched, double h,
                  const VecX& u, VecX& q, VecX& v) {
  const int b = tree.bodies[0];
  const Body& body = model.bodies[b];
  const Joint& joint = model.joints[b];
  const Mat3& R = kin.X_WB[b].R;
  if (!bends(body, R, u.segment<3>(tree.v_begin + 3), v.segment<3>(tree.v_begin + 3)))
    return move_joint(body, joint, u, h, q);
  auto w = v.segment<3>(tree.v_begin + 3);
  const FreeTurn free = turn_freely(body.inertia, R.transpose() * w, h);
  if (touched) {
    move_joint(body, joint, u, h, q);
  } else {
    glide(body, joint, R, free, u, h, q);
  }
  w = quaternion_to_matrix(q.segment<4>(joint.q_begin + 3)) * free.omega;
}

// ---------------------------------------------------------------- trees

double armature(const Model& model, int body) { return model.joints[body].armature; }

/// Momenta [p; L about the own centre] of the bodies moving with x; returns the kinetic energy, rotors included.
double compute_momenta(const Model& model, const TreeInfo& tree, const Kinematics& kin, const Eigen::Ref<const VecX>& x,
                       DriftWorkspace& w, Eigen::Ref<Mat6X> P) {
  auto V = w.V.leftCols(P.cols());
  forward_pass(view(tree, kin), x, V);
  const Vec3& reference = kin.reference[model.bodies[tree.bodies[0]].subsystem];
  double energy = 0.0;
  for (Eigen::Index i = 0; i < P.cols(); ++i) {
    const int b = tree.bodies[i];
    const Vec3 omega = V.col(i).tail<3>(), velocity = V.col(i).head<3>() + omega.cross(kin.com[b] - reference);
    P.col(i).head<3>() = model.bodies[b].mass * velocity;
    P.col(i).tail<3>() = kin.I[b] * omega;
    energy += 0.5 * (P.col(i).head<3>().dot(velocity) + P.col(i).tail<3>().dot(omega));
    for (int k = tree.dof_offset[i]; k < tree.dof_offset[i + 1]; ++k) energy += 0.5 * armature(model, b) * x[k] * x[k];
  }
  return energy;
}

/// With the velocities that `kin` was made with; without rotors.
double kinetic_energy(const Model& model, const TreeInfo& tree, const Kinematics& kin) {
  double energy = 0.0;
  for (const int b : tree.bodies) {
    const Vec3 spin = kin.V.col(b).tail<3>();
    energy += 0.5 * model.bodies[b].mass * point_velocity(model, kin, b, kin.com[b]).squaredNorm() +
              0.5 * spin.dot(kin.I[b] * spin);
  }
  return energy;
}

/// M and its factor at a pose, with `resistance` on the diagonal.
bool factor_tree(const Model& model, const TreeInfo& tree, const Kinematics& kin, const VecX& resistance,
                 DriftWorkspace& w) {
  for (std::size_t i = 0; i < tree.bodies.size(); ++i) {
    w.M[i] = body_inertia(model, kin, tree.bodies[i]);
    for (int k = tree.dof_offset[i]; k < tree.dof_offset[i + 1]; ++k)
      w.diagonal[k] = armature(model, tree.bodies[i]) + resistance[tree.v_begin + k];
  }
  return factor_articulated(view(tree, kin), w.M, w.diagonal.head(tree.dofs), w.factor);
}

/// What free motion keeps of a floating tree, at one pose: momentum, spin about the common centre, and the inertia with
/// all joints locked.
struct Whole {
  Vec3 centre = Vec3::Zero(), linear = Vec3::Zero(), spin = Vec3::Zero();
  double mass = 0.0;
  Mat3 inertia = Mat3::Zero();
};

Whole sum_up(const Model& model, const TreeInfo& tree, const Kinematics& kin, const Eigen::Ref<const Mat6X>& P) {
  Whole whole;
  for (Eigen::Index i = 0; i < P.cols(); ++i) {
    whole.mass += model.bodies[tree.bodies[i]].mass;
    whole.centre += model.bodies[tree.bodies[i]].mass * kin.com[tree.bodies[i]];
  }
  whole.centre /= whole.mass;
  for (Eigen::Index i = 0; i < P.cols(); ++i) {
    const int b = tree.bodies[i];
    const Vec3 arm = kin.com[b] - whole.centre, p = P.col(i).head<3>();
    whole.linear += p;
    whole.spin += P.col(i).tail<3>() + arm.cross(p);
    whole.inertia += kin.I[b] + model.bodies[b].mass * (arm.squaredNorm() * Mat3::Identity() - arm * arm.transpose());
  }
  return whole;
}

/// Motion of the root as one rigid body with this momentum and spin.
Vec6 rigid_motion(const Whole& whole, const Vec3& root_com, const Vec3& linear, const Vec3& spin) {
  Vec6 motion;
  motion.tail<3>() = whole.inertia.inverse() * spin;
  motion.head<3>() = linear / whole.mass + Vec3(motion.tail<3>()).cross(root_com - whole.centre);
  return motion;
}

/// Kinetic energy of that.
double rigid_energy(const Whole& whole, const Vec3& linear, const Vec3& spin) {
  return 0.5 * (linear.squaredNorm() / whole.mass + spin.dot(whole.inertia.inverse() * spin));
}

/// Σ m Δx of the bodies, from the pose of `kin` to that of `end`.
Vec3 shift_of(const Model& model, const TreeInfo& tree, const Kinematics& kin, const Kinematics& end) {
  Vec3 shift = Vec3::Zero();
  for (const int b : tree.bodies) shift += model.bodies[b].mass * (end.com[b] - kin.com[b]);
  return shift;
}

/// Work of gravity on the bodies, from the pose of `kin` to that of `end` [J].
double work_of_gravity(const Model& model, const TreeInfo& tree, const Kinematics& kin, const Kinematics& end) {
  double work = 0.0;
  for (const int b : tree.bodies) work += weight_of(model, b).dot(end.com[b] - kin.com[b]);
  return work;
}

/// Its power on bodies with the momenta P [W].
double power_of_gravity(const Model& model, const TreeInfo& tree, const Eigen::Ref<const Mat6X>& P) {
  double power = 0.0;
  for (Eigen::Index i = 0; i < P.cols(); ++i) {
    power += (1.0 - model.bodies[tree.bodies[i]].gravcomp) * model.gravity.dot(P.col(i).head<3>());
  }
  return power;
}

/// The energy of a tree and the work of gravity on it, which errors of energy are measured by.
double energy_flow(const Model& model, double energy, const Whole& kept, double h) {
  return energy + 0.5 * std::abs(h) * model.gravity.norm() * kept.linear.norm();
}

/// The factor s next to 1 on the motion of the joints with s² inner + s power = wanted; where there is none, the one
/// that comes nearest.
double energy_scale(double inner, double power, double wanted, double most) {
  if (!(inner > 0.0)) return 1.0;
  const double half = 0.5 * power / inner, root = std::sqrt(std::max(0.0, half * half + wanted / inner));
  return std::clamp(half < -1.0 ? -half - root : root - half, 0.0, most);
}

/// v of a tree from the pose of `kin` to that of w.end, through w.half.
void carry_tree(const Model& model, std::size_t index, const Kinematics& kin, const VecX& resistance, double since,
                double h, DriftWorkspace& w, VecX& q, VecX& v) {
  const TreeInfo& tree = model.trees[index];
  constexpr int kMostRounds = 8;
  constexpr double kEnough = 1e-22;  // squared; what is left is brought back below, as momentum and energy
  const auto count = static_cast<Eigen::Index>(tree.bodies.size());
  auto P = w.P.leftCols(count), F = w.F.leftCols(count);
  auto x = w.x.head(tree.dofs), tau = w.tau.head(tree.dofs);
  const auto v0 = v.segment(tree.v_begin, tree.dofs);
  x = v0;
  const double energy = compute_momenta(model, tree, kin, x, w, P);
  const Whole kept = sum_up(model, tree, kin, P);
  if (!factor_tree(model, tree, w.end, resistance, w)) return;

  // J_½ᵀ (P(x) - P) = 0 for x, the factor at the end pose as preconditioner.
  const Vec3& reference = w.half.reference[model.bodies[tree.bodies[0]].subsystem];
  double last = kInfinity;
  for (int round = 0; round < kMostRounds; ++round) {
    compute_momenta(model, tree, w.end, x, w, F);
    F = P - F;
    for (Eigen::Index i = 0; i < count; ++i) {
      const Vec3 arm = w.half.com[tree.bodies[i]] - reference, p = F.col(i).head<3>();
      F.col(i).tail<3>() += arm.cross(p);
    }
    backward_pass(view(tree, w.half), F, tau);
    for (int k = 0; k < tree.dofs; ++k) tau[k] += w.diagonal[k] * (v0[k] - x[k]);
    solve_articulated(view(tree, w.end), w.factor, tau);
    const double change = tau.squaredNorm();
    if (round > 1 && !(change < last)) break;  // too fast for this step: what was found so far stands
    x += tau;
    last = change;
    if (change < kEnough * x.squaredNorm()) break;
  }

  // Gravity acts in the impulses between drifts. On the way the energy
  //   T + V + t g·p,    t from `since` to since + h
  // stays: T changes by what the rule for the work of gravity has wrong, which is of third order.
  constexpr double kMostFloating = 1.05, kMostFixed = 2.0;  // joints that hardly move are not to make up for the rest
  const Joint& root = model.joints[tree.bodies[0]];
  const bool floating = root.kind == JointKind::kFree;
  double now = compute_momenta(model, tree, w.end, x, w, F), locked = 0.0, power = 0.0;
  Vec6 rigid = Vec6::Zero(), straight = Vec6::Zero();  // all joints locked; without spin
  if (floating) {
    const Vec3& com = w.end.com[tree.bodies[0]];
    const Whole whole = sum_up(model, tree, w.end, F);
    x.head<6>() += rigid_motion(whole, com, kept.linear - whole.linear, kept.spin - whole.spin);
    now = compute_momenta(model, tree, w.end, x, w, F);
    rigid = rigid_motion(whole, com, kept.linear, kept.spin);
    straight = rigid_motion(whole, com, kept.linear, Vec3::Zero());
    locked = rigid_energy(whole, kept.linear, kept.spin);
  }
  double wanted = energy;
  if (floating && !is_marked(w.touched, index)) {  // the common centre goes straight
    const Vec3 shift = shift_of(model, tree, kin, w.end);
    q.segment<3>(root.q_begin) += (h * kept.linear - shift) / kept.mass;
  } else if (!is_marked(w.bounced, index)) {
    const double after = (since + h) * power_of_gravity(model, tree, F);
    wanted += work_of_gravity(model, tree, kin, w.end) + since * power_of_gravity(model, tree, P);
    (floating ? wanted : power) += floating ? -after : after;
  }
  const double inner = now - locked;
  const double scale = energy_scale(inner, power, wanted - locked, floating ? kMostFloating : kMostFixed);
  if (floating) {
    // A touched tree may have to give up spin.
    const double linear = 0.5 * kept.linear.squaredNorm() / kept.mass;
    const double spin = locked > wanted ? std::sqrt(std::max(0.0, wanted - linear) / (locked - linear)) : 1.0;
    x.head<6>() -= rigid;
    x *= scale;
    x.head<6>() += straight + spin * (rigid - straight);
  } else {
    x *= scale;
  }
  v.segment(tree.v_begin, tree.dofs) = x;
  const double flow = energy_flow(model, energy, kept, h);
  if (flow > 0.0) w.mended[index] += std::abs(scale * scale - 1.0) * std::max(inner, 0.0) / flow;
}

void place_end(const Model& model, const TreeInfo& tree, const Kinematics& kin, const VecX& u, double h,
               DriftWorkspace& w, VecX& q) {
  for (const int b : tree.bodies) {
    const Joint& joint = model.joints[b];
    const int size = num_positions(joint.kind);
    q.segment(joint.q_begin, size) = w.q_half.segment(joint.q_begin, size);
    move_joint(model.bodies[b], joint, u, h, q);
  }
  place_tree(model, tree, q, kin, true, w.end);
}

/// Turns a floating tree as a whole, by little, until its spin takes no more than the energy there is. False where it
/// does at any pose. `whole` and `energy` are those it keeps, `locked` what it had with all joints locked.
bool turn_whole(const Model& model, const TreeInfo& tree, const Kinematics& kin, const Whole& whole, double energy,
                double locked, DriftWorkspace& w, VecX& q, const Eigen::Ref<const Mat6X>& P) {
  constexpr int kMostTurns = 4;
  constexpr double kMostTurn = 0.1;  // [rad]
  const double goal = 0.5 * (energy + std::min(locked, energy));
  auto turned = q.segment<4>(model.joints[tree.bodies[0]].q_begin + 3);
  for (int round = 0;; ++round) {
    const Whole end = sum_up(model, tree, w.end, P);
    const double now = rigid_energy(end, whole.linear, whole.spin);
    if (now <= energy) return true;
    // ½ Lᵀ I⁻¹ L falls fastest about ω × L, by |ω × L| per radian.
    const Vec3 slope = (end.inertia.inverse() * whole.spin).cross(whole.spin);
    const double angle = std::min((now - goal) / slope.norm(), kMostTurn);
    if (round == kMostTurns || !std::isfinite(angle)) return false;
    rotate(-angle * slope.normalized(), turned);
    place_tree(model, tree, q, kin, true, w.end);
  }
}

/// Moves q by a part of h u, which it returns, and places w.end there. It is all of it, but for what nothing else moves
/// and what has not the energy to be there: would have to climb farther, or spin faster drawn up.
double go_as_far_as_it_can(const Model& model, std::size_t index, const Kinematics& kin, const VecX& u, const VecX& v,
                           double since, double h, DriftWorkspace& w, VecX& q) {
  constexpr double kLeast = 0.03;  // after five times half
  const TreeInfo& tree = model.trees[index];
  place_end(model, tree, kin, u, h, w, q);
  if (is_marked(w.touched, index) || is_marked(w.bounced, index)) return 1.0;  // a correction needs no energy
  auto P = w.P.leftCols(static_cast<Eigen::Index>(tree.bodies.size()));
  const double energy = compute_momenta(model, tree, kin, v.segment(tree.v_begin, tree.dofs), w, P);
  const Whole whole = sum_up(model, tree, kin, P);
  const bool floating = model.joints[tree.bodies[0]].kind == JointKind::kFree;
  const double locked = floating ? rigid_energy(whole, whole.linear, whole.spin) : 0.0;
  const double fall = power_of_gravity(model, tree, P);
  const auto lacks = [&] {
    if (floating) return rigid_energy(sum_up(model, tree, w.end, P), whole.linear, whole.spin) - energy;
    const double power = std::min(0.0, (since + h) * fall);
    return -(energy + work_of_gravity(model, tree, kin, w.end) + since * fall) - 0.25 * power * power / energy;
  };
  const double lack = lacks();
  if (!(lack > 0.0)) return 1.0;
  w.mended[index] = lack / energy_flow(model, energy, whole, h);
  constexpr double kNegligible = 1e-9;  // what the order of the way leaves a tree short of whose joints hardly move
  if (floating && w.mended[index] < kNegligible) return 1.0;
  if (floating && turn_whole(model, tree, kin, whole, energy, locked, w, q, P)) return 1.0;
  double part = 1.0;
  do {
    part = part > kLeast ? 0.5 * part : 0.0;
    place_end(model, tree, kin, u, part * h, w, q);
  } while (part > 0.0 && lacks() > 0.0);
  return part;
}

constexpr double kSmallestTurn = 1e-8;         // [rad]: squared it is lost to rounding,
constexpr double kSmallestBearingTurn = 1e-5;  // and so to what contacts that bear leave in velocities

/// Whether bodies of the tree turn by more than `least`, moving with u.
bool turns(const TreeInfo& tree, const Kinematics& kin, const VecX& u, double h, double least, DriftWorkspace& w) {
  const auto count = static_cast<Eigen::Index>(tree.bodies.size());
  forward_pass(view(tree, kin), u.segment(tree.v_begin, tree.dofs), w.V.leftCols(count));
  return w.V.bottomRows<3>().leftCols(count).cwiseAbs().maxCoeff() * std::abs(h) > least;
}

/// With the velocities that `kin` was made with.
bool turns(const TreeInfo& tree, const Kinematics& kin, double h, double least) {
  return std::any_of(tree.bodies.begin(), tree.bodies.end(),
                     [&](int b) { return kin.V.col(b).tail<3>().cwiseAbs().maxCoeff() * std::abs(h) > least; });
}

/// The turn of a tree that is worth its work.
double smallest_turn(const DriftWorkspace& w, std::size_t tree) {
  return is_marked(w.bearing, tree) ? kSmallestBearingTurn : kSmallestTurn;
}

/// Room for a tree; what was there is lost where it grows.
void make_room(const TreeInfo& tree, DriftWorkspace& w) {
  const std::size_t bodies = tree.bodies.size();
  if (w.M.size() < bodies) {
    w.M.resize(bodies);
    for (Mat6X* scratch : {&w.V, &w.P, &w.F}) scratch->resize(6, static_cast<Eigen::Index>(bodies));
  }
  if (w.x.size() < tree.dofs)
    for (VecX* scratch : {&w.x, &w.tau, &w.diagonal}) scratch->resize(tree.dofs);
}

}  // namespace

bool factor_mass(const Model& model, int tree, const Kinematics& kin, const VecX& resistance, DriftWorkspace& w) {
  make_room(model.trees[tree], w);
  return model.trees[tree].single || factor_tree(model, model.trees[tree], kin, resistance, w);
}

void solve_mass(const Model& model, int tree, const Kinematics& kin, DriftWorkspace& w, Eigen::Ref<VecX> x) {
  const TreeInfo& info = model.trees[tree];
  if (!info.single) return solve_articulated(view(info, kin), w.factor, x);
  const int body = info.bodies[0];
  x.head<3>() /= model.bodies[body].mass;
  const Vec3 torque = x.tail<3>();
  x.tail<3>() = kin.I[body].inverse() * torque;
}

void move(const Model& model, const VecX& u, double h, VecX& q) {
  for (int b = 0; b < model.num_bodies(); ++b) move_joint(model.bodies[b], model.joints[b], u, h, q);
}

void compute_half_step(const Model& model, const Kinematics& kin, const VecX& resistance, double h, DriftWorkspace& w,
                       VecX& d) {
  d.setZero(model.num_v);
  w.c.resize(model.num_v);
  for (std::size_t t = 0; t < model.trees.size(); ++t) {
    const TreeInfo& tree = model.trees[t];
    const int root = tree.bodies[0];
    if (tree.single) {
      const Mat3& R = kin.X_WB[root].R;
      const Vec3 spin = kin.V.col(root).tail<3>(), local = R.transpose() * spin;
      if (h == 0.0 || spins_steadily(model.bodies[root].inertia, local)) continue;
      // Impulses act on v + d, so that v has their energy only where d is small. It is not where a thin body turns by
      // radians in a step: the one turn that leads to the same pose has then little to do with ω.
      constexpr double kMostShare = 0.1;  // of the speed, both by their energies
      const Mat3& inertia = model.bodies[root].inertia;
      const Vec3 half = turn_freely(inertia, local, h).way / h - local;
      if (half.dot(inertia * half) > kMostShare * kMostShare * local.dot(inertia * local)) continue;
      d.segment<3>(tree.v_begin + 3) = R * half;
    } else if (turns(tree, kin, h, smallest_turn(w, t))) {
      make_room(tree, w);
      compute_velocity_products(model, tree, kin, w.forces, w.c);
      auto c = w.c.segment(tree.v_begin, tree.dofs);
      if (c.isZero(0.0) || !factor_tree(model, tree, kin, resistance, w)) continue;
      auto half = d.segment(tree.v_begin, tree.dofs);
      half = c;
      solve_articulated(view(tree, kin), w.factor, half);
      // Free motion keeps its energy, so v' is at most 2 |v| away from v, and half of that way |v|.
      const double size = 0.5 * std::abs(h) * std::sqrt(std::max(0.0, half.dot(c))),  // |d| by M
          speed = std::sqrt(2.0 * kinetic_energy(model, tree, kin));
      half *= -0.5 * h * (size > speed ? speed / size : 1.0);
    }
  }
}

void drift(const Model& model, const Kinematics& kin, const VecX& u, const VecX& resistance, double since, double h,
           DriftWorkspace& w, VecX& q, VecX& v) {
  w.q_half = q;
  resize(model, w.half);
  resize(model, w.end);
  w.mended.assign(model.trees.size(), 0.0);
  for (std::size_t t = 0; t < model.trees.size(); ++t) {
    const TreeInfo& tree = model.trees[t];
    if (tree.single) {
      drift_single(model, tree, kin, is_marked(w.touched, t), h, u, q, v);
      continue;
    }
    make_room(tree, w);
    if (!turns(tree, kin, u, h, smallest_turn(w, t), w)) {
      for (const int b : tree.bodies) move_joint(model.bodies[b], model.joints[b], u, h, q);
      continue;
    }
    const double part = go_as_far_as_it_can(model, t, kin, u, v, since, h, w, q);
    for (const int b : tree.bodies) move_joint(model.bodies[b], model.joints[b], u, 0.5 * part * h, w.q_half);
    place_tree(model, tree, w.q_half, kin, false, w.half);
    carry_tree(model, t, kin, resistance, since, h, w, q, v);
  }
}

}  // namespace almond
