#include "scenes/pouring.hpp"

#include <algorithm>
#include <cmath>
#include <memory>

#include "almond/base/check.hpp"
#include "almond/model/profile.hpp"
#include "almond/task/inverse_kinematics.hpp"
#include "almond/task/phases.hpp"
#include "scenes/bottle.hpp"
#include "scenes/g1.hpp"
#include "scenes/robots.hpp"
#include "scenes/tasks.hpp"

namespace almond::scenes {
namespace {

// Sizes [m]. x is to the front of the robot, y to its left.
constexpr double kPelvis = 0.793, kTable = 0.82;
constexpr double kRadius = 0.030, kNeck = 0.023, kShoulder = 0.095, kNeckBegin = 0.125, kHeight = 0.150, kWall = 0.003;
constexpr double kJarFoot = 0.045, kJarRim = 0.060, kJarHeight = 0.080, kJarWall = 0.004;
constexpr double kBottleMass = 0.1, kJarMass = 0.3;  // [kg]
const Vec3 kBottleAt(0.31, -0.12, kTable), kJarAt(0.31, 0.10, kTable);
// The hand: turned to the left, as the arm comes from the right; where the axis of the bottle lies in it.
constexpr double kYaw = 0.3;
const Vec3 kInPalm(0.066, 0.056, 0.0);
constexpr double kGraspHeight = 0.062, kAside = 0.09, kLift = 0.10;
// Pouring: over the jar with the bottle tilted so far that nothing leaves it yet, then on about the lip.
constexpr double kLipClearance = 0.045, kLipBefore = 0.02;  // above and before the middle of the jar [m]
constexpr double kReady = 1.05, kTilted = 2.25;             // [rad]
// Joints of the arms at the start [rad].
const std::vector<double> kLeftStart = {0.1, 0.5, 0.0, -0.3, 0.0, 0.0, 0.0};
const std::vector<double> kRightStart = {0.1, -0.4, 0.0, -0.3, 0.0, 0.0, 0.0};
constexpr double kThumbOpen = 0.5;
// Torques of the finger joints as parts of the grip, thumb first. Outer joints have less, or they would push the inner
// ones open; the thumb stands against two fingers.
constexpr double kShares[] = {0.0, 2.0, 0.8, 1.0, 0.4, 1.0, 0.4};

G1Options g1_options() { return {make_translation(0.0, 0.0, kPelvis), kLeftStart, kRightStart}; }

Mat3 yawed() { return exp_so3(Vec3(0.0, 0.0, kYaw)); }
Vec3 pour_direction() { return yawed().col(1); }

/// What all phases share.
struct Pouring {
  PouringOptions options;
  G1 g1;
  int bottle = -1;
  Task task;
  VecX q;                 // that the drives are told
  BodyFrame tool;         // what is led: the palm, later the lip of the bottle
  PoseTrajectory way;     // of the tool
  double ik_error = 0.0;  // largest [m]
  Pose X_PB;              // bottle in the hand when it was lifted
  bool held = false;
  double slip = 0.0, turn = 0.0;  // largest, from there [m, rad]
  double deepest = 0.0;           // [m]
};

Model make_model(Pouring& p) {
  ModelBuilder builder("pouring");
  p.g1 = add_g1(builder, g1_options());
  exclude_overlaps(builder, p.g1.first_body, p.g1.end_body);
  const Material glass{0.6, 0.0}, steel{0.3, 0.0};
  builder.add_ground(Plane{});
  builder.add_ground(Box{{0.17, 0.40, 0.02}}, make_translation(0.37, 0.0, kTable - 0.02));
  constexpr double d = 0.5 * kWall;
  const SdfShape bottle = make_sdf_shape(make_dish(
      {{0.0, d}, {kRadius - d, d}, {kRadius - d, kShoulder}, {kNeck - d, kNeckBegin}, {kNeck - d, kHeight - d}}, d));
  p.bottle = builder.add_solid("bottle", bottle, kBottleMass, make_translation(kBottleAt), glass);
  builder.add_solid("jar", make_sdf_shape(make_cup(kJarFoot, kJarRim, kJarHeight, kJarWall)), kJarMass,
                    make_translation(kJarAt), glass);
  const std::vector<Vec3> places = make_ball_layers(kRadius - kWall, kWall, p.options.balls);
  for (int i = 0; i < p.options.balls; ++i)
    builder.add_solid("ball" + std::to_string(i), Sphere{kBallRadius}, kBallMass,
                      make_translation(kBottleAt + places[i]), steel);
  return builder.build();
}

/// Leads the tool along its way: inverse kinematics from one step to the next.
void lead(Pouring& p, Simulation& sim, double t) {
  const double dt = sim.options().dt;
  IkOptions options;
  options.position_tol = options.rotation_tol = 1e-6;
  options.restarts = 0;
  options.max_iterations = 20;
  const IkResult ik = solve_ik(sim.model(), p.q, p.g1.right.joints, {{p.tool, sample(p.way, t + dt).X}}, options);
  const VecX now = positions_of(sim.model(), ik.q, p.g1.right.joints),
             before = positions_of(sim.model(), p.q, p.g1.right.joints);
  set_targets(p.g1.right.drives, now, (now - before) / dt, sim.inputs());
  p.ik_error = std::max(p.ik_error, ik.position_error);
  p.q = ik.q;
}

/// Where the drives want the tool to be.
Pose commanded(const Pouring& p, const Model& model) {
  Kinematics kinematics;
  compute_kinematics(model, p.q, VecX::Zero(model.num_v), kinematics);
  return frame_pose(kinematics, p.tool);
}

/// A phase that leads the tool through poses, the first one from where it is.
Phase lead_phase(const std::string& name, const std::shared_ptr<Pouring>& p, double duration, double wait,
                 std::function<Pose(const Pose&)> goal, std::function<std::vector<Check>(Simulation&)> check) {
  Phase phase;
  phase.name = name;
  phase.duration = duration + wait;
  phase.begin = [p, duration, goal](Simulation& sim) {
    const Pose from = commanded(*p, sim.model());
    p->way = make_pose_trajectory({from, goal(from)}, {duration});
  };
  phase.act = [p](Simulation& sim, double t) { lead(*p, sim, t); };
  phase.check = std::move(check);
  return phase;
}

Pose grasp_pose() {
  const Mat3 R = yawed();
  return {R, kBottleAt + Vec3(0.0, 0.0, kGraspHeight) - R * kInPalm};
}

/// To a place beside the bottle, where the open hand can be pushed over it.
Phase reach_phase(const std::shared_ptr<Pouring>& p) {
  constexpr double kDuration = 1.2;
  auto way = std::make_shared<JointTrajectory>();
  Phase phase;
  phase.name = "reach";
  phase.duration = kDuration;
  phase.begin = [p, way](Simulation& sim) {
    const G1Arm& arm = p->g1.right;
    p->q = sim.state().q;
    p->tool = {arm.palm, {}};
    Pose X = grasp_pose();
    X.p -= kAside * X.R.col(1);
    const IkResult ik = solve_ik(sim.model(), p->q, arm.joints, {{p->tool, X}});
    p->ik_error = std::max(p->ik_error, ik.position_error);
    *way = make_joint_trajectory(
        {positions_of(sim.model(), p->q, arm.joints), positions_of(sim.model(), ik.q, arm.joints)}, {kDuration});
    p->q = ik.q;
    sim.inputs().target[arm.fingers[1]] = kThumbOpen;
  };
  phase.act = [p, way](Simulation& sim, double t) {
    follow(*way, t + sim.options().dt, p->g1.right.drives, sim.inputs());
  };
  return phase;
}

/// Fingers close with torques that they keep from then on.
Phase grasp_phase(const std::shared_ptr<Pouring>& p) {
  Phase phase;
  phase.name = "grasp";
  phase.duration = 0.8;
  phase.act = [p](Simulation& sim, double) {
    const G1Arm& arm = p->g1.right;
    for (std::size_t k = 0; k < arm.fingers.size(); ++k)
      if (arm.closing[k] != 0.0)
        close_with(sim.model(), sim.state(), Gripper{{{arm.fingers[k], 0.0, arm.closing[k]}}},
                   kShares[k] * p->options.grip, sim.inputs());
  };
  return phase;
}

Pose pose_of(Simulation& sim, int body) { return sim.kinematics().X_WB[body]; }

/// The bottle is in the hand: from now on its lip is led.
void take(Pouring& p, Simulation& sim) {
  p.X_PB = pose_of(sim, p.g1.right.palm).inverse() * pose_of(sim, p.bottle);
  p.held = true;
  const Mat3 R = pose_of(sim, p.bottle).R;
  p.tool.X_BF = p.X_PB * Pose{R.transpose(), R.transpose() * (kNeck * pour_direction()) + kHeight * Vec3::UnitZ()};
}

Pose over_jar(double tilt) {
  const Vec3 lip = kJarAt + Vec3(0.0, 0.0, kJarHeight + kLipClearance) - kLipBefore * pour_direction();
  return make_rotation(yawed().col(0), -tilt, lip);
}

Task make_task(const std::shared_ptr<Pouring>& p) {
  const auto holds = [p](Simulation& sim) {
    static_cast<void>(sim);
    return std::vector<Check>{{"slip_mm", 1e3 * p->slip, 0.0, 5.0}, {"ik_error_mm", 1e3 * p->ik_error, 0.0, 1.0}};
  };
  const auto lifted = [p, holds](Simulation& sim) {
    std::vector<Check> checks = holds(sim);
    checks.push_back({"lift_mm", 1e3 * (pose_of(sim, p->bottle).p.z() - kTable), 900.0 * kLift});
    return checks;
  };
  const auto poured = [p, holds](Simulation& sim) {
    std::vector<Check> checks = holds(sim);
    checks.push_back({"in_jar", static_cast<double>(count_balls(sim).in_jar), std::ceil(0.9 * p->options.balls)});
    return checks;
  };
  Task task;
  task.phases.push_back(reach_phase(p));
  task.phases.push_back(lead_phase(
      "approach", p, 0.8, 0.0, [](const Pose&) { return grasp_pose(); },
      [p](Simulation& sim) {
        const Vec3 moved = pose_of(sim, p->bottle).p - kBottleAt;
        return std::vector<Check>{{"pushed_mm", 1e3 * moved.norm(), 0.0, 5.0}};
      }));
  task.phases.push_back(grasp_phase(p));
  Phase lift = lead_phase(
      "lift", p, 0.8, 0.1, [](const Pose& X) { return make_translation(0.0, 0.0, kLift) * X; }, lifted);
  lift.begin = [p, begin = lift.begin](Simulation& sim) {
    take(*p, sim);
    begin(sim);
  };
  task.phases.push_back(lift);
  task.phases.push_back(lead_phase(
      "carry", p, 1.4, 0.1, [](const Pose&) { return over_jar(kReady); }, holds));
  task.phases.push_back(lead_phase(
      "pour", p, 1.6, 0.8, [](const Pose&) { return over_jar(kTilted); }, poured));
  task.phases.push_back(lead_phase(
      "return", p, 1.4, 0.1,
      [](const Pose&) {
        return make_translation(kBottleAt + kNeck * pour_direction() + Vec3(0.0, 0.0, kHeight + kLift));
      },
      poured));
  return task;
}

}  // namespace

PouringCount count_balls(Simulation& sim) {
  const Model& model = sim.model();
  const int bottle = model.body("bottle"), jar = model.body("jar");
  PouringCount count;
  const auto is_in = [&](int vessel, const Vec3& p, double radius, double height) {
    const Vec3 at = pose_of(sim, vessel).inverse() * p;
    return at.head<2>().norm() < radius && at.z() > 0.0 && at.z() < height;
  };
  for (int b = jar + 1; b < model.num_bodies(); ++b) {
    const Vec3 p = pose_of(sim, b).p;
    const bool in_jar = is_in(jar, p, kJarRim, kJarHeight), in_bottle = is_in(bottle, p, kRadius, kHeight);
    ++(in_jar ? count.in_jar : in_bottle ? count.in_bottle : count.spilled);
  }
  return count;
}

Scene make_pouring_scene(const PouringOptions& options) {
  constexpr int kMost = 60;  // more of them would leave the bottle on the way
  require(options.balls >= 1 && options.balls <= kMost,
          "scene \"pouring\": balls is " + std::to_string(options.balls) + ", expected 1 to " + std::to_string(kMost));
  require(options.grip > 0.0 && std::isfinite(options.grip),
          "scene \"pouring\": grip is " + to_text(options.grip) + ", expected > 0");
  auto p = std::make_shared<Pouring>();
  p->options = options;
  Scene scene;
  scene.name = "pouring";
  scene.model = make_model(*p);
  scene.options.collision.max_points_per_sdf_pair = 24;  // round feet and fingers need no more
  double duration = 0.0;
  for (const Phase& phase : make_task(p).phases) duration += phase.duration;
  scene.steps = static_cast<int>(std::lround(duration / scene.options.dt)) + 1;
  scene.control = [p](Simulation& sim) {
    if (sim.state().steps == 0) {
      p->task = make_task(p);
      p->held = false;
      p->slip = p->turn = p->deepest = p->ik_error = 0.0;
    }
    advance(p->task, sim);
  };
  scene.observe = [p](Simulation& sim, const StepReport& report) {
    p->deepest = std::max(p->deepest, report.penetration);
    if (!p->held) return;
    const Pose X_PB = pose_of(sim, p->g1.right.palm).inverse() * pose_of(sim, p->bottle);
    const Vec3 middle(0.0, 0.0, kGraspHeight);
    p->slip = std::max(p->slip, (X_PB * middle - p->X_PB * middle).norm());
    p->turn = std::max(p->turn, std::acos(std::clamp(X_PB.R.col(2).dot(p->X_PB.R.col(2)), -1.0, 1.0)));
  };
  scene.judge = [p](Simulation& sim) {
    const PouringCount count = count_balls(sim);
    Outcome outcome;
    outcome.metrics = {{"in_jar", static_cast<double>(count.in_jar)},
                       {"in_bottle", static_cast<double>(count.in_bottle)},
                       {"spilled", static_cast<double>(count.spilled)},
                       {"slip_mm", 1e3 * p->slip},
                       {"slip_deg", p->turn * 180.0 / 3.14159265358979323846},
                       {"ik_error_mm", 1e3 * p->ik_error},
                       {"deepest_um", 1e6 * p->deepest}};
    outcome.reached = describe(p->task);
    outcome.success = p->task.done() && count.spilled == 0;
    return outcome;
  };
  scene.make_looks = [] { return g1_looks(g1_options()); };
  return scene;
}

SceneInfo describe_pouring() {
  const PouringOptions defaults;
  return {"pouring",
          "a humanoid takes a bottle of heavy balls and pours them into a jar",
          {{"balls", static_cast<double>(defaults.balls), "how many, 60 at most"},
           {"grip", defaults.grip, "torque of a finger [N m]"}},
          [](const std::vector<double>& v, std::uint64_t) {
            return make_pouring_scene({static_cast<int>(v[0]), v[1]});
          }};
}

}  // namespace almond::scenes
