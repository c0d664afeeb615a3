#include "almond/sim/assemble.hpp"

#include <algorithm>
#include <cmath>

#include "almond/base/tree.hpp"
#include "almond/solver/problem_checks.hpp"

namespace almond {
namespace {

using Rows6 = Eigen::Matrix<double, 3, 6, Eigen::RowMajor>;
using Row6 = Eigen::Matrix<double, 1, 6>;

/// Everything the writers below read and write.
struct Context {
  const Model& model;
  const State& state;
  const Kinematics& kin;
  const StepOptions& options;
  Assembly& out;
  double dt;
};

// ---------------------------------------------------------------- sides

/// A side whose rows are J (rows x 6, row by row) times the spatial velocity of `body`. Static bodies have none.
void add_body_side(Context& c, int body, const double* J, int rows, std::array<Side, 2>& sides, int& num_sides) {
  if (body < 0 || c.model.bodies[body].subsystem < 0) return;
  const int tree = c.model.bodies[body].subsystem;
  const TreeInfo& info = c.model.trees[tree];
  ContactProblem& problem = c.out.problem;
  Side side;
  side.subsystem = tree;
  const std::size_t start = problem.J_pool.size();
  problem.J_pool.insert(problem.J_pool.end(), J, J + 6 * rows);
  if (info.single) {  // S = 1 at the centre of mass
    side.J_start = static_cast<int>(start);
  } else {
    side.body = c.model.bodies[body].local;
    side.J_body_start = static_cast<int>(start);
    side.J_start = static_cast<int>(problem.J_pool.size());
    problem.J_pool.resize(problem.J_pool.size() + static_cast<std::size_t>(rows) * info.dofs);
    const Tree& solver_tree = problem.trees[problem.subsystems[tree].tree];
    expand_body_jacobian(solver_tree, side.body, problem.J_body(side, rows), problem.J_pool.data() + side.J_start);
  }
  sides[num_sides++] = side;
}

/// A side of one row in joint space: `value` at one velocity, zero elsewhere. A second one on the same tree is added to
/// the first.
void add_joint_side(Context& c, int joint, int dof, double value, Row& row) {
  const int tree = c.model.bodies[joint].subsystem;
  const TreeInfo& info = c.model.trees[tree];
  const int local = c.model.joints[joint].v_begin + dof - info.v_begin;
  ContactProblem& problem = c.out.problem;
  for (int s = 0; s < row.num_sides; ++s) {
    if (row.sides[s].subsystem != tree) continue;
    problem.J_pool[row.sides[s].J_start + local] += value;
    return;
  }
  Side side;
  side.subsystem = tree;
  side.J_start = static_cast<int>(problem.J_pool.size());
  problem.J_pool.resize(problem.J_pool.size() + static_cast<std::size_t>(info.dofs), 0.0);
  problem.J_pool[side.J_start + local] = value;
  row.sides[row.num_sides++] = side;
}

void add_tendon_sides(Context& c, const Tendon& tendon, double sign, Row& row) {
  for (const auto& [joint, coefficient] : tendon.terms) add_joint_side(c, joint, 0, sign * coefficient, row);
}

/// Both sides of a row that measures the relative velocity b - a along J.
void add_relative_row(Context& c, int body_a, const Row6& J_a, int body_b, const Row6& J_b, Row& row) {
  const Row6 minus = -J_a;
  add_body_side(c, body_a, minus.data(), 1, row.sides, row.num_sides);
  add_body_side(c, body_b, J_b.data(), 1, row.sides, row.num_sides);
}

/// Velocity of the point p (world) of a body along the unit vector n.
Row6 point_row(const Context& c, int body, const Vec3& p, const Vec3& n) {
  Row6 J;
  const int tree = body < 0 ? -1 : c.model.bodies[body].subsystem;
  const Vec3 arm = tree < 0 ? Vec3::Zero() : Vec3(p - c.kin.reference[tree]);
  J << n.transpose(), arm.cross(n).transpose();
  return J;
}

// ---------------------------------------------------------------- subsystems

/// Subsystems with their sizes; their numbers come every step.
void lay_out(const Model& model, ContactProblem& problem) {
  problem.clear();
  problem.name = model.name;
  for (const TreeInfo& info : model.trees) {
    Subsystem sub;
    sub.dofs = info.dofs;
    sub.offset = info.v_begin;
    sub.A_start = static_cast<int>(problem.A_pool.size());
    problem.A_pool.resize(problem.A_pool.size() + static_cast<std::size_t>(info.dofs) * info.dofs);
    if (!info.single) {
      sub.tree = static_cast<int>(problem.trees.size());
      Tree tree;
      tree.parent = info.parent;
      tree.dof_offset = info.dof_offset;
      tree.S.setZero(6, info.dofs);
      tree.M.assign(info.bodies.size(), Mat6::Zero());
      tree.diagonal.setZero(info.dofs);
      problem.trees.push_back(std::move(tree));
    }
    problem.subsystems.push_back(sub);
  }
  problem.b.resize(static_cast<std::size_t>(model.num_v));
}

/// A drive on a joint goes to the diagonal where it has no effort limit, else into a soft row; one on a tendon always
/// into a row.
void add_drive(Context& c, const Inputs& inputs, int i) {
  const double dt = c.dt;
  const Drive& drive = c.model.drives[i];
  const Tendon* tendon = drive.tendon < 0 ? nullptr : &c.model.tendons[drive.tendon];
  const Joint* joint = tendon != nullptr ? nullptr : &c.model.joints[drive.joint];
  const double q = tendon != nullptr ? tendon_position(c.model, *tendon, c.state.q) : c.state.q[joint->q_begin];
  const bool holds = drive.mode == DriveMode::kPosition || drive.mode == DriveMode::kImpedance;
  const bool follows = drive.mode == DriveMode::kVelocity || drive.mode == DriveMode::kImpedance;
  const double stiffness = holds ? drive.stiffness : 0.0;
  const double damping = drive.mode == DriveMode::kTorque ? 0.0 : drive.damping;
  const double slope = dt * (damping + dt * stiffness);
  double effort = inputs.feedforward[i] + stiffness * (inputs.target[i] - q);
  if (follows) effort += damping * inputs.target_velocity[i];
  if (drive.mode == DriveMode::kImpedance) effort -= c.out.compensation[joint->v_begin];
  const auto add_force = [&](double force) {
    if (joint != nullptr) c.out.f[joint->v_begin] += force;
    if (tendon != nullptr) {
      for (const auto& [j, coefficient] : tendon->terms) c.out.f[c.model.joints[j].v_begin] += coefficient * force;
    }
  };
  if (slope == 0.0) {
    add_force(std::clamp(effort, drive.effort_middle - drive.effort_limit, drive.effort_middle + drive.effort_limit));
    return;
  }
  if (joint != nullptr && std::isinf(drive.effort_limit)) {
    c.out.implicit[joint->v_begin] += slope;
    c.out.f[joint->v_begin] += effort;
    return;
  }
  // Limits about a middle: the middle always acts, the row gives what differs from it.
  if (drive.effort_middle != 0.0) add_force(drive.effort_middle);
  Row row;
  row.b = row.k = slope;
  row.e = -dt * (effort - drive.effort_middle) / slope;
  row.limit = dt * drive.effort_limit;
  tendon != nullptr ? add_tendon_sides(c, *tendon, 1.0, row) : add_joint_side(c, drive.joint, 0, 1.0, row);
  c.out.problem.soft.push_back(row);
  c.out.soft.push_back({RowRole::kDrive, i, 0});
  if (joint != nullptr && std::abs(c.state.impulse_of(c.out.soft.back().key())) < 0.999 * row.limit)
    c.out.resistance[joint->v_begin] += slope;  // it had force to spare
}

/// Whether the problem is laid out for these trees.
bool fits(const Model& model, const ContactProblem& problem) {
  if (problem.name != model.name || problem.num_dofs() != model.num_v ||
      problem.subsystems.size() != model.trees.size())
    return false;
  for (std::size_t t = 0; t < model.trees.size(); ++t) {
    const TreeInfo& info = model.trees[t];
    const Subsystem& sub = problem.subsystems[t];
    if (sub.dofs != info.dofs || (sub.tree < 0) != info.single) return false;
    if (sub.tree < 0) continue;
    const Tree& tree = problem.trees[sub.tree];
    if (tree.parent != info.parent || tree.dof_offset != info.dof_offset) return false;
  }
  return true;
}

/// Implicit diagonal (dt D + dt² K) and explicit part of springs, dampers and drives without effort limit.
void add_joint_terms(Context& c, const Inputs& inputs) {
  const double dt = c.dt;
  VecX& f = c.out.f;
  VecX& implicit = c.out.implicit;
  implicit.setZero(c.model.num_v);
  c.out.resistance.setZero(c.model.num_v);
  for (int j = 0; j < c.model.num_bodies(); ++j) {
    const Joint& joint = c.model.joints[j];
    for (int k = 0; k < num_velocities(joint.kind); ++k) implicit[joint.v_begin + k] += dt * joint.damping;
    if (joint.stiffness > 0.0) {
      implicit[joint.v_begin] += dt * dt * joint.stiffness;
      f[joint.v_begin] -= joint.stiffness * (c.state.q[joint.q_begin] - joint.rest);
    }
  }
  for (std::size_t i = 0; i < c.model.drives.size(); ++i) add_drive(c, inputs, static_cast<int>(i));
}

void write_single(Context& c, int t) {
  const TreeInfo& info = c.model.trees[t];
  const int body = info.bodies[0];
  const double mass = c.model.bodies[body].mass;
  ContactProblem& problem = c.out.problem;
  Eigen::Map<Mat6> A(problem.A_pool.data() + problem.subsystems[t].A_start);
  A.setZero();
  A.topLeftCorner<3, 3>().diagonal().setConstant(mass);
  A.bottomRightCorner<3, 3>() = c.kin.I[body];
  Eigen::Map<Vec6> b(problem.b.data() + info.v_begin);
  const auto moved = c.out.moved.segment<6>(info.v_begin);
  b.head<3>() = mass * moved.head<3>();
  b.tail<3>() = A.bottomRightCorner<3, 3>() * moved.tail<3>();
  b += c.dt * c.out.f.segment<6>(info.v_begin);
}

void write_tree(Context& c, int t) {
  const TreeInfo& info = c.model.trees[t];
  ContactProblem& problem = c.out.problem;
  const Subsystem& sub = problem.subsystems[t];
  Tree& tree = problem.trees[sub.tree];
  tree.S = c.kin.S.middleCols(info.v_begin, info.dofs);
  for (std::size_t i = 0; i < info.bodies.size(); ++i) {
    tree.M[i] = body_inertia(c.model, c.kin, info.bodies[i]);
    const Joint& joint = c.model.joints[info.bodies[i]];
    tree.diagonal.segment(joint.v_begin - info.v_begin, num_velocities(joint.kind)).setConstant(joint.armature);
  }
  MapMat A(problem.A_pool.data() + sub.A_start, info.dofs, info.dofs);
  compose(tree, tree.M, tree.diagonal, c.out.composite, A);
  MapVec b(problem.b.data() + info.v_begin, info.dofs);
  b.noalias() = A * c.out.moved.segment(info.v_begin, info.dofs);
  b += c.dt * c.out.f.segment(info.v_begin, info.dofs);
  tree.diagonal += c.out.implicit.segment(info.v_begin, info.dofs);
  A.diagonal() += c.out.implicit.segment(info.v_begin, info.dofs);
}

// ---------------------------------------------------------------- constraints

/// Bias of a one-sided constraint at distance `gap`: reach it exactly, or leave an overlap slowly.
double gap_bias(const Context& c, double gap) {
  return gap >= 0.0 ? gap / c.dt : std::max(c.options.erp * gap / c.dt, -c.options.max_correction);
}

/// Gaps and overlaps below what answers are exact to count as none: else the last digits would decide in each step anew
/// which of several contacts bears the load, and nothing would come to rest for good.
double forgive(double gap) {
  constexpr double kTouching = 1e-8;  // [m]
  return std::abs(gap) <= kTouching ? 0.0 : gap;
}

double error_bias(const Context& c, double error) {
  return std::clamp(c.options.closure_erp * error / c.dt, -c.options.max_correction, c.options.max_correction);
}

/// Velocity a body would gain in the step if nothing held it; links of a tree are held by others.
Vec3 free_gain(const Context& c, int body) {
  if (body < 0 || c.model.bodies[body].subsystem < 0) return Vec3::Zero();
  const TreeInfo& tree = c.model.trees[c.model.bodies[body].subsystem];
  return tree.single ? Vec3(c.dt / c.model.bodies[body].mass * c.out.f.segment<3>(tree.v_begin)) : Vec3::Zero();
}

void add_contacts(Context& c, const Contacts& contacts) {
  for (const ContactPoint& point : contacts.points) {
    const Mat3 R = make_frame(point.n);
    Contact contact;
    contact.mu = point.mu;
    for (const int side : {0, 1}) {
      const int body = side == 0 ? point.body_a : point.body_b;
      const int tree = body < 0 ? -1 : c.model.bodies[body].subsystem;
      if (tree < 0) continue;
      const Vec3 place = side == 0 ? point.on_a() : point.on_b();
      const Rows6 J = (side == 0 ? -1.0 : 1.0) * make_point_jacobian(place - c.kin.reference[tree], R);
      add_body_side(c, body, J.data(), 3, contact.sides, contact.num_sides);
    }
    const Vec3 gain = free_gain(c, point.body_b) - free_gain(c, point.body_a);
    const Vec3 velocity = point_velocity(c.model, c.kin, point.body_b, point.on_b()) -
                          point_velocity(c.model, c.kin, point.body_a, point.on_a());
    contact.e[2] = gap_bias(c, forgive(point.gap));
    c.out.frames.push_back(R);
    c.out.closing.push_back(-point.n.dot(velocity));
    c.out.approach.push_back(-point.n.dot(velocity + gain));
    c.out.problem.contacts.push_back(contact);
  }
}

/// The angle of a ball joint's rotation stays below `upper`. It grows at n·ω about the axis n of the rotation; n is
/// that of the middle of the step, since it turns while the joint does.
void add_ball_limit(Context& c, int j) {
  const Joint& joint = c.model.joints[j];
  const Vec4 q = c.state.q.segment<4>(joint.q_begin);
  const Vec3 omega = c.state.v.segment<3>(joint.v_begin);
  Vec4 middle = multiply_quaternions(exp_quaternion(0.5 * c.dt * omega), q);
  if (middle[0] < 0.0) middle = -middle;
  const double sine = middle.tail<3>().norm();
  const Vec3 n = sine > 1e-12 ? Vec3(middle.tail<3>() / sine) : Vec3::UnitZ();
  Row row;
  row.e = gap_bias(c, joint.upper - 2.0 * std::atan2(q.tail<3>().norm(), std::abs(q[0])));
  for (int k = 0; k < 3; ++k) add_joint_side(c, j, k, -n[k], row);
  c.out.problem.hard.push_back(row);
  c.out.hard.push_back({RowRole::kUpperLimit, j, 0});
}

void add_limits_and_friction(Context& c) {
  for (int j = 0; j < c.model.num_bodies(); ++j) {
    const Joint& joint = c.model.joints[j];
    if (joint.kind == JointKind::kFixed || joint.kind == JointKind::kFree) continue;
    if (joint.dry_friction > 0.0) {
      for (int k = 0; k < num_velocities(joint.kind); ++k) {
        Row row;
        row.limit = c.dt * joint.dry_friction;
        add_joint_side(c, j, k, 1.0, row);
        c.out.problem.bounded.push_back(row);
        c.out.bounded.push_back({RowRole::kDryFriction, j, k});
      }
    }
    if (joint.kind == JointKind::kBall) {
      if (std::isfinite(joint.upper)) add_ball_limit(c, j);
      continue;
    }
    const double q = c.state.q[joint.q_begin];
    for (const RowRole role : {RowRole::kLowerLimit, RowRole::kUpperLimit}) {
      const bool lower = role == RowRole::kLowerLimit;
      const double bound = lower ? joint.lower : joint.upper;
      if (!std::isfinite(bound)) continue;
      Row row;
      row.e = gap_bias(c, lower ? q - bound : bound - q);
      add_joint_side(c, j, 0, lower ? 1.0 : -1.0, row);
      c.out.problem.hard.push_back(row);
      c.out.hard.push_back({role, j, 0});
    }
  }
}

/// Acceleration at v̇ = 0 of the point p (world) of a body.
Vec3 point_bias(const Context& c, int body, const Vec3& p) {
  if (body < 0 || c.model.bodies[body].subsystem < 0) return Vec3::Zero();
  const Vec3 arm = p - c.kin.reference[c.model.bodies[body].subsystem];
  const Vec3 w = c.kin.V.col(body).tail<3>(), alpha = c.kin.A.col(body).tail<3>();
  // The reference stands still: V is the velocity of the body's point that passes it, A its rate of change there.
  const Vec3 velocity = c.kin.V.col(body).head<3>() + w.cross(arm);
  return c.kin.A.col(body).head<3>() + alpha.cross(arm) + w.cross(velocity);
}

void push_equality(Context& c, const RowTag& tag, double error, double curvature, Row& row) {
  const double correction = error_bias(c, error);
  row.e = correction + 0.5 * c.dt * curvature;
  c.out.problem.equality.push_back(row);
  c.out.equality.push_back(tag);
  c.out.correction.push_back(correction);
}

void add_equality(Context& c, const RowTag& tag, int body_a, const Row6& J_a, int body_b, const Row6& J_b, double error,
                  double curvature) {
  Row row;
  add_relative_row(c, body_a, J_a, body_b, J_b, row);
  if (row.num_sides > 0) push_equality(c, tag, error, curvature, row);
}

Pose body_pose(const Context& c, int body) { return body < 0 ? Pose{} : c.kin.X_WB[body]; }

void add_closures(Context& c) {
  for (std::size_t i = 0; i < c.model.closures.size(); ++i) {
    const Closure& closure = c.model.closures[i];
    const auto index = static_cast<int>(i);
    if (closure.kind == ClosureKind::kMimic) {
      const Joint &a = c.model.joints[closure.a], &b = c.model.joints[closure.b];
      Row row;
      add_joint_side(c, closure.a, 0, 1.0, row);
      add_joint_side(c, closure.b, 0, -closure.ratio, row);
      const double error = c.state.q[a.q_begin] - closure.ratio * c.state.q[b.q_begin] - closure.offset;
      push_equality(c, {RowRole::kClosure, index, 0}, error, 0.0, row);
      continue;
    }
    if (closure.kind == ClosureKind::kTendon) {
      const Tendon &a = c.model.tendons[closure.a], &b = c.model.tendons[closure.b];
      Row row;
      add_tendon_sides(c, a, 1.0, row);
      if (closure.ratio != 0.0) add_tendon_sides(c, b, -closure.ratio, row);
      const double error = tendon_position(c.model, a, c.state.q) -
                           closure.ratio * tendon_position(c.model, b, c.state.q) - closure.offset;
      push_equality(c, {RowRole::kClosure, index, 0}, error, 0.0, row);
      continue;
    }
    const Pose X_a = body_pose(c, closure.a) * closure.X_a, X_b = body_pose(c, closure.b) * closure.X_b;
    const Vec3 error = X_b.p - X_a.p, curvature = point_bias(c, closure.b, X_b.p) - point_bias(c, closure.a, X_a.p);
    for (int k = 0; k < 3; ++k) {
      const Vec3 n = Vec3::Unit(k);
      add_equality(c, {RowRole::kClosure, index, k}, closure.a, point_row(c, closure.a, X_a.p, n), closure.b,
                   point_row(c, closure.b, X_b.p, n), error[k], curvature[k]);
    }
    if (closure.kind != ClosureKind::kWeld) continue;
    const Vec3 turn = log_so3(X_b.R * X_a.R.transpose());
    for (int k = 0; k < 3; ++k) {
      Row6 J = Row6::Zero();
      J[3 + k] = 1.0;
      add_equality(c, {RowRole::kClosure, index, 3 + k}, closure.a, J, closure.b, J, turn[k], 0.0);
    }
  }
}

void add_tendons(Context& c) {
  for (std::size_t i = 0; i < c.model.tendons.size(); ++i) {
    const Tendon& tendon = c.model.tendons[i];
    const auto index = static_cast<int>(i);
    const double x = tendon_position(c.model, tendon, c.state.q);
    for (const RowRole role : {RowRole::kTendonLower, RowRole::kTendonUpper}) {
      const bool lower = role == RowRole::kTendonLower;
      if (!std::isfinite(lower ? tendon.lower : tendon.upper)) continue;
      Row row;
      row.e = gap_bias(c, lower ? x - tendon.lower : tendon.upper - x);
      add_tendon_sides(c, tendon, lower ? 1.0 : -1.0, row);
      c.out.problem.hard.push_back(row);
      c.out.hard.push_back({role, index, 0});
    }
    if (tendon.dry_friction > 0.0) {
      Row row;
      row.limit = c.dt * tendon.dry_friction;
      add_tendon_sides(c, tendon, 1.0, row);
      c.out.problem.bounded.push_back(row);
      c.out.bounded.push_back({RowRole::kTendonFriction, index, 0});
    }
    const double stretch = x - std::clamp(x, tendon.rest_lower, tendon.rest_upper);
    const bool slack = stretch == 0.0 && tendon.rest_lower < tendon.rest_upper;
    Row row;
    row.k = slack ? 0.0 : c.dt * tendon.stiffness;
    row.b = c.dt * tendon.damping + c.dt * row.k;
    row.e = stretch;
    if (row.b == 0.0) continue;
    add_tendon_sides(c, tendon, 1.0, row);
    c.out.problem.soft.push_back(row);
    c.out.soft.push_back({RowRole::kTendonSpring, index, 0});
  }
}

void add_springs(Context& c) {
  for (std::size_t i = 0; i < c.model.springs.size(); ++i) {
    const Spring& spring = c.model.springs[i];
    const Vec3 a = body_pose(c, spring.body_a) * spring.point_a, b = body_pose(c, spring.body_b) * spring.point_b;
    const double length = (b - a).norm();
    const Vec3 n = length > 1e-12 ? Vec3((b - a) / length) : Vec3::UnitZ();
    Row row;
    row.k = c.dt * spring.stiffness;
    row.b = c.dt * (spring.damping + c.dt * spring.stiffness);
    row.e = length - spring.rest_length;
    add_relative_row(c, spring.body_a, point_row(c, spring.body_a, a, n), spring.body_b,
                     point_row(c, spring.body_b, b, n), row);
    if (row.num_sides == 0) continue;
    c.out.problem.soft.push_back(row);
    c.out.soft.push_back({RowRole::kSpring, static_cast<int>(i), 0});
  }
}

bool compensates(const Model& model) {
  return std::any_of(model.drives.begin(), model.drives.end(),
                     [](const Drive& drive) { return drive.mode == DriveMode::kImpedance; });
}

}  // namespace

void assemble(const Model& model, const State& state, const Kinematics& kinematics, const Contacts& contacts,
              const Inputs& inputs, const StepOptions& options, Assembly& out) {
  Context c{model, state, kinematics, options, out, options.dt};
  ContactProblem& problem = out.problem;
  if (!fits(model, problem)) lay_out(model, problem);
  problem.contacts.clear();
  for (auto* pool : {&problem.hard, &problem.soft, &problem.equality, &problem.bounded}) pool->clear();
  for (auto* tags : {&out.hard, &out.soft, &out.equality, &out.bounded}) tags->clear();
  problem.J_pool.clear();
  out.frames.clear();
  out.approach.clear();
  out.closing.clear();
  out.correction.clear();

  compute_forces(model, kinematics, inputs.wrenches, out.drift.forces, out.f);
  if (compensates(model)) {  // what gravity and motion ask for, whatever else acts
    compute_forces(model, kinematics, {}, out.drift.forces, out.compensation);
    compute_velocity_products(model, kinematics, out.drift.forces, out.drift.c);
    out.compensation -= out.drift.c;
  }
  add_joint_terms(c, inputs);
  out.resistance += out.implicit;
  compute_half_step(model, kinematics, out.resistance, options.dt, out.drift, out.d);
  out.moved = state.v + out.d;
  for (std::size_t t = 0; t < model.trees.size(); ++t) {
    const auto index = static_cast<int>(t);
    model.trees[t].single ? write_single(c, index) : write_tree(c, index);
  }
  add_contacts(c, contacts);
  add_limits_and_friction(c);
  add_closures(c);
  add_springs(c);
  add_tendons(c);
}

namespace {

/// Whether a contact that bounces is hit: what rests and is pressed on does not land.
bool lands(const Contacts& contacts, const GrowVector& lambda, const StepOptions& options, const Assembly& assembly,
           std::size_t i) {
  return contacts.points[i].restitution > 0.0 && lambda[static_cast<Eigen::Index>(3 * i + 2)] > 0.0 &&
         assembly.closing[i] > options.restitution_threshold;
}

}  // namespace

bool set_bounces(const Contacts& contacts, const GrowVector& lambda, const StepOptions& options, Assembly& out) {
  bool any = false;
  for (std::size_t i = 0; i < contacts.points.size(); ++i) {
    if (!lands(contacts, lambda, options, out, i)) continue;
    out.problem.contacts[i].e[2] = -contacts.points[i].restitution * out.approach[i];
    any = true;
  }
  return any;
}

bool set_end_biases(const Contacts& contacts, const GrowVector& lambda, const StepOptions& options, double noticeable,
                    Assembly& out) {
  ContactProblem& problem = out.problem;
  bool differs = false;
  for (std::size_t i = 0; i < problem.contacts.size(); ++i)
    differs = differs || problem.contacts[i].e[2] < -noticeable || lands(contacts, lambda, options, out, i);
  for (const Row& row : problem.hard) differs = differs || row.e < -noticeable;
  for (const double correction : out.correction) differs = differs || std::abs(correction) > noticeable;
  if (!differs) return false;

  for (Contact& contact : problem.contacts) contact.e[2] = std::max(contact.e[2], 0.0);
  for (Row& row : problem.hard) row.e = std::max(row.e, 0.0);
  Row* const closures = problem.equality.empty() ? problem.soft.data() + out.soft_closures : problem.equality.data();
  for (std::size_t i = 0; i < out.correction.size(); ++i) closures[i].e -= out.correction[i];
  static_cast<void>(set_bounces(contacts, lambda, options, out));
  return true;
}

}  // namespace almond
