// Combined shapes: surfaces that coincide, and many children.

#include <gtest/gtest.h>

#include <Eigen/Geometry>
#include <cmath>
#include <numbers>

#include "almond/model/sdf_solid.hpp"
#include "almond/model/thread.hpp"
#include "common/helpers.hpp"
#include "tests/model/sdf_oracle.hpp"

namespace almond {
namespace {

constexpr double kPi = std::numbers::pi;

SdfPtr make_cube(double x) { return make_posed(make_box_sdf(Vec3(0.1, 0.1, 0.1)), make_translation(x, 0.0, 0.0)); }

TEST(Coincident, FacesAreKeptOnce) {
  const SdfPtr cube = make_cube(0.0);
  EXPECT_NEAR(area_of(make_sdf_solid(make_union({cube, make_cube(0.0)}))->surface), 0.24, 1e-9);
  EXPECT_NEAR(area_of(make_sdf_solid(make_union({cube, cube}))->surface), 0.24, 1e-9);
  EXPECT_NEAR(area_of(make_sdf_solid(make_intersection({cube, make_cube(0.0)}))->surface), 0.24, 1e-9);
  // Side by side: the faces between them are no surface; overlapping, four sides are those of both.
  EXPECT_NEAR(area_of(make_sdf_solid(make_union({cube, make_cube(0.2)}))->surface), 0.40, 1e-9);
  EXPECT_NEAR(area_of(make_sdf_solid(make_union({cube, make_cube(0.07)}))->surface), 0.08 + 4 * 0.2 * 0.27, 1e-6);
  EXPECT_NEAR(area_of(make_sdf_solid(make_intersection({cube, make_cube(0.07)}))->surface), 0.08 + 4 * 0.2 * 0.13,
              1e-6);
  EXPECT_NEAR(area_of(make_sdf_solid(make_difference(cube, make_cube(0.07)))->surface), 0.08 + 4 * 0.2 * 0.07, 1e-6);
  EXPECT_NEAR(area_of(make_sdf_solid(make_difference(cube, make_cube(0.2)))->surface), 0.24, 1e-9);
}

TEST(Coincident, FlushHolesAndFeetAreCutOut) {
  const double r = 0.05, disc = kPi * r * r, side = 2.0 * kPi * r * 0.1;
  const SdfPtr plate = make_box_sdf(Vec3(0.1, 0.1, 0.05)), rod = make_cylinder_sdf(r, 0.05);
  const double plain = 2.0 * 0.2 * 0.2 + 4.0 * 0.2 * 0.1;
  const auto drilled = make_sdf_solid(make_difference(plate, rod), {0.01, 1e-4});
  EXPECT_NEAR(area_of(drilled->surface), plain - 2.0 * disc + side, 1e-3);
  const SdfPtr standing = make_posed(rod, make_translation(0.013, 0.007, 0.1));
  const auto foot = make_sdf_solid(make_union({plate, standing}), {0.01, 1e-4});
  EXPECT_NEAR(area_of(foot->surface), plain + side, 1e-3);
  const auto other_way = make_sdf_solid(make_union({standing, plate}), {0.01, 1e-4});
  EXPECT_NEAR(area_of(other_way->surface), plain + side, 1e-3);
}

TEST(Coincident, SpheresOfOneSizeAreOne) {
  const SdfPtr ball = make_sphere_sdf(0.1), same = make_posed(ball, make_rotation(Vec3::UnitZ(), 0.3));
  const double area = area_of(make_sdf_solid(ball)->surface);
  EXPECT_NEAR(area_of(make_sdf_solid(make_union({ball, make_sphere_sdf(0.1)}))->surface), area, 1e-9);
  EXPECT_NEAR(area_of(make_sdf_solid(make_union({ball, same}))->surface), area, 1e-3 * area);
  testing::expect_words(
      testing::error_of([&] { static_cast<void>(make_sdf_solid(make_difference(ball, make_sphere_sdf(0.1)))); }),
      "signed distance shape \"difference\" is empty, expected a solid with a volume");
}

TEST(Coincident, ABoltHasNoHolesAtItsRunOut) {
  const MetricThread m20 = find_thread("M20");
  const SdfPtr bolt = make_bolt(m20, {0.05, 0.03, true});
  const TriangleSoup soup = make_fine_mesh(*bolt, 1e-3, 2e-5);
  const DistanceOracle oracle(soup);
  // All around, from above the end of the thread to below it, just outside of the crest: on the surface below.
  const double r = m20.external().crest_radius;
  double farthest = 0.0;
  for (int k = 0; k < 400; ++k) {
    const double angle = 2.0 * kPi * k / 57.0, z = -0.027 - 0.006 * k / 400.0;
    Vec3 p(r * std::cos(angle), r * std::sin(angle), z);
    for (int round = 0; round < 20; ++round) {
      const SdfSample s = bolt->sample(p);
      p -= s.d * s.g;
    }
    farthest = std::max(farthest, oracle.distance(p));
  }
  EXPECT_LT(farthest, 4e-5);
  // Nothing is covered twice: the area is that of the bolt with another, finer cut.
  EXPECT_NEAR(area_of(soup), area_of(make_fine_mesh(*bolt, 5e-4, 1e-5)), 4e-3 * area_of(soup));
}

TEST(Operations, AskTheirChildrenOnce) {
  SdfPtr nested = make_sphere_sdf(0.1);
  for (int k = 0; k < 200; ++k) nested = make_union({nested});
  EXPECT_NEAR(nested->bounds().upper.x(), 0.1, 1e-15);  // 2^200 questions otherwise
  EXPECT_TRUE(nested->exact());
}

TEST(Operations, AThousandSpheresAreCutInTime) {
  std::vector<SdfPtr> balls;
  for (int k = 0; k < 1000; ++k)
    balls.push_back(
        make_posed(make_sphere_sdf(0.02), make_translation(0.03 * (k % 10), 0.03 * (k / 10 % 10), 0.03 * (k / 100))));
  const auto solid = make_sdf_solid(make_union(balls));
  EXPECT_GT(solid->surface.triangles.size(), 1000U);
  for (int k = 0; k < 300; ++k) {
    const Vec3 p(0.15 + 0.2 * std::sin(1.3 * k), 0.15 + 0.2 * std::cos(2.1 * k), 0.15 + 0.2 * std::sin(0.7 * k));
    double least = kInfinity;
    for (const SdfPtr& ball : balls) least = std::min(least, ball->value(p));
    EXPECT_EQ(solid->field->value(p), least);
  }
}

}  // namespace
}  // namespace almond
