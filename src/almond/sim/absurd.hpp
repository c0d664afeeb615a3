#pragma once
// Whether an answer has energy from nowhere. By the law contacts and limits only take energy, but for corrections; an
// answer that is far from the law, or wrings a correction out of a lever of rounding, may have any.

#include "almond/sim/step.hpp"

namespace almond {

/// Whether the velocities v, with the impulses of w.solution, are orders of magnitude beyond what the motion of before,
/// forces, springs, drives and corrections explain. Costs a look at v, unless it grew by orders of magnitude.
[[nodiscard]] bool is_absurd(const Model& model, const StepOptions& options, const State& state, const GrowVector& v,
                             StepWorkspace& w);

}  // namespace almond
