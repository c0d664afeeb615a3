#pragma once
// MuJoCo -> Frame: a simulation moved on by MuJoCo instead of by us, so that both are looked at and measured alike.

#include "almond/load/mujoco_run.hpp"
#include "almond/sim/frame.hpp"

namespace almond {

/// One step with the simulation's inputs; its state becomes MuJoCo's, `frame` what the step looked like. A contact
/// whose force reaches the edge of the friction cone slips. What MuJoCo does not tell is NaN: residuals, natural map,
/// the time of the solve. Once MuJoCo's numbers have run away the state stays as it was, with kNumericalError.
StepReport step_by_mujoco(MujocoRun& run, Simulation& simulation, Frame& frame);

}  // namespace almond
