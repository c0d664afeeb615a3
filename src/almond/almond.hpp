#pragma once
// All of Almond: what is included here is the public interface of the simulator.

#include "almond/base/check.hpp"
#include "almond/base/pose.hpp"
#include "almond/dynamics/forces.hpp"
#include "almond/dynamics/kinematics.hpp"
#include "almond/model/builder.hpp"
#include "almond/sim/next_problem.hpp"
#include "almond/sim/options.hpp"
#include "almond/sim/state.hpp"
#include "almond/sim/step.hpp"
#include "almond/solver/certificate.hpp"
#include "almond/solver/solve.hpp"
#include "almond/task/gripper.hpp"
#include "almond/task/impedance.hpp"
#include "almond/task/inverse_kinematics.hpp"
#include "almond/task/phases.hpp"
#include "almond/task/trajectory.hpp"
