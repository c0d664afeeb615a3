#pragma once
// Many runs made small: who solved how many and how fast, ratios to the best peer, performance profiles, one figure per
// problem.

#include <string>
#include <vector>

#include "bench/report.hpp"
#include "bench/runs.hpp"

namespace almond::bench {

/// Problems and solvers in the order of their first run.
[[nodiscard]] std::vector<std::string> problem_names(const std::vector<Run>& runs);
[[nodiscard]] std::vector<std::string> solver_names(const std::vector<Run>& runs);
/// nullptr: there is no such run.
[[nodiscard]] const Run* find_run(const std::vector<Run>& runs, const std::string& problem, const std::string& solver);

/// Per solver: problems at 1e-3 / 1e-6 / 1e-9 within a hundredth, a tenth and the whole of the budget, geometric mean
/// of the time to each target (an unsolved problem counts as the budget).
[[nodiscard]] Table summary_table(const std::vector<Run>& runs, double budget_ms);

/// One row per problem, per solver the time to natural map 1e-9; where it is not reached, the best value in red.
[[nodiscard]] Table times_table(const std::vector<Run>& runs);

/// One row per run with every figure.
[[nodiscard]] Table runs_table(const std::vector<Run>& runs);

/// One solver against the best of a group of peers, problem by problem, in time to natural map 1e-9.
struct PeerRatio {
  std::string problem, best_peer;
  int contacts = 0;
  double own_ms = kNever, peer_ms = kNever;
  double ratio = kNaN;  // how many times faster; a side that never gets there counts as the budget. NaN: neither does
  std::string unknown;  // why there is nothing to compare, and no ratio: the peers were interrupted, or none ran
  std::string failed;   // peers that did not get to an end, and why, where others did
};
[[nodiscard]] std::vector<PeerRatio> peer_ratios(const std::vector<Run>& runs, const std::string& solver,
                                                 const std::string& peer_prefix, double budget_ms);
[[nodiscard]] Table ratio_table(const std::vector<PeerRatio>& ratios, const std::string& solver,
                                const std::string& group);

/// Dolan and Moré: the share of problems a solver brings to the target within τ times the fastest one's time.
[[nodiscard]] Plot performance_profile(const std::vector<Run>& runs, double target, double budget_ms);

/// Natural map over time, one plot per problem; without a legend where it would not fit.
[[nodiscard]] std::vector<Plot> curve_plots(const std::vector<Run>& runs, double budget_ms);

}  // namespace almond::bench
