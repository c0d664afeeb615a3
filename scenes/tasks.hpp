#pragma once
// Scenes in which a robot of example-robot-data does something.

#include "scenes/scene.hpp"

namespace almond::scenes {

/// A Panda with an actuator that turns without end screws a nut, held by it, onto a bolt.
[[nodiscard]] SceneInfo describe_bolt_nut_assembly();
/// The same nut in the Panda's own hand, which lets go and takes it again.
[[nodiscard]] SceneInfo describe_bolt_nut_regrasp();

/// A Panda with an Allegro hand piles a bowl, a plate and a 5 kg pot on another bowl.
[[nodiscard]] SceneInfo describe_dish_piling();

/// The upper body of a G1 takes a bottle and pours what is in it into a jar (pouring.hpp).
[[nodiscard]] SceneInfo describe_pouring();

}  // namespace almond::scenes
