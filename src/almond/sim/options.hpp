#pragma once
// What a step is told: options that stay, inputs that change.

#include "almond/collision/detect.hpp"
#include "almond/dynamics/forces.hpp"
#include "almond/solver/result.hpp"

namespace almond {

struct StepOptions {
  double dt = 1.0 / 240.0;  // [s]
  double theta = 0.0;       // (2) v̂ = θ v + (1 - θ) v⁺, in [0, 1); 0: semi-implicit Euler, 0.5: leapfrog

  double erp = 0.8;                    // share of an overlap, or of a passed limit, that a step removes
  double closure_erp = 1.0;            // share of the error of a closure that a step removes
  double max_correction = 0.5;         // speed of that correction at most [m/s, rad/s]
  double restitution_threshold = 0.1;  // landings slower than this do not bounce [m/s]

  CollisionOptions collision;
  Settings solver;

  StepOptions() {
    solver.warm_start = solver.prefer_stick = true;
    solver.crowd_tol = 1e-6;
    solver.max_work = 2e5;  // some 10 ms; a step that needs more goes on in the next one, and is counted as unconverged
  }
  /// Throws Error naming the field, the value and the range.
  void validate() const;
};
/// The usual options, with the model's own time step.
[[nodiscard]] StepOptions make_options(const Model& model);

/// What acts on the model from outside. Sizes are the model's; make_inputs() fills in the model's own values.
struct Inputs {
  VecX target, target_velocity, feedforward;  // (drives)
  std::vector<Wrench> wrenches;               // (bodies), or empty
};
[[nodiscard]] Inputs make_inputs(const Model& model);

}  // namespace almond
