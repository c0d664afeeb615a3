#pragma once
// Which bodies lie in each other at the start. Links of a robot often do, by design or by their hulls: rigid contact
// cannot hold there.

#include "almond/collision/detect.hpp"

namespace almond {

struct Overlap {
  int body_a = kGround, body_b = kGround;
  int geom_a = -1, geom_b = -1;  // the deepest pair
  double depth = 0.0;            // [m]
  bool held = false;             // no joint can undo it
};

/// Pairs of bodies that may collide and overlap by more than `depth` at q, deepest pair of geoms each; sorted by
/// bodies.
[[nodiscard]] std::vector<Overlap> find_overlaps(const Model& model, const VecX& q, double depth);

}  // namespace almond
