// The answer has the same bits for any number of threads.

#include <gtest/gtest.h>

#include "almond/solver/solve.hpp"
#include "tests/common/helpers.hpp"

namespace almond {
namespace {

class Threads : public ::testing::TestWithParam<SolverKind> {};

TEST_P(Threads, CountDoesNotChangeTheBits) {
  const scenes::NamedProblem problems[] = {scenes::make_quadrupeds(4, 1), scenes::make_spheres(25, 1),
                                           scenes::make_random(8, 12, 0.3, 1), scenes::make_nut(30, 1)};
  for (const scenes::NamedProblem& named : problems) {
    Settings settings;
    settings.solver = GetParam();
    settings.max_iterations = 60;  // never by the clock
    const Solution one = testing::solve_with(named.problem, settings);
    for (const int threads : {2, 3, 4}) {
      settings.threads = threads;
      const Solution many = testing::solve_with(named.problem, settings);
      EXPECT_EQ(many.v, one.v) << named.name << " with " << threads << " threads";
      EXPECT_EQ(many.lambda, one.lambda) << named.name << " with " << threads << " threads";
      EXPECT_EQ(many.info.iterations, one.info.iterations) << named.name << " with " << threads << " threads";
      EXPECT_EQ(many.status, one.status) << named.name << " with " << threads << " threads";
    }
    settings.threads = 1;
  }
}

INSTANTIATE_TEST_SUITE_P(Solvers, Threads, ::testing::ValuesIn(testing::all_solvers()),
                         [](const auto& instance) { return testing::test_name(to_string(instance.param)); });

}  // namespace
}  // namespace almond
