// What is refused before it takes forever or loses its digits, and what a kind of one's own needs.

#include <gtest/gtest.h>

#include <Eigen/Geometry>
#include <cmath>
#include <numbers>

#include "almond/model/profile.hpp"
#include "almond/model/sdf_solid.hpp"
#include "almond/model/thread.hpp"
#include "common/helpers.hpp"
#include "tests/model/sdf_oracle.hpp"

namespace almond {
namespace {

constexpr double kPi = std::numbers::pi;

TEST(Surface, TooManyTrianglesAreRefusedBeforeTheyAreMade) {
  const SdfPtr shapes[] = {make_sphere_sdf(0.1),
                           make_box_sdf(Vec3(0.1, 0.1, 0.1)),
                           make_hexagon_sdf(0.1, 0.02),
                           make_bowl(0.03, 0.07, 0.055, 0.004),
                           make_revolved_solid({{0.03, -0.02}, {0.05, -0.01}, {0.04, 0.03}}),
                           make_offset(make_sphere_sdf(0.1), 0.01),
                           make_bolt(find_thread("M20"))};
  for (const SdfPtr& shape : shapes) {
    SCOPED_TRACE(shape->name());
    const std::string what = testing::error_of([&] { static_cast<void>(make_sdf_solid(shape, {1e-9, 0.0})); });
    EXPECT_NE(what.find("max_edge"), std::string::npos) << what;
    EXPECT_NE(what.find("expected at most"), std::string::npos) << what;
  }
  testing::expect_words(testing::error_of([] {
                          static_cast<void>(make_sdf_solid(make_sphere_sdf(0.1), {0.0, 1e-15}));
                        }),
                        "chord_error 1e-15 m");
  testing::expect_words(
      testing::error_of([] { static_cast<void>(make_sdf_solid(make_bolt(find_thread("M20x0.001")))); }),
      "turns of a pitch of 1e-06 m");
  testing::expect_words(testing::error_of([] {
                          static_cast<void>(make_sdf_solid(make_bolt(find_thread("M20"), {100.0, 100.0, true})));
                        }),
                        "expected at most 2e+06: a larger pitch, a shorter thread");
}

TEST(Surface, NeedlesNeedNoMoreThanOthers) {
  const auto needle = make_sdf_solid(make_ellipsoid_sdf(Vec3(1.0, 1e-3, 1e-4)));
  EXPECT_LT(needle->surface.triangles.size(), 400000U);
  EXPECT_LT(needle->chord_error, 2e-3);
}

TEST(Pose, MustBeARotation) {
  Pose X;
  X.R = 2.0 * Mat3::Identity();
  testing::expect_words(testing::error_of([&] { static_cast<void>(make_posed(make_sphere_sdf(0.1), X)); }),
                        "expected a rotation");
  X.R = Vec3(1.0, 1.0, -1.0).asDiagonal();
  testing::expect_words(testing::error_of([&] { static_cast<void>(make_posed(make_sphere_sdf(0.1), X)); }),
                        "determinant of -1");
}

TEST(SdfSolidPlace, FarFromItsOriginIsRefusedForThat) {
  const auto make = [](double x) {
    return testing::error_of([&] {
      const SdfShape shape = make_sdf_shape(make_posed(make_sphere_sdf(0.1), make_translation(x, 0.0, 0.0)));
      EXPECT_NEAR(solid_properties(shape, 1.0).inertia(0, 0) / (0.4 * 4.0 / 3.0 * kPi * 1e-5), 1.0, 1e-2);
    });
  };
  EXPECT_EQ(make(1e4), "");
  testing::expect_words(make(1e9), "lies 1e+09 m from its origin, expected less than a million radii");
}

/// A torus, and nothing else: what a class of one's own needs.
struct TorusSdf final : PointwiseSdf<TorusSdf> {
  double ring = 0.05, tube = 0.02;
  void at(double x, double y, double z, double& d, double& gx, double& gy, double& gz) const {
    const double r = std::max(std::sqrt(x * x + y * y), 1e-12), out = r - ring, length = std::hypot(out, z);
    d = length - tube;
    gx = out * x / (r * std::max(length, 1e-300));
    gy = out * y / (r * std::max(length, 1e-300));
    gz = z / std::max(length, 1e-300);
  }
  [[nodiscard]] Aabb bounds() const override {
    return {Vec3(-ring - tube, -ring - tube, -tube), Vec3(ring + tube, ring + tube, tube)};
  }
};

TEST(OwnKind, NeedsAFunctionAndItsBounds) {
  const auto solid = make_sdf_solid(std::make_shared<TorusSdf>(), {0.004, 0.0});
  EXPECT_NEAR(area_of(solid->surface), 4.0 * kPi * kPi * 0.05 * 0.02, 1e-2 * 4.0 * kPi * kPi * 0.05 * 0.02);
  EXPECT_NEAR(integrate(TorusSdf()).mass, 2.0 * kPi * kPi * 0.05 * 0.02 * 0.02, 1e-7);
}

}  // namespace
}  // namespace almond
