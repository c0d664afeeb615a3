#pragma once
// Contact problems made from formulas and seeds, shared by tests, benchmarks and the demo. The same call gives the same
// problem on every machine: the random numbers are ours, not the standard library's distributions.
//
// Bodies are free 6-dof blocks in world axes, [linear velocity of the centre; angular velocity], unless said otherwise.
// SI units. Where the answer is known in closed form, `expected_v` holds it.

#include <cstdint>
#include <string>
#include <vector>

#include "almond/solver/problem.hpp"

namespace almond::scenes {

struct NamedProblem {
  std::string name;
  ContactProblem problem;
  VecX expected_v;       // empty: no closed form
  bool feasible = true;  // false: no impulse satisfies the law
};

// ---- closed forms (analytic.cpp)

/// A box on an inclined plane, axes along the slope (x down), four contacts. Sticks below the friction angle, slides
/// above: v_x = max(0, speed + g dt (sin a - mu cos a)).
[[nodiscard]] NamedProblem make_slope_block(double angle_deg, double mu, double speed);
/// A box dropped flat on the ground with `speed` downwards: it stops dead.
[[nodiscard]] NamedProblem make_dropped_box(double speed);
/// A box that turns about the vertical on its four corners: spin' = spin - mu m g dt r / I.
[[nodiscard]] NamedProblem make_spinning_box(double mu, double spin);
/// A sphere thrown along the ground without spin: slides (v' = v - mu g dt), or rolls at 5/7 v if friction suffices.
[[nodiscard]] NamedProblem make_thrown_sphere(double mu, double speed);
/// A rod that slides on its tip and would be driven into the ground by friction (Painlevé): it stops by impact.
[[nodiscard]] NamedProblem make_painleve_rod(double mu);
/// `boxes` resting boxes, four contacts per face, a heavy one on light ones: at rest whatever the mass ratio.
[[nodiscard]] NamedProblem make_tower(int boxes, double mass_ratio);
/// The dropped box with `copies` of every contact and a fifth one in the middle: the velocity does not change.
[[nodiscard]] NamedProblem make_redundant_box(int copies);
/// Bodies that touch without load: q = 0, so v = 0.
[[nodiscard]] NamedProblem make_weightless(int bodies);
/// Bodies without any constraint: v = A⁻¹b.
[[nodiscard]] NamedProblem make_no_contacts(int bodies, std::uint64_t seed);
/// Coordinates with inertia m under an impulse: hard stop, spring-damper, equality drive and dry friction, one each.
[[nodiscard]] NamedProblem make_scalar_rows();

// ---- problems without a solution (analytic.cpp)

/// A particle pressed into a groove whose walls are steeper than the friction cone lets go: nothing can push it out.
[[nodiscard]] NamedProblem make_wedge_jam();
/// A ball that penetrates the floor and the ceiling, both of which demand that it leaves.
[[nodiscard]] NamedProblem make_opposed_penetrations();
/// A tower one box of which is squeezed by two walls that close in on it, at 0.1 m/s each.
[[nodiscard]] NamedProblem make_squeezed_tower(int boxes, int squeezed);

// ---- random rigid bodies (rigid_problems.cpp); all feasible

/// Bodies with random contacts among them and to the ground, built backwards from a (v, λ) that obeys the law.
[[nodiscard]] NamedProblem make_random(int bodies, int contacts, double mu, std::uint64_t seed);
/// Frictionless: the contact problem is a strictly convex QP.
[[nodiscard]] NamedProblem make_frictionless(int bodies, int contacts, std::uint64_t seed);
/// A nut that turns on its bolt: one body, contacts on both flanks of a helical thread, about half of them loaded.
[[nodiscard]] NamedProblem make_nut(int contacts, std::uint64_t seed);
/// Steel balls of 5 mm radius settled in a box, random dense packing, one step of gravity at 240 Hz.
[[nodiscard]] NamedProblem make_spheres(int spheres, std::uint64_t seed);
/// A heap of blocks of random mass on one another: face contacts of four points, random loads.
[[nodiscard]] NamedProblem make_block_pile(int blocks, std::uint64_t seed);

// ---- articulated (tree_problems.cpp); feasible, with trees

/// 18-dof quadrupeds (trunk 13.7 kg, four legs of three hinges) crowded together: feet on the ground, legs against the
/// neighbours and against each other, joint limits (hard) and joint springs (soft).
[[nodiscard]] NamedProblem make_quadrupeds(int robots, std::uint64_t seed);
/// A chain of hinged links whose last link is tied back to the ground (equality rows), with dry friction in each joint
/// (bounded rows) and a ground contact under every other link.
[[nodiscard]] NamedProblem make_closed_chain(int links, std::uint64_t seed);
/// A random branching tree with a floating root: contacts with the ground and between its own links.
[[nodiscard]] NamedProblem make_branching_tree(int bodies, int contacts, std::uint64_t seed);

/// The same problem with its trees forgotten: A, b and J as before, no body Jacobians.
[[nodiscard]] ContactProblem without_trees(const ContactProblem& problem);

/// About a dozen small problems, one of each family, for a first look.
[[nodiscard]] std::vector<NamedProblem> demo_problems();

}  // namespace almond::scenes
