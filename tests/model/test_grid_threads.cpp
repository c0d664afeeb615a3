// A grid does not depend on the number of threads that made it: bits.

#include <gtest/gtest.h>

#include "almond/model/grid_sdf.hpp"
#include "tests/model/mesh_samples.hpp"

namespace almond {
namespace {

TEST(GridThreads, GiveTheSameBits) {
  const TriangleSoup soup = samples::knot(0.006, 0.004, 48, 12);
  const SdfGrid one = make_grid(soup, {8e-4, 0.0, 1}), three = make_grid(soup, {8e-4, 0.0, 3});
  EXPECT_EQ(one.table, three.table);
  EXPECT_EQ(one.values, three.values);
  EXPECT_EQ(one.far, three.far);
  EXPECT_EQ(one.slack, three.slack);
}

}  // namespace
}  // namespace almond
