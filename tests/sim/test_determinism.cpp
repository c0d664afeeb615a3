// Proves that a run gives the same bits twice, and for any number of threads.

#include <gtest/gtest.h>

#include "common/helpers.hpp"
#include "sim/sim_fixture.hpp"

namespace almond {
namespace {

using testing::SceneRun;

struct Case {
  std::string name;
  std::vector<std::pair<std::string, double>> values;
  int steps;
};

class Determinism : public ::testing::TestWithParam<Case> {
 protected:
  /// Everything after the run, and the hash of each step on the way.
  [[nodiscard]] std::string run(int threads) const {
    scenes::Scene scene = scenes::make_scene(GetParam().name, GetParam().values, 7);
    scene.options.solver.threads = threads;
    SceneRun run(std::move(scene));
    std::string text;
    for (int i = 0; i < GetParam().steps; ++i) {
      run.step();
      text += hash_text(state_hash(run.sim.state())) + "\n";
    }
    return text + serialize(run.sim.state());
  }
};

TEST_P(Determinism, TwoRunsGiveTheSameBits) { EXPECT_TRUE(run(1) == run(1)); }

TEST_P(Determinism, ThreadsDoNotChangeTheBits) {
  const std::string one = run(1);
  for (const int threads : {2, 4}) EXPECT_TRUE(run(threads) == one) << threads;
}

INSTANTIATE_TEST_SUITE_P(Scenes, Determinism,
                         ::testing::Values(Case{"spheres", {{"count", 45.0}}, 60}, Case{"tower", {{"cubes", 4.0}}, 30},
                                           Case{"quadrupeds", {{"robots", 2.0}}, 80}, Case{"dishes", {}, 10},
                                           Case{"gripper", {{"shake", 0.05}}, 30}),
                         [](const auto& each) { return testing::test_name(each.param.name); });

TEST(SolverDeterminism, SolversOfTheirOwnGiveTheSameBitsForAnyThreads) {
  for (const SolverKind kind : {SolverKind::kCanal, SolverKind::kSubAdmm, SolverKind::kSpn, SolverKind::kPgs}) {
    std::string one;
    for (const int threads : {1, 3}) {
      scenes::Scene scene = scenes::make_scene("quadrupeds", {{"robots", 2.0}});
      scene.options.solver.threads = threads;
      scene.options.solver.solver = kind;
      SceneRun run(std::move(scene));
      run.steps(60);
      const std::string bytes = serialize(run.sim.state());
      if (threads == 1) one = bytes;
      EXPECT_TRUE(bytes == one) << to_string(kind) << " " << threads;
    }
  }
}

}  // namespace
}  // namespace almond
