// ContactProblem -> named arrays. Every entry of every block is written, zeros too, so that a problem comes back bit
// for bit.

#include <algorithm>
#include <functional>

#include "almond/load/problem_fields.hpp"

namespace almond {
namespace {

using Ints = std::vector<std::int32_t>;

std::int64_t length(const auto& values) { return static_cast<std::int64_t>(values.size()); }

void set_vector(NpzArchive& archive, const std::string& name, std::vector<double> values) {
  const std::int64_t size = length(values);
  archive.set(name, NpzArray({size}, std::move(values)));
}

void set_ints(NpzArchive& archive, const std::string& name, std::vector<std::int64_t> shape, Ints values) {
  archive.set(name, NpzArray(std::move(shape), std::move(values)));
}

/// A matrix in compressed rows, built row by row.
struct CsrWriter {
  std::vector<double> data;
  Ints indices, indptr = {0};

  void add(int column, double value) {
    indices.push_back(column);
    data.push_back(value);
  }
  void end_row() { indptr.push_back(static_cast<std::int32_t>(data.size())); }
  void store(NpzArchive& archive, const std::string& name, int cols) {
    archive.set(name + "_shape", NpzArray({2}, std::vector<std::int64_t>{length(indptr) - 1, cols}));
    set_vector(archive, name + "_data", std::move(data));
    const std::int64_t entries = length(indices), starts = length(indptr);
    set_ints(archive, name + "_indices", {entries}, std::move(indices));
    set_ints(archive, name + "_indptr", {starts}, std::move(indptr));
  }
};

void write_A(const ContactProblem& problem, NpzArchive& archive) {
  CsrWriter A;
  Ints offsets = {0};
  for (std::size_t s = 0; s < problem.subsystems.size(); ++s) {
    const Subsystem& sub = problem.subsystems[s];
    const MapConstMat block = problem.A(static_cast<int>(s));
    for (int r = 0; r < sub.dofs; ++r) {
      for (int c = 0; c < sub.dofs; ++c) A.add(sub.offset + c, block(r, c));
      A.end_row();
    }
    offsets.push_back(sub.offset + sub.dofs);
  }
  A.store(archive, "A", problem.num_dofs());
  const std::int64_t count = length(offsets);
  set_ints(archive, "subsystem_offsets", {count}, std::move(offsets));
}

/// J of one kind of constraints. Side 0's columns come before side 1's in each row, also on one subsystem.
template <class Constraint>
void write_J(const ContactProblem& problem, const std::vector<Constraint>& constraints, int rows,
             const std::string& name, NpzArchive& archive) {
  CsrWriter J;
  Ints sides, bodies;
  std::vector<double> body_blocks;
  bool any_body = false;
  for (const Constraint& constraint : constraints) {
    for (int r = 0; r < rows; ++r) {
      for (int s = 0; s < constraint.num_sides; ++s) {
        const Subsystem& sub = problem.subsystems[constraint.sides[s].subsystem];
        const MapConstMatr block = problem.J(constraint.sides[s], rows);
        for (int c = 0; c < sub.dofs; ++c) J.add(sub.offset + c, block(r, c));
      }
      J.end_row();
    }
    for (int s = 0; s < 2; ++s) {
      const bool there = s < constraint.num_sides;
      const Side& side = constraint.sides[s];
      sides.push_back(there ? side.subsystem : -1);
      const bool has_body = there && side.body >= 0;
      any_body = any_body || has_body;
      bodies.push_back(has_body ? side.body : -1);
      const auto entries = static_cast<std::size_t>(6 * rows);
      if (has_body) {
        const double* block = problem.J_pool.data() + side.J_body_start;
        body_blocks.insert(body_blocks.end(), block, block + entries);
      } else {
        body_blocks.insert(body_blocks.end(), entries, 0.0);
      }
    }
  }
  const std::int64_t count = length(constraints);
  J.store(archive, name, problem.num_dofs());
  set_ints(archive, name + "_sides", {count, 2}, std::move(sides));
  if (!any_body) return;
  set_ints(archive, name + "_bodies", {count, 2}, std::move(bodies));
  archive.set(name + "_body_blocks", NpzArray({count, 2, rows, 6}, std::move(body_blocks)));
}

void write_rows(const ContactProblem& problem, const std::vector<Row>& rows, const std::string& suffix,
                NpzArchive& archive) {
  if (rows.empty()) return;
  write_J(problem, rows, 1, "J" + suffix, archive);
  std::vector<double> e;
  for (const Row& row : rows) e.push_back(row.e);
  set_vector(archive, "e" + suffix, std::move(e));
}

void write_trees(const ContactProblem& problem, NpzArchive& archive) {
  if (problem.trees.empty()) return;
  Ints tree_of, bodies, parent, dofs;
  std::vector<double> S, M, diagonal;
  for (const Subsystem& sub : problem.subsystems) tree_of.push_back(sub.tree);
  for (const Tree& tree : problem.trees) {
    bodies.push_back(tree.num_bodies());
    for (int b = 0; b < tree.num_bodies(); ++b) {
      parent.push_back(tree.parent[b]);
      dofs.push_back(tree.dof_offset[b + 1] - tree.dof_offset[b]);
      for (int r = 0; r < 6; ++r) {
        for (int c = 0; c < 6; ++c) M.push_back(tree.M[b](r, c));
      }
    }
    S.insert(S.end(), tree.S.data(), tree.S.data() + tree.S.size());
    diagonal.insert(diagonal.end(), tree.diagonal.begin(), tree.diagonal.end());
  }
  const std::int64_t num_bodies = length(parent), num_dofs = length(diagonal);
  set_ints(archive, "subsystem_tree", {length(tree_of)}, tree_of);
  set_ints(archive, "tree_bodies", {length(bodies)}, bodies);
  set_ints(archive, "tree_parent", {num_bodies}, std::move(parent));
  set_ints(archive, "tree_dofs", {num_bodies}, std::move(dofs));
  archive.set("tree_S", NpzArray({num_dofs, 6}, std::move(S)));
  archive.set("tree_M", NpzArray({num_bodies, 6, 6}, std::move(M)));
  set_vector(archive, "tree_diagonal", std::move(diagonal));
}

}  // namespace

NpzArchive fields_from_problem(const ContactProblem& problem) {
  NpzArchive archive;
  if (!problem.name.empty()) archive.set("name", NpzArray(problem.name));
  set_vector(archive, "b", problem.b);
  write_A(problem, archive);
  write_J(problem, problem.contacts, 3, "J", archive);
  std::vector<double> e, mu;
  for (const Contact& contact : problem.contacts) {
    e.insert(e.end(), contact.e.begin(), contact.e.end());
    mu.push_back(contact.mu);
  }
  set_vector(archive, "e", std::move(e));
  set_vector(archive, "mu", std::move(mu));
  write_rows(problem, problem.hard, "h", archive);
  write_rows(problem, problem.soft, "s", archive);
  write_rows(problem, problem.equality, "q", archive);
  write_rows(problem, problem.bounded, "b", archive);
  const auto collect = [](const std::vector<Row>& rows, double Row::*member) {
    std::vector<double> values;
    for (const Row& row : rows) values.push_back(row.*member);
    return values;
  };
  if (!problem.soft.empty()) {
    set_vector(archive, "ks", collect(problem.soft, &Row::k));
    set_vector(archive, "bs", collect(problem.soft, &Row::b));
    std::vector<double> limit = collect(problem.soft, &Row::limit);
    for (double& value : limit) value = std::min(value, kNoLimit);  // JSON has no infinity
    if (*std::min_element(limit.begin(), limit.end()) < kNoLimit) set_vector(archive, "limit_s", std::move(limit));
  }
  if (!problem.bounded.empty()) set_vector(archive, "limit", collect(problem.bounded, &Row::limit));
  write_trees(problem, archive);
  if (!problem.v0.empty()) set_vector(archive, "v0", problem.v0);
  if (!problem.lambda0.empty()) set_vector(archive, "lambda0", problem.lambda0);
  return archive;
}

}  // namespace almond
