// Laws without contact: each compares with a closed form, the tolerance follows from the order of the scheme in dt.

#include <algorithm>
#include <cmath>
#include <numbers>

#include "scenes/law_tools.hpp"

namespace almond::scenes {
namespace {

constexpr double kRounding = 1e-10;  // positions near 1 m after thousands of additions

Simulation make_simulation(Model model, double dt = 1.0 / 240.0) {
  StepOptions options;
  options.dt = dt;
  return Simulation(std::move(model), options);
}

Model make_falling_model(const Vec3& velocity, const Vec3& spin) {
  ModelBuilder builder("thrown");
  BodySpec spec;
  spec.name = "body";
  spec.mass = 2.0;
  spec.com = Vec3(0.1, -0.2, 0.05);  // off the frame's origin
  spec.inertia = Vec3(0.02, 0.03, 0.04).asDiagonal();
  const int body = builder.add_body(spec);
  VecX v(6);
  v << velocity, spin;
  builder.set_start_velocity(body, v);
  return builder.build();
}

Vec3 centre(Simulation& sim) { return sim.kinematics().com[0]; }

/// |fall after 1 s - g t²/2| at step dt.
double fall_error(double dt) {
  Simulation sim = make_simulation(make_falling_model(Vec3::Zero(), Vec3::Zero()), dt);
  const double start = centre(sim).z();
  const int steps = static_cast<int>(std::lround(1.0 / dt));
  for (int i = 0; i < steps; ++i) sim.step();
  return std::abs(start - centre(sim).z() - 0.5 * kGravity);
}

struct TopDrift {
  double momentum, energy;  // largest relative deviation
};

TopDrift watch_spin(Simulation& sim, int steps) {
  const auto spin = [&] {
    const Momentum momentum = compute_momentum(sim.model(), sim.kinematics());
    return Vec3(momentum.angular - sim.kinematics().com[0].cross(momentum.linear));
  };
  const Vec3 L = spin();
  const double E = sim.energy().kinetic;
  TopDrift drift{0.0, 0.0};
  for (int i = 0; i < steps; ++i) {
    sim.step();
    drift.momentum = std::max(drift.momentum, (spin() - L).norm() / L.norm());
    drift.energy = std::max(drift.energy, std::abs(sim.energy().kinetic - E) / E);
  }
  return drift;
}

TopDrift spin_top(double dt) {
  Simulation sim = make_simulation(make_top_model(), dt);
  return watch_spin(sim, static_cast<int>(std::lround(10.0 / dt)));
}

/// A free body of a shape, over 1000 steps.
TopDrift spin_thing(const Shape& shape, double mass, const Vec3& spin, double dt) {
  ModelBuilder builder;
  builder.set_gravity(Vec3::Zero());
  const int body = builder.add_solid("thing", shape, mass, {exp_so3(Vec3(0.3, 0.4, 0.5)), Vec3::Zero()});
  VecX v = VecX::Zero(6);
  v.tail<3>() = spin;
  builder.set_start_velocity(body, v);
  Simulation sim = make_simulation(builder.build(), dt);
  return watch_spin(sim, 1000);
}

/// Angular momentum about the common centre of mass.
Vec3 spin_about_centre(Simulation& sim) {
  const Kinematics& kin = sim.kinematics();
  const Momentum momentum = compute_momentum(sim.model(), kin);
  Vec3 centre = Vec3::Zero();
  double mass = 0.0;
  for (int b = 0; b < sim.model().num_bodies(); ++b) {
    centre += sim.model().bodies[b].mass * kin.com[b];
    mass += sim.model().bodies[b].mass;
  }
  return momentum.angular - (centre / mass).cross(momentum.linear);
}

/// Arithmetic-geometric mean, for the exact period of a pendulum.
double agm(double a, double b) {
  for (int i = 0; i < 40; ++i) {
    const double mean = 0.5 * (a + b);
    b = std::sqrt(a * b);
    a = mean;
  }
  return a;
}

/// Mean period over ten swings, by linear interpolation of the crossings of q = π/2 on the way up.
double measure_period(double angle, double dt) {
  Simulation sim = make_simulation(make_pendulum_model(angle), dt);
  double first = kNaN, last = kNaN;
  int crossings = 0;
  while (crossings < 11 && sim.state().time < 60.0) {
    const double before = sim.state().q[0] - 0.5 * std::numbers::pi, t = sim.state().time;
    sim.step();
    const double after = sim.state().q[0] - 0.5 * std::numbers::pi;
    if (before >= 0.0 || after < 0.0) continue;
    last = t + dt * before / (before - after);
    if (crossings == 0) first = last;
    ++crossings;
  }
  return (last - first) / 10.0;
}

double pendulum_energy_swing(double dt) {
  Simulation sim = make_simulation(make_pendulum_model(0.5), dt);
  const double start = sim.energy().total();
  double worst = 0.0;
  const int steps = static_cast<int>(std::lround(20.0 / dt));
  for (int i = 0; i < steps; ++i) {
    sim.step();
    worst = std::max(worst, std::abs(sim.energy().total() - start));
  }
  return worst;
}

}  // namespace

std::vector<LawResult> free_fall() {
  const double dt = 1.0 / 240.0;
  Simulation sim = make_simulation(make_falling_model(Vec3::Zero(), Vec3::Zero()));
  const double start = centre(sim).z();
  for (int i = 0; i < 240; ++i) sim.step();
  const double fallen = start - centre(sim).z();
  return {
      // Semi-implicit Euler: v_n = n g dt, x_n = g dt² n (n + 1) / 2.
      {"fall in 1 s against the discrete sum", fallen, kGravity * dt * dt * 240.0 * 241.0 / 2.0, kRounding, "m"},
      // The sum exceeds g t²/2 by g t dt/2.
      {"fall in 1 s against g t^2 / 2", fallen, 0.5 * kGravity, 0.5 * kGravity * dt * 1.001, "m"},
      {"speed after 1 s", -sim.state().v[2], kGravity, kRounding, "m/s"},
      {"order in dt of the fall", std::log2(fall_error(dt) / fall_error(0.5 * dt)), 1.0, 0.01, ""},
  };
}

std::vector<LawResult> ballistic_flight() {
  const double dt = 1.0 / 240.0;
  const Vec3 v0(3.0, -1.0, 5.0), spin(2.0, -7.0, 4.0);
  Simulation sim = make_simulation(make_falling_model(v0, spin));
  const Vec3 start = centre(sim);
  const Momentum before = compute_momentum(sim.model(), sim.kinematics());
  for (int i = 0; i < 240; ++i) sim.step();
  const Vec3 fallen(0.0, 0.0, -kGravity * dt * dt * 240.0 * 241.0 / 2.0);
  const Vec3 miss = centre(sim) - (start + v0 + fallen);
  // About the moving centre: take out the orbital part, which gravity changes.
  const Momentum after = compute_momentum(sim.model(), sim.kinematics());
  const Vec3 L_before = before.angular - start.cross(before.linear),
             L_after = after.angular - centre(sim).cross(after.linear);
  return {
      at_most("centre of a tumbling body against the parabola", miss.norm(), kRounding, "m"),
      at_most("horizontal momentum lost", (after.linear - before.linear).head<2>().norm(), kRounding, "kg m/s"),
      at_most("angular momentum about the centre lost", (L_after - L_before).norm() / L_before.norm(), 1e-12,
              "relative"),
  };
}

std::vector<LawResult> pendulum_period() {
  const double dt = 1.0 / 240.0, half = 0.5, angle = 0.5;
  const Model model = make_pendulum_model(angle);
  const double inertia = model.bodies[0].inertia(1, 1) + half * half;
  const double omega = std::sqrt(kGravity * half / inertia);
  const double exact = 2.0 * std::numbers::pi / (omega * agm(1.0, std::cos(0.5 * angle)));
  const double period = measure_period(angle, dt), finer = measure_period(angle, 0.5 * dt);
  // Symplectic Euler turns an oscillator of frequency ω at ω (1 + (ω dt)²/24); twice that covers the large swing.
  const double bound = 2.0 * exact * omega * omega * dt * dt / 24.0;
  const double swing = pendulum_energy_swing(dt);
  return {
      {"period at 0.5 rad", period, exact, bound, "s"},
      {"order in dt of the period", std::log2(std::abs(period - exact) / std::abs(finer - exact)), 2.0, 0.2, ""},
      // The scheme conserves a neighbour of the energy: the difference swings with (ω dt / 2) E and does not grow.
      at_most("energy error over 20 s", swing, omega * dt * kGravity * half * (1.0 - std::cos(angle)), "J"),
      {"order in dt of the energy error", std::log2(swing / pendulum_energy_swing(0.5 * dt)), 1.0, 0.1, ""},
  };
}

std::vector<LawResult> torque_free_top() {
  // Conserved by construction: a few roundings of 1e-16 a step.
  const TopDrift top = spin_top(1.0 / 240.0);
  std::vector<LawResult> rows = {
      at_most("angular momentum drift over 10 s", top.momentum, 1e-11, "relative"),
      at_most("energy drift over 10 s of tumbling at 10 rad/s", top.energy, 1e-11, "relative"),
  };
  struct Thin {
    const char* name;
    Shape shape;
    double mass;
  };
  const Thin things[] = {{"steel rod of 5 mm", Cylinder{0.005, 0.5}, 0.6},
                         {"steel wire of 1 mm", Capsule{0.001, 0.5}, 0.025},
                         {"plate of 0.5 mm", Box{{0.2, 0.1, 0.00025}}, 0.16},
                         {"needle of 0.4 mm", Capsule{0.0004, 0.5}, 0.004}};
  for (const Thin& thing : things) {
    double energy = 0.0, momentum = 0.0;
    for (const double dt : {1e-4, 1.0 / 240.0, 0.05}) {
      for (const double speed : {0.1, 10.0, 1000.0}) {
        const TopDrift drift = spin_thing(thing.shape, thing.mass, speed * Vec3(0.6, 0.5, 0.7), dt);
        energy = std::max(energy, drift.energy);
        momentum = std::max(momentum, drift.momentum);
      }
    }
    // Ratios of inertia of up to a million multiply the rounding of the angular velocity.
    const std::string name = thing.name;
    rows.push_back(at_most("energy drift of a " + name + ", up to 1000 rad/s and 50 ms", energy, 1e-9, "relative"));
    rows.push_back(at_most("its angular momentum", momentum, 1e-9, "relative"));
  }
  return rows;
}

std::vector<LawResult> whirling_trees() {
  // Links turn by up to 0.1 rad a step. Free motion keeps energy, momentum and spin to rounding: 1e-15 of them a step.
  constexpr int kSteps = 2400;
  const double bound = kSteps * 1e-14;
  Simulation arm = make_simulation(make_arm_model(3.0)), chain = make_simulation(make_chain_model(1.0));
  const double arm_energy = arm.energy().kinetic, chain_energy = chain.energy().kinetic;
  const Vec3 linear = compute_momentum(chain.model(), chain.kinematics()).linear, spin = spin_about_centre(chain);
  for (int i = 0; i < kSteps; ++i) {
    arm.step();
    chain.step();
  }
  const Vec3 linear_after = compute_momentum(chain.model(), chain.kinematics()).linear;
  return {
      at_most("energy of a whirling arm of seven links over 10 s", std::abs(arm.energy().kinetic / arm_energy - 1.0),
              bound, "relative"),
      at_most("energy of a free chain of five links", std::abs(chain.energy().kinetic / chain_energy - 1.0), bound,
              "relative"),
      at_most("its momentum", (linear_after - linear).norm() / linear.norm(), bound, "relative"),
      at_most("its spin", (spin_about_centre(chain) - spin).norm() / spin.norm(), bound, "relative"),
  };
}

std::vector<LawResult> four_bar_loop() {
  const auto opening = [](double dt) {
    Scene scene = make_scene("four_bar");
    scene.options.dt = dt;
    Simulation sim(scene.model, scene.options);
    run_steps(scene, sim, static_cast<int>(std::lround(10.0 / dt)));
    return scene.judge(sim).metrics[0].value;
  };
  // Each step leaves what is of third order in the turn of the links, (ω dt)³ r / 6, and the next one removes it. The
  // crank turns the coupler at up to twice its speed, 0.9 m long: 2.3e-3 mm.
  const double dt = 1.0 / 240.0, turn = 2.0 * 3.0 * dt, coarse = opening(dt);
  return {
      at_most("opening of the loop over 10 s at 3 rad/s", coarse, 1e3 * turn * turn * turn * 0.9 / 6.0, "mm"),
      {"order in dt of the opening", std::log2(coarse / opening(0.5 * dt)), 3.0, 0.3, ""},
  };
}

std::vector<LawResult> joint_limit() {
  std::vector<LawResult> rows;
  for (const double speed : {1.0, 10.0, 100.0}) {
    Simulation sim(make_stop_model(speed));
    double passed = 0.0;
    for (int i = 0; i < 480; ++i) {
      sim.step();
      passed = std::max(passed, std::abs(sim.state().q[0]) - 0.5);
    }
    rows.push_back(
        at_most("limit passed at " + std::to_string(static_cast<int>(speed)) + " rad/s", passed, 1e-6, "rad"));
  }
  return rows;
}

}  // namespace almond::scenes
