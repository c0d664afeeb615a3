// Proves that a step survives any numbers in state and inputs: it says so and leaves the state as it was.

#include <gtest/gtest.h>

#include <functional>

#include "almond/sim/absurd.hpp"
#include "common/helpers.hpp"
#include "sim/sim_fixture.hpp"

namespace almond {
namespace {

struct Bad {
  std::string name;
  std::function<void(State&, Inputs&)> spoil;
};

std::vector<Bad> all_bad() {
  return {
      {"ShortQ", [](State& s, Inputs&) { s.q.conservativeResize(s.q.size() - 1); }},
      {"LongV", [](State& s, Inputs&) { s.v.conservativeResizeLike(VecX::Zero(s.v.size() + 1)); }},
      {"EmptyState", [](State& s, Inputs&) { s = State(); }},
      {"NanQ", [](State& s, Inputs&) { s.q[0] = kNaN; }},
      {"NanV", [](State& s, Inputs&) { s.v[1] = kNaN; }},
      {"InfiniteV", [](State& s, Inputs&) { s.v[2] = -kInfinity; }},
      {"HugeQ", [](State& s, Inputs&) { s.q[0] = 1e308; }},
      {"HugeV", [](State& s, Inputs&) { s.v[0] = 1e200; }},
      {"ZeroQuaternion", [](State& s, Inputs&) { s.q.segment<4>(3).setZero(); }},
      {"LongQuaternion", [](State& s, Inputs&) { s.q.segment<4>(3) *= 2.0; }},
      {"NoTargets", [](State&, Inputs& i) { i.target.resize(0); }},
      {"NanTarget", [](State&, Inputs& i) { i.target[0] = kNaN; }},
      {"NanVelocityTarget", [](State&, Inputs& i) { i.target_velocity[0] = kNaN; }},
      {"LongFeedforward", [](State&, Inputs& i) { i.feedforward = VecX::Zero(9); }},
      {"OneWrenchOfMany", [](State&, Inputs& i) { i.wrenches.resize(1); }},
      {"NanForce",
       [](State&, Inputs& i) {
         i.wrenches.resize(3);
         i.wrenches[1].force[0] = kNaN;
       }},
      {"InfiniteTorque",
       [](State&, Inputs& i) {
         i.wrenches.resize(3);
         i.wrenches[2].torque[0] = kInfinity;
       }},
  };
}

Model make_world() {
  ModelBuilder builder;
  builder.add_ground(Plane{});
  builder.add_solid("box", Box{Vec3(0.1, 0.1, 0.1)}, 1.0, make_translation(0.0, 0.0, 0.1));
  builder.add_solid("ball", Sphere{0.1}, 1.0, make_translation(1.0, 0.0, 0.3));
  const int slider = builder.add_body(testing::make_slider("slider", Vec3::UnitX()));
  Drive drive;
  drive.name = "drive";
  drive.joint = slider;
  drive.mode = DriveMode::kPosition;
  drive.stiffness = 10.0;
  builder.add_drive(drive);
  return builder.build();
}

class BadState : public ::testing::TestWithParam<Bad> {};

TEST_P(BadState, IsSaidAndLeftAsItWas) {
  Simulation sim(make_world());
  for (int i = 0; i < 5; ++i) ASSERT_EQ(sim.step().status, Status::kSolved);
  const State good = sim.state();
  const Inputs inputs = sim.inputs();
  GetParam().spoil(sim.state(), sim.inputs());
  const std::string before = serialize(sim.state());
  const StepReport report = sim.step();
  EXPECT_EQ(report.status, Status::kNumericalError);
  EXPECT_TRUE(serialize(sim.state()) == before) << "bit by bit";
  // And nothing of it is left behind.
  Simulation fresh(make_world());
  sim.state() = fresh.state() = good;
  sim.inputs() = inputs;
  sim.step();
  fresh.step();
  EXPECT_TRUE(serialize(sim.state()) == serialize(fresh.state()));
}

TEST(BadMemory, IsOnlyAStart) {
  // Impulses that nobody could have remembered: the step is solved all the same.
  Simulation sim(make_world());
  sim.step();
  for (ContactMemory& contact : sim.state().contacts) contact.impulse.setConstant(1e300);
  for (RowMemory& row : sim.state().rows) row.impulse = kNaN;
  const StepReport report = sim.step();
  EXPECT_EQ(report.status, Status::kSolved);
  EXPECT_TRUE(sim.state().v.allFinite());
  EXPECT_NEAR(sim.state().v.head<6>().norm(), 0.0, testing::tolerance(1e-6));
}

TEST(NumericalError, KeepsPositionsAndVelocities) {
  // Forces whose impulses are beyond all numbers: nothing of the answer is taken, and the run goes on afterwards.
  for (const double theta : {0.0, 0.5}) {
    StepOptions options;
    options.theta = theta;
    Simulation sim(make_world(), options);
    for (int i = 0; i < 5; ++i) ASSERT_EQ(sim.step().status, Status::kSolved);
    const VecX q = sim.state().q, v = sim.state().v;
    const double time = sim.state().time;
    for (const double effort : {1e300, -1e300, 1e200, 1e30}) {
      sim.inputs().feedforward[0] = effort;
      const StepReport report = sim.step();
      EXPECT_EQ(report.status, Status::kNumericalError) << effort;
      EXPECT_EQ(report.residual, kInfinity);
      EXPECT_TRUE(sim.state().q == q && sim.state().v == v) << effort << ": bit by bit";
    }
    EXPECT_NEAR(sim.state().time, time + 4.0 / 240.0, 1e-12);
    sim.inputs().feedforward[0] = 0.0;
    EXPECT_EQ(sim.step().status, Status::kSolved);
    EXPECT_LT(sim.state().v.cwiseAbs().maxCoeff(), 10.0);
  }
}

TEST(Absurd, IsEnergyFromNowhereAndNoStrongDrive) {
  const Model model = make_world();
  const StepOptions options;
  StepWorkspace w;
  State state = make_state(model);
  const State start = state;
  static_cast<void>(step(model, options, make_inputs(model), w, state));
  GrowVector v = w.solution.v;
  EXPECT_FALSE(is_absurd(model, options, start, v, w));
  v[2] = 1e8;  // a box of 1 kg that lay on the floor
  EXPECT_TRUE(is_absurd(model, options, start, v, w));
  v[2] = 100.0;  // too fast to be right, and not so fast that it is told here
  EXPECT_FALSE(is_absurd(model, options, start, v, w));
  // 10 MN on 2 kg, within a step: 20 km/s are what the drive's work explains.
  Simulation sim(make_world());
  sim.inputs().feedforward[0] = 1e7;
  EXPECT_EQ(sim.step().status, Status::kSolved);
  EXPECT_NEAR(sim.state().v[12], 1e7 / 2.0 / 240.0, 10.0);
}

INSTANTIATE_TEST_SUITE_P(Each, BadState, ::testing::ValuesIn(all_bad()),
                         [](const auto& each) { return each.param.name; });

}  // namespace
}  // namespace almond
