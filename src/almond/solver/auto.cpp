#include "almond/solver/auto.hpp"

#include <algorithm>
#include <bit>
#include <cmath>

#include "almond/solver/contact_velocity.hpp"
#include "almond/solver/recession.hpp"

namespace almond {
namespace {

constexpr int kProbeSweeps = 100, kProbeAnderson = 5;
constexpr double kCheap = 5.0;                                   // price up to which a warm start goes straight to SPN
constexpr double kChanged = 0.02;                                // natural map of a start that is worth a new look
constexpr double kAffordable = 20.0;                             // price up to which that look is taken
constexpr std::size_t kCrowd = 500;                              // nodes
constexpr double kLeastEffort = 10.0, kEffort = 30.0;            // SubADMM iterations of the first round by price: the
constexpr double kEffortByPrice = 2.0;                           // more, the dearer Newton steps are,
constexpr double kMostEffort = 1e5;                              // and of any
constexpr double kSuspicious = 1e-3;                             // natural map after a round that may be a jam
constexpr int kJamEffort = 2000;                                 // SubADMM iterations that show a jam
constexpr unsigned kSpnJam = 1, kCanalJam = 2, kSubAdmmJam = 4;  // who saw a jam
constexpr double kNearPenalty = 1e3;                             // a start that is nearly right needs no soft beginning
constexpr int kWarmPatience = 24;
constexpr StickPenalty kRestPath = {3e5, 10.0};    // of bodies that were at rest
constexpr StickPenalty kColdPath = {1e3, 100.0};   // sees sooner
constexpr StickPenalty kWarmPath = {100.0, 10.0};  // that something slips
constexpr double kNearStick = 2e-5;                // natural map from which on SPN is as quick as what looks for stick
constexpr double kNearEnough = 3e-4;
constexpr double kSlip = 1e-7;        // [m/s]
constexpr double kSlipByGoal = 10.0;  // less may be what the tolerance left
constexpr double kSlides = 0.01;      // [m/s] before: what bears and slides is not expected to hold
constexpr double kSlidBefore = 0.3;   // of the speed now: slid already

enum class Approach : std::uint8_t { kNone, kScratch, kSubAdmm, kCanal };

double newton_price(const Island& island, BlockFactor& factor) {
  factor.analyze(island);
  double iteration = 60.0 * island.num_constraints;
  for (const Node& node : island.nodes) iteration += 2.0 * node.dofs * node.dofs + 4.0 * node.dofs * node.side_rows;
  return factor.flops() / iteration;
}

bool has_trees(const Island& island) {
  constexpr int kBody = 6;
  return std::any_of(island.nodes.begin(), island.nodes.end(), [](const Node& node) { return node.dofs > kBody; });
}

Approach choose(const Island& island, const AutoOptions& options, int round, const Monitor& monitor,
                const AutoWorkspace& ws) {
  if (has_many_rows(island)) {
    constexpr Approach kOrder[] = {Approach::kNone, Approach::kScratch, Approach::kCanal, Approach::kSubAdmm};
    return kOrder[round < 4 ? round : 2 + round % 2];
  }
  if (round == 0 && options.warm && ws.newton_price < kCheap) return Approach::kNone;
  const bool suspicious = ws.jams != 0 || (round > 0 && monitor.best_natural() > kSuspicious);
  if (suspicious && !ws.canal_done) return Approach::kCanal;
  return round % 3 == 2 ? Approach::kCanal : Approach::kSubAdmm;
}

/// The first half of a round. kMaxIterations and kStalled: go on with SPN.
Status run_approach(Approach approach, const Island& island, const AutoOptions& options, int round, Monitor& monitor,
                    AutoWorkspace& ws, double* lambda) {
  switch (approach) {
    case Approach::kNone:
      return Status::kMaxIterations;
    case Approach::kScratch: {
      std::fill_n(lambda, island.rows, 0.0);
      monitor.observe(lambda);
      return Status::kMaxIterations;
    }
    case Approach::kSubAdmm: {
      SubAdmmOptions admm = options.admm;
      admm.max_iterations = ws.effort;
      admm.keep = round > 0;
      return solve_subadmm(island, admm, monitor, ws.admm, lambda);
    }
    case Approach::kCanal: {
      if (!ws.canal_done) std::fill_n(lambda, island.rows, 0.0);  // its convex path begins there
      ws.canal_done = true;
      CanalOptions canal;
      canal.max_outer = 30 << std::min(round / 3, 3);
      return solve_canal(island, canal, monitor, ws.canal, lambda);
    }
  }
  return Status::kNumericalError;
}

/// A jam is believed when its direction δ proves it or a second method sees it, too; until then the next one starts
/// from λ = 0.
Status note_jam(unsigned who, const double* delta, const Island& island, AutoWorkspace& ws, double* lambda) {
  ws.jams |= who;
  if (std::popcount(ws.jams) >= 2 || proves_infeasible(island, delta, ws.scratch)) return Status::kInfeasible;
  std::fill_n(lambda, island.rows, 0.0);
  ws.effort = std::max(ws.effort, kJamEffort);
  return Status::kStalled;
}

/// The fastest that a contact which bears slid at v0; without λ, any contact.
double slide_before(const Island& island, const double* lambda, const GrowVector& v0) {
  double slide = 0.0;
  for (int i = 0; i < island.num_contacts; ++i) {
    if (lambda != nullptr && lambda[3 * i + 2] <= 0.0) continue;
    const Contact& contact = island.problem->contacts[island.constraints[i].index];
    slide = std::max(slide, contact_velocity(*island.problem, contact, v0).head<2>().norm());
  }
  return slide;
}

/// Whether the convex problem has an answer without slip, looked for from λ = 0. Where the search has ended before in
/// this solve it goes on from there.
bool hold_from_nothing(const Island& island, double near, const StickPenalty& path, Monitor& monitor,
                       AutoWorkspace& ws) {
  if (!ws.stick_begun) {
    ws.scratch.assign(island.rows, 0.0);
    ws.stick.begin(ws.scratch.data(), island.rows, path);
    ws.stick_begun = true;
  } else if (ws.stick.status == Status::kStalled) {
    return false;
  }
  return solve_stick(island, near, monitor, ws.canal.surrogate, ws.stick) == Status::kSolved;
}

/// The same from λ (in and out), which stays as it is if there is none: impulses that slip already are not to be led
/// towards stick. From nothing, though, λ becomes the best so far, and `near` is near enough.
bool hold(const Island& island, double near, const GrowVector* v0, Monitor& monitor, AutoWorkspace& ws,
          double* lambda) {
  const bool cold = std::all_of(lambda, lambda + island.rows, [](double x) { return x == 0.0; });
  if (cold) {
    const bool rest = v0 != nullptr && !has_trees(island) && slide_before(island, nullptr, *v0) < kSlides;
    const bool held = hold_from_nothing(island, near, rest ? kRestPath : kColdPath, monitor, ws);
    std::copy_n(held ? ws.stick.lambda.data() : monitor.best_lambda(), island.rows, lambda);
    return held;
  }
  ws.warm_stick.begin(lambda, island.rows, kWarmPath);
  if (solve_stick(island, 0.0, monitor, ws.canal.surrogate, ws.warm_stick) != Status::kSolved) return false;
  std::copy_n(ws.warm_stick.lambda.data(), island.rows, lambda);
  return true;
}

/// Nothing more to try: the answer, or no time left.
bool is_final(Status status) { return status == Status::kSolved || status == Status::kTimeBudget; }

}  // namespace

Status run_auto_round(const Island& island, const AutoOptions& options, int round, Monitor& monitor, AutoWorkspace& ws,
                      double* lambda) {
  if (round == 0) {
    ws.newton_price = 0.0;
    ws.stick_begun = false;
    const bool crowd = monitor.max_work > 0.0 && island.nodes.size() > kCrowd;
    if (!crowd && options.prefer_stick && island.num_contacts > 1 && monitor.best_natural() > kChanged &&
        (options.v0 == nullptr || slide_before(island, lambda, *options.v0) < kSlides)) {
      ws.newton_price = monitor.newton_price = newton_price(island, ws.spn.surrogate.factor());
      if (ws.newton_price < kAffordable && hold(island, kNearStick, options.v0, monitor, ws, lambda))
        return Status::kSolved;
      if (monitor.out_of_iterations()) return Status::kMaxIterations;
    }
    if (ws.stick_begun && monitor.best_natural() < kNearEnough) {
      SpnOptions spn;
      spn.c0 = ws.stick.c;
      spn.patience = kWarmPatience;
      const Status status = solve_spn(island, spn, monitor, ws.spn, lambda);
      if (is_final(status) || monitor.out_of_iterations()) return status;
      std::copy_n(monitor.best_lambda(), island.rows, lambda);
    }
    if (crowd || !has_many_rows(island)) {  // a factor of a crowd may not fit into the memory
      PgsOptions pgs;
      pgs.stick = true;
      pgs.anderson = island.num_constraints > 1 ? kProbeAnderson : 0;
      pgs.probe = pgs.max_sweeps = crowd ? 0 : kProbeSweeps;
      pgs.least = std::clamp(48 / island.num_constraints, 8, 24);  // sweeps over few contacts cost nothing
      const Status status = solve_pgs(island, pgs, monitor, ws.pgs, lambda);
      if (crowd || is_final(status) || monitor.out_of_iterations()) return status;
    }
    if (ws.newton_price == 0.0) ws.newton_price = newton_price(island, ws.spn.surrogate.factor());
    monitor.newton_price = ws.newton_price;
    const double effort = std::clamp(kEffortByPrice * ws.newton_price, kLeastEffort, kEffort);
    ws.effort = static_cast<int>(std::clamp(effort * ws.newton_price, kEffort, kMostEffort));
    ws.jams = 0;
    ws.canal_done = false;
  }
  const double score_before = monitor.best_score();
  const Approach approach = choose(island, options, round, monitor, ws);
  Status status = run_approach(approach, island, options, round, monitor, ws, lambda);
  if (is_final(status) || monitor.out_of_iterations()) return status;
  if (status == Status::kInfeasible) {
    const bool canal = approach == Approach::kCanal;
    return note_jam(canal ? kCanalJam : kSubAdmmJam, canal ? ws.canal.delta.data() : ws.admm.drift.data(), island, ws,
                    lambda);
  }

  const bool follow_best = approach != Approach::kNone && approach != Approach::kScratch;
  if (follow_best && monitor.last_score() > monitor.best_score())
    std::copy_n(monitor.best_lambda(), island.rows, lambda);
  const bool warm = approach == Approach::kNone && options.warm;
  SpnOptions spn;
  spn.c0 = warm || approach == Approach::kCanal ? kNearPenalty : approach == Approach::kNone ? 1.0 : 10.0;
  if (warm) spn.patience = kWarmPatience;
  status = solve_spn(island, spn, monitor, ws.spn, lambda);
  if (is_final(status) || monitor.out_of_iterations()) return status;
  if (status == Status::kInfeasible) return note_jam(kSpnJam, ws.spn.delta.data(), island, ws, lambda);
  // Go on from the best, unless that would repeat this round exactly.
  if (monitor.best_score() < 0.99 * score_before) std::copy_n(monitor.best_lambda(), island.rows, lambda);
  ws.effort = static_cast<int>(std::min(kMostEffort, 3.0 * ws.effort));
  return Status::kStalled;
}

bool slip_begins(const Island& island, const Monitor& monitor, const double* w, const GrowVector& v0) {
  const double* const lambda = monitor.best_lambda();
  double now = 0.0;
  for (int i = 0; i < island.num_contacts; ++i) {
    const double* l = lambda + 3 * i;
    const double shear = std::hypot(l[0], l[1]);
    if (l[2] > 0.0 && shear >= island.mu[i] * l[2] * (1.0 - 1e-6))
      now = std::max(now, std::hypot(w[3 * i], w[3 * i + 1]));
  }
  if (!(now > std::max(kSlip, kSlipByGoal * monitor.natural_goal()))) return false;
  return slide_before(island, lambda, v0) <= kSlidBefore * now;
}

bool hold_instead(const Island& island, Monitor& monitor, AutoWorkspace& ws, double* lambda) {
  if (island.num_contacts < 2 || island.nodes.size() > kCrowd || monitor.out_of_iterations()) return false;
  if (ws.newton_price == 0.0) ws.newton_price = newton_price(island, ws.spn.surrogate.factor());
  if (ws.newton_price > kAffordable) return false;
  if (!hold_from_nothing(island, 0.0, kColdPath, monitor, ws)) return false;  // from there forces come out even
  std::copy_n(ws.stick.lambda.data(), island.rows, lambda);
  monitor.force_best(lambda);
  return true;
}

}  // namespace almond
