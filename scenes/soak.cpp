#include "scenes/soak.hpp"

#include <algorithm>
#include <cmath>
#include <cstdio>

#include "almond/solver/certificate.hpp"
#include "scenes/random.hpp"

namespace almond::scenes {
namespace {

constexpr std::size_t kKeptFindings = 20;
constexpr int kCertifyEvery = 16;  // steps; a certificate factors the problem anew

/// What a step that is called solved has reached. One that is not has not reached it with kSpare: solve() keeps that
/// much so that whoever computes the same in another way comes to the same verdict.
constexpr double kSpare = 0.01;
struct Goals {
  double residual, natural_map;
  [[nodiscard]] bool reached(double r, double n) const { return r <= residual && n <= natural_map; }
};

/// As solve() has them: of every problem, and for crowds, which are content with less.
Goals goals_of(const Settings& settings, double share = 1.0) {
  return {share * settings.tol, 0.1 * share * settings.tol};
}
Goals crowd_goals_of(const Simulation& sim) {
  const Settings& settings = sim.options().solver;
  Goals goals = goals_of(settings);
  if (sim.model().num_v <= kCrowdDofs) return goals;
  return {std::max(goals.residual, settings.crowd_tol), std::max(goals.natural_map, 100.0 * settings.crowd_tol)};
}

/// Work of a row on the bodies, λ J v [J].
double row_work(const ContactProblem& problem, const Row& row, double lambda, const VecX& v) {
  double speed = 0.0;
  for (int s = 0; s < row.num_sides; ++s) {
    const Side& side = row.sides[static_cast<std::size_t>(s)];
    const Subsystem& sub = problem.subsystems[side.subsystem];
    speed +=
        Eigen::Map<const VecX>(problem.J_pool.data() + side.J_start, sub.dofs).dot(v.segment(sub.offset, sub.dofs));
  }
  return lambda * speed;
}

/// What the last step's forces did: gravity, pushes, drives and springs; and what mended overlaps, passed limits and
/// open closures. Contacts, limits, closures and dry friction may only take. Springs, dampers and drives act at the end
/// of the step, which only takes as well, so that their share at the start is an upper bound.
struct Work {
  double forces = 0.0, corrections = 0.0, flow = 0.0;  // [J]; flow: sum of the sizes
  double impulse = 0.0;                                // of contacts and rows [N s]
};

/// What forces do with the velocity before an impact, beyond what they do with that after it, of all trees that bounce.
/// A bounce may keep the energy there would be without contacts (bounce.hpp), that is v̂ = A⁻¹b:
///   ½ v̂ᵀM v̂ - ½ vᵀM v = dt f·v̂ - ½ dt² fᵀM⁻¹f <= dt f·v̂,
/// while the work that is counted has the velocity at the end of the step, which points the other way.
double work_before_impact(const Simulation& sim) {
  const StepWorkspace& w = sim.last();
  const Assembly& a = w.assembly;
  const std::vector<TreeInfo>& trees = sim.model().trees;
  double sum = 0.0;
  for (std::size_t t = 0; t < trees.size(); ++t) {
    if (a.drift.bounced[t] == 0) continue;
    const int begin = trees[t].v_begin, dofs = trees[t].dofs;
    const Eigen::Map<const VecX> b(a.problem.b.data() + begin, dofs);
    const VecX free = a.problem.A(static_cast<int>(t)).llt().solve(b);
    sum += std::max(0.0, sim.options().dt * a.f.segment(begin, dofs).dot(free - w.solution.v.segment(begin, dofs)));
  }
  return sum;
}

Work work_of(const Simulation& sim) {
  const StepWorkspace& w = sim.last();
  const Assembly& a = w.assembly;
  const ContactProblem& problem = a.problem;
  const VecX v = w.solution.v, lambda = w.solution.lambda;
  Work work;
  const auto count = [&work](double joule, double& sum) {
    sum += joule;
    work.flow += std::abs(joule);
  };
  for (Eigen::Index i = 0; i < v.size(); ++i) count(sim.options().dt * v[i] * a.f[i], work.forces);
  Eigen::Index at = 0;
  const bool ends_otherwise = std::count(a.drift.bounced.begin(), a.drift.bounced.end(), 1) > 0;  // than it moved
  bool bounces = false;
  for (std::size_t i = 0; i < problem.contacts.size(); ++i, at += 3) {
    const double e = problem.contacts[i].e[2], normal = lambda[at + 2];
    work.impulse += normal;
    if (e >= 0.0) continue;
    if (ends_otherwise && w.contacts.points[i].restitution > 0.0)
      bounces = true;  // corrections are over by then
    else
      count(-normal * e, work.corrections);
  }
  if (bounces) count(work_before_impact(sim), work.corrections);
  for (const Row& row : problem.hard) count(std::max(0.0, -lambda[at++] * row.e), work.corrections);
  for (const Row& row : problem.soft) {
    count(row_work(problem, row, lambda[at], v), work.forces);
    ++at;
  }
  work.impulse += lambda.tail(lambda.size() - 3 * static_cast<Eigen::Index>(problem.contacts.size())).cwiseAbs().sum();
  for (const Row& row : problem.equality) count(std::abs(lambda[at++] * row.e), work.corrections);
  return work;
}

/// Pushes and drives of an episode.
class Disturbance {
 public:
  Disturbance(const Simulation& sim, std::uint64_t seed, bool moves_drives)
      : random_(seed), moves_drives_(moves_drives), start_(make_inputs(sim.model())), goal_(start_.target) {}

