// Profiles: bounds of arcs, thousands of points, and lines that cross.

#include <gtest/gtest.h>

#include <cmath>
#include <numbers>

#include "almond/model/profile.hpp"
#include "almond/model/sdf_solid.hpp"
#include "common/helpers.hpp"
#include "tests/model/sdf_oracle.hpp"

namespace almond {
namespace {

constexpr double kPi = std::numbers::pi;

TEST(Dish, ShallowArcsHaveTheVolumeOfTheirDisc) {
  const double r = 0.03, d = 0.003,
               disc = kPi * r * r * 2.0 * d + 0.5 * kPi * d * d * 2.0 * kPi * (r + 4.0 * d / (3.0 * kPi));
  for (const double bulge : {0.002, 0.001, -0.001, 1e-4, 1e-5, 1e-8, 1e-12}) {
    const SdfPtr dish = make_dish({{0.0, 0.0, bulge}, {r, 0.0}}, d);
    SCOPED_TRACE(bulge);
    EXPECT_NEAR(integrate(*dish).mass, disc, 2e-3 * disc);
    // The lowest or highest point of the arc lies half a chord times the bulge off.
    const double sag = 0.5 * r * bulge;
    EXPECT_NEAR(dish->bounds().lower.z(), -d - std::max(sag, 0.0), 1e-8);
    EXPECT_NEAR(dish->bounds().upper.z(), d + std::max(-sag, 0.0), 1e-8);
    EXPECT_NEAR(dish->bounds().upper.x(), r + d, 1e-8);
    EXPECT_GT(make_sdf_solid(dish)->surface.triangles.size(), 50U);
  }
}

TEST(Dish, BoundsHoldArcsAndNoMore) {
  // Three quarters of a turn would need two arcs; a half turn reaches its radius to one side.
  const SdfPtr ring = make_dish({{0.05, 0.0, 1.0}, {0.05, 0.02}}, 0.002);
  EXPECT_NEAR(ring->bounds().upper.x(), 0.05 + 0.01 + 0.002, 1e-12);
  EXPECT_NEAR(ring->bounds().lower.z(), -0.002, 1e-12);
  EXPECT_NEAR(ring->bounds().upper.z(), 0.022, 1e-12);
}

TEST(Profile, WhatCrossesItselfOrTheAxisIsRefused) {
  testing::expect_words(
      testing::error_of([] {
        static_cast<void>(make_revolved_solid({{0.01, 0.0}, {0.05, 0.0}, {0.01, 0.03}, {0.05, 0.04}, {0.06, 0.05}}));
      }),
      "polygon crosses itself: its line 1 from (0.05, 0) to (0.01, 0.03) meets line 4");
  testing::expect_words(testing::error_of([] {
                          static_cast<void>(make_dish({{0.01, 0.0}, {0.05, 0.0}, {0.05, 0.03}, {0.02, -0.02}}, 0.001));
                        }),
                        "path crosses itself: its line 0 from (0.01, 0) to (0.05, 0) meets line 2");
  testing::expect_words(testing::error_of([] {
                          static_cast<void>(make_dish({{0.01, 0.0, -1.0}, {0.01, 0.06}}, 0.001));
                        }),
                        "path point 0 is (0.01, 0) with bulge -1: its arc reaches r = -0.02, expected r >= 0");
}

/// A wavy rod of many points.
std::vector<Vec2> make_wave(int count) {
  std::vector<Vec2> polygon{{0.0, 0.0}};
  for (int i = 0; i <= count; ++i) {
    const double t = static_cast<double>(i) / count;
    polygon.emplace_back(0.05 + 0.01 * std::sin(40.0 * t), 0.3 * t);
  }
  polygon.emplace_back(0.0, 0.3);
  return polygon;
}

TEST(Profile, ManyPointsAnswerLikeAFewDo) {
  const SdfPtr rod = make_revolved_solid(make_wave(3000));
  const TriangleSoup soup = make_fine_mesh(*make_revolved_solid(make_wave(300)), 0.01, 1e-5);
  const DistanceOracle oracle(soup);
  for (int k = 0; k < 200; ++k) {
    const Vec3 p(0.08 * std::sin(1.7 * k), 0.08 * std::cos(2.9 * k), 0.15 + 0.2 * std::sin(0.37 * k));
    const double d = rod->value(p);
    EXPECT_NEAR(std::abs(d), oracle.distance(p), 1e-4) << p.transpose();
    EXPECT_EQ(d<0.0, oracle.winding(p)> 0.5) << p.transpose();
  }
}

TEST(Profile, TimeGrowsWithThePointsNotTheirSquare) {
  EXPECT_GT(make_sdf_solid(make_revolved_solid(make_wave(5000)))->surface.triangles.size(), 10000U);
  static_cast<void>(integrate(*make_revolved_solid(make_wave(20000))));
}

}  // namespace
}  // namespace almond
