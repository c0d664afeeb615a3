// Whether a problem is what solvers assume: sizes, finiteness, definiteness, indices, trees that reproduce A.

#include <Eigen/Cholesky>
#include <algorithm>
#include <cmath>
#include <cstdint>

#include "almond/base/tree.hpp"
#include "almond/solver/problem_checks.hpp"

namespace almond {
namespace {

// How far A may be from symmetric, from its tree, and J from J_body, relative to the largest entry.
constexpr double kConsistency = 1e-9;

void validate_subsystem(const ContactProblem& problem, int index) {
  const std::string place = Place{"subsystem", static_cast<std::size_t>(index)}.text();
  const Subsystem& sub = problem.subsystems[index];
  require(sub.dofs > 0, place + ": has " + std::to_string(sub.dofs) + " dofs, expected >= 1");
  const auto entries = static_cast<std::int64_t>(sub.dofs) * sub.dofs;
  require(sub.A_start >= 0 && sub.A_start + entries <= static_cast<std::int64_t>(problem.A_pool.size()),
          place + ": A lies outside the pool");
  const MapConstMat A = problem.A(index);
  require(A.allFinite(), place + ": A is not finite");
  require(problem.b_of(index).allFinite(), place + ": b is not finite");
  const double scale = A.cwiseAbs().maxCoeff();
  const double asymmetry = (A - A.transpose()).cwiseAbs().maxCoeff();
  require(asymmetry <= kConsistency * scale,
          place + ": A is not symmetric (largest difference " + to_text(asymmetry) + ")");
  require(A.llt().info() == Eigen::Success, place + ": A is not positive definite");
  if (sub.tree < 0) return;
  require(sub.tree < static_cast<int>(problem.trees.size()),
          place + ": " + missing("tree", sub.tree, static_cast<int>(problem.trees.size())));
  const Tree& tree = problem.trees[sub.tree];
  check_tree(tree, place + " tree");
  require(tree.num_dofs() == sub.dofs,
          place + ": tree has " + std::to_string(tree.num_dofs()) + " dofs, expected " + std::to_string(sub.dofs));
  MatX composed(sub.dofs, sub.dofs);
  std::vector<Mat6> scratch;
  compose(tree, tree.M, tree.diagonal, scratch, composed);
  const double difference = (composed - A).cwiseAbs().maxCoeff();
  require(difference <= kConsistency * scale,
          place + ": the tree does not reproduce A (largest difference " + to_text(difference) + ")");
}

/// A stored block of `count` entries that begins at `start` must lie inside the pool.
void validate_block(const std::vector<double>& pool, int start, std::int64_t count, const std::string& what) {
  require(start >= 0 && start + count <= static_cast<std::int64_t>(pool.size()), what + " lies outside the pool");
  for (std::int64_t i = start; i < start + count; ++i)
    require(std::isfinite(pool[static_cast<std::size_t>(i)]), what + " is not finite");
}

void validate_side(const ContactProblem& problem, const Side& side, int rows, const std::string& place) {
  const auto count = static_cast<int>(problem.subsystems.size());
  require(side.subsystem >= 0 && side.subsystem < count, place + ": " + missing("subsystem", side.subsystem, count));
  const Subsystem& sub = problem.subsystems[side.subsystem];
  validate_block(problem.J_pool, side.J_start, static_cast<std::int64_t>(rows) * sub.dofs, place + ": J");
  if (side.body < 0) return;
  require(sub.tree >= 0, place + ": body " + std::to_string(side.body) + " is named but subsystem " +
                             std::to_string(side.subsystem) + " has no tree");
  const Tree& tree = problem.trees[sub.tree];
  require(side.body < tree.num_bodies(), place + ": " + missing("body", side.body, tree.num_bodies()));
  validate_block(problem.J_pool, side.J_body_start, static_cast<std::int64_t>(rows) * 6, place + ": J_body");
  MatXr expanded(rows, sub.dofs);
  expand_body_jacobian(tree, side.body, problem.J_body(side, rows), expanded.data());
  const MapConstMatr J = problem.J(side, rows);
  const double difference = (expanded - J).cwiseAbs().maxCoeff();
  require(difference <= kConsistency * std::max(1.0, J.cwiseAbs().maxCoeff()),
          place + ": J_body does not reproduce J (largest difference " + to_text(difference) + ")");
}

template <class Constraint>
void validate_sides(const ContactProblem& problem, const Constraint& constraint, int rows, const std::string& place) {
  require(constraint.num_sides >= 1 && constraint.num_sides <= 2,
          place + ": has " + std::to_string(constraint.num_sides) + " sides, expected 1 or 2");
  for (int s = 0; s < constraint.num_sides; ++s)
    validate_side(problem, constraint.sides[s], rows, place + " side " + std::to_string(s));
}

void validate_row(const ContactProblem& problem, const Row& row, RowKind kind, const std::string& place) {
  require(std::isfinite(row.e), place + ": e is " + to_text(row.e) + ", expected a finite value");
  if (kind == RowKind::kSoft) {
    require(std::isfinite(row.k) && row.k >= 0.0, place + ": k is " + to_text(row.k) + ", expected >= 0");
    require(std::isfinite(row.b) && row.b > 0.0, place + ": b is " + to_text(row.b) + ", expected > 0");
    require(row.limit > 0.0, place + ": limit is " + to_text(row.limit) + ", expected > 0");
  }
  if (kind == RowKind::kBounded)
    require(std::isfinite(row.limit) && row.limit >= 0.0,
            place + ": limit is " + to_text(row.limit) + ", expected >= 0");
  validate_sides(problem, row, 1, place);
}

void validate_start(const std::vector<double>& values, int expected, const char* name) {
  require(values.empty() || static_cast<int>(values.size()) == expected,
          std::string(name) + ": has " + std::to_string(values.size()) + " values, expected " +
              std::to_string(expected) + " or none");
  for (std::size_t i = 0; i < values.size(); ++i)
    require(std::isfinite(values[i]), std::string(name) + ": entry " + std::to_string(i) + " is not finite");
}

}  // namespace

void check_tree(const Tree& tree, const std::string& place) {
  const int bodies = tree.num_bodies();
  require(static_cast<int>(tree.dof_offset.size()) == bodies + 1,
          place + ": dof_offset has " + std::to_string(tree.dof_offset.size()) + " entries, expected " +
              std::to_string(bodies + 1));
  require(static_cast<int>(tree.M.size()) == bodies,
          place + ": M has " + std::to_string(tree.M.size()) + " inertias, expected " + std::to_string(bodies));
  require(tree.diagonal.size() == tree.num_dofs(), place + ": diagonal has " + std::to_string(tree.diagonal.size()) +
                                                       " entries, expected " + std::to_string(tree.num_dofs()));
  for (int b = 0; b < bodies; ++b) {
    require(tree.parent[b] >= -1 && tree.parent[b] < b, place + ": body " + std::to_string(b) + " has parent " +
                                                            std::to_string(tree.parent[b]) + ", expected -1 to " +
                                                            std::to_string(b - 1));
    require(tree.dof_offset[b] <= tree.dof_offset[b + 1],
            place + ": dof_offset decreases at body " + std::to_string(b));
  }
  require(tree.dof_offset.front() == 0 && tree.dof_offset.back() == tree.num_dofs(),
          place + ": dof_offset runs from " + std::to_string(tree.dof_offset.front()) + " to " +
              std::to_string(tree.dof_offset.back()) + ", expected 0 to " + std::to_string(tree.num_dofs()));
}

void ContactProblem::validate() const {
  int offset = 0;
  for (std::size_t s = 0; s < subsystems.size(); ++s) {
    const Place place{"subsystem", s};
    if (subsystems[s].offset != offset)
      fail(place, "begins at dof " + std::to_string(subsystems[s].offset) + ", expected " + std::to_string(offset));
    offset += subsystems[s].dofs;
    if (offset > num_dofs())
      fail(place, "ends at dof " + std::to_string(offset) + ", but b has " + std::to_string(num_dofs()));
    validate_subsystem(*this, static_cast<int>(s));
  }
  require(offset == num_dofs(), "b: has " + std::to_string(num_dofs()) + " values, expected " + std::to_string(offset));
  for (std::size_t i = 0; i < contacts.size(); ++i) {
    const Contact& contact = contacts[i];
    const std::string place = Place{"contact", i}.text();
    require(std::isfinite(contact.mu) && contact.mu >= 0.0,
            place + ": mu is " + to_text(contact.mu) + ", expected >= 0");
    for (int r = 0; r < 3; ++r)
      require(std::isfinite(contact.e[r]),
              place + ": e[" + std::to_string(r) + "] is " + to_text(contact.e[r]) + ", expected a finite value");
    validate_sides(*this, contact, 3, place);
  }
  const auto check_rows = [this](const std::vector<Row>& rows, RowKind kind, const char* what) {
    for (std::size_t i = 0; i < rows.size(); ++i) validate_row(*this, rows[i], kind, Place{what, i}.text());
  };
  check_rows(hard, RowKind::kHard, "hard row");
  check_rows(soft, RowKind::kSoft, "soft row");
  check_rows(equality, RowKind::kEquality, "equality row");
  check_rows(bounded, RowKind::kBounded, "bounded row");
  validate_start(v0, num_dofs(), "v0");
  validate_start(lambda0, num_rows(), "lambda0");
}

}  // namespace almond
