// Mass properties by integration against closed forms, and the triangles of solids.

#include <gtest/gtest.h>

#include <cmath>
#include <numbers>

#include "almond/base/check.hpp"
#include "almond/model/builder.hpp"
#include "almond/model/profile.hpp"
#include "almond/model/sdf_solid.hpp"
#include "almond/model/thread.hpp"

namespace almond {
namespace {

constexpr double kPi = std::numbers::pi;

void expect_same(const MassProperties& measured, const MassProperties& exact, double tolerance) {
  EXPECT_NEAR(measured.mass, exact.mass, tolerance * exact.mass);
  const double size = std::cbrt(exact.mass);
  EXPECT_LT((measured.com - exact.com).norm(), tolerance * size);
  EXPECT_LT((measured.inertia - exact.inertia).cwiseAbs().maxCoeff(), tolerance * exact.inertia.cwiseAbs().maxCoeff());
}

TEST(SdfMass, PrimitivesHaveTheirClosedForms) {
  const std::pair<SdfPtr, Shape> cases[] = {
      {make_sphere_sdf(0.05), Sphere{0.05}},
      {make_box_sdf(Vec3(0.05, 0.03, 0.02)), Box{Vec3(0.05, 0.03, 0.02)}},
      {make_capsule_sdf(0.03, 0.04), Capsule{0.03, 0.04}},
      {make_cylinder_sdf(0.03, 0.04), Cylinder{0.03, 0.04}},
      {make_cone_sdf(0.03, 0.04), Cone{0.03, 0.04}},
      {make_ellipsoid_sdf(Vec3(0.05, 0.03, 0.02)), Ellipsoid{Vec3(0.05, 0.03, 0.02)}},
  };
  for (const auto& [sdf, shape] : cases) {
    SCOPED_TRACE(sdf->name());
    expect_same(solid_properties(make_sdf_shape(sdf), 1000.0), solid_properties(shape, 1000.0), 1e-3);
  }
}

TEST(SdfMass, DishesFollowPappus) {
  // A tube: path at radius R, length L, two half circles at its ends.
  const double R = 0.05, L = 0.06, d = 0.002;
  const MassProperties tube = integrate(*make_dish({{R, 0.0}, {R, L}}, d));
  EXPECT_NEAR(tube.mass, 2.0 * kPi * R * (2.0 * d * L + kPi * d * d), 2e-3 * tube.mass);
  EXPECT_LT((tube.com - Vec3(0.0, 0.0, 0.5 * L)).norm(), 1e-5);
  // A spherical shell cut open: 2πR² (1 - cos a) per thickness, with the rim's half torus.
  const double inner = 0.08, wall = 0.004, height = 0.05, a = std::acos(1.0 - height / inner), r = inner + 0.5 * wall;
  const double shell = 2.0 * kPi / 3.0 * (std::pow(inner + wall, 3) - std::pow(inner, 3)) * (1.0 - std::cos(a));
  const double rim_r = r * std::sin(a) + 4.0 / (3.0 * kPi) * 0.5 * wall * std::cos(a);
  const double rim = 0.5 * kPi * 0.25 * wall * wall * 2.0 * kPi * rim_r;
  EXPECT_NEAR(integrate(*make_round_bowl(inner, height, wall)).mass, shell + rim, 2e-3 * (shell + rim));
}

TEST(SdfMass, ANutHasTheVolumeOfItsProfile) {
  const MetricThread size = find_thread("M48");
  const ThreadProfile hole = size.internal();
  // A screw thread has the volume of its profile, turned: ∫ π r² over one pitch.
  const double flank = 0.5 * (hole.pitch - hole.crest_width - hole.root_width), c = hole.crest_radius,
               r = hole.root_radius;
  const double per_pitch =
      kPi * (c * c * hole.crest_width + r * r * hole.root_width + 2.0 * flank * (c * c + c * r + r * r) / 3.0);
  const double hexagon = std::sqrt(3.0) / 2.0 * size.across_flats * size.across_flats * size.nut_height;
  const double plain = hexagon - per_pitch * size.nut_height / hole.pitch;
  const MassProperties nut = integrate(*make_nut(size));
  EXPECT_LT(nut.mass, plain);  // countersunk
  EXPECT_GT(nut.mass, 0.97 * plain);
  EXPECT_LT(nut.com.head<2>().norm(), 1e-4);
}

TEST(SdfSolid, TrianglesLieOnTheSurface) {
  for (const SdfPtr& sdf : {make_bowl(0.03, 0.07, 0.055, 0.004), make_nut(find_thread("M20"))}) {
    const auto solid = make_sdf_solid(sdf);
    for (const Vec3& v : solid->surface.vertices) EXPECT_LT(std::abs(sdf->value(v)), 1e-6);
    EXPECT_GT(solid->chord_error, 0.0);
    EXPECT_LT(solid->chord_error, 0.01 * bounding_radius(SdfShape{solid}));
    EXPECT_EQ(solid->normals.size(), solid->surface.vertices.size());
  }
}

TEST(SdfSolid, WhatHasNoSurfaceIsRefused) {
  const auto complaint = [](const std::function<void()>& make) -> std::string {
    try {
      make();
    } catch (const Error& error) {
      return error.what();
    }
    return "";
  };
  EXPECT_NE(complaint([] { static_cast<void>(make_sdf_shape(nullptr)); }), "");
  EXPECT_NE(complaint([] { static_cast<void>(make_sdf_shape(make_offset(make_sphere_sdf(0.01), -0.02))); }), "");
  EXPECT_NE(complaint([] { static_cast<void>(make_sdf_shape(make_sphere_sdf(0.1), -1.0)); }), "");
  EXPECT_NE(
      complaint([] { static_cast<void>(make_sdf_shape(make_difference(make_sphere_sdf(0.1), make_sphere_sdf(0.2)))); }),
      "");
  EXPECT_NE(complaint([] { static_cast<void>(make_dish({{0.0, 0.0}}, 0.01)); }).find("at least 2"), std::string::npos);
  EXPECT_NE(complaint([] {
              static_cast<void>(make_dish({{0.0, 0.0}, {-0.1, 0.0}}, 0.01));
            }).find("path point 1"),
            std::string::npos);
  EXPECT_NE(complaint([] {
              static_cast<void>(make_dish({{0.0, 0.0}, {0.1, 0.0}}, 0.0));
            }).find("padding is 0"),
            std::string::npos);
  EXPECT_NE(complaint([] {
              static_cast<void>(make_revolved_solid({{0, 0}, {0, 1}, {1, 0}}));
            }).find("counterclockwise"),
            std::string::npos);
  EXPECT_NE(complaint([] { static_cast<void>(make_union({})); }), "");
  EXPECT_NE(complaint([] { static_cast<void>(make_sphere_sdf(kNaN)); }), "");
}

TEST(SdfSolid, OthersGetFunctionsWhereTheyMayMeetOne) {
  ModelBuilder builder("mixed");
  builder.add_ground(Plane{});
  builder.add_solid("box", Box{Vec3(0.1, 0.1, 0.1)}, 1.0, make_translation(0, 0, 0.1));
  EXPECT_EQ(builder.build().geoms[1].solid, nullptr);
  builder.add_solid("bowl", make_sdf_shape(make_bowl(0.03, 0.07, 0.055, 0.004)), 0.1, make_translation(0, 0, 0.3));
  const Model model = builder.build();
  EXPECT_EQ(model.geoms[0].solid, nullptr);
  ASSERT_NE(model.geoms[1].solid, nullptr);
  EXPECT_NE(model.geoms[2].solid, nullptr);
  // The body's frame is as given; a bowl's mass lies above its foot.
  EXPECT_GT(model.bodies[1].com.z(), 0.005);
}

}  // namespace
}  // namespace almond
