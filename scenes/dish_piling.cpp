// The paper's piling (Sec. VII-B): a Panda arm with an Allegro hand takes dish after dish by its rim, carries it and
// puts it on the pile: bowl in bowl, a plate on them, a heavy pot on top. Joint impedance control follows ways of the
// palm that are planned from where the dishes are; the fingertips press with forces that are asked for.

#include <algorithm>
#include <cmath>
#include <memory>

#include "almond/task/arm.hpp"
#include "scenes/dish_cell.hpp"
#include "scenes/memory.hpp"
#include "scenes/tasks.hpp"

namespace almond::scenes {
namespace {

constexpr double kMargin = 1e-4;        // within which contacts are looked for [m]
constexpr double kAbove = 0.24;         // height of the fingertips on the way from dish to dish [m]
constexpr double kMostOverlap = 500.0;  // [um]
constexpr double kDrop = 0.001;         // how far above its place a dish is let go [m]

/// What the palm, the fingers and their forces do in a phase, each from where it is.
struct Move {
  std::vector<Vec3> palm;  // through these points
  std::vector<double> durations;
  VecX fingers;
  double begin = 0.0, duration = 0.0;   // of the fingers' way [s]
  double squeeze = 0.0, weight = 0.0;   // at the end [N]
  double ramp_begin = 0.0, ramp = 0.3;  // when and how fast they change [s]
};

struct Seen {
  Pose held;  // the dish in the palm when it was lifted
  double slip = 0.0, turn = 0.0, deepest = 0.0;
  double squares = 0.0;  // of speeds of dishes at rest
  int samples = 0, placed = 0;
  std::vector<double> rest_squares;  // of the speeds of each dish in the phase `rest`, summed
  int rest_steps = 0;
};

struct PilingRun {
  DishCell cell;
  Task task;
  Seen seen;
  VecX q;        // planned, of the whole model
  Vec3 palm;     // planned
  VecX fingers;  // planned
  double squeeze = 0.0, weight = 0.0;
  PoseTrajectory way;
  JointTrajectory finger_way;
  Move move;
  double from_squeeze = 0.0, from_weight = 0.0;
  int carried = -1;  // dish in the hand, off the ground
  int piled = 1;     // dishes that lie on the pile and are not touched
  bool watch_rest = false;
};

Pose pose_of(Simulation& sim, const Dish& dish) { return sim.kinematics().X_WB[dish.body]; }

Pose pose_in_palm(Simulation& sim, const PilingRun& run, const Dish& dish) {
  return frame_pose(sim.kinematics(), run.cell.hand.palm).inverse() * pose_of(sim, dish);
}

void begin_move(PilingRun& run, const Move& move) {
  std::vector<Pose> points = {Pose{run.cell.R_WH, run.palm}};
  for (const Vec3& p : move.palm) points.push_back({run.cell.R_WH, p});
  run.move = move;
  run.way = make_pose_trajectory(points, move.durations);
  run.finger_way = move.duration > 0.0 ? make_joint_trajectory({run.fingers, move.fingers}, {move.duration}, move.begin)
                                       : make_joint_trajectory({run.fingers}, {});
  run.from_squeeze = run.squeeze;
  run.from_weight = run.weight;
}

void act(Simulation& sim, PilingRun& run, double t) {
  const DishCell& cell = run.cell;
  const double end = t + sim.options().dt;
  run.palm = sample(run.way, end).X.p;
  lead_hand(sim, {cell.hand.palm, cell.panda.drives}, {cell.R_WH, run.palm}, run.q);
  follow(run.finger_way, end, cell.hand.drives, sim.inputs());
  run.fingers = sample(run.finger_way, end).q;
  const double s = time_scale((end - run.move.ramp_begin) / run.move.ramp).s;
  run.squeeze = run.from_squeeze + s * (run.move.squeeze - run.from_squeeze);
  run.weight = run.from_weight + s * (run.move.weight - run.from_weight);
  press(sim, cell, run.squeeze, run.weight);
}

using Plan = std::function<Move(Simulation&)>;
Phase make_phase(PilingRun* run, const std::string& name, double duration, Plan plan) {
  Phase phase{.name = name, .duration = duration};
  phase.begin = [run, plan = std::move(plan)](Simulation& sim) { begin_move(*run, plan(sim)); };
  phase.act = [run](Simulation& sim, double t) { act(sim, *run, t); };
  return phase;
}

/// Grasp, carry, place and let go of one dish.
void add_phases(PilingRun* run, int index) {
  const Dish* dish = &run->cell.dishes[index];
  const Dish* below = dish - 1;
  const double nested = nesting_height(dish->shape, below->shape), weight = dish->mass * 9.81;
  const auto around = [run, dish](Simulation& sim, double z) {
    const Vec3 p = pose_of(sim, *dish).p;
    return palm_around(run->cell, *dish, Vec3(p.x(), p.y(), z));
  };
  const auto lifted_to = [run, dish](double z) {
    Vec3 p = run->palm;
    p.z() = palm_around(run->cell, *dish, Vec3(0.0, 0.0, z)).z();
    return p;
  };
  std::vector<Phase>& phases = run->task.phases;
  const auto name = [dish](const char* what) { return dish->name + ", " + what; };

  phases.push_back(make_phase(run, name("reach"), 1.1, [=](Simulation& sim) {
    run->watch_rest = true;
    return Move{{around(sim, kAbove)}, {1.1}, dish->open, 0.0, 0.8};
  }));
  phases.push_back(make_phase(run, name("lower"), 0.9, [=](Simulation& sim) {
    return Move{{around(sim, pose_of(sim, *dish).p.z() + dish->grip_height)}, {0.8}, {}};
  }));
  phases.push_back(make_phase(run, name("close"), 0.4, [=](Simulation&) {
    return Move{{run->palm}, {0.4}, dish->touching, 0.0, 0.4};
  }));
  phases.push_back(make_phase(run, name("grasp"), 0.7, [=](Simulation&) {
    return Move{{run->palm}, {0.7}, dish->closed, 0.0, 0.6, dish->squeeze, 0.0, 0.0, 0.6};
  }));
  Phase lift = make_phase(run, name("lift"), 1.1, [=](Simulation& sim) {
    run->carried = index;
    run->seen.held = pose_in_palm(sim, *run, *dish);
    return Move{{run->palm, lifted_to(kAbove)}, {0.3, 0.8}, {}, 0.0, 0.0, dish->squeeze, weight, 0.0, 0.3};
  });
  lift.check = [=](Simulation& sim) {
    return std::vector<Check>{
        {"height_mm", 1e3 * pose_of(sim, *dish).p.z(), 1e3 * (kAbove - dish->grip_height) - 10.0}};
  };
  phases.push_back(lift);
  Phase carry = make_phase(run, name("carry"), 1.1, [=](Simulation& sim) {
    const Vec3 to = pose_of(sim, *below).p - pose_of(sim, *dish).p;
    return Move{{run->palm + Vec3(to.x(), to.y(), 0.0)}, {1.1}, {}, 0.0, 0.0, dish->squeeze, weight};
  });
  phases.push_back(carry);
  Phase place = make_phase(run, name("place"), 1.2, [=](Simulation& sim) {
    run->watch_rest = false;
    const Vec3 to = pose_of(sim, *below).p + Vec3(0.0, 0.0, nested + kDrop) - pose_of(sim, *dish).p;
    return Move{{run->palm + to}, {1.0}, {}, 0.0, 0.0, dish->squeeze, weight};
  });
  place.check = [=](Simulation&) { return std::vector<Check>{{"slip_mm", 1e3 * run->seen.slip, 0.0, 5.0}}; };
  phases.push_back(place);
  phases.push_back(make_phase(run, name("release"), 0.9, [=](Simulation&) {
    run->carried = -1;
    return Move{{run->palm}, {0.9}, dish->open, 0.35, 0.5, 0.0, 0.0, 0.0, 0.3};
  }));
  Phase retreat = make_phase(run, name("retreat"), 0.9, [=](Simulation&) {
    return Move{{lifted_to(kAbove)}, {0.9}, {}};
  });
  retreat.check = [=](Simulation& sim) {
    const Vec3 off = pose_of(sim, *dish).p - pose_of(sim, *below).p;
    run->piled = index + 1;
    ++run->seen.placed;
    return std::vector<Check>{{"offset_mm", 1e3 * off.head<2>().norm(), 0.0, 5.0},
                              {"height_mm", 1e3 * off.z(), 1e3 * nested - 2.0, 1e3 * nested + 2.0}};
  };
  phases.push_back(retreat);
}

void watch(Simulation& sim, const StepReport& report, PilingRun& run) {
  Seen& seen = run.seen;
  const Kinematics& kinematics = sim.kinematics();
  seen.deepest = std::max(seen.deepest, report.penetration);
  if (run.carried >= 0 && !run.task.over()) {
    const Pose held = pose_in_palm(sim, run, run.cell.dishes[run.carried]);
    seen.slip = std::max(seen.slip, (held.p - seen.held.p).norm());
    seen.turn = std::max(seen.turn, log_so3(held.R * seen.held.R.transpose()).norm());
  }
  if (!seen.rest_squares.empty() && !run.task.over()) {
    for (std::size_t i = 0; i < run.cell.dishes.size(); ++i) {
      const int body = run.cell.dishes[i].body;
      seen.rest_squares[i] += point_velocity(sim.model(), kinematics, body, kinematics.X_WB[body].p).squaredNorm();
    }
    ++seen.rest_steps;
  }
  if (!run.watch_rest && !run.task.over()) return;
  for (int i = 0; i < run.piled; ++i) {
    const int body = run.cell.dishes[i].body;
    seen.squares += point_velocity(sim.model(), kinematics, body, kinematics.com[body]).squaredNorm();
    ++seen.samples;
  }
}

/// Root mean square of the quickest dish over the phase `rest` [m/s].
double rest_speed(const Seen& seen) {
  return std::sqrt(*std::max_element(seen.rest_squares.begin(), seen.rest_squares.end()) / seen.rest_steps);
}

Outcome judge(Simulation& sim, PilingRun& run) {
  advance(run.task, sim);
  const Seen& seen = run.seen;
  Outcome outcome;
  outcome.success = run.task.done();
  outcome.reached = describe(run.task);
  outcome.metrics = {{"placed", static_cast<double>(seen.placed)}};
  const Vec3 axis = pose_of(sim, run.cell.dishes[0]).p;
  double offset = 0.0;
  for (const Dish& dish : run.cell.dishes) {
    const Pose X = pose_of(sim, dish);
    outcome.metrics.push_back({dish.name + "_height_mm", 1e3 * X.p.z()});
    offset = std::max(offset, (X.p - axis).head<2>().norm());
  }
  if (seen.rest_steps > 0) outcome.metrics.push_back({"rest_speed_mm_per_s", 1e3 * rest_speed(seen)});
  outcome.metrics.insert(outcome.metrics.end(),
                         {{"offset_mm", 1e3 * offset},
                          {"jitter_mm_per_s", 1e3 * std::sqrt(seen.squares / std::max(1, seen.samples))},
                          {"slip_mm", 1e3 * seen.slip},
                          {"slip_mrad", 1e3 * seen.turn},
                          {"deepest_um", 1e6 * seen.deepest}});
  return outcome;
}

void remember(Memory& memory, PilingRun& run) {
  memory(run.task, run.q, run.palm, run.fingers, run.squeeze, run.weight, run.way, run.finger_way);
  Move& move = run.move;
  memory(move.palm, move.durations, move.fingers, move.begin, move.duration, move.squeeze, move.weight, move.ramp_begin,
         move.ramp);
  memory(run.from_squeeze, run.from_weight, run.carried, run.piled, run.watch_rest);
  Seen& seen = run.seen;
  memory(seen.held, seen.slip, seen.turn, seen.deepest, seen.squares, seen.samples, seen.placed, seen.rest_squares,
         seen.rest_steps);
}

Scene make_piling(const std::vector<double>& given, std::uint64_t /*seed*/) {
  const auto run = std::make_shared<PilingRun>();
  Scene scene;
  scene.name = "dish_piling";
  scene.model = make_dish_cell(given[0], given[1], run->cell);
  scene.options.collision.margin = kMargin;
  run->q = scene.model.q0;
  run->fingers = positions_of(scene.model, run->q, run->cell.hand.joints);
  Kinematics kinematics;
  compute_kinematics(scene.model, run->q, VecX::Zero(scene.model.num_v), kinematics);
  run->palm = frame_pose(kinematics, run->cell.hand.palm).p;
  PilingRun* const r = run.get();  // lives as long as the phases, which it holds
  for (int i = 1; i < static_cast<int>(run->cell.dishes.size()); ++i) add_phases(r, i);
  const auto wait = [r](Simulation&) {
    r->watch_rest = true;
    return Move{{r->palm}, {0.5}, {}};
  };
  Phase rest = make_phase(r, "rest", 0.5, [r, wait](Simulation& sim) {
    r->seen.rest_squares.assign(r->cell.dishes.size(), 0.0);
    return wait(sim);
  });
  rest.check = [r](Simulation& sim) {
    std::vector<Check> checks = {{"rest_speed_mm_per_s", 1e3 * rest_speed(r->seen), 0.0, 1.0},
                                 {"bowl1_height_mm", 1e3 * pose_of(sim, r->cell.dishes[0]).p.z(), -0.5, 0.5},
                                 {"deepest_um", 1e6 * r->seen.deepest, 0.0, kMostOverlap}};
    for (std::size_t i = 1; i < r->cell.dishes.size(); ++i) {
      const Dish &dish = r->cell.dishes[i], &below = r->cell.dishes[i - 1];
      checks.push_back({dish.name + "_above_mm", 1e3 * (pose_of(sim, dish).p - pose_of(sim, below).p).z(), 1.0});
    }
    return checks;
  };
  run->task.phases.insert(run->task.phases.end(), {make_phase(r, "settle", 0.5, wait), rest});
  double seconds = 0.0;
  for (const Phase& phase : run->task.phases) seconds += phase.duration;
  scene.steps = static_cast<int>(std::ceil(seconds / scene.options.dt)) + 2;
  scene.has_task = true;
  scene.control = [run](Simulation& sim) { advance(run->task, sim); };
  scene.observe = [run](Simulation& sim, const StepReport& report) { watch(sim, report, *run); };
  scene.remember = [run](Memory& memory) { remember(memory, *run); };
  scene.judge = [run](Simulation& sim) { return judge(sim, *run); };
  const int first = run->cell.hand.first_body, flange = run->cell.panda.flange;
  scene.make_looks = [run, first, flange] {
    std::vector<Look> looks = panda_looks({}), hand = allegro_looks(first);
    looks.insert(looks.end(), hand.begin(), hand.end());
    looks.push_back(
        {"bracket", flange, make_translation(0.0, 0.0, 0.01), Cylinder{0.03, 0.012}, Look::Role::kVisual, kDark});
    constexpr Color kColors[] = {
        {0.25, 0.45, 0.70, 1.0}, {0.45, 0.65, 0.85, 1.0}, {0.90, 0.80, 0.45, 1.0}, {0.75, 0.30, 0.22, 1.0}};
    for (std::size_t i = 0; i < run->cell.dishes.size(); ++i) {
      const Dish& dish = run->cell.dishes[i];
      looks.push_back({dish.name, dish.body, {}, dish.look, Look::Role::kVisual, kColors[i]});
    }
    return looks;
  };
  return scene;
}

}  // namespace

SceneInfo describe_dish_piling() {
  return {
      "dish_piling",
      "a Panda with an Allegro hand piles bowls, a plate and a heavy pot (needs example-robot-data)",
      {{"pot", 5.0, "mass of the pot [kg]", {0.1, 5.0}}, {"mu", 0.3, "friction coefficient of the dishes", {0.1, 1.0}}},
      make_piling};
}

}  // namespace almond::scenes
