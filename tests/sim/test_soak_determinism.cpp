// Proves that an episode of the soak ends in the same bits when it is repeated, and with 1, 2 and 4 threads.

#include <gtest/gtest.h>

#include "scenes/soak.hpp"

namespace almond {
namespace {

TEST(SoakDeterminism, SameBitsForAnyNumberOfThreads) {
  for (const char* name : {"tower", "cup", "quadrupeds", "gripper"}) {
    for (const SolverKind solver : {SolverKind::kAuto, SolverKind::kSubAdmm, SolverKind::kSpn}) {
      const scenes::SoakResult result = check_repeats(scenes::find_soak_case(name), solver, 5, 10);
      EXPECT_EQ(result.steps, 10);
      EXPECT_EQ(result.repeated, 30);
      EXPECT_EQ(result.num_faults(), 0) << (result.findings.empty() ? name : result.findings[0].what);
    }
  }
}

}  // namespace
}  // namespace almond
