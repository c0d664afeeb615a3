#pragma once
// Free motion: q moves on its manifold, v is carried along. The second half of a step, after forces and contacts
// changed v; no force acts.
//
//   q⁺ = q ⊕ h (v + d),     d = -h/2 M⁻¹ c     half a step of the velocity products c: right to second order
//
// Carrying v to the new pose keeps what free motion keeps:
//   single bodies   L = I(q) ω stays, so ω⁺ = I(q⁺)⁻¹ L
//   trees           momenta p_b, L_b of the bodies change only by forces in the joints, taken at the half-way pose:
//                       J_½ᵀ (p⁺ - p, L⁺ - L) = 0
//                   linear in v⁺, reversible in time. Then the momentum of a floating tree and the kinetic energy are
//                   set to what they were: to rounding, whatever h is. So a limp arm cannot gain energy by whirling.

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
  std::vector<char> bounced;  // (trees, or empty) v is not what moves the tree: a single body then keeps its energy
  std::vector<char> bearing;  // (trees, or empty) contacts bear on it: what it keeps, it keeps to their tolerance
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
void drift(const Model& model, const Kinematics& kinematics, const VecX& u, const VecX& resistance, double h,
           DriftWorkspace& workspace, VecX& q, VecX& v);

}  // namespace almond
