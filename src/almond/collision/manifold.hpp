#pragma once
// The contacts of one pair of shapes, before friction and names of geoms are known.

#include <cstdint>
#include <vector>

#include "almond/base/pose.hpp"
#include "almond/model/shape.hpp"

namespace almond {

struct ManifoldPoint {
  Vec3 p;                 // world, midway between the surfaces [m]
  Vec3 n;                 // unit, world, from a to b
  double gap;             // along n [m]
  std::uint32_t feature;  // names the point within the pair, the same over steps while the same features touch
};

struct Manifold {
  std::vector<ManifoldPoint> points;  // capacity is kept from pair to pair
  std::vector<ManifoldPoint> spare;   // points left out by reduction
  int suspicious = 0;                 // depths cut because they exceed the size of the shapes

  void clear() {
    points.clear();
    spare.clear();
    suspicious = 0;
  }
};

struct PairOptions {
  double margin = 0.0;  // report points with gap <= margin [m]
  int max_points = 8;   // of one flat patch
};

}  // namespace almond
