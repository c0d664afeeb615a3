// Proves that worlds of one model, stepped by the threads of a pool as Python's Batch does, share nothing they write
// to: each ends in the bits of a world that runs alone (and ThreadSanitizer sees no race).

#include <gtest/gtest.h>

#include "almond/base/parallel.hpp"
#include "sim/sim_fixture.hpp"

namespace almond {
namespace {

class BatchThreads : public ::testing::TestWithParam<const char*> {
 protected:
  static constexpr int kWorlds = 4, kSteps = 8;

  /// The bytes of all worlds' states, each of which begins with another velocity.
  [[nodiscard]] static std::vector<std::string> run(int workers) {
    const scenes::Scene scene = scenes::make_scene(GetParam(), {}, 7);
    std::vector<StepWorkspace> workspaces(kWorlds);
    std::vector<State> states;
    std::vector<Inputs> inputs;
    for (int k = 0; k < kWorlds; ++k) {
      Simulation simulation(scene.model, scene.options);
      simulation.state().v.setConstant(0.01 * k);
      states.push_back(simulation.state());
      inputs.push_back(simulation.inputs());
    }
    WorkerPool pool(workers);
    for (int i = 0; i < kSteps; ++i) {
      pool.for_ranges(kWorlds, [&](int begin, int end, int) {
        for (int k = begin; k < end; ++k)
          static_cast<void>(step(scene.model, scene.options, inputs[k], workspaces[k], states[k]));
      });
    }
    std::vector<std::string> bytes;
    for (const State& state : states) bytes.push_back(serialize(state));
    return bytes;
  }
};

TEST_P(BatchThreads, WorldsOfOneModelDoNotMix) {
  const std::vector<std::string> alone = run(1);
  EXPECT_NE(alone.front(), alone.back());
  for (const int workers : {2, 4}) EXPECT_TRUE(run(workers) == alone) << workers;
}

INSTANTIATE_TEST_SUITE_P(Scenes, BatchThreads, ::testing::Values("tower", "gripper", "dishes", "nut"),
                         [](const auto& each) { return std::string(each.param); });

}  // namespace
}  // namespace almond
