#include "almond/dynamics/forces.hpp"

#include <algorithm>

namespace almond {
namespace {

Vec6 applied_wrench(const Model& model, const Kinematics& kin, const std::vector<Wrench>& wrenches, int body,
                    const Vec3& reference) {
  Vec3 force = weight_of(model, body), torque = Vec3::Zero();
  if (!wrenches.empty()) {
    force += wrenches[body].force;
    torque = wrenches[body].torque;
  }
  Vec6 F;
  F << force, torque + (kin.com[body] - reference).cross(force);
  return F;
}

/// Centre-of-mass velocity.
Vec3 com_velocity(const Model& model, const Kinematics& kin, int body) {
  return point_velocity(model, kin, body, kin.com[body]);
}

/// I ω (world) by way of the axes of the body: in those of the world rounding mixes the inertias of thin bodies.
Vec3 spin_of(const Model& model, const Kinematics& kin, int body) {
  const Mat3& R = kin.X_WB[body].R;
  return R * (model.bodies[body].inertia * (R.transpose() * kin.V.col(body).tail<3>()));
}

/// Room for one wrench per body of the tree.
Eigen::Ref<Mat6X> wrenches_of(const TreeInfo& tree, ForceWorkspace& workspace) {
  const auto count = static_cast<Eigen::Index>(tree.bodies.size());
  if (workspace.F.cols() < count) workspace.F.resize(6, count);
  return workspace.F.leftCols(count);
}

}  // namespace

Vec3 weight_of(const Model& model, int body) {
  const Body& b = model.bodies[body];
  return (1.0 - b.gravcomp) * b.mass * model.gravity;
}

void compute_velocity_products(const Model& model, const TreeInfo& tree, const Kinematics& kin,
                               ForceWorkspace& workspace, VecX& c) {
  if (tree.single) {
    const int b = tree.bodies[0];
    const Vec3 w = kin.V.col(b).tail<3>();
    c.segment<3>(tree.v_begin).setZero();
    c.segment<3>(tree.v_begin + 3) = w.cross(kin.I[b] * w);
    return;
  }
  Eigen::Ref<Mat6X> F = wrenches_of(tree, workspace);
  for (Eigen::Index i = 0; i < F.cols(); ++i) {
    const int b = tree.bodies[i];
    const Mat6 M = body_inertia(model, kin, b);
    const Vec6 V = kin.V.col(b), momentum = M * V;
    F.col(i) = M * kin.A.col(b) + cross_force(V, momentum);
  }
  backward_pass(view(tree, kin), F, c.segment(tree.v_begin, tree.dofs));
}

void compute_velocity_products(const Model& model, const Kinematics& kin, ForceWorkspace& workspace, VecX& c) {
  c.setZero(model.num_v);
  for (const TreeInfo& tree : model.trees) compute_velocity_products(model, tree, kin, workspace, c);
}

void compute_forces(const Model& model, const Kinematics& kin, const std::vector<Wrench>& wrenches,
                    ForceWorkspace& workspace, VecX& f) {
  f.resize(model.num_v);
  for (std::size_t t = 0; t < model.trees.size(); ++t) {
    const TreeInfo& tree = model.trees[t];
    if (tree.single) {
      f.segment<6>(tree.v_begin) = applied_wrench(model, kin, wrenches, tree.bodies[0], kin.reference[t]);
      continue;
    }
    Eigen::Ref<Mat6X> F = wrenches_of(tree, workspace);
    for (Eigen::Index i = 0; i < F.cols(); ++i)
      F.col(i) = applied_wrench(model, kin, wrenches, tree.bodies[i], kin.reference[t]);
    backward_pass(view(tree, kin), F, f.segment(tree.v_begin, tree.dofs));
  }
}

Energy compute_energy(const Model& model, const VecX& q, const VecX& v, const Kinematics& kin) {
  Energy energy;
  for (int b = 0; b < model.num_bodies(); ++b) {
    const Body& body = model.bodies[b];
    if (body.subsystem < 0) continue;
    const Vec3 velocity = com_velocity(model, kin, b), w = kin.X_WB[b].R.transpose() * kin.V.col(b).tail<3>();
    energy.kinetic += 0.5 * body.mass * velocity.squaredNorm() + 0.5 * w.dot(body.inertia * w);
    energy.potential -= weight_of(model, b).dot(kin.com[b]);
    const Joint& joint = model.joints[b];
    const int dofs = num_velocities(joint.kind);
    energy.kinetic += 0.5 * joint.armature * v.segment(joint.v_begin, dofs).squaredNorm();
    if (joint.stiffness > 0.0) {
      const double stretch = q[joint.q_begin] - joint.rest;
      energy.potential += 0.5 * joint.stiffness * stretch * stretch;
    }
  }
  for (const Spring& spring : model.springs) {
    const Vec3 a = spring.body_a < 0 ? spring.point_a : kin.X_WB[spring.body_a] * spring.point_a;
    const Vec3 b = spring.body_b < 0 ? spring.point_b : kin.X_WB[spring.body_b] * spring.point_b;
    const double stretch = (b - a).norm() - spring.rest_length;
    energy.potential += 0.5 * spring.stiffness * stretch * stretch;
  }
  for (const Tendon& tendon : model.tendons) {
    const double x = tendon_position(model, tendon, q),
                 stretch = x - std::clamp(x, tendon.rest_lower, tendon.rest_upper);
    energy.potential += 0.5 * tendon.stiffness * stretch * stretch;
  }
  return energy;
}

Momentum compute_momentum(const Model& model, const Kinematics& kin) {
  Momentum momentum;
  for (int b = 0; b < model.num_bodies(); ++b) {
    const Body& body = model.bodies[b];
    if (body.subsystem < 0) continue;
    const Vec3 p = body.mass * com_velocity(model, kin, b);
    momentum.linear += p;
    momentum.angular += kin.com[b].cross(p) + spin_of(model, kin, b);
  }
  return momentum;
}

}  // namespace almond
