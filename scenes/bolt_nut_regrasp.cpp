// Beyond the paper: the nut is not fixed to the robot. The Panda's own hand holds it by its flats between two fingers,
// turns it by a third of a turn, opens, goes up, turns back, comes down and takes it again.

#include <cmath>
#include <memory>
#include <numbers>

#include "almond/model/thread.hpp"
#include "almond/task/arm.hpp"
#include "scenes/memory.hpp"
#include "scenes/robots.hpp"
#include "scenes/tasks.hpp"

namespace almond::scenes {
namespace {

constexpr double kTurn = 2.0 * std::numbers::pi, kPart = kTurn / 3.0, kFlat = kTurn / 6.0;
constexpr double kDensity = 7850.0;           // of steel [kg/m³]
constexpr double kBoltX = 0.5, kTip = 0.30;   // where the bolt ends [m]
constexpr double kOn = 0.010;                 // how far the nut is on the bolt at the start [m]
constexpr double kUp = 0.040;                 // from the middle of the nut to where fingers clear it [m]
constexpr double kOpen = 0.08, kGrip = 60.0;  // width of the hand [m], force of the fingers [N]

struct RegraspRun {
  Panda panda;
  BodyFrame grip;  // between the finger tips, z out of the hand
  int nut = -1;
  MetricThread thread;
  double speed = 0.0;
  Task task;
  VecX q;                                          // planned, of the whole model
  Pose planned;                                    // of the grip
  PoseTrajectory way;                              // of the present phase
  double base = 0.0;                               // yaw of the hand at the start
  double yaw = 0.0;                                // of the hand, planned
  double turned = 0.0, angle = 0.0, before = 0.0;  // of the nut, screwing on [rad]
  double height = 0.0, slip = 0.0, deepest = 0.0;
};

double yaw_of(const Mat3& R) { return std::atan2(R(1, 0), R(0, 0)); }

Model make_model(const PandaOptions& options, double mu, RegraspRun& run) {
  ModelBuilder builder("bolt_nut_regrasp");
  run.thread = find_thread("M48");
  run.panda = add_panda(builder, options);
  run.grip = {builder.so_far().body("panda_hand_tcp"), {}};
  exclude_overlaps(builder, 0, builder.so_far().num_bodies());
  Material material;
  material.mu = mu;
  const double length = 0.12, top = kTip - length - run.thread.head_height;
  builder.add_ground(Plane{});
  builder.add_ground(Box{Vec3(0.06, 0.06, 0.5 * top)}, make_translation(kBoltX, 0.0, 0.5 * top));
  builder.add_ground(make_sdf_shape(make_bolt(run.thread, {length, 0.10, true})), make_translation(kBoltX, 0.0, kTip),
                     material);
  const SdfShape nut = make_sdf_shape(make_nut(run.thread));
  run.nut = builder.add_solid(
      "nut", nut, solid_properties(nut, kDensity).mass,
      make_rotation(Vec3::UnitZ(), engaged_angle(run.thread, -kOn), Vec3(kBoltX, 0.0, kTip - kOn)), material);
  return builder.build();
}

/// A phase that leads the grip to `end` and keeps the hand open or closed.
Phase move(RegraspRun* r, const std::string& name, double duration, bool closed, std::function<Pose(Simulation&)> end) {
  Phase phase{.name = name, .duration = duration + 0.1};
  phase.begin = [r, duration, end](Simulation& sim) {
    r->way = make_pose_trajectory({r->planned, end(sim)}, {duration});
    r->planned = r->way.points.back();
  };
  phase.act = [r, closed](Simulation& sim, double t) {
    lead_hand(sim, {r->grip, r->panda.drives}, sample(r->way, t + sim.options().dt).X, r->q);
    if (closed) close_with(sim.model(), sim.state(), r->panda.gripper, kGrip, sim.inputs());
    if (!closed) open_to(r->panda.gripper, 0.5 * kOpen, sim.inputs());  // the other finger follows this one
  };
  return phase;
}

/// The grip over the nut, z down, turned to `yaw`, this far above the middle of the nut.
Pose over_nut(Simulation& sim, RegraspRun* r, double yaw, double above) {
  const Pose& X = sim.kinematics().X_WB[r->nut];
  r->yaw = yaw;
  return {make_rotation(Vec3::UnitZ(), yaw).R * make_rotation(Vec3::UnitX(), std::numbers::pi).R,
          Vec3(kBoltX, 0.0, X.p.z() + above)};
}

/// The yaw at which fingers meet flats, nearest to where the next part shall begin.
double yaw_of_flats(Simulation& sim, const RegraspRun* r) {
  const double flats = yaw_of(sim.kinematics().X_WB[r->nut].R) + 0.5 * std::numbers::pi;  // fingers close along y
  const double wanted = r->base + 0.5 * kPart;
  return flats + kFlat * std::round((wanted - flats) / kFlat);
}

void plan(const std::shared_ptr<RegraspRun>& run, const Model& model, int grasps) {
  RegraspRun* const r = run.get();  // lives as long as the phases, which it holds
  Kinematics kinematics;
  compute_kinematics(model, model.q0, VecX::Zero(model.num_v), kinematics);
  r->planned = frame_pose(kinematics, r->grip);
  r->base = yaw_of(r->planned.R);
  r->q = model.q0;
  std::vector<Phase>& phases = r->task.phases;
  for (int i = 1; i <= grasps; ++i) {
    const std::string of = " " + std::to_string(i);
    phases.push_back(move(r, i == 1 ? "approach" : "turn back" + of, i == 1 ? 2.0 : 1.6 * kPart / r->speed, false,
                          [r](Simulation& sim) { return over_nut(sim, r, yaw_of_flats(sim, r), kUp); }));
    phases.push_back(move(r, "lower" + of, 0.6, false, [r](Simulation& sim) { return over_nut(sim, r, r->yaw, 0.0); }));
    phases.push_back(move(r, "close" + of, 0.4, true, [r](Simulation&) { return r->planned; }));
    Phase turn = move(r, "turn" + of, 1.9 * kPart / r->speed, true, [r](Simulation& sim) {
      r->before = r->turned;
      return over_nut(sim, r, r->yaw - kPart, -r->thread.pitch * kPart / kTurn);
    });
    turn.check = [r](Simulation&) {
      const double slip = kPart - (r->turned - r->before);
      r->slip = std::max(r->slip, std::abs(slip));
      return std::vector<Check>{{"slip_mrad", 1e3 * slip, -20.0, 20.0}};
    };
    phases.push_back(turn);
    phases.push_back(move(r, "open" + of, 0.3, false, [r](Simulation&) { return r->planned; }));
    phases.push_back(move(r, "lift" + of, 0.6, false, [r](Simulation& sim) { return over_nut(sim, r, r->yaw, kUp); }));
  }
  phases.back().check = [r](Simulation& sim) {
    const Pose& X = sim.kinematics().X_WB[r->nut];
    const double travel = r->height - X.p.z(), turns = r->turned / kTurn;
    return std::vector<Check>{{"pitch_error_percent", 100.0 * (travel / (turns * r->thread.pitch) - 1.0), -3.0, 3.0},
                              {"deepest_um", 1e6 * r->deepest, 0.0, 100.0}};
  };
}

Scene make_regrasp(const std::vector<double>& given, std::uint64_t /*seed*/) {
  const auto run = std::make_shared<RegraspRun>();
  run->speed = given[1];
  PandaOptions options;
  options.hand = true;
  make_stiff(options);
  Scene scene;
  scene.name = "bolt_nut_regrasp";
  scene.model = make_model(options, given[2], *run);
  scene.options.collision.max_points_per_sdf_pair = 48;  // flats of a nut need few, a held thread not many more
  run->height = scene.model.q0[scene.model.joints[run->nut].q_begin + 2];
  plan(run, scene.model, static_cast<int>(given[0]));
  double seconds = 0.1;
  for (const Phase& phase : run->task.phases) seconds += phase.duration;
  scene.steps = static_cast<int>(std::ceil(seconds / scene.options.dt));
  scene.has_task = true;
  scene.control = [run](Simulation& sim) { advance(run->task, sim); };
  scene.observe = [run](Simulation& sim, const StepReport& report) {
    const double angle = yaw_of(sim.kinematics().X_WB[run->nut].R);
    if (sim.state().steps > 1) run->turned -= std::remainder(angle - run->angle, kTurn);  // clockwise from above
    run->angle = angle;
    run->deepest = std::max(run->deepest, report.penetration);
  };
  scene.remember = [run](Memory& memory) {
    memory(run->task, run->q, run->planned, run->way, run->yaw, run->turned, run->angle, run->before, run->slip,
           run->deepest);
  };
  scene.judge = [run](Simulation& sim) {
    advance(run->task, sim);
    Outcome outcome;
    outcome.success = run->task.done();
    outcome.reached = describe(run->task);
    outcome.metrics = {{"turns", run->turned / kTurn},
                       {"travel_mm", 1e3 * (run->height - sim.kinematics().X_WB[run->nut].p.z())},
                       {"slip_mrad", 1e3 * run->slip},
                       {"deepest_um", 1e6 * run->deepest}};
    return outcome;
  };
  std::vector<Look> nut;
  paint(scene.model, run->nut, kZinc, nut);
  scene.make_looks = [options, nut] {
    std::vector<Look> looks = panda_looks(options);
    looks.insert(looks.end(), nut.begin(), nut.end());
    return looks;
  };
  return scene;
}

}  // namespace

SceneInfo describe_bolt_nut_regrasp() {
  return {"bolt_nut_regrasp",
          "a Panda screws an M48 nut on by hand, a third of a turn at a time (needs example-robot-data)",
          {{"grasps", 3.0, "number", {1.0, 20.0, true}},
           {"speed", 2.0, "of the hand [rad/s]", {0.1, 2.6}},
           {"mu", 0.2, "of nut and bolt", {0.0}}},
          make_regrasp};
}

}  // namespace almond::scenes
