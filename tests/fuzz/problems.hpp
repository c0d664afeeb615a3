#pragma once
// Problems that the targets for their files begin with, and what has to hold for one that is let through.

#include <cmath>

#include "almond/base/check.hpp"
#include "almond/load/npz.hpp"
#include "almond/solver/solve.hpp"
#include "fuzz/fuzz.hpp"

namespace almond::fuzz {

/// Two bodies, a chain of two links, every kind of row.
inline ContactProblem make_small_problem() {
  ContactProblem problem;
  problem.name = "small";
  Tree tree;
  tree.parent = {-1, 0};
  tree.dof_offset = {0, 1, 2};
  tree.S = Eigen::Matrix<double, 6, -1>::Zero(6, 2);
  tree.S(0, 0) = tree.S(1, 1) = 1.0;
  tree.M = {Mat6::Identity(), Mat6::Identity()};
  tree.diagonal = VecX::Zero(2);
  problem.add_subsystem(2.0 * Mat3::Identity(), Vec3(1.0, 0.0, -1.0));
  problem.add_subsystem(Mat3::Identity(), Vec3(0.0, 0.0, -1.0));
  const int robot = problem.add_tree(tree, Vec2(0.5, -0.5));
  const auto side = [](int subsystem, const MatX& J) { return SideInput{subsystem, J, -1, {}}; };
  problem.add_contact(0.5, Vec3::Zero(), side(0, Mat3::Identity()), side(1, -Mat3::Identity()));
  problem.add_contact(0.3, Vec3(0.0, 0.0, 0.1), side(1, Mat3::Identity()));
  problem.add_contact(0.0, Vec3::Zero(), SideInput{robot, {}, 1, MatXr::Identity(3, 6)});
  problem.add_hard(0.0, {side(0, Mat3::Identity().row(0))});
  problem.add_soft(0.1, 1.0, 2.0, {side(1, Mat3::Identity().row(1))});
  problem.add_equality(0.0, {side(robot, MatX::Identity(1, 2))});
  problem.add_bounded(0.0, 1.0, {side(0, Mat3::Identity().row(1))});
  return problem;
}

/// The arrays of one body with two contacts, as other programs write them.
inline NpzArchive make_plain_fields() {
  const auto unit = [] {
    std::vector<double> values(9, 0.0);
    values[0] = values[4] = values[8] = 1.0;
    return values;
  };
  std::vector<double> J = unit();
  J.insert(J.end(), {0.0, 1.0, 0.0, 0.0, 0.0, 1.0, 1.0, 0.0, 0.0});
  NpzArchive fields;
  fields.set("A", NpzArray({3, 3}, unit()));
  fields.set("b", NpzArray({3}, std::vector<double>{1.0, 0.0, -1.0}));
  fields.set("J", NpzArray({6, 3}, J));
  fields.set("e", NpzArray({6}, std::vector<double>(6, 0.0)));
  fields.set("mu", NpzArray({2}, std::vector<double>{0.5, 0.25}));
  return fields;
}

/// A status, finite numbers of the right count, and no more iterations than allowed.
inline void check_solve(const ContactProblem& problem, const Settings& settings, Solution& solution) {
  Workspace workspace;
  const Status status = solve(problem, settings, workspace, solution);
  check(status == solution.status && status <= Status::kNumericalError, "a solve ends with a status");
  check(solution.v.size() == problem.num_dofs() && solution.lambda.size() == problem.num_rows(),
        "answers have their size");
  for (int i = 0; i < problem.num_dofs(); ++i) check(std::isfinite(solution.v[i]), "v is finite");
  for (int i = 0; i < problem.num_rows(); ++i) check(std::isfinite(solution.lambda[i]), "lambda is finite");
}

/// A problem from a file: small ones are solved, too.
inline void try_problem(const ContactProblem& problem) {
  problem.validate();
  if (problem.num_dofs() > 60 || problem.num_rows() > 60) return;
  Settings settings;
  settings.max_iterations = 8;  // solvers have a target of their own
  Solution solution;
  check_solve(problem, settings, solution);
}

}  // namespace almond::fuzz
