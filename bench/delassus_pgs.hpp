#pragma once
// Projected Gauss-Seidel as the paper's baseline has it: the Delassus matrix W = J A⁻¹Jᵀ is formed first, and a sweep
// walks along its rows. Contact by contact it takes the same steps as the solver `pgs`, which keeps velocities and
// needs no W; what differs is the cost.

#include "bench/runs.hpp"

namespace almond::bench {

/// How far a sweep moves the impulse of one contact: normal and tangent each by the inverse of its own block of W, as
/// the solver `pgs` does, or all three by one number, the inverse of the largest eigenvalue or of the trace of W_ii.
enum class PgsStep { kEach, kLargest, kTrace };

/// W by rows, of each only what is not zero: constraints that share a subsystem.
class DelassusPgs {
 public:
  /// Forms W.
  explicit DelassusPgs(const ContactProblem& problem, PgsStep step = PgsStep::kEach);

  /// One step of every constraint, in the order of λ.
  void sweep();
  [[nodiscard]] const VecX& lambda() const { return lambda_; }

 private:
  struct Item {
    int row = 0, dim = 0;
    double mu = 0.0;
    double step_n = 0.0, step_t = 0.0;                              // of contacts
    double coupling[2] = {0.0, 0.0};                                // how its normal impulse moves its tangent
    double lower = 0.0, upper = 0.0, compliance = 0.0, step = 0.0;  // of rows
  };
  /// Neighbours whose rows of λ lie side by side.
  struct Run {
    int row = 0, length = 0;
  };
  void add_items(const ContactProblem& problem);
  void form(const ContactProblem& problem, PgsStep step);

  std::vector<Item> items_;
  std::vector<int> begin_;  // (items + 1) into runs_
  std::vector<Run> runs_;
  std::vector<std::size_t>
      start_;               // (items) into values_: the rows of W of an item, over its runs, one below the other
  std::vector<int> width_;  // (items) their length
  AlignedVector values_;
  VecX q_;  // J A⁻¹b + e
  VecX lambda_;
};

/// Residual after so many sweeps from no impulses.
[[nodiscard]] double residual_after_sweeps(const ContactProblem& problem, PgsStep step, int sweeps);

/// Sweeps from no impulses until the residual is at most `tol` or the time is up. The curve has every one of the first
/// hundred sweeps and then one in some; the clock stops while the residual is measured.
[[nodiscard]] Run run_delassus_pgs(const BenchProblem& problem, double tol, double budget_ms);

/// Time after 0, 1, ... sweeps [ms], the quickest of several runs.
[[nodiscard]] std::vector<double> time_delassus_pgs(const ContactProblem& problem, int sweeps, int runs);

}  // namespace almond::bench