  void act(Simulation& sim, SoakResult& result) {
    push(sim, result);
    if (moves_drives_) move_drives(sim);
  }

 private:
  /// Now and then a body is pulled for up to 20 steps, with up to three times its weight, and turned by up to
  /// 300 rad/s².
  void push(Simulation& sim, SoakResult& result) {
    const Model& model = sim.model();
    std::vector<Wrench>& wrenches = sim.inputs().wrenches;
    if (pushed_ >= 0 && --left_ == 0) {
      wrenches[static_cast<std::size_t>(pushed_)] = before_;
      pushed_ = -1;
    }
    if (pushed_ < 0 && random_.uniform() < 0.05) {
      const int body = random_.index(model.num_bodies());
      if (model.bodies[body].subsystem < 0) return;
      wrenches.resize(model.bodies.size());
      pushed_ = body;
      left_ = 1 + random_.index(20);
      const double weight = 9.81 * model.bodies[body].mass;
      wrench_.force = random_.uniform(0.0, 3.0) * weight * random_.direction();
      const double inertia = model.bodies[body].inertia.diagonal().minCoeff();
      wrench_.torque = random_.uniform(0.0, 300.0) * inertia * random_.direction();
      before_ = wrenches[static_cast<std::size_t>(body)];
      ++result.pushes;
    }
    if (pushed_ < 0) return;
    wrenches.resize(model.bodies.size());
    Wrench& wrench = wrenches[static_cast<std::size_t>(pushed_)];
    wrench.force = before_.force + wrench_.force;
    wrench.torque = before_.torque + wrench_.torque;
  }

  /// Targets wander over the range of their joint, 0.2 about the start where it has none, at up to 1 rad/s or m/s;
  /// feedforwards between none and twice that of the start.
  void move_drives(Simulation& sim) {
    Inputs& inputs = sim.inputs();
    for (std::size_t i = 0; i < sim.model().drives.size(); ++i) {
      const auto k = static_cast<Eigen::Index>(i);
      const Drive& drive = sim.model().drives[i];
      if (random_.uniform() < 0.01) {
        double low = start_.target[k] - 0.2, high = start_.target[k] + 0.2;
        if (drive.joint >= 0) {
          low = std::max(low, sim.model().joints[drive.joint].lower);
          high = std::min(high, sim.model().joints[drive.joint].upper);
        }
        goal_[k] = random_.uniform(low, std::max(low, high));
        const double sure = random_.uniform(0.0, 2.0) * start_.feedforward[k];
        inputs.feedforward[k] =
            std::clamp(sure, drive.effort_middle - drive.effort_limit, drive.effort_middle + drive.effort_limit);
      }
      const double reach = sim.options().dt;
      inputs.target[k] += std::clamp(goal_[k] - inputs.target[k], -reach, reach);
    }
  }

