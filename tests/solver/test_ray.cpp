// The ray of impulses: it finds how far to go where the law improves along it, and says "unbounded" only where no
// length helps. Closed forms.

#include <gtest/gtest.h>

#include <cmath>

#include "almond/solver/ray.hpp"
#include "tests/solver/island_fixture.hpp"

namespace almond {
namespace {

using testing::OneIsland;

/// A particle of mass 1 that falls at 1 m/s: λ* = (0, 0, 1).
ContactProblem make_particle() {
  ContactProblem problem;
  problem.add_subsystem(Mat3::Identity(), Vec3(0.0, 0.0, -1.0));
  problem.add_contact(0.5, Vec3::Zero(), testing::make_side(0, Mat3::Identity()));
  return problem;
}

/// A particle between a floor and a ceiling that both demand 0.1 m/s: squeezing it harder changes nothing.
ContactProblem make_squeezed(double bias) {
  ContactProblem problem;
  problem.add_subsystem(Mat3::Identity(), Vec3::Zero());
  const Mat3 down = Vec3(1.0, -1.0, -1.0).asDiagonal();
  problem.add_contact(0.5, Vec3(0.0, 0.0, bias), testing::make_side(0, Mat3::Identity()));
  problem.add_contact(0.5, Vec3(0.0, 0.0, bias), testing::make_side(0, down));
  return problem;
}

RayResult walk(OneIsland& one, const std::vector<double>& delta) {
  std::vector<double> trial;
  one.monitor.observe(one.lambda.data());
  return walk_ray(one.island(), one.lambda.data(), delta.data(), one.monitor, trial);
}

TEST(Ray, GoesWhereTheLawImproves) {
  for (const double step : {0.1, 0.07, 0.003, 1e-6}) {
    OneIsland one(make_particle());
    one.lambda = {0.0, 0.0, 0.2};
    const RayResult ray = walk(one, {0.0, 0.0, step});
    EXPECT_FALSE(ray.unbounded);
    // The map is |1 - λ_n|. Of the lengths 1, 2, 4, ... the best misses the end, 0.8 away, by a third at most.
    EXPECT_LE(std::abs(1.0 - (0.2 + ray.t * step)), 0.8 / 3.0 + 1e-6) << step;
    EXPECT_NEAR(one.monitor.best_natural(), std::abs(1.0 - (0.2 + ray.t * step)), 1e-12);
  }
}

TEST(Ray, WrongWayGainsNothing) {
  OneIsland one(make_particle());
  one.lambda = {0.0, 0.0, 0.2};
  RayResult ray = walk(one, {0.0, 0.0, -0.1});
  EXPECT_LT(ray.t, 0.05);  // the last bisections end at the start
  EXPECT_FALSE(ray.unbounded);
  ray = walk(one, {0.0, 0.0, 0.0});
  EXPECT_EQ(ray.t, 0.0);
  EXPECT_FALSE(ray.unbounded);
}

TEST(Ray, OverflowEndsTheWalk) {
  OneIsland one(make_particle());
  one.lambda = {0.0, 0.0, 1e300};
  const RayResult ray = walk(one, {0.0, 0.0, 1e300});
  EXPECT_EQ(ray.t, 0.0);
  EXPECT_FALSE(ray.unbounded);
}

TEST(Ray, SqueezeIsUnbounded) {
  OneIsland one(make_squeezed(-0.1));
  one.lambda = {0.0, 0.0, 1.0, 0.0, 0.0, 1.0};
  const std::vector<double> delta = {0.0, 0.0, 0.3, 0.0, 0.0, 0.3};
  const RayResult ray = walk(one, delta);
  EXPECT_TRUE(ray.unbounded);
  EXPECT_GE(ray.t * 0.3, 1e3);
  EXPECT_TRUE(std::isfinite(ray.t));
}

TEST(Ray, SqueezeThatEndsIsNotUnbounded) {
  // λ pulls at first: the internal force has to grow by 50 before both contacts are loaded, then the law holds (bias
  // 0).
  OneIsland one(make_squeezed(0.0));
  one.lambda = {0.0, 0.0, -50.0, 0.0, 0.0, -50.0};
  const RayResult ray = walk(one, {0.0, 0.0, 1.0, 0.0, 0.0, 1.0});
  EXPECT_FALSE(ray.unbounded);
  EXPECT_NEAR(one.monitor.best_natural(), 0.0, 1e-12);
}

TEST(Ray, StartAtZeroIsNoEvidence) {
  // From λ = 0 along a step that is right but tiny: the map hardly changes at t = 1, which says nothing about far out.
  OneIsland one(make_particle());
  const RayResult ray = walk(one, {0.0, 0.0, 1e-6});
  EXPECT_FALSE(ray.unbounded);
}

}  // namespace
}  // namespace almond
