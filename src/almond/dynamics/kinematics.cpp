#include "almond/dynamics/kinematics.hpp"

namespace almond {
namespace {

void write_subspace(const Joint& joint, const Pose& X_WJ, const Pose& X_WB, const Vec3& com, const Vec3& reference,
                    Eigen::Ref<Mat6X> S) {
  switch (joint.kind) {
    case JointKind::kFixed:
      return;
    case JointKind::kRevolute:
    case JointKind::kContinuous:
      S.col(0) = make_revolute(X_WB.R * joint.axis, X_WB * joint.anchor - reference);
      return;
    case JointKind::kPrismatic:
      S.col(0) = make_prismatic(X_WB.R * joint.axis);
      return;
    case JointKind::kBall:
      for (int i = 0; i < 3; ++i) S.col(i) = make_revolute(X_WJ.R.col(i), X_WB * joint.anchor - reference);
      return;
    case JointKind::kFree:
      for (int i = 0; i < 3; ++i) {
        S.col(i) = make_prismatic(Vec3::Unit(i));
        S.col(3 + i) = make_revolute(Vec3::Unit(i), com - reference);
      }
  }
}

/// Motion of a body whose pose is known, and the motion of its parent.
void set_body_motion(const Model& model, int b, const VecX& v, Kinematics& kin) {
  const Body& body = model.bodies[b];
  const Joint& joint = model.joints[b];
  kin.V.col(b).setZero();
  kin.A.col(b).setZero();
  if (body.subsystem < 0) return;
  Vec6 moved = Vec6::Zero();
  for (int k = joint.v_begin; k < joint.v_begin + num_velocities(joint.kind); ++k) moved += kin.S.col(k) * v[k];
  if (joint.kind == JointKind::kFree) {
    kin.V.col(b) = moved;
    kin.A.col(b).head<3>() = v.segment<3>(joint.v_begin).cross(v.segment<3>(joint.v_begin + 3));
  } else if (body.local == 0) {  // on the ground
    kin.V.col(b) = moved;
  } else {
    const Vec6 V_parent = kin.V.col(body.parent);
    kin.V.col(b) = V_parent + moved;
    kin.A.col(b) = kin.A.col(body.parent) + cross_motion(V_parent, moved);
  }
}

/// Pose of a body whose parent has been placed, and the motions that its joint allows.
void place_body(const Model& model, int b, const VecX& q, Kinematics& kin) {
  const Body& body = model.bodies[b];
  const Joint& joint = model.joints[b];
  const Pose X_WJ = body.parent < 0 ? joint.X_PJ : kin.X_WB[body.parent] * joint.X_PJ;
  const Pose X_WB = X_WJ * make_joint_pose(joint, q.data() + joint.q_begin);
  kin.X_WB[b] = X_WB;
  kin.com[b] = X_WB * body.com;
  if (body.subsystem < 0) return;
  if (body.local == 0) kin.reference[body.subsystem] = kin.com[b];
  write_subspace(joint, X_WJ, X_WB, kin.com[b], kin.reference[body.subsystem],
                 kin.S.middleCols(joint.v_begin, num_velocities(joint.kind)));
}

void turn_inertia(const Model& model, int b, Kinematics& kin) {
  const Mat3& R = kin.X_WB[b].R;
  kin.I[b].noalias() = R * model.bodies[b].inertia * R.transpose();
}

void place_geoms(const Model& model, Kinematics& kin) {
  kin.X_WG.resize(model.geoms.size());
  for (int g = 0; g < model.num_geoms(); ++g) {
    const Geom& geom = model.geoms[g];
    kin.X_WG[g] = geom.body < 0 ? geom.X_BG : kin.X_WB[geom.body] * geom.X_BG;
  }
}

}  // namespace

Vec6 cross_motion(const Vec6& V, const Vec6& S) {
  const Vec3 v = V.head<3>(), w = V.tail<3>();
  Vec6 out;
  out << w.cross(S.head<3>()) + v.cross(S.tail<3>()), w.cross(S.tail<3>());
  return out;
}

Vec6 cross_force(const Vec6& V, const Vec6& F) {
  const Vec3 v = V.head<3>(), w = V.tail<3>();
  Vec6 out;
  out << w.cross(F.head<3>()), w.cross(F.tail<3>()) + v.cross(F.head<3>());
  return out;
}

void resize(const Model& model, Kinematics& kin) {
  const std::size_t bodies = model.bodies.size();
  kin.X_WB.resize(bodies);
  kin.com.resize(bodies);
  kin.I.resize(bodies);
  kin.reference.resize(model.trees.size());
  kin.S.resize(6, model.num_v);
  kin.V.resize(6, static_cast<Eigen::Index>(bodies));
  kin.A.resize(6, static_cast<Eigen::Index>(bodies));
}

void compute_kinematics(const Model& model, const VecX& q, const VecX& v, Kinematics& kin) {
  resize(model, kin);
  for (int b = 0; b < model.num_bodies(); ++b) {
    place_body(model, b, q, kin);
    turn_inertia(model, b, kin);
    set_body_motion(model, b, v, kin);
  }
  place_geoms(model, kin);
}

void compute_poses(const Model& model, const VecX& q, Kinematics& kin) {
  resize(model, kin);
  for (int b = 0; b < model.num_bodies(); ++b) place_body(model, b, q, kin);
  place_geoms(model, kin);
}

void compute_velocities(const Model& model, const Kinematics& kin, const VecX& v, Mat6X& V) {
  V.resize(6, model.num_bodies());
  for (int b = 0; b < model.num_bodies(); ++b) {
    const Body& body = model.bodies[b];
    const Joint& joint = model.joints[b];
    V.col(b).setZero();
    if (body.subsystem < 0) continue;
    if (body.local > 0) V.col(b) = V.col(body.parent);
    for (int k = joint.v_begin; k < joint.v_begin + num_velocities(joint.kind); ++k) V.col(b) += kin.S.col(k) * v[k];
  }
}

void place_tree(const Model& model, const TreeInfo& tree, const VecX& q, const Kinematics& other, bool inertia,
                Kinematics& kin) {
  const int root = model.bodies[tree.bodies[0]].parent;
  if (root >= 0) kin.X_WB[root] = other.X_WB[root];
  for (const int b : tree.bodies) {
    place_body(model, b, q, kin);
    if (inertia) turn_inertia(model, b, kin);
  }
}

TreeView view(const TreeInfo& tree, const Kinematics& kin) {
  return {tree.parent, tree.dof_offset, kin.S.data() + 6 * tree.v_begin, tree.dofs};
}

Vec3 point_velocity(const Model& model, const Kinematics& kin, const Mat6X& V, int body, const Vec3& p) {
  if (body < 0 || model.bodies[body].subsystem < 0) return Vec3::Zero();
  const Vec3 arm = p - kin.reference[model.bodies[body].subsystem];
  return V.col(body).head<3>() + V.col(body).tail<3>().cross(arm);
}

Vec3 point_velocity(const Model& model, const Kinematics& kin, int body, const Vec3& p) {
  return point_velocity(model, kin, kin.V, body, p);
}

Vec3 angular_velocity(const Model& model, const Kinematics& kin, int body) {
  if (body < 0 || model.bodies[body].subsystem < 0) return Vec3::Zero();
  return kin.V.col(body).tail<3>();
}

Mat6 body_inertia(const Model& model, const Kinematics& kin, int body) {
  const Body& b = model.bodies[body];
  return make_spatial_inertia(b.mass, kin.com[body] - kin.reference[b.subsystem], kin.I[body]);
}

}  // namespace almond
