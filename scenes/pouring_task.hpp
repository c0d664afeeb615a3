#pragma once
// What the scene `pouring` is made of: sizes, places, and the state that its phases share.

#include "almond/task/phases.hpp"
#include "almond/task/trajectory.hpp"
#include "scenes/g1.hpp"
#include "scenes/pouring.hpp"

namespace almond::scenes {

// Sizes [m]. x is to the front of the robot, y to its left.
inline constexpr double kTable = 0.82;
inline constexpr double kBottleRadius = 0.030, kNeckRadius = 0.023, kBottleHeight = 0.150;
inline constexpr double kJarRim = 0.060, kJarHeight = 0.080;
inline const Vec3 kBottleAt(0.31, -0.12, kTable), kJarAt(0.31, 0.10, kTable);
inline constexpr double kGraspHeight = 0.062;  // above the bottom of the bottle

/// One run of the task. It stays where it is: its phases point to it.
struct Pouring {
  PouringOptions options;
  G1 g1;
  int bottle = -1, jar = -1;  // bodies
  Task task;
  VecX q;                         // that the drives are told
  BodyFrame tool;                 // what is led: the palm, later the lip of the bottle
  PoseTrajectory way;             // of the tool
  JointTrajectory joint_way;      // of the arm, or of the fingers
  double ik_error = 0.0;          // largest [m]
  bool held = false;              // the bottle
  Pose X_PB;                      // bottle in the hand when it was taken
  double slip = 0.0, turn = 0.0;  // largest, from there [m, rad]
  double deepest = 0.0;           // [m]
};

/// Reach, approach, grasp, lift, carry, pour, return, put down, release, leave.
[[nodiscard]] Task make_pouring_task(Pouring* p);

}  // namespace almond::scenes
