#include "almond/solver/auto.hpp"

#include <algorithm>
#include <cmath>

namespace almond {
namespace {

constexpr double kExpensive = 400.0;  // price from which on sweeps come first and convex Newton is out of reach
constexpr double kCheap = 5.0;        // price up to which a warm start goes straight to SPN

double newton_price(const Island& island, BlockFactor& factor) {
  factor.analyze(island);
  double iteration = 60.0 * island.num_constraints;
  for (const Node& node : island.nodes) iteration += 2.0 * node.dofs * node.dofs + 4.0 * node.dofs * node.side_rows;
  return factor.flops() / iteration;
}

/// The first half of a round. Solved, or the reason to end; kMaxIterations: go on with SPN.
Status approach(const Island& island, const AutoOptions& options, int round, Monitor& monitor, AutoWorkspace& ws,
                double* lambda) {
  const bool expensive = ws.newton_price > kExpensive;
  const int kind = expensive ? 2 : round % 3;
  if (kind == 0) {
    SubAdmmOptions admm = options.admm;
    admm.max_iterations = ws.effort;
    admm.keep = round > 0;
    return solve_subadmm(island, admm, monitor, ws.admm, lambda);
  }
  if (kind == 1) {
    CanalOptions canal;
    canal.max_outer = 30 << std::min(round / 3, 3);
    return solve_canal(island, canal, monitor, ws.canal, lambda);
  }
  PgsOptions pgs;
  pgs.omega = options.pgs_omega;
  pgs.max_sweeps = (expensive ? 4 : 2) * ws.effort;
  return solve_pgs(island, pgs, monitor, ws.pgs, lambda);
}

bool is_final(Status status) {
  return status == Status::kSolved || status == Status::kInfeasible || status == Status::kTimeBudget;
}

}  // namespace

Status run_auto_round(const Island& island, const AutoOptions& options, int round, Monitor& monitor, AutoWorkspace& ws,
                      double* lambda) {
  if (round == 0) {
    ws.newton_price = newton_price(island, ws.spn.surrogate.factor());
    ws.effort = static_cast<int>(std::clamp(10.0 * ws.newton_price, 30.0, 1000.0));
  }
  const double score_before = monitor.best_score();
  SpnOptions spn;
  if (round == 0 && options.warm && ws.newton_price < kCheap) {
    spn.patience = 12;
  } else {
    const Status status = approach(island, options, round, monitor, ws, lambda);
    if (is_final(status) || monitor.out_of_iterations()) return status;
    if (monitor.last_score() > monitor.best_score()) std::copy_n(monitor.best_lambda(), island.rows, lambda);
    if (round > 0) spn.c0 = 1e3;
  }
  const Status status = solve_spn(island, spn, monitor, ws.spn, lambda);
  if (is_final(status) || monitor.out_of_iterations()) return status;
  // Go on from the best, unless that would repeat this round exactly.
  if (monitor.best_score() < 0.99 * score_before) std::copy_n(monitor.best_lambda(), island.rows, lambda);
  ws.effort = std::min(20000, 2 * ws.effort);
  return Status::kStalled;
}

}  // namespace almond
