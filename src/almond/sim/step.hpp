#pragma once
// One step of a simulation: the arrows in order.

#include <optional>

#include "almond/sim/bounce.hpp"
#include "almond/sim/independent.hpp"
#include "almond/solver/solve.hpp"

namespace almond {

/// How a step went.
struct StepReport {
  Status status = Status::kSolved;
  double residual = 0.0;     // the paper's [N s]
  double natural_map = 0.0;  // Delassus-scaled, relative [-]
  double impulse_ratio =
      0.0;           // largest impulse by what the masses it acts on could need: above 1000 nothing is solved [-]
  int contacts = 0;  // contacts in the problem, also those about to touch
  int active = 0;    // contacts that carry an impulse
  int iterations = 0;
  double work = 0.0;          // visits to constraints by the solver, all looks and parts together
  double penetration = 0.0;   // deepest overlap at the start of the step [m]
  double opening = 0.0;       // largest error of a closure there [m, rad]
  int held_contacts = 0;      // contacts that no joint can open: left out of the problem, their overlap stays
  int dropped_contacts = 0;   // contacts that were found and not solved: always 0, capacities grow
  bool looked_twice = false;  // something was thrown farther, or onto other points, than contacts had been looked for
  int paths_bent = 0;         // solves for points whose arcs end deeper than their straight lines
  bool jammed =
      false;  // friction, or others, held what overlaps against its correction: made without friction, where they agree
  int passed = 0;            // pairs of geoms that went through each other, or ended in each other: not solved
  int parts = 0;             // the step was taken in so many: more than one where bodies would have passed otherwise
  int reduced_contacts = 0;  // points of flat patches that others stand for
  int suspicious_depths = 0;
  int energy_limited = 0;  // trees that whirl too fast for this step: their energy was held, their path is not theirs
  double energy_dt = 0.0;  // the time step that would do for them, about; 0 where there are none [s]
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
  struct Constraints {
    std::vector<Contact> contacts;
    std::vector<Row> limits, soft, equality;
    std::vector<double> b;
  };
  Constraints wedged;       // of the other problem, where overlaps are corrected beside the law,
  Solution correction;      // and its answer
  GrowVector squeeze;       // λ that presses together what is wedged
  Solution solution;        // at the end of the step
  VecX before;              // q at a place on the way
  VecX q_before, v_before;  // of the step,
  VecX q_start, v_start;    // of its last part
  double dt = 0.0;          // and its length [s]
  VecX motion_v;            // v̂ that moves the bodies: the same, but for landings that bounce and corrections
  double end_ms = 0.0;      // of a budget, that the solve for the end of a step needed lately
};

/// Advances the state by options.dt. Where the answer leads bodies through each other, in two halves, and these
/// likewise down to a sixteenth; what passes all the same is told in `passed`, and never solved. Never throws and never
/// leaves a NaN behind: where the numbers end, or velocities come from nowhere, positions and velocities stay as they
/// were and the status is kNumericalError. So it is, with all of the state and its time as they were, where state or
/// inputs do not fit the model: of other sizes, not finite, beyond 1e12, or with quaternions that are no rotations.
/// Allocates nothing once the workspace has its size.
StepReport step(const Model& model, const StepOptions& options, const Inputs& inputs, StepWorkspace& workspace,
                State& state);

/// A model with all that is needed to run it.
class Simulation {
 public:
  /// Without options: make_options(model). Throws Error when the options are out of range or a tree of the model has no
  /// inertia along some joint.
  explicit Simulation(Model model, std::optional<StepOptions> options = {}, std::uint64_t seed = 0);

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
