// The solvers on problems made of the input's bytes: degenerate, duplicated, zero, huge, tiny, infeasible, with numbers
// that are none. A problem is refused in one line, or every solver ends with a status and finite numbers.

#include <cmath>
#include <limits>

#include "almond/solver/certificate.hpp"
#include "fuzz/problems.hpp"

namespace almond::fuzz {
namespace {

/// Mostly small whole numbers; extremes and raw bits now and then.
double take_number(Bytes& bytes) {
  static const double kExtremes[] = {
      0.0,   -0.0,  1e-300, 5e-324, 1e-12,     1e12, 1e150,     1e300, std::numeric_limits<double>::max(),
      1e-30, -1e30, 1e-8,   1e8,    kInfinity, kNaN, -kInfinity};
  const int kind = bytes.pick(255);
  if (kind < 200) return (kind - 100) / 16.0;
  if (kind < 240) return kExtremes[kind % 16];
  return bytes.take<double>();
}

MatX take_matrix(Bytes& bytes, int rows, int cols) {
  MatX matrix(rows, cols);
  for (double& value : matrix.reshaped()) value = take_number(bytes);
  return matrix;
}

/// Where only numbers above 0 make sense: mostly one of them.
double take_size(Bytes& bytes) { return bytes.pick(31) == 0 ? take_number(bytes) : std::abs(take_number(bytes)); }

/// Mostly a product that is symmetric and definite; also one that is hardly so, a multiple of 1, or whatever comes.
MatX take_inertia(Bytes& bytes, int size) {
  const int kind = bytes.pick(15);
  if (kind == 0) return take_matrix(bytes, size, size);
  if (kind < 4) return take_size(bytes) * MatX::Identity(size, size);
  const MatX root = take_matrix(bytes, size, size);
  return root * root.transpose() + (kind == 4 ? 1e-9 : 1.0) * MatX::Identity(size, size);
}

SideInput take_side(Bytes& bytes, const ContactProblem& problem, int rows) {
  const int sub = bytes.pick(static_cast<int>(problem.subsystems.size()) - 1), dofs = problem.subsystems[sub].dofs;
  if (bytes.pick(3) == 0) return {sub, MatX::Identity(rows, dofs), -1, {}};
  return {sub, take_matrix(bytes, rows, dofs), -1, {}};
}

void add_constraint(Bytes& bytes, ContactProblem& problem) {
  const int kind = bytes.pick(7), copies = bytes.pick(15) == 0 ? 3 : 1;
  const bool two = bytes.flip();
  if (kind < 4) {
    const double mu = take_size(bytes);
    const Vec3 e = take_matrix(bytes, 3, 1);
    const SideInput a = take_side(bytes, problem, 3), b = two ? take_side(bytes, problem, 3) : SideInput{};
    for (int i = 0; i < copies; ++i) two ? problem.add_contact(mu, e, a, b) : problem.add_contact(mu, e, a);
    return;
  }
  std::vector<SideInput> sides = {take_side(bytes, problem, 1)};
  if (two) sides.push_back(take_side(bytes, problem, 1));
  const double e = take_number(bytes), k = take_size(bytes), d = take_size(bytes);
  for (int i = 0; i < copies; ++i) {
    if (kind == 4) problem.add_hard(e, sides);
    if (kind == 5) problem.add_soft(e, k, d, sides, bytes.flip() ? kInfinity : take_size(bytes));
    if (kind == 6) problem.add_equality(e, sides);
    if (kind == 7) problem.add_bounded(e, k, sides);
  }
}

Settings take_settings(Bytes& bytes) {
  Settings settings;
  settings.solver = static_cast<SolverKind>(bytes.pick(kNumSolverKinds - 1));
  settings.max_iterations = 1 + bytes.pick(30);
  settings.warm_start = bytes.pick(3) == 0;
  settings.prefer_stick = bytes.pick(3) == 0;
  settings.trace = bytes.pick(7) == 0;
  settings.fixed_iterations = bytes.pick(15) == 0;
  if (bytes.pick(7) == 0) settings.tol = take_number(bytes);
  if (bytes.pick(7) == 0) settings.max_work = take_number(bytes);
  if (bytes.pick(7) == 0) settings.budget_ms = take_number(bytes);
  if (bytes.pick(7) == 0) settings.admm_anderson = bytes.pick(20);
  if (bytes.pick(7) == 0) settings.admm_split_bodies = true;
  if (bytes.pick(7) == 0) settings.canal_inner = static_cast<InnerSolver>(bytes.pick(2));
  if (settings.canal_inner !=
      Settings{}.canal_inner) {  // a million gradient steps are allowed for: the budget ends them
    settings.budget_ms = 1.0;
    settings.fixed_iterations = false;
  }
  return settings;
}

}  // namespace

void read_input(const std::string& input) {
  Bytes bytes(input);
  const Settings settings = take_settings(bytes);
  settings.validate();
  ContactProblem problem;
  for (int s = bytes.pick(3); s >= 0; --s) {
    const int dofs = 1 + bytes.pick(6);
    const MatX A = take_inertia(bytes, dofs);
    problem.add_subsystem(A, take_matrix(bytes, dofs, 1));
  }
  for (int c = bytes.pick(12); c > 0 && !bytes.empty(); --c) add_constraint(bytes, problem);
  problem.validate();
  Solution solution;
  if (settings.warm_start) {
    solution.lambda.resize(problem.num_rows());
    for (int i = 0; i < problem.num_rows(); ++i) solution.lambda[i] = take_number(bytes);
  }
  check_solve(problem, settings, solution);
  check(solution.info.iterations <= settings.max_iterations || settings.solver == SolverKind::kAuto ||
            settings.fixed_iterations,
        "iterations stay within their limit");
  const Eigen::Map<const VecX> v(solution.v.data(), solution.v.size());
  static_cast<void>(
      make_certificate(problem, v, Eigen::Map<const VecX>(solution.lambda.data(), solution.lambda.size())));
}

std::vector<std::string> make_seeds() {
  std::vector<std::string> seeds;
  std::uint64_t state = 1;
  for (int i = 0; i < 60; ++i) {
    std::string seed(64 + 40 * (i % 10), '\0');
    for (char& c : seed) {
      state = state * 6364136223846793005ULL + 1442695040888963407ULL;
      c = static_cast<char>(80 + (state >> 33) % 60);  // mostly plain numbers
    }
    for (int k = 0; k < 12; ++k) seed[k] = static_cast<char>(state >> (4 * k));
    seed[0] = static_cast<char>(i);
    seeds.push_back(seed);
  }
  return seeds;
}

}  // namespace almond::fuzz
