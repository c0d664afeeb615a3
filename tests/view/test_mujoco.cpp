// Proves that a scene run by MuJoCo is the same scene: free motion agrees with the closed form of semi-implicit Euler,
// joints and start velocities mean the same, drives follow their inputs, contact forces carry the weight; that it shows
// MuJoCo's contact law and not ours; and that what MuJoCo does not tell is absent from the replay.

#include <gtest/gtest.h>

#include <cmath>
#include <nlohmann/json.hpp>

#include "almond/base/check.hpp"
#include "almond/load/mjcf.hpp"
#include "almond/model/builder.hpp"
#include "almond/view/blob.hpp"
#include "almond/view/mujoco_step.hpp"
#include "almond/view/replay.hpp"
#include "scenes/scene.hpp"

namespace almond {
namespace {

class MujocoStepTest : public ::testing::Test {
 protected:
  void SetUp() override {
    if (!have_mujoco()) GTEST_SKIP() << "built without MuJoCo's library";
  }
};

/// A scene advanced by MuJoCo.
Simulation run_by_mujoco(const std::string& name, const std::vector<std::pair<std::string, double>>& given, int steps,
                         Frame& frame, StepReport& report) {
  scenes::Scene scene = scenes::make_scene(name, given);
  Simulation simulation(std::move(scene.model), scene.options);
  FileNotes notes;
  MujocoRun run(simulation.model(), scene.options.dt, notes);
  for (int i = 0; i < steps; ++i) {
    if (scene.control) scene.control(simulation);
    report = step_by_mujoco(run, simulation, frame);
    EXPECT_EQ(report.status, Status::kSolved);
  }
  return simulation;
}

TEST_F(MujocoStepTest, FreeFallIsTheClosedForm) {
  constexpr int kSteps = 40;
  ModelBuilder builder;
  const Pose start{quaternion_to_matrix(Vec4(0.6, 0.0, 0.8, 0.0)), Vec3(0.1, -0.2, 5.0)};
  const int ball = builder.add_solid("ball", Sphere{0.1}, 1.3, start);
  const Vec6 v0 = (Vec6() << 1.0, 2.0, 3.0, 0.5, -0.4, 0.3).finished();
  builder.set_start_velocity(ball, v0);
  Simulation simulation(builder.build());
  const double dt = simulation.options().dt, g = -simulation.model().gravity.z();
  FileNotes notes;
  MujocoRun run(simulation.model(), dt, notes);
  Frame frame;
  for (int i = 0; i < kSteps; ++i) static_cast<void>(step_by_mujoco(run, simulation, frame));
  // v_k = v_0 - k g dt, x_k = x_0 + dt (v_1 + ... + v_k).
  const Vec3 fall(0.0, 0.0, -g * dt * dt * kSteps * (kSteps + 1) / 2);
  const Vec3 expected = start.p + kSteps * dt * v0.head<3>() + fall;
  EXPECT_LT((simulation.state().q.head<3>() - expected).norm(), 1e-12);
  EXPECT_LT((simulation.state().v.head<3>() - v0.head<3>() - Vec3(0.0, 0.0, -g * dt * kSteps)).norm(), 1e-12);
  EXPECT_LT((simulation.state().v.tail<3>() - v0.tail<3>()).norm(), 1e-12);  // of a ball ω is constant
  EXPECT_NEAR(simulation.state().time, kSteps * dt, 1e-12);
  EXPECT_EQ(frame.step, kSteps - 1);
  EXPECT_TRUE(notes.ignored.empty());
}

/// Both are semi-implicit Euler methods of first order: half the step halves the distance between them.
TEST_F(MujocoStepTest, AnArmSwingsAlikeToTheFirstOrder) {
  double distance[2];
  for (const int half : {0, 1}) {
    scenes::Scene scene = scenes::make_scene("arm");
    scene.options.dt = half == 1 ? 5e-4 : 1e-3;
    Simulation ours(scene.model, scene.options), theirs(scene.model, scene.options);
    FileNotes notes;
    MujocoRun run(theirs.model(), scene.options.dt, notes);
    Frame frame;
    for (int i = 0; i < (half == 1 ? 200 : 100); ++i) {
      ours.step();
      static_cast<void>(step_by_mujoco(run, theirs, frame));
    }
    distance[half] = (ours.state().q - theirs.state().q).norm();
    EXPECT_LT(distance[half], 0.02);
    EXPECT_GT((ours.state().q - ours.model().q0).norm(), 0.1);  // it did swing
  }
  EXPECT_NEAR(distance[1] / distance[0], 0.5, 0.05);
}

TEST_F(MujocoStepTest, ForcesCarryTheWeight) {
  Frame frame;
  StepReport report;
  Simulation simulation = run_by_mujoco("tower", {}, 1200, frame, report);
  const Model& model = simulation.model();
  double weight = 0.0;
  for (const Body& body : model.bodies) weight += body.mass * -model.gravity.z();
  double carried = 0.0;
  for (const FrameContact& c : frame.contacts) {
    const int a = model.geoms[c.geom_a].body, b = model.geoms[c.geom_b].body;
    EXPECT_NE(a, b);
    EXPECT_GE(c.force.dot(c.n), 0.0);
    if (a < 0) carried += c.force.z();
    if (b < 0) carried -= c.force.z();
  }
  EXPECT_NEAR(carried, weight, 1e-3 * weight);  // at rest to MuJoCo's slow settling
  EXPECT_EQ(report.contacts, static_cast<int>(frame.contacts.size()));
  EXPECT_GT(report.penetration, 1e-3);  // its contacts are springs
}

/// At half the friction angle Coulomb's law holds a cube; a regularised one lets it creep by the same way each second.
TEST_F(MujocoStepTest, ACubeOnASlopeCreeps) {
  const auto travel = [](Simulation& simulation) {
    return (simulation.state().q - simulation.model().q0).head<3>().norm();
  };
  Frame frame;
  StepReport report;
  Simulation one = run_by_mujoco("slope", {{"ratio", 0.5}}, 480, frame, report);
  Simulation two = run_by_mujoco("slope", {{"ratio", 0.5}}, 960, frame, report);
  Simulation three = run_by_mujoco("slope", {{"ratio", 0.5}}, 1440, frame, report);
  const double second = travel(two) - travel(one), third = travel(three) - travel(two);
  EXPECT_GT(second, 1e-5);
  EXPECT_NEAR(third / second, 1.0, 0.01);
  for (const FrameContact& c : frame.contacts)
    EXPECT_EQ(c.mode, ContactMode::kStick);  // its forces are inside the cone
  scenes::Scene scene = scenes::make_scene("slope", {{"ratio", 0.5}});
  Simulation ours(std::move(scene.model), scene.options);
  for (int i = 0; i < 1440; ++i) ours.step();
  EXPECT_LT(travel(ours), 1e-9);
}

TEST_F(MujocoStepTest, DrivesFollowTheirInputs) {
  Frame frame;
  StepReport report;
  Simulation simulation = run_by_mujoco("gripper", {{"shake", 0.2}}, 60, frame, report);
  EXPECT_NEAR(simulation.state().q[0], simulation.inputs().target[0], 1e-3);
  EXPECT_GT(std::abs(simulation.inputs().target[0]), 5e-3);
}

TEST_F(MujocoStepTest, WhatIsNotToldIsAbsent) {
  scenes::Scene scene = scenes::make_scene("tower");
  Simulation simulation(std::move(scene.model), scene.options);
  FileNotes notes;
  MujocoRun run(simulation.model(), scene.options.dt, notes);
  Replay replay(simulation.model(), make_looks(simulation.model(), {}), scene.options.dt, {});
  Frame frame;
  for (int i = 0; i < 8; ++i) {
    const StepReport report = step_by_mujoco(run, simulation, frame);
    EXPECT_TRUE(std::isnan(report.residual));
    replay.add_step(frame, report, simulation.energy().total());
  }
  const std::string bytes = gunzip(replay.finish(frame, {}), 1U << 28, "replay");
  std::uint32_t length = 0;
  std::memcpy(&length, bytes.data() + 8, 4);
  const nlohmann::json header = nlohmann::json::parse(bytes.substr(12, length));
  EXPECT_FALSE(header.at("contacts").contains("residual"));
  EXPECT_TRUE(header.at("contacts").contains("force"));
  EXPECT_TRUE(header.at("inside").empty());
  std::vector<std::string> names;
  for (const auto& series : header.at("series")) names.push_back(series.at("name"));
  EXPECT_EQ(names, (std::vector<std::string>{"contacts", "iterations", "step time", "energy", "penetration"}));
}

/// A stiff spring breaks an explicit method; the state must stay a finite one, and the end be told.
TEST_F(MujocoStepTest, RunningAwayEndsWithFiniteNumbers) {
  ModelBuilder builder;
  const int ball = builder.add_solid("ball", Sphere{0.1}, 1.0, make_translation(0.0, 0.0, 1.0));
  Spring spring;
  spring.name = "stiff";
  spring.body_b = ball;
  spring.stiffness = 1e12;
  builder.add_spring(spring);
  Simulation simulation(builder.build());
  FileNotes notes;
  MujocoRun run(simulation.model(), simulation.options().dt, notes);
  Frame frame;
  StepReport report;
  int steps = 0;
  while (report.status == Status::kSolved && steps < 100) {
    report = step_by_mujoco(run, simulation, frame);
    ++steps;
    ASSERT_TRUE(simulation.state().q.allFinite() && simulation.state().v.allFinite());
    for (const Pose& pose : frame.bodies) ASSERT_TRUE(pose.p.allFinite());
  }
  EXPECT_EQ(report.status, Status::kNumericalError);
  EXPECT_EQ(simulation.state().steps, steps - 1);
  EXPECT_FALSE(notes.said.empty());
}

TEST_F(MujocoStepTest, FrictionThatIsCombinedOtherwiseIsNoted) {
  ModelBuilder builder;
  Material smooth;
  smooth.mu = 0.1;
  builder.add_ground(Plane{}, {}, smooth);
  builder.add_solid("ball", Sphere{0.1}, 1.0, make_translation(0.0, 0.0, 1.0));
  const Model model = builder.build();
  FileNotes notes;
  const MujocoRun run(model, 0.004, notes);
  ASSERT_EQ(notes.ignored.size(), 1U);
  EXPECT_NE(notes.ignored.begin()->first.find("friction"), std::string::npos);
}

}  // namespace
}  // namespace almond
