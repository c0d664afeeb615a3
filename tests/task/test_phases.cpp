// Phases run in order, as long as they say, and a task that fails says where and why.

#include <gtest/gtest.h>

#include "almond/base/check.hpp"
#include "almond/task/phases.hpp"
#include "tests/sim/sim_fixture.hpp"

namespace almond {
namespace {

Simulation make_falling_ball() {
  ModelBuilder builder("ball");
  builder.add_solid("ball", Sphere{0.1}, 1.0, Pose{});
  return Simulation(builder.build());
}

int run(Task& task, Simulation& sim, int most = 1000) {
  int steps = 0;
  for (advance(task, sim); !task.over() && steps < most; ++steps) {
    sim.step();
    advance(task, sim);
  }
  return steps;
}

TEST(Phases, LastAsLongAsTheySay) {
  Simulation sim = make_falling_ball();
  std::string order;
  const auto letter = [&order](char c) { return [&order, c](Simulation&, double) { order += c; }; };
  Task task;
  task.phases = {{.name = "a", .duration = 10.0 / 240.0, .act = letter('a')},
                 {.name = "b", .duration = 5.0 / 240.0, .act = letter('b')},
                 {.name = "c", .act = letter('c'), .done = [](Simulation&, double t) {
                    return Check{"t_s", t, 2.5 / 240.0};
                  }}};
  EXPECT_EQ(run(task, sim), 18);
  EXPECT_TRUE(task.done());
  EXPECT_EQ(order, std::string(10, 'a') + std::string(5, 'b') + std::string(3, 'c'));
  EXPECT_EQ(describe(task), "done: 3 phases");
}

TEST(Phases, AFailedCheckIsSaidWithItsValue) {
  Simulation sim = make_falling_ball();
  Task task;
  task.phases = {{.name = "fall",
                  .duration = 1.0,
                  .check =
                      [](Simulation& s) {
                        return std::vector<Check>{{"speed_m_per_s", -s.state().v[2], 9.0, 10.0},
                                                  {"height_m", s.state().q[2], 0.0}};
                      }},
                 {.name = "never", .duration = 1.0}};
  EXPECT_EQ(run(task, sim), 240);
  EXPECT_FALSE(task.done());
  EXPECT_EQ(task.current, 0U);
  ASSERT_EQ(task.checks.size(), 2U);
  EXPECT_TRUE(task.checks[0].good());
  EXPECT_EQ(task.checks[0].name, "fall: speed_m_per_s");
  // dt g Σ k dt = g/2 (1 + dt) of semi-implicit Euler
  EXPECT_NEAR(task.checks[1].value, -0.5 * 9.81 * (1.0 + 1.0 / 240.0), 1e-9);
  EXPECT_EQ(describe(task), "phase 1 of 2, fall: height_m is -4.92544, expected at least 0");
}

TEST(Phases, AnEndThatDoesNotComeIsAFailure) {
  Simulation sim = make_falling_ball();
  Task task;
  task.phases = {{.name = "wait",
                  .duration = 0.5,
                  .done =
                      [](Simulation& s, double) {
                        return Check{"fallen_m", -s.state().q[2], 2.0};
                      },
                  .check =
                      [](Simulation&) {
                        return std::vector<Check>{{"lost", 3.0, -kInfinity, 0.0}};
                      }}};
  EXPECT_EQ(run(task, sim), 120);
  // g/2 t (t + dt) of semi-implicit Euler
  EXPECT_EQ(describe(task), "phase 1 of 1, wait: fallen_m is " + to_text(0.25 * 9.81 * (0.5 + 1.0 / 240.0)) +
                                ", expected at least 2 after 0.5 s, lost is 3, expected at most 0");
}

TEST(Phases, ChecksInWords) {
  EXPECT_EQ(to_text(Check{"x_mm", 1.5, 2.0, 3.0}), "x_mm is 1.5, expected 2 to 3");
  EXPECT_EQ(to_text(Check{"x_mm", 1.5, -kInfinity, 1.0}), "x_mm is 1.5, expected at most 1");
  EXPECT_EQ(to_text(Check{"x_mm", kNaN}), "x_mm is nan, expected a number");
  EXPECT_FALSE((Check{"x", kNaN}).good());
}

TEST(Phases, BeginComesOnce) {
  Simulation sim = make_falling_ball();
  int begun = 0;
  Task task;
  task.phases = {{.name = "a", .duration = 0.1, .begin = [&](Simulation&) { ++begun; }}};
  run(task, sim);
  EXPECT_EQ(begun, 1);
}

}  // namespace
}  // namespace almond
