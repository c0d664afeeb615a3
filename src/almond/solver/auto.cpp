#include "almond/solver/auto.hpp"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>

namespace almond {

Status solve_auto(const Island& island, const AutoOptions& options, Monitor& monitor, AutoWorkspace& ws,
                  double* lambda) {
  ws.spn.surrogate.factor().analyze(island);
  double iteration_flops = 0.0;
  for (const Node& node : island.nodes) {
    iteration_flops += 2.0 * node.dofs * node.dofs + 4.0 * node.dofs * node.side_rows;
  }
  iteration_flops += 60.0 * island.num_constraints;
  const double ratio = ws.spn.surrogate.factor().flops() / iteration_flops;
  int budget = static_cast<int>(std::clamp(10.0 * ratio, 30.0, 1000.0));
  if (getenv("DBG")) printf("ratio %g budget %d\n", ratio, budget);

  SubAdmmOptions admm;
  admm.relax = options.relax;
  admm.anderson = options.anderson;
  admm.pool = options.pool;
  PgsOptions pgs;
  pgs.anderson = 0;
  const char* mode = getenv("MODE");
  for (int round = 0;; ++round) {
    Status status;
    const bool use_pgs = mode ? mode[std::min<int>(round, static_cast<int>(strlen(mode)) - 1)] == 'p' : round % 2 == 1;
    if (use_pgs) {
      pgs.max_sweeps = 2 * budget;
      status = solve_pgs(island, pgs, monitor, ws.pgs, lambda);
    } else {
      admm.max_iterations = budget;
      admm.keep = round > 0;
      status = solve_subadmm(island, admm, monitor, ws.admm, lambda);
    }
    if (getenv("DBG")) printf("round %d first-order -> %s natural %.3e best %.3e\n", round, to_string(status), monitor.last_natural(), monitor.best_natural());
    if (status == Status::kSolved || status == Status::kTimeBudget || monitor.out_of_iterations()) return status;
    std::copy_n(monitor.best_lambda(), island.rows, lambda);
    SpnOptions spn;
    status = solve_spn(island, spn, monitor, ws.spn, lambda);
    if (getenv("DBG")) printf("round %d spn -> %s natural %.3e best %.3e\n", round, to_string(status), monitor.last_natural(), monitor.best_natural());
    if (status != Status::kStalled) return status;
    budget = std::min(20000, 2 * budget);
    std::copy_n(monitor.best_lambda(), island.rows, lambda);
  }
}

}  // namespace almond
