#pragma once
// The upper body of the humanoid G1 of the package example-robot-data: two arms with hands of three fingers.

#include "almond/model/look.hpp"
#include "almond/task/gripper.hpp"
#include "almond/task/impedance.hpp"

namespace almond::scenes {

/// One arm. The palm's frame: x along the stretched fingers, y out of the right palm and into the left one, z from the
/// middle finger to the index finger.
struct G1Arm {
  std::vector<int> joints, drives;  // 7, from the shoulder on
  int palm = -1;                    // body
  std::vector<int> fingers;         // drives, 7: thumb 0, 1, 2, middle 0, 1, index 0, 1
  std::vector<double> closing;      // of these: +1 or -1, the way it closes; 0: it turns the thumb to the side
};

struct G1 {
  G1Arm left, right;
  int first_body = 0, end_body = 0;
};

struct G1Options {
  Pose X_WF;                        // of its pelvis
  std::vector<double> left, right;  // where the arms start, 7 each [rad]
  double finger_stiffness = 50.0;   // [N m/rad]
};

/// Pelvis fixed, legs and waist locked; impedance drives on the other 28 joints, with the effort limits of the file.
/// Throws Error that says how to install it where example-robot-data is absent.
G1 add_g1(ModelBuilder& builder, const G1Options& options);

/// How it looks, where it is the first robot of a model.
[[nodiscard]] std::vector<Look> g1_looks(const G1Options& options);

}  // namespace almond::scenes
