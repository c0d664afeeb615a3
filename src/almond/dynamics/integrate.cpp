#include "almond/dynamics/integrate.hpp"

#include <Eigen/LU>

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

/// ω at the new orientation with the angular momentum of the old one.
Vec3 carry_momentum(const Mat3& inertia, const Mat3& R, const Mat3& R_new, const Vec3& w) {
  const Vec3 L_body = R_new.transpose() * (R * (inertia * (R.transpose() * w)));
  return R_new * inertia.inverse() * L_body;
}

}  // namespace

void compute_half_step(const Model& model, const Kinematics& kin, double dt, VecX& d) {
  d.setZero(model.num_v);
  for (const TreeInfo& tree : model.trees) {
    if (!tree.single) continue;
    const int b = tree.bodies[0];
    const Vec3 w = kin.V.col(b).tail<3>(), torque = w.cross(kin.I[b] * w);
    if (torque.isZero(0.0) || is_ball_like(model.bodies[b].inertia)) continue;
    d.segment<3>(tree.v_begin + 3) = -0.5 * dt * (kin.I[b].inverse() * torque);
  }
}

void integrate(const Model& model, const VecX& v_hat, const VecX& d, double theta, double dt, VecX& q, VecX& v) {
  v = (v_hat - d - theta * v) / (1.0 - theta);
  for (int b = 0; b < model.num_bodies(); ++b) {
    const Joint& joint = model.joints[b];
    const double* u = v_hat.data() + joint.v_begin;
    switch (joint.kind) {
      case JointKind::kFixed:
        break;
      case JointKind::kRevolute:
      case JointKind::kContinuous:
      case JointKind::kPrismatic:
        q[joint.q_begin] += dt * u[0];
        break;
      case JointKind::kBall:
        rotate(dt * Vec3(u[0], u[1], u[2]), q.segment<4>(joint.q_begin));
        break;
      case JointKind::kFree: {
        const Body& body = model.bodies[b];
        const Vec4 old = q.segment<4>(joint.q_begin + 3);
        const Vec3 turn = dt * Vec3(u[3], u[4], u[5]);
        if (!turn.isZero(0.0)) rotate(turn, q.segment<4>(joint.q_begin + 3));
        const Mat3 R = quaternion_to_matrix(old), R_new = quaternion_to_matrix(q.segment<4>(joint.q_begin + 3));
        q.segment<3>(joint.q_begin) += dt * Vec3(u[0], u[1], u[2]) + R * body.com - R_new * body.com;
        if (model.trees[body.subsystem].single && !turn.isZero(0.0) && !is_ball_like(body.inertia)) {
          auto w = v.segment<3>(joint.v_begin + 3);
          w = carry_momentum(body.inertia, R, R_new, w);
        }
        break;
      }
    }
  }
}

}  // namespace almond
