#include "almond/sim/step.hpp"

#include <Eigen/Cholesky>
#include <Eigen/LU>
#include <algorithm>
#include <cmath>

#include "almond/base/check.hpp"
#include "almond/base/text.hpp"
#include "almond/base/timer.hpp"
#include "almond/dynamics/drift.hpp"
#include "almond/sim/absurd.hpp"
#include "almond/sim/held.hpp"
#include "almond/sim/memory.hpp"
#include "almond/sim/passing.hpp"
#include "almond/sim/second_look.hpp"
#include "almond/sim/touched.hpp"
#include "almond/sim/wedge.hpp"

namespace almond {
namespace {

bool is_finite(const VecX& x, double largest = kInfinity) {
  return x.allFinite() && (x.size() == 0 || x.cwiseAbs().maxCoeff() <= largest);
}

void check_range(bool ok, const char* field, double value, const char* expected) {
  require(ok, std::string("step options: ") + field + " is " + to_text(value) + ", expected " + expected);
}

/// How well the last problem was solved is of no interest any more.
void forget_answer(StepReport& report) {
  report.status = Status::kSolved;
  report.residual = report.natural_map = report.impulse_ratio = 0.0;
}

/// Nothing was solved, and no comparison may take it for exact.
void fail(StepReport& report) {
  report.status = Status::kNumericalError;
  report.residual = report.natural_map = kInfinity;
}

/// What all looks and parts of a step may spend together, in what one solve may [-]: two solves of a small problem,
/// which has ten times as much. A solved step of the soak takes half of it at most.
constexpr double kWorkOfStep = 20.0;

double work_left(const StepOptions& options, const StepReport& report) {
  return options.solver.max_work > 0.0 ? kWorkOfStep * options.solver.max_work - report.work : kInfinity;
}

/// A budget is that of the step: what comes after its first solve gets what is left, and a little in any case. What
/// the last one will need, for the velocities at the end, the others leave.
void solve_problem(const StepOptions& options, StepWorkspace& w, StepReport& report, bool last = false,
                   bool squeezed = false) {
  constexpr double kLeastShare = 0.05, kMostForLast = 0.5;
  Settings settings = options.solver;
  const double later = last ? 0.0 : std::min(w.end_ms, kMostForLast * settings.budget_ms);
  settings.squeezed = squeezed;
  settings.budget_ms = std::max(settings.budget_ms - report.solve_ms - later, kLeastShare * settings.budget_ms);
  if (settings.max_work > 0.0)
    settings.max_work = std::clamp(work_left(options, report), kLeastShare * settings.max_work, settings.max_work);
  Stopwatch part;
  w.start_v = w.solution.v;
  w.start_lambda = w.solution.lambda;
  w.solver.forget_penalties();  // the next step depends on the state alone
  static_cast<void>(solve(w.assembly.problem, settings, w.solver, w.solution));  // -> solution
  report.solve_ms += part.elapsed_ms();
  report.status = worse(report.status, w.solution.status);
  report.residual = std::max(report.residual, w.solution.certificate.residual);
  report.natural_map = std::max(report.natural_map, w.solution.certificate.natural_map);
  report.impulse_ratio = std::max(report.impulse_ratio, w.solution.certificate.impulse_ratio);
  report.iterations += w.solution.info.iterations;
  report.work += w.solution.info.work;
}

void find_contacts(const Model& model, const StepOptions& options, StepWorkspace& w, StepReport& report) {
  const Stopwatch part;
  detect_contacts(model, w.kinematics.X_WG, w.motion, options.collision, w.collision, w.contacts);  // -> contacts
  report.collide_ms += part.elapsed_ms();
  for (const ContactPoint& point : w.contacts.points) report.penetration = std::max(report.penetration, -point.gap);
  report.held_contacts = leave_out_held(model, w.kinematics, w.contacts);
}

/// Problem and answer for the contacts found, with the impulses of `start` to begin from.
void find_velocities(const Model& model, const StepOptions& options, const Inputs& inputs, StepWorkspace& w,
                     const State& state, const State& start, StepReport& report) {
  assemble(model, state, w.kinematics, w.contacts, inputs, options, w.assembly);  // -> problem
  soften_closures(w.independence, w.assembly);
  match_contacts(w.contacts, start, w.memory);
  recall(start, w.memory, w.assembly, w.solution.lambda);
  w.solution.v = state.v;  // where it opens fast, nothing is to be expected
  forget_answer(report);
  solve_problem(options, w, report);
}

/// Exchanges the constraints of the problem with those kept.
void exchange(ContactProblem& problem, StepWorkspace::Constraints& kept) {
  std::swap(problem.contacts, kept.contacts);
  std::swap(problem.hard, kept.limits);
  std::swap(problem.soft, kept.soft);
  std::swap(problem.equality, kept.equality);
  std::swap(problem.b, kept.b);
}

/// Corrections beside the answer (v, λ): w.motion_v becomes v and what of them is possible.
void correct_beside(const StepOptions& options, StepWorkspace& w, StepReport& report) {
  ContactProblem& problem = w.assembly.problem;
  StepReport part = report;
  set_corrections(w.solution.lambda, w.assembly);
  std::swap(w.solution, w.correction);
  const auto first = static_cast<Eigen::Index>(3 * problem.contacts.size() + problem.hard.size());
  const auto springs = static_cast<Eigen::Index>(problem.soft.size() + problem.equality.size());
  constexpr int kRounds = 4;
  for (int round = 0; round < kRounds && work_left(options, part) > 0.0; ++round) {
    if (round > 0 && !drop_opposed(w.solution.v, problem)) break;
    w.solution.lambda.setZero(problem.num_rows());
    w.solution.lambda.segment(first, springs) = w.correction.lambda.segment(first, springs);
    w.solution.v = w.correction.v;
    part.status = Status::kSolved;
    solve_problem(options, w, part);
    if (!is_sane(w.solution.v)) break;
    if (part.status != Status::kSolved) continue;
    w.motion_v = w.solution.v;
    break;
  }
  std::swap(w.solution, w.correction);
  report.solve_ms = part.solve_ms;
  report.work = part.work;
  report.iterations = part.iterations;
}

/// What overlaps, and friction wedges, is pushed apart without friction; the law is left to the end of the step, where
/// nothing is corrected. False where that has no answer either.
bool unwedge(const StepOptions& options, StepWorkspace& w, StepReport& report) {
  std::vector<Contact>& contacts = w.assembly.problem.contacts;
  for (Contact& contact : contacts)
    if (contact.e[2] < 0.0) contact.mu = 0.0;
  w.solution.lambda = w.start_lambda;
  forget_answer(report);
  solve_problem(options, w, report);
  for (std::size_t i = 0; i < contacts.size(); ++i) contacts[i].mu = w.contacts.points[i].mu;
  if (report.status != Status::kSolved || !is_sane(w.solution.v)) return false;
  w.motion_v = w.solution.v;
  w.solution.lambda = w.start_lambda;
  static_cast<void>(set_end_biases(w.contacts, w.solution.lambda, options, 0.0, w.assembly));
  solve_problem(options, w, report, true);
  return true;
}

/// Corrections that oppose each other have no answer with friction nor without. The law is solved without any, and
/// bounces afterwards; overlaps are corrected beside it, where nothing opposes that.
void hold_opposed(const StepOptions& options, const State& state, StepWorkspace& w, StepReport& report) {
  ContactProblem& problem = w.assembly.problem;
  w.wedged = {problem.contacts, problem.hard, problem.soft, problem.equality, problem.b};
  w.solution.v = state.v;
  StepOptions landing = options;
  landing.restitution_threshold = kInfinity;
  static_cast<void>(set_end_biases(w.contacts, w.solution.lambda, landing, 0.0, w.assembly));
  forget_answer(report);
  solve_problem(options, w, report, true, true);
  w.motion_v = w.solution.v;
  if (!is_sane(w.solution.v)) return;
  exchange(problem, w.wedged);
  correct_beside(options, w, report);
  exchange(problem, w.wedged);
  if (set_bounces(w.contacts, w.solution.lambda, options, w.assembly)) solve_problem(options, w, report, true);
}

/// Where no answer was found: it may be for want of a way to mend overlaps. False where nothing overlaps.
bool find_way_out(const StepOptions& options, const State& state, StepWorkspace& w, StepReport& report) {
  const std::vector<Contact>& contacts = w.assembly.problem.contacts;
  if (std::none_of(contacts.begin(), contacts.end(), [](const Contact& c) { return c.e[2] < 0.0; })) return false;
  // Impulses that ran away, as large as masses could need: what they press together may hold.
  w.squeeze = w.solution.lambda / std::max(1.0, w.solution.certificate.impulse_ratio);
  if (!unwedge(options, w, report)) {
    w.solution.lambda = w.squeeze;
    hold_opposed(options, state, w, report);
  }
  report.jammed = report.status == Status::kSolved;
  return true;
}

/// The velocities at the end of the step, and those that move the bodies there where they differ.
void find_end_velocities(const Model& model, const StepOptions& options, const State& state, StepWorkspace& w,
                         StepReport& report) {
  constexpr double kNoticeable = 0.01;   // [m/s, rad/s]: a body thrown up so rises by 5 µm
  constexpr std::size_t kFewTrees = 20;  // crowds lack an answer for want of work, which others would need as well
  w.motion_v = w.solution.v;
  if (!is_sane(w.solution.v)) return;
  const StepReport wedged = report;
  const bool out_of_time = report.status == Status::kTimeBudget;  // no sign of a wedge, and no time to look for one
  const bool no_answer = report.status != Status::kSolved && !out_of_time && model.trees.size() <= kFewTrees;
  constexpr double kForget = 0.99, kEndShare = 0.15, kSetups = 3.0;  // to set up, to sweep and to stop
  w.end_ms *= kForget;
  if (!no_answer || !find_way_out(options, state, w, report)) {
    const double noticeable = no_answer ? 0.0 : kNoticeable;
    if (!set_end_biases(w.contacts, w.solution.lambda, options, noticeable, w.assembly)) return;
    if (no_answer) w.solution.lambda = w.start_lambda;
    solve_problem(options, w, report, true);
  }
  w.end_ms = std::max(w.end_ms, kEndShare * options.solver.budget_ms + kSetups * w.solution.info.setup_ms);
  bound_bounce(model, w.kinematics, w.contacts, w.solution.lambda, w.motion_v, w.bounce, w.assembly, w.solution.v);
  if (!no_answer || report.jammed) return;
  report.status = worse(report.status, wedged.status);
  report.impulse_ratio = std::max(report.impulse_ratio, wedged.impulse_ratio);
  report.residual = std::max(report.residual, wedged.residual);
  report.natural_map = std::max(report.natural_map, wedged.natural_map);
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

/// v⁺ of a single body that nothing touches, straight: the way through its mass matrix in world axes would mix the
/// inertias of a thin one by rounding, and it would gain or lose energy in the course of many steps.
void fly(const Model& model, const Kinematics& kin, const VecX& f, double dt, const TreeInfo& tree, VecX& v) {
  const int b = tree.bodies[0];
  v.segment<3>(tree.v_begin) += dt / model.bodies[b].mass * f.segment<3>(tree.v_begin);
  const Vec3 torque = f.segment<3>(tree.v_begin + 3);
  if (torque.isZero(0.0)) return;
  const Mat3& R = kin.X_WB[b].R;
  v.segment<3>(tree.v_begin + 3) += dt * (R * (model.bodies[b].inertia.inverse() * (R.transpose() * torque)));
}

/// Moves the state on; false where the numbers end.
bool advance(const Model& model, const StepOptions& options, StepWorkspace& w, State& state) {
  bool sane = is_sane(w.solution.v);
  if (sane) {
    Assembly& assembly = w.assembly;
    const double h = (1.0 - options.theta) * options.dt;
    mark_bounced(model, w);
    mark_bearing(model, w);
    mark_touched(model, w);
    for (std::size_t t = 0; t < model.trees.size(); ++t) {
      const TreeInfo& tree = model.trees[t];
      if (tree.single && assembly.drift.touched[t] == 0)
        fly(model, w.kinematics, assembly.f, options.dt, tree, state.v);
      else
        state.v.segment(tree.v_begin, tree.dofs) =
            w.solution.v.segment(tree.v_begin, tree.dofs) - assembly.d.segment(tree.v_begin, tree.dofs);
    }
    if (options.theta > 0.0) {
      w.motion_v -= assembly.d;
      compute_half_step(model, w.kinematics, assembly.resistance, h, assembly.drift, assembly.d);
      w.motion_v += assembly.d;
    }
    drift(model, w.kinematics, w.motion_v, assembly.resistance, -0.5 * options.dt, h, assembly.drift, state.q, state.v);
    sane = is_finite(state.q, kLargest) && is_finite(state.v, kLargest);
  }
  return sane;
}

/// θ of the way goes before forces and contacts are looked at (2): at θ = 1/2 half the way before, half after them.
void move_before(const Model& model, const StepOptions& options, StepWorkspace& w, State& state) {
  const double h = options.theta * options.dt;
  w.assembly.resistance.setZero(model.num_v);
  compute_half_step(model, w.kinematics, w.assembly.resistance, h, w.assembly.drift, w.assembly.d);
  w.motion_v = state.v + w.assembly.d;
  w.assembly.drift.bounced.clear();
  w.assembly.drift.touched.clear();
  drift(model, w.kinematics, w.motion_v, w.assembly.resistance, 0.5 * options.dt - h, h, w.assembly.drift, state.q,
        state.v);
  compute_kinematics(model, state.q, state.v, w.kinematics);
}

/// Trees whose energy the move had wrong, and the step at which it would not: its error is of third order.
void report_energy(const StepOptions& options, const std::vector<double>& mended, StepReport& report) {
  constexpr double kNoticeable = 0.02;  // of the energy: a share that no accurate step comes near
  double worst = 0.0;
  for (const double share : mended) {
    report.energy_limited += share > kNoticeable ? 1 : 0;
    worst = std::max(worst, share);
  }
  if (report.energy_limited > 0) report.energy_dt = options.dt * std::cbrt(kNoticeable / worst);
}

void fill_report(const StepWorkspace& w, StepReport& report) {
  report.contacts = static_cast<int>(w.contacts.points.size());
  report.reduced_contacts = static_cast<int>(w.contacts.spare.size());
  report.suspicious_depths = w.contacts.suspicious;
  for (std::size_t i = 0; i < w.contacts.points.size(); ++i) {
    report.active += w.solution.lambda[static_cast<Eigen::Index>(3 * i + 2)] > 0.0 ? 1 : 0;
  }
}

}  // namespace

void StepOptions::validate() const {
  check_range(dt >= kShortestTimeStep && dt <= kLongestTimeStep, "dt", dt, "1e-09 to 10");
  check_range(theta >= 0.0 && theta < 1.0, "theta", theta, "0 <= theta < 1");
  check_range(erp >= 0.0 && erp <= 1.0, "erp", erp, "0 to 1");
  check_range(closure_erp >= 0.0 && closure_erp <= 1.0, "closure_erp", closure_erp, "0 to 1");
  check_range(std::isfinite(max_correction) && max_correction >= 0.0, "max_correction", max_correction, ">= 0");
  check_range(restitution_threshold >= 0.0, "restitution_threshold", restitution_threshold, ">= 0");
  check_range(std::isfinite(collision.margin) && collision.margin >= 0.0, "collision.margin", collision.margin, ">= 0");
  check_range(collision.max_points_per_pair >= 3 && collision.max_points_per_pair <= 64,
              "collision.max_points_per_pair", collision.max_points_per_pair, "3 to 64");
  check_range(collision.max_points_per_sdf_pair >= 8, "collision.max_points_per_sdf_pair",
              collision.max_points_per_sdf_pair, ">= 8");
  solver.validate();
}

StepOptions make_options(const Model& model) {
  StepOptions options;
  options.dt = model.time_step;
  return options;
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

namespace {

/// Back to where the part of the step began.
void take_back(const StepWorkspace& w, State& state) {
  state.q = w.q_start;
  state.v = w.v_start;
}

/// Whether loops that were open end no less open: a mechanism that cannot close swings through where it is nearest.
bool opens(const Model& model, const StepOptions& options, const State& state, double opening, StepWorkspace& w) {
  constexpr double kOpen = 1e-3;  // [m, rad]
  if (opening < kOpen || options.closure_erp == 0.0 || !is_sane(w.motion_v)) return false;
  w.before = state.q;
  move(model, w.motion_v, (1.0 - options.theta) * options.dt, w.before);
  compute_poses(model, w.before, w.after);
  return measure_opening(model, w.before, w.after.X_WB) >= opening;
}

/// A step, or a part of one, options.dt long. False, and the state is as it was, where the answer would lead bodies
/// through each other and may be refused.
bool try_step(const Model& model, const StepOptions& options, const Inputs& inputs, bool may_refuse, StepWorkspace& w,
              State& state, StepReport& report) {
  w.q_start = state.q;
  w.v_start = state.v;
  compute_kinematics(model, state.q, state.v, w.kinematics);  // model -> kinematics
  recall_bearing(model, state, w.assembly.drift.bearing);
  if (options.theta > 0.0) move_before(model, options, w, state);
  compute_motion(model, w.kinematics, w.kinematics.V, options.dt, w.motion);
  recall_names(state, w.contacts.carried);
  report.opening = measure_opening(model, state.q, w.kinematics.X_WB);
  find_contacts(model, options, w, report);
  find_velocities(model, options, inputs, w, state, state, report);
  // An answer that was cut off says nothing about what was looked for too near, and leaves no time for more.
  const auto in_time = [&] { return report.status != Status::kTimeBudget && work_left(options, report) > 0.0; };
  const auto look_again = [&] {
    report.looked_twice = true;
    find_velocities(model, options, inputs, w, state, w.first_look, report);
  };
  if (in_time() && !w.motion.empty() && outruns(model, options, state, w)) {  // an impact threw something far
    remember(w.contacts, w.assembly, w.solution.lambda, w.first_look);
    find_contacts(model, options, w, report);
    look_again();
  }
  for (int round = 0; round < 2 && in_time() && !w.contacts.spare.empty(); ++round) {
    remember(w.contacts, w.assembly, w.solution.lambda, w.first_look);
    if (!take_in_spares(model, options, w)) break;
    look_again();
  }
  bool end_is_seen = false;
  constexpr int kLooks = 2, kLooksAtWhirls = 6;
  constexpr double kWhirl = 0.5;             // [rad, m] in a step
  for (int round = 0; in_time(); ++round) {  // what turns fast ends elsewhere than J v says
    bool far = find_end(model, options, state, w);
    while (far && in_time() && report.paths_bent < 2 * (round + 1) && bend_paths(model, options, w)) {
      ++report.paths_bent;
      forget_answer(report);
      solve_problem(options, w, report);
      far = find_end(model, options, state, w);
    }
    const bool whirls = far && options.dt * w.motion_v.cwiseAbs().maxCoeff() > kWhirl;
    if (!far || round >= (whirls ? kLooksAtWhirls : kLooks) || !may_swing(model, options, w)) break;
    remember(w.contacts, w.assembly, w.solution.lambda, w.first_look);
    const Stopwatch part;
    const bool missed = look_ahead(model, options, w);
    report.collide_ms += part.elapsed_ms();
    end_is_seen = !missed && round == 0;  // later, gaps are those of places that are to meet
    if (!missed) break;
    look_again();
  }
  const bool contradictory = contradicts(w.assembly, options.dt, w.solution.v);
  if (contradictory) report.status = worse(report.status, Status::kInfeasible);
  find_end_velocities(model, options, state, w, report);
  if (contradictory || opens(model, options, state, report.opening, w))
    report.status = worse(report.status, Status::kInfeasible);
  if (is_absurd(model, options, state, w.solution.v, w)) report.status = Status::kNumericalError;
  if (report.status != Status::kNumericalError)
    report.passed = count_passing(model, options, state, end_is_seen && !report.jammed, w);
  constexpr double kMostSpent = 0.75;  // of a budget, to begin again
  const double budget = options.solver.budget_ms;
  const bool in_budget = (budget == 0.0 || report.solve_ms < kMostSpent * budget) && work_left(options, report) > 0.0;
  const bool cut_off = report.status == Status::kMaxIterations || report.status == Status::kTimeBudget;
  if (report.passed > 0 && may_refuse && !cut_off && in_budget) {
    take_back(w, state);
    return false;
  }
  if (report.passed > 0) report.status = worse(report.status, Status::kStalled);
  fill_report(w, report);
  w.dt = options.dt;
  if (report.status != Status::kNumericalError && advance(model, options, w, state)) {  // -> state
    report_energy(options, w.assembly.drift.mended, report);
    remember(w.contacts, w.assembly, w.solution.lambda, state);
  } else {
    take_back(w, state);
    fail(report);
  }
  return true;
}

/// Impulses remembered, for a step of another length.
void scale_memory(double factor, State& state) {
  for (ContactMemory& contact : state.contacts) contact.impulse *= factor;
  for (RowMemory& row : state.rows) row.impulse *= factor;
}

/// What a part of a step says, beside what others said.
void add_part(const StepReport& part, StepReport& report) {
  report.status = worse(report.status, part.status);
  report.residual = std::max(report.residual, part.residual);
  report.natural_map = std::max(report.natural_map, part.natural_map);
  report.impulse_ratio = std::max(report.impulse_ratio, part.impulse_ratio);
  report.penetration = std::max(report.penetration, part.penetration);
  report.opening = std::max(report.opening, part.opening);
  report.held_contacts = std::max(report.held_contacts, part.held_contacts);
  report.contacts = part.contacts;
  report.active = part.active;
  report.reduced_contacts = part.reduced_contacts;
  report.suspicious_depths += part.suspicious_depths;
  report.iterations += part.iterations;
  report.paths_bent += part.paths_bent;
  report.passed += part.passed;
  report.looked_twice = report.looked_twice || part.looked_twice;
  report.jammed = report.jammed || part.jammed;
  report.energy_limited = std::max(report.energy_limited, part.energy_limited);
  if (part.energy_dt > 0.0)
    report.energy_dt = report.energy_dt > 0.0 ? std::min(report.energy_dt, part.energy_dt) : part.energy_dt;
  ++report.parts;
}

/// options.dt in one, or where that leads bodies through each other in two halves.
void step_in_parts(const Model& model, const StepOptions& options, const Inputs& inputs, int halvings, StepWorkspace& w,
                   State& state, StepReport& report) {
  StepReport part;
  part.work = report.work;
  const bool done = try_step(model, options, inputs, halvings > 0, w, state, part);
  report.collide_ms += part.collide_ms;
  report.solve_ms += part.solve_ms;
  report.work = part.work;
  if (done) return add_part(part, report);
  StepOptions half = options;
  half.dt *= 0.5;
  if (half.solver.budget_ms > 0.0) half.solver.budget_ms = 0.5 * (half.solver.budget_ms - part.solve_ms);
  scale_memory(0.5, state);
  for (int i = 0; i < 2 && report.status != Status::kNumericalError; ++i)
    step_in_parts(model, half, inputs, halvings - 1, w, state, report);
  scale_memory(2.0, state);
}

}  // namespace

StepReport step(const Model& model, const StepOptions& options, const Inputs& inputs, StepWorkspace& w, State& state) {
  constexpr int kHalvings = 4;  // parts of 0.3 ms at 240 Hz: what whirls at 1000 rad/s turns by less than a third
  Stopwatch watch;
  StepReport report;
  if (!is_usable(model, inputs, state)) {
    fail(report);
    return report;
  }
  w.q_before = state.q;
  w.v_before = state.v;
  step_in_parts(model, options, inputs, kHalvings, w, state, report);
  if (report.status == Status::kNumericalError) {  // nothing of it is taken
    state.q = w.q_before;
    state.v = w.v_before;
    state.contacts.clear();  // what led here is no place to start from
    state.rows.clear();
  }
  state.time += options.dt;
  ++state.steps;
  report.step_ms = watch.elapsed_ms();
  return report;
}

Simulation::Simulation(Model model, std::optional<StepOptions> options, std::uint64_t seed)
    : model_(std::move(model)),
      options_(options ? std::move(*options) : make_options(model_)),
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
