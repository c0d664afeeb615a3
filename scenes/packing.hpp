#pragma once
// A settled random packing of equal spheres in an open box with a floor at z = 0.

#include <vector>

#include "scenes/random.hpp"

namespace almond::scenes {

struct Touch {
  int a;       // -1: wall or floor
  int b;       // the normal points towards b
  Vec3 point;  // [m]
  Vec3 normal;
  double gap;  // [m], negative: overlap
};

struct Packing {
  std::vector<Vec3> centres;
  std::vector<Touch> touches;  // all pairs closer than 1 % of the radius
};

[[nodiscard]] Packing pack_spheres(int count, double radius, Random& random);

}  // namespace almond::scenes
