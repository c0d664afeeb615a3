#include "almond/solver/auto.hpp"

#include <algorithm>
#include <cmath>

namespace almond {
namespace {

constexpr int kProbeSweeps = 100, kProbeAnderson = 5;
constexpr double kCheap = 5.0;       // price up to which a warm start goes straight to SPN
constexpr double kMostEffort = 1e5;  // SubADMM iterations of one round
constexpr double kManyRows = 8.0;    // rows per dof that make first-order methods crawl

enum class Approach : std::uint8_t { kNone, kScratch, kSubAdmm, kCanal };

double newton_price(const Island& island, BlockFactor& factor) {
  factor.analyze(island);
  double iteration = 60.0 * island.num_constraints;
  for (const Node& node : island.nodes) iteration += 2.0 * node.dofs * node.dofs + 4.0 * node.dofs * node.side_rows;
  return factor.flops() / iteration;
}

bool has_many_rows(const Island& island) { return island.rows > kManyRows * island.num_dofs; }

Approach choose(const Island& island, const AutoOptions& options, int round, const AutoWorkspace& ws) {
  if (has_many_rows(island)) {
    constexpr Approach kOrder[] = {Approach::kNone, Approach::kScratch, Approach::kCanal, Approach::kSubAdmm};
    return kOrder[round < 4 ? round : 2 + round % 2];
  }
  if (round == 0 && options.warm && ws.newton_price < kCheap) return Approach::kNone;
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
      CanalOptions canal;
      canal.max_outer = 30 << std::min(round / 3, 3);
      return solve_canal(island, canal, monitor, ws.canal, lambda);
    }
  }
  return Status::kNumericalError;
}

/// Nothing more to try: the answer, or no time left.
bool is_final(Status status) { return status == Status::kSolved || status == Status::kTimeBudget; }

}  // namespace

Status run_auto_round(const Island& island, const AutoOptions& options, int round, Monitor& monitor, AutoWorkspace& ws,
                      double* lambda) {
  if (round == 0) {
    if (!has_many_rows(island)) {
      PgsOptions pgs;
      pgs.anderson = island.num_constraints > 1 ? kProbeAnderson : 0;
      pgs.probe = pgs.max_sweeps = kProbeSweeps;
      pgs.least = std::clamp(48 / island.num_constraints, 8, 24);  // sweeps over few contacts cost nothing
      const Status status = solve_pgs(island, pgs, monitor, ws.pgs, lambda);
      if (is_final(status) || monitor.out_of_iterations()) return status;
    }
    ws.newton_price = newton_price(island, ws.spn.surrogate.factor());
    ws.effort = static_cast<int>(std::clamp(10.0 * ws.newton_price, 30.0, kMostEffort));
    ws.jams = 0;
  }
  const double score_before = monitor.best_score();
  const bool retry_jam = ws.jams == 1;  // from scratch, along the path of small penalties
  SpnOptions spn;
  spn.c0 = has_many_rows(island) ? 10.0 : 1.0;
  Status status = Status::kMaxIterations;
  if (!retry_jam) {
    const Approach approach = choose(island, options, round, ws);
    status = run_approach(approach, island, options, round, monitor, ws, lambda);
    if (is_final(status) || monitor.out_of_iterations()) return status;
    const bool follow_best = approach != Approach::kNone && approach != Approach::kScratch;
    if (follow_best && monitor.last_score() > monitor.best_score())
      std::copy_n(monitor.best_lambda(), island.rows, lambda);
    if (approach == Approach::kNone && options.warm) spn.patience = 12;
    spn.c0 = approach == Approach::kCanal ? 1e3 : approach == Approach::kNone ? 1.0 : 10.0;
  }
  if (status != Status::kInfeasible) status = solve_spn(island, spn, monitor, ws.spn, lambda);
  if (is_final(status) || monitor.out_of_iterations()) return status;
  if (status == Status::kInfeasible) {
    if (++ws.jams >= 2) return status;
    ws.jam_lambda.assign(monitor.best_lambda(), monitor.best_lambda() + island.rows);
    std::fill_n(lambda, island.rows, 0.0);
    return Status::kStalled;
  }
  ws.jams = 0;
  // Go on from the best, unless that would repeat this round exactly.
  if (monitor.best_score() < 0.99 * score_before) std::copy_n(monitor.best_lambda(), island.rows, lambda);
  ws.effort = static_cast<int>(std::min(kMostEffort, 3.0 * ws.effort));
  return Status::kStalled;
}

}  // namespace almond
