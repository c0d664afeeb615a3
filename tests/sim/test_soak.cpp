// Proves that scenes pushed and driven at random obey the law and its bookkeeping in every step, with every solver: a
// short form of `almond soak`. And that the watch sees what it is there to see.

#include <gtest/gtest.h>

#include "scenes/soak.hpp"

namespace almond {
namespace {

using scenes::Fault;
using scenes::SoakResult;

constexpr SolverKind kSolvers[] = {SolverKind::kAuto, SolverKind::kCanal, SolverKind::kSubAdmm, SolverKind::kSpn,
                                   SolverKind::kPgs};

TEST(Soak, QuickCasesByEverySolver) {
  for (const char* name : {"tower", "mass_ratio_1e4", "light_cube_squeezed", "gripper", "cup", "quadrupeds", "four_bar",
                           "painleve", "joint_stop", "bouncing_ball", "dishes", "chain"}) {
    for (const SolverKind solver : kSolvers) {
      for (const std::uint64_t seed : {11U, 12U}) {
        const SoakResult result = run_soak(scenes::find_soak_case(name), solver, seed, 60);
        EXPECT_EQ(result.steps, 60);
        EXPECT_EQ(result.num_faults(), 0) << (result.findings.empty() ? name : result.findings[0].what);
      }
    }
  }
}

TEST(Soak, PushesArriveAndDoWork) {
  // Pushed bodies move otherwise; a push is no energy from nowhere.
  const scenes::SoakCase& ball = scenes::find_soak_case("rolling");
  const SoakResult one = run_soak(ball, SolverKind::kAuto, 1, 200), other = run_soak(ball, SolverKind::kAuto, 2, 200);
  EXPECT_GT(one.pushes, 3);
  EXPECT_NE(one.hash, other.hash);
  EXPECT_EQ(one.num_faults() + other.num_faults(), 0);
}

TEST(Soak, PushesWhileBallsBounceAreWork) {
  // A push that acts while a ball turns round works with the speed before the impact: neither gravity nor friction is
  // here, and restitution 1 keeps what there is.
  for (const std::uint64_t seed : {3U, 4U}) {
    const SoakResult result = run_soak(scenes::find_soak_case("cradle"), SolverKind::kAuto, seed, 60);
    EXPECT_EQ(result.num_faults(), 0) << (result.findings.empty() ? "" : result.findings[0].what);
  }
}

TEST(Soak, BallsThatPassEachOtherKeepOut) {
  // At 3 m/s a ball moves by more than its diameter in a step; the one before it stops, and both spin.
  for (const std::uint64_t seed : {6U, 9U, 10U, 15U}) {
    const SoakResult result = run_soak(scenes::find_soak_case("thin_cup_3_m_per_s"), SolverKind::kAuto, seed, 14);
    EXPECT_EQ(result.num_faults(), 0) << (result.findings.empty() ? "" : result.findings[0].what);
    EXPECT_LT(result.deepest, 0.5 * scenes::kDeepest);
  }
}

TEST(Soak, WhatIsLeftAloneGainsNoEnergy) {
  for (const scenes::SoakCase& which : scenes::soak_cases()) {
    if (!which.alone) continue;
    for (const std::uint64_t seed : {1U, 2U}) {
      const SoakResult result = run_soak(which, SolverKind::kAuto, seed, 600);
      EXPECT_EQ(result.num_faults(), 0) << (result.findings.empty() ? which.name : result.findings[0].what);
      EXPECT_EQ(result.pushes, 0);
    }
  }
}

TEST(Soak, SeesEnergyThatComesOverARun) {
  // Each step gains less than what is noticed of one.
  const auto creep = [](Simulation& sim) {
    sim.state().v *= 1.0002;
    return true;
  };
  const SoakResult result = run_soak(scenes::find_soak_case("arm_alone"), SolverKind::kAuto, 1, 20, 1, creep);
  EXPECT_GT(result.faults[static_cast<std::size_t>(Fault::kRunEnergy)], 0);
  EXPECT_EQ(result.faults[static_cast<std::size_t>(Fault::kEnergy)], 0);
}

TEST(Soak, EndsWhenItIsTold) {
  int asked = 0;
  const auto go_on = [&](Simulation&) { return ++asked < 7; };
  EXPECT_EQ(run_soak(scenes::find_soak_case("ball"), SolverKind::kAuto, 1, 1000, 1, go_on).steps, 7);
}

/// What is found where `tamper` changes the state behind the watch's back, after the tenth step.
SoakResult run_tampered(const char* name, const std::function<void(State&)>& tamper) {
  int steps = 0;
  return run_soak(scenes::find_soak_case(name), SolverKind::kAuto, 1, 14, 1, [&](Simulation& sim) {
    if (++steps == 10) tamper(sim.state());
    return true;
  });
}

TEST(Soak, SeesWhatIsWrong) {
  const auto count = [](const SoakResult& r, Fault fault) { return r.faults[static_cast<std::size_t>(fault)]; };
  EXPECT_EQ(run_tampered("rolling", [](State&) {}).num_faults(), 0);
  EXPECT_EQ(count(run_tampered("rolling", [](State& s) { s.v *= 1.1; }), Fault::kEnergy), 1);
  EXPECT_EQ(count(run_tampered("cradle", [](State& s) { s.v *= 1.1; }), Fault::kEnergy), 1);
  EXPECT_EQ(count(run_tampered("rolling", [](State& s) { s.q[2] -= 2.0 * scenes::kDeepest; }), Fault::kTooDeep), 1);
  EXPECT_GT(count(run_tampered("rolling", [](State& s) { s.q[2] -= 0.2; }), Fault::kThroughFloor), 0);
  EXPECT_EQ(count(run_tampered("rolling", [](State& s) { s.v[0] = kNaN; }), Fault::kNotFinite), 4);
}

}  // namespace
}  // namespace almond
