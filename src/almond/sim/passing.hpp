#pragma once
// Whether a motion leads bodies through each other, or into each other. Contacts hold along straight lines, at the
// points that meet there. A small body that an impact sets whirling meets with others, and may end behind a thin wall.

#include "almond/sim/step.hpp"

namespace almond {

/// Pairs of geoms that pass through each other, or end deeper in each other than they began, where w.motion_v moves the
/// bodies from `state` for the length of the step. Looks at poses on the way, so many that no pair moves past more than
/// half of its thickness between them. `end_is_seen`: the end has been looked at, by look_ahead(). Costs nothing at
/// rest, and nothing where contacts neither turn nor pass far.
[[nodiscard]] int count_passing(const Model& model, const StepOptions& options, const State& state, bool end_is_seen,
                                StepWorkspace& w);

}  // namespace almond
