#pragma once
// Robots that give way like springs.
//
// In joint space the model's own impedance drives do it: stiffness, damping and effort limit are solved together with
// the contacts, so that any stiffness is stable at any step, and gravity and velocity products are compensated inside.
//   τ = k (q_d - q) + d (v_d - v) + c - f_gravity
//
// In the world, a frame on a body is pulled to where it shall be, by torques on the joints it hangs on:
//   F = K (x_d ⊖ x) + D (V_d - V),   τ = Jᵀ F
// K and D act at the start of a step: with an effective mass m at the frame, they need dt² K < m and dt D < m.

#include "almond/model/builder.hpp"
#include "almond/sim/options.hpp"
#include "almond/task/frame.hpp"
#include "almond/task/trajectory.hpp"

namespace almond {

struct JointGains {
  double stiffness = 0.0;           // [N m/rad or N/m]
  double damping = 0.0;             // [N m s/rad or N s/m]
  double effort_limit = kInfinity;  // [N m or N]
};

/// An impedance drive on the joint, called as it is, that starts out holding q; returns the drive.
int add_impedance_drive(ModelBuilder& builder, int joint, const JointGains& gains, double q);

/// Where the drives shall be at the end of the step, and how fast.
void set_targets(const std::vector<int>& drives, const VecX& q, const VecX& v, Inputs& inputs);

/// The sample of a trajectory at time t, as targets.
void follow(const JointTrajectory& trajectory, double t, const std::vector<int>& drives, Inputs& inputs);

/// τ (num_v) that carries gravity and velocity products: without other forces, nothing accelerates.
struct CompensationWorkspace {
  ForceWorkspace forces;
  VecX f, c;
};
void compute_compensation(const Model& model, const Kinematics& kinematics, CompensationWorkspace& workspace,
                          VecX& tau);

struct CartesianImpedance {
  BodyFrame frame;
  Vec6 stiffness = Vec6::Zero();                         // along and about the axes of the goal [N/m, N m/rad]
  Vec6 damping = Vec6::Zero();                           // [N s/m, N m s/rad]
  double max_force = kInfinity, max_torque = kInfinity;  // of the spring and damper together [N, N m]
  std::vector<int> drives;  // on joints that the frame hangs on; torque drives, or impedance drives
};

/// The wrench on the frame [force; torque], world axes, within its limits.
[[nodiscard]] Vec6 impedance_wrench(const Model& model, const Kinematics& kinematics,
                                    const CartesianImpedance& impedance, const PoseSample& goal);

/// Sets the feedforward of the drives to Jᵀ F, and for torque drives to that and the compensation of gravity and
/// velocity products, which impedance drives give themselves. Call it before each step.
void apply_impedance(const Model& model, const Kinematics& kinematics, const CartesianImpedance& impedance,
                     const PoseSample& goal, CompensationWorkspace& workspace, Inputs& inputs);

}  // namespace almond
