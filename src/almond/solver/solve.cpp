#include "almond/solver/solve.hpp"

#include <algorithm>
#include <cmath>

#include "almond/base/timer.hpp"
#include "almond/solver/certificate.hpp"
#include "almond/solver/island.hpp"
#include "almond/solver/monitor.hpp"
#include "almond/solver/pgs.hpp"
#include "almond/solver/spn.hpp"
#include "almond/solver/subadmm.hpp"

namespace almond {

struct IslandScratch {
  Monitor monitor;
  PgsWorkspace pgs;
  SpnWorkspace spn;
  SubAdmmWorkspace admm;
  std::vector<double> lambda;
  Status status = Status::kSolved;
};

struct Workspace::Impl {
  IslandWorkspace islands;
  std::vector<std::unique_ptr<IslandScratch>> scratch;  // one per island
  SolveClock clock;
};

Workspace::Workspace() : impl_(std::make_unique<Impl>()) {}
Workspace::~Workspace() = default;
Workspace::Workspace(Workspace&&) noexcept = default;
Workspace& Workspace::operator=(Workspace&&) noexcept = default;

namespace {

Status solve_island(const Island& island, const Settings& settings, IslandScratch& s) {
  switch (settings.solver) {
    case SolverKind::kPgs: {
      PgsOptions o;
      o.omega = settings.pgs_omega;
      o.fixed = settings.fixed_iterations;
      o.max_sweeps = settings.fixed_iterations ? settings.max_iterations : 200000;
      return solve_pgs(island, o, s.monitor, s.pgs, s.lambda.data());
    }
    case SolverKind::kSubAdmm: {
      SubAdmmOptions o;
      o.c0 = settings.admm_c0;
      o.gamma = settings.admm_gamma;
      o.relax = settings.admm_relax;
      o.anderson = settings.admm_anderson;
      o.fixed = settings.fixed_iterations;
      o.max_iterations = settings.fixed_iterations ? settings.max_iterations : 200000;
      return solve_subadmm(island, o, s.monitor, s.admm, s.lambda.data());
    }
    default:
      return solve_spn(island, SpnOptions{}, s.monitor, s.spn, s.lambda.data());
  }
}

}  // namespace

Status solve(const ContactProblem& problem, const Settings& settings, Workspace& workspace, Solution& solution) {
  Workspace::Impl& w = workspace.impl();
  SolveClock& clock = w.clock;
  clock.watch.restart();
  clock.budget_ms = settings.budget_ms;
  clock.tracing = settings.trace;
  clock.trace = &solution.info.trace;
  solution.info.trace.clear();
  compile_islands(problem, CompileOptions{}, w.islands);
  const int count = w.islands.count;
  while (static_cast<int>(w.scratch.size()) < count) w.scratch.push_back(std::make_unique<IslandScratch>());
  double q2 = 0;
  int total = std::max(1, problem.num_contacts() + problem.num_scalar_rows());
  for (int k = 0; k < count; ++k) q2 += w.islands.islands[k].q_norm * w.islands.islands[k].q_norm;
  clock.natural_scale = q2 > 0 ? 1 / std::sqrt(q2) : 1.0;
  clock.residual_scale = 1.0 / total;
  clock.parts.assign(count, {});
  solution.info.setup_ms = clock.watch.elapsed_ms();
  Status status = Status::kSolved;
  solution.info.iterations = solution.info.newton_steps = solution.info.pgs_sweeps = 0;
  solution.v.setZero(problem.num_dofs());
  if (!settings.warm_start || solution.lambda.size() != problem.num_rows()) solution.lambda.setZero(problem.num_rows());
  for (int k = 0; k < count; ++k) {
    const Island& island = w.islands.islands[k];
    IslandScratch& s = *w.scratch[k];
    const double nat = std::max(1e-300, settings.tol / 20 * std::sqrt(std::max(island.q_norm * island.q_norm, q2 / count)));
    const double res = 0.7 * settings.tol * std::sqrt(double(total) * island.num_constraints);
    s.monitor.start(island, k, nat, res, clock);
    s.monitor.max_iterations = settings.max_iterations;
    s.lambda.assign(island.rows, 0.0);
    s.monitor.observe(s.lambda.data());
    s.status = s.monitor.solved() ? Status::kSolved : solve_island(island, settings, s);
    if (s.status != Status::kSolved) status = s.status;
    solution.info.iterations = std::max(solution.info.iterations, s.monitor.iterations);
    solution.info.newton_steps += s.monitor.newton_steps;
    for (int i = 0; i < island.num_constraints; ++i) {
      const int row = problem_row(problem, island, i);
      for (int r = 0; r < island.constraints[i].dim; ++r) {
        solution.lambda[row + r] = s.monitor.best_lambda()[island.constraints[i].row + r];
      }
    }
  }
  solution.info.islands = count;
  solution.info.time_ms = clock.watch.elapsed_ms();
  solution.v = compute_velocity(problem, solution.lambda);
  solution.certificate = make_certificate(problem, solution.v, solution.lambda);
  solution.status = status;
  return status;
}

}  // namespace almond
