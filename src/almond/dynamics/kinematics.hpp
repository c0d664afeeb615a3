#pragma once
// q, v -> where everything is and how it moves.
//
// Spatial quantities of a tree are in world axes at the tree's *reference point*, the centre of mass of its first body:
// near the bodies, so that m|c|² does not swamp a small inertia, and at the centre of a free body, where its mass
// matrix is block diagonal. The point stands still during a step.
//
//   V_b = V_parent + S_b v_b,          A_b = A_parent + S_b v̇_b + Ṡ_b v_b
//   Ṡ_b v_b = V_parent ×ₘ (S_b v_b)    joints that ride on their parent
//           = [ċ × ω; 0]               free root, whose v holds the velocity ċ of its own centre of mass

#include <vector>

#include "almond/base/tree.hpp"
#include "almond/model/model.hpp"

namespace almond {

struct Kinematics {
  std::vector<Pose> X_WB;       // (bodies)
  std::vector<Pose> X_WG;       // (geoms)
  std::vector<Vec3> com;        // (bodies) centre of mass, world [m]
  std::vector<Mat3> I;          // (bodies) inertia about the centre of mass, world axes [kg m²]
  std::vector<Vec3> reference;  // (trees) world [m]
  Mat6X S;                      // (6 x num_v) motion subspaces
  Mat6X V;                      // (6 x bodies) velocities
  Mat6X A;                      // (6 x bodies) accelerations at v̇ = 0, without gravity
};

void compute_kinematics(const Model& model, const VecX& q, const VecX& v, Kinematics& kinematics);

/// Where bodies and geoms are, and what the joints allow; how they move is left as it is.
void compute_poses(const Model& model, const VecX& q, Kinematics& kinematics);

/// V (6 x bodies) at the poses of `kinematics`, moving with v instead.
void compute_velocities(const Model& model, const Kinematics& kinematics, const VecX& v, Mat6X& V);

/// Poses of the bodies of one tree, what their joints allow and, if asked for, their inertias; all else in `kinematics`
/// is left as it is, but for the static body the tree hangs on, which is taken from `other`.
void place_tree(const Model& model, const TreeInfo& tree, const VecX& q, const Kinematics& other, bool inertia,
                Kinematics& kinematics);

/// Makes room for the model.
void resize(const Model& model, Kinematics& kinematics);

/// The tree with its motion subspaces, for the passes of base/tree.hpp.
[[nodiscard]] TreeView view(const TreeInfo& tree, const Kinematics& kinematics);

/// Spatial cross products: V ×ₘ S of motions, V ×_f F of a motion and a wrench.
[[nodiscard]] Vec6 cross_motion(const Vec6& V, const Vec6& S);
[[nodiscard]] Vec6 cross_force(const Vec6& V, const Vec6& F);

/// Velocity of the body's point at `p` (world), and angular velocity. Zero for the ground and static bodies.
[[nodiscard]] Vec3 point_velocity(const Model& model, const Kinematics& kinematics, int body, const Vec3& p);
[[nodiscard]] Vec3 point_velocity(const Model& model, const Kinematics& kinematics, const Mat6X& V, int body,
                                  const Vec3& p);  // moving with V instead
[[nodiscard]] Vec3 angular_velocity(const Model& model, const Kinematics& kinematics, int body);

/// M_b at the tree's reference point.
[[nodiscard]] Mat6 body_inertia(const Model& model, const Kinematics& kinematics, int body);

}  // namespace almond
