#pragma once
// One solver on one problem: the residual over time, the times to fixed targets, and the certificate of what came out.
// Own solvers and peers end up in the same struct, judged by the same certificate.

#include <array>
#include <string>
#include <vector>

#include "almond/solver/problem.hpp"
#include "almond/solver/result.hpp"
#include "bench/plot.hpp"

namespace almond::bench {

struct BenchProblem {
  std::string name;
  ContactProblem problem;
  bool infeasible = false;  // known by construction to have no solution
};

inline constexpr std::array<double, 3> kNaturalTargets = {1e-3, 1e-6, 1e-9};
inline constexpr double kResidualTarget = 1e-8;  // the paper's metric [N s]
inline constexpr double kNever = kInfinity;

/// Run::failure of a peer that was spared a problem.
inline constexpr const char* kTooLarge = "not run: too large for it";
/// Run::failure of a peer that was still at it when its own time was up.
inline constexpr const char* kHung = "hung and was stopped";

struct Run {
  std::string problem, solver;
  bool peer = false;
  int contacts = 0, dofs = 0;
  int iterations = 0, newton_steps = 0;
  Status status = Status::kNumericalError;  // own solvers
  std::string failure;                      // peers: why there is no or no complete result
  double time_ms = kNaN;                    // own solvers: median of cold solves, trace off; peers: of the best iterate
  Certificate certificate;                  // of the last iterate (peers: of the best)
  std::vector<TracePoint> curve;            // best so far, in order of time
  std::array<double, 3> to_natural = {kNever, kNever, kNever};  // ms to kNaturalTargets
  double to_residual = kNever;                                  // ms to kResidualTarget

  /// Both figures of a solved problem (paper residual 1e-8, natural map 1e-9), within `ms`.
  [[nodiscard]] bool solved_within(double ms) const;
  [[nodiscard]] bool natural_within(double target, double ms) const;
  /// It had all of its time: what it did not reach, it does not reach. Not so where it crashed, was interrupted or did
  /// not run.
  [[nodiscard]] bool had_its_time() const { return failure.empty() || failure == kHung; }
};

/// Cold solves in a workspace that keeps nothing but its memory: one traced, then `repeats` untraced ones (fewer when
/// they are slow, more when they are short) whose median is time_ms. Everything from the problem to v and λ is counted,
/// the certificate is not. The clock of the curve is scaled to the untraced solve when both made the same iterations.
[[nodiscard]] Run run_solver(const BenchProblem& problem, const Settings& settings, int repeats);

/// Turns raw trace points into a best-so-far curve, thinned to what can be seen, and fills the times to the targets.
void finish_curve(std::vector<TracePoint> points, Run& run);

/// First time at which the curve's natural map is at or below `target`, or kNever.
[[nodiscard]] double time_to_natural(const std::vector<TracePoint>& curve, double target);

/// Natural map over time.
[[nodiscard]] Series natural_series(const Run& run);

[[nodiscard]] double median(std::vector<double> values);
[[nodiscard]] double geometric_mean(const std::vector<double>& values);

/// Median time of Eigen's dense Cholesky (LLT) of a 300x300 matrix: the yardstick of the machine [ms].
[[nodiscard]] double time_cholesky_300();

}  // namespace almond::bench
