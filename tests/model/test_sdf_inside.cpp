// Distances inside, where kinds are exact there, the makers of tableware, and mass properties of the other kinds.

#include <gtest/gtest.h>

#include <cmath>
#include <numbers>

#include "almond/base/check.hpp"
#include "almond/model/profile.hpp"
#include "almond/model/sdf_solid.hpp"
#include "scenes/random.hpp"
#include "tests/model/sdf_oracle.hpp"

namespace almond {
namespace {

constexpr double kPi = std::numbers::pi;

TEST(SdfInside, IsMinusTheDistanceToTheSurface) {
  const std::pair<SdfPtr, double> cases[] = {
      {make_sphere_sdf(0.05), 2e-3},
      {make_box_sdf(Vec3(0.05, 0.03, 0.02)), 1e-2},
      {make_capsule_sdf(0.03, 0.04), 1.5e-3},
      {make_cylinder_sdf(0.03, 0.04), 1.5e-3},
      {make_cone_sdf(0.03, 0.04), 1.5e-3},
      {make_ellipsoid_sdf(Vec3(0.05, 0.03, 0.02)), 2e-3},
      {make_hexagon_sdf(0.06, 0.02), 1e-2},
      {make_revolved_solid({{0.0, -0.02}, {0.05, -0.02}, {0.05, 0.03}, {0.02, 0.01}, {0.0, 0.015}}), 2e-3},
      {make_round_bowl(0.04, 0.03, 0.012), 1e-3},
      {make_offset(make_box_sdf(Vec3(0.05, 0.03, 0.02)), -0.005), 1.5e-3},
  };
  for (const auto& [sdf, edge] : cases) {
    SCOPED_TRACE(sdf->name());
    const double chord = 0.02 * edge;
    const TriangleSoup soup = make_fine_mesh(*sdf, edge, chord);
    const DistanceOracle oracle(soup);
    const Aabb box = sdf->bounds();
    scenes::Random random(5);
    int inside = 0;
    for (int k = 0; k < 4000 && inside < 60; ++k) {
      const Vec3 t(random.uniform(0.0, 1.0), random.uniform(0.0, 1.0), random.uniform(0.0, 1.0));
      const Vec3 p = box.lower + t.cwiseProduct(box.upper - box.lower);
      const double d = sdf->value(p);
      if (d >= 0.0) continue;
      ++inside;
      EXPECT_NEAR(-d, oracle.distance(p), 2.0 * chord + 2e-6) << p.transpose();
    }
    EXPECT_GE(inside, 60);
  }
}

TEST(SdfInside, AShrunkBoxIsASmallerOne) {
  const SdfPtr shrunk = make_offset(make_box_sdf(Vec3(0.05, 0.03, 0.02)), -0.005);
  EXPECT_FALSE(shrunk->exact());
  EXPECT_NEAR(shrunk->bounds().upper.z(), 0.015, 1e-15);
  EXPECT_NEAR(shrunk->value(Vec3::Zero()), -0.015, 1e-15);
  const double volume = integrate(*shrunk).mass;
  EXPECT_NEAR(volume, 8.0 * 0.045 * 0.025 * 0.015, 1e-3 * volume);
}

TEST(Tableware, StandsOnItsFootAndOpensAtItsRim) {
  struct Vessel {
    SdfPtr sdf;
    double foot, rim, height, wall;
  };
  const Vessel vessels[] = {{make_cup(0.03, 0.04, 0.09, 0.003), 0.03, 0.04, 0.09, 0.003},
                            {make_plate(0.06, 0.1, 0.02, 0.004), 0.06, 0.1, 0.02, 0.004},
                            {make_bowl(0.025, 0.07, 0.05, 0.004), 0.025, 0.07, 0.05, 0.004},
                            {make_pot(0.08, 0.07, 0.005), 0.08, 0.08, 0.07, 0.005}};
  for (const Vessel& v : vessels) {
    const double d = 0.5 * v.wall;
    EXPECT_NEAR(v.sdf->bounds().lower.z(), 0.0, 1e-15);
    EXPECT_NEAR(v.sdf->bounds().upper.z(), v.height, 1e-15);
    EXPECT_NEAR(v.sdf->bounds().upper.x(), v.rim, 1e-12);
    EXPECT_NEAR(v.sdf->value(Vec3(0.0, 0.0, 0.0)), 0.0, 1e-15);     // under the foot
    EXPECT_NEAR(v.sdf->value(Vec3(0.0, 0.0, v.wall)), 0.0, 1e-15);  // on its floor
    EXPECT_NEAR(v.sdf->value(Vec3(0.0, 0.0, d)), -d, 1e-15);
    EXPECT_NEAR(v.sdf->value(Vec3(v.rim - d, 0.0, v.height)), 0.0, 1e-15);
    EXPECT_GT(v.sdf->value(Vec3(0.0, 0.0, v.height)), 0.0);  // open
  }
}

TEST(Tableware, SaysWhichNumberIsWrong) {
  const auto complaint = [](auto make) -> std::string {
    try {
      static_cast<void>(make());
    } catch (const Error& error) {
      return error.what();
    }
    return "";
  };
  EXPECT_EQ(complaint([] { return make_bowl(0.02, 0.07, -0.05, 0.004); }), "height is -0.05, expected finite and > 0");
  EXPECT_EQ(complaint([] { return make_bowl(0.02, 0.07, 0.05, 0.06); }),
            "wall is 0.06, expected between 0 and the height");
  EXPECT_EQ(complaint([] { return make_pot(-0.05, 0.07, 0.004); }), "radius is -0.05, expected finite and > 0");
  EXPECT_EQ(complaint([] { return make_cup(0.03, 0.04, 0.0, 0.003); }), "height is 0, expected finite and > 0");
  EXPECT_EQ(complaint([] { return make_bottle(0.035, -1.0, 0.1, 0.18, 0.003); }),
            "neck radius is -1, expected finite and > 0");
}

TEST(SdfMass, OfHexagonsFollowsTheirTriangles) {
  const double s = 0.06, half = 0.02, area = std::sqrt(3.0) / 2.0 * s * s, side = s / std::sqrt(3.0);
  const MassProperties m = integrate(*make_hexagon_sdf(s, half));
  const double mass = area * 2.0 * half, polar = 5.0 / 12.0 * side * side;
  EXPECT_NEAR(m.mass, mass, 1e-3 * mass);
  EXPECT_NEAR(m.inertia(2, 2), mass * polar, 2e-3 * mass * polar);
  EXPECT_NEAR(m.inertia(0, 0), mass * (0.5 * polar + half * half / 3.0), 2e-3 * m.inertia(0, 0));
}

TEST(SdfMass, OfARoundedBoxFollowsSteiner) {
  const double a = 0.08, b = 0.06, c = 0.04, r = 0.005;  // full edges
  const double volume =
      a * b * c + 2.0 * r * (a * b + b * c + c * a) + kPi * r * r * (a + b + c) + 4.0 / 3.0 * kPi * r * r * r;
  const MassProperties m = integrate(*make_offset(make_box_sdf(0.5 * Vec3(a, b, c)), r));
  EXPECT_NEAR(m.mass, volume, 1e-3 * volume);
  EXPECT_LT(m.com.norm(), 1e-6);
}

TEST(SdfMass, OfUnionAndDifferenceAddAndSubtract) {
  const Vec3 half(0.05, 0.04, 0.03);
  const SdfPtr box = make_box_sdf(half), ball = make_posed(make_sphere_sdf(0.02), make_translation(0.2, 0.0, 0.0));
  const double v_box = 8.0 * half.prod(), v_ball = 4.0 / 3.0 * kPi * 8e-6;
  const MassProperties both = integrate(*make_union({box, ball}));
  EXPECT_NEAR(both.mass, v_box + v_ball, 2e-3 * both.mass);
  EXPECT_NEAR(both.com.x(), 0.2 * v_ball / (v_box + v_ball), 1e-4);
  EXPECT_NEAR(both.inertia(1, 1),
              v_box * (half.x() * half.x() + half.z() * half.z()) / 3.0 + 0.4 * v_ball * 4e-4 +
                  v_box * v_ball / (v_box + v_ball) * 0.04,
              5e-3 * both.inertia(1, 1));
  const MassProperties hollow = integrate(*make_difference(box, make_sphere_sdf(0.02)));
  EXPECT_NEAR(hollow.mass, v_box - v_ball, 1e-3 * hollow.mass);
  EXPECT_NEAR(hollow.inertia(2, 2), v_box * (half.x() * half.x() + half.y() * half.y()) / 3.0 - 0.4 * v_ball * 4e-4,
              2e-3 * hollow.inertia(2, 2));
}

TEST(SdfMass, OfARevolvedRectangleIsThatOfATube) {
  const double in = 0.03, out = 0.05, h = 0.06, v = kPi * (out * out - in * in) * h;
  const MassProperties tube = integrate(*make_revolved_solid({{in, 0.0}, {out, 0.0}, {out, h}, {in, h}}));
  EXPECT_NEAR(tube.mass, v, 1e-3 * v);
  EXPECT_NEAR(tube.com.z(), 0.5 * h, 1e-5);
  EXPECT_NEAR(tube.inertia(2, 2), 0.5 * v * (in * in + out * out), 2e-3 * tube.inertia(2, 2));
}

}  // namespace
}  // namespace almond
