// Articulated problems. One reference point per tree, world axes; gaps are never negative, so v = 0 is admissible.

#include <algorithm>
#include <array>
#include <cmath>

#include "almond/base/tree.hpp"
#include "scenes/problems.hpp"
#include "scenes/random.hpp"
#include "scenes/rigid_scene.hpp"

namespace almond::scenes {
namespace {

/// A tree under construction, with what the problem needs to know of each body.
struct TreeBuilder {
  Vec3 reference = Vec3::Zero();  // world
  Tree tree;
  std::vector<Vec3> centre;  // (bodies) centre of mass, world
  std::vector<double> mass;  // (bodies)
  std::vector<Vec6> columns;

  /// Adds a body with the given motion subspace columns; `point` and axes are in the world.
  int add(int parent, const std::vector<Vec6>& joint, double m, const Vec3& c, const Mat3& I_c) {
    if (tree.dof_offset.empty()) tree.dof_offset.push_back(0);
    tree.parent.push_back(parent);
    columns.insert(columns.end(), joint.begin(), joint.end());
    tree.dof_offset.push_back(static_cast<int>(columns.size()));
    tree.M.push_back(make_spatial_inertia(m, c - reference, I_c));
    centre.push_back(c);
    mass.push_back(m);
    return tree.num_bodies() - 1;
  }

  std::vector<Vec6> hinge(const Vec3& axis, const Vec3& point) const {
    return {make_revolute(axis, point - reference)};
  }

  static std::vector<Vec6> floating() {
    std::vector<Vec6> joint(6, Vec6::Zero());
    for (int k = 0; k < 6; ++k) joint[k][k] = 1.0;
    return joint;
  }

  void finish(double armature, int first_joint_dof) {
    const auto dofs = static_cast<Eigen::Index>(columns.size());
    tree.S.resize(6, dofs);
    for (Eigen::Index k = 0; k < dofs; ++k) tree.S.col(k) = columns[k];
    tree.diagonal = VecX::Constant(dofs, armature);
    tree.diagonal.head(first_joint_dof).setZero();
  }

  /// b = A v + dt (generalised weight).
  VecX make_b(const VecX& v, double dt) const {
    MatX A(tree.num_dofs(), tree.num_dofs());
    std::vector<Mat6> scratch;
    compose(tree, tree.M, tree.diagonal, scratch, A);
    Mat6X weight(6, tree.num_bodies());
    for (int b = 0; b < tree.num_bodies(); ++b) {
      const Vec3 force(0.0, 0.0, -kGravity * mass[b]);
      weight.col(b) << force, (centre[b] - reference).cross(force);
    }
    VecX tau(tree.num_dofs());
    backward_pass(tree, weight, tau);
    return A * v + dt * tau;
  }

