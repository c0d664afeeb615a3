#pragma once
// What the files of laws share.

#include "scenes/laws.hpp"
#include "scenes/parts.hpp"
#include "scenes/scene.hpp"

namespace almond::scenes {

/// Steps `count` times, controlled and observed by the scene.
inline void run_steps(const Scene& scene, Simulation& sim, int count) {
  for (int i = 0; i < count; ++i) {
    if (scene.control) scene.control(sim);
    const StepReport report = sim.step();
    if (scene.observe) scene.observe(sim, report);
  }
}

/// A row whose measured value must not exceed `bound`.
inline LawResult at_most(const std::string& what, double measured, double bound, const std::string& unit) {
  return {what, measured, 0.0, bound, unit};
}

// laws_motion.cpp
std::vector<LawResult> free_fall();
std::vector<LawResult> ballistic_flight();
std::vector<LawResult> pendulum_period();
std::vector<LawResult> torque_free_top();
std::vector<LawResult> whirling_trees();
std::vector<LawResult> four_bar_loop();
std::vector<LawResult> joint_limit();
// laws_contact.cpp
std::vector<LawResult> slope();
std::vector<LawResult> sliding_block();
std::vector<LawResult> rolling_ball();
std::vector<LawResult> grasp();
std::vector<LawResult> towers();
std::vector<LawResult> mass_ratio();
std::vector<LawResult> dropped_ball();
std::vector<LawResult> painleve_rod();
std::vector<LawResult> newtons_cradle();
std::vector<LawResult> limp_quadrupeds();
// laws_sdf.cpp
std::vector<LawResult> nut_on_bolt();
std::vector<LawResult> falling_nut();
std::vector<LawResult> nested_dishes();
std::vector<LawResult> ball_in_bowl();
std::vector<LawResult> poured_balls();
std::vector<LawResult> round_on_plane();

}  // namespace almond::scenes
