// The scene bolt_nut_assembly, judged by the geometry of the thread: a pitch of travel per turn, and at the end a nut
// whose thread lies in the bolt's.

#include <gtest/gtest.h>

#include <cstdlib>

#include "almond/model/thread.hpp"
#include "scenes/metrics.hpp"
#include "tests/common/helpers.hpp"
#include "tests/sim/sim_fixture.hpp"
#include "tests/task/task_fixture.hpp"

namespace almond {
namespace {

using testing::error_of;
using testing::expect_words;

TEST(Assembly, ThePandaScrewsTheNutOn) {
  ALMOND_NEEDS_PANDA();
  ALMOND_RUNS_A_WHOLE_TASK();
  testing::SceneRun run(scenes::make_scene("bolt_nut_assembly", {{"turns", 2.1}, {"speed", 3.3}}));
  for (int i = 0; i < run.scene.steps; ++i) run.scene.observe(run.sim, run.step());
  const scenes::Outcome outcome = run.scene.judge(run.sim);
  EXPECT_TRUE(outcome.success.value_or(false)) << outcome.reached;
  EXPECT_EQ(outcome.reached, "done: 4 phases");
  const MetricThread thread = find_thread("M48");
  EXPECT_GE(scenes::metric_of(outcome, "travel_mm"), 1e3 * 2.0 * thread.pitch);
  EXPECT_LT(scenes::metric_of(outcome, "deepest_um"), 20.0);  // as for the free nut of scene "nut"

  // Turned upside down, a nut is the same nut. Its thread is off the middle of the bolt's by the play at most: the
  // allowance of the bolt's flanks, and of the pitch diameter as much, along the axis.
  const Pose& X = run.sim.kinematics().X_WB[run.sim.model().body("nut")];
  constexpr double kTip = 0.30;
  const double turn = std::atan2(X.R(1, 0), X.R(0, 0)) - engaged_angle(thread, X.p.z() - kTip);
  const double off = std::remainder(turn, 2.0 * std::numbers::pi) * thread.pitch / (2.0 * std::numbers::pi);
  EXPECT_LT(std::abs(off), thread.allowance());
}

TEST(Assembly, TheThreadIsFoundWhicheverSideTheBoltStandsOff) {
  ALMOND_NEEDS_PANDA();
  ALMOND_RUNS_A_WHOLE_TASK();
  for (const Vec2& miss : {Vec2(-1.0, 0.0), Vec2(1.0, 0.0), Vec2(0.0, -1.0), Vec2(0.0, 1.0)}) {
    testing::SceneRun run(
        scenes::make_scene("bolt_nut_assembly", {{"turns", 1.0}, {"miss", miss.x()}, {"miss_y", miss.y()}}));
    for (int i = 0; i < run.scene.steps; ++i) run.scene.observe(run.sim, run.step());
    const scenes::Outcome outcome = run.scene.judge(run.sim);
    EXPECT_EQ(outcome.reached, "done: 4 phases") << "miss " << miss.transpose() << " mm";
    EXPECT_LT(scenes::metric_of(outcome, "offset_mm"), 0.05);
  }
}

TEST(Assembly, TheHandTakesTheNutByItsFlats) {
  ALMOND_NEEDS_PANDA();
  ALMOND_RUNS_A_WHOLE_TASK();
  testing::SceneRun run(scenes::make_scene("bolt_nut_regrasp", {{"grasps", 1.0}, {"speed", 2.6}}));
  for (int i = 0; i < run.scene.steps; ++i) run.scene.observe(run.sim, run.step());
  const scenes::Outcome outcome = run.scene.judge(run.sim);
  EXPECT_EQ(outcome.reached, "done: 6 phases");
  EXPECT_NEAR(scenes::metric_of(outcome, "turns"), 1.0 / 3.0, 1e-3);
  // The nut starts in the middle of its play and ends on the lower side of it.
  const MetricThread thread = find_thread("M48");
  EXPECT_NEAR(scenes::metric_of(outcome, "travel_mm"), 1e3 * thread.pitch / 3.0, 1e3 * thread.allowance());
}

TEST(Assembly, SaysHowToInstallTheRobot) {
  const char* before = std::getenv("ALMOND_ROBOTS");
  const std::string kept = before != nullptr ? before : "";
  setenv("ALMOND_ROBOTS", "/nowhere", 1);
  expect_words(error_of([] { static_cast<void>(scenes::make_scene("bolt_nut_assembly")); }),
               "pip install example-robot-data");
  before != nullptr ? setenv("ALMOND_ROBOTS", kept.c_str(), 1) : unsetenv("ALMOND_ROBOTS");
}

TEST(Assembly, ParametersOutOfRangeAreNamed) {
  expect_words(error_of([] {
                 static_cast<void>(scenes::make_scene("bolt_nut_assembly", {{"turns", 100.0}}));
               }),
               "turns is 100, expected 0.1 to 8");
  expect_words(error_of([] {
                 static_cast<void>(scenes::make_scene("bolt_nut_assembly", {{"speed", 10.0}}));
               }),
               "speed is 10");
  expect_words(error_of([] {
                 static_cast<void>(scenes::make_scene("bolt_nut_regrasp", {{"grasps", 1.5}}));
               }),
               "grasps is 1.5, expected a whole number");
}

}  // namespace
}  // namespace almond
