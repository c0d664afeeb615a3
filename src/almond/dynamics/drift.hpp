#pragma once
// Free motion: q moves on its manifold, v is carried along. The second half of a step, after forces and contacts
// changed v; no force acts.
//
//   q⁺ = q ⊕ h (v + d),     d = -h/2 M⁻¹ c     half a step of the velocity products c: right to second order
//
// Carrying v to the new pose keeps what free motion keeps:
//   single bodies   that nothing touches turn exactly (free_turn): energy and momentum stay. Others go by u, and ω
//                   changes in their own axes as in free motion: energy stays
//   trees           momenta p_b, L_b of the bodies change only by forces in the joints, taken at the half-way pose:
//                       J_½ᵀ (p⁺ - p, L⁺ - L) = 0
//                   linear in v⁺, reversible in time. Then the momentum of a floating tree and T + V + t g·p are set
//                   to what they were, whatever h is. So neither a limp arm nor a chain gains energy by whirling. A
//                   tree that has not the energy for its way goes a part of it.

#include "almond/base/articulated.hpp"
#include "almond/dynamics/forces.hpp"

namespace almond {

struct DriftWorkspace {
  Kinematics half, end;
  VecX q_half, c;         // of the model
  VecX x, tau, diagonal;  // (dofs of a tree)
  Mat6X V, P, F;          // (6 x bodies of a tree) velocities, momenta, wrenches
  std::vector<Mat6> M;    // (bodies of a tree)
  ArticulatedFactor factor;
  ForceWorkspace forces;
  std::vector<char> bounced;   // (trees, or empty) v is not what moves the tree
  std::vector<double> mended;  // (trees) share of its energy that the last drift had to mend; 1 where it cut the way
  std::vector<char> touched;   // (trees, or empty) contacts, closures or springs acted on it: u is theirs
  std::vector<char> bearing;   // (trees, or empty) contacts bear on it: what it keeps, it keeps to their tolerance
};

/// Factors M of one tree with `resistance` on its diagonal, at the pose of `kinematics`; false where it is singular.
bool factor_mass(const Model& model, int tree, const Kinematics& kinematics, const VecX& resistance,
                 DriftWorkspace& workspace);
/// x (dofs of the tree) := M⁻¹ x with the last factor.
void solve_mass(const Model& model, int tree, const Kinematics& kinematics, DriftWorkspace& workspace,
                Eigen::Ref<VecX> x);

/// q ⊕ h u on the manifold.
void move(const Model& model, const VecX& u, double h, VecX& q);

/// d (num_v) for a motion of length h from the pose and velocities of `kinematics`. `resistance` (num_v) is what
/// implicit dampers and drives add to the inertia of their joints: a joint that is held does not start to move.
void compute_half_step(const Model& model, const Kinematics& kinematics, const VecX& resistance, double h,
                       DriftWorkspace& workspace, VecX& d);

/// Moves q by h u, u = v + d, and carries v along. `kinematics` has the poses at q; its velocities do not matter.
/// `since` is the time at its start, from the middle between two impulses of gravity: -dt/2 right after one.
void drift(const Model& model, const Kinematics& kinematics, const VecX& u, const VecX& resistance, double since,
           double h, DriftWorkspace& workspace, VecX& q, VecX& v);

}  // namespace almond
