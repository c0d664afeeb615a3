#pragma once
// Generalised forces that do not depend on contact, and the velocity products (Coriolis, centrifugal, gyroscopic).
//
//   f = Σ_b J_bᵀ ( F_gravity + F_external ),     c = Σ_b J_bᵀ ( M_b A_b + V_b ×_f M_b V_b ),     M v̇ + c = f
//
// c is no force of the step: what it does to v in free motion is carried over by drift() (drift.hpp), which keeps
// energy and momentum.

#include "almond/dynamics/kinematics.hpp"

namespace almond {

/// A wrench on a body: force through the centre of mass and torque, world axes [N, N m].
struct Wrench {
  Vec3 force = Vec3::Zero();
  Vec3 torque = Vec3::Zero();
};

/// What is left of a body's weight by its gravcomp [N].
[[nodiscard]] Vec3 weight_of(const Model& model, int body);

struct ForceWorkspace {
  Mat6X F;  // (6 x bodies of a tree)
};

/// c (num_v).
void compute_velocity_products(const Model& model, const Kinematics& kinematics, ForceWorkspace& workspace, VecX& c);
/// The part of c that belongs to one tree.
void compute_velocity_products(const Model& model, const TreeInfo& tree, const Kinematics& kinematics,
                               ForceWorkspace& workspace, VecX& c);

/// f (num_v). `wrenches` has one per body, or is empty.
void compute_forces(const Model& model, const Kinematics& kinematics, const std::vector<Wrench>& wrenches,
                    ForceWorkspace& workspace, VecX& f);

struct Energy {
  double kinetic = 0.0, potential = 0.0;  // [J]; potential of gravity, joint springs and springs
  [[nodiscard]] double total() const { return kinetic + potential; }
};
[[nodiscard]] Energy compute_energy(const Model& model, const VecX& q, const VecX& v, const Kinematics& kinematics);

/// Linear momentum and angular momentum about the world's origin, of all moving bodies.
struct Momentum {
  Vec3 linear = Vec3::Zero(), angular = Vec3::Zero();
};
[[nodiscard]] Momentum compute_momentum(const Model& model, const Kinematics& kinematics);

}  // namespace almond
