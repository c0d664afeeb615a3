#include "bench/peer_almond.hpp"

#include <Eigen/Cholesky>
#include <Eigen/Geometry>
#include <algorithm>
#include <cmath>

#include "almond/base/check.hpp"
#include "almond/base/timer.hpp"
#include "almond/load/npz.hpp"
#include "almond/sim/next_problem.hpp"
#include "bench/paper.hpp"
#include "scenes/file_scene.hpp"

namespace almond::bench {
namespace {

/// A scene, its state and what a step needs.
struct World {
  Model model;
  StepOptions options;
  Inputs inputs;
  State state;
  StepWorkspace workspace;
  std::vector<int> bodies;  // ours, in the scene's order

  StepReport step() { return almond::step(model, options, inputs, workspace, state); }
};

World load_world(const PeerScene& scene) {
  SceneFile description = scenes::describe_file(scene.mjcf);
  description.robots[0].keyframe = "start";
  scenes::LoadedScene loaded = scenes::load_scene(description);
  Simulation start(std::move(loaded.scene.model), loaded.scene.options);  // checks both
  if (loaded.scene.control) loaded.scene.control(start);                  // the pushes, which stay as they are
  World world;
  world.model = start.model();
  world.options = start.options();
  world.inputs = start.inputs();
  world.state = start.state();
  for (const std::string& name : scene.bodies) world.bodies.push_back(world.model.body(name));
  return world;
}

/// At rest, with nothing known from the steps that led there.
World settle_world(const PeerScene& scene) {
  World world = load_world(scene);
  for (int k = 0; k < scene.settle; ++k) static_cast<void>(world.step());
  world.options.solver.crowd_tol = world.options.solver.max_work = 0.0;  // single steps: none goes on with what is left
  world.state.contacts.clear();
  world.state.rows.clear();
  world.inputs.wrenches.assign(world.model.bodies.size(), {});
  return world;
}

void set_wrench(const VecX& wrench, World& world) {
  for (std::size_t b = 0; b < world.bodies.size(); ++b) {
    const auto at = static_cast<Eigen::Index>(6 * b);
    world.inputs.wrenches[static_cast<std::size_t>(world.bodies[b])] = {wrench.segment<3>(at),
                                                                        wrench.segment<3>(at + 3)};
  }
}

void add_poses(const World& world, std::vector<double>& out) {
  Kinematics kinematics;
  compute_kinematics(world.model, world.state.q, world.state.v, kinematics);
  for (const int b : world.bodies) {
    const Pose& X = kinematics.X_WB[static_cast<std::size_t>(b)];
    const Eigen::Quaterniond q(X.R);
    out.insert(out.end(), {X.p.x(), X.p.y(), X.p.z(), q.w(), q.x(), q.y(), q.z()});
  }
}

/// tr W_ii, W_ii = Σ J A⁻¹ Jᵀ over the sides, with the cross terms of two sides on one tree.
double delassus_trace(const ContactProblem& problem, const std::vector<Eigen::LLT<MatX>>& factors,
                      const Contact& contact) {
  const auto of = [&](int subsystem, MatX Jt) {
    factors[static_cast<std::size_t>(subsystem)].matrixL().solveInPlace(Jt);
    return Jt.squaredNorm();
  };
  const Side &a = contact.sides[0], &b = contact.sides[1];
  if (contact.num_sides == 1) return of(a.subsystem, problem.J(a, 3).transpose());
  if (a.subsystem == b.subsystem) return of(a.subsystem, (problem.J(a, 3) + problem.J(b, 3)).transpose());
  return of(a.subsystem, problem.J(a, 3).transpose()) + of(b.subsystem, problem.J(b, 3).transpose());
}

/// Rows of the last step's contacts for the referee: step, impulse, velocity (t1, t2, n), bias, gap, mu, tr W_ii.
void add_contacts(const World& world, int step, std::vector<double>& out) {
  const ContactProblem& problem = world.workspace.assembly.problem;
  const Solution& solution = world.workspace.solution;
  std::vector<Eigen::LLT<MatX>> factors;
  for (std::size_t s = 0; s < problem.subsystems.size(); ++s) factors.emplace_back(problem.A(static_cast<int>(s)));
  for (std::size_t i = 0; i < problem.contacts.size(); ++i) {
    const Contact& contact = problem.contacts[i];
    Vec3 velocity = Vec3::Zero();
    for (int s = 0; s < contact.num_sides; ++s) {
      const Side& side = contact.sides[static_cast<std::size_t>(s)];
      const Subsystem& sub = problem.subsystems[static_cast<std::size_t>(side.subsystem)];
      velocity += problem.J(side, 3) * solution.v.segment(sub.offset, sub.dofs);
    }
    const Vec3 impulse = solution.lambda.segment<3>(static_cast<Eigen::Index>(3 * i));
    out.insert(out.end(), {static_cast<double>(step), impulse.x(), impulse.y(), impulse.z(), velocity.x(), velocity.y(),
                           velocity.z(), contact.e.z(), world.workspace.contacts.points[i].gap, contact.mu,
                           delassus_trace(problem, factors, contact)});
  }
}

struct Trail {
  std::vector<double> poses, contacts, cpu_ms;
  std::vector<std::int64_t> looked_at;

