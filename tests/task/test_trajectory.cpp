// Trajectories pass their points at rest, and their derivatives are those of finite differences.

#include <gtest/gtest.h>

#include "almond/task/trajectory.hpp"
#include "scenes/random.hpp"
#include "tests/common/helpers.hpp"

namespace almond {
namespace {

using testing::error_of;
using testing::expect_words;

constexpr double kStep = 1e-5;  // of central differences: errors of order kStep² and 1e-16 / kStep

JointTrajectory make_joints() {
  return make_joint_trajectory({Vec3(0.0, 1.0, -2.0), Vec3(0.5, 1.0, 2.0), Vec3(-3.0, 0.0, 1.0)}, {0.7, 1.9}, 0.4);
}

PoseTrajectory make_poses() {
  scenes::Random random(5);
  std::vector<Pose> poses;
  for (int i = 0; i < 4; ++i) {
    const Vec3 r(random.uniform(-2.0, 2.0), random.uniform(-1.0, 1.0), random.uniform(-1.0, 1.0));
    poses.push_back({exp_so3(r), Vec3(random.uniform(-1.0, 1.0), random.uniform(-1.0, 1.0), 0.3)});
  }
  return make_pose_trajectory(poses, {0.5, 1.0, 0.25});
}

TEST(Trajectory, TimeScaleRestsAtBothEnds) {
  for (const double u : {0.0, -1.0}) {
    const TimeScale scale = time_scale(u);
    EXPECT_EQ(scale.s, 0.0);
    EXPECT_EQ(scale.ds, 0.0);
    EXPECT_EQ(scale.dds, 0.0);
  }
  for (const double u : {1.0, 7.0}) {
    const TimeScale scale = time_scale(u);
    EXPECT_EQ(scale.s, 1.0);
    EXPECT_EQ(scale.ds, 0.0);
    EXPECT_EQ(scale.dds, 0.0);
  }
  for (double u = 0.01; u < 1.0; u += 0.01) {
    EXPECT_NEAR((time_scale(u + kStep).s - time_scale(u - kStep).s) / (2.0 * kStep), time_scale(u).ds, 1e-8);
    EXPECT_NEAR((time_scale(u + kStep).ds - time_scale(u - kStep).ds) / (2.0 * kStep), time_scale(u).dds, 1e-8);
    EXPECT_LE(time_scale(u).ds, 15.0 / 8.0);
  }
}

TEST(Trajectory, JointsPassTheirPointsAtRest) {
  const JointTrajectory way = make_joints();
  EXPECT_DOUBLE_EQ(way.end(), 0.4 + 0.7 + 1.9);
  for (std::size_t i = 0; i < way.points.size(); ++i) {
    const JointSample now = sample(way, way.times[i]);
    EXPECT_EQ((now.q - way.points[i]).norm(), 0.0);
    EXPECT_EQ(now.v.norm(), 0.0);
    EXPECT_EQ(now.a.norm(), 0.0);
  }
  for (const double t : {-5.0, 0.0, 100.0}) {
    EXPECT_EQ((sample(way, t).q - way.points[t < 1.0 ? 0 : 2]).norm(), 0.0);
    EXPECT_EQ(sample(way, t).v.norm(), 0.0);
  }
}

TEST(Trajectory, JointVelocitiesAreDerivatives) {
  const JointTrajectory way = make_joints();
  for (double t = 0.3; t < 3.2; t += 0.0371) {
    const JointSample now = sample(way, t), before = sample(way, t - kStep), after = sample(way, t + kStep);
    EXPECT_LT(((after.q - before.q) / (2.0 * kStep) - now.v).norm(), 1e-7) << t;
    EXPECT_LT(((after.v - before.v) / (2.0 * kStep) - now.a).norm(), 1e-6) << t;
  }
}

TEST(Trajectory, LeastDurationReachesTheVelocityLimit) {
  const VecX from = Vec3(0.0, 1.0, -2.0), to = Vec3(0.5, -1.0, -2.0), most = Vec3(2.0, 1.5, 0.1);
  const double duration = least_duration(from, to, most);
  const JointTrajectory way = make_joint_trajectory({from, to}, {duration});
  EXPECT_NEAR(std::abs(sample(way, 0.5 * duration).v[1]), most[1], 1e-12);  // the fastest joint, in the middle
  for (double t = 0.0; t < duration; t += 0.01)
    EXPECT_TRUE((sample(way, t).v.cwiseAbs().array() <= most.array() + 1e-12).all());
}

TEST(Trajectory, PosesPassTheirPointsAtRest) {
  const PoseTrajectory way = make_poses();
  for (std::size_t i = 0; i < way.points.size(); ++i) {
    const PoseSample now = sample(way, way.times[i]);
    EXPECT_LT((now.X.p - way.points[i].p).norm() + (now.X.R - way.points[i].R).norm(), 1e-15);
    EXPECT_EQ(now.velocity.norm() + now.angular_velocity.norm(), 0.0);
  }
  const double end = way.end() - 1e-12;  // arrives from the left, too
  EXPECT_LT((sample(way, end).X.R - way.points.back().R).norm(), 1e-10);
}

TEST(Trajectory, PoseVelocitiesAreDerivatives) {
  const PoseTrajectory way = make_poses();
  for (double t = 0.01; t < 1.8; t += 0.0173) {
    const PoseSample now = sample(way, t), before = sample(way, t - kStep), after = sample(way, t + kStep);
    EXPECT_LT(((after.X.p - before.X.p) / (2.0 * kStep) - now.velocity).norm(), 1e-6) << t;
    EXPECT_LT((log_so3(after.X.R * before.X.R.transpose()) / (2.0 * kStep) - now.angular_velocity).norm(), 1e-6) << t;
    EXPECT_LT((now.X.R.transpose() * now.X.R - Mat3::Identity()).norm(), 1e-14);
  }
}

TEST(Trajectory, MistakesAreNamed) {
  const VecX two = VecX::Zero(2), three = VecX::Zero(3);
  expect_words(error_of([&] { static_cast<void>(make_joint_trajectory({}, {})); }), "at least one point");
  expect_words(error_of([&] { static_cast<void>(make_joint_trajectory({two, two}, {})); }), "2 points and 0 durations");
  expect_words(error_of([&] {
                 static_cast<void>(make_joint_trajectory({two, three}, {1.0}));
               }),
               "point 1 has 3 entries, expected 2");
  expect_words(error_of([&] { static_cast<void>(make_joint_trajectory({two, two}, {-1.0})); }), "duration 0 is -1");
  expect_words(error_of([&] {
                 static_cast<void>(make_joint_trajectory({two, VecX::Constant(2, kNaN)}, {1.0}));
               }),
               "finite");
  expect_words(error_of([&] {
                 static_cast<void>(make_pose_trajectory({Pose{}, Pose{2.0 * Mat3::Identity(), Vec3::Zero()}}, {1.0}));
               }),
               "pose 1 is none");
}

}  // namespace
}  // namespace almond
