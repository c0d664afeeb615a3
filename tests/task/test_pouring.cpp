// The scene `pouring`: its joints are those of the paper, all balls end in the jar, and the hand holds the bottle by
// friction alone.

#include <gtest/gtest.h>

#include "almond/base/check.hpp"
#include "almond/load/installed_robots.hpp"
#include "scenes/bottle.hpp"
#include "scenes/metrics.hpp"
#include "scenes/pouring.hpp"
#include "tests/task/task_fixture.hpp"

namespace almond {
namespace {

#define ALMOND_NEEDS_G1()                                                                  \
  if (find_installed_robot("g1_description/urdf/g1_29dof_with_hand_rev_1_0.urdf").empty()) \
  GTEST_SKIP() << "the G1 of example-robot-data is not installed: `make peers`, or set ALMOND_ROBOTS"

TEST(Pouring, HasTheJointsAndTheBallsOfThePaper) {
  ALMOND_NEEDS_G1();
  ALMOND_RUNS_A_WHOLE_TASK();  // hulls of all its meshes
  const scenes::Scene scene = scenes::make_pouring_scene({.balls = 45});
  const Model& model = scene.model;
  EXPECT_EQ(model.num_v, 28 + 6 + 6 + 45 * 6);  // two arms with hands, bottle, jar, balls
  ASSERT_EQ(model.drives.size(), 28U);
  for (const Drive& drive : model.drives) EXPECT_EQ(drive.mode, DriveMode::kImpedance) << drive.name;
  EXPECT_NEAR(model.bodies[model.body("ball44")].mass, 5.236e-3, 1e-6);  // 4/3 π (5 mm)³ · 10 g/cm³
}

TEST(Pouring, AllBallsEndInTheJar) {
  ALMOND_NEEDS_G1();
  ALMOND_RUNS_A_WHOLE_TASK();
  scenes::Scene scene = scenes::make_pouring_scene({.balls = 9});
  Simulation sim(scene.model, scene.options);
  for (int k = 0; k < scene.steps; ++k) {
    scene.control(sim);
    const StepReport report = sim.step();
    ASSERT_EQ(report.status, Status::kSolved) << "step " << k;
    scene.observe(sim, report);
  }
  const scenes::Outcome outcome = scene.judge(sim);
  EXPECT_TRUE(outcome.success.value_or(false)) << outcome.reached;
  EXPECT_EQ(outcome.reached, "done: 10 phases");
  const scenes::PouringCount count = scenes::count_balls(sim);
  EXPECT_EQ(count.in_jar, 9);
  EXPECT_EQ(count.in_bottle + count.spilled, 0);
  EXPECT_FALSE(scenes::is_bottle_lifted(sim));
  // A step moves the bottle along a line where the hand goes on a circle: (ω dt)² r / 2 each, 2 mm in all at 2 rad/s,
  // 0.3 m and the 2 s of turning each way.
  EXPECT_LT(scenes::metric_of(outcome, "slip_mm"), 2.0);
  // What falls 0.2 m flies 8 mm per step; contacts are met on the way, and what is left is a small part of a ball.
  EXPECT_LT(scenes::metric_of(outcome, "deepest_um"), 0.1 * 1e6 * scenes::kBallRadius);
}

TEST(Pouring, WrongParametersAreNamed) {
  EXPECT_THROW(static_cast<void>(scenes::make_pouring_scene({.balls = 0})), Error);
  EXPECT_THROW(static_cast<void>(scenes::make_pouring_scene({.balls = 61})), Error);
  EXPECT_THROW(static_cast<void>(scenes::make_pouring_scene({.balls = 9, .grip = 0.0})), Error);
  EXPECT_THROW(static_cast<void>(scenes::make_pouring_scene({.balls = 9, .stiffness = -1.0})), Error);
}

}  // namespace
}  // namespace almond
