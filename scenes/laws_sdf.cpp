// Laws of signed distance contacts: screws, nested dishes, balls in bowls and cups.

#include <algorithm>
#include <cmath>
#include <numbers>

#include "almond/model/builder.hpp"
#include "almond/model/profile.hpp"
#include "almond/model/thread.hpp"
#include "scenes/law_tools.hpp"

namespace almond::scenes {
namespace {

constexpr double kPi = std::numbers::pi;

/// A nut that slides down its thread at radius r is driven round by the normal force N and held by μN. The flank's
/// normal, in the axes of r, θ, z, is n = (sin 30°, -T cos 30°, cos 30°) / w with T = tan λ = h / r and
/// w² = 1 + T² cos² 30°; friction acts along the helix, (0, cos λ, sin λ). No torque about z:
///   T cos 30° / w = μ cos λ.
double lock_friction(const MetricThread& size, double r) {
  const double T = size.external().rise() / r, c = std::cos(kPi / 6.0);
  return T * c / (std::cos(std::atan(T)) * std::sqrt(1.0 + T * T * c * c));
}

/// The flank that carries: from the nut's crest to the bolt's.
struct Flank {
  double inner, outer;
  /// Where friction acts on average under even pressure.
  [[nodiscard]] double effective() const {
    return 2.0 / 3.0 * (std::pow(outer, 3) - std::pow(inner, 3)) / (outer * outer - inner * inner);
  }
};

Flank find_flank(const MetricThread& size) { return {size.internal().root_radius, size.external().crest_radius}; }

struct Screwing {
  double turned = 0.0, sunk = 0.0, speed = 0.0, deepest = 0.0;
};

Screwing run_nut(const std::string& size, double mu, double seconds, double force, double torque, double settle = 0.1) {
  Simulation sim(make_nut_model(size, mu));
  sim.inputs().wrenches.resize(1);
  sim.inputs().wrenches[0] = {Vec3(0.0, 0.0, force), Vec3(0.0, 0.0, torque)};
  const double dt = sim.options().dt;
  Screwing seen;
  double start = 0.0;
  for (int i = 0; i < static_cast<int>(seconds / dt); ++i) {
    const StepReport report = sim.step();
    seen.deepest = std::max(seen.deepest, report.penetration);
    if (sim.state().time < settle) {  // it drops through its play first
      start = sim.state().q[2];
      continue;
    }
    seen.turned += dt * sim.state().v[5];
    seen.sunk = start - sim.state().q[2];
    seen.speed = sim.state().v[5];
  }
  return seen;
}

/// μ at which a nut stops to turn by itself, from how fast it starts at two smaller ones.
double measure_threshold(const std::string& size, double about) {
  const double low = 0.85 * about, high = 0.95 * about;
  const double a = run_nut(size, low, 0.3, 0.0, 0.0).speed, b = run_nut(size, high, 0.3, 0.0, 0.0).speed;
  return high - b * (high - low) / (b - a);
}

}  // namespace

std::vector<LawResult> nut_on_bolt() {
  std::vector<LawResult> results;
  for (const char* name : {"M48", "M20"}) {
    const MetricThread size = find_thread(name);
    const Flank flank = find_flank(size);
    const std::string what = std::string(name) + " nut";
    const double mu = lock_friction(size, flank.effective());
    results.push_back({what + ": friction at which it locks", measure_threshold(name, mu), mu, 0.02 * mu, "-"});
    const Screwing locked = run_nut(name, 1.02 * lock_friction(size, flank.inner), 0.6, 0.0, 0.0);
    results.push_back(
        at_most(what + ": turn in 0.5 s, locked wherever the flank carries", std::abs(locked.turned), 1e-6, "rad"));
    const Screwing pushed = run_nut(name, 0.15, 0.6, -500.0, 0.0);
    results.push_back(at_most(what + ": travel in 0.5 s under 500 N, below a tenth of its play", std::abs(pushed.sunk),
                              0.1 * size.allowance() * std::tan(kPi / 6.0), "m"));
    const Screwing turned = run_nut(name, 0.05, 0.6, 0.0, name == std::string("M48") ? 0.03 : 0.001);
    results.push_back({what + ": travel of one turn by a torque", -2.0 * kPi * turned.sunk / turned.turned, size.pitch,
                       0.005 * size.pitch, "m"});
    results.push_back(
        at_most(what + ": deepest overlap", std::max({locked.deepest, pushed.deepest, turned.deepest}), 2e-5, "m"));
  }
  return results;
}

std::vector<LawResult> falling_nut() {
  const Screwing falling = run_nut("M48", 0.02, 10.0, 0.0, 0.0);
  return {at_most("M48 nut, 10 s down onto the head: deepest overlap", falling.deepest, 2e-5, "m")};
}

std::vector<LawResult> nested_dishes() {
  const Scene scene = make_scene("pile");
  Simulation sim(scene.model, scene.options);
  const auto place = [&] {
    VecX p(12);
    for (int b = 0; b < 4; ++b) p.segment<3>(3 * b) = sim.state().q.segment<3>(7 * b);
    return p;
  };
  run_steps(scene, sim, 240);
  const VecX settled = place();
  double fastest = 0.0;
  for (int i = 0; i < 240; ++i) {
    sim.step();
    fastest = std::max(fastest, sim.state().v.cwiseAbs().maxCoeff());
  }
  return {at_most("5 kg pot on plate and bowls of 0.1 kg: fastest motion at rest", 1e3 * fastest, 1e-3, "mm/s"),
          at_most("the same: drift in 1 s", 1e3 * (place() - settled).cwiseAbs().maxCoeff(), 1e-3, "mm")};
}

std::vector<LawResult> ball_in_bowl() {
  constexpr double kRadius = 0.2, kBall = 0.01, kAngle = 0.1;
  std::vector<LawResult> results;
  for (const bool rolls : {false, true}) {
    Simulation sim(make_bowl_model(kRadius, kBall, kAngle, rolls ? 0.5 : 0.0));
    double last = sim.state().q[0], first = 0.0, period = 0.0;
    for (int i = 0; i < 720; ++i) {
      sim.step();
      const double x = sim.state().q[0];
      if (last < 0.0 && x >= 0.0) {
        const double t = sim.state().time - sim.options().dt * x / (x - last);
        if (first > 0.0 && period == 0.0) period = t - first;
        if (first == 0.0) first = t;
      }
      last = x;
    }
    // A pendulum of length R - r, at this amplitude; rolling adds 2/5 to its inertia.
    const double exact =
        2.0 * kPi * std::sqrt((rolls ? 1.4 : 1.0) * (kRadius - kBall) / kGravity) * (1.0 + kAngle * kAngle / 16.0);
    results.push_back({std::string("ball ") + (rolls ? "rolling" : "sliding") + " in a bowl: period", period, exact,
                       2e-3 * exact, "s"});
  }
  return results;
}

std::vector<LawResult> poured_balls() {
  std::vector<LawResult> results;
  for (const double speed : {1.0, 3.0}) {
    const Scene scene = make_scene("pour", {{"speed", speed}});
    Simulation sim(scene.model, scene.options);
    run_steps(scene, sim, 480);
    const Outcome outcome = scene.judge(sim);
    results.push_back(at_most("balls poured into a cup at " + std::to_string(static_cast<int>(speed)) + " m/s: outside",
                              outcome.metrics.at(0).value, 0.0, ""));
  }
  // One at a time down along the wall, where the floor is farther than the wall until it is too late.
  constexpr double kBall = 0.004, kWall = 0.003;
  double through = 0.0;
  for (const double speed : {2.0, 3.0, 5.0})
    for (const double x : {0.0, 0.035, 0.042, 0.044})
      for (int k = 0; k < 5; ++k) {
        ModelBuilder builder;
        builder.add_ground(make_sdf_shape(make_pot(0.05, 0.09, kWall)));
        const int ball = builder.add_solid("ball", Sphere{kBall}, 0.01, make_translation(x, 0.0, 0.05 + 0.005 * k));
        VecX v = VecX::Zero(6);
        v[2] = -speed;
        builder.set_start_velocity(ball, v);
        Simulation sim(builder.build());
        double lowest = kInfinity;
        for (int i = 0; i < 60; ++i) {
          sim.step();
          lowest = std::min(lowest, sim.state().q[2]);
        }
        through += lowest < kWall + 0.9 * kBall ? 1.0 : 0.0;
      }
  results.push_back(
      at_most("60 balls down along the wall of a pot at 2 to 5 m/s: through its floor", through, 0.0, ""));
  return results;
}

std::vector<LawResult> round_on_plane() {
  std::vector<LawResult> results;
  const auto rest = [&](const char* what, const SdfPtr& sdf, double height) {
    ModelBuilder builder;
    builder.add_ground(Plane{});
    builder.add_solid("thing", make_sdf_shape(sdf), 0.1,
                      make_rotation(Vec3(0.3, 0.2, 0.1).normalized(), 0.4, Vec3(0.0, 0.0, height + 1e-3)));
    Simulation sim(builder.build());
    for (int i = 0; i < 240; ++i) sim.step();
    results.push_back(
        {std::string(what) + " at rest on a plane: height of its middle", sim.state().q[2], height, 1e-7, "m"});
  };
  rest("sphere given by its distance", make_sphere_sdf(0.03), 0.03);
  rest("the same, grown by 1 cm", make_offset(make_sphere_sdf(0.03), 0.01), 0.04);
  return results;
}

}  // namespace almond::scenes
