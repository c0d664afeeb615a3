// The solvers on problems made of the input's bytes: degenerate, duplicated, zero, huge, tiny, infeasible, with numbers
// that are none, bodies and trees. A problem is refused in one line, or the solver that the input names ends with a
// status, finite numbers, and within its iterations and its time; and once more from its own answer.
//
// Bytes are taken in an order that kept findings rely on: what came later is taken last, and is off where bytes end.

#include <cmath>
#include <ctime>
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

/// Up to four bodies, each at the ground or at an earlier one, with a joint of none to two degrees of freedom.
Tree take_tree(Bytes& bytes) {
  Tree tree;
  tree.dof_offset = {0};
  for (int body = 0, count = 1 + bytes.pick(3); body < count; ++body) {
    tree.parent.push_back(bytes.pick(body) - 1);
    tree.dof_offset.push_back(tree.dof_offset.back() + (body == 0 ? 1 + bytes.pick(1) : bytes.pick(2)));
    tree.M.push_back(take_inertia(bytes, 6));
  }
  tree.S = take_matrix(bytes, 6, tree.dof_offset.back());
  tree.diagonal = VecX::Constant(tree.num_dofs(), bytes.flip() ? take_size(bytes) : 0.0);
  return tree;
}

/// A tree, and contacts and rows between its bodies, its joints and what else there is.
void add_tree(Bytes& bytes, ContactProblem& problem) {
  const Tree tree = take_tree(bytes);
  const int sub = problem.add_tree(tree, take_matrix(bytes, tree.num_dofs(), 1));
  const auto side = [&](int rows) {
    return SideInput{sub, {}, bytes.pick(tree.num_bodies() - 1), take_matrix(bytes, rows, 6)};
  };
  for (int c = bytes.pick(3); c > 0; --c) {
    const int kind = bytes.pick(3);
    if (kind == 0) add_constraint(bytes, problem);
    if (kind == 1) problem.add_contact(take_size(bytes), take_matrix(bytes, 3, 1), side(3));
    if (kind == 2) problem.add_contact(take_size(bytes), take_matrix(bytes, 3, 1), side(3), side(3));
    if (kind == 3) problem.add_equality(take_number(bytes), {side(1)});
  }
}

void take_more_settings(Bytes& bytes, Settings& settings) {
  if (bytes.flip()) settings.admm_aba = true;
  if (bytes.flip()) settings.admm_dense = true;
  if (bytes.flip()) settings.admm_relax = take_number(bytes);
  if (bytes.flip()) settings.admm_pseudo_density = true;
  if (bytes.flip()) settings.pgs_omega = take_number(bytes);
  if (bytes.flip()) settings.pgs_anderson = bytes.pick(20);
  if (bytes.flip()) settings.canal_polish = false;
  if (bytes.pick(7) == 1) {  // as a step in a hurry: no limit but the time
    settings.max_iterations = 0;
    settings.budget_ms = 0.01 * (1 + bytes.pick(40));
    settings.fixed_iterations = false;
  }
}

/// Time of this thread alone [ms]: a busy machine is nobody's finding.
double cpu_ms() {
  timespec now{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return 1e3 * static_cast<double>(now.tv_sec) + 1e-6 * static_cast<double>(now.tv_nsec);
}

void solve_and_check(const ContactProblem& problem, const Settings& settings, Solution& solution) {
  // With velocities to begin from, contacts that seem idle are left out and may be woken, three times at most.
  const int tries = settings.warm_start && solution.v.size() == problem.num_dofs() ? 4 : 1;
  const double begin = cpu_ms();
  check_solve(problem, settings, solution);
  // Sanitizers make one iteration of the largest problem a matter of milliseconds; nothing here needs a second.
  constexpr double kMargin = 100.0, kLongest = 2000.0;
  const double limit = settings.budget_ms > 0.0 ? settings.budget_ms + kMargin : kLongest;
  check(cpu_ms() - begin < std::min(limit, kLongest), "a solve ends in its time");
  check(settings.max_iterations == 0 || settings.fixed_iterations ||
            solution.info.iterations <= tries * settings.max_iterations,
        "iterations stay within their limit");
  static_cast<void>(make_certificate(problem, Eigen::Map<const VecX>(solution.v.data(), solution.v.size()),
                                     Eigen::Map<const VecX>(solution.lambda.data(), solution.lambda.size())));
}

}  // namespace

void read_input(const std::string& input) {
  Bytes bytes(input);
  Settings settings = take_settings(bytes);
  ContactProblem problem;
  for (int s = bytes.pick(3); s >= 0; --s) {
    const int dofs = 1 + bytes.pick(6);
    const MatX A = take_inertia(bytes, dofs);
    problem.add_subsystem(A, take_matrix(bytes, dofs, 1));
  }
  for (int c = bytes.pick(12); c > 0 && !bytes.empty(); --c) add_constraint(bytes, problem);
  std::vector<double> start;
  if (settings.warm_start) {
    start.resize(problem.num_rows());
    for (double& value : start) value = take_number(bytes);
  }
  take_more_settings(bytes, settings);
  if (bytes.flip()) add_tree(bytes, problem);
  settings.validate();
  problem.validate();
  Solution solution;
  if (settings.warm_start) {
    start.resize(problem.num_rows(), 0.0);
    solution.lambda = Eigen::Map<const VecX>(start.data(), problem.num_rows());
    if (bytes.flip()) solution.v = take_matrix(bytes, problem.num_dofs(), 1).reshaped();
  }
  solve_and_check(problem, settings, solution);
  if (!bytes.flip()) return;
  // The next step: another push, from the answer to the last one.
  problem.b[static_cast<std::size_t>(bytes.pick(255)) % problem.b.size()] = take_number(bytes);
  problem.validate();
  settings.warm_start = true;
  solve_and_check(problem, settings, solution);
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
