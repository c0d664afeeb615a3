#pragma once
// A Panda arm with an Allegro right hand on its flange, palm down: one tree of 23 joints.

#include "scenes/robots.hpp"

namespace almond::scenes {

/// What an Allegro hand became.
struct Allegro {
  std::vector<int> joints, drives;  // 4 of the index finger, thumb, middle and ring finger, in the file's order
  BodyFrame palm;                   // z along the fingers, x out of the palm, y towards the index finger
  std::array<BodyFrame, 4> tips;    // centres of the balls at the ends: index, middle, ring finger, thumb
  double tip_radius = 0.0;          // [m]
  int first_body = 0;
};

/// A hand that is not quite open: fingers hang down, the thumb opposite to them.
inline constexpr std::array<double, 16> kAllegroReady = {-0.27, 0.68, 0.50, 0.51, 0.74, 0.57, 0.32, 0.68,
                                                         0.00,  0.63, 0.76, 0.71, 0.33, 0.87, 0.81, 0.69};

struct AllegroOptions {
  Pose X_PF;                                  // of its palm on the body it is mounted on
  JointGains gains = {30.0, 0.8, kInfinity};  // of all joints; the effort limit of the file where it is less
};

/// Adds the hand to `parent`. The file's dry friction of 5 to 12 N m, of joints whose motors give less than 1 N m, is
/// left out. Throws Error that says how to install it where example-robot-data is absent.
Allegro add_allegro(ModelBuilder& builder, int parent, const AllegroOptions& options);

/// How it looks where its first body is `first_body`.
[[nodiscard]] std::vector<Look> allegro_looks(int first_body);

/// On a bracket below the flange: fingers point forward where the arm is in its usual pose, the palm down.
[[nodiscard]] Pose palm_down_mount();

}  // namespace almond::scenes
