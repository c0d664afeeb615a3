#include "almond/solver/monitor.hpp"

#include <algorithm>

#include "almond/solver/certificate.hpp"

namespace almond {

void Monitor::start(const Island& island, int island_index, double natural_goal, double residual_goal,
                    SolveClock& clock) {
  island_ = &island;
  island_index_ = island_index;
  natural_goal_ = natural_goal;
  residual_goal_ = residual_goal;
  clock_ = &clock;
  best_score_ = last_score_ = best_natural_ = last_natural_ = kInfinity;
  deadline_ms = 0.0;
  last_is_best_ = false;
  best_.assign(island.rows, 0.0);
  iterations = newton_steps = pgs_sweeps = admm_iterations = inner_failures = 0;
}

double Monitor::observe(const double* lambda) {
  last_is_best_ = false;
  const Residuals r = last_ = measure(*island_, lambda, measure_);
  if (!std::isfinite(r.natural2) || !std::isfinite(r.residual2)) {
    last_natural_ = last_score_ = kInfinity;
    return kInfinity;
  }
  const double natural = std::sqrt(r.natural2);
  const double score = std::max(natural / natural_goal_, std::sqrt(r.residual2) / residual_goal_);
  last_natural_ = natural / natural_map_unit(island_->q_norm * island_->q_norm, island_->reach2);
  last_score_ = score;
  if (score < best_score_) {
    best_score_ = score;
    best_natural_ = last_natural_;
    std::copy(lambda, lambda + island_->rows, best_.begin());
    last_is_best_ = true;
  }
  return score;
}

Residuals Monitor::measure_best(MeasureWorkspace& out) {
  if (!last_is_best_) return measure(*island_, best_.data(), out);
  out.v = measure_.v;
  out.w = measure_.w;
  return last_;
}

void Monitor::trace(const double* lambda, int iteration) {
  if (!clock_->tracing) return;
  clock_->watch.pause();
  const Residuals r = measure(*island_, lambda, trace_measure_);
  clock_->parts[island_index_] = r;
  double natural2 = 0.0, residual2 = 0.0;
  for (const Residuals& part : clock_->parts) {
    natural2 += part.natural2;
    residual2 += part.residual2;
  }
  clock_->trace->push_back({clock_->watch.elapsed_ms(), iteration, std::sqrt(natural2) * clock_->natural_scale,
                            std::sqrt(residual2) * clock_->residual_scale});
  clock_->watch.resume();
}

void Monitor::force_best(const double* lambda) {
  std::copy(lambda, lambda + island_->rows, best_.begin());
  last_is_best_ = false;
}

}  // namespace almond
