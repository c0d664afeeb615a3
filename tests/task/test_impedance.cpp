// Impedance control against closed forms: nothing moves where gravity is compensated, and a known force displaces by
// force / stiffness.

#include <gtest/gtest.h>

#include "almond/task/impedance.hpp"
#include "tests/task/task_fixture.hpp"

namespace almond {
namespace {

using testing::draw_positions;
using testing::pose_at;

/// The arm bent, with the same drive on all joints.
struct DrivenArm {
  std::vector<int> joints, drives;
  Simulation sim;

  DrivenArm(ModelBuilder builder, const std::string& last, DriveMode mode, const JointGains& gains,
            const std::vector<double>& bend)
      : DrivenArm(prepare(builder, last, mode, gains, bend), builder) {}

  void run(double seconds) {
    for (int i = 0; i < std::lround(seconds / sim.options().dt); ++i) EXPECT_EQ(sim.step().status, Status::kSolved);
  }

 private:
  struct Lists {
    std::vector<int> joints, drives;
  };
  DrivenArm(Lists lists, const ModelBuilder& builder)
      : joints(std::move(lists.joints)), drives(std::move(lists.drives)), sim(builder.build()) {}

  static Lists prepare(ModelBuilder& builder, const std::string& last, DriveMode mode, const JointGains& gains,
                       const std::vector<double>& bend) {
    Lists lists;
    const Model model = builder.build();
    lists.joints = joints_to(model, model.body(last));
    for (std::size_t k = 0; k < lists.joints.size(); ++k) {
      const double q = bend[k % bend.size()];
      builder.set_start(lists.joints[k], VecX::Constant(1, q));
      if (mode == DriveMode::kImpedance) {
        lists.drives.push_back(add_impedance_drive(builder, lists.joints[k], gains, q));
      } else {
        Drive drive;
        drive.joint = lists.joints[k];
        drive.mode = mode;
        lists.drives.push_back(builder.add_drive(drive));
      }
    }
    return lists;
  }
};

const std::vector<double> kBent = {0.3, 0.8, -0.4, 1.1, 0.2, -0.9, 0.5};
const std::vector<double> kPandaBent = {0.1, -0.5, 0.2, -2.0, 0.1, 1.7, 0.7};

TEST(Impedance, GravityIsCompensatedByDrivesWithoutStiffness) {
  DrivenArm arm(testing::make_seven_joint_arm(), "link7", DriveMode::kImpedance, {}, kBent);
  const VecX start = arm.sim.state().q;
  arm.run(2.0);
  EXPECT_LT((arm.sim.state().q - start).norm(), 1e-9);
}

TEST(Impedance, GravityIsCompensatedByTorques) {
  DrivenArm arm(testing::make_seven_joint_arm(), "link7", DriveMode::kTorque, {}, kBent);
  const Model& model = arm.sim.model();
  const VecX start = arm.sim.state().q;
  CompensationWorkspace workspace;
  VecX tau;
  for (int i = 0; i < 240; ++i) {
    compute_compensation(model, arm.sim.kinematics(), workspace, tau);
    for (std::size_t k = 0; k < arm.drives.size(); ++k)
      arm.sim.inputs().feedforward[arm.drives[k]] = tau[model.joints[arm.joints[k]].v_begin];
    arm.sim.step();
  }
  EXPECT_LT((arm.sim.state().q - start).norm(), 1e-9);
}

TEST(Impedance, ThePandaStandsStill) {
  ALMOND_NEEDS_PANDA();
  DrivenArm arm(testing::make_panda(), "panda_link7", DriveMode::kImpedance, {0.0, 0.1, 87.0}, kPandaBent);
  const VecX start = positions_of(arm.sim.model(), arm.sim.state().q, arm.joints);
  arm.run(1.0);
  EXPECT_LT((positions_of(arm.sim.model(), arm.sim.state().q, arm.joints) - start).norm(), 1e-6);
}

TEST(Impedance, JointsGiveWayByTorqueOverStiffness) {
  DrivenArm arm(testing::make_seven_joint_arm(), "link7", DriveMode::kImpedance, {200.0, 40.0, 1e3}, kBent);
  const VecX start = arm.sim.state().q, torque = VecX::LinSpaced(7, -3.0, 4.0);
  for (std::size_t k = 0; k < 7; ++k) arm.sim.inputs().feedforward[arm.drives[k]] = torque[static_cast<int>(k)];
  arm.run(6.0);  // the slowest joint settles within 0.3 s
  EXPECT_LT((arm.sim.state().q - start - torque / 200.0).norm(), 1e-7);
}

TEST(Impedance, FollowsATrajectory) {
  DrivenArm arm(testing::make_seven_joint_arm(), "link7", DriveMode::kImpedance, {1e4, 300.0, 1e3}, kBent);
  const VecX start = arm.sim.state().q, end = start + VecX::LinSpaced(7, -0.5, 0.8);
  const JointTrajectory way = make_joint_trajectory({start, end}, {1.5});
  for (int i = 0; i < 720; ++i) {
    follow(way, arm.sim.state().time + arm.sim.options().dt, arm.drives, arm.sim.inputs());
    arm.sim.step();
    // What is left is the torque of the acceleration over the stiffness: some 3 rad/s² times 3 kg m² over 1e4.
    EXPECT_LT((arm.sim.state().q - sample(way, arm.sim.state().time).q).cwiseAbs().maxCoeff(), 2e-3);
  }
  EXPECT_LT((arm.sim.state().q - end).norm(), 1e-6);
}

/// A frame at the centre of mass of a body: an outer force acts there.
BodyFrame centre_of(const Model& model, const std::string& name) {
  const int body = model.body(name);
  return {body, make_translation(model.bodies[body].com)};
}

void expect_displacement(DrivenArm& arm, const std::string& last) {
  const Model& model = arm.sim.model();
  CartesianImpedance impedance;
  impedance.frame = centre_of(model, last);
  impedance.stiffness << 400.0, 600.0, 800.0, 40.0, 50.0, 60.0;
  impedance.damping << 40.0, 50.0, 60.0, 2.0, 2.0, 2.0;
  impedance.drives = arm.drives;
  const Pose start = frame_pose(arm.sim.kinematics(), impedance.frame);
  PoseSample goal;
  goal.X = {Mat3::Identity(), start.p};  // axes of the world: K is diagonal in them
  impedance.stiffness.tail<3>().setConstant(50.0);
  const Vec3 force(3.0, -5.0, 4.0);
  goal.X.R = start.R;  // and the axes in which it is told are those of the goal
  arm.sim.inputs().wrenches.assign(model.bodies.size(), Wrench{});
  arm.sim.inputs().wrenches[impedance.frame.body].force = force;
  CompensationWorkspace workspace;
  for (int i = 0; i < 12 * 240; ++i) {
    apply_impedance(model, arm.sim.kinematics(), impedance, goal, workspace, arm.sim.inputs());
    arm.sim.step();
  }
  const Pose end = frame_pose(arm.sim.kinematics(), impedance.frame);
  const Vec3 expected = start.R * (start.R.transpose() * force).cwiseQuotient(Vec3(400.0, 600.0, 800.0));
  EXPECT_LT((end.p - start.p - expected).norm(), 1e-6) << (end.p - start.p).transpose();
  EXPECT_LT(log_so3(end.R * start.R.transpose()).norm(), 1e-6);
}

TEST(Impedance, AFrameGivesWayByForceOverStiffness) {
  // A little damping in the joints brings the redundant one to rest as well; it has no part in the displacement.
  DrivenArm arm(testing::make_seven_joint_arm(), "link7", DriveMode::kImpedance, {0.0, 2.0, 1e3}, kBent);
  expect_displacement(arm, "link7");
}

TEST(Impedance, AFrameOfThePandaGivesWayByForceOverStiffness) {
  ALMOND_NEEDS_PANDA();
  DrivenArm arm(testing::make_panda(), "panda_link7", DriveMode::kImpedance, {0.0, 2.0, 87.0}, kPandaBent);
  expect_displacement(arm, "panda_link7");
}

TEST(Impedance, TheWrenchStaysWithinItsLimits) {
  const Model model = testing::make_seven_joint_arm().build();
  CartesianImpedance impedance;
  impedance.frame = testing::arm_tip(model);
  impedance.stiffness.setConstant(1e4);
  impedance.max_force = 7.0;
  impedance.max_torque = 2.0;
  Kinematics kinematics;
  compute_kinematics(model, model.q0, VecX::Zero(model.num_v), kinematics);
  PoseSample goal;
  goal.X = make_rotation(Vec3::UnitX(), 1.0, Vec3(1.0, 1.0, 0.0));
  const Vec6 F = impedance_wrench(model, kinematics, impedance, goal);
  EXPECT_NEAR(F.head<3>().norm(), 7.0, 1e-12);
  EXPECT_NEAR(F.tail<3>().norm(), 2.0, 1e-12);
}

}  // namespace
}  // namespace almond
