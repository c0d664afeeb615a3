// Remarks: each thing that looks like a mistake is told with its name and its size, what is in order is not, and the
// poses they rest on are those of the dynamics.

#include <gtest/gtest.h>

#include "almond/base/check.hpp"
#include "almond/dynamics/kinematics.hpp"
#include "almond/model/builder.hpp"
#include "scenes/random.hpp"

namespace almond {
namespace {

using Remarks = std::vector<std::string>;
using scenes::Random;

BodySpec make_link(const std::string& name, int parent = kGround, JointKind kind = JointKind::kRevolute,
                   double mass = 1.0) {
  BodySpec spec;
  spec.name = name;
  spec.parent = parent;
  spec.joint = make_joint(kind, Vec3::UnitY());
  spec.mass = mass;
  spec.inertia = 0.1 * mass * Mat3::Identity();
  return spec;
}

TEST(JointPose, IsThatOfTheDynamics) {
  Random random(3);
  for (const JointKind kind : {JointKind::kFixed, JointKind::kFree, JointKind::kBall, JointKind::kRevolute,
                               JointKind::kContinuous, JointKind::kPrismatic}) {
    ModelBuilder builder;
    BodySpec spec = make_link("body", kGround, kind);
    spec.joint.axis = random.direction();
    spec.joint.anchor = random.normal3();
    spec.joint.X_PJ = {random.rotation(), random.normal3()};
    const int body = builder.add_body(spec);
    if (num_positions(kind) > 0) {
      VecX q = VecX::Constant(num_positions(kind), random.normal());
      if (q.size() >= 4) q.tail<4>() = matrix_to_quaternion(random.rotation());
      builder.set_start(body, q);
    }
    const Model model = builder.build();
    Kinematics kin;
    compute_kinematics(model, model.q0, model.v0, kin);
    const Pose X_WB = model.joints[body].X_PJ * make_joint_pose(model.joints[body], model.q0.data());
    EXPECT_LT((X_WB.p - kin.X_WB[body].p).norm(), 1e-14) << to_string(kind);
    EXPECT_LT((X_WB.R - kin.X_WB[body].R).norm(), 1e-14) << to_string(kind);
  }
}

TEST(Remarks, StartOutsideTheLimits) {
  ModelBuilder builder;
  BodySpec spec = make_link("arm");
  spec.joint.lower = -1.0, spec.joint.upper = 0.5;
  const int arm = builder.add_body(spec);
  const auto remarks_at = [&](double q) {
    builder.set_start(arm, VecX::Constant(1, q));
    return builder.build().remarks;
  };
  EXPECT_EQ(remarks_at(0.5), Remarks{});
  EXPECT_EQ(remarks_at(-1.0), Remarks{});
  EXPECT_EQ(remarks_at(0.75), Remarks{"joint \"arm\": starts at 0.75 rad, outside its limits -1 to 0.5"});
  EXPECT_EQ(remarks_at(-1.25), Remarks{"joint \"arm\": starts at -1.25 rad, outside its limits -1 to 0.5"});
}

TEST(Remarks, OpenClosures) {
  ModelBuilder builder;
  const int a = builder.add_body(make_link("a"));
  const int b = builder.add_body(make_link("b", a, JointKind::kPrismatic));
  const int c = builder.add_body(make_link("c", kGround, JointKind::kPrismatic));
  // Turned by a right angle about y, x points along -z; then 0.3 m along the turned y.
  builder.set_start(a, VecX::Constant(1, M_PI / 2.0));
  builder.set_start(b, VecX::Constant(1, 0.3));
  Closure tie;
  tie.a = b;
  tie.X_a.p = Vec3(1.0, 0.0, 0.0);
  tie.X_b.p = Vec3(0.0, 0.3, -1.0);
  const auto remarks_of = [&](const Closure& closure) {
    ModelBuilder copy = builder;
    Closure named = closure;
    named.name = "tie";
    copy.add_closure(named);
    return copy.build().remarks;
  };
  EXPECT_EQ(remarks_of(tie), Remarks{});
  tie.X_b.p.z() -= 0.01;
  EXPECT_EQ(remarks_of(tie), Remarks{"closure \"tie\": open by 0.01 m at the start"});
  tie.kind = ClosureKind::kWeld;
  EXPECT_EQ(remarks_of(tie), (Remarks{"closure \"tie\": open by 0.01 m at the start",
                                      "closure \"tie\": open by 1.5708 rad at the start"}));
  tie.X_b = {exp_so3(Vec3(0.0, M_PI / 2.0, 0.0)), Vec3(0.0, 0.3, -1.0)};
  EXPECT_EQ(remarks_of(tie), Remarks{});
  Closure gear;
  gear.kind = ClosureKind::kMimic;
  gear.a = b;
  gear.b = c;
  gear.offset = 0.3;
  EXPECT_EQ(remarks_of(gear), Remarks{});
  gear.offset = 0.5;
  EXPECT_EQ(remarks_of(gear), Remarks{"closure \"tie\": open by 0.2 m at the start"});
}

TEST(Remarks, SpringsWithoutDirection) {
  ModelBuilder builder;
  Spring spring;
  spring.body_b = builder.add_body(make_link("arm"));
  spring.stiffness = 1.0;
  const auto remarks_of = [&](const Vec3& point, double rest_length) {
    ModelBuilder copy = builder;
    Spring named = spring;
    named.name = "coil";
    named.point_b = point;
    named.rest_length = rest_length;
    copy.add_spring(named);
    return copy.build().remarks;
  };
  EXPECT_EQ(remarks_of(Vec3::Zero(), 0.0), Remarks{});
  EXPECT_EQ(remarks_of(Vec3::UnitX(), 0.2), Remarks{});
  EXPECT_EQ(remarks_of(Vec3::Zero(), 0.2), Remarks{"spring \"coil\": its ends coincide at the start and its rest "
                                                   "length is 0.2 m, so its direction is arbitrary"});
}

TEST(Remarks, PairsThatContradict) {
  ModelBuilder builder;
  const int a = builder.add_body(make_link("a"));
  const int b = builder.add_body(make_link("b", a));
  builder.include(a, b);
  builder.exclude(a, kGround);
  EXPECT_EQ(builder.build().remarks, Remarks{});
  builder.exclude(b, a);
  builder.exclude(b, b);
  builder.include(kGround, a);
  EXPECT_EQ(builder.build().remarks,
            (Remarks{"body \"b\": the pair with itself is excluded, but nothing collides with itself anyway",
                     "the ground and body \"a\": the pair is both included and excluded; it does not collide",
                     "body \"a\" and body \"b\": the pair is both included and excluded; it does not collide"}));
}

/// What the remark says is what may_collide does: pairs of geoms overrule bodies, and rules of a format contradict
/// nothing.
TEST(Remarks, PairsThatContradictSayWhatCollides) {
  ModelBuilder builder;
  const int a = builder.add_body(make_link("a"));
  const int b = builder.add_body(make_link("b", a));
  GeomSpec ball;
  ball.body = a;
  const int of_a = builder.add_geom(ball);
  ball.body = b;
  const int of_b = builder.add_geom(ball);
  builder.include_by_rule(a, b);
  EXPECT_TRUE(may_collide(builder.build(), of_a, of_b));
  EXPECT_EQ(builder.build().remarks, Remarks{});
  builder.exclude(a, b);
  EXPECT_FALSE(may_collide(builder.build(), of_a, of_b));
  EXPECT_EQ(builder.build().remarks, Remarks{});
  builder.include(a, b);
  EXPECT_FALSE(may_collide(builder.build(), of_a, of_b));
  EXPECT_EQ(builder.build().remarks,
            Remarks{"body \"a\" and body \"b\": the pair is both included and excluded; it does not collide"});
  builder.add_pair(of_a, of_b, {});
  EXPECT_TRUE(may_collide(builder.build(), of_a, of_b));
  EXPECT_EQ(
      builder.build().remarks,
      Remarks{"body \"a\" and body \"b\": the pair is both included and excluded; only its pairs of geoms collide"});
}

TEST(Remarks, AdviceIsForStartsOutsideOfLimits) {
  ModelBuilder builder;
  BodySpec link = make_link("arm");
  link.joint.lower = 0.5;
  link.joint.upper = 1.0;
  const int arm = builder.add_body(link);
  builder.advise_start({arm}, "start elsewhere");
  EXPECT_EQ(builder.build().remarks, Remarks{});
  builder.set_start(arm, VecX::Constant(1, 0.0));
  EXPECT_EQ(builder.build().remarks,
            (Remarks{"joint \"arm\": starts at 0 rad, outside its limits 0.5 to 1", "start elsewhere"}));
}

TEST(Remarks, AbsurdMassesAndSizes) {
  const auto remarks_of = [](double mass, double radius) {
    ModelBuilder builder;
    builder.add_ground(Plane{});
    builder.add_solid("ball", Sphere{radius}, mass, {});
    return builder.build().remarks;
  };
  EXPECT_EQ(remarks_of(1e9, 1e5), Remarks{});
  EXPECT_EQ(remarks_of(1e-9, 1e-6), Remarks{});
  for (const double mass : {1e-10, 1e10})
    EXPECT_EQ(remarks_of(mass, 1.0),
              Remarks{"body \"ball\": mass is " + to_text(mass) + " kg, usual are 1e-09 to 1e+09 kg"});
  for (const double radius : {1e-7, 1e6})
    EXPECT_EQ(remarks_of(1.0, radius), Remarks{"geom \"ball/1\": the sphere reaches " + to_text(radius) +
                                               " m from its origin, usual are 1e-06 to 100000 m"});
}

TEST(Remarks, FrictionThatNothingHas) {
  const auto remarks_of = [](double mu, int count) {
    ModelBuilder builder;
    for (int i = 0; i < count; ++i)
      builder.add_solid("ball" + std::to_string(i), Sphere{0.1}, 1.0, make_translation(i, 0.0, 0.0), {mu + i, 0.0});
    return builder.build().remarks;
  };
  EXPECT_EQ(remarks_of(10.0, 1), Remarks{});
  EXPECT_EQ(remarks_of(1e4, 1), Remarks{"geom \"ball0/0\": friction is 10000, usual are up to 10"});
  EXPECT_EQ(remarks_of(11.0, 3), Remarks{"geom \"ball2/2\": friction is 13, usual are up to 10; 2 other geoms have "
                                         "more than that, too"});
  ModelBuilder builder;
  for (int i = 0; i < 2; ++i)
    builder.add_solid("ball" + std::to_string(i), Sphere{0.1}, 1.0, make_translation(i, 0.0, 0.0));
  builder.add_pair(0, 1, {1e6, 0.0});
  EXPECT_EQ(builder.build().remarks,
            Remarks{"pair of geom \"ball0/0\" and geom \"ball1/1\": friction is 1e+06, usual are up to 10"});
}

TEST(Remarks, MassRatioWithinOneTree) {
  ModelBuilder builder;
  const int base = builder.add_body(make_link("base", kGround, JointKind::kRevolute, 1e5));
  builder.add_body(make_link("other", kGround, JointKind::kRevolute, 1e-8));  // another tree
  const int arm = builder.add_body(make_link("arm", base, JointKind::kRevolute, 1.0));
  EXPECT_EQ(builder.build().remarks, Remarks{});
  builder.add_body(make_link("tip", arm, JointKind::kRevolute, 1e-4));
  EXPECT_EQ(builder.build().remarks,
            Remarks{"body \"base\" and body \"tip\": a mass ratio of 1e+09 in one tree, usual are up to 1e+08"});
}

}  // namespace
}  // namespace almond
