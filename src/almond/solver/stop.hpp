#pragma once
// Ending a solve from outside, for programs with a user at the keyboard.

#include <functional>

#include "almond/solver/solve.hpp"

namespace almond {

/// `stop` is asked wherever a solver looks at the clock, between iterations and by every thread that works on the
/// solve, so it is to be cheap. Once it said true it has to stay with that; the solve then ends with the best so far
/// and the status of a time that is used up. Empty: nobody is asked.
void set_stop(Workspace& workspace, std::function<bool()> stop);

}  // namespace almond
