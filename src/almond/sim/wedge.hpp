#pragma once
// Corrections of overlaps where friction, or other corrections, stand in their way.

#include "almond/sim/assemble.hpp"

namespace almond {

/// Corrections that contradict each other, cut back to what the last answer came to: bodies that overlap from two sides
/// meet in the middle.
void cut_back(const GrowVector& v, ContactProblem& problem);

/// The problem of the corrections beside the answer (v, λ): what holds by impulses acts as a force does, without
/// friction, and springs give way to both.
void set_corrections(const GrowVector& lambda, Assembly& assembly);

}  // namespace almond
