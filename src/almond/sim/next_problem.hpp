#pragma once
// State -> ContactProblem, without stepping: for looking at, for problem files, for solvers of one's own.

#include "almond/sim/options.hpp"
#include "almond/sim/state.hpp"
#include "almond/solver/problem.hpp"

namespace almond {

/// The problem that the next step begins with at options.theta = 0. A step may go on to others: where its answer leads
/// something far, or into something else. Throws Error when state or inputs are not of the model's sizes.
[[nodiscard]] ContactProblem next_problem(const Model& model, const StepOptions& options, const Inputs& inputs,
                                          const State& state);

}  // namespace almond
