#include "tests/common/helpers.hpp"

#include <cmath>
#include <cstdlib>
#include <filesystem>

#include "almond/solver/certificate.hpp"
#include "almond/solver/solve.hpp"

namespace almond::testing {

double tolerance(double value) {
  const char* scale = std::getenv("ALMOND_TOL_SCALE");
  return scale != nullptr ? value * std::atof(scale) : value;
}

std::vector<SolverKind> all_solvers() {
  std::vector<SolverKind> kinds;
  for (int k = 0; k < kNumSolverKinds; ++k) kinds.push_back(static_cast<SolverKind>(k));
  return kinds;
}

Solution solve_with(const ContactProblem& problem, const Settings& settings) {
  Workspace workspace;
  Solution solution;
  solve(problem, settings, workspace, solution);
  return solution;
}

Solution solve_with(const ContactProblem& problem, SolverKind kind, double tol) {
  Settings settings;
  settings.solver = kind;
  settings.tol = tol;
  settings.budget_ms = 10000.0;
  return solve_with(problem, settings);
}

VecX contact_velocity(const ContactProblem& problem, const VecX& v) {
  return make_dense_J(problem) * v + make_dense_e(problem);
}

VecX free_contact_velocity(const ContactProblem& problem) {
  return contact_velocity(problem, compute_velocity(problem, VecX::Zero(problem.num_rows())));
}

void expect_finite(const Solution& solution) {
  EXPECT_TRUE(solution.v.allFinite());
  EXPECT_TRUE(solution.lambda.allFinite());
  const Certificate& c = solution.certificate;
  EXPECT_TRUE(c.finite);
  for (const double value :
       {c.residual, c.natural_map, c.normal_violation, c.complementarity, c.cone_violation, c.slip_error,
        c.dynamics_residual, c.row_violation, solution.info.time_ms, solution.info.setup_ms})
    EXPECT_TRUE(std::isfinite(value)) << value;
}

std::string shared_folder() {
  namespace fs = std::filesystem;
  const char* given = std::getenv("ALMOND_SHARED");
  const fs::path path = given != nullptr ? fs::path(given) : fs::path(ALMOND_SOURCE_DIR).parent_path() / "shared";
  std::error_code ignored;
  return fs::is_directory(path, ignored) ? path.string() : "";
}

namespace {

void add(std::vector<scenes::NamedProblem>& problems, scenes::NamedProblem named, std::uint64_t seed) {
  named.name.append("_").append(std::to_string(seed));
  problems.push_back(std::move(named));
}

}  // namespace

std::vector<scenes::NamedProblem> unique_problems() {
  std::vector<scenes::NamedProblem> problems;
  for (std::uint64_t seed = 1; seed <= 4; ++seed) {
    add(problems, scenes::make_random(4, 8, 0.3, seed), seed);
    add(problems, scenes::make_frictionless(4, 8, seed), seed);
    add(problems, scenes::make_quadrupeds(2, seed), seed);
    add(problems, scenes::make_closed_chain(5, seed), seed);
    add(problems, scenes::make_branching_tree(8, 6, seed), seed);
  }
  return problems;
}

std::vector<scenes::NamedProblem> hyperstatic_problems() {
  std::vector<scenes::NamedProblem> problems;
  for (std::uint64_t seed = 1; seed <= 4; ++seed) {
    add(problems, scenes::make_nut(16, seed), seed);
    add(problems, scenes::make_block_pile(6, seed), seed);
  }
  return problems;
}

std::vector<scenes::NamedProblem> feasible_problems() {
  std::vector<scenes::NamedProblem> problems = unique_problems();
  for (scenes::NamedProblem& named : hyperstatic_problems()) problems.push_back(std::move(named));
  return problems;
}

void expect_words(const std::string& message, const std::string& words) {
  EXPECT_NE(message.find(words), std::string::npos) << message << "\nexpected: " << words;
}

std::string test_name(const std::string& text) {
  std::string name;
  for (const char c : text)
    if (std::isalnum(static_cast<unsigned char>(c)) != 0) name += c;
  return name;
}

}  // namespace almond::testing
