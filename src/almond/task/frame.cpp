#include "almond/task/frame.hpp"

#include <algorithm>

#include "almond/base/check.hpp"
#include "almond/base/text.hpp"

namespace almond {

Pose frame_pose(const Kinematics& kinematics, const BodyFrame& frame) {
  return frame.body == kGround ? frame.X_BF : kinematics.X_WB[frame.body] * frame.X_BF;
}

Vec6 frame_velocity(const Model& model, const Kinematics& kinematics, const BodyFrame& frame) {
  Vec6 V;
  V << point_velocity(model, kinematics, frame.body, frame_pose(kinematics, frame).p),
      angular_velocity(model, kinematics, frame.body);
  return V;
}

Mat6X frame_jacobian(const Model& model, const Kinematics& kinematics, const BodyFrame& frame,
                     const std::vector<int>& joints) {
  Mat6X J = Mat6X::Zero(6, static_cast<Eigen::Index>(joints.size()));
  const int tree = frame.body == kGround ? -1 : model.bodies[frame.body].subsystem;
  if (tree < 0) return J;
  const Vec3 arm = frame_pose(kinematics, frame).p - kinematics.reference[tree];
  for (int body = frame.body; body != kGround; body = model.bodies[body].parent)
    for (std::size_t k = 0; k < joints.size(); ++k) {
      if (joints[k] != body) continue;
      const Vec6 S = kinematics.S.col(model.joints[body].v_begin);
      J.col(static_cast<Eigen::Index>(k)) << S.head<3>() + S.tail<3>().cross(arm), S.tail<3>();
    }
  return J;
}

std::vector<int> joints_to(const Model& model, int body) {
  std::vector<int> joints;
  for (int b = body; b != kGround; b = model.bodies[b].parent) {
    const bool mimic = std::any_of(model.closures.begin(), model.closures.end(), [b](const Closure& closure) {
      return closure.kind == ClosureKind::kMimic && closure.a == b;
    });
    if (num_velocities(model.joints[b].kind) == 1 && !mimic) joints.push_back(b);
  }
  std::reverse(joints.begin(), joints.end());
  return joints;
}

void check_joints(const Model& model, const std::vector<int>& joints, const std::string& place) {
  for (const int joint : joints) {
    require(joint >= 0 && joint < model.num_bodies(), place + ": joint " + std::to_string(joint) +
                                                          ", expected one from 0 to " +
                                                          std::to_string(model.num_bodies() - 1));
    require(num_velocities(model.joints[joint].kind) == 1, place + ": joint " + quote(model.joints[joint].name) +
                                                               " is " + to_string(model.joints[joint].kind) +
                                                               ", expected one degree of freedom");
  }
}

VecX positions_of(const Model& model, const VecX& q, const std::vector<int>& joints) {
  VecX result(static_cast<Eigen::Index>(joints.size()));
  for (std::size_t k = 0; k < joints.size(); ++k)
    result[static_cast<Eigen::Index>(k)] = q[model.joints[joints[k]].q_begin];
  return result;
}

}  // namespace almond
