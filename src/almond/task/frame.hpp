#pragma once
// A frame on a body, where it is, how it moves, and how joints move it.

#include <vector>

#include "almond/dynamics/kinematics.hpp"

namespace almond {

struct BodyFrame {
  int body = kGround;
  Pose X_BF;  // in the body
};

[[nodiscard]] Pose frame_pose(const Kinematics& kinematics, const BodyFrame& frame);

/// [velocity of the origin; angular velocity], world axes.
[[nodiscard]] Vec6 frame_velocity(const Model& model, const Kinematics& kinematics, const BodyFrame& frame);

/// J (6 x joints): frame_velocity = J v, over the joints (of one dof) that are named; zero for those the body does not
/// hang on.
[[nodiscard]] Mat6X frame_jacobian(const Model& model, const Kinematics& kinematics, const BodyFrame& frame,
                                   const std::vector<int>& joints);

/// Joints of one dof on the way from the ground to the body, the first one first, without mimics.
[[nodiscard]] std::vector<int> joints_to(const Model& model, int body);

/// Throws Error, beginning with `place`, unless all are joints of one dof of the model.
void check_joints(const Model& model, const std::vector<int>& joints, const std::string& place);

/// The positions of joints of one dof.
[[nodiscard]] VecX positions_of(const Model& model, const VecX& q, const std::vector<int>& joints);

}  // namespace almond
