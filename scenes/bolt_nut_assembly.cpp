// The paper's assembly (Sec. VII-A): a Panda arm, on its flange an actuator that turns without end, and on that,
// between two fingers, an M48 nut. Joint impedance control follows a planned way: over the bolt, down onto it, then
// turning while going down a pitch a turn. What the plan does not know (where the thread begins, by how much the bolt
// stands beside where it should) the compliance of the arm has to find.

#include <cmath>
#include <memory>
#include <numbers>

#include "almond/base/check.hpp"
#include "almond/model/thread.hpp"
#include "almond/task/arm.hpp"
#include "scenes/memory.hpp"
#include "scenes/robots.hpp"
#include "scenes/tasks.hpp"

namespace almond::scenes {
namespace {

constexpr double kTurn = 2.0 * std::numbers::pi;
constexpr double kDensity = 7850.0;                         // of steel [kg/m³]
constexpr double kBoltX = 0.5, kTip = 0.30;                 // where the bolt ends [m]
constexpr double kBoltLength = 0.12, kThreadLength = 0.10;  // without the head [m]
constexpr double kClear = 0.03;                             // of the nut above the bolt, before it is lowered [m]
constexpr double kPress = 3.0;  // down while it turns [N]: more would push it off the axis before the thread catches
constexpr double kYield = 0.3;  // in which the arm gives way to a sideways push [s]
constexpr double kHousing = 0.05, kPalm = 0.016, kFinger = 0.07;  // lengths along the axis [m]
constexpr double kMostTorque = 7.0, kMostSpeed = 3.3;             // of the actuator [N m, rad/s]

struct Values {
  double turns, speed, mu;
  Vec2 miss;  // of the bolt, from where the robot expects it
};

/// The arm and what it holds.
struct Cell {
  Panda panda;
  int turn_joint = -1, turn_drive = -1, nut = -1;
  BodyFrame held;  // middle of the nut, in what does not turn; z down
  MetricThread thread;
};

void add_part(ModelBuilder& builder, int body, const Shape& shape, const Vec3& at, double mu) {
  GeomSpec geom;
  geom.body = body;
  geom.shape = shape;
  geom.X_BG = make_translation(at);
  geom.material.mu = mu;
  builder.add_geom(geom);
}

int add_body(ModelBuilder& builder, const std::string& name, int parent, const Joint& joint, double mass,
             const Vec3& com, const Mat3& inertia) {
  BodySpec spec;
  spec.name = name;
  spec.parent = parent;
  spec.joint = joint;
  spec.mass = mass;
  spec.com = com;
  spec.inertia = inertia;
  return builder.add_body(spec);
}

/// The actuator, the palm it turns, and the nut between two fingers, all along z of the flange.
void add_tool(ModelBuilder& builder, const Values& values, Cell& cell) {
  const auto fixed = [](const Vec3& at) { return make_joint(JointKind::kFixed, Vec3::UnitZ(), make_translation(at)); };
  const int housing = add_body(builder, "actuator", cell.panda.flange, fixed(Vec3::Zero()), 0.33,
                               Vec3(0.0, 0.0, 0.5 * kHousing), Vec3(3e-4, 3e-4, 2e-4).asDiagonal());
  add_part(builder, housing, Cylinder{0.035, 0.5 * kHousing}, Vec3(0.0, 0.0, 0.5 * kHousing), values.mu);
  const int palm =
      add_body(builder, "palm", housing,
               make_joint(JointKind::kContinuous, Vec3::UnitZ(), make_translation(0.0, 0.0, kHousing), "turn"), 0.3,
               Vec3(0.0, 0.0, 0.02), Vec3(3e-4, 4e-4, 3e-4).asDiagonal());
  const double half = 0.5 * cell.thread.across_flats, middle = kPalm + kFinger - 0.5 * cell.thread.nut_height;
  add_part(builder, palm, Box{Vec3(half + 0.01, 0.015, 0.5 * kPalm)}, Vec3(0.0, 0.0, 0.5 * kPalm), values.mu);
  for (const double side : {1.0, -1.0})
    add_part(builder, palm, Box{Vec3(0.005, 0.012, 0.5 * kFinger)},
             Vec3(side * (half + 0.005), 0.0, kPalm + 0.5 * kFinger), values.mu);
  const SdfShape nut = make_sdf_shape(make_nut(cell.thread));
  const MassProperties solid = solid_properties(nut, kDensity);
  cell.nut = add_body(builder, "nut", palm, fixed(Vec3(0.0, 0.0, middle)), solid.mass, solid.com, solid.inertia);
  add_part(builder, cell.nut, nut, Vec3::Zero(), values.mu);
  cell.turn_joint = palm;
  cell.turn_drive = add_impedance_drive(builder, palm, {100.0, 2.0, kMostTorque}, 0.0);
  cell.held = {housing, make_translation(0.0, 0.0, kHousing + middle)};
}

Model make_model(const Values& values, const PandaOptions& options, Cell& cell) {
  ModelBuilder builder("bolt_nut_assembly");
  cell.thread = find_thread("M48");
  cell.panda = add_panda(builder, options);
  add_tool(builder, values, cell);
  exclude_overlaps(builder, 0, builder.so_far().num_bodies());
  builder.add_ground(Plane{});
  const double top = kTip - kBoltLength - cell.thread.head_height;
  const Vec3 place(kBoltX + values.miss.x(), values.miss.y(), 0.0);
  builder.add_ground(Box{Vec3(0.06, 0.06, 0.5 * top)}, make_translation(place + Vec3(0.0, 0.0, 0.5 * top)));
  Material material;
  material.mu = values.mu;
  builder.add_ground(make_sdf_shape(make_bolt(cell.thread, {kBoltLength, kThreadLength, true})),
                     make_translation(place + Vec3(0.0, 0.0, kTip)), material);
  return builder.build();
}

/// What the run is judged by.
struct Seen {
  double turned = 0.0;  // of the nut about the bolt, screwing on [rad]
  double angle = 0.0;   // of the last step
  double begin_turned = 0.0, begin_height = 0.0;
  double turns = kNaN, travel = kNaN, tilt = kNaN, offset = kNaN;  // of the screwing
  double deepest = 0.0, torque = 0.0, force = 0.0;
};

struct AssemblyRun {
  Cell cell;
  Values values;
  Task task;
  Seen seen;
  VecX q;                        // planned, of the whole model
  Mat3 down = Mat3::Identity();  // axes of the held frame
  double contact = 0.0;          // height of the nut's middle where it first stands on the bolt
  double planned_angle = 0.0;    // of the actuator at the start of a phase
  double planned_height = 0.0;
  Vec2 place = Vec2(kBoltX, 0.0);  // where the axis is aimed at
};

double height_of(Simulation& sim, const AssemblyRun& run) { return sim.kinematics().X_WB[run.cell.nut].p.z(); }

/// Of the actuator in the last step [N m].
double torque_of(const Simulation& sim, const AssemblyRun& run) {
  return sim.state().impulse_of(RowTag{RowRole::kDrive, run.cell.turn_drive, 0}.key()) / sim.options().dt;
}

/// Targets for the held frame at this height over the planned place of the bolt, and for the actuator.
void aim(Simulation& sim, AssemblyRun& run, double height, double angle, double speed) {
  lead_hand(sim, {run.cell.held, run.cell.panda.drives}, {run.down, Vec3(run.place.x(), run.place.y(), height)}, run.q);
  sim.inputs().target[run.cell.turn_drive] = angle;
  sim.inputs().target_velocity[run.cell.turn_drive] = speed;
}

/// Angle and rate of a turn that speeds up evenly for a quarter of a second.
std::pair<double, double> turn_at(double speed, double t) {
  constexpr double kRamp = 0.25;
  if (t < kRamp) return {0.5 * speed * t * t / kRamp, speed * t / kRamp};
  return {speed * (t - 0.5 * kRamp), speed};
}

/// What pushes the nut sideways moves the place aimed at: the bolt leads, the arm follows.
void give_way(Simulation& sim, AssemblyRun& run) {
  const Vec2 is = frame_pose(sim.kinematics(), run.cell.held).p.head<2>();
  run.place += std::min(1.0, sim.options().dt / kYield) * (is - run.place);
}

void press(Simulation& sim, const AssemblyRun& run) {
  push_arm(sim, run.cell.panda, run.cell.held, Vec3(0.0, 0.0, -kPress));
}

void watch(Simulation& sim, const StepReport& report, AssemblyRun& run) {
  Seen& seen = run.seen;
  const Mat3 R = sim.kinematics().X_WB[run.cell.nut].R;
  const double angle = std::atan2(R(1, 0), R(0, 0)), change = std::remainder(angle - seen.angle, kTurn);
  if (sim.state().steps > 1) seen.turned -= change;  // clockwise from above
  seen.angle = angle;
  seen.deepest = std::max(seen.deepest, report.penetration);
  seen.torque = std::max(seen.torque, std::abs(torque_of(sim, run)));
  Vec3 impulse = Vec3::Zero();
  for (const ContactMemory& contact : sim.state().contacts)
    if (sim.model().geoms[contact.geom_b].body == run.cell.nut)
      impulse += contact.impulse;
    else if (sim.model().geoms[contact.geom_a].body == run.cell.nut)
      impulse -= contact.impulse;
  seen.force = std::max(seen.force, impulse.norm() / sim.options().dt);
}

void plan(const std::shared_ptr<AssemblyRun>& run, const Model& model) {
  const Cell& cell = run->cell;
  const std::vector<int>& joints = cell.panda.joints;
  Kinematics kinematics;
  compute_kinematics(model, model.q0, VecX::Zero(model.num_v), kinematics);
  run->down = frame_pose(kinematics, cell.held).R;
  const double half = 0.5 * cell.thread.nut_height, above = kTip + kClear + half;
  const IkResult ik = solve_ik(model, model.q0, joints, {{cell.held, Pose{run->down, Vec3(kBoltX, 0.0, above)}}});
  require(ik.status == IkStatus::kReached, "bolt_nut_assembly: the bolt is out of reach");
  run->q = ik.q;
  const VecX from = positions_of(model, model.q0, joints), to = positions_of(model, ik.q, joints);
  const JointTrajectory approach =
      make_joint_trajectory({from, to}, {std::max(1.0, 2.0 * least_duration(from, to, cell.panda.max_velocity))});
  constexpr double kLower = 1.2, kMostSeek = 1.4, kBelow = 0.004;  // [s, turns, m]
  const PoseTrajectory lower = make_pose_trajectory(
      {Pose{run->down, Vec3(kBoltX, 0.0, above)}, Pose{run->down, Vec3(kBoltX, 0.0, kTip + half - kBelow)}}, {kLower});
  const double speed = run->values.speed, pitch = cell.thread.pitch;
  AssemblyRun* const r = run.get();  // lives as long as the phases, which it holds
  Phase over{.name = "approach", .duration = approach.end() + 0.2};
  over.act = [r, approach](Simulation& sim, double t) {
    follow(approach, t + sim.options().dt, r->cell.panda.drives, sim.inputs());
  };
  Phase down{.name = "lower", .duration = kLower + 0.3};
  down.act = [r, lower](Simulation& sim, double t) {
    aim(sim, *r, sample(lower, t + sim.options().dt).X.p.z(), 0.0, 0.0);
  };
  down.check = [r, half](Simulation& sim) {
    r->contact = height_of(sim, *r);
    return std::vector<Check>{{"nut_on_bolt_mm", 1e3 * (r->contact - kTip - half), -8.0, 2.0}};
  };
  // Turned under a light push, the nut falls into the thread within a turn.
  Phase seek{.name = "seek", .duration = kMostSeek * kTurn / speed};
  seek.act = [r, speed](Simulation& sim, double t) {
    const auto [angle, rate] = turn_at(speed, t + sim.options().dt);
    r->planned_angle = angle;
    r->planned_height = height_of(sim, *r);
    press(sim, *r);
    give_way(sim, *r);
    aim(sim, *r, r->planned_height, angle, rate);
  };
  seek.done = [r, pitch](Simulation& sim, double) {
    return Check{"sunk_into_the_thread_mm", 1e3 * (r->contact - height_of(sim, *r)), 0.5e3 * pitch};
  };
  Phase screw{.name = "screw", .duration = run->values.turns * kTurn / speed};
  screw.begin = [r](Simulation& sim) {
    r->seen.begin_turned = r->seen.turned;
    r->seen.begin_height = height_of(sim, *r);
  };
  screw.act = [r, pitch, speed](Simulation& sim, double t) {
    const double turned = speed * (t + sim.options().dt);
    press(sim, *r);
    give_way(sim, *r);
    aim(sim, *r, r->planned_height - pitch * turned / kTurn, r->planned_angle + turned, speed);
  };
  screw.check = [r, pitch](Simulation& sim) {
    Seen& seen = r->seen;
    const Pose& X = sim.kinematics().X_WB[r->cell.nut];
    seen.turns = (seen.turned - seen.begin_turned) / kTurn;
    seen.travel = seen.begin_height - X.p.z();
    seen.tilt = std::acos(std::min(1.0, std::abs(X.R(2, 2))));
    seen.offset = (X.p.head<2>() - Vec2(kBoltX, 0.0) - r->values.miss).norm();
    return std::vector<Check>{{"travel_mm", 1e3 * seen.travel, 1e3 * pitch * (r->values.turns - 0.1)},
                              {"pitch_error_percent", 100.0 * (seen.travel / (pitch * seen.turns) - 1.0), -1.0, 1.0},
                              {"tilt_mrad", 1e3 * seen.tilt, 0.0, 5.0},
                              {"offset_mm", 1e3 * seen.offset, 0.0, 0.2},
                              {"deepest_um", 1e6 * seen.deepest, 0.0, 100.0}};
  };
  run->task.phases = {over, down, seek, screw};
}

Scene make_assembly(const std::vector<double>& given, std::uint64_t /*seed*/) {
  const auto run = std::make_shared<AssemblyRun>();
  run->values = {given[0], given[1], given[2], 1e-3 * Vec2(given[3], given[4])};
  PandaOptions options;
  make_stiff(options);  // a thread that catches on one side first pushes the nut off the axis
  Scene scene;
  scene.name = "bolt_nut_assembly";
  scene.model = make_model(run->values, options, run->cell);
  plan(run, scene.model);
  double seconds = 0.5;
  for (const Phase& phase : run->task.phases) seconds += phase.duration;
  scene.steps = static_cast<int>(std::ceil(seconds / scene.options.dt));
  scene.has_task = true;
  scene.control = [run](Simulation& sim) { advance(run->task, sim); };
  scene.observe = [run](Simulation& sim, const StepReport& report) { watch(sim, report, *run); };
  scene.remember = [run](Memory& memory) {
    memory(run->task, run->seen, run->q, run->contact, run->planned_angle, run->planned_height, run->place);
  };
  scene.judge = [run](Simulation& sim) {
    advance(run->task, sim);
    const Seen& seen = run->seen;
    Outcome outcome;
    outcome.success = run->task.done();
    outcome.reached = describe(run->task);
    outcome.metrics = {
        {"deepest_um", 1e6 * seen.deepest}, {"most_torque_Nm", seen.torque}, {"most_force_N", seen.force}};
    if (std::isnan(seen.turns)) return outcome;  // it came not so far
    const std::vector<Metric> screwed = {
        {"turns", seen.turns},
        {"travel_mm", 1e3 * seen.travel},
        {"pitch_error_percent", 100.0 * (seen.travel / (run->cell.thread.pitch * seen.turns) - 1.0)},
        {"tilt_mrad", 1e3 * seen.tilt},
        {"offset_mm", 1e3 * seen.offset}};
    outcome.metrics.insert(outcome.metrics.end(), screwed.begin(), screwed.end());
    return outcome;
  };
  std::vector<Look> tool;
  for (int body = run->cell.panda.end_body; body < scene.model.num_bodies(); ++body)
    paint(scene.model, body, body == run->cell.nut ? kZinc : kDark, tool);
  scene.make_looks = [options, tool] {
    std::vector<Look> looks = panda_looks(options);
    looks.insert(looks.end(), tool.begin(), tool.end());
    return looks;
  };
  return scene;
}

}  // namespace

SceneInfo describe_bolt_nut_assembly() {
  return {"bolt_nut_assembly",
          "a Panda screws an M48 nut onto its bolt (needs example-robot-data)",
          {{"turns", 2.5, "after the thread is found", {0.1, 8.0}},
           {"speed", 3.0, "of the actuator [rad/s]", {0.1, kMostSpeed}},
           {"mu", 0.15, "friction coefficient of nut and bolt", {0.0}},
           {"miss", 0.3, "how far the bolt stands beside where the robot expects it, away from it [mm]", {-2.0, 2.0}},
           {"miss_y", 0.0, "the same to the robot's left [mm]", {-2.0, 2.0}}},
          make_assembly};
}

}  // namespace almond::scenes