  Random random_;
  bool moves_drives_;
  Inputs start_;
  VecX goal_;
  int pushed_ = -1, left_ = 0;
  Wrench wrench_, before_;
};

/// Checks the steps of one episode.
class Watch {
 public:
  Watch(Simulation& sim, std::string place, bool alone)
      : place_(std::move(place)), alone_(alone), kinetic_(sim.energy().kinetic), start_(balance_of(sim)) {
    const Model& model = sim.model();
    for (int g = 0; g < model.num_geoms(); ++g) {
      if (model.geoms[g].body >= 0 && model.bodies[model.geoms[g].body].weld >= 0) continue;
      if (!std::holds_alternative<Plane>(model.geoms[g].shape)) continue;
      for (int other = 0; other < model.num_geoms(); ++other)
        if (model.geoms[other].body >= 0 && may_collide(model, std::min(g, other), std::max(g, other)))
          floors_.emplace_back(g, model.geoms[other].body);
    }
    std::sort(floors_.begin(), floors_.end());
    floors_.erase(std::unique(floors_.begin(), floors_.end()), floors_.end());
  }

  void check(Simulation& sim, const StepReport& report, SoakResult& result) {
    const State& state = sim.state();
    const bool solved = report.status == Status::kSolved;
    ++result.steps;
    ++result.status[static_cast<std::size_t>(report.status)];
    result.jammed += report.jammed ? 1 : 0;
    result.contacts += report.contacts;
    if (!state.q.allFinite() || !state.v.allFinite()) found(sim, Fault::kNotFinite, "", result);
    if (report.dropped_contacts > 0) found(sim, Fault::kDropped, std::to_string(report.dropped_contacts), result);
    const Goals goals = crowd_goals_of(sim);
    const std::string figures = text("residual %.3g, natural map %.3g", report.residual, report.natural_map);
    if (solved && !goals.reached(report.residual, report.natural_map)) found(sim, Fault::kFalseSolved, figures, result);
    if (!solved && report.passed == 0 &&
        goals_of(sim.options().solver, 1.0 - kSpare).reached(report.residual, report.natural_map))
      found(sim, Fault::kBadFailure, figures, result);
    if (solved && state.steps % kCertifyEvery == 0) certify(sim, goals, result);
    clean_ = clean_ && (solved || state.steps == 0);
    check_depth(sim, report, result);
    // The work of gravity is that of a whole step only where the way is: not in parts, and not where a tree went less
    // far than its velocity says. What is left alone has the account of its run, which needs no work.
    check_energy(sim, solved && report.parts == 1 && report.energy_limited == 0 && !alone_, result);
    if (alone_) check_run(sim, solved && report.parts == 1, result);
  }

 private:
  template <class... T>
  static std::string text(const char* pattern, T... values) {
    char line[200];
    std::snprintf(line, sizeof line, pattern, values...);
    return line;
  }

  void found(const Simulation& sim, Fault fault, const std::string& figures, SoakResult& result) const {
    ++result.faults[static_cast<std::size_t>(fault)];
    if (result.findings.size() >= kKeptFindings) return;
    result.findings.push_back({fault, std::string(to_string(fault)) + ": " + place_ + ", step " +
                                          std::to_string(sim.state().steps - 1) +
                                          (figures.empty() ? "" : ": " + figures)});
  }

  /// The rounding of two ways to compute the same is what the tolerance is widened by.
  void certify(const Simulation& sim, const Goals& goals, SoakResult& result) const {
    const StepWorkspace& w = sim.last();
    const Certificate judged = make_certificate(w.assembly.problem, w.solution.v, w.solution.lambda);
    if (judged.residual > (1.0 + kSpare) * goals.residual + 1e-12 ||
        judged.natural_map > (1.0 + kSpare) * goals.natural_map + 1e-12)
      found(sim, Fault::kFalseSolved,
            text("certificate: residual %.3g, natural map %.3g", judged.residual, judged.natural_map), result);
  }

