#pragma once
// What an answer touches, and where it leads.

#include "almond/sim/step.hpp"

namespace almond {

/// Trees that contacts bear on: a mark for drift(), and for the next step.
void mark_bearing(const Model& model, StepWorkspace& w);
/// Trees that anything outside of them acted on: a mark for drift().
void mark_touched(const Model& model, StepWorkspace& w);

/// w.before becomes q after w.motion_v has moved the bodies for the time h, as drift() will: what nothing touches turns
/// by itself, and whirls to another pose than ω h says.
void move_on(const Model& model, const State& state, double h, StepWorkspace& w);

}  // namespace almond
