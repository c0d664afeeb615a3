#pragma once
// What an answer shows about the contacts it was found with: that they were looked for too near, at too few points, or
// on straight lines. Each question changes contacts or biases, and says whether the problem has to be solved again.

#include "almond/sim/step.hpp"

namespace almond {

inline constexpr double kLargest = 1e12;  // of positions and velocities: beyond, their squares lose all meaning

/// Finite, and small enough.
[[nodiscard]] bool is_sane(const Eigen::Ref<const VecX>& v);

/// How far each geom may get in the step: with the velocities V (6 x bodies), and what gravity adds.
void compute_motion(const Model& model, const Kinematics& kinematics, const Mat6X& V, double dt,
                    std::vector<GeomMotion>& motion);

/// Whether the answer moves a geom farther than contacts were looked for, by more than `slack`. Then the bounds are
/// widened to hold both.
[[nodiscard]] bool outruns(const Model& model, const StepOptions& options, const State& state,
                           StepWorkspace& workspace);

/// Points left out of flat contacts that the answer would drive into each other join the others; false if there are
/// none. A foot that lands on its edge needs other points than one that stands.
[[nodiscard]] bool take_in_spares(const Model& model, const StepOptions& options, StepWorkspace& workspace);

/// Where the answer leads: w.V has its velocities, w.after the poses at the end. False where nothing gets far. The
/// questions below are about that.
[[nodiscard]] bool find_end(const Model& model, const StepOptions& options, const State& state,
                            StepWorkspace& workspace);

/// Points on bodies that turn move on arcs, not on the straight lines of J v. Where an arc of the answer would end in
/// the other body, the bias takes in what it falls short by; false if there is no such point.
[[nodiscard]] bool bend_paths(const Model& model, const StepOptions& options, StepWorkspace& workspace);

/// Whether anything that touches turns or passes by so far that other points of it may have met; w.swings says what.
[[nodiscard]] bool may_swing(const Model& model, const StepOptions& options, StepWorkspace& workspace);

/// Overlaps of w.swings that the answer leads to, other than those it began with, become contacts: between the points
/// that would meet, as far apart as they are now. False if there are none.
[[nodiscard]] bool look_ahead(const Model& model, const StepOptions& options, StepWorkspace& workspace);

}  // namespace almond
