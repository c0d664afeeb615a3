// Proves that a step says how far its loops are open, against the geometry of loops that cannot close, and that loops
// which contradict each other are not called solved.

#include <gtest/gtest.h>

#include "common/helpers.hpp"
#include "sim/sim_fixture.hpp"

namespace almond {
namespace {

using testing::make_arm;
using testing::make_slider;

Closure connect(const std::string& name, int a, const Vec3& on_a, const Vec3& at) {
  Closure closure;
  closure.name = name;
  closure.a = a;
  closure.X_a = make_translation(on_a);
  closure.b = kGround;
  closure.X_b = make_translation(at);
  return closure;
}

/// Two arms of 1 m in a row, their tip tied to a point at `reach` along x; dampers bring them to rest.
Model make_reach(double reach) {
  ModelBuilder builder;
  builder.set_gravity(Vec3::Zero());
  BodySpec upper = make_arm("upper");
  upper.joint.damping = 1.0;
  const int a = builder.add_body(upper);
  BodySpec lower = make_arm("lower", 1.0, a, Vec3(1.0, 0.0, 0.0));
  lower.joint.damping = 1.0;
  const int b = builder.add_body(lower);
  builder.add_closure(connect("tip", b, Vec3(1.0, 0.0, 0.0), Vec3(reach, 0.0, 0.0)));
  builder.set_start(a, VecX::Constant(1, 0.4));
  builder.set_start(b, VecX::Constant(1, -0.7));
  return builder.build();
}

TEST(Openings, OfALoopThatClosesGoAway) {
  Simulation sim(make_reach(1.9));
  const StepReport first = sim.step();
  // The tip of the start, by trigonometry.
  const Vec3 tip(std::cos(0.4) + std::cos(0.3), 0.0, -std::sin(0.4) + std::sin(0.3));
  EXPECT_NEAR(first.opening, (tip - Vec3(1.9, 0.0, 0.0)).norm(), 1e-12);
  StepReport report;
  for (int i = 0; i < 480; ++i) report = sim.step();
  EXPECT_EQ(report.status, Status::kSolved);
  EXPECT_LT(report.opening, 1e-8);
}

TEST(Openings, OfALoopThatIsTooShortAreWhatIsMissing) {
  Simulation sim(make_reach(2.1));
  double last = kInfinity;
  Status before = Status::kSolved;
  int infeasible = 0;
  for (int i = 0; i < 480; ++i) {
    const StepReport report = sim.step();
    EXPECT_GE(report.opening, 0.1 - 1e-9) << i;  // the arms are 2 m long
    if (before == Status::kSolved) {
      EXPECT_LT(report.opening, last) << i << ": a solved step mends";
    }
    last = report.opening;
    before = report.status;
    infeasible += report.status == Status::kInfeasible ? 1 : 0;
  }
  EXPECT_GT(infeasible, 0);
}

TEST(Openings, OfABarBetweenPointsTooFarApart) {
  // 1 m between points 1.1 m apart: 5 cm are missing at either end, or 10 at one, whatever the step does.
  ModelBuilder builder;
  builder.set_gravity(Vec3::Zero());
  const int bar = builder.add_solid("bar", Box{Vec3(0.5, 0.02, 0.02)}, 1.0, Pose{});
  builder.add_closure(connect("left", bar, Vec3(-0.5, 0.0, 0.0), Vec3(-0.55, 0.0, 0.0)));
  builder.add_closure(connect("right", bar, Vec3(0.5, 0.0, 0.0), Vec3(0.55, 0.0, 0.0)));
  Simulation sim(builder.build());
  for (int i = 0; i < 60; ++i) {
    const StepReport report = sim.step();
    EXPECT_GE(report.opening, 0.05 - 1e-9) << i;
    EXPECT_LE(report.opening, 0.1 + 1e-6) << i;
    EXPECT_EQ(report.status, Status::kInfeasible) << i;
  }
}

TEST(Openings, OfGearsThatContradictEachOther) {
  // q_a = q_b + 0.01 and q_a = q_b - 0.01: no step mends one without the other.
  ModelBuilder builder;
  builder.set_gravity(Vec3::Zero());
  const int a = builder.add_body(make_slider("a", Vec3::UnitX()));
  const int b = builder.add_body(make_slider("b", Vec3::UnitY()));
  for (const double offset : {0.01, -0.01}) {
    Closure gear;
    gear.kind = ClosureKind::kMimic;
    gear.name = "gear" + std::to_string(offset);
    gear.a = a;
    gear.b = b;
    gear.offset = offset;
    builder.add_closure(gear);
  }
  Simulation sim(builder.build());
  for (int i = 0; i < 60; ++i) {
    const StepReport report = sim.step();
    EXPECT_GE(report.opening, 0.01 - 1e-12) << i;
    EXPECT_EQ(report.status, Status::kInfeasible) << i;
  }
}

TEST(Openings, OfAWeldCountItsTurn) {
  ModelBuilder builder;
  builder.set_gravity(Vec3::Zero());
  const int box = builder.add_solid("box", Box{Vec3(0.1, 0.1, 0.1)}, 1.0, Pose{});
  Closure weld;
  weld.kind = ClosureKind::kWeld;
  weld.name = "weld";
  weld.a = box;
  weld.b = kGround;
  weld.X_b = Pose{exp_so3(Vec3(0.0, 0.3, 0.0)), Vec3(0.02, 0.0, 0.0)};
  builder.add_closure(weld);
  Simulation sim(builder.build());
  StepReport report = sim.step();
  EXPECT_NEAR(report.opening, 0.3, 1e-12);
  for (int i = 0; i < 480; ++i) report = sim.step();
  EXPECT_LT(report.opening, 1e-6);
  EXPECT_EQ(report.status, Status::kSolved);
}

TEST(Openings, SayThatTwoRowsTooManyAgree) {
  // The same loop tied twice: rows are dropped, and nothing contradicts.
  ModelBuilder builder;
  const int bar = builder.add_solid("bar", Box{Vec3(0.5, 0.02, 0.02)}, 1.0, Pose{});
  for (const char* name : {"one", "other"})
    builder.add_closure(connect(name, bar, Vec3(-0.5, 0.0, 0.0), Vec3(-0.5, 0.0, 0.001)));
  Simulation sim(builder.build());
  for (int i = 0; i < 240; ++i) {
    const StepReport report = sim.step();
    EXPECT_EQ(report.status, Status::kSolved) << i;
    if (i > 10) {
      EXPECT_LT(report.opening, 1e-4) << i;
    }
  }
}

}  // namespace
}  // namespace almond
