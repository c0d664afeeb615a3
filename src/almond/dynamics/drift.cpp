#include "almond/dynamics/drift.hpp"

#include <Eigen/LU>
#include <algorithm>
#include <cmath>

namespace almond {
namespace {

bool is_ball_like(const Mat3& inertia) {
  const Vec3 d = inertia.diagonal();
  return d[0] == d[1] && d[1] == d[2] && (inertia - Mat3(d.asDiagonal())).isZero(0.0);
}

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

/// ω at the new orientation with the angular momentum of the old one.
Vec3 carry_momentum(const Mat3& inertia, const Mat3& R, const Mat3& R_new, const Vec3& w) {
  const Vec3 L_body = R_new.transpose() * (R * (inertia * (R.transpose() * w)));
  return R_new * inertia.inverse() * L_body;
}

/// Half a step of a tumbling body: the angular velocity that its momentum gives at the pose half-way along the motion
/// with that velocity. Reversible in time, so that energy does not drift.
Vec3 half_step_of_spin(const Mat3& inertia, const Vec3& w, double h) {
  constexpr int kRounds = 8;
  const Mat3 inverse = inertia.inverse();
  const Vec3 L = inertia * w;
  Vec3 half = w - 0.5 * h * (inverse * w.cross(L));
  for (int round = 0; round < kRounds; ++round) {
    const Mat3 turn = exp_so3(0.5 * h * half);
    const Vec3 next = turn * (inverse * (turn.transpose() * L));
    const double change = (next - half).squaredNorm();
    half = next;
    if (change < 1e-30 * w.squaredNorm()) break;
  }
  return half - w;
}

void drift_single(const Model& model, const TreeInfo& tree, const Kinematics& kin, bool bounced, double h,
                  const VecX& u, VecX& q, VecX& v) {
  const int b = tree.bodies[0];
  const Joint& joint = model.joints[b];
  move_joint(model.bodies[b], joint, u, h, q);
  if (is_ball_like(model.bodies[b].inertia) || u.segment<3>(tree.v_begin + 3).isZero(0.0)) return;
  const Mat3 R_new = joint.X_PJ.R * quaternion_to_matrix(q.segment<4>(joint.q_begin + 3));
  auto w = v.segment<3>(tree.v_begin + 3);
  const double energy = w.dot(kin.I[b] * w);
  w = carry_momentum(model.bodies[b].inertia, kin.X_WB[b].R, R_new, w);
  if (!bounced) return;
  const Vec3 local = R_new.transpose() * w;
  const double now = local.dot(model.bodies[b].inertia * local);
  if (now > 0.0) w *= std::sqrt(energy / now);
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

/// Adds to x the rigid motion that brings momentum and spin of `now` to those of `kept`; returns the kinetic energy of
/// the tree moving so as one rigid body, and that motion of the root in `rigid`.
double restore_momentum(const Vec3& root_com, const Whole& kept, const Whole& now, Eigen::Ref<VecX> x, Vec6& rigid) {
  const Mat3 inverse = now.inertia.inverse();
  const auto root_motion = [&](const Vec3& linear, const Vec3& spin) {
    Vec6 out;
    out.tail<3>() = inverse * spin;
    out.head<3>() = linear / now.mass + Vec3(out.tail<3>()).cross(root_com - now.centre);
    return out;
  };
  x.head<6>() += root_motion(kept.linear - now.linear, kept.spin - now.spin);
  rigid = root_motion(kept.linear, kept.spin);
  return 0.5 * (kept.linear.squaredNorm() / now.mass + kept.spin.dot(inverse * kept.spin));
}

/// Factor on the motion of the joints that brings the energy to `kept`; `locked` is beyond its reach.
double energy_scale(double kept, double energy, double locked) {
  constexpr double kMostGain = 0.1;   // joints that hardly move are not to make up for the rest
  constexpr double kMostFixed = 3.0;  // of a tree on the ground, all of whose energy is in its joints
  const double inner = energy - locked;
  if (!(inner > 1e-14 * energy)) return 1.0;
  return std::sqrt(std::clamp((kept - locked) / inner, 0.0, 1.0 + (locked > 0.0 ? kMostGain : kMostFixed)));
}

/// v of a tree from the pose of `kin` to that of w.end, through w.half.
void carry_tree(const Model& model, const TreeInfo& tree, const Kinematics& kin, const VecX& resistance,
                DriftWorkspace& w, VecX& v) {
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

  double now = compute_momenta(model, tree, w.end, x, w, F);
  if (model.joints[tree.bodies[0]].kind == JointKind::kFree) {
    Vec6 rigid;
    const double locked = restore_momentum(w.end.com[tree.bodies[0]], kept, sum_up(model, tree, w.end, F), x, rigid);
    now = compute_momenta(model, tree, w.end, x, w, F);
    const double scale = energy_scale(energy, now, locked);
    x.head<6>() -= rigid;
    x *= scale;
    x.head<6>() += rigid;
  } else {
    x *= energy_scale(energy, now, 0.0);
  }
  v.segment(tree.v_begin, tree.dofs) = x;
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
  return !w.bearing.empty() && w.bearing[tree] != 0 ? kSmallestBearingTurn : kSmallestTurn;
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
      const Vec3 spin = kin.V.col(root).tail<3>();
      if (is_ball_like(model.bodies[root].inertia) || spin.cross(kin.I[root] * spin).isZero(0.0)) continue;
      d.segment<3>(tree.v_begin + 3) = half_step_of_spin(kin.I[root], spin, h);
    } else if (turns(tree, kin, h, smallest_turn(w, t))) {
      make_room(tree, w);
      compute_velocity_products(model, tree, kin, w.forces, w.c);
      auto c = w.c.segment(tree.v_begin, tree.dofs);
      if (c.isZero(0.0) || !factor_tree(model, tree, kin, resistance, w)) continue;
      solve_articulated(view(tree, kin), w.factor, c);
      d.segment(tree.v_begin, tree.dofs) = -0.5 * h * c;
    }
  }
}

void drift(const Model& model, const Kinematics& kin, const VecX& u, const VecX& resistance, double h,
           DriftWorkspace& w, VecX& q, VecX& v) {
  w.q_half = q;
  resize(model, w.half);
  resize(model, w.end);
  for (std::size_t t = 0; t < model.trees.size(); ++t) {
    const TreeInfo& tree = model.trees[t];
    if (tree.single) {
      drift_single(model, tree, kin, !w.bounced.empty() && w.bounced[t] != 0, h, u, q, v);
      continue;
    }
    make_room(tree, w);
    for (const int b : tree.bodies) move_joint(model.bodies[b], model.joints[b], u, h, q);
    if (!turns(tree, kin, u, h, smallest_turn(w, t), w)) continue;
    for (const int b : tree.bodies) move_joint(model.bodies[b], model.joints[b], u, 0.5 * h, w.q_half);
    place_tree(model, tree, w.q_half, kin, false, w.half);
    place_tree(model, tree, q, kin, true, w.end);
    carry_tree(model, tree, kin, resistance, w, v);
  }
}

}  // namespace almond
