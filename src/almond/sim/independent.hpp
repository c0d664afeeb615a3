#pragma once
// Closures without the rows that say nothing of their own (solver/independent.hpp).

#include "almond/sim/assemble.hpp"
#include "almond/solver/independent.hpp"

namespace almond {

/// Equality rows of closures become soft rows, or are left out.
void soften_closures(IndependenceWorkspace& workspace, Assembly& assembly);

/// The largest error of a closure at q and its poses [m, rad]: distance of points, turn of welds, mimic joints.
[[nodiscard]] double measure_opening(const Model& model, const VecX& q, const std::vector<Pose>& X_WB);

/// Whether loops contradict each other, or what else holds their bodies: v does not mend an error of position, by half
/// of what was asked for at least, and not for want of strength.
[[nodiscard]] bool contradicts(const Assembly& assembly, double dt, const GrowVector& v);

}  // namespace almond
