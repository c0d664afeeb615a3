#pragma once
// The world of the dish piling: a Panda with an Allegro hand, two bowls, a plate and a pot on a table; how the hand
// holds a dish, and the joint targets and forces that it takes.

#include "almond/task/inverse_kinematics.hpp"
#include "scenes/dish_robot.hpp"

namespace almond::scenes {

struct Dish {
  std::string name;
  int body = -1;
  SdfShape shape, look;         // what collides; the same in more triangles
  double mass = 0.0;            // [kg]
  double grip_height = 0.0;     // of the fingertips over the dish's foot [m]
  double squeeze = 0.0;         // of the thumb, against the fingers' together [N]
  Vec3 middle = Vec3::Zero();   // of the fingertips around it, seen from the palm [m]
  VecX open, touching, closed;  // joints of the hand: around the dish, almost on it, and a little inside of it
};

struct DishCell {
  Panda panda;
  Allegro hand;
  std::vector<Dish> dishes;         // as they are to lie on each other; the first one is not moved
  std::vector<int> joints, drives;  // of arm and hand
  Mat3 R_WH = Mat3::Identity();     // axes of the palm, always
};

/// Throws Error that says how to install them where the robots are absent.
[[nodiscard]] Model make_dish_cell(double pot_mass, double mu, DishCell& cell);

/// Where a dish comes to lie above the one below it, both upright on one axis [m].
[[nodiscard]] double nesting_height(const SdfShape& upper, const SdfShape& lower);

/// Where the palm is when the fingertips are around `p`, as they are around this dish.
[[nodiscard]] Vec3 palm_around(const DishCell& cell, const Dish& dish, const Vec3& p);

/// Which way each fingertip lies from the middle of the grasp, unit, world; and its share of what the hand bears, so
/// that neither force nor torque is left over.
struct Grasp {
  std::array<Vec3, 4> out;
  std::array<double, 4> share;
};
[[nodiscard]] Grasp make_grasp(const DishCell& cell);

/// Efforts of all joints with which the fingertips press together with `squeeze` and lift with `weight` [N]: Σ Jᵀ F.
void press(Simulation& sim, const DishCell& cell, double squeeze, double weight);

}  // namespace almond::scenes
