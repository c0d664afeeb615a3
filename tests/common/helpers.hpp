#pragma once
// What several solver tests need: one-line solves, tolerances that can be scaled, the folder of foreign problems.

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "almond/solver/problem.hpp"
#include "almond/solver/result.hpp"
#include "scenes/problems.hpp"

namespace almond::testing {

/// `value` times the environment's ALMOND_TOL_SCALE (1 if absent); 0 shows the true margins.
[[nodiscard]] double tolerance(double value);

[[nodiscard]] std::vector<SolverKind> all_solvers();

/// A fresh workspace, the given solver, settings.tol = tol, and ten seconds at most.
[[nodiscard]] Solution solve_with(const ContactProblem& problem, SolverKind kind, double tol = 1e-9);
[[nodiscard]] Solution solve_with(const ContactProblem& problem, const Settings& settings);

/// J v + e in λ's order.
[[nodiscard]] VecX contact_velocity(const ContactProblem& problem, const VecX& v);
/// J A⁻¹b + e.
[[nodiscard]] VecX free_contact_velocity(const ContactProblem& problem);

/// Every number of a solution that a caller may read.
void expect_finite(const Solution& solution);

/// The message of the Error that `action` throws, or "" if it throws none.
template <class Action>
std::string error_of(Action action);

/// Folder with problems of others (fclib/, problems/): $ALMOND_SHARED, or ../shared beside the repository. Empty: none.
[[nodiscard]] std::string shared_folder();

/// Small feasible problems whose contact velocity is unique.
inline constexpr int kNumUniqueProblems = 20;
[[nodiscard]] std::vector<scenes::NamedProblem> unique_problems();
/// Small feasible problems with more contacts than dofs: many λ, and sometimes many v.
[[nodiscard]] std::vector<scenes::NamedProblem> hyperstatic_problems();
/// Both.
[[nodiscard]] std::vector<scenes::NamedProblem> feasible_problems();

/// That a message holds these words.
void expect_words(const std::string& message, const std::string& words);

/// As a name of a parametrised test: letters and digits only.
[[nodiscard]] std::string test_name(const std::string& text);

}  // namespace almond::testing

#include "almond/base/check.hpp"

template <class Action>
std::string almond::testing::error_of(Action action) {
  try {
    action();
  } catch (const Error& error) {
    return error.what();
  }
  return "";
}
