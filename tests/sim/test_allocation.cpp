// Proves that a step allocates nothing once its workspace has its size, by counting every malloc of a second pass.

#include <gtest/gtest.h>

#include "common/allocation.hpp"
#include "common/helpers.hpp"
#include "sim/sim_fixture.hpp"

namespace almond {
namespace {

using testing::SceneRun;

/// One of each: hull, cylinder, cone, ellipsoid, capsule and box fall on a mesh, a height field, a plane and each
/// other.
scenes::Scene make_zoo() {
  ModelBuilder builder("zoo");
  builder.add_ground(Plane{}, make_translation(0.0, 0.0, -0.2));
  const std::vector<testing::Floor> floors = testing::all_floors();
  for (int i = 1; i < 4; ++i)
    builder.add_ground(floors[i].shape, make_translation(1.2 * (i - 2), 0.0, 0.0) * floors[i].X);
  int count = 0;
  for (const testing::Solid& solid : testing::all_solids()) {
    for (int place = 0; place < 3; ++place) {
      const Pose X{exp_so3(Vec3(0.1 * count, 0.2, 0.3)),
                   Vec3(1.2 * (place - 1) + 0.02 * count, 0.01 * count, 0.1 + 0.03 * count)};
      builder.add_solid(solid.name + std::to_string(place), solid.shape, 0.5, X);
      ++count;
    }
  }
  scenes::Scene scene;
  scene.name = "zoo";
  scene.model = builder.build();
  return scene;
}

struct Case {
  std::string name;
  std::vector<std::pair<std::string, double>> values;
  int steps;
};

class Allocation : public ::testing::TestWithParam<Case> {};

TEST_P(Allocation, SecondPassIsFree) {
  if (!testing::can_count_allocations()) GTEST_SKIP() << "a sanitizer has its own malloc";
  for (const int threads : {1, 2}) {
    scenes::Scene scene =
        GetParam().name == "zoo" ? make_zoo() : scenes::make_scene(GetParam().name, GetParam().values);
    scene.options.solver.threads = threads;
    SceneRun run(std::move(scene));
    const State start = run.sim.state();
    int contacts = 0, first = -1;
    for (int i = 0; i < GetParam().steps; ++i) contacts += run.step().contacts;
    if (GetParam().name != "four_bar") {
      EXPECT_GT(contacts, 0);
    }
    run.sim.state() = start;
    const testing::AllocationCounter counter;
    for (int i = 0; i < GetParam().steps; ++i) {
      run.step();
      if (first < 0 && counter.count() > 0) first = i;
    }
    EXPECT_EQ(counter.count(), 0) << "threads " << threads << ", first in step " << first;
  }
}

INSTANTIATE_TEST_SUITE_P(Scenes, Allocation,
                         ::testing::Values(Case{"tower", {{"cubes", 4.0}}, 60}, Case{"dishes", {}, 30},
                                           Case{"spheres", {{"count", 45.0}}, 100},
                                           Case{"quadrupeds", {{"robots", 2.0}}, 120},
                                           Case{"gripper", {{"shake", 0.05}}, 60}, Case{"four_bar", {}, 60},
                                           Case{"ball", {{"restitution", 0.5}}, 200}, Case{"zoo", {}, 60},
                                           Case{"pile", {}, 30}, Case{"nut", {{"torque", -0.02}}, 30},
                                           Case{"pour", {{"balls", 20.0}}, 60}),
                         [](const auto& each) { return testing::test_name(each.param.name); });

}  // namespace
}  // namespace almond
