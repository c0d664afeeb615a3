#pragma once
// The door of the library: one call for all solvers.
//
//   ContactProblem problem = ...;  problem.validate();
//   Workspace workspace;  Solution solution;
//   Status status = solve(problem, Settings{}, workspace, solution);

#include <memory>

#include "almond/solver/problem.hpp"
#include "almond/solver/result.hpp"

namespace almond {

/// All scratch memory of the solvers. Grows on first use; a second solve of the same size allocates nothing.
/// One workspace per thread of the caller.
class Workspace {
 public:
  Workspace();
  ~Workspace();
  Workspace(Workspace&&) noexcept;
  Workspace& operator=(Workspace&&) noexcept;
  /// Drops what was learnt from earlier problems (orderings of factors, penalties) and keeps the memory: the next solve
  /// does all the work of a first one.
  void forget();
  /// Drops the penalties only: the next solve gives the bits of a fresh workspace, whatever was solved before.
  void forget_penalties();
  struct Impl;
  Impl& impl() { return *impl_; }

 private:
  std::unique_ptr<Impl> impl_;
};

/// Solves a validated problem. Never throws, never returns a NaN: the best finite iterate comes back with a status.
/// `solution` is also the warm start when settings.warm_start is set. solution.certificate has the definitions of
/// certificate.hpp on the numbers at hand, without allocating; make_certificate() computes it from the problem and λ
/// alone, and also the dynamics residual.
Status solve(const ContactProblem& problem, const Settings& settings, Workspace& workspace, Solution& solution);

}  // namespace almond
