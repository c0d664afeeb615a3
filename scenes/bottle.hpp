#pragma once
// Heavy balls poured from a bottle that is tilted, without a robot: for how solvers scale with the number of bodies.

#include "scenes/scene.hpp"

namespace almond::scenes {

/// The paper's particles: radius [m], density [kg/m³], and mass [kg].
inline constexpr double kBallRadius = 0.005, kBallDensity = 1e4;
inline constexpr double kBallMass =
    kBallDensity * 4.0 / 3.0 * 3.14159265358979323846 * kBallRadius * kBallRadius * kBallRadius;

/// Where balls lie in a round vessel about z, in layers of hexagons from the bottom up; `radius` and `bottom` of its
/// inside.
[[nodiscard]] std::vector<Vec3> make_ball_layers(double radius, double bottom, int balls);

/// A bottle on a hinge at its lip with a stiff drive, and a jar below; as large as `balls` of 5 mm radius and 10 g/cm³
/// need, and never smaller than for 45.
[[nodiscard]] Scene make_bottle_scene(int balls);

/// The angle that the bottle is driven to, upright at first [rad].
[[nodiscard]] double bottle_angle(double time);

}  // namespace almond::scenes
