// Bodies that lie in each other at the start, against closed forms: two balls at distance d overlap by r1 + r2 - d, a
// ball in a plane by r - h; of several shapes the deepest tells. And the options by name are those of the struct.

#include <gtest/gtest.h>

#include "almond/model/builder.hpp"
#include "almond/model/sdf.hpp"
#include "almond/sim/option_fields.hpp"
#include "almond/sim/overlaps.hpp"

namespace almond {
namespace {

constexpr double kRounding = 1e-12;  // [m], of lengths near 1

TEST(Overlaps, BallsAndAPlane) {
  ModelBuilder builder;
  builder.add_ground(Plane{});
  const int a = builder.add_solid("a", Sphere{0.5}, 1.0, make_translation(0.0, 0.0, 0.4));   // 0.1 in the plane
  const int b = builder.add_solid("b", Sphere{0.3}, 1.0, make_translation(0.6, 0.0, 0.4));   // 0.2 in a
  builder.add_solid("c", Sphere{0.3}, 1.0, make_translation(1.195, 0.0, 0.4));               // 0.005 in b
  builder.add_solid("d", Sphere{0.3}, 1.0, make_translation(5.0, 0.0, 0.3));                 // stands
  const int e = builder.add_solid("e", Sphere{0.3}, 1.0, make_translation(-0.7, 0.0, 0.5));  // in a, and excluded
  builder.exclude(a, e);
  const Model model = builder.build();
  const std::vector<Overlap> found = find_overlaps(model, model.q0, 0.01);
  ASSERT_EQ(found.size(), 2U);
  EXPECT_EQ(found[0].body_a, kGround);
  EXPECT_EQ(found[0].body_b, a);
  EXPECT_NEAR(found[0].depth, 0.5 - 0.4, kRounding);
  EXPECT_EQ(found[1].body_a, a);
  EXPECT_EQ(found[1].body_b, b);
  EXPECT_NEAR(found[1].depth, 0.5 + 0.3 - 0.6, kRounding);
  EXPECT_EQ(find_overlaps(model, model.q0, 0.004).size(), 3U);
  EXPECT_EQ(find_overlaps(model, model.q0, 0.15).size(), 1U);
  // Elsewhere than where the model starts.
  VecX q = model.q0;
  q[0] = -10.0;
  const std::vector<Overlap> apart = find_overlaps(model, q, 0.01);
  ASSERT_EQ(apart.size(), 1U);
  EXPECT_EQ(apart[0].body_b, a);
}

TEST(Overlaps, TheDeepestPairOfShapesTells) {
  ModelBuilder builder;
  const int a = builder.add_solid("a", Sphere{0.5}, 1.0, Pose{});
  const int b = builder.add_solid("b", Sphere{0.2}, 1.0, make_translation(0.6, 0.0, 0.0));  // 0.1 in a
  GeomSpec second;
  second.body = b;
  second.shape = Sphere{0.2};
  second.X_BG = make_translation(-0.15, 0.0, 0.0);  // at 0.45: 0.25 in a
  const int geom = builder.add_geom(second);
  const Model model = builder.build();
  const std::vector<Overlap> found = find_overlaps(model, model.q0, 0.0);
  ASSERT_EQ(found.size(), 1U);
  EXPECT_NEAR(found[0].depth, 0.25, kRounding);
  EXPECT_EQ(model.geoms[found[0].geom_a].body, a);
  EXPECT_EQ(found[0].geom_b, geom);
}

TEST(Overlaps, SignedDistanceShapesInsideEachOther) {
  // The small box's corners lie 0.4 from the faces of the large one.
  ModelBuilder builder;
  const int large = builder.add_solid("large", make_sdf_shape(make_box_sdf(Vec3(0.5, 0.5, 0.5))), 1.0, Pose{});
  const int small = builder.add_solid("small", make_sdf_shape(make_box_sdf(Vec3(0.1, 0.1, 0.1))), 1.0, Pose{});
  builder.add_solid("far", make_sdf_shape(make_box_sdf(Vec3(0.1, 0.1, 0.1))), 1.0, make_translation(0.8, 0.0, 0.0));
  const Model model = builder.build();
  const std::vector<Overlap> found = find_overlaps(model, model.q0, 1e-4);
  ASSERT_EQ(found.size(), 1U);
  EXPECT_EQ(found[0].body_a, large);
  EXPECT_EQ(found[0].body_b, small);
  EXPECT_GE(found[0].depth, 0.4 - kRounding);
  EXPECT_LE(found[0].depth, 0.5 + kRounding);  // nothing is deeper than the middle
}

TEST(StepFields, AreThoseOfTheStruct) {
  StepOptions options;
  const std::map<std::string, StepField> fields = step_fields(options);
  const std::map<std::string, double*> numbers = {{"dt", &options.dt},
                                                  {"theta", &options.theta},
                                                  {"erp", &options.erp},
                                                  {"closure_erp", &options.closure_erp},
                                                  {"max_correction", &options.max_correction},
                                                  {"restitution_threshold", &options.restitution_threshold},
                                                  {"margin", &options.collision.margin}};
  const std::map<std::string, int*> counts = {{"max_points_per_pair", &options.collision.max_points_per_pair},
                                              {"max_points_per_sdf_pair", &options.collision.max_points_per_sdf_pair}};
  EXPECT_EQ(fields.size(), numbers.size() + counts.size());
  for (const auto& [name, place] : numbers) EXPECT_EQ(std::get<double*>(fields.at(name)), place) << name;
  for (const auto& [name, place] : counts) EXPECT_EQ(std::get<int*>(fields.at(name)), place) << name;
}

}  // namespace
}  // namespace almond
