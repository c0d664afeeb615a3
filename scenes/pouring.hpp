#pragma once
// A humanoid takes a bottle and pours what is in it into a jar (Sec. VII-C).

#include "scenes/scene.hpp"

namespace almond::scenes {

struct PouringOptions {
  int balls = 45;
  double grip =
      0.5;  // torque of the first joints of index and middle finger [N m]; the thumb has twice as much, up to 1.4
  double stiffness = 50.0;  // of the finger joints [N m/rad]
};

/// The upper body of a G1, a bottle with `balls` in it and a jar on a table. Throws Error where example-robot-data is
/// absent.
[[nodiscard]] Scene make_pouring_scene(const PouringOptions& options);

/// Of balls, by where they are.
struct PouringCount {
  int in_jar = 0, in_bottle = 0, spilled = 0;
};
[[nodiscard]] PouringCount count_balls(Simulation& simulation);

/// Whether the bottle is in the air, and so in the hand or lost.
[[nodiscard]] bool is_bottle_lifted(Simulation& simulation);

}  // namespace almond::scenes