  void write(const std::string& path, std::size_t bodies) {
    const auto rows = static_cast<std::int64_t>(contacts.size() / 11), width = static_cast<std::int64_t>(7 * bodies);
    NpzArchive archive;
    if (!poses.empty()) {
      const std::int64_t frames = static_cast<std::int64_t>(poses.size()) / width;
      archive.set("poses", {{frames, width}, std::move(poses)});
      const auto steps = static_cast<std::int64_t>(cpu_ms.size());
      archive.set("cpu_ms", {{steps}, std::move(cpu_ms)});
    }
    const auto looks = static_cast<std::int64_t>(looked_at.size());
    if (looks > 0) {
      archive.set("contacts", {{rows, 11}, std::move(contacts)});
      archive.set("looked_at", {{looks}, std::move(looked_at)});
    }
    archive.write(path);
  }
};

/// Residuals, how many steps were not solved, and the parts of a step: they are measured by the clock, which runs on
/// while others have the core, so each is taken as its share of the step's CPU time.
void add_reports(const std::vector<StepReport>& reports, const std::vector<double>& cpu_ms, PeerRun& run) {
  std::vector<double> residuals, collide, solve;
  int unsolved = 0;
  for (std::size_t k = 0; k < reports.size(); ++k) {
    const StepReport& report = reports[k];
    const double share = cpu_ms[k] / std::max(report.step_ms, 1e-9);
    residuals.push_back(report.residual);
    collide.push_back(share * report.collide_ms);
    solve.push_back(share * report.solve_ms);
    unsolved += report.status == Status::kSolved ? 0 : 1;
  }
  add_spread("certificate", residuals, run);
  run.figures["collide"] = quantile(collide, 0.5);
  run.figures["solve"] = quantile(solve, 0.5);
  run.figures["unsolved"] = unsolved;
}

}  // namespace

double PeerRun::at(const std::string& figure) const {
  const auto found = figures.find(figure);
  return found == figures.end() ? kNaN : found->second;
}

void add_spread(const std::string& name, const std::vector<double>& values, PeerRun& run) {
  if (values.empty()) return;
  run.figures[name + ".median"] = quantile(values, 0.5);
  run.figures[name + ".p95"] = quantile(values, 0.95);
  run.figures[name + ".max"] = *std::max_element(values.begin(), values.end());
}

PeerRun run_almond(const PeerScene& scene, int steps, double cap_s, bool growth, const std::string& trail) {
  PeerRun run{"almond", scene.name, {}, trail};
  World world = load_world(scene);
  // Contacts of each step of a large scene would be gigabytes.
  const int every = world.model.num_v > 1000 ? 16 : world.model.num_v > 500 ? 2 : 1;
  Trail kept;
  std::vector<double> cpu, wall;
  std::vector<StepReport> reports;
  const bool bare = growth || trail.empty();  // what is looked at between two steps pushes the next one's data out of
  if (!bare) add_poses(world, kept.poses);    // the caches
  reports.reserve(static_cast<std::size_t>(steps));
  const Stopwatch watch;
  for (int k = 0; k < steps && watch.elapsed_ms() < 1e3 * cap_s; ++k) {
    const double start = thread_cpu_ms();
    const Stopwatch clock;
    reports.push_back(world.step());
    cpu.push_back(thread_cpu_ms() - start);
    wall.push_back(clock.elapsed_ms());
    if (bare) continue;
    add_poses(world, kept.poses);
    if (k % every == 0) {
      add_contacts(world, k, kept.contacts);
      kept.looked_at.push_back(k);
    }
  }
  kept.cpu_ms = cpu;
  add_reports(reports, cpu, run);
  run.figures["steps"] = static_cast<double>(cpu.size());
  const bool cut = static_cast<int>(cpu.size()) < steps;
  run.figures["cut"] = cut ? 1.0 : 0.0;
  run.figures["blow_ups"] =
      static_cast<double>(std::count_if(reports.begin(), reports.end(), [](const StepReport& report) {
        return report.status == Status::kNumericalError;
      }));
  if (growth || cut) {
    const auto first = static_cast<std::ptrdiff_t>(cpu.size() / 2);
    cpu.erase(cpu.begin(), cpu.begin() + first);
    wall.erase(wall.begin(), wall.begin() + first);
  }
  add_spread("cpu", cpu, run);
  add_spread("wall", wall, run);
  if (growth) add_poses(world, kept.poses);
  if (!trail.empty()) kept.write(trail, scene.bodies.size());
  return run;
}

namespace {

/// One step from `start`, cold, as the median of a few.
struct ColdStep {
  double step_ms = 0.0, solve_ms = 0.0;
  StepReport report;
};

ColdStep time_cold_step(const State& start, World& world) {
  constexpr int kRepeats = 3;
  ColdStep cold;
  std::vector<double> solves, steps;
  for (int k = 0; k < kRepeats; ++k) {
    world.state = start;
    world.workspace.solver.forget();
    const double begin = thread_cpu_ms();
    cold.report = world.step();
    steps.push_back(thread_cpu_ms() - begin);
    solves.push_back(steps.back() * cold.report.solve_ms / std::max(cold.report.step_ms, 1e-9));
  }
  cold.step_ms = quantile(steps, 0.5);
  cold.solve_ms = quantile(solves, 0.5);
  return cold;
}

}  // namespace

PeerRun run_almond_cold(const PeerScene& scene, const std::string& trail) {
  PeerRun run{"almond", scene.name, {}, trail};
  World world = settle_world(scene);
  const State start = world.state;
  const double exact = world.options.solver.tol;
  Trail kept;
  std::vector<double> solve, step, rough;
  std::vector<StepReport> reports;
  for (const VecX& wrench : scene.wrenches) {
    set_wrench(wrench, world);
    world.options.solver.tol = kRoughResidual;
    rough.push_back(time_cold_step(start, world).solve_ms);
    world.options.solver.tol = exact;
    const ColdStep cold = time_cold_step(start, world);
    const auto number = static_cast<int>(reports.size());
    add_contacts(world, number, kept.contacts);
    kept.looked_at.push_back(number);
    reports.push_back(cold.report);
    solve.push_back(cold.solve_ms);
    step.push_back(cold.step_ms);
  }
  add_spread("rough_ms", rough, run);
  add_spread("solve_ms", solve, run);
  add_spread("step_ms", step, run);
  add_reports(reports, step, run);
  if (!trail.empty()) kept.write(trail, scene.bodies.size());
  return run;
}

ContactProblem make_cold_problem(const PeerScene& scene) {
  World world = settle_world(scene);
  set_wrench(scene.wrenches.front(), world);
  ContactProblem problem = next_problem(world.model, world.options, world.inputs, world.state);
  problem.name = scene.name;
  return problem;
}

}  // namespace almond::bench
