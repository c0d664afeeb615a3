#include "almond/task/impedance.hpp"

namespace almond {

int add_impedance_drive(ModelBuilder& builder, int joint, const JointGains& gains, double q) {
  Drive drive;
  drive.joint = joint;
  drive.mode = DriveMode::kImpedance;
  drive.stiffness = gains.stiffness;
  drive.damping = gains.damping;
  drive.effort_limit = gains.effort_limit;
  drive.target = q;
  return builder.add_drive(drive);
}

void set_targets(const std::vector<int>& drives, const VecX& q, const VecX& v, Inputs& inputs) {
  for (std::size_t k = 0; k < drives.size(); ++k) {
    inputs.target[drives[k]] = q[static_cast<Eigen::Index>(k)];
    inputs.target_velocity[drives[k]] = v[static_cast<Eigen::Index>(k)];
  }
}

void follow(const JointTrajectory& trajectory, double t, const std::vector<int>& drives, Inputs& inputs) {
  const JointSample now = sample(trajectory, t);
  set_targets(drives, now.q, now.v, inputs);
}

void compute_compensation(const Model& model, const Kinematics& kinematics, CompensationWorkspace& workspace,
                          VecX& tau) {
  compute_forces(model, kinematics, {}, workspace.forces, workspace.f);
  compute_velocity_products(model, kinematics, workspace.forces, workspace.c);
  tau = workspace.c - workspace.f;
}

Vec6 impedance_wrench(const Model& model, const Kinematics& kinematics, const CartesianImpedance& impedance,
                      const PoseSample& goal) {
  const Pose X = frame_pose(kinematics, impedance.frame);
  const Vec6 V = frame_velocity(model, kinematics, impedance.frame);
  const Mat3& R = goal.X.R;
  const auto pull = [&](const Vec3& way, const Vec3& speed, int part, double most) {
    const Vec3 k = impedance.stiffness.segment<3>(part), d = impedance.damping.segment<3>(part);
    const Vec3 F = R * (k.cwiseProduct(R.transpose() * way) + d.cwiseProduct(R.transpose() * speed));
    const double norm = F.norm();
    return norm > most ? Vec3(F * (most / norm)) : F;
  };
  Vec6 F;
  F << pull(goal.X.p - X.p, goal.velocity - V.head<3>(), 0, impedance.max_force),
      pull(log_so3(R * X.R.transpose()), goal.angular_velocity - V.tail<3>(), 3, impedance.max_torque);
  return F;
}

void apply_impedance(const Model& model, const Kinematics& kinematics, const CartesianImpedance& impedance,
                     const PoseSample& goal, CompensationWorkspace& workspace, Inputs& inputs) {
  const Vec6 F = impedance_wrench(model, kinematics, impedance, goal);
  std::vector<int> joints;
  for (const int drive : impedance.drives) joints.push_back(model.drives[drive].joint);
  const VecX tau = frame_jacobian(model, kinematics, impedance.frame, joints).transpose() * F;
  VecX compensation;
  compute_compensation(model, kinematics, workspace, compensation);
  for (std::size_t k = 0; k < joints.size(); ++k) {
    const Drive& drive = model.drives[impedance.drives[k]];
    const bool bare = drive.mode == DriveMode::kTorque;
    inputs.feedforward[impedance.drives[k]] =
        tau[static_cast<Eigen::Index>(k)] + (bare ? compensation[model.joints[joints[k]].v_begin] : 0.0);
  }
}

}  // namespace almond
