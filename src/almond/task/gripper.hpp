#pragma once
// Fingers on sliders or hinges that close on something: to a width, or with a force.
//
// A finger's drive is a position or impedance drive. Opening sets its target. Closing with a force lets the target ride
// along with the joint, so that only the damping and the force that is asked for are left: free fingers close at
// force / damping, and on an object each presses with exactly that force, whatever its size.

#include "almond/sim/step.hpp"

namespace almond {

struct Gripper {
  struct Finger {
    int drive = -1;
    double closed = 0.0;    // q of the joint where it is closed
    double closing = -1.0;  // the way it closes: +1 or -1
  };
  std::vector<Finger> fingers;
};

/// How far open: the sum of the ways of all fingers from where they are closed [m or rad].
[[nodiscard]] double width_of(const Model& model, const VecX& q, const Gripper& gripper);

/// To a width, each finger by its share. Call once.
void open_to(const Gripper& gripper, double width, Inputs& inputs);

/// Each finger with `force` [N or N m]. Call before each step.
void close_with(const Model& model, const State& state, const Gripper& gripper, double force, Inputs& inputs);

}  // namespace almond
