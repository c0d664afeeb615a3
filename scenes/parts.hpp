#pragma once
// Models that scenes and laws are made of. Sizes in metres, masses in kg.

#include <cstdint>

#include "almond/model/builder.hpp"

namespace almond::scenes {

inline constexpr double kCube = 0.05;  // half edge of the cubes of towers, slopes and grasps [m]
inline constexpr double kGravity = 9.81;

// ---- boxes (boxes.cpp)

/// A 1 kg cube on a plane of slope atan(ratio mu); down the slope is +x at first. `speed` along it.
[[nodiscard]] Model make_slope_model(double ratio, double mu, double speed);
/// Axes of the slope in the world: x down the slope, z its normal.
[[nodiscard]] Mat3 slope_axes(double ratio, double mu);
/// `count` cubes of 0.1 kg, one of `top_mass` on them.
[[nodiscard]] Model make_tower_model(int count, double top_mass, double mu);
/// A cube between two pads on sliders, squeezed by `squeeze` times the least force that holds it. The hand hangs on a
/// vertical slider with a stiff position drive, the pads have torque drives.
[[nodiscard]] Model make_gripper_model(double cube_mass, double squeeze, double mu);
/// The same hand around a cup of boxes, 0.1 kg, with heavy balls of 5 mm radius in it.
[[nodiscard]] Model make_cup_model(int balls, double squeeze);
/// Bowl, bowl, plate (0.1 kg each) and a 5 kg pot on top, each a floor and a ring of twelve walls made of boxes.
[[nodiscard]] Model make_dishes_model();

// ---- signed distance shapes (solids.cpp)

/// A steel nut, free to turn, on the upright bolt of "M48", "M20x1.5", ...
[[nodiscard]] Model make_nut_model(const std::string& thread, double mu);
/// Bowl, bowl, plate (0.1 kg each) and a pot, one in the other.
[[nodiscard]] Model make_pile_model(double pot_mass, double mu);
/// A ball of the given radius in a round bowl, `angle` up its side.
[[nodiscard]] Model make_bowl_model(double radius, double ball, double angle, double mu);
/// Heavy balls of 5 mm radius thrown down into a cup.
[[nodiscard]] Model make_pour_model(int balls, double speed, std::uint64_t seed);

// ---- balls (balls.cpp)

/// A ball of 1 kg and 5 cm radius, `height` above the ground, thrown along x.
[[nodiscard]] Model make_ball_model(double height, double speed, double mu, double restitution);
/// Equal balls in a row without gravity, the first one flying at 1 m/s; `gap` between the others.
[[nodiscard]] Model make_cradle_model(int balls, double gap);
/// Balls of 5 mm radius and 10 g/cm³, poured into an open box.
[[nodiscard]] Model make_spheres_model(int count, std::uint64_t seed);

// ---- mechanisms (mechanisms.cpp)

/// A rod on a hinge, length 1 m, at `angle` from hanging down.
[[nodiscard]] Model make_pendulum_model(double angle);
/// A box of three different edges turning about its middle axis in free space, a little off it.
[[nodiscard]] Model make_top_model();
/// Seven links on hinges that cross, every joint at `speed` [rad/s], limp and weightless.
[[nodiscard]] Model make_arm_model(double speed);
/// A free body with a chain of balls and hinges on it, thrown in free space.
[[nodiscard]] Model make_chain_model(double speed);
/// A crank that turns a rocker over a coupler: two chains tied together by a point.
[[nodiscard]] Model make_four_bar_model(double crank_speed);
/// A rod sliding on its tip, so rough that rigid statics has no answer (Painlevé).
[[nodiscard]] Model make_painleve_model(double mu);
/// A chain of 1 m and 1 kg on hinges that cross, held out sideways at one end.
[[nodiscard]] Model make_hanging_chain_model(int links);
/// A rod, a wire, a plate and a needle that tumble over a floor.
[[nodiscard]] Model make_sticks_model(double spin, double height, std::uint64_t seed);
/// A hinged arm that swings into its limit at `speed`.
[[nodiscard]] Model make_stop_model(double speed);
/// Laikago-like robots with limp legs, dropped as a cube of robots.
[[nodiscard]] Model make_quadrupeds_model(int robots, std::uint64_t seed);

}  // namespace almond::scenes
