#pragma once
// A ball on the ground, to be looked at.

#include "almond/model/builder.hpp"
#include "almond/view/live.hpp"

namespace almond::testing {

inline LiveWorld make_ball_world() {
  LiveWorld world;
  world.title = "ball";
  ModelBuilder builder;
  builder.add_ground(Plane{});
  builder.add_solid("ball", Sphere{0.1}, 1.0, make_translation(0.0, 0.0, 0.1));
  world.model = builder.build();
  world.looks = make_looks(world.model, {});
  return world;
}

}  // namespace almond::testing
