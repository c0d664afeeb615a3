#include "almond/task/gripper.hpp"

namespace almond {

double width_of(const Model& model, const VecX& q, const Gripper& gripper) {
  double width = 0.0;
  for (const Gripper::Finger& finger : gripper.fingers)
    width += finger.closing * (finger.closed - q[model.joints[model.drives[finger.drive].joint].q_begin]);
  return width;
}

void open_to(const Gripper& gripper, double width, Inputs& inputs) {
  const double share = width / static_cast<double>(gripper.fingers.size());
  for (const Gripper::Finger& finger : gripper.fingers) {
    inputs.target[finger.drive] = finger.closed - finger.closing * share;
    inputs.target_velocity[finger.drive] = inputs.feedforward[finger.drive] = 0.0;
  }
}

void close_with(const Model& model, const State& state, const Gripper& gripper, double force, Inputs& inputs) {
  for (const Gripper::Finger& finger : gripper.fingers) {
    inputs.target[finger.drive] = state.q[model.joints[model.drives[finger.drive].joint].q_begin];
    inputs.target_velocity[finger.drive] = 0.0;
    inputs.feedforward[finger.drive] = finger.closing * force;
  }
}

}  // namespace almond
