// SubADMM against Algorithm 2 written down naively with dense matrices: the same iterates, whatever form a node takes.
// Then what a user sees: pseudo-density, jams, stalls, warm starts, threads, memory.

#include <gtest/gtest.h>

#include <cmath>

#include "almond/solver/cone.hpp"
#include "almond/solver/solve.hpp"
#include "almond/solver/subadmm.hpp"
#include "tests/common/allocation.hpp"
#include "tests/common/helpers.hpp"
#include "tests/solver/island_fixture.hpp"

namespace almond {
namespace {

using scenes::NamedProblem;
using scenes::Random;
using testing::OneIsland;

/// One constraint with its slacks; J per slack over all velocities.
struct DenseConstraint {
  int row = 0, dim = 3;
  std::vector<MatX> J{};
  VecX e{};
  double mu = 0.0, compliance = 0.0, lower = -kInfinity, upper = kInfinity;
  double beta = 0.0;
};

std::vector<DenseConstraint> make_dense_constraints(const ContactProblem& problem, bool merge, double c) {
  std::vector<DenseConstraint> all;
  const MatX A = make_dense_A(problem);
  int row = 0;
  const auto add = [&](const auto& constraint, DenseConstraint dense) {
    dense.row = row;
    row += dense.dim;
    for (int s = 0; s < constraint.num_sides; ++s) {
      const Side& side = constraint.sides[s];
      const Subsystem& subsystem = problem.subsystems[side.subsystem];
      MatX J = MatX::Zero(dense.dim, problem.num_dofs());
      J.middleCols(subsystem.offset, subsystem.dofs) = problem.J(side, dense.dim);
      if (s == 1 && merge && constraint.sides[0].subsystem == side.subsystem) {
        dense.J[0] += J;
      } else {
        dense.J.push_back(J);
      }
    }
    // β = c / W̄
    MatX J = dense.J[0];
    for (std::size_t j = 1; j < dense.J.size(); ++j) J += dense.J[j];
    dense.beta = c / ((J * A.llt().solve(J.transpose())).trace() / dense.dim + dense.compliance);
    all.push_back(dense);
  };
  for (const Contact& contact : problem.contacts) add(contact, {.e = contact.e, .mu = contact.mu});
  for (const Row& r : problem.hard) add(r, {.dim = 1, .e = VecX::Constant(1, r.e), .lower = 0.0});
  for (const Row& r : problem.soft)
    add(r, {.dim = 1, .e = VecX::Constant(1, r.k / r.b * r.e), .compliance = 1.0 / r.b});
  for (const Row& r : problem.equality) add(r, {.dim = 1, .e = VecX::Constant(1, r.e)});
  for (const Row& r : problem.bounded) {
    add(r, {.dim = 1, .e = VecX::Constant(1, r.e), .lower = -r.limit, .upper = r.limit});
  }
  return all;
}

/// Algorithm 2 in natural units, λ after `iterations` from λ = 0.
VecX run_naively(const ContactProblem& problem, bool merge, double c, double relax, int iterations) {
  const std::vector<DenseConstraint> constraints = make_dense_constraints(problem, merge, c);
  const MatX A = make_dense_A(problem);
  const VecX b = Eigen::Map<const VecX>(problem.b.data(), problem.num_dofs());
  MatX H = A;
  for (const DenseConstraint& con : constraints)
    for (const MatX& J : con.J) H += con.beta * J.transpose() * J;
  const Eigen::LLT<MatX> llt(H);
  VecX v = A.llt().solve(b), lambda = VecX::Zero(problem.num_rows());
  std::vector<std::vector<VecX>> y(constraints.size());
  for (std::size_t i = 0; i < constraints.size(); ++i)
    for (const MatX& J : constraints[i].J) y[i].push_back(constraints[i].beta * (J * v));
  for (int k = 0; k < iterations; ++k) {
    VecX rhs = b;
    for (std::size_t i = 0; i < constraints.size(); ++i) {
      const DenseConstraint& con = constraints[i];
      const auto slacks = static_cast<double>(con.J.size());
      VecX sum = con.beta * con.e;
      for (const VecX& y_ij : y[i]) sum += y_ij;
      if (con.dim == 3) {
        Vec3 l;
        project_strict(con.mu, -Vec3(sum) / slacks, l);
        lambda.segment<3>(con.row) = l;
      } else {
        const double l = -sum[0] / (slacks + con.beta * con.compliance);
        lambda[con.row] = std::clamp(l, con.lower, con.upper);
      }
      const VecX l = lambda.segment(con.row, con.dim);
      for (std::size_t j = 0; j < con.J.size(); ++j) rhs += con.J[j].transpose() * (y[i][j] + 2.0 * l);
    }
    v = llt.solve(rhs);
    for (std::size_t i = 0; i < constraints.size(); ++i) {
      const DenseConstraint& con = constraints[i];
      const VecX l = lambda.segment(con.row, con.dim);
      for (std::size_t j = 0; j < con.J.size(); ++j) {
        const VecX z = (y[i][j] + l) / con.beta;
        y[i][j] = con.beta * (relax * (con.J[j] * v) + (1.0 - relax) * z) - l;
      }
    }
  }
  return lambda;
}

SubAdmmOptions plain_options(int iterations, double relax, TreePath path) {
  SubAdmmOptions options;
  options.fixed = true;
  options.max_iterations = iterations;
  options.anderson = 0;
  options.c0 = 3.0;
  options.relax = relax;
  options.tree_path = path;
  return options;
}

/// λ of the first island after fixed iterations, against the naive run, relative to its size.
double difference_from_naive(const ContactProblem& problem, bool merge, double relax, TreePath path) {
  CompileOptions compile;
  compile.merge_sides = merge;
  OneIsland one(problem, 1e-12, compile);
  SubAdmmWorkspace workspace;
  const SubAdmmOptions options = plain_options(50, relax, path);
  EXPECT_EQ(solve_subadmm(one.island(), options, one.monitor, workspace, one.lambda.data()), Status::kMaxIterations);
  const VecX expected = run_naively(problem, merge, options.c0, relax, 50);
  double difference = 0.0, size = 0.0;
  for (int i = 0; i < one.island().num_constraints; ++i) {
    const Constraint& c = one.island().constraints[i];
    const int row = problem_row(problem, one.island(), i);
    for (int r = 0; r < c.dim; ++r) {
      difference += std::pow(one.lambda[c.row + r] - expected[row + r], 2);
      size += std::pow(expected[row + r], 2);
    }
  }
  EXPECT_GT(size, 0.0);
  return std::sqrt(difference / size);
}

/// Rows that no tree likes: gears between joints of different branches, a contact given in joint space, a spring
/// between two bodies of one tree.
ContactProblem with_couplings(ContactProblem problem, std::uint64_t seed) {
  Random random(seed);
  const Tree tree = problem.trees[0];
  const int n = tree.num_dofs();
  const auto joint_side = [&](int dim, int entries) {
    SideInput side;
    side.subsystem = 0;
    side.J = MatXr::Zero(dim, n);
    for (int r = 0; r < dim; ++r)
      for (int k = 0; k < entries; ++k) side.J(r, random.index(n)) = random.normal();
    return side;
  };
  problem.add_equality(0.01, {joint_side(1, 2)});
  problem.add_soft(0.1, 0.2, 0.05, {joint_side(1, 3)});
  problem.add_contact(0.4, Vec3(0.0, 0.0, 0.05), joint_side(3, 4));
  SideInput one, other;
  one.subsystem = other.subsystem = 0;
  one.body = tree.num_bodies() - 1;
  one.J_body = testing::random_matrix(1, 6, random);
  other.body = tree.num_bodies() / 2;
  other.J_body = -one.J_body;
  problem.add_soft(0.0, 0.1, 0.3, {one, other});
  problem.validate();
  return problem;
}

std::vector<NamedProblem> tree_problems() {
  std::vector<NamedProblem> problems;
  for (std::uint64_t seed = 1; seed <= 2; ++seed) {
    problems.push_back(scenes::make_closed_chain(7, seed));
    problems.push_back(scenes::make_closed_chain(30, seed));
    problems.push_back(scenes::make_branching_tree(14, 10, seed));
    problems.push_back(scenes::make_quadrupeds(3, seed));
    problems.push_back({"coupled quadruped", with_couplings(scenes::make_quadrupeds(1, seed).problem, seed), {}});
    problems.push_back({"coupled tree", with_couplings(scenes::make_branching_tree(9, 6, seed).problem, seed), {}});
  }
  return problems;
}

TEST(SubAdmm, TreesIterateAsAlgorithmTwo) {
  for (const NamedProblem& named : tree_problems()) {
    for (const TreePath path :
         {TreePath::kDense, TreePath::kTree, TreePath::kArticulated, TreePath::kCheapest, TreePath::kSolve}) {
      EXPECT_LE(difference_from_naive(named.problem, false, 1.0, path), testing::tolerance(1e-9))
          << named.name << " form " << static_cast<int>(path);
      EXPECT_LE(difference_from_naive(named.problem, false, 1.6, path), testing::tolerance(1e-9))
          << named.name << " relaxed, form " << static_cast<int>(path);
    }
  }
}

TEST(SubAdmm, MergedSidesIterateAsAlgorithmTwo) {
  for (const NamedProblem& named : tree_problems()) {
    for (const TreePath path : {TreePath::kDense, TreePath::kTree, TreePath::kArticulated, TreePath::kSolve}) {
      EXPECT_LE(difference_from_naive(named.problem, true, 1.6, path), testing::tolerance(1e-9))
          << named.name << " form " << static_cast<int>(path);
    }
  }
}

TEST(SubAdmm, BlocksIterateAsAlgorithmTwo) {
  Random random(5);
  std::vector<NamedProblem> problems = {scenes::make_random(6, 9, 0.4, 1), scenes::make_nut(40, 1),
                                        scenes::make_block_pile(5, 2), scenes::make_spinning_box(0.3, 2.0)};
  testing::Graph graph;
  graph.dofs = {2, 6, 7, 70, 1};
  graph.edges = {{0, 1}, {1, 2}, {2, -1}, {2, 2}, {3, 1}, {3, -1}, {3, 3}, {4, 0}, {1, 1}};
  problems.push_back({"graph", testing::make_graph_problem(graph, true, random), {}});
  for (const NamedProblem& named : problems) {
    for (const bool merge : {false, true}) {
      EXPECT_LE(difference_from_naive(named.problem, merge, 1.6, TreePath::kCheapest), testing::tolerance(1e-9))
          << named.name << (merge ? " merged" : "");
    }
  }
}

TEST(SubAdmm, FormsAreChosenByTheirCost) {
  const auto forms = [](const ContactProblem& problem, TreePath path) {
    CompileOptions compile;
    compile.merge_sides = false;
    OneIsland one(problem, 1e-12, compile);
    SubAdmmWorkspace workspace;
    static_cast<void>(
        solve_subadmm(one.island(), plain_options(1, 1.6, path), one.monitor, workspace, one.lambda.data()));
    std::vector<NodeForm> all;
    for (const NodeMap& node : workspace.maps.nodes) all.push_back(node.form);
    return all;
  };
  // Few rows: G. Many rows on six dofs: columns. A long chain: along the tree.
  EXPECT_EQ(forms(scenes::make_thrown_sphere(0.3, 1.0).problem, TreePath::kCheapest)[0], NodeForm::kGram);
  EXPECT_EQ(forms(scenes::make_nut(60, 1).problem, TreePath::kCheapest)[0], NodeForm::kColumns);
  const ContactProblem chain = scenes::make_closed_chain(120, 1).problem;
  EXPECT_EQ(forms(chain, TreePath::kCheapest)[0], NodeForm::kArticulated);
  EXPECT_EQ(forms(chain, TreePath::kTree)[0], NodeForm::kTree);
  EXPECT_EQ(forms(scenes::without_trees(chain), TreePath::kTree)[0], NodeForm::kColumns);
}

TEST(SubAdmm, PseudoDensityIsTheGeometricMeanOfMassPerContact) {
  // Two particles of 2 kg and 8 kg, the first with one contact, the second with four: sqrt(2/1 * 8/4) = 2.
  ContactProblem blocks;
  const MatX light = 2.0 * MatX::Identity(3, 3), heavy = 8.0 * MatX::Identity(3, 3);
  blocks.add_subsystem(light, VecX::Zero(3));
  blocks.add_subsystem(heavy, VecX::Zero(3));
  const SideInput a = testing::make_side(0, MatX::Identity(3, 3)), b = testing::make_side(1, -MatX::Identity(3, 3));
  blocks.add_contact(0.5, Vec3::Zero(), a, b);
  for (int k = 0; k < 3; ++k) blocks.add_contact(0.5, Vec3::Zero(), b);
  blocks.add_hard(0.0, {testing::make_side(1, 0.5 * MatX::Ones(1, 3))});
  std::vector<double> weight;
  {
    OneIsland one(blocks);
    compute_penalty_weights(one.island(), true, weight);
    for (int i = 0; i < 4; ++i) EXPECT_NEAR(weight[i], 2.0, 1e-12);
    // W̄ of the contacts: 1/2 + 1/8 once, 1/8 three times, mean 1/4. The row: W̄ = 3/32.
    EXPECT_NEAR(weight[4], 2.0 * 0.25 / (0.75 / 8.0), 1e-12);
    compute_penalty_weights(one.island(), false, weight);
    EXPECT_NEAR(weight[0], 1.0 / 0.625, 1e-12);
  }
  // The quadruped: contacts of each body, masses from its inertia.
  const ContactProblem robot = scenes::make_quadrupeds(1, 3).problem;
  std::vector<int> contacts(robot.trees[0].num_bodies(), 0);
  for (const Contact& contact : robot.contacts)
    for (int s = 0; s < contact.num_sides; ++s) ++contacts[contact.sides[s].body];
  double sum = 0.0;
  int bodies = 0;
  for (int body = 0; body < robot.trees[0].num_bodies(); ++body) {
    if (contacts[body] == 0) continue;
    sum += std::log(robot.trees[0].M[body](0, 0) / contacts[body]);
    ++bodies;
  }
  ASSERT_GT(bodies, 0);
  for (const bool merge : {false, true}) {
    CompileOptions compile;
    compile.merge_sides = merge;
    OneIsland one(robot, 1e-12, compile);
    compute_penalty_weights(one.island(), true, weight);
    EXPECT_NEAR(weight[0], std::exp(sum / bodies), 1e-12 * weight[0]);
  }
  Settings settings;
  settings.solver = SolverKind::kSubAdmm;
  settings.admm_pseudo_density = true;
  EXPECT_EQ(testing::solve_with(robot, settings).status, Status::kSolved);
}

// ---- no solution

/// The problem with every contact asking for `speed` of separation.
ContactProblem demand_separation(ContactProblem problem, double speed) {
  for (Contact& contact : problem.contacts) contact.e[2] -= speed;
  return problem;
}

TEST(SubAdmm, JamsAreToldFromSlowProblems) {
  // The last one: a nut whose thread asks for play on both flanks at once.
  const NamedProblem jams[] = {scenes::make_wedge_jam(),
                               scenes::make_opposed_penetrations(),
                               {"nut", demand_separation(scenes::make_nut(40, 1).problem, 0.5), {}}};
  for (const NamedProblem& named : jams) {
    const Solution solution = testing::solve_with(named.problem, SolverKind::kSubAdmm, 1e-8);
    EXPECT_EQ(solution.status, Status::kInfeasible) << named.name << ": " << to_string(solution.status);
    EXPECT_LE(solution.info.iterations, 2000) << named.name;
    testing::expect_finite(solution);
    // The least violating answer: SPN, another method, does not violate the law by much less, nor at much smaller λ.
    const Solution spn = testing::solve_with(named.problem, SolverKind::kSpn, 1e-8);
    EXPECT_LE(solution.certificate.natural_map, testing::tolerance(1.25) * spn.certificate.natural_map) << named.name;
    EXPECT_LE(solution.lambda.norm(), 1e3 * (1.0 + spn.lambda.norm())) << named.name;
  }
  for (const NamedProblem& named : testing::feasible_problems()) {
    const Solution solution = testing::solve_with(named.problem, SolverKind::kSubAdmm, 1e-8);
    EXPECT_NE(solution.status, Status::kInfeasible) << named.name;
  }
}

TEST(SubAdmm, WedgesAreNoJams) {
  // Nuts that a large penalty presses into a wedge: λ runs away along a direction that moves nothing, and yet there is
  // a solution at small λ.
  for (const auto& [contacts, seed] : {std::pair{40, 1}, {40, 16}, {120, 9}, {60, 3}, {20, 15}, {12, 1}}) {
    const NamedProblem named = scenes::make_nut(contacts, seed);
    const Solution solution = testing::solve_with(named.problem, SolverKind::kSubAdmm, 1e-5);
    EXPECT_EQ(solution.status, Status::kSolved)
        << contacts << " contacts, seed " << seed << ": " << to_string(solution.status);
  }
}

TEST(SubAdmm, NothingToGainIsAStall) {
  // A goal below rounding cannot be met: the run ends by itself, at rounding, long before a million iterations.
  OneIsland one(scenes::make_nut(12, 1).problem, 1e-30);
  SubAdmmWorkspace workspace;
  SubAdmmOptions options;
  options.max_iterations = 1000000;
  EXPECT_EQ(solve_subadmm(one.island(), options, one.monitor, workspace, one.lambda.data()), Status::kStalled);
  EXPECT_LE(one.monitor.best_natural(), 1e-11);
  EXPECT_LE(one.monitor.iterations, 100000);
}

// ---- over calls

TEST(SubAdmm, WarmStartTakesFewerIterations) {
  int cold_total = 0, warm_total = 0;
  for (std::uint64_t seed = 1; seed <= 5; ++seed) {
    for (const NamedProblem& named :
         {scenes::make_quadrupeds(2, seed), scenes::make_block_pile(6, seed), scenes::make_random(8, 14, 0.4, seed),
          scenes::make_branching_tree(12, 8, seed)}) {
      Settings settings;
      settings.solver = SolverKind::kSubAdmm;
      Workspace workspace;
      Solution solution;
      ContactProblem problem = named.problem;
      ASSERT_EQ(solve(problem, settings, workspace, solution), Status::kSolved) << named.name;
      Random random(seed);
      for (double& value : problem.b) value *= 1.0 + 1e-3 * random.normal();
      const Solution cold = testing::solve_with(problem, settings);
      settings.warm_start = true;
      ASSERT_EQ(solve(problem, settings, workspace, solution), Status::kSolved) << named.name;
      cold_total += cold.info.iterations;
      warm_total += solution.info.iterations;
    }
  }
  EXPECT_LE(warm_total, 0.8 * cold_total) << warm_total << " " << cold_total;
}

TEST(SubAdmm, SolutionIsAFixedPoint) {
  const ContactProblem problem = scenes::make_quadrupeds(2, 1).problem;
  Settings settings;
  settings.solver = SolverKind::kSubAdmm;
  settings.tol = 1e-9;
  Workspace workspace;
  Solution solution;
  ASSERT_EQ(solve(problem, settings, workspace, solution), Status::kSolved);
  settings.warm_start = true;
  EXPECT_EQ(solve(problem, settings, workspace, solution), Status::kSolved);
  EXPECT_EQ(solution.info.iterations, 0);
}

TEST(SubAdmm, ThreadsShareLargeIslandsWithTheSameBits) {
  for (const NamedProblem& named : {scenes::make_spheres(120, 1), scenes::make_quadrupeds(27, 1)}) {
    Settings settings;
    settings.solver = SolverKind::kSubAdmm;
    settings.max_iterations = 120;
    const Solution one = testing::solve_with(named.problem, settings);
    for (const int threads : {2, 3, 7}) {
      settings.threads = threads;
      const Solution many = testing::solve_with(named.problem, settings);
      EXPECT_EQ(many.lambda, one.lambda) << named.name << " " << threads;
      EXPECT_EQ(many.v, one.v) << named.name << " " << threads;
    }
  }
}

TEST(SubAdmm, IterationsDoNotAllocate) {
  if (!testing::can_count_allocations()) GTEST_SKIP() << "allocations cannot be counted in this build";
  for (const bool aba : {false, true}) {
    for (const NamedProblem& named :
         {scenes::make_closed_chain(120, 1), scenes::make_quadrupeds(3, 1), scenes::make_nut(60, 1)}) {
      Settings settings;
      settings.solver = SolverKind::kSubAdmm;
      settings.max_iterations = 400;
      settings.admm_aba = aba;
      Workspace workspace;
      Solution solution;
      static_cast<void>(solve(named.problem, settings, workspace, solution));
      const testing::AllocationCounter counter;
      static_cast<void>(solve(named.problem, settings, workspace, solution));
      EXPECT_EQ(counter.count(), 0) << named.name;
    }
  }
}

}  // namespace
}  // namespace almond
