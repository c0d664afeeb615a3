#pragma once
// A humanoid takes a bottle and pours what is in it into a jar (Sec. VII-C).

#include "scenes/scene.hpp"

namespace almond::scenes {

struct PouringOptions {
  int balls = 45;
  double grip = 0.5;  // torque of the first joint of index and middle finger [N m]; the thumb has twice as much
};

/// The upper body of a G1, a bottle with `balls` in it and a jar on a table. Throws Error where example-robot-data is
/// absent.
[[nodiscard]] Scene make_pouring_scene(const PouringOptions& options);

/// Of balls, by where they are.
struct PouringCount {
  int in_jar = 0, in_bottle = 0, spilled = 0;
};
[[nodiscard]] PouringCount count_balls(Simulation& simulation);

}  // namespace almond::scenes
