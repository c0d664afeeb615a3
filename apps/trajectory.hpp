#pragma once
// Where all bodies were after every step, as arrays (docs/formats.md).

#include <string>
#include <vector>

#include "almond/dynamics/kinematics.hpp"

namespace almond::app {

/// T rows of B bodies; velocities are those of the body frames' origins, world axes.
struct Trajectory {
  std::vector<std::string> names;                         // (B)
  std::vector<double> time;                               // (T) [s]
  std::vector<double> position, quaternion;               // (T, B, 3) [m], (T, B, 4) w first
  std::vector<double> linear_velocity, angular_velocity;  // (T, B, 3) [m/s], [rad/s]

  void add(const Model& model, const Kinematics& kinematics, double now);
};

/// Throws Error when a run of this length would not fit the file format.
void check_trajectory_size(const Model& model, int steps, const std::string& path);

/// The bytes of the .npz file; `label` names it in errors.
[[nodiscard]] std::string to_npz(const Trajectory& trajectory, const std::string& label);

}  // namespace almond::app
