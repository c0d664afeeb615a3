#pragma once
// Monitor: what a solver asks while it works on one island. Is it done, is there time left, what was the best so far?
//
// score(λ) = max(natural map / its goal, paper residual / its goal): solved when <= 1. The best λ by score is kept, so
// a solver may end anywhere. A trace records both residuals of the whole problem over time, off the clock.

#include <algorithm>
#include <cmath>
#include <functional>
#include <vector>

#include "almond/base/timer.hpp"
#include "almond/solver/island.hpp"
#include "almond/solver/result.hpp"

namespace almond {

/// The clock and the trace of one solve() call; islands add up to the whole problem.
struct SolveClock {
  Stopwatch watch;
  double budget_ms = 0.0;      // 0: none
  std::function<bool()> stop;  // stop.hpp; empty: none
  bool tracing = false;
  double natural_scale = 1.0;    // 1 / ‖q‖
  double residual_scale = 1.0;   // 1 / constraints
  std::vector<Residuals> parts;  // per island, latest
  std::vector<TracePoint>* trace = nullptr;

  [[nodiscard]] bool stopped() const { return stop && stop(); }
  [[nodiscard]] bool expired() const { return stopped() || (budget_ms > 0.0 && watch.elapsed_ms() >= budget_ms); }
};

class Monitor {
 public:
  static constexpr double kLeastIterations = 100.0;  // granted whatever the work
  void start(const Island& island, int island_index, double natural_goal, double residual_goal, SolveClock& clock);

  /// Measures λ, keeps it if it is the best so far. Returns its score.
  double observe(const double* lambda);
  /// Both residuals of the best λ, and its v and w; what was measured last is not measured again.
  Residuals measure_best(MeasureWorkspace& out);
  /// Adds a point to the trace, if there is one; the clock stands still meanwhile.
  void trace(const double* lambda, int iteration);

  [[nodiscard]] bool expired() const {
    return exhausted() || clock_->expired() || (deadline_ms > 0.0 && clock_->watch.elapsed_ms() >= deadline_ms);
  }
  /// Whether somebody wants an end, of runs too that look at no clock.
  [[nodiscard]] bool stopped() const { return clock_->stopped(); }
  /// Whether trace() records anything: λ need not be made up for it otherwise.
  [[nodiscard]] bool tracing() const { return clock_->tracing; }
  [[nodiscard]] bool solved() const { return best_score_ <= 1.0; }
  [[nodiscard]] double best_score() const { return best_score_; }
  [[nodiscard]] double last_score() const { return last_score_; }
  /// Natural map of the last / best observed λ relative to ‖q‖ of the island.
  [[nodiscard]] double last_natural() const { return last_natural_; }
  [[nodiscard]] double best_natural() const { return best_natural_; }
  /// [m/s] what the natural map may come to.
  [[nodiscard]] double natural_goal() const { return natural_goal_; }
  [[nodiscard]] const double* best_lambda() const { return best_.data(); }
  [[nodiscard]] const MeasureWorkspace& last() const { return measure_; }
  /// Replaces the best by this λ whatever its score (least violating answer of an infeasible problem).
  void force_best(const double* lambda);

  /// Work done so far in visits to constraints by PGS; the same in every run, unlike time. The others' visits are
  /// cheaper: SubADMM streams through memory, a Newton step is mostly dense products.
  [[nodiscard]] double work() const {
    constexpr double kAdmm = 0.5, kNewton = 0.5;
    return island_->num_constraints * (pgs_sweeps + kAdmm * admm_iterations + kNewton * newton_price * newton_steps);
  }
  [[nodiscard]] bool exhausted() const {
    return max_work > 0.0 && work() >= std::max(max_work, kLeastIterations * island_->num_constraints);
  }

  // Limits and counters of the running solve.
  double max_work = 0.0;      // 0: none
  double newton_price = 1.0;  // of a Newton step in first-order iterations
  int max_iterations = 0;     // 0: none
  double deadline_ms = 0.0;   // this island's share of the budget; 0: none
  int iterations = 0;         // outer iterations or sweeps so far, all methods together
  int newton_steps = 0, pgs_sweeps = 0, admm_iterations = 0, inner_failures = 0;
  [[nodiscard]] bool out_of_iterations() const { return max_iterations > 0 && iterations >= max_iterations; }

 private:
  const Island* island_ = nullptr;
  SolveClock* clock_ = nullptr;
  int island_index_ = 0;
  double natural_goal_ = 0.0, residual_goal_ = 0.0;
  double best_score_ = kInfinity, last_score_ = kInfinity, best_natural_ = kInfinity, last_natural_ = kInfinity;
  std::vector<double> best_;
  bool last_is_best_ = false;
  Residuals last_;
  MeasureWorkspace measure_, trace_measure_;
};

}  // namespace almond
