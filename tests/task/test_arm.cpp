// Phases that move an arm: joints go where they are told, the hand goes straight, one way goes on from the other, and
// what is out of reach is said with how far.

#include "almond/base/check.hpp"
#include "almond/task/arm.hpp"
#include "tests/task/task_fixture.hpp"

namespace almond {
namespace {

const VecX kBent = (VecX(7) << 0.3, 0.8, -0.4, 1.1, 0.2, -0.9, 0.5).finished();

/// Seven joints under stiff drives, bent, without gravity to bend it more.
struct LedArm {
  Arm arm;
  Simulation sim;

  LedArm() : LedArm(Arm{}, testing::make_seven_joint_arm()) {}

  /// The hand as the drives are told to have it.
  [[nodiscard]] Pose planned() {
    VecX q = sim.state().q;
    for (int k = 0; k < 7; ++k) q[k] = sim.inputs().target[arm.drives[k]];
    return testing::pose_at(sim.model(), q, arm.hand);
  }

 private:
  LedArm(Arm made, ModelBuilder builder) : arm(prepare(made, builder)), sim(builder.build()) {
    arm.hand = testing::arm_tip(sim.model());
  }
  static Arm prepare(Arm& made, ModelBuilder& builder) {
    for (int k = 0; k < 7; ++k) {
      builder.set_start(k, kBent.segment(k, 1));
      made.drives.push_back(add_impedance_drive(builder, k, {1e4, 300.0, 1e4}, kBent[k]));
    }
    return made;
  }
};

TEST(Arm, JointsGoWhereTheyAreTold) {
  LedArm led;
  const VecX end = kBent + VecX::LinSpaced(7, -0.4, 0.6);
  Task task{{move_joints("go", led.arm, end, 1.0), {.name = "rest", .duration = 1.0}}};
  for (advance(task, led.sim); !task.over(); advance(task, led.sim)) led.sim.step();
  EXPECT_EQ(describe(task), "done: 2 phases");
  EXPECT_EQ(led.sim.inputs().target, end);
  EXPECT_LT((led.sim.state().q - end).norm(), 1e-6);
}

TEST(Arm, TheHandGoesStraightAndAtTheScaledTime) {
  LedArm led;
  const Pose from = led.planned(), to = from * make_rotation(Vec3(1.0, -1.0, 0.5).normalized(), 0.8, {0.1, -0.2, -0.1});
  Task task{{move_hand("go", led.arm, to, 1.0)}};
  const PoseTrajectory way = make_pose_trajectory({from, to}, {1.0});
  for (advance(task, led.sim); !task.over(); advance(task, led.sim)) {
    led.sim.step();
    const Pose exact = sample(way, led.sim.state().time).X, is = led.planned();
    EXPECT_LT((is.p - exact.p).norm(), 2e-7);  // tolerance of the inverse kinematics
    EXPECT_LT(log_so3(is.R * exact.R.transpose()).norm(), 2e-7);
  }
  EXPECT_EQ(describe(task), "done: 1 phases");
}

// Under a load the joints are not where the drives are told to be; the next way must not begin with a jerk.
TEST(Arm, OneWayGoesOnFromTheOther) {
  LedArm led;
  for (const int drive : led.arm.drives) led.sim.inputs().feedforward[drive] = 300.0;  // 0.03 rad of give
  Task task{{move_joints("bend", led.arm, kBent, 0.5),
             move_hand("up", led.arm, led.planned() * make_translation(0.0, 0.1, -0.1), 0.5),
             move_joints("back", led.arm, kBent, 0.5)}};
  VecX before = kBent;
  for (advance(task, led.sim); !task.over(); advance(task, led.sim)) {
    led.sim.step();
    const VecX& now = led.sim.inputs().target;
    EXPECT_LT((now - before).cwiseAbs().maxCoeff(), 0.015)
        << led.sim.state().time;  // 4 rad/s, of which 0.03 would be 7
    before = now;
  }
  EXPECT_GT((led.sim.state().q - kBent).cwiseAbs().minCoeff(), 0.02);
}

TEST(Arm, SaysByHowMuchAGoalIsOutOfReach) {
  LedArm led;
  Pose far = led.planned();
  far.p = Vec3(0.0, 0.0, 5.0);
  Task task{{move_hand("far", led.arm, far, 0.5), {.name = "never", .duration = 1.0}}};
  for (advance(task, led.sim); !task.over(); advance(task, led.sim)) led.sim.step();
  EXPECT_NEAR(led.sim.state().time, 0.5, 1e-9);
  EXPECT_EQ(describe(task).rfind("phase 1 of 2, far: off_its_way_mm is ", 0), 0U) << describe(task);
  // Stretched out, the tip is 1.2 + |(0.02, 0, 0.15)| m above the ground at most.
  const double off = std::stod(describe(task).substr(describe(task).find(" is ") + 4));
  EXPECT_GE(off, 1e3 * (5.0 - 1.2 - Vec3(0.02, 0.0, 0.15).norm()));
}

TEST(Arm, RefusesWhatItHasNot) {
  LedArm led;
  const auto error = [](const auto& act) -> std::string {
    try {
      act();
      return "";
    } catch (const Error& e) {
      return e.what();
    }
  };
  EXPECT_EQ(error([&] { static_cast<void>(move_joints("go", led.arm, VecX::Zero(6), 1.0)); }),
            "phase \"go\": q has 6 entries, expected 7, one for each drive");
  EXPECT_NE(error([&] { static_cast<void>(move_hand("go", led.arm, Pose{}, 0.0)); }).find("expected > 0"),
            std::string::npos);
  Arm wrong = led.arm;
  wrong.drives[2] = 7;
  EXPECT_EQ(error([&] { static_cast<void>(joints_of(led.sim.model(), wrong)); }), "arm: drive 7, expected 0 to 6");
}

}  // namespace
}  // namespace almond
