#pragma once
// Heavy balls poured from a bottle that is tilted, without a robot: for how solvers scale with the number of bodies.

#include "scenes/scene.hpp"

namespace almond::scenes {

/// A bottle on a hinge at its lip with a stiff drive, and a jar below; as large as `balls` of 5 mm radius and 10 g/cm³
/// need, and never smaller than for 45.
[[nodiscard]] Scene make_bottle_scene(int balls);

/// The angle that the bottle is driven to, upright at first [rad].
[[nodiscard]] double bottle_angle(double time);

}  // namespace almond::scenes
