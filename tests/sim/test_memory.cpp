// Proves that a step starts from the impulses of the last one: each is found again under its name, and what rests needs
// fewer iterations.

#include <gtest/gtest.h>

#include "almond/sim/memory.hpp"
#include "common/helpers.hpp"
#include "sim/sim_fixture.hpp"

namespace almond {
namespace {

using testing::SceneRun;
using testing::tolerance;

/// λ that the next step of a run would start from.
VecX recalled(SceneRun& run) {
  const StepWorkspace& last = run.sim.last();
  std::vector<int> memory;
  match_contacts(last.contacts, run.sim.state(), memory);
  GrowVector lambda;
  recall(run.sim.state(), memory, last.assembly, lambda);
  return lambda;
}

class Memory : public ::testing::TestWithParam<const char*> {};

TEST_P(Memory, GivesBackWhatItTook) {
  // The contacts and rows of the last step, asked for again: its own λ.
  SceneRun run(scenes::make_scene(GetParam()));
  run.steps(100);
  const VecX taken = run.sim.last().solution.lambda, given = recalled(run);
  ASSERT_EQ(taken.size(), given.size());
  ASSERT_GT(taken.norm(), 1e-6);
  EXPECT_NEAR((taken - given).norm(), 0.0, tolerance(1e-14 * (1.0 + taken.norm())));
  // Names are sorted and no two are equal.
  const State& state = run.sim.state();
  for (std::size_t i = 1; i < state.contacts.size(); ++i) {
    const ContactMemory &a = state.contacts[i - 1], &b = state.contacts[i];
    EXPECT_LT(std::tie(a.geom_a, a.geom_b, a.feature), std::tie(b.geom_a, b.geom_b, b.feature));
  }
  for (std::size_t i = 1; i < state.rows.size(); ++i) EXPECT_LT(state.rows[i - 1].key, state.rows[i].key);
}

INSTANTIATE_TEST_SUITE_P(Scenes, Memory, ::testing::Values("tower", "gripper", "four_bar", "quadrupeds"),
                         [](const auto& each) { return testing::test_name(each.param); });

TEST(WarmStart, KeepsRowsWhereTheyWere) {
  // Two joints with limits, dry friction and limited drives, a spring and a closure: rows of every role.
  ModelBuilder builder;
  for (int i = 0; i < 2; ++i) {
    BodySpec spec = testing::make_slider("slide" + std::to_string(i), Vec3::UnitZ());
    spec.joint.lower = -0.1 * (i + 1);
    spec.joint.dry_friction = 1.0 + i;
    Drive drive;
    drive.joint = builder.add_body(spec);
    drive.mode = DriveMode::kPosition;
    drive.stiffness = 100.0;
    drive.effort_limit = 3.0 + i;
    builder.add_drive(drive);
  }
  Spring spring;
  spring.name = "spring";
  spring.body_a = 0;
  spring.point_b = Vec3(0.0, 0.0, 1.0);
  spring.stiffness = 5.0;
  builder.add_spring(spring);
  Closure tie;
  tie.name = "tie";
  tie.a = 1;
  tie.b = builder.add_solid("ball", Sphere{0.1}, 1.0, make_translation(0.5, 0.0, -0.3));
  tie.X_a = make_translation(0.5, 0.0, -0.3);
  builder.add_closure(tie);
  scenes::Scene scene;
  scene.model = builder.build();
  SceneRun run(std::move(scene));
  run.steps(200);
  const VecX taken = run.sim.last().solution.lambda, given = recalled(run);
  EXPECT_EQ(taken.size(), 2 + 2 + 2 + 1 + 3);  // limits, friction, drives, spring, closure
  EXPECT_GT(taken.cwiseAbs().minCoeff() + taken.norm(), 0.0);
  EXPECT_TRUE(taken == given);
}

TEST(WarmStart, RestNeedsLessWork) {
  // Newton steps of all steps together, on the same tower at rest: each is the work of ten sweeps and more.
  const auto newton_steps = [](bool forget) {
    SceneRun run(scenes::make_scene("tower", {{"cubes", 4.0}}));
    int sum = 0;
    for (int i = 0; i < 60; ++i) {
      if (forget) run.sim.state().contacts.clear();
      static_cast<void>(run.step());
      sum += run.sim.last().solution.info.newton_steps;
    }
    return sum;
  };
  const int warm = newton_steps(false), cold = newton_steps(true);
  EXPECT_LT(warm, cold / 4);
  EXPECT_GT(cold, 60);
}

}  // namespace
}  // namespace almond
