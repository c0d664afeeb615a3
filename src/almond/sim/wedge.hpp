#pragma once
// Corrections of overlaps where friction, or other corrections, stand in their way.

#include "almond/sim/assemble.hpp"

namespace almond {

/// Asks for no correction where the last answer missed it: others oppose it. What overlaps stays so, and gets no
/// deeper. False where there is none.
bool drop_opposed(const GrowVector& v, ContactProblem& problem);

/// The problem of the corrections beside the answer (v, λ): what holds by impulses acts as a force does, without
/// friction, and springs give way to both.
void set_corrections(const GrowVector& lambda, Assembly& assembly);

}  // namespace almond
