#pragma once
// Ways through points, in joint space and for frames in the world. A trajectory rests at each of its points; in between
//
//   x(t) = x_a ⊕ s(u) (x_b ⊖ x_a),   u = (t - t_a) / (t_b - t_a),   s(u) = u³ (10 - 15 u + 6 u²)
//
// so velocity and acceleration are zero at the points and continuous everywhere. s' is 15/8 at most.

#include <vector>

#include "almond/base/pose.hpp"

namespace almond {

/// s(u), s'(u), s''(u); u outside [0, 1] is taken as its nearer end.
struct TimeScale {
  double s = 0.0, ds = 0.0, dds = 0.0;
};
[[nodiscard]] TimeScale time_scale(double u);

/// Points of joint space and when they are reached.
struct JointTrajectory {
  std::vector<double> times;  // rising [s]
  std::vector<VecX> points;   // as `times`

  [[nodiscard]] double end() const { return times.back(); }
};

struct JointSample {
  VecX q, v, a;  // position, velocity, acceleration
};

/// From the first point at `start` on, `durations[i]` from point i to the next. Throws Error for sizes that differ,
/// times that do not rise, and what is not finite.
[[nodiscard]] JointTrajectory make_joint_trajectory(const std::vector<VecX>& points,
                                                    const std::vector<double>& durations, double start = 0.0);

/// Before its start a trajectory waits at the first point, behind its end at the last.
[[nodiscard]] JointSample sample(const JointTrajectory& trajectory, double t);

/// How long a way between two points takes whose every joint stays below its `max_velocity`.
[[nodiscard]] double least_duration(const VecX& from, const VecX& to, const VecX& max_velocity);

/// Poses and when they are reached: straight lines, and turns about the one axis that leads from one to the next.
struct PoseTrajectory {
  std::vector<double> times;
  std::vector<Pose> points;

  [[nodiscard]] double end() const { return times.back(); }
};

struct PoseSample {
  Pose X;
  Vec3 velocity = Vec3::Zero(), angular_velocity = Vec3::Zero();  // of the frame's origin, world axes
};

/// As for joints. Throws Error for matrices that are no rotations as well.
[[nodiscard]] PoseTrajectory make_pose_trajectory(const std::vector<Pose>& points, const std::vector<double>& durations,
                                                  double start = 0.0);
[[nodiscard]] PoseSample sample(const PoseTrajectory& trajectory, double t);

}  // namespace almond
