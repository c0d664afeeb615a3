// The registry: what each scene is given, and how it is judged.

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <memory>

#include "almond/base/check.hpp"
#include "almond/base/text.hpp"
#include "scenes/bottle.hpp"
#include "scenes/memory.hpp"
#include "scenes/parts.hpp"
#include "scenes/scene.hpp"
#include "scenes/tasks.hpp"

namespace almond::scenes {
namespace {

using Values = std::vector<double>;

Scene begin(Model model, int steps) {
  Scene scene;
  scene.name = model.name;
  scene.model = std::move(model);
  scene.steps = steps;
  return scene;
}

/// Fastest point of any body, taken as centre velocity plus spin times 0.1 m.
double liveliness(Simulation& sim) {
  double fastest = 0.0;
  const Kinematics& kin = sim.kinematics();
  for (int b = 0; b < sim.model().num_bodies(); ++b)
    fastest = std::max(fastest, point_velocity(sim.model(), kin, b, kin.com[b]).norm() +
                                    0.1 * angular_velocity(sim.model(), kin, b).norm());
  return fastest;
}

Scene make_slope(const Values& values, std::uint64_t /*seed*/) {
  const double ratio = values[0], mu = values[1], speed = values[2];
  Scene scene = begin(make_slope_model(ratio, mu, speed), 1200);
  const Mat3 R = slope_axes(ratio, mu);
  scene.judge = [R, ratio, mu, speed](Simulation& sim) {
    const Vec3 moved = R.transpose() * (sim.state().q.head<3>() - R.col(2) * kCube);
    Outcome outcome;
    outcome.metrics = {{"travel_mm", 1e3 * moved.x()},
                       {"lift_mm", 1e3 * moved.z()},
                       {"creep_mm_per_s", 1e3 * moved.x() / sim.state().time}};
    // Closed form of the discrete motion: v grows by a dt each step, down to a stop; θ of the way goes before that (2).
    const double dt = sim.options().dt, theta = sim.options().theta, g = kGravity * R(2, 2);
    const double a = g * (R(0, 2) / R(2, 2) - mu);
    double v = speed, x = 0.0;
    for (std::int64_t i = 0; i < sim.state().steps; ++i) {
      x += theta * dt * v;
      v = std::max(0.0, v + dt * a);
      x += (1.0 - theta) * dt * v;
    }
    if (ratio < 1.0 && speed == 0.0) x = 0.0;
    outcome.metrics.push_back({"exact_mm", 1e3 * x});
    outcome.success = std::abs(moved.x() - x) < 1e-6 * std::max(1.0, x) && std::abs(moved.z()) < 1e-5;
    return outcome;
  };
  return scene;
}

Scene make_tower(const Values& values, std::uint64_t /*seed*/) {
  const auto count = static_cast<int>(values[0]);
  Scene scene = begin(make_tower_model(count, values[1], values[2]), 720);
  scene.judge = [count](Simulation& sim) {
    const auto q = sim.state().q.tail<7>();
    const double sink = (2 * count + 1) * kCube - q[2];
    Outcome outcome;
    outcome.metrics = {
        {"sink_mm", 1e3 * sink}, {"drift_mm", 1e3 * q.head<2>().norm()}, {"jitter_mm_per_s", 1e3 * liveliness(sim)}};
    outcome.success = sink < 5e-4 && q.head<2>().norm() < 0.01;
    return outcome;
  };
  return scene;
}

/// How far `body` has slipped in the hand, and how fast it does from step `settled` on.
void watch_slip(Scene& scene, const std::string& body, int settled) {
  struct Seen {
    double offset = 0.0, time = 0.0;
  };
  auto seen = std::make_shared<Seen>();
  scene.observe = [=](Simulation& sim, const StepReport&) {
    if (sim.state().steps == settled) *seen = {offset_in_hand(sim, body), sim.state().time};
  };
  scene.remember = [seen](Memory& memory) { memory(*seen); };
  scene.judge = [=](Simulation& sim) {
    Outcome outcome;
    const double slip = offset_in_hand(sim, body);
    outcome.metrics = {
        {"slip_mm", 1e3 * slip},
        {"slip_rate_mm_per_s", 1e3 * (slip - seen->offset) / std::max(sim.state().time - seen->time, 1e-9)}};
    outcome.success = std::abs(slip) < 1e-4;
    return outcome;
  };
}

Scene make_gripper(const Values& values, std::uint64_t /*seed*/) {
  const double mass = values[0], squeeze = values[1], shake = values[2];
  Scene scene = begin(make_gripper_model(mass, squeeze, 0.5), 2400);
  constexpr double kRate = 2.0 * 2.0 * 3.14159265358979323846;  // 2 Hz
  if (shake > 0.0) {
    scene.control = [shake](Simulation& sim) {
      // Peak acceleration `shake` g; starts at rest. The drive is told where to be at the end of the step.
      const double t = sim.state().time + sim.options().dt;
      sim.inputs().target[0] = shake * kGravity / (kRate * kRate) * (1.0 - std::cos(kRate * t));
    };
  }
  watch_slip(scene, "cube", 1);
  return scene;
}

Scene make_cup(const Values& values, std::uint64_t /*seed*/) {
  Scene scene = begin(make_cup_model(static_cast<int>(values[0]), values[1]), 1200);
  watch_slip(scene, "cup", scene.steps / 2);  // the balls have come to rest by then
  return scene;
}

Scene make_nut(const Values& values, std::uint64_t /*seed*/) {
  char name[32];
  std::snprintf(name, sizeof name, "M%g", values[0]);
  Scene scene = begin(make_nut_model(name, values[1]), 1200);
  const double push = values[2], torque = values[3];
  if (push != 0.0 || torque != 0.0)
    scene.control = [push, torque](Simulation& sim) {
      sim.inputs().wrenches.assign(1, Wrench{Vec3(0.0, 0.0, -push), Vec3(0.0, 0.0, torque)});
    };
  struct Seen {
    double turned = 0.0, deepest = 0.0;
  };
  auto seen = std::make_shared<Seen>();
  const double start = scene.model.q0[2];
  scene.observe = [seen](Simulation& sim, const StepReport& report) {
    seen->turned += sim.options().dt * sim.state().v[5];
    seen->deepest = std::max(seen->deepest, report.penetration);
  };
  scene.remember = [seen](Memory& memory) { memory(*seen); };
  scene.judge = [seen, start](Simulation& sim) {
    Outcome outcome;
    outcome.metrics = {{"turns", seen->turned / (2.0 * 3.14159265358979323846)},
                       {"travel_mm", 1e3 * (sim.state().q[2] - start)},
                       {"deepest_um", 1e6 * seen->deepest}};
    outcome.success = seen->deepest < 2e-5;
    return outcome;
  };
  return scene;
}

Scene make_pile(const Values& values, std::uint64_t /*seed*/) {
  Scene scene = begin(make_pile_model(values[0], values[1]), 720);
  scene.judge = [](Simulation& sim) {
    double side = 0.0;
    for (int b = 0; b < 4; ++b) side = std::max(side, sim.state().q.segment<2>(7 * b).norm());
    Outcome outcome;
    outcome.metrics = {{"pot_height_mm", 1e3 * sim.state().q[23]},
                       {"jitter_mm_per_s", 1e3 * liveliness(sim)},
                       {"off_axis_mm", 1e3 * side}};
    outcome.success = liveliness(sim) < 1e-6 && side < 1e-3;
    return outcome;
  };
  return scene;
}

Scene make_bowl_scene(const Values& values, std::uint64_t /*seed*/) {
  return begin(make_bowl_model(0.2, 0.01, values[0], values[1]), 1200);
}

Scene make_pour(const Values& values, std::uint64_t seed) {
  Scene scene = begin(make_pour_model(static_cast<int>(values[0]), values[1], seed), 480);
  scene.judge = [](Simulation& sim) {
    // Outside is what lies beyond the wall below the rim, or under the floor.
    double outside = 0.0;
    for (int b = 0; b < sim.model().num_bodies(); ++b) {
      const Vec3 p = sim.state().q.segment<3>(7 * b);
      const double wall = 0.030 + 0.015 * p.z() / 0.110;
      if (p.z() < 0.0075 || (p.z() < 0.110 && p.head<2>().norm() > wall - 0.004)) outside += 1.0;
    }
    Outcome outcome;
    outcome.metrics = {{"outside", outside}, {"jitter_mm_per_s", 1e3 * liveliness(sim)}};
    outcome.success = outside == 0.0;
    return outcome;
  };
  return scene;
}

Scene make_dishes(const Values& /*values*/, std::uint64_t /*seed*/) {
  Scene scene = begin(make_dishes_model(), 720);
  scene.judge = [](Simulation& sim) {
    const Kinematics& kin = sim.kinematics();
    const auto height = [&](const char* name) { return kin.X_WB[sim.model().body(name)].p.z(); };
    const double bowl = height("bowl1"), second = height("bowl2"), plate = height("plate"), pot = height("pot");
    Outcome outcome;
    outcome.metrics = {{"pot_height_mm", 1e3 * pot}, {"jitter_mm_per_s", 1e3 * liveliness(sim)}};
    outcome.success = bowl < second && second < plate && plate < pot;
    return outcome;
  };
  return scene;
}

Scene make_ball(const Values& values, std::uint64_t /*seed*/) {
  const double restitution = values[1];
  Scene scene = begin(make_ball_model(values[0], 0.0, 0.5, restitution), 480);
  struct Seen {
    double lowest = 1e9, rebound = 0.0;
    bool landed = false;
  };
  auto seen = std::make_shared<Seen>();
  scene.observe = [seen](Simulation& sim, const StepReport& report) {
    const double height = sim.state().q[2] - 0.05;
    seen->lowest = std::min(seen->lowest, height);
    seen->landed = seen->landed || report.active > 0;
    if (seen->landed) seen->rebound = std::max(seen->rebound, height);
  };
  scene.remember = [seen](Memory& memory) { memory(seen->lowest, seen->rebound, seen->landed); };
  scene.judge = [seen](Simulation&) {
    Outcome outcome;
    outcome.metrics = {{"deepest_mm", 1e3 * std::max(0.0, -seen->lowest)}, {"rebound_mm", 1e3 * seen->rebound}};
    outcome.success = seen->landed && seen->lowest > -1e-5;
    return outcome;
  };
  return scene;
}

Scene make_rolling(const Values& values, std::uint64_t /*seed*/) {
  const double speed = values[0];
  Scene scene = begin(make_ball_model(0.0, speed, 0.5, 0.0), 480);
  scene.judge = [speed](Simulation& sim) {
    const double error = sim.state().v[0] - 5.0 / 7.0 * speed;
    Outcome outcome;
    outcome.metrics = {{"speed_m_per_s", sim.state().v[0]}, {"error_m_per_s", error}};
    outcome.success = std::abs(error) < 1e-9;
    return outcome;
  };
  return scene;
}

Scene make_spheres(const Values& values, std::uint64_t seed) {
  const auto count = static_cast<int>(values[0]);
  Scene scene = begin(make_spheres_model(count, seed), 480);
  struct Sums {
    double speed2 = 0.0, held2 = 0.0, depth = 0.0, deepest = 0.0;
    double samples = 0.0, held = 0.0, points = 0.0;
    std::vector<int> supports;
  };
  auto sums = std::make_shared<Sums>();
  scene.observe = [sums, total = scene.steps](Simulation& sim, const StepReport& report) {
    if (sim.state().steps <= total * 3 / 4) return;
    sums->supports.assign(sim.model().bodies.size(), 0);
    for (const ContactPoint& point : sim.last().contacts.points) {
      if (point.gap > 1e-6) continue;
      sums->depth += std::max(0.0, -point.gap);
      sums->points += 1.0;
      for (const int body : {point.body_a, point.body_b})
        if (body >= 0) ++sums->supports[body];
    }
    for (int b = 0; b < sim.model().num_bodies(); ++b) {
      const double speed2 = sim.state().v.segment<3>(6 * b).squaredNorm();
      const bool held = sums->supports[b] >= 3;  // nothing in the law stops a ball that rolls on one or two points
      sums->speed2 += speed2;
      sums->samples += 1.0;
      sums->held2 += held ? speed2 : 0.0;
      sums->held += held ? 1.0 : 0.0;
    }
    sums->deepest = std::max(sums->deepest, report.penetration);
  };
  scene.remember = [sums](Memory& memory) {
    memory(sums->speed2, sums->held2, sums->depth, sums->deepest, sums->samples, sums->held, sums->points);
  };
  scene.judge = [sums](Simulation& sim) {
    Outcome outcome;
    int inside = 0;
    for (int b = 0; b < sim.model().num_bodies(); ++b) inside += sim.state().q[7 * b + 2] > 0.0 ? 1 : 0;
    outcome.metrics = {{"inside", static_cast<double>(inside)}};
    if (sums->samples > 0.0) {  // a short run has no end at rest to measure
      outcome.metrics.push_back({"rms_speed_mm_per_s", 1e3 * std::sqrt(sums->speed2 / sums->samples)});
      outcome.metrics.push_back({"jitter_mm_per_s", 1e3 * std::sqrt(sums->held2 / std::max(1.0, sums->held))});
      outcome.metrics.push_back({"mean_depth_mm", 1e3 * sums->depth / std::max(1.0, sums->points)});
      outcome.metrics.push_back({"deepest_mm", 1e3 * sums->deepest});
    }
    outcome.success = inside == sim.model().num_bodies();
    return outcome;
  };
  return scene;
}

Scene make_cradle(const Values& values, std::uint64_t /*seed*/) {
  Scene scene = begin(make_cradle_model(static_cast<int>(values[0]), values[1]), 120);
  scene.judge = [](Simulation& sim) {
    Outcome outcome;
    for (int b = 0; b < sim.model().num_bodies(); ++b)
      outcome.metrics.push_back({"speed" + std::to_string(b) + "_m_per_s", sim.state().v[6 * b]});
    return outcome;
  };
  return scene;
}

/// Energy at the start and now, relative.
Outcome judge_energy(Simulation& sim, double start, double allowed) {
  const double drift = (sim.energy().total() - start) / std::max(std::abs(start), 1e-12);
  Outcome outcome;
  outcome.metrics = {{"energy_drift", drift}};
  outcome.success = std::abs(drift) < allowed;
  return outcome;
}

Scene with_energy(Model model, int steps, double allowed) {
  Scene scene = begin(std::move(model), steps);
  auto start = std::make_shared<double>(kNaN);
  scene.control = [start](Simulation& sim) {
    if (std::isnan(*start)) *start = sim.energy().total();
  };
  scene.remember = [start](Memory& memory) { memory(*start); };
  scene.judge = [start, allowed](Simulation& sim) { return judge_energy(sim, *start, allowed); };
  return scene;
}

Scene make_four_bar(const Values& values, std::uint64_t /*seed*/) {
  Scene scene = begin(make_four_bar_model(values[0]), 2400);
  auto worst = std::make_shared<double>(0.0);
  scene.observe = [worst](Simulation& sim, const StepReport&) {
    const Closure& pin = sim.model().closures[0];
    const Kinematics& kin = sim.kinematics();
    *worst = std::max(*worst, (kin.X_WB[pin.a] * pin.X_a.p - kin.X_WB[pin.b] * pin.X_b.p).norm());
  };
  scene.remember = [worst](Memory& memory) { memory(*worst); };
  scene.judge = [worst](Simulation&) {
    Outcome outcome;
    outcome.metrics = {{"worst_opening_mm", 1e3 * *worst}};
    outcome.success = *worst < 1e-4;
    return outcome;
  };
  return scene;
}

Scene make_quadrupeds(const Values& values, std::uint64_t seed) {
  Scene scene = begin(make_quadrupeds_model(static_cast<int>(values[0]), seed), 480);
  struct Seen {
    double deepest = 0.0, residual = 0.0, gain = 0.0, energy = 0.0;
  };
  auto seen = std::make_shared<Seen>();
  scene.observe = [seen](Simulation& sim, const StepReport& report) {
    const double energy = sim.energy().total();
    if (sim.state().steps > 1) seen->gain = std::max(seen->gain, energy - seen->energy);
    seen->energy = energy;
    seen->deepest = std::max(seen->deepest, report.penetration);
    seen->residual = std::max(seen->residual, report.residual);
  };
  scene.remember = [seen](Memory& memory) { memory(*seen); };
  scene.judge = [seen](Simulation& sim) {
    Outcome outcome;
    outcome.metrics = {{"deepest_mm", 1e3 * seen->deepest},
                       {"worst_residual", seen->residual},
                       {"largest_energy_gain_J", seen->gain},
                       {"end_energy_J", sim.energy().total()}};
    outcome.success = sim.state().v.allFinite() && liveliness(sim) < 100.0;
    return outcome;
  };
  return scene;
}

std::vector<SceneInfo> list_scenes() {
  const Range count{1.0, 20000.0, true}, not_negative{0.0}, positive{.low = 0.0, .above = true};
  const Parameter mu{"mu", 0.5, "friction coefficient", not_negative};
  return {
      {"slope",
       "a cube on an inclined plane, near the friction angle",
       {{"ratio", 0.95, "tan(angle) / mu", not_negative}, mu, {"speed", 0.0, "start, down the slope [m/s]"}},
       make_slope},
      {"slide",
       "a cube sliding to rest on flat ground",
       {{"ratio", 0.0, "tan(angle) / mu", not_negative}, mu, {"speed", 6.0, "start [m/s]"}},
       make_slope},
      {"tower",
       "light cubes under a heavy one",
       {{"cubes", 10.0, "light cubes of 0.1 kg", count},
        {"top", 5.0, "mass of the one on top [kg]", positive},
        {"mu", 0.6, "friction coefficient", not_negative}},
       make_tower},
      {"gripper",
       "two pads hold a cube by friction, and shake it",
       {{"mass", 0.2, "of the cube [kg]", positive},
        {"squeeze", 1.1, "times the least force that holds", positive},
        {"shake", 0.0, "peak acceleration of the hand [g]"}},
       make_gripper},
      {"cup",
       "the same hand holds a cup full of heavy balls",
       {{"balls", 45.0, "number", count}, {"squeeze", 1.5, "times the least force that holds", positive}},
       make_cup},
      {"dishes", "bowl, bowl, plate and a 5 kg pot on top, made of boxes", {}, make_dishes},
      {"pile",
       "bowl, bowl, plate and a heavy pot, by signed distance functions",
       {{"pot", 5.0, "mass of the pot [kg]"}, {"mu", 0.4, "friction coefficient", not_negative}},
       make_pile},
      {"nut",
       "a nut on its bolt, free to turn",
       {{"size", 48.0, "M48, M20, ... [mm]"},
        {"mu", 0.02, "friction coefficient", not_negative},
        {"push", 0.0, "down along the axis [N]"},
        {"torque", 0.0, "about the axis [N m]"}},
       make_nut},
      {"bowl",
       "a ball in a round bowl",
       {{"angle", 0.5, "up its side [rad]"}, {"mu", 0.5, "friction coefficient", not_negative}},
       make_bowl_scene},
      {"pour", "heavy balls thrown into a cup", {{"balls", 45.0, "number", count}, {"speed", 3.0, "[m/s]"}}, make_pour},
      {"bottle",
       "heavy balls poured from a bottle into a jar",
       {{"balls", 45.0, "number", count}},
       [](const Values& v, std::uint64_t) { return make_bottle_scene(static_cast<int>(v[0])); }},
      {"ball",
       "a ball dropped on the ground",
       {{"height", 0.5, "[m]", not_negative}, {"restitution", 0.0, "0 to 1"}},
       make_ball},
      {"rolling", "a ball thrown along the ground until it rolls", {{"speed", 1.0, "[m/s]"}}, make_rolling},
      {"cradle",
       "balls in a row, hit by the first",
       {{"balls", 5.0, "number", count}, {"gap", 0.0, "between them [m]", not_negative}},
       make_cradle},
      {"spheres",
       "heavy balls of 5 mm radius poured into a box",
       {{"count", 200.0, "number of balls", count}},
       make_spheres},
      {"pendulum",
       "a rod on a hinge",
       {{"angle", 0.5, "from hanging down [rad]"}},
       [](const Values& v, std::uint64_t) { return with_energy(make_pendulum_model(v[0]), 2400, 0.02); }},
      {"top",
       "a box tumbling about its middle axis in free space",
       {},
       [](const Values&, std::uint64_t) { return with_energy(make_top_model(), 2400, 0.01); }},
      {"arm",
       "a limp arm of seven links that whirls in free space",
       {{"speed", 3.0, "of every joint at the start [rad/s]"}},
       [](const Values& v, std::uint64_t) { return with_energy(make_arm_model(v[0]), 2400, 1e-6); }},
      {"chain",
       "a free body with a chain on it, thrown in free space",
       {{"speed", 1.0, "at the start [m/s, rad/s]"}},
       [](const Values& v, std::uint64_t) { return with_energy(make_chain_model(v[0]), 2400, 1e-6); }},
      {"four_bar",
       "a crank that drives a rocker over a closed loop",
       {{"speed", 3.0, "of the crank [rad/s]"}},
       make_four_bar},
      {"painleve",
       "a rod sliding on its tip, rougher than rigid statics allows",
       {{"mu", 1.8, "friction coefficient", not_negative}},
       [](const Values& v, std::uint64_t) { return begin(make_painleve_model(v[0]), 480); }},
      {"hanging_chain",
       "a chain let go sideways: undamped, of short links",
       {{"links", 10.0, "number", count}},
       [](const Values& v, std::uint64_t) { return begin(make_hanging_chain_model(static_cast<int>(v[0])), 2400); }},
      {"sticks",
       "a rod, a wire, a plate and a needle that tumble and fall",
       {{"spin", 10.0, "at the start [rad/s]"}, {"height", 1.0, "above the floor [m]", positive}},
       [](const Values& v, std::uint64_t seed) { return begin(make_sticks_model(v[0], v[1], seed), 1200); }},
      {"joint_stop",
       "an arm that swings into its joint limit",
       {{"speed", 10.0, "[rad/s]"}},
       [](const Values& v, std::uint64_t) { return begin(make_stop_model(v[0]), 240); }},
      {"quadrupeds", "limp four-legged robots dropped in a heap", {{"robots", 8.0, "number", count}}, make_quadrupeds},
      describe_bolt_nut_assembly(),
      describe_bolt_nut_regrasp(),
      describe_dish_piling(),
      describe_pouring(),
  };
}

}  // namespace

bool Range::has(double value) const {
  return (above ? value > low : value >= low) && value <= high && (!whole || value == std::floor(value));
}

std::string expected_text(const Range& range) {
  const Range any;
  const std::string low = to_text(range.low);
  if (range.low == any.low && range.high == any.high) return "a finite value below 1e6";
  if (range.high == any.high) return (range.above ? "> " : ">= ") + low + ", at most 1e6";
  return (range.whole ? "a whole number from " : range.above ? "above " : "") + low + " to " + to_text(range.high);
}

double offset_in_hand(Simulation& sim, const std::string& body) {
  const Kinematics& kin = sim.kinematics();
  return kin.X_WB[sim.model().body(body)].p.z() - kin.X_WB[sim.model().body("hand")].p.z();
}

const std::vector<SceneInfo>& all_scenes() {
  static const std::vector<SceneInfo> scenes = list_scenes();
  return scenes;
}

const SceneInfo& find_scene(const std::string& name) {
  std::vector<std::string> names;
  for (const SceneInfo& info : all_scenes()) {
    if (info.name == name) return info;
    names.push_back(info.name);
  }
  const std::string near = nearest_name(name, names);
  throw Error("no scene is called " + quote(name) +
              (near.empty() ? "; `almond scenes` lists them" : "; did you mean " + quote(near) + "?"));
}

Scene make_scene(const std::string& name, const std::vector<std::pair<std::string, double>>& given,
                 std::uint64_t seed) {
  const SceneInfo& info = find_scene(name);
  Values values;
  std::vector<std::string> names;
  for (const Parameter& parameter : info.parameters) {
    values.push_back(parameter.value);
    names.push_back(parameter.name);
  }
  for (const auto& [key, value] : given) {
    const auto found = std::find(names.begin(), names.end(), key);
    const std::string near = found == names.end() ? nearest_name(key, names) : "";
    require(found != names.end(), "scene " + quote(name) + " has no parameter " + quote(key) +
                                      (near.empty() ? "" : "; did you mean " + quote(near) + "?"));
    const auto i = static_cast<std::size_t>(found - names.begin());
    const Range& range = info.parameters[i].range;
    require(range.has(value),
            "scene " + quote(name) + ": " + key + " is " + to_text(value) + ", expected " + expected_text(range));
    values[i] = value;
  }
  Scene scene = info.make(values, seed);
  scene.name = name;
  scene.model.time_step = scene.options.dt;
  return scene;
}

}  // namespace almond::scenes
