#include "scenes/pouring.hpp"

#include <algorithm>
#include <cmath>
#include <memory>
#include <numbers>

#include "almond/base/check.hpp"
#include "almond/model/profile.hpp"
#include "scenes/bottle.hpp"
#include "scenes/memory.hpp"
#include "scenes/pouring_task.hpp"
#include "scenes/robots.hpp"
#include "scenes/tasks.hpp"

namespace almond::scenes {
namespace {

constexpr double kPelvis = 0.793;  // height of a G1 that stands [m]
constexpr double kWall = 0.003, kShoulder = 0.095, kNeckBegin = 0.125;
constexpr double kJarFoot = 0.045, kJarWall = 0.004;
constexpr int kMostBalls = 60;                       // more of them would leave the bottle on the way
constexpr double kBottleMass = 0.1, kJarMass = 0.3;  // [kg]

/// Hands above the table, out of the way.
G1Options g1_options(double finger_stiffness) {
  return {make_translation(0.0, 0.0, kPelvis),
          {0.1, 0.5, 0.0, -0.3, 0.0, 0.0, 0.0},
          {0.1, -0.4, 0.0, -0.3, 0.0, 0.0, 0.0},
          finger_stiffness};
}

/// A body and a long shoulder, so that nothing stays behind it when the bottle is tilted.
SdfPtr make_pouring_bottle() {
  constexpr double d = 0.5 * kWall;
  return make_dish({{0.0, d},
                    {kBottleRadius - d, d},
                    {kBottleRadius - d, kShoulder},
                    {kNeckRadius - d, kNeckBegin},
                    {kNeckRadius - d, kBottleHeight - d}},
                   d);
}

Model make_model(Pouring& p) {
  ModelBuilder builder("pouring");
  p.g1 = add_g1(builder, g1_options(p.options.stiffness));
  exclude_overlaps(builder, p.g1.first_body, p.g1.end_body);
  const Material glass{0.6, 0.0}, steel{0.3, 0.0};
  builder.add_ground(Plane{});
  builder.add_ground(Box{{0.17, 0.40, 0.02}}, make_translation(0.37, 0.0, kTable - 0.02));
  constexpr double kLeg = (kTable - 0.04) / 2.0;
  for (const double x : {-0.14, 0.14})
    for (const double y : {-0.37, 0.37})
      builder.add_ground(Box{{0.015, 0.015, kLeg}}, make_translation(0.37 + x, y, kLeg));
  p.bottle = builder.add_solid("bottle", make_sdf_shape(make_pouring_bottle()), kBottleMass,
                               make_translation(kBottleAt), glass);
  p.jar = builder.add_solid("jar", make_sdf_shape(make_cup(kJarFoot, kJarRim, kJarHeight, kJarWall)), kJarMass,
                            make_translation(kJarAt), glass);
  const std::vector<Vec3> places = make_ball_layers(kBottleRadius - kWall, kWall, p.options.balls);
  for (int i = 0; i < p.options.balls; ++i)
    builder.add_solid("ball" + std::to_string(i), Sphere{kBallRadius}, kBallMass,
                      make_translation(kBottleAt + places[i]), steel);
  return builder.build();
}

/// How far the bottle has moved in the hand.
void watch_grasp(Pouring& p, Simulation& sim) {
  const Kinematics& kin = sim.kinematics();
  const Pose X_PB = kin.X_WB[p.g1.right.palm].inverse() * kin.X_WB[p.bottle];
  const Vec3 middle(0.0, 0.0, kGraspHeight);
  p.slip = std::max(p.slip, (X_PB * middle - p.X_PB * middle).norm());
  p.turn = std::max(p.turn, log_so3(X_PB.R * p.X_PB.R.transpose()).norm());
}

Outcome judge(const Pouring& p, Simulation& sim) {
  const PouringCount count = count_balls(sim);
  Outcome outcome;
  outcome.metrics = {
      {"in_jar", static_cast<double>(count.in_jar)},   {"in_bottle", static_cast<double>(count.in_bottle)},
      {"spilled", static_cast<double>(count.spilled)}, {"slip_mm", 1e3 * p.slip},
      {"slip_deg", p.turn * 180.0 / std::numbers::pi}, {"deepest_um", 1e6 * p.deepest}};
  outcome.reached = describe(p.task);
  outcome.success = p.task.done() && count.spilled == 0;
  return outcome;
}

}  // namespace

PouringCount count_balls(Simulation& sim) {
  const Model& model = sim.model();
  const Kinematics& kin = sim.kinematics();
  const int bottle = model.body("bottle"), jar = model.body("jar");
  const auto is_in = [&](int vessel, const Vec3& p, double radius, double height) {
    const Vec3 at = kin.X_WB[vessel].inverse() * p;
    return at.head<2>().norm() < radius && at.z() > 0.0 && at.z() < height;
  };
  PouringCount count;
  for (int b = jar + 1; b < model.num_bodies(); ++b) {
    const Vec3& p = kin.X_WB[b].p;
    const bool in_jar = is_in(jar, p, kJarRim, kJarHeight), in_bottle = is_in(bottle, p, kBottleRadius, kBottleHeight);
    ++(in_jar ? count.in_jar : in_bottle ? count.in_bottle : count.spilled);
  }
  return count;
}

bool is_bottle_lifted(Simulation& sim) {
  return sim.kinematics().X_WB[sim.model().body("bottle")].p.z() > kTable + 0.005;
}

Scene make_pouring_scene(const PouringOptions& options) {
  require(
      options.balls >= 1 && options.balls <= kMostBalls,
      "scene \"pouring\": balls is " + std::to_string(options.balls) + ", expected 1 to " + std::to_string(kMostBalls));
  require(options.grip > 0.0 && std::isfinite(options.grip),
          "scene \"pouring\": grip is " + to_text(options.grip) + ", expected > 0");
  require(options.stiffness > 0.0 && std::isfinite(options.stiffness),
          "scene \"pouring\": stiffness is " + to_text(options.stiffness) + ", expected > 0");
  auto p = std::make_shared<Pouring>();
  p->options = options;
  Scene scene;
  scene.name = "pouring";
  scene.model = make_model(*p);
  scene.options.collision.max_points_per_sdf_pair = 24;  // round feet and fingers need no more
  p->task = make_pouring_task(p.get());
  double duration = 0.0;
  for (const Phase& phase : p->task.phases) duration += phase.duration;
  scene.steps = static_cast<int>(std::lround(duration / scene.options.dt)) + 1;
  scene.has_task = true;
  scene.control = [p](Simulation& sim) {
    if (sim.state().steps == 0) {  // a run begins, perhaps not the first one
      p->task = make_pouring_task(p.get());
      p->held = false;
      p->slip = p->turn = p->deepest = 0.0;
    }
    advance(p->task, sim);
  };
  scene.observe = [p](Simulation& sim, const StepReport& report) {
    p->deepest = std::max(p->deepest, report.penetration);
    if (p->held) watch_grasp(*p, sim);
  };
  scene.remember = [p](Memory& memory) {
    memory(p->task, p->q, p->tool, p->way, p->joint_way, p->ik_error, p->held, p->X_PB, p->slip, p->turn, p->deepest);
  };
  scene.judge = [p](Simulation& sim) { return judge(*p, sim); };
  scene.make_looks = [options] { return g1_looks(g1_options(options.stiffness)); };
  return scene;
}

SceneInfo describe_pouring() {
  const PouringOptions defaults;
  return {"pouring",
          "a humanoid takes a bottle of heavy balls and pours them into a jar (needs example-robot-data)",
          {{"balls", static_cast<double>(defaults.balls), "number", {1.0, kMostBalls, true}},
           {"grip", defaults.grip, "torque of a finger [N m]", {.low = 0.0, .high = 10.0, .above = true}},
           {"stiffness",
            defaults.stiffness,
            "of the finger joints [N m/rad]",
            {.low = 0.0, .high = 1000.0, .above = true}}},
          [](const std::vector<double>& v, std::uint64_t) {
            return make_pouring_scene({static_cast<int>(v[0]), v[1], v[2]});
          }};
}

}  // namespace almond::scenes
