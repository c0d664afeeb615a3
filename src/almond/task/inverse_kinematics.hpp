#pragma once
// Poses of frames -> joint positions, by damped least squares (Levenberg-Marquardt) within the joint limits:
//
//   min ‖ W (x_goal ⊖ x(q)) ‖²,  lower <= q <= upper:   (JᵀJ + λ 1) dq = Jᵀ e over the joints that are free to move,
//
// q clamped to its limits, λ smaller after a step that helps and larger after one that does not. Where that ends short
// of the goal, it starts again from positions drawn within the limits, always the same ones for the same seed.

#include <cstdint>

#include "almond/task/frame.hpp"

namespace almond {

/// What of a frame is to be reached: position and rotation; position; or position and the direction of its z axis.
enum class Reach : std::uint8_t { kPose, kPosition, kAxis };

struct FrameGoal {
  BodyFrame frame;
  Pose X_WF;  // where it shall be
  Reach reach = Reach::kPose;
};

struct IkOptions {
  double position_tol = 1e-7;  // [m]
  double rotation_tol = 1e-7;  // [rad]
  double length = 0.3;         // what an error of one radian counts as [m]
  int max_iterations = 200;    // of each start
  int restarts = 30;           // after the start that is given; 0: none
  std::uint64_t seed = 0;
};

enum class IkStatus : std::uint8_t { kReached, kNotReached, kNotFinite };

struct IkResult {
  IkStatus status = IkStatus::kNotReached;
  VecX q;                       // of the whole model, mimic joints included; the nearest found where none reaches
  double position_error = 0.0;  // largest of all goals [m]
  double rotation_error = 0.0;  // [rad]
  int iterations = 0, starts = 0;
};

/// Moves `joints` (of one dof) from `q` (of the whole model) so that all goals are met. Throws Error only for joints
/// and bodies that the model has not, and a q of another size; goals that are not finite give kNotFinite and q as it
/// was.
[[nodiscard]] IkResult solve_ik(const Model& model, const VecX& q, const std::vector<int>& joints,
                                const std::vector<FrameGoal>& goals, const IkOptions& options = {});

/// Joints that follow others are put where those say.
void apply_mimics(const Model& model, VecX& q);

}  // namespace almond
