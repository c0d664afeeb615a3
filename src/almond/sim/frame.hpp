#pragma once
// State -> record: what one step looked like.

#include "almond/sim/step.hpp"

namespace almond {

struct FrameContact {
  int geom_a = -1, geom_b = -1;
  Vec3 p = Vec3::Zero(), n = Vec3::UnitZ();  // world; the normal points from a to b
  Vec3 force = Vec3::Zero();                 // on b, world: impulse / dt [N]
  ContactMode mode = ContactMode::kOpen;
  double gap = 0.0;       // [m]
  double residual = 0.0;  // its share of the step's: ‖λ - T(λ - w)‖ / (contacts + rows) [N s]; the norm over all
                          // constraints is the certificate's residual
  double mu = 0.0;
};

/// Poses at the start of a step with the contacts that were solved in it.
struct Frame {
  std::int64_t step = 0;  // steps done before it
  double time = 0.0;      // [s]
  std::vector<Pose> bodies;
  std::vector<FrameContact> contacts;
};

/// The step that `last` was used for and that led to `state`.
void record_step(const StepWorkspace& last, const State& state, double dt, Frame& frame);
/// The last step of a simulation.
void record_step(const Simulation& simulation, Frame& frame);

/// The present poses, without contacts.
void record_state(Simulation& simulation, Frame& frame);

}  // namespace almond
