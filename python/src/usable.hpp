#pragma once
// Numbers that were written through views: nothing looks at them before a step does.

#include "almond/sim/options.hpp"
#include "arrays.hpp"

namespace almond::python {

/// What a step takes of one world.
struct WorldNumbers {
  Eigen::Ref<const VecX> q, v, target, target_velocity, feedforward;
  Eigen::Ref<const MatXr> wrenches;  // (bodies, 6)
  int world = -1;                    // of a batch
};

/// Throws ValueError with array, index and value, unless they are finite and quaternions have length 1.
void check_usable(const Model& model, const WorldNumbers& given);

/// (bodies, 6), force and torque, to where a step looks for them.
void put_wrenches(const Eigen::Ref<const MatXr>& wrenches, Inputs& inputs);

}  // namespace almond::python
