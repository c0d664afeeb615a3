#include "almond/sim/step.hpp"

#include <Eigen/Cholesky>
#include <algorithm>
#include <cmath>
#include <tuple>

#include "almond/base/check.hpp"
#include "almond/base/text.hpp"
#include "almond/base/timer.hpp"
#include "almond/dynamics/drift.hpp"
#include "almond/sim/memory.hpp"

namespace almond {
namespace {

constexpr double kLargest = 1e12;  // of positions and velocities: beyond, their squares lose all meaning

bool is_finite(const VecX& x, double largest = kInfinity) {
  return x.allFinite() && (x.size() == 0 || x.cwiseAbs().maxCoeff() <= largest);
}

void check_range(bool ok, const char* field, double value, const char* expected) {
  require(ok, std::string("step options: ") + field + " is " + to_text(value) + ", expected " + expected);
}

/// How far each geom may get in the step: as fast as it is now, and what gravity adds.
void compute_motion(const Model& model, const Kinematics& kin, double dt, std::vector<GeomMotion>& motion) {
  motion.resize(model.geoms.size());
  const double fall = 2.0 * model.gravity.norm() * dt * dt;
  for (int g = 0; g < model.num_geoms(); ++g) {
    const Geom& geom = model.geoms[g];
    const bool moves = geom.body >= 0 && model.bodies[geom.body].subsystem >= 0;
    motion[g] = {};
    if (!moves) continue;
    motion[g].shift = dt * point_velocity(model, kin, geom.body, kin.X_WG[g].p);
    const double reach = std::isfinite(geom.radius) ? geom.radius : 0.0;
    motion[g].spin = dt * reach * angular_velocity(model, kin, geom.body).norm() + fall;
  }
}

/// Whether the answer moves a geom farther than contacts were looked for, by more than `slack`. Then the bounds are
/// widened to hold both.
bool outruns(const Model& model, const StepOptions& options, StepWorkspace& w, const State& state) {
  constexpr double kLever = 0.1;  // [m]: a change of velocity that moves nothing by more than the margin is passed over
  const double slack = options.collision.margin, dt = options.dt;
  w.assembly.moved = w.solution.v;
  if (model.num_v == 0 || !w.assembly.moved.allFinite()) return false;
  if ((w.assembly.moved - state.v).cwiseAbs().maxCoeff() * dt * kLever < 0.1 * slack) return false;
  compute_kinematics(model, state.q, w.assembly.moved, w.after);
  compute_motion(model, w.after, dt, w.found);
  bool farther = false;
  for (std::size_t g = 0; g < w.motion.size(); ++g) {
    const double extra = (w.found[g].shift - w.motion[g].shift).norm() + w.found[g].spin - w.motion[g].spin;
    if (extra <= slack) continue;
    farther = true;
    w.motion[g].spin += extra;
  }
  return farther;
}

bool is_sane(const GrowVector& v) { return v.allFinite() && (v.size() == 0 || v.cwiseAbs().maxCoeff() <= kLargest); }

void solve_problem(const StepOptions& options, StepWorkspace& w, StepReport& report) {
  Stopwatch part;
  w.start_lambda = w.solution.lambda;
  w.solver.forget_penalties();  // the next step depends on the state alone
  static_cast<void>(solve(w.assembly.problem, options.solver, w.solver, w.solution));  // -> solution
  report.solve_ms += part.elapsed_ms();
  report.status = std::max(report.status, w.solution.status);
  report.residual = std::max(report.residual, w.solution.certificate.residual);
  report.natural_map = std::max(report.natural_map, w.solution.certificate.natural_map);
  report.iterations += w.solution.info.iterations;
}

void find_contacts(const Model& model, const StepOptions& options, StepWorkspace& w, StepReport& report) {
  const Stopwatch part;
  detect_contacts(model, w.kinematics.X_WG, w.motion, options.collision, w.collision, w.contacts);  // -> contacts
  report.collide_ms += part.elapsed_ms();
}

/// Points left out of flat contacts that the answer would drive into each other join the others; false if there are
/// none. A foot that lands on its edge needs other points than one that stands.
bool take_in_spares(const Model& model, const StepOptions& options, StepWorkspace& w, const State& state) {
  constexpr double kDeepest = 1e-4;  // [m] that a point left out may sink in a step
  constexpr double kLever = 10.0;    // [m]: no point is farther from what it turns about
  if (!is_sane(w.solution.v) || w.solution.v.lpNorm<1>() * options.dt * kLever < kDeepest) return false;
  w.assembly.moved = w.solution.v;
  compute_kinematics(model, state.q, w.assembly.moved, w.after);
  std::vector<ContactPoint>& points = w.contacts.points;
  const std::size_t before = points.size();
  std::size_t left = 0;
  for (const ContactPoint& spare : w.contacts.spare) {
    const double speed = spare.n.dot(point_velocity(model, w.after, spare.body_b, spare.p) -
                                     point_velocity(model, w.after, spare.body_a, spare.p));
    if (spare.gap + options.dt * speed < std::min(spare.gap, 0.0) - kDeepest) {
      points.push_back(spare);
    } else {
      w.contacts.spare[left++] = spare;
    }
  }
  w.contacts.spare.resize(left);
  if (points.size() == before) return false;
  std::sort(points.begin(), points.end(), [](const ContactPoint& a, const ContactPoint& b) {
    return std::tie(a.geom_a, a.geom_b, a.feature) < std::tie(b.geom_a, b.geom_b, b.feature);
  });
  for (std::size_t i = 1; i < points.size(); ++i) {  // each name once
    const ContactPoint& last = points[i - 1];
    if (points[i].geom_a == last.geom_a && points[i].geom_b == last.geom_b)
      points[i].feature = std::max(points[i].feature, last.feature + 1);
  }
  return true;
}

/// Problem and answer for the contacts found, with the impulses of `start` to begin from.
void find_velocities(const Model& model, const StepOptions& options, const Inputs& inputs, StepWorkspace& w,
                     const State& state, const State& start, StepReport& report) {
  assemble(model, state, w.kinematics, w.contacts, inputs, options, w.assembly);  // -> problem
  soften_closures(model, w.kinematics, w.independence, w.assembly);
  match_contacts(w.contacts, start, w.memory);
  recall(start, w.memory, w.assembly, w.solution.lambda);
  report.status = Status::kSolved;
  report.residual = report.natural_map = 0.0;
  solve_problem(options, w, report);
}

/// Trees that end with other velocities than they move with.
void mark_bounced(const Model& model, StepWorkspace& w) {
  std::vector<char>& bounced = w.assembly.drift.bounced;
  bounced.assign(model.trees.size(), 0);
  for (std::size_t t = 0; t < model.trees.size(); ++t) {
    const TreeInfo& tree = model.trees[t];
    bounced[t] =
        static_cast<char>(w.motion_v.segment(tree.v_begin, tree.dofs) != w.solution.v.segment(tree.v_begin, tree.dofs));
  }
}

/// Moves the state on; where the numbers end, everything stops where it is.
bool advance(const Model& model, const StepOptions& options, StepWorkspace& w, State& state) {
  bool sane = is_sane(w.solution.v);
  if (sane) {
    Assembly& assembly = w.assembly;
    const double h = (1.0 - options.theta) * options.dt;
    state.v = w.solution.v - assembly.d;
    w.before = state.q;
    mark_bounced(model, w);
    if (options.theta > 0.0) {
      w.motion_v -= assembly.d;
      compute_half_step(model, w.kinematics, assembly.resistance, h, assembly.drift, assembly.d);
      w.motion_v += assembly.d;
    }
    drift(model, w.kinematics, w.motion_v, assembly.resistance, h, assembly.drift, state.q, state.v);
    sane = is_finite(state.q, kLargest) && is_finite(state.v, kLargest);
    if (!sane) state.q = w.before;
  }
  if (!sane) state.v.setZero();
  state.time += options.dt;
  ++state.steps;
  return sane;
}

/// θ of the way goes before forces and contacts are looked at (2): at θ = 1/2 half the way before, half after them.
void move_before(const Model& model, const StepOptions& options, StepWorkspace& w, State& state) {
  const double h = options.theta * options.dt;
  w.assembly.resistance.setZero(model.num_v);
  compute_half_step(model, w.kinematics, w.assembly.resistance, h, w.assembly.drift, w.assembly.d);
  w.motion_v = state.v + w.assembly.d;
  w.assembly.drift.bounced.clear();
  drift(model, w.kinematics, w.motion_v, w.assembly.resistance, h, w.assembly.drift, state.q, state.v);
  compute_kinematics(model, state.q, state.v, w.kinematics);
}

void fill_report(const StepWorkspace& w, StepReport& report) {
  report.contacts = static_cast<int>(w.contacts.points.size());
  report.reduced_contacts = static_cast<int>(w.contacts.spare.size());
  report.suspicious_depths = w.contacts.suspicious;
  for (std::size_t i = 0; i < w.contacts.points.size(); ++i) {
    report.penetration = std::max(report.penetration, -w.contacts.points[i].gap);
    report.active += w.solution.lambda[static_cast<Eigen::Index>(3 * i + 2)] > 0.0 ? 1 : 0;
  }
}

}  // namespace

void StepOptions::validate() const {
  check_range(std::isfinite(dt) && dt > 0.0, "dt", dt, "> 0");
  check_range(theta >= 0.0 && theta < 1.0, "theta", theta, "0 <= theta < 1");
  check_range(erp >= 0.0 && erp <= 1.0, "erp", erp, "0 to 1");
  check_range(closure_erp >= 0.0 && closure_erp <= 1.0, "closure_erp", closure_erp, "0 to 1");
  check_range(std::isfinite(max_correction) && max_correction >= 0.0, "max_correction", max_correction, ">= 0");
  check_range(restitution_threshold >= 0.0, "restitution_threshold", restitution_threshold, ">= 0");
  check_range(std::isfinite(collision.margin) && collision.margin >= 0.0, "collision.margin", collision.margin, ">= 0");
  check_range(collision.max_points_per_pair >= 3 && collision.max_points_per_pair <= 64,
              "collision.max_points_per_pair", collision.max_points_per_pair, "3 to 64");
  solver.validate();
}

Inputs make_inputs(const Model& model) {
  Inputs inputs;
  const auto drives = static_cast<Eigen::Index>(model.drives.size());
  inputs.target.resize(drives);
  inputs.target_velocity.resize(drives);
  inputs.feedforward.resize(drives);
  for (Eigen::Index i = 0; i < drives; ++i) {
    inputs.target[i] = model.drives[i].target;
    inputs.target_velocity[i] = model.drives[i].target_velocity;
    inputs.feedforward[i] = model.drives[i].feedforward;
  }
  return inputs;
}

namespace {

bool is_rotation(const Eigen::Ref<const Vec4>& q) { return std::abs(q.norm() - 1.0) < 1e-3; }

/// Whether the numbers of state and inputs are of the model and mean something.
bool is_usable(const Model& model, const Inputs& inputs, const State& state) {
  const auto drives = static_cast<Eigen::Index>(model.drives.size());
  if (state.q.size() != model.num_q || state.v.size() != model.num_v || inputs.target.size() != drives ||
      inputs.target_velocity.size() != drives || inputs.feedforward.size() != drives)
    return false;
  if (!inputs.wrenches.empty() && inputs.wrenches.size() != model.bodies.size()) return false;
  if (!is_finite(state.q, kLargest) || !is_finite(state.v, kLargest) || !is_finite(inputs.target) ||
      !is_finite(inputs.target_velocity) || !is_finite(inputs.feedforward))
    return false;
  for (const Wrench& wrench : inputs.wrenches)
    if (!wrench.force.allFinite() || !wrench.torque.allFinite()) return false;
  for (const Joint& joint : model.joints) {
    if (joint.kind == JointKind::kBall && !is_rotation(state.q.segment<4>(joint.q_begin))) return false;
    if (joint.kind == JointKind::kFree && !is_rotation(state.q.segment<4>(joint.q_begin + 3))) return false;
  }
  return true;
}

}  // namespace

StepReport step(const Model& model, const StepOptions& options, const Inputs& inputs, StepWorkspace& w, State& state) {
  Stopwatch watch;
  StepReport report;
  if (!is_usable(model, inputs, state)) {
    report.status = Status::kNumericalError;
    return report;
  }
  compute_kinematics(model, state.q, state.v, w.kinematics);  // model -> kinematics
  if (options.theta > 0.0) move_before(model, options, w, state);
  compute_motion(model, w.kinematics, options.dt, w.motion);
  find_contacts(model, options, w, report);
  find_velocities(model, options, inputs, w, state, state, report);
  const auto look_again = [&] {
    report.looked_twice = true;
    find_velocities(model, options, inputs, w, state, w.first_look, report);
  };
  if (!w.motion.empty() && outruns(model, options, w, state)) {  // an impact threw something far
    remember(w.contacts, w.assembly, w.solution.lambda, w.first_look);
    find_contacts(model, options, w, report);
    look_again();
  }
  for (int round = 0; round < 2 && !w.contacts.spare.empty(); ++round) {
    remember(w.contacts, w.assembly, w.solution.lambda, w.first_look);
    if (!take_in_spares(model, options, w, state)) break;
    look_again();
  }
  w.motion_v = w.solution.v;
  if (is_sane(w.solution.v) && set_end_biases(w.contacts, w.solution.lambda, options, w.assembly)) {
    solve_problem(options, w, report);
    bound_bounce(model, w.kinematics, w.contacts, w.solution.lambda, w.motion_v, w.bounce, w.assembly, w.solution.v);
  }
  remember(w.contacts, w.assembly, w.solution.lambda, state);
  fill_report(w, report);
  if (!advance(model, options, w, state)) report.status = Status::kNumericalError;  // -> state
  report.step_ms = watch.elapsed_ms();
  return report;
}

Simulation::Simulation(Model model, StepOptions options, std::uint64_t seed)
    : model_(std::move(model)),
      options_(std::move(options)),
      inputs_(make_inputs(model_)),
      state_(make_state(model_, seed)) {
  options_.validate();
  compute_kinematics(model_, state_.q, state_.v, now_);
  assemble(model_, state_, now_, {}, inputs_, options_, workspace_.assembly);
  for (std::size_t t = 0; t < model_.trees.size(); ++t) {
    const MatX A = workspace_.assembly.problem.A(static_cast<int>(t));
    require(A.llt().info() == Eigen::Success && A.diagonal().minCoeff() > 0.0,
            "tree of body " + quote(model_.bodies[model_.trees[t].bodies[0]].name) +
                ": the mass matrix is singular at the start; expected inertia along every joint");
  }
}

const Kinematics& Simulation::kinematics() {
  compute_kinematics(model_, state_.q, state_.v, now_);
  return now_;
}

Energy Simulation::energy() { return compute_energy(model_, state_.q, state_.v, kinematics()); }

}  // namespace almond
