// Inverse kinematics against forward kinematics: every pose that joints within their limits can take is found again.

#include <gtest/gtest.h>

#include "tests/common/helpers.hpp"
#include "tests/task/task_fixture.hpp"

namespace almond {
namespace {

using testing::arm_tip;
using testing::draw_positions;
using testing::error_of;
using testing::expect_words;
using testing::pose_at;

/// Largest distance of any q outside its limits.
double outside(const Model& model, const VecX& q, const std::vector<int>& joints) {
  double most = 0.0;
  for (const int j : joints) {
    const Joint& joint = model.joints[j];
    most = std::max({most, joint.lower - q[joint.q_begin], q[joint.q_begin] - joint.upper});
  }
  return most;
}

void expect_jacobian(const Model& model, const BodyFrame& frame) {
  constexpr double kStep = 1e-6;
  const std::vector<int> joints = joints_to(model, frame.body);
  scenes::Random random(1);
  for (int trial = 0; trial < 20; ++trial) {
    const VecX q = draw_positions(model, joints, random);
    Kinematics kinematics;
    compute_kinematics(model, q, VecX::Zero(model.num_v), kinematics);
    const Mat6X J = frame_jacobian(model, kinematics, frame, joints);
    for (std::size_t k = 0; k < joints.size(); ++k) {
      VecX more = q, less = q;
      more[model.joints[joints[k]].q_begin] += kStep;
      less[model.joints[joints[k]].q_begin] -= kStep;
      const Pose a = pose_at(model, less, frame), b = pose_at(model, more, frame);
      const auto column = J.col(static_cast<Eigen::Index>(k));
      EXPECT_LT(((b.p - a.p) / (2.0 * kStep) - column.head<3>()).norm(), 1e-8);
      EXPECT_LT((log_so3(b.R * a.R.transpose()) / (2.0 * kStep) - column.tail<3>()).norm(), 1e-8);
    }
  }
}

void expect_all_reached(const Model& model, const BodyFrame& frame, Reach reach, int trials) {
  const std::vector<int> joints = joints_to(model, frame.body);
  scenes::Random random(7);
  const IkOptions options;
  for (int trial = 0; trial < trials; ++trial) {
    const Pose goal = pose_at(model, draw_positions(model, joints, random), frame);
    const IkResult result = solve_ik(model, model.q0, joints, {{frame, goal, reach}}, options);
    ASSERT_EQ(result.status, IkStatus::kReached)
        << trial << ": " << result.position_error << " m, " << result.rotation_error << " rad after " << result.starts;
    EXPECT_EQ(outside(model, result.q, joints), 0.0);
    const Pose got = pose_at(model, result.q, frame);
    EXPECT_LE((got.p - goal.p).norm(), options.position_tol);
    const double turn = reach == Reach::kPose   ? log_so3(got.R * goal.R.transpose()).norm()
                        : reach == Reach::kAxis ? (got.R.col(2) - goal.R.col(2)).norm()
                                                : 0.0;
    EXPECT_LE(turn, options.rotation_tol);
  }
}

TEST(Frame, JacobianIsTheDerivativeOfThePose) {
  const Model model = testing::make_seven_joint_arm().build();
  expect_jacobian(model, arm_tip(model));
}

TEST(Frame, JacobianOfThePanda) {
  ALMOND_NEEDS_PANDA();
  const Model model = testing::make_panda().build();
  expect_jacobian(model, {model.body("panda_hand_tcp"), {}});
}

TEST(Frame, VelocityIsJacobianTimesJointVelocities) {
  const Model model = testing::make_seven_joint_arm().build();
  const BodyFrame frame = arm_tip(model);
  scenes::Random random(3);
  const std::vector<int> joints = joints_to(model, frame.body);
  const VecX q = draw_positions(model, joints, random), v = VecX::LinSpaced(7, -1.0, 2.0);
  Kinematics kinematics;
  compute_kinematics(model, q, v, kinematics);
  EXPECT_LT((frame_jacobian(model, kinematics, frame, joints) * v - frame_velocity(model, kinematics, frame)).norm(),
            1e-13);
}

TEST(InverseKinematics, FindsEveryPoseOfAnArm) {
  const Model model = testing::make_seven_joint_arm().build();
  expect_all_reached(model, arm_tip(model), Reach::kPose, 100);
  expect_all_reached(model, arm_tip(model), Reach::kPosition, 100);
  expect_all_reached(model, arm_tip(model), Reach::kAxis, 100);
}

TEST(InverseKinematics, FindsEveryPoseOfThePanda) {
  ALMOND_NEEDS_PANDA();
  const Model model = testing::make_panda().build();
  const BodyFrame hand{model.body("panda_hand_tcp"), {}};
  expect_all_reached(model, hand, Reach::kPose, 100);
  expect_all_reached(model, hand, Reach::kPosition, 100);
}

TEST(InverseKinematics, SeveralFramesAtOnce) {
  const Model model = testing::make_seven_joint_arm().build();
  const BodyFrame tip = arm_tip(model), elbow{model.body("link4"), {}};
  const std::vector<int> joints = joints_to(model, tip.body);
  scenes::Random random(11);
  for (int trial = 0; trial < 20; ++trial) {
    const VecX q = draw_positions(model, joints, random);
    const Pose tip_goal = pose_at(model, q, tip), elbow_goal = pose_at(model, q, elbow);
    const IkResult result = solve_ik(model, model.q0, joints, {{tip, tip_goal}, {elbow, elbow_goal, Reach::kPosition}});
    ASSERT_EQ(result.status, IkStatus::kReached) << trial;
    EXPECT_LT((pose_at(model, result.q, tip).p - tip_goal.p).norm(), 1e-6);
    EXPECT_LT((pose_at(model, result.q, elbow).p - elbow_goal.p).norm(), 1e-6);
  }
}

TEST(InverseKinematics, OutOfReachGetsAsNearAsItCan) {
  const Model model = testing::make_seven_joint_arm().build();
  // Stretched, the end of the last link is 1.2 m from the second joint, which stands 0.2 m above the base.
  const BodyFrame end{model.body("link7"), make_translation(0.0, 0.0, 0.2)};
  const Pose goal = make_translation(Vec3(1.0, 2.0, 2.0));
  const IkResult result = solve_ik(model, model.q0, joints_to(model, end.body), {{end, goal, Reach::kPosition}});
  EXPECT_EQ(result.status, IkStatus::kNotReached);
  EXPECT_NEAR(result.position_error, (goal.p - Vec3(0.0, 0.0, 0.2)).norm() - 1.2, 1e-6);
}

TEST(InverseKinematics, SameAnswerEveryTime) {
  const Model model = testing::make_seven_joint_arm().build();
  const BodyFrame tip = arm_tip(model);
  scenes::Random random(2);
  const std::vector<int> joints = joints_to(model, tip.body);
  const Pose goal = pose_at(model, draw_positions(model, joints, random), tip);
  const IkResult a = solve_ik(model, model.q0, joints, {{tip, goal}}),
                 b = solve_ik(model, model.q0, joints, {{tip, goal}});
  EXPECT_EQ((a.q - b.q).norm(), 0.0);
  EXPECT_EQ(a.iterations, b.iterations);
}

TEST(InverseKinematics, MistakesAreNamedAndNothingElseThrows) {
  const Model model = testing::make_seven_joint_arm().build();
  const BodyFrame tip = arm_tip(model);
  expect_words(error_of([&] {
                 static_cast<void>(solve_ik(model, model.q0, {99}, {{tip, Pose{}}}));
               }),
               "joint 99, expected one from 0 to 6");
  expect_words(error_of([&] {
                 static_cast<void>(solve_ik(model, VecX::Zero(2), {0}, {{tip, Pose{}}}));
               }),
               "q has 2 entries, expected 7");
  expect_words(error_of([&] { static_cast<void>(solve_ik(model, model.q0, {0}, {{{55, {}}, Pose{}}})); }), "body 55");
  const IkResult result = solve_ik(model, model.q0, {0}, {{tip, make_translation(kNaN, 0.0, 0.0)}});
  EXPECT_EQ(result.status, IkStatus::kNotFinite);
  EXPECT_EQ((result.q - model.q0).norm(), 0.0);
}

}  // namespace
}  // namespace almond