  SideInput side(int subsystem, int body, const Vec3& point, const Mat3& R, double sign) const {
    SideInput input;
    input.subsystem = subsystem;
    input.body = body;
    input.J_body = sign * make_point_jacobian(point - reference, R);
    return input;
  }
};

SideInput make_joint_side(int subsystem, int dofs, int dof, double sign) {
  SideInput side;
  side.subsystem = subsystem;
  side.J = MatXr::Zero(1, dofs);
  side.J(0, dof) = sign;
  return side;
}

VecX draw_velocity(Random& random, int dofs, double base, double joint) {
  VecX v(dofs);
  for (int k = 0; k < dofs; ++k) v[k] = (k < 6 ? base : joint) * random.normal();
  return v;
}

Mat3 rod_inertia(double mass, double length, const Vec3& axis) {
  return mass * length * length / 12.0 * (Mat3::Identity() - 0.95 * axis * axis.transpose());
}

Mat3 facing(const Vec3& from, const Vec3& to, Random& random) {
  return make_frame(((to - from).normalized() + 0.2 * random.direction()).normalized());
}

/// The first body on the way to the ground that has a joint of its own: bodies that share it cannot move apart.
int root_of_weld(const Tree& tree, int body) {
  while (tree.dof_offset[body] == tree.dof_offset[body + 1]) body = tree.parent[body];
  return body;
}

struct Quadruped {
  TreeBuilder builder;
  std::array<Vec3, 4> feet;
  VecX angles;  // (12) joint positions
};

constexpr double kThigh = 0.25, kCalf = 0.25;  // [m]

/// Bodies: 0 trunk, then hip, thigh, calf of each leg.
Quadruped make_quadruped(const Vec3& base, const Mat3& R, Random& random) {
  Quadruped robot;
  TreeBuilder& t = robot.builder;
  t.reference = base;
  robot.angles.resize(12);
  const Mat3 I_trunk = R * make_box_inertia(13.7, Vec3(0.55, 0.2, 0.15)) * R.transpose();
  t.add(-1, TreeBuilder::floating(), 13.7, base, I_trunk);
  for (int leg = 0; leg < 4; ++leg) {
    const double front = leg < 2 ? 1.0 : -1.0, left = leg % 2 == 0 ? 1.0 : -1.0;
    auto q = robot.angles.segment<3>(3 * leg);
    q << 0.1 * random.normal(), 0.7 + 0.15 * random.normal(), -1.4 + 0.15 * random.normal();
    const Vec3 hip = base + R * Vec3(0.22 * front, 0.075 * left, 0.0);
    const Mat3 R_hip = R * exp_so3(q[0] * Vec3::UnitX());
    const Vec3 shoulder = hip + R_hip * Vec3(0.0, 0.08 * left, 0.0);
    const int hip_body = t.add(0, t.hinge(R.col(0), hip), 1.1, 0.5 * (hip + shoulder), 0.002 * Mat3::Identity());
    const Mat3 R_thigh = R_hip * exp_so3(q[1] * Vec3::UnitY());
    const Vec3 knee = shoulder - kThigh * R_thigh.col(2);
    const int thigh_body = t.add(hip_body, t.hinge(R_hip.col(1), shoulder), 1.5, 0.5 * (shoulder + knee),
                                 rod_inertia(1.5, kThigh, R_thigh.col(2)));
    const Mat3 R_calf = R_thigh * exp_so3(q[2] * Vec3::UnitY());
    const Vec3 foot = knee - kCalf * R_calf.col(2);
    t.add(thigh_body, t.hinge(R_thigh.col(1), knee), 0.24, 0.5 * (knee + foot),
          rod_inertia(0.24, kCalf, R_calf.col(2)));
    robot.feet[leg] = foot;
  }
  t.finish(0.005, 6);
  return robot;
}

constexpr int calf_of(int leg) { return 3 + 3 * leg; }

void add_joint_rows(ContactProblem& problem, int subsystem, double dt, Random& random) {
  const double stiffness = 40.0, damping = 1.0;  // [N m/rad], [N m s/rad]
  for (int dof = 6; dof < 18; ++dof) {
    // Implicit spring: impulse = -K dt (q - q0) - (D dt + K dt²) v.
    const double offset = 0.1 * random.normal();
    problem.add_soft(offset, stiffness * dt, damping * dt + stiffness * dt * dt,
                     {make_joint_side(subsystem, 18, dof, 1.0)});
    if (random.uniform() < 0.5) {
      const double distance = random.uniform() < 0.5 ? 0.0 : random.uniform(0.0, 0.01);
      problem.add_hard(distance / dt, {make_joint_side(subsystem, 18, dof, random.uniform() < 0.5 ? 1.0 : -1.0)});
    }
  }
}

}  // namespace

NamedProblem make_quadrupeds(int robots, std::uint64_t seed) {
  Random random(seed);
  const double dt = 0.005;
  NamedProblem named;
  ContactProblem& problem = named.problem;
  const int columns = std::max(1, static_cast<int>(std::ceil(std::sqrt(robots))));
  std::vector<Quadruped> all;
  for (int i = 0; i < robots; ++i) {
    const Mat3 R = exp_so3(random.uniform(-0.4, 0.4) * Vec3::UnitZ()) * exp_so3(0.05 * random.normal3());
    const Vec3 place(0.7 * (i / columns) + 0.03 * random.normal(), 0.4 * (i % columns) + 0.03 * random.normal(), 0.4);
    all.push_back(make_quadruped(place, R, random));
    const TreeBuilder& t = all.back().builder;
    problem.add_tree(t.tree, t.make_b(draw_velocity(random, 18, 0.2, 1.0), dt));
    add_joint_rows(problem, i, dt, random);
  }
  const auto gap_bias = [&] { return Vec3(0.0, 0.0, random.uniform() < 0.5 ? 0.0 : random.uniform(0.0, 5e-4) / dt); };
  for (int i = 0; i < robots; ++i) {
    const Quadruped& robot = all[i];
    const TreeBuilder& t = robot.builder;
    const double lowest = std::min({robot.feet[0].z(), robot.feet[1].z(), robot.feet[2].z(), robot.feet[3].z()});
    for (int leg = 0; leg < 4; ++leg) {
      const double gap = 0.02 * (robot.feet[leg].z() - lowest);
      problem.add_contact(0.6, Vec3(0.0, 0.0, gap / dt),
                          t.side(i, calf_of(leg), robot.feet[leg], Mat3::Identity(), 1.0));
    }
    // A front calf against the other one: two sides on one tree.
    if (random.uniform() < 0.5) {
      const int a = calf_of(0), b = calf_of(1);
      const Vec3 point = 0.5 * (t.centre[a] + t.centre[b]);
      const Mat3 R = facing(t.centre[a], t.centre[b], random);
      problem.add_contact(0.4, gap_bias(), t.side(i, b, point, R, 1.0), t.side(i, a, point, R, -1.0));
    }
  }
  for (int i = 0; i < robots; ++i)
    for (const int j : {i + 1, i + columns}) {
      if (j >= robots || (j == i + 1 && j % columns == 0)) continue;
      for (int touch = 0; touch < 3; ++touch) {
        const int a = touch == 0 ? 0 : calf_of(random.index(4)), b = touch == 1 ? 0 : calf_of(random.index(4));
        const TreeBuilder &ta = all[i].builder, &tb = all[j].builder;
        const Vec3 point = 0.5 * (ta.centre[a] + tb.centre[b]);
        const Mat3 R = facing(ta.centre[a], tb.centre[b], random);
        problem.add_contact(0.4, gap_bias(), tb.side(j, b, point, R, 1.0), ta.side(i, a, point, R, -1.0));
      }
    }
  named.name = problem.name = "quadrupeds";
  return named;
}

NamedProblem make_closed_chain(int links, std::uint64_t seed) {
  Random random(seed);
  const double dt = 0.01, length = 0.3;
  TreeBuilder t;
  Vec3 joint = Vec3(0.0, 0.0, 0.2);
  t.reference = joint;
  for (int i = 0; i < links; ++i) {
    const double angle = 0.9 * std::cos(2.5 * i) + 0.2 * random.normal();
    const Vec3 axis(std::cos(angle), 0.0, std::sin(angle));
    const Vec3 end = joint + length * axis;
    t.add(i - 1, t.hinge(Vec3::UnitY(), joint), 0.5, 0.5 * (joint + end), rod_inertia(0.5, length, axis));
    joint = end;
  }
  t.finish(1e-3, 0);
  NamedProblem named;
  ContactProblem& problem = named.problem;
  problem.add_tree(t.tree, t.make_b(draw_velocity(random, links, 0.5, 0.5), dt));
  for (int i = 1; i < links; i += 2) {
    const Vec3 point = t.centre[i] - Vec3(0.0, 0.0, 0.02);
    const double gap = random.uniform() < 0.5 ? 0.0 : 1e-3 * random.uniform();
    problem.add_contact(0.5, Vec3(0.0, 0.0, gap / dt), t.side(0, i, point, Mat3::Identity(), 1.0));
  }
  // The end of the last link stays where it is, in the plane of the chain.
  for (const Vec3& direction : {Vec3(Vec3::UnitX()), Vec3(Vec3::UnitZ())}) {
    SideInput side;
    side.subsystem = 0;
    side.body = links - 1;
    side.J_body = make_point_jacobian(joint - t.reference, make_frame(direction)).row(2);
    problem.add_equality(0.0, {side});
  }
  for (int i = 0; i < links; ++i) problem.add_bounded(0.0, 0.02, {make_joint_side(0, links, i, 1.0)});
  named.name = problem.name = "closed_chain";
  return named;
}

NamedProblem make_branching_tree(int bodies, int contacts, std::uint64_t seed) {
  Random random(seed);
  const double dt = 0.01;
  TreeBuilder t;
  t.reference = Vec3(1.0, -2.0, 0.5);
  t.add(-1, TreeBuilder::floating(), 3.0, t.reference, make_box_inertia(3.0, Vec3(0.3, 0.2, 0.2)));
  for (int i = 1; i < bodies; ++i) {
    const int parent = random.index(i);
    const Vec3 joint = t.centre[parent] + 0.15 * random.direction(), centre = joint + 0.15 * random.direction();
    std::vector<Vec6> motion;
    switch (i % 4) {
      case 0:  // ball
        for (int k = 0; k < 3; ++k) motion.push_back(make_revolute(Vec3::Unit(k), joint - t.reference));
        break;
      case 1:
        motion = t.hinge(random.direction(), joint);
        break;
      case 2:
        motion.push_back(make_prismatic(random.direction()));
        break;
      default:
        break;  // welded
    }
    const Mat3 R = random.rotation();
    t.add(parent, motion, random.uniform(0.3, 1.0), centre,
          R * make_box_inertia(0.5, Vec3(0.1, 0.15, 0.2)) * R.transpose());
  }
  t.finish(1e-3, 6);
  NamedProblem named;
  ContactProblem& problem = named.problem;
  const int dofs = t.tree.num_dofs();
  problem.add_tree(t.tree, t.make_b(draw_velocity(random, dofs, 0.5, 1.0), dt));
  for (int i = 0; i < contacts; ++i) {
    const int b = random.index(bodies), a = random.index(bodies);
    const Vec3 e(0.0, 0.0, random.uniform() < 0.5 ? 0.0 : random.uniform(0.0, 0.2));
    if (i % 2 == 0 || root_of_weld(t.tree, a) == root_of_weld(t.tree, b)) {
      const Vec3 point = t.centre[b] - Vec3(0.0, 0.0, 0.1);
      problem.add_contact(0.5, e, t.side(0, b, point, Mat3::Identity(), 1.0));
    } else {
      const Vec3 point = 0.5 * (t.centre[a] + t.centre[b]) + 0.02 * random.normal3();
      const Mat3 R = facing(t.centre[a], t.centre[b], random);
      problem.add_contact(0.5, e, t.side(0, b, point, R, 1.0), t.side(0, a, point, R, -1.0));
    }
  }
  named.name = problem.name = "branching_tree";
  return named;
}

ContactProblem without_trees(const ContactProblem& problem) {
  ContactProblem plain = problem;
  plain.trees.clear();
  for (Subsystem& subsystem : plain.subsystems) subsystem.tree = -1;
  const auto forget = [](auto& constraints) {
    for (auto& constraint : constraints)
      for (Side& side : constraint.sides) side.body = side.J_body_start = -1;
  };
  forget(plain.contacts);
  for (auto* rows : {&plain.hard, &plain.soft, &plain.equality, &plain.bounded}) forget(*rows);
  return plain;
}

}  // namespace almond::scenes
