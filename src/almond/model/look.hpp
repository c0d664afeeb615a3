#pragma once
// What a body looks like: a shape with a colour. Nothing here has an effect on how anything moves.

#include <array>
#include <optional>
#include <string>

#include "almond/base/pose.hpp"
#include "almond/model/shape.hpp"

namespace almond {

/// Red, green, blue, opacity; 0 to 1.
using Color = std::array<double, 4>;

struct Look {
  enum class Role : std::uint8_t { kCollision, kVisual, kBoth };
  std::string name;
  int body = -1;  // -1: the ground
  Pose X_BG;
  Shape shape = Sphere{1.0};  // a triangle mesh needs no search tree
  Role role = Role::kCollision;
  std::optional<Color> color;
};

}  // namespace almond
