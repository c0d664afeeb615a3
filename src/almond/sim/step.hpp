#pragma once
// One step of a simulation: the arrows in order.

#include "almond/sim/bounce.hpp"
#include "almond/sim/independent.hpp"
#include "almond/solver/solve.hpp"

namespace almond {

/// How a step went.
struct StepReport {
  Status status = Status::kSolved;
  double residual = 0.0;     // the paper's [N s]
  double natural_map = 0.0;  // Delassus-scaled, relative [-]
  int contacts = 0;          // contacts in the problem, also those about to touch
  int active = 0;            // contacts that carry an impulse
  int iterations = 0;
  double penetration = 0.0;   // deepest overlap at the start of the step [m]
  int dropped_contacts = 0;   // contacts that were found and not solved: always 0, capacities grow
  bool looked_twice = false;  // something was thrown farther, or onto other points, than contacts had been looked for
  int paths_bent = 0;         // solves for points whose arcs end deeper than their straight lines
  bool jammed = false;        // friction held what overlaps against every correction, which was made without friction
  int reduced_contacts = 0;   // points of flat patches that others stand for
  int suspicious_depths = 0;
  double collide_ms = 0.0, solve_ms = 0.0, step_ms = 0.0;
};

/// Scratch of all stages, and what the last step was made of: for looking at, never needed to go on.
struct StepWorkspace {
  Kinematics kinematics, after;  // at the start; where the velocities that the solver found lead (poses only)
  Mat6X V;                       // (6 x bodies) those velocities
  std::vector<GeomMotion> motion, found, still;
  std::vector<std::uint8_t> swings;  // (geoms) that may meet others at points not looked at
  CollisionWorkspace collision, collision_ahead;
  Contacts contacts, ahead;  // at the start; where the answer leads
  std::vector<int> memory;
  State first_look;  // impulses of the first of two looks
  Assembly assembly;
  IndependenceWorkspace independence;
  BounceWorkspace bounce;
  Workspace solver;
  GrowVector start_v, start_lambda;  // where the solver began
  Solution solution;                 // at the end of the step
  VecX before;                       // q at the start of the last drift
  VecX motion_v;        // v̂ that moves the bodies: the same, but for landings that bounce and corrections
  double end_ms = 0.0;  // of a budget, that the solve for the end of a step needed lately
};

/// Advances the state by options.dt. Never throws and never leaves a NaN behind: where the numbers end, everything
/// stops where it is and the status is kNumericalError. So it is, with the state left as it was, where state or inputs
/// do not fit the model: of other sizes, not finite, beyond 1e12, or with quaternions that are no rotations. Allocates
/// nothing once the workspace has its size.
StepReport step(const Model& model, const StepOptions& options, const Inputs& inputs, StepWorkspace& workspace,
                State& state);

/// A model with all that is needed to run it.
class Simulation {
 public:
  /// Throws Error when the options are out of range or a tree of the model has no inertia along some joint.
  explicit Simulation(Model model, StepOptions options = {}, std::uint64_t seed = 0);

  StepReport step() { return almond::step(model_, options_, inputs_, workspace_, state_); }

  [[nodiscard]] const Model& model() const { return model_; }
  [[nodiscard]] const StepOptions& options() const { return options_; }
  [[nodiscard]] const StepWorkspace& last() const { return workspace_; }
  [[nodiscard]] State& state() { return state_; }
  [[nodiscard]] const State& state() const { return state_; }
  [[nodiscard]] Inputs& inputs() { return inputs_; }

  /// Poses and velocities of the present state (`last()` has those the last step began with).
  [[nodiscard]] const Kinematics& kinematics();
  [[nodiscard]] Energy energy();

 private:
  Model model_;
  StepOptions options_;
  Inputs inputs_;
  State state_;
  StepWorkspace workspace_;
  Kinematics now_;
};

}  // namespace almond