  /// An overlap can be there from the start, and what a step left unsolved may overlap until it is mended.
  void check_depth(Simulation& sim, const StepReport& report, SoakResult& result) {
    if (sim.state().steps == 1) allowed_ = std::max(kDeepest, 1.01 * report.penetration);
    if (!clean_) return;
    result.deepest = std::max(result.deepest, report.penetration);
    if (report.penetration > allowed_) found(sim, Fault::kTooDeep, text("%.3g mm", 1e3 * report.penetration), result);
    const Kinematics& kin = sim.kinematics();
    for (const auto& [floor, body] : floors_) {
      const Pose& X = kin.X_WG[floor];
      const double height = X.R.col(2).dot(kin.com[body] - X.p);
      if (height < 0.0) {
        found(sim, Fault::kThroughFloor, sim.model().bodies[body].name + text(" at %.3g mm", 1e3 * height), result);
        clean_ = false;  // once is enough
        return;
      }
    }
  }

  /// Kinetic energy grows by no more than the work done: M Δv · (v + Δv/2) with Δv = M⁻¹(forces + constraints).
  void check_energy(Simulation& sim, bool solved, SoakResult& result) {
    const double before = kinetic_;
    kinetic_ = sim.energy().kinetic;
    if (sim.options().theta > 0.0) return;
    const Work work = work_of(sim);
    result.work += work.forces;
    if (!solved) return;
    // What is left of the law is a speed of some times the tolerance at each impulse; a body that turns by x in a step
    // keeps its energy to x³.
    const double excess =
        kinetic_ - before - work.forces - work.corrections - 10.0 * crowd_goals_of(sim).residual * work.impulse;
    const double share = excess / (before + kinetic_ + work.flow + 1e-9);
    result.excess = std::max(result.excess, share);
    const double turn = sim.options().dt * sim.kinematics().V.bottomRows<3>().colwise().norm().maxCoeff();
    if (share > kEnergyTolerance + turn * turn * turn)
      found(sim, Fault::kEnergy,
            text("%.3g J, %.2g of what flows: kinetic %.3g to %.3g, work %.3g, corrections %.3g", excess, share, before,
                 kinetic_, work.forces, work.corrections),
            result);
  }

  /// Free motion keeps E + (1/2 - θ) dt g·p: gravity acts in impulses, and half of one has not been spent yet at the
  /// end of a step (dynamics/drift.hpp).
  static double balance_of(Simulation& sim) {
    const Momentum momentum = compute_momentum(sim.model(), sim.kinematics());
    return sim.energy().total() +
           (0.5 - sim.options().theta) * sim.options().dt * sim.model().gravity.dot(momentum.linear);
  }

  /// What is left alone gains nothing over a whole run, but what mended overlaps, limits and loops. A step that is not
  /// solved, or taken in parts, begins the account anew.
  void check_run(Simulation& sim, bool solved, SoakResult& result) {
    const double now = balance_of(sim);
    most_kinetic_ = std::max(most_kinetic_, kinetic_);
    if (!solved) {
      start_ = now;
      mended_ = 0.0;
      return;
    }
    const Work work = work_of(sim);
    mended_ += work.corrections + 10.0 * crowd_goals_of(sim).residual * work.impulse;
    const double share = (now - start_ - mended_) / (most_kinetic_ + 1e-9);
    result.gained = std::max(result.gained, share);
    if (share <= kEnergyTolerance) return;
    found(sim, Fault::kRunEnergy,
          text("%.3g J more than the run began with, %.2g of what moves", now - start_ - mended_, share), result);
    start_ = now;  // once is enough
    mended_ = 0.0;
  }

  static constexpr double kEnergyTolerance = 1e-3;

