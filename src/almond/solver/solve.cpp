#include "almond/solver/solve.hpp"

#include <algorithm>
#include <cmath>

#include "almond/base/parallel.hpp"
#include "almond/solver/auto.hpp"
#include "almond/solver/baselines/strict_al.hpp"
#include "almond/solver/canal.hpp"
#include "almond/solver/certificate.hpp"
#include "almond/solver/contact_velocity.hpp"
#include "almond/solver/idle.hpp"
#include "almond/solver/impulse_ratio.hpp"
#include "almond/solver/island_certificate.hpp"
#include "almond/solver/shock.hpp"
#include "almond/solver/stop.hpp"

namespace almond {

/// Everything one island needs; kept from call to call, so factors keep their symbolic part.
struct IslandScratch {
  Monitor monitor;
  AutoWorkspace work;
  StrictAlWorkspace strict_al;
  MeasureWorkspace final;
  Residuals reached;
  std::vector<double> lambda, zero;
  Status status = Status::kSolved;
  bool pending = false;
  const GrowVector* v0 = nullptr;  // velocities before, if known
  bool stop = false;               // out of time: nothing may approach all the same
};

struct Workspace::Impl {
  IslandWorkspace islands;
  IdleContacts idle;
  GrowVector start;                                     // λ to begin from, while there are idle contacts
  std::vector<std::unique_ptr<IslandScratch>> scratch;  // one per island
  std::unique_ptr<WorkerPool> pool;
  std::vector<double> scratch_v;
  ShockWorkspace shock;
  ImpulseWorkspace impulses;
  bool overdone = false;   // the law is obeyed, by impulses that no mass could need
  double end_ms = 0.0;     // of the budget
  double after_ms = 0.0;   // that it took to end when time was up last
  GrowVector start_v;      // to see slip begin
  std::vector<int> order;  // islands, small ones first
  std::vector<double> cost;
  SolveClock clock;
};

Workspace::Workspace() : impl_(std::make_unique<Impl>()) {}
Workspace::~Workspace() = default;
Workspace::Workspace(Workspace&&) noexcept = default;
Workspace& Workspace::operator=(Workspace&&) noexcept = default;

void Workspace::forget() {
  for (const std::unique_ptr<IslandScratch>& s : impl_->scratch) {
    for (Surrogate* surrogate : {&s->work.spn.surrogate, &s->work.canal.surrogate, &s->strict_al.surrogate})
      surrogate->factor().forget();
  }
  forget_penalties();
}

void Workspace::forget_penalties() {
  for (const std::unique_ptr<IslandScratch>& s : impl_->scratch) s->work.admm.c = 0.0;
}

void set_stop(Workspace& workspace, std::function<bool()> stop) { workspace.impl().clock.stop = std::move(stop); }

namespace {

constexpr double kRoundingNatural = 1e-11;
constexpr double kSmallPatience = 10.0;    // of problems that are no crowd: more work for an exact answer
constexpr int kFirstOrderLimit = 1000000;  // sweeps or ADMM iterations when the caller set no limit at all
constexpr double kShortTime = 0.05;        // [ms] per constraint: a budget below it may not be enough; then
constexpr int kFirstSweeps = 32;           // a step begins with sweeps,
constexpr double kFirstShare = 0.2;        // in this share of its time at most,
constexpr double kSweepShare = 0.3;        // keeps a share of its time for more at the end,
constexpr double kCrawlShare = 0.1;        // only this part of both where sweeps crawl and Newton steps are cheap,
constexpr double kNewtonTime = 0.002;      // [ms] per constraint: a few Newton steps; with less, it has sweeps only,
constexpr double kStopShare = 0.1;         // and one to stop what approaches and for the clock's own delays: as long
constexpr double kMostStopShare = 0.4;     // as it took the last time, but at least and at most these
constexpr double kRestingCrowd = 10.0;     // natural map by crowd_tol that is enough at rest,
constexpr double kSmallCrowd = 3.0;        // in small crowds, which can afford it,
constexpr int kSmallCrowdDofs = 300;       // up to here,
constexpr double kMovingCrowd = 100.0;     // and in motion,
constexpr double kOfSpeed = 1e-3;          // between them in proportion to the speed at its contacts
constexpr int kMostWakings = 2;            // of idle contacts; then all take part

SubAdmmOptions make_admm_options(const Settings& settings, WorkerPool* pool) {
  SubAdmmOptions o;
  o.c0 = settings.admm_c0;
  o.gamma = settings.admm_gamma;
  o.relax = settings.admm_relax;
  o.anderson = settings.admm_anderson;
  o.fixed = settings.fixed_iterations;
  o.max_iterations = settings.fixed_iterations ? settings.max_iterations : kFirstOrderLimit;
  o.keep = settings.warm_start;  // the penalty that served the neighbouring problem
  o.pseudo_density = settings.admm_pseudo_density;
  const bool dense = settings.solver == SolverKind::kAdmmNoSub || settings.admm_dense;
  o.tree_path = settings.solver == SolverKind::kAdmmNoBody ? TreePath::kSolve
                : dense                                    ? TreePath::kDense
                : settings.admm_aba                        ? TreePath::kArticulated
                                                           : TreePath::kCheapest;
  o.pool = pool;
  return o;
}

/// One attempt at an island; `round` counts them.
Status solve_island(const Island& island, const Settings& settings, int round, WorkerPool* pool, IslandScratch& s) {
  double* lambda = s.lambda.data();
  switch (settings.solver) {
    case SolverKind::kPgs: {
      PgsOptions o;
      o.omega = settings.pgs_omega;
      o.anderson = settings.pgs_anderson;
      o.fixed = settings.fixed_iterations;
      o.max_sweeps = settings.fixed_iterations ? settings.max_iterations : kFirstOrderLimit;
      return solve_pgs(island, o, s.monitor, s.work.pgs, lambda);
    }
    case SolverKind::kSubAdmm:
    case SolverKind::kAdmmNoSub:
    case SolverKind::kAdmmNoBody:
      return solve_subadmm(island, make_admm_options(settings, pool), s.monitor, s.work.admm, lambda);
    case SolverKind::kCanal: {
      CanalOptions o;
      o.c0 = settings.canal_c0;
      o.kappa = settings.canal_kappa;
      o.zeta = settings.canal_zeta;
      o.c_max = settings.canal_c_max;
      o.inner_tol = settings.canal_inner_tol;
      o.polish = settings.canal_polish;
      o.inner = settings.canal_inner;
      return solve_canal(island, o, s.monitor, s.work.canal, lambda);
    }
    case SolverKind::kDogleg:
    case SolverKind::kDampedSn: {
      StrictAlOptions o;
      o.c0 = settings.canal_c0;
      o.kappa = settings.canal_kappa;
      o.zeta = settings.canal_zeta;
      o.c_max = settings.canal_c_max;
      o.inner_tol = settings.canal_inner_tol;
      o.fixed = settings.fixed_iterations;
      return settings.solver == SolverKind::kDogleg ? solve_dogleg(island, o, s.monitor, s.strict_al, lambda)
                                                    : solve_damped_sn(island, o, s.monitor, s.strict_al, lambda);
    }
    case SolverKind::kSpn:
      return solve_spn(island, SpnOptions{}, s.monitor, s.work.spn, lambda);
    case SolverKind::kAuto: {
      AutoOptions o;
      o.warm = settings.warm_start;
      o.prefer_stick = settings.prefer_stick;
      o.v0 = s.v0;
      o.admm = make_admm_options(settings, pool);
      return run_auto_round(island, o, round, s.monitor, s.work, lambda);
    }
  }
  return Status::kNumericalError;
}

bool is_crowd(const ContactProblem& problem) { return problem.num_dofs() > kCrowdDofs; }

/// The residual that is enough for a crowd; 0: none is one.
double enough_of(const ContactProblem& problem, const Settings& settings) {
  return is_crowd(problem) ? settings.crowd_tol : 0.0;
}

/// The natural map that is enough at rest, by crowd_tol.
double resting_map(const ContactProblem& problem) {
  return problem.num_dofs() <= kSmallCrowdDofs ? kSmallCrowd : kRestingCrowd;
}

/// Of all contacts of an island at v0, as the natural map adds them up.
double contact_speed(const Island& island, const GrowVector& v0) {
  double sum = 0.0;
  for (int i = 0; i < island.num_contacts; ++i) {
    const Contact& contact = island.problem->contacts[island.constraints[i].index];
    sum += contact_velocity(*island.problem, contact, v0).squaredNorm();
  }
  return std::sqrt(sum);
}

/// Whether an island has a contact now that was idle.
bool has_woken(const Island& island, const IdleContacts& idle) {
  for (int i = 0; i < island.num_contacts; ++i)
    if (idle.woken[island.constraints[i].index] != 0) return true;
  return false;
}

/// Goals of the islands add up to the goals of the whole: natural map tol/10 (shares to twice its square), residual
/// tol. Islands with woken contacts begin `anew` from where the solve began: where the law has several answers, the one
/// near the start is wanted and not what came of fewer contacts.
void start_monitors(const ContactProblem& problem, const Settings& settings, const Solution& start, bool warm,
                    bool anew, Workspace::Impl& w) {
  const int count = w.islands.count;
  double q2 = 0.0, reach2 = 0.0;
  measure_idle(problem, w.idle, w.islands, q2, reach2);
  for (int k = 0; k < count; ++k) {
    q2 += w.islands.islands[k].q_norm * w.islands.islands[k].q_norm;
    reach2 += w.islands.islands[k].reach2;
  }
  for (std::size_t i = 0; i < problem.contacts.size(); ++i) {
    const Contact& c = problem.contacts[i];
    if (!w.idle.has(i) && is_inert(problem, c)) q2 += c.e.squaredNorm();
  }
  const double total = std::max(1, problem.num_contacts() + problem.num_scalar_rows());
  w.clock.natural_scale = 1.0 / natural_map_unit(q2, reach2);
  w.clock.residual_scale = 1.0 / total;
  w.clock.parts.assign(count, {});
  const double enough = enough_of(problem, settings), resting = resting_map(problem) * enough;
  for (int k = 0; k < count; ++k) {
    const Island& island = w.islands.islands[k];
    IslandScratch& s = *w.scratch[k];
    const double share = natural_map_unit(std::max(island.q_norm * island.q_norm, q2 / count), island.reach2);
    const double speed = enough > 0.0 && w.start_v.size() > 0 ? contact_speed(island, w.start_v) : 0.0;
    const double loose = std::clamp(kOfSpeed * speed, resting * island.q_norm, kMovingCrowd * enough * island.q_norm);
    const double natural_goal = std::max({0.07 * settings.tol * share, loose, 1e-300});
    const double residual_goal = 0.7 * std::max(settings.tol, enough) * std::sqrt(total * island.num_constraints);
    s.monitor.start(island, k, natural_goal, residual_goal, w.clock);
    s.monitor.max_iterations = settings.max_iterations;
    const double patience = is_crowd(problem) ? 1.0 : kSmallPatience;
    s.monitor.max_work = settings.solver == SolverKind::kAuto ? patience * settings.max_work : 0.0;
    s.monitor.newton_price = 1.0;
    s.v0 = w.start_v.size() > 0 ? &w.start_v : nullptr;
    s.lambda.assign(island.rows, 0.0);
    if (warm) {
      const GrowVector& from = anew && has_woken(island, w.idle) ? w.start : start.lambda;
      for (int i = 0; i < island.num_constraints; ++i) {
        const int row = problem_row(problem, island, i);
        const Constraint& c = island.constraints[i];
        for (int r = 0; r < c.dim; ++r) s.lambda[c.row + r] = from[row + r];
      }
    }
    if (w.clock.tracing && !island.degenerate) w.clock.parts[k] = measure(island, s.lambda.data(), s.final);
  }
}

/// v of an island, in the problem's order.
void export_velocity(const ContactProblem& problem, const IslandWorkspace& ws, const Island& island,
                     const std::vector<double>& white_v, std::vector<double>& scratch, GrowVector& v) {
  for (const Node& node : island.nodes) {
    const double* white = &white_v[node.v_begin];
    if (node.subsystem >= 0) {
      unwhiten(island, node, white, v.data() + problem.subsystems[node.subsystem].offset);
      continue;
    }
    // The whole system as one node: take it apart again.
    scratch.resize(node.dofs);
    unwhiten(island, node, white, scratch.data());
    for (std::size_t s = 0; s < problem.subsystems.size(); ++s) {
      const Subsystem& sub = problem.subsystems[s];
      if (ws.row_of[s] != 0) std::copy_n(&scratch[ws.fill[s]], sub.dofs, v.data() + sub.offset);
    }
  }
}

void count_iterations(const Workspace::Impl& w, SolveInfo& info) {
  int iterations = 0;
  for (int k = 0; k < w.islands.count; ++k) {
    const Monitor& monitor = w.scratch[k]->monitor;
    iterations = std::max(iterations, monitor.iterations);
    info.newton_steps += monitor.newton_steps;
    info.pgs_sweeps += monitor.pgs_sweeps;
    info.admm_iterations += monitor.admm_iterations;
    info.inner_failures += monitor.inner_failures;
    info.work += monitor.work();
  }
  info.iterations += iterations;
}

/// λ and v of the whole from those of the islands, and the status of the one that fared worst.
void export_solution(const ContactProblem& problem, Workspace::Impl& w, Solution& solution) {
  solution.info.islands = w.islands.count;
  solution.status = Status::kSolved;
  solution.lambda.setZero(problem.num_rows());
  solution.v.setZero(problem.num_dofs());
  for (int s : w.islands.free_subsystems) {
    const Subsystem& sub = problem.subsystems[s];
    if (solve_free(problem, s, w.islands, solution.v.data() + sub.offset)) continue;
    std::fill_n(solution.v.data() + sub.offset, sub.dofs, 0.0);
    solution.status = Status::kNumericalError;
  }
  for (int k = 0; k < w.islands.count; ++k) {
    const Island& island = w.islands.islands[k];
    IslandScratch& s = *w.scratch[k];
    solution.status = worse(solution.status, s.status);
    if (island.degenerate) continue;
    const double* best = s.monitor.best_lambda();
    for (int i = 0; i < island.num_constraints; ++i) {
      const int row = problem_row(problem, island, i);
      const Constraint& c = island.constraints[i];
      for (int r = 0; r < c.dim; ++r) solution.lambda[row + r] = best[c.row + r];
    }
    s.reached = s.monitor.measure_best(s.final);
    const double left = s.stop ? w.end_ms - w.clock.watch.elapsed_ms() : 0.0;
    if (s.stop && stop_approach(island, best, s.final, w.shock, left)) {
      export_velocity(problem, w.islands, island, w.shock.v, w.scratch_v, solution.v);
    } else {
      export_velocity(problem, w.islands, island, s.final.v, w.scratch_v, solution.v);
    }
  }
}

void certify(const ContactProblem& problem, const Settings& settings, Workspace::Impl& w, Solution& solution) {
  Certificate& certificate = solution.certificate;
  std::vector<ContactMode> mode = std::move(certificate.mode);  // keeps its capacity
  certificate = Certificate{};
  certificate.mode = std::move(mode);
  certificate.mode.assign(problem.contacts.size(), ContactMode::kOpen);
  double worst = 0.0;
  Residuals sum;
  bool judged = true;
  for (std::size_t i = 0; i < problem.contacts.size(); ++i) {
    const Contact& c = problem.contacts[i];
    if (w.idle.has(i)) {
      ++certificate.modes[static_cast<int>(ContactMode::kOpen)];
    } else if (is_inert(problem, c)) {
      if (!add_inert(c, static_cast<int>(i), worst, sum, certificate)) solution.status = Status::kInfeasible;
    }
  }
  for (int k = 0; k < w.islands.count; ++k) {
    const Island& island = w.islands.islands[k];
    const IslandScratch& s = *w.scratch[k];
    judged = judged && !island.degenerate;
    if (island.degenerate) continue;
    sum.natural2 += s.reached.natural2;
    sum.residual2 += s.reached.residual2;
    add_to_certificate(island, s.monitor.best_lambda(), s.final, worst, certificate);
    certificate.impulse_ratio =
        std::max(certificate.impulse_ratio, impulse_ratio(island, s.monitor.best_lambda(), w.impulses));
  }
  // What cannot be judged is as bad as can be, so that no comparison takes it for small.
  judged = judged && w.clock.natural_scale > 0.0 && std::isfinite(sum.natural2) && std::isfinite(sum.residual2);
  certificate.natural_map = judged ? std::sqrt(sum.natural2) * w.clock.natural_scale : kInfinity;
  certificate.residual = judged ? std::sqrt(sum.residual2) * w.clock.residual_scale : kInfinity;
  certificate.finite = solution.v.allFinite() && solution.lambda.allFinite();
  // Islands aim a little beyond the goal of the whole; what reached that is solved, whoever gave up.
  const double enough = enough_of(problem, settings);
  const bool reached = certificate.natural_map <= 0.99 * std::max(0.1 * settings.tol, kMovingCrowd * enough) &&
                       certificate.residual <= 0.99 * std::max(settings.tol, enough);
  const bool gave_up = solution.status == Status::kStalled || solution.status == Status::kMaxIterations ||
                       solution.status == Status::kTimeBudget;
  if (reached && gave_up && !settings.fixed_iterations) solution.status = Status::kSolved;
  if (!judged && solution.status == Status::kSolved) solution.status = Status::kNumericalError;  // squares overflow
  w.overdone = solution.status == Status::kSolved && certificate.impulse_ratio > kMostImpulseRatio;
  if (w.overdone) solution.status = Status::kStalled;  // no proof that there is no other answer
  if (!certificate.finite) {                           // only for data that validate() would have refused
    solution.v = solution.v.unaryExpr([](double x) { return std::isfinite(x) ? x : 0.0; });
    solution.lambda = solution.lambda.unaryExpr([](double x) { return std::isfinite(x) ? x : 0.0; });
    solution.status = Status::kNumericalError;
  }
}

/// Work of one first-order iteration, for shares of the time.
double cost_of(const Island& island) {
  double cost = 0.0;
  for (const Node& node : island.nodes) cost += node.ld * (node.side_rows + node.ld);
  return cost;
}

/// Measures the warm start, if there is one, and unless that is the answer λ = 0. A start that is worse than none, or
/// so wild that its squares overflow, is none.
void observe_start(const Settings& settings, IslandScratch& s) {
  const bool warm = settings.warm_start;
  const double start = warm ? s.monitor.observe(s.lambda.data()) : kInfinity;
  if (start <= 1.0 || (warm && settings.squeezed && std::isfinite(start))) return;
  s.zero.assign(s.lambda.size(), 0.0);
  const double cold = s.monitor.observe(s.zero.data());
  if (warm && !(start <= cold)) std::fill(s.lambda.begin(), s.lambda.end(), 0.0);
}

/// Whether solves are steps that must end in time, by methods that are of little use when they are cut off.
bool is_timed(const Settings& settings) {
  const bool ours = settings.solver == SolverKind::kAuto || settings.solver == SolverKind::kCanal ||
                    settings.solver == SolverKind::kSubAdmm || settings.solver == SolverKind::kSpn;
  return ours && settings.warm_start && settings.max_iterations == 0 && settings.budget_ms > 0.0;
}

/// Whether that time may not be enough: sweeps before and after the method proper see to it that what comes back is
/// usable whenever that is. Each sweep improves on the impulses of the step before; a Newton or ADMM iteration that is
/// cut off does not.
bool is_short_of_time(const Settings& settings, const Island& island) {
  return is_timed(settings) && settings.budget_ms < kShortTime * island.num_constraints;
}

bool takes_newton_steps(const Settings& settings) {
  return settings.solver == SolverKind::kAuto || settings.solver == SolverKind::kCanal ||
         settings.solver == SolverKind::kSpn;
}

/// The part of the budget that methods may use; the rest is for stopping what approaches when they are cut off.
double time_for_methods(const Settings& settings, const Workspace::Impl& w) {
  if (!is_timed(settings)) return settings.budget_ms;
  return settings.budget_ms -
         std::clamp(w.after_ms, kStopShare * settings.budget_ms, kMostStopShare * settings.budget_ms);
}

/// Sweeps from the best that is known; `count` 0: until the island's time is up.
void sweep(const Island& island, int count, IslandScratch& s) {
  PgsOptions options;
  options.stick = true;
  options.max_sweeps = count;
  std::copy_n(s.monitor.best_lambda(), island.rows, s.lambda.data());
  static_cast<void>(solve_pgs(island, options, s.monitor, s.work.pgs, s.lambda.data()));
  std::copy_n(s.monitor.best_lambda(), island.rows, s.lambda.data());
}

void run_island(int k, int round, const Settings& settings, WorkerPool* pool, Workspace::Impl& w) {
  const Island& island = w.islands.islands[k];
  IslandScratch& s = *w.scratch[k];
  if (island.degenerate) {
    s.status = Status::kNumericalError;
    s.pending = false;
    return;
  }
  if (round == 0) {
    if (!settings.fixed_iterations) observe_start(settings, s);
    s.monitor.trace(s.lambda.data(), 0);
  }
  const bool hurry = is_short_of_time(settings, island);
  const double sweeps = takes_newton_steps(settings) && has_many_rows(island) ? kCrawlShare : 1.0;
  const double end = s.monitor.deadline_ms;
  const auto take_share = [&](double share) {
    const double now = w.clock.watch.elapsed_ms();
    if (end > 0.0) s.monitor.deadline_ms = now + share * (end - now);
  };
  if (hurry && round == 0 && !s.monitor.solved()) {
    take_share(sweeps * kFirstShare);
    sweep(island, kFirstSweeps, s);
  }
  // No time for a method to come to anything: sweeps have it all.
  const double left = (end > 0.0 ? end : w.clock.budget_ms) - w.clock.watch.elapsed_ms();
  const bool sweeps_only =
      hurry && (left <= 0.0 || (takes_newton_steps(settings) && left < kNewtonTime * island.num_constraints));
  if (hurry) take_share(1.0 - sweeps * kSweepShare);
  s.status = s.monitor.solved() ? Status::kSolved
             : sweeps_only      ? Status::kTimeBudget
                                : solve_island(island, settings, round, pool, s);
  s.monitor.deadline_ms = end;
  if (hurry && s.status == Status::kTimeBudget && !s.monitor.expired()) sweep(island, 0, s);
  if (s.monitor.solved()) s.status = Status::kSolved;
  s.stop = hurry && s.status == Status::kTimeBudget;
  // Another round for what ran out of its own share of the time, or is worth one more approach.
  if (s.status == Status::kTimeBudget && (s.monitor.exhausted() || s.monitor.out_of_iterations()))
    s.status = Status::kMaxIterations;
  const bool own_share = s.status == Status::kTimeBudget && !w.clock.expired();
  // Where the law holds to rounding already, impulses are so large that no double meets the residual.
  const bool again = s.status == Status::kStalled && settings.solver == SolverKind::kAuto && round + 1 < kAutoRounds &&
                     s.monitor.best_natural() > kRoundingNatural;
  s.pending = own_share || again;
}

/// Small islands first; each may use a share of the time that is left in proportion to its size, so that a hard one
/// does not starve the rest. What is unfinished goes round again.
void run_islands(const Settings& settings, Workspace::Impl& w) {
  const int count = w.islands.count;
  w.order.resize(count);
  w.cost.resize(count);
  for (int k = 0; k < count; ++k) {
    w.order[k] = k;
    w.cost[k] = cost_of(w.islands.islands[k]);
    w.scratch[k]->pending = true;
  }
  std::sort(w.order.begin(), w.order.end(),
            [&](int a, int b) { return w.cost[a] != w.cost[b] ? w.cost[a] < w.cost[b] : a < b; });
  const bool spread = w.pool->num_workers() > 1 && count > 1 && !settings.trace;
  for (int round = 0;; ++round) {
    double pending_cost = 0.0;
    for (int k = 0; k < count; ++k) pending_cost += w.scratch[k]->pending ? w.cost[k] : 0.0;
    if (pending_cost == 0.0 || (round > 0 && w.clock.expired())) return;
    // Several islands share the workers; a single one gets them for its own loops. Either way the same numbers.
    if (spread) {
      w.pool->for_ranges(count, [&](int begin, int end, int) {
        for (int i = begin; i < end; ++i) {
          if (w.scratch[w.order[i]]->pending) run_island(w.order[i], round, settings, nullptr, w);
        }
      });
      continue;
    }
    for (int i = 0; i < count; ++i) {
      const int k = w.order[i];
      IslandScratch& s = *w.scratch[k];
      if (!s.pending) continue;
      if (settings.budget_ms > 0.0) {
        const double now = w.clock.watch.elapsed_ms();
        s.monitor.deadline_ms = now + (w.clock.budget_ms - now) * w.cost[k] / pending_cost;
      }
      pending_cost -= w.cost[k];
      run_island(k, round, settings, w.pool->num_workers() > 1 ? w.pool.get() : nullptr, w);
    }
  }
}

/// Whether an island ran out of time and is to be stopped.
bool is_cut(const Workspace::Impl& w) {
  return std::any_of(w.scratch.begin(), w.scratch.begin() + w.islands.count, [](const auto& s) { return s->stop; });
}

/// An answer in which slip begins is exchanged for one that holds, where there is one. Whether any was.
bool hold_islands(Workspace::Impl& w) {
  bool any = false;
  for (int k = 0; k < w.islands.count && !w.clock.expired(); ++k) {
    const Island& island = w.islands.islands[k];
    IslandScratch& s = *w.scratch[k];
    if (s.status != Status::kSolved || s.monitor.iterations == 0) continue;
    if (slip_begins(island, s.monitor, s.final.w.data(), w.start_v))
      any |= hold_instead(island, s.monitor, s.work, s.lambda.data());
  }
  return any;
}

void solve_from(const ContactProblem& problem, const Settings& settings, Workspace& workspace, Solution& solution) {
  Workspace::Impl& w = workspace.impl();
  w.clock.watch.restart();
  w.clock.budget_ms = time_for_methods(settings, w);
  w.end_ms = settings.budget_ms;
  w.clock.tracing = settings.trace;
  w.clock.trace = &solution.info.trace;
  solution.info.trace.clear();
  const bool warm = settings.warm_start && solution.lambda.size() == problem.num_rows() && solution.lambda.allFinite();

  const int threads = std::clamp(settings.threads, 1, WorkerPool::kMaxWorkers);
  if (w.pool == nullptr || w.pool->num_workers() != threads) w.pool = std::make_unique<WorkerPool>(threads);
  SolveInfo& info = solution.info;
  info.iterations = info.newton_steps = info.pgs_sweeps = info.admm_iterations = info.inner_failures = 0;
  info.setup_ms = info.work = 0.0;

  CompileOptions compile;
  compile.whole = settings.solver == SolverKind::kAdmmNoSub;
  compile.merge_sides = !(settings.solver == SolverKind::kSubAdmm && settings.admm_split_bodies);
  compile.idle = &w.idle.idle;
  w.idle.clear();
  const bool has_v = warm && !settings.fixed_iterations && !settings.trace && solution.v.size() == problem.num_dofs() &&
                     solution.v.allFinite();
  if (has_v && !compile.whole) choose_idle(problem, solution, w.idle);
  if (w.idle.count > 0) w.start = solution.lambda;
  const bool may_hold = has_v && settings.prefer_stick && settings.solver == SolverKind::kAuto;
  w.start_v.resize(0);
  if (may_hold) w.start_v = solution.v;
  double up_ms = 0.0;  // when the time of the methods was up
  for (int round = 0;; ++round) {
    const double begin = w.clock.watch.elapsed_ms();
    compile_islands(problem, compile, w.islands);
    while (static_cast<int>(w.scratch.size()) < w.islands.count) w.scratch.push_back(std::make_unique<IslandScratch>());
    start_monitors(problem, settings, solution, warm, round > 0 && !w.clock.expired(), w);
    info.setup_ms += w.clock.watch.elapsed_ms() - begin;
    run_islands(settings, w);
    if (up_ms == 0.0 && is_cut(w)) up_ms = w.clock.watch.elapsed_ms();
    export_solution(problem, w, solution);
    if (may_hold && hold_islands(w)) export_solution(problem, w, solution);
    count_iterations(w, info);
    if (!wake_idle(problem, solution.v, w.idle)) break;
    if (round == kMostWakings) wake_all(w.idle);
  }
  solution.info.time_ms = w.clock.watch.elapsed_ms();
  certify(problem, settings, w, solution);
  constexpr double kForget = 0.9;  // per solve, of times that others had
  w.after_ms = std::max(up_ms > 0.0 ? w.clock.watch.elapsed_ms() - up_ms : 0.0, kForget * w.after_ms);
}

}  // namespace

Status solve(const ContactProblem& problem, const Settings& settings, Workspace& workspace, Solution& solution) {
  solve_from(problem, settings, workspace, solution);
  // A squeeze that an earlier step left obeys the law where bodies have no way to go, for ever and for nothing.
  const double left_ms = settings.budget_ms - solution.info.time_ms;
  const bool in_time = settings.budget_ms == 0.0 || left_ms > 0.0;
  if (settings.warm_start && in_time && workspace.impl().overdone) {
    const int iterations = solution.info.iterations;
    const double work = solution.info.work;
    Settings cold = settings;
    cold.warm_start = false;
    if (settings.budget_ms > 0.0) cold.budget_ms = left_ms;
    solve_from(problem, cold, workspace, solution);
    solution.info.iterations += iterations;
    solution.info.work += work;
  }
  return solution.status;
}

}  // namespace almond
