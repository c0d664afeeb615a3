// Laws of contact: friction, stacking, impact. One setting, the default, for all of them.

#include <algorithm>
#include <cmath>
#include <cstdio>

#include "scenes/law_tools.hpp"

namespace almond::scenes {
namespace {

constexpr double kMu = 0.5;

std::string number(double value) {
  char text[32];
  std::snprintf(text, sizeof text, "%g", value);
  return text;
}

/// Travel along the slope and the largest distance from it.
struct Travel {
  double along, lift, sideways;
};

Travel slide(double ratio, double speed, int steps) {
  Simulation sim(make_slope_model(ratio, kMu, speed));
  const Mat3 R = slope_axes(ratio, kMu);
  Travel travel{0.0, 0.0, 0.0};
  for (int i = 0; i < steps; ++i) {
    sim.step();
    const Vec3 p = R.transpose() * sim.state().q.head<3>() - Vec3(0.0, 0.0, kCube);
    travel.lift = std::max(travel.lift, std::abs(p.z()));
    travel.along = p.x();
    travel.sideways = p.y();
  }
  return travel;
}

struct Bounce {
  double deepest, rebound_speed, impact_speed;
};

Bounce drop(double restitution) {
  Simulation sim(make_ball_model(0.5, 0.0, kMu, restitution));
  Bounce bounce{0.0, 0.0, 0.0};
  bool landed = false;
  for (int i = 0; i < 480; ++i) {
    const double before = sim.state().v[2];
    const StepReport report = sim.step();
    bounce.deepest = std::max(bounce.deepest, 0.05 - sim.state().q[2]);
    if (!landed && report.active > 0) {
      landed = true;
      bounce.impact_speed = -before + sim.options().dt * kGravity;  // as it would be without the ground
      bounce.rebound_speed = sim.state().v[2];
      sim.step();  // what does not bounce comes to rest one step later
      bounce.rebound_speed = std::max(bounce.rebound_speed, sim.state().v[2]);
      bounce.deepest = std::max(bounce.deepest, 0.05 - sim.state().q[2]);
    }
  }
  return bounce;
}

}  // namespace

std::vector<LawResult> slope() {
  std::vector<LawResult> rows;
  for (const double ratio : {0.5, 0.95, 0.99, 0.999}) {
    const Travel travel = slide(ratio, 0.0, 60 * 240);
    rows.push_back(at_most("creep in 60 s at tan/mu = " + number(ratio),
                           1e3 * std::hypot(travel.along, travel.sideways) / 60.0, 1e-6, "mm/s"));
  }
  for (const double ratio : {1.001, 1.5}) {
    const int steps = 5 * 240;
    const double dt = 1.0 / 240.0, angle = std::atan(ratio * kMu);
    const double a = kGravity * (std::sin(angle) - kMu * std::cos(angle));
    const Travel travel = slide(ratio, 0.0, steps);
    // v_n = n a dt, x_n = a dt² n (n + 1) / 2; to the solver's 1e-9 of the speed.
    const double exact = a * dt * dt * steps * (steps + 1) / 2.0;
    rows.push_back(
        {"slide in 5 s at tan/mu = " + number(ratio), travel.along, exact, 1e-7 * std::max(exact, 1e-2), "m"});
    rows.push_back(at_most("lift while sliding at " + number(ratio), 1e3 * travel.lift, 0.01, "mm"));
  }
  return rows;
}

std::vector<LawResult> sliding_block() {
  std::vector<LawResult> rows;
  const double dt = 1.0 / 240.0;
  for (const double speed : {3.0, 6.0}) {
    // v_n = v_0 - n mu g dt until it would turn; the last step ends at rest.
    double exact = 0.0;
    for (double v = speed - kMu * kGravity * dt; v > 0.0; v -= kMu * kGravity * dt) exact += dt * v;
    const Travel travel = slide(0.0, speed, 4 * 240);
    rows.push_back({"stopping distance from " + number(speed) + " m/s", travel.along, exact, 1e-7 * exact, "m"});
    rows.push_back(at_most("lift on the way from " + number(speed) + " m/s", 1e3 * travel.lift, 0.01, "mm"));
  }
  return rows;
}

std::vector<LawResult> rolling_ball() {
  Simulation sim(make_ball_model(0.0, 1.0, kMu, 0.0));
  double deepest = 0.0;
  for (int i = 0; i < 480; ++i) {
    sim.step();
    deepest = std::max(deepest, 0.05 - sim.state().q[2]);
  }
  return {
      // Momentum about the contact is kept by every step: exact up to rounding.
      {"speed once it rolls, thrown at 1 m/s", sim.state().v[0], 5.0 / 7.0, 1e-12, "m/s"},
      {"spin once it rolls", sim.state().v[4] * 0.05, 5.0 / 7.0, 1e-12, "m/s"},
      at_most("overlap while it rolls", 1e3 * deepest, 0.01, "mm"),
  };
}

std::vector<LawResult> grasp() {
  std::vector<LawResult> rows;
  for (const double shake : {0.0, 0.05}) {
    for (const double mass : {0.2, 2.0}) {
      const Scene scene = make_scene("gripper", {{"mass", mass}, {"squeeze", 1.1}, {"shake", shake}});
      Simulation sim(scene.model, scene.options);
      run_steps(scene, sim, 1);
      const double first = offset_in_hand(sim, "cube");
      double worst = 0.0;
      for (int i = 1; i < 2400; ++i) {
        run_steps(scene, sim, 1);
        worst = std::max(worst, std::abs(offset_in_hand(sim, "cube") - first));
      }
      const std::string what = number(mass) + " kg cube at 1.1x the least squeeze" + (shake > 0.0 ? ", shaken" : "");
      rows.push_back(at_most("slip rate over 10 s, " + what, 1e3 * worst / 10.0, 1e-6, "mm/s"));
      rows.push_back(at_most("slip in the first step, " + what, 1e3 * std::abs(first), 1e-6, "mm"));
    }
  }
  return rows;
}

std::vector<LawResult> towers() {
  std::vector<LawResult> rows;
  for (const double count : {4.0, 10.0}) {
    const Scene scene = make_scene("tower", {{"cubes", count}});
    Simulation sim(scene.model, scene.options);
    run_steps(scene, sim, scene.steps);
    const Outcome outcome = scene.judge(sim);
    const std::string what = number(count) + " cubes of 0.1 kg under 5 kg";
    rows.push_back(at_most("sink of the top in 3 s, " + what, outcome.metrics[0].value, 0.5, "mm"));
    rows.push_back(at_most("sideways drift of the top, " + what, outcome.metrics[1].value, 0.1, "mm"));
    rows.push_back(at_most("jitter at the end, " + what, outcome.metrics[2].value, 1e-3, "mm/s"));
  }
  return rows;
}

std::vector<LawResult> mass_ratio() {
  std::vector<LawResult> rows;
  for (const double ratio : {1.0, 10.0, 100.0, 1000.0, 10000.0}) {
    Simulation sim(make_tower_model(1, 0.1 * ratio, 0.6));
    for (int i = 0; i < 720; ++i) sim.step();
    const double overlap = 4.0 * kCube - (sim.state().q[9] + kCube);
    rows.push_back(
        at_most("overlap of two boxes in 3 s, mass ratio " + number(ratio), 1e6 * std::abs(overlap), 10.0, "um"));
  }
  return rows;
}

std::vector<LawResult> dropped_ball() {
  std::vector<LawResult> rows;
  for (const double restitution : {0.0, 0.5, 1.0}) {
    const Bounce bounce = drop(restitution);
    rows.push_back({"restitution " + number(restitution) + ": speed after / before",
                    bounce.rebound_speed / bounce.impact_speed, restitution, 1e-9, ""});
    rows.push_back(at_most("restitution " + number(restitution) + ": overlap", 1e3 * bounce.deepest, 0.01, "mm"));
  }
  return rows;
}

std::vector<LawResult> painleve_rod() {
  std::vector<LawResult> rows;
  for (const double mu : {0.5, 1.8, 3.0}) {
    Simulation sim(make_painleve_model(mu));
    double energy = sim.energy().total(), gain = 0.0, deepest = 0.0;
    int unsolved = 0;
    const double start = energy;
    for (int i = 0; i < 480; ++i) {
      const StepReport report = sim.step();
      const double now = sim.energy().total();
      gain = std::max(gain, now - energy);
      energy = now;
      unsolved += report.status == Status::kSolved ? 0 : 1;
      deepest = std::max(deepest, report.penetration);
    }
    const std::string what = ", rod on its tip at mu = " + number(mu);
    rows.push_back(at_most("steps without a solution" + what, unsolved, 0.0, ""));
    // Contact takes energy, and so does the scheme in flight: m (g dt)²/2 a step. What is left is the solver's 1e-9.
    rows.push_back(at_most("largest energy gain of a step" + what, gain, 1e-6 * start, "J"));
    rows.push_back(at_most("deepest overlap" + what, 1e3 * deepest, 0.5, "mm"));
  }
  return rows;
}

std::vector<LawResult> newtons_cradle() {
  std::vector<LawResult> rows;
  const int balls = 5;
  // Touching: Newton's law with all contacts at once. Only the first contact closes before the impact, so it alone is
  // asked to open, at the same speed; the others stay shut: the first ball turns back at (n - 2)/n, the rest leave
  // together at 2/n. Momentum and energy are both kept; the real cradle, whose shock wave runs through, does otherwise.
  Simulation touching(make_cradle_model(balls, 0.0));
  for (int i = 0; i < 120; ++i) touching.step();
  rows.push_back({"touching balls: speed of the first", touching.state().v[0], -3.0 / 5.0, 1e-9, "m/s"});
  rows.push_back({"touching balls: speed of the last", touching.state().v[6 * (balls - 1)], 2.0 / 5.0, 1e-9, "m/s"});
  rows.push_back({"touching balls: energy kept", touching.energy().kinetic, 0.5, 1e-9, "J"});
  // A hair apart: one impact after the other, the speed is handed on.
  Simulation apart(make_cradle_model(balls, 0.02));
  for (int i = 0; i < 120; ++i) apart.step();
  rows.push_back({"balls 20 mm apart: speed of the first", apart.state().v[0], 0.0, 1e-9, "m/s"});
  rows.push_back({"balls 20 mm apart: speed of the last", apart.state().v[6 * (balls - 1)], 1.0, 1e-9, "m/s"});
  return rows;
}

std::vector<LawResult> limp_quadrupeds() {
  Scene scene = make_scene("quadrupeds");
  scene.options.solver.crowd_tol = 0.0;  // as exact as one robot
  Simulation sim(scene.model, scene.options);
  const double start = sim.energy().total();
  double energy = start, gain = 0.0, residual = 0.0, fastest = 0.0;
  for (int i = 0; i < scene.steps; ++i) {
    const StepReport report = sim.step();
    const double now = sim.energy().total();
    gain = std::max(gain, now - energy);
    energy = now;
    residual = std::max(residual, report.residual);
    fastest = std::max(fastest, sim.state().v.cwiseAbs().maxCoeff());
  }
  return {
      at_most("fastest joint or body over 2 s", fastest, 1e3, "m/s or rad/s"),
      at_most("largest energy gain of a step", gain, 1e-6 * start, "J"),
      at_most("worst residual of a step, impacts included", residual, 1e-8, "N s"),
  };
}

const std::vector<Law>& all_laws() {
  static const std::vector<Law> laws = {
      {"free_fall", free_fall},
      {"ballistic_flight", ballistic_flight},
      {"pendulum", pendulum_period},
      {"top", torque_free_top},
      {"whirling_trees", whirling_trees},
      {"slope", slope},
      {"sliding_block", sliding_block},
      {"rolling_ball", rolling_ball},
      {"grasp", grasp},
      {"towers", towers},
      {"mass_ratio", mass_ratio},
      {"dropped_ball", dropped_ball},
      {"painleve_rod", painleve_rod},
      {"newtons_cradle", newtons_cradle},
      {"four_bar", four_bar_loop},
      {"joint_limit", joint_limit},
      {"quadrupeds", limp_quadrupeds},
      {"thread", nut_on_bolt},
      {"falling_nut", falling_nut},
      {"nested", nested_dishes},
      {"bowl", ball_in_bowl},
      {"pour", poured_balls},
      {"round_on_plane", round_on_plane},
  };
  return laws;
}

}  // namespace almond::scenes