  std::string place_;
  bool alone_;
  double kinetic_, allowed_ = kDeepest;
  double start_, mended_ = 0.0, most_kinetic_ = 0.0;  // of the run [J]
  bool clean_ = true;
  std::vector<std::pair<int, int>> floors_;  // plane, body that may stand on it
};

}  // namespace

const char* to_string(Fault fault) {
  switch (fault) {
    case Fault::kNotFinite:
      return "not finite";
    case Fault::kFalseSolved:
      return "called solved";
    case Fault::kBadFailure:
      return "called unsolved";
    case Fault::kTooDeep:
      return "overlap";
    case Fault::kThroughFloor:
      return "through the floor";
    case Fault::kEnergy:
      return "energy from nowhere";
    case Fault::kRunEnergy:
      return "energy over a run";
    case Fault::kDropped:
      return "contact dropped";
    case Fault::kNotRepeated:
      return "not repeated";
    case Fault::kCount:
      break;
  }
  return "unknown";
}

void SoakResult::add(const SoakResult& other) {
  steps += other.steps;
  repeated += other.repeated;
  pushes += other.pushes;
  contacts += other.contacts;
  jammed += other.jammed;
  work += other.work;
  deepest = std::max(deepest, other.deepest);
  excess = std::max(excess, other.excess);
  gained = std::max(gained, other.gained);
  for (std::size_t i = 0; i < status.size(); ++i) status[i] += other.status[i];
  for (std::size_t i = 0; i < faults.size(); ++i) faults[i] += other.faults[i];
  for (const SoakFinding& finding : other.findings)
    if (findings.size() < kKeptFindings) findings.push_back(finding);
}

std::int64_t SoakResult::num_faults() const {
  std::int64_t sum = 0;
  for (const std::int64_t count : faults) sum += count;
  return sum;
}

int soak_iterations(SolverKind solver) {
  switch (solver) {
    case SolverKind::kAuto:
      return 0;  // its own limit of work
    case SolverKind::kCanal:
      return 20;
    case SolverKind::kSpn:
      return 30;
    default:
      return 200;  // sweeps
  }
}

SoakResult run_soak(const SoakCase& which, SolverKind solver, std::uint64_t seed, int steps, int threads,
                    const std::function<bool(Simulation&)>& go_on) {
  Scene scene = make_scene(which.scene, which.parameters, seed);
  scene.options.solver.solver = solver;
  scene.options.solver.threads = threads;
  scene.options.solver.max_iterations = soak_iterations(solver);
  Simulation sim(std::move(scene.model), scene.options, seed);
  const bool moves_drives = seed % 2 == 1 && !sim.model().drives.empty();
  Disturbance disturbance(sim, seed, moves_drives);
  Watch watch(sim, which.name + ", " + almond::to_string(solver) + ", seed " + std::to_string(seed), which.alone);
  SoakResult result;
  for (int i = 0; i < steps; ++i) {
    if (scene.control && !moves_drives) scene.control(sim);
    if (!which.alone) disturbance.act(sim, result);
    const StepReport report = sim.step();
    watch.check(sim, report, result);
    if (go_on && !go_on(sim)) break;
  }
  result.hash = state_hash(sim.state());
  return result;
}

SoakResult check_repeats(const SoakCase& which, SolverKind solver, std::uint64_t seed, int steps,
                         const std::function<bool(Simulation&)>& go_on) {
  SoakResult all = run_soak(which, solver, seed, steps, 1, go_on);
  steps = static_cast<int>(all.steps);
  for (const int threads : {1, 2, 4}) {
    const SoakResult again = run_soak(which, solver, seed, steps, threads);
    all.repeated += again.steps;
    if (again.hash == all.hash) continue;
    ++all.faults[static_cast<std::size_t>(Fault::kNotRepeated)];
    all.findings.push_back({Fault::kNotRepeated, "not repeated: " + which.name + ", " + almond::to_string(solver) +
                                                     ", seed " + std::to_string(seed) + ", " + std::to_string(steps) +
                                                     " steps, " + std::to_string(threads) + " threads"});
  }
  return all;
}

}  // namespace almond::scenes
