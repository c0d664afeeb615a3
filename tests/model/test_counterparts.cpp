// What ordinary shapes are to a signed distance shape, against closed forms: whether points lie inside, how far they
// are from a capsule, and the triangles of meshes and height fields, which have no inside. And small words of models.

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "almond/model/builder.hpp"
#include "almond/model/sdf.hpp"
#include "almond/model/sdf_solid.hpp"
#include "scenes/random.hpp"

namespace almond {
namespace {

constexpr double kRadius = 0.3, kHalf = 0.5;

/// Points about the origin, and the function of a shape there.
template <class Check>
void look_around(const Shape& shape, const Check& check) {
  const auto solid = make_counterpart(shape);
  ASSERT_NE(solid, nullptr);
  ASSERT_NE(solid->field, nullptr);
  scenes::Random random(7);
  for (int i = 0; i < 2000; ++i) {
    const Vec3 p(random.uniform(-1.0, 1.0), random.uniform(-1.0, 1.0), random.uniform(-1.0, 1.0));
    check(p, solid->field->value(p));
  }
  // The triangles lie on the surface.
  EXPECT_FALSE(solid->surface.triangles.empty());
  for (const Vec3& vertex : solid->surface.vertices) EXPECT_NEAR(solid->field->value(vertex), 0.0, 1e-9);
}

TEST(Counterparts, CapsuleIsTheDistanceToItsSegment) {
  look_around(Capsule{kRadius, kHalf}, [](const Vec3& p, double value) {
    const Vec3 nearest(0.0, 0.0, std::clamp(p.z(), -kHalf, kHalf));
    EXPECT_NEAR(value, (p - nearest).norm() - kRadius, 1e-12);
  });
}

TEST(Counterparts, ConeHoldsWhatIsBelowItsSide) {
  look_around(Cone{kRadius, kHalf}, [](const Vec3& p, double value) {
    const double side = kRadius * (kHalf - p.z()) / (2.0 * kHalf) - p.head<2>().norm();
    EXPECT_EQ(value < 0.0, std::abs(p.z()) < kHalf && side > 0.0) << p.transpose();
  });
}

TEST(Counterparts, EllipsoidHoldsWhatItsEquationDoes) {
  const Vec3 radii(0.3, 0.5, 0.8);
  look_around(Ellipsoid{radii}, [&](const Vec3& p, double value) {
    EXPECT_EQ(value < 0.0, p.cwiseQuotient(radii).squaredNorm() < 1.0) << p.transpose();
  });
}

double area_of(const TriangleSoup& soup) {
  double area = 0.0;
  for (const auto& [a, b, c] : soup.triangles)
    area += (soup.vertices[b] - soup.vertices[a]).cross(soup.vertices[c] - soup.vertices[a]).norm() / 2.0;
  return area;
}

TEST(Counterparts, MeshesAndHeightFieldsAreSurfaces) {
  const TriangleSoup roof{{{0, 0, 0}, {2, 0, 0}, {2, 1, 0}, {0, 1, 1}}, {{0, 1, 2}, {0, 2, 3}}};
  const auto mesh = make_counterpart(make_triangle_mesh(roof));
  ASSERT_NE(mesh, nullptr);
  EXPECT_EQ(mesh->field, nullptr);
  EXPECT_NE(mesh->tree, nullptr);
  EXPECT_EQ(mesh->surface.triangles, roof.triangles);
  EXPECT_EQ(mesh->surface.vertices, roof.vertices);
  // A ramp over 2 m x 1 m that climbs 1 m over the 2: 2 √(1 + 1/4) m².
  HeightGrid ramp{3, 3, 1.0, 0.5, {}};
  for (int i = 0; i < 3; ++i)
    for (int j = 0; j < 3; ++j) ramp.height.push_back(0.5 * j);
  const auto field = make_counterpart(HeightField{std::make_shared<const HeightGrid>(ramp)});
  ASSERT_NE(field, nullptr);
  EXPECT_EQ(field->field, nullptr);
  EXPECT_NE(field->tree, nullptr);
  EXPECT_NEAR(area_of(field->surface), 2.0 * std::sqrt(1.25), 1e-12);
  EXPECT_EQ(make_counterpart(Plane{}), nullptr);
}

TEST(Models, PairsAreFoundInWhateverOrderTheyCame) {
  ModelBuilder builder;
  std::vector<int> geoms;
  for (int i = 0; i < 4; ++i) {
    const int body = builder.add_solid("ball" + std::to_string(i), Sphere{0.1}, 1.0, make_translation(i, 0.0, 0.0));
    geoms.push_back(builder.so_far().num_geoms() - 1);
    ASSERT_EQ(builder.so_far().geoms[geoms.back()].body, body);
  }
  const auto material = [](double mu) {
    Material made;
    made.mu = mu;
    return made;
  };
  builder.add_pair(geoms[2], geoms[3], material(0.23));
  builder.add_pair(geoms[0], geoms[3], material(0.03));
  builder.add_pair(geoms[1], geoms[2], material(0.12));
  const Model model = builder.build();
  ASSERT_EQ(model.pairs.size(), 3U);
  const double expected[] = {0.03, 0.12, 0.23};
  for (int i = 0; i < 3; ++i) {
    EXPECT_EQ(model.pairs[i].material.mu, expected[i]);
    EXPECT_LT(model.pairs[i].a, model.pairs[i].b);
  }
}

TEST(Models, DriveModesHaveTheirNames) {
  EXPECT_STREQ(to_string(DriveMode::kTorque), "torque");
  EXPECT_STREQ(to_string(DriveMode::kPosition), "position");
  EXPECT_STREQ(to_string(DriveMode::kVelocity), "velocity");
  EXPECT_STREQ(to_string(DriveMode::kImpedance), "impedance");
}

}  // namespace
}  // namespace almond
