#pragma once
// An arm that is led: impedance drives on its joints, and the frame that they move. A way begins where the drives are
// told to be, not where a load has bent the arm to, so that one way goes on smoothly from the other.

#include "almond/sim/step.hpp"
#include "almond/task/impedance.hpp"
#include "almond/task/inverse_kinematics.hpp"
#include "almond/task/phases.hpp"

namespace almond {

struct Arm {
  BodyFrame hand;           // what is led
  std::vector<int> drives;  // with targets, on joints of one dof that the hand hangs on
};

/// The joints of the drives. Throws Error for drives that the model has not, and joints of more dofs.
[[nodiscard]] std::vector<int> joints_of(const Model& model, const Arm& arm);

/// Targets of the drives for the end of the next step: the hand at X_WF. `q`, of the whole model, is the plan so far;
/// it goes on from there, and becomes the nearest that was found where the goal is out of reach.
IkResult lead_hand(Simulation& simulation, const Arm& arm, const Pose& X_WF, VecX& q);

/// A way in joint space: all drives from where they are told to be to `q`, one entry for each.
[[nodiscard]] Phase move_joints(const std::string& name, const Arm& arm, const VecX& q, double duration);

/// A way in the world: the hand along a straight line, turning about one axis. It has failed where the arm cannot
/// follow, and says by how much (an error of one radian counts as 0.3 m).
[[nodiscard]] Phase move_hand(const std::string& name, const Arm& arm, const Pose& X_WF, double duration);

}  // namespace almond
