#pragma once
// From whole sparse matrices to a ContactProblem: which dofs form a subsystem, which sides a row has.
//
// Without given offsets the subsystems are the finest partition into consecutive blocks that A's sparsity allows. A
// diagonal mass matrix would fall apart into single dofs, so where rows touch three or more such blocks, bodies of 6
// dofs and points of 3 are tried first. Rows that still touch more than two subsystems merge the nearest of them. The
// order of the velocities is kept.

#include <array>
#include <string>
#include <vector>

#include "almond/load/csr.hpp"
#include "almond/load/problem_file.hpp"

namespace almond {

/// All constraints of one kind: `rows_each` rows of J per constraint.
struct PartRows {
  std::string name;   // field name of J, for messages
  int rows_each = 1;  // 3 for contacts
  Csr J;
  // Optional, per constraint: subsystem and body of either side (-1: none), and J_body, row-major rows_each x 6 per
  // side.
  std::vector<std::array<int, 2>> sides, bodies;
  std::vector<double> J_body;
  [[nodiscard]] int count() const { return J.rows / rows_each; }
};

struct ProblemParts {
  std::string label;  // path, for messages
  Csr A;
  std::vector<double> b;
  std::vector<int> offsets;  // (subsystems + 1), empty: to be found
  std::vector<Tree> trees;
  std::vector<int> tree_of_subsystem;  // (subsystems), empty: none
  PartRows contact{"J", 3, {}, {}, {}, {}}, hard{"Jh", 1, {}, {}, {}, {}}, soft{"Js", 1, {}, {}, {}, {}},
      equality{"Jq", 1, {}, {}, {}, {}}, bounded{"Jb", 1, {}, {}, {}, {}};
  // Largest |A - Aᵀ| relative to max|A| that is repaired by taking the symmetric part (with a note); above it: Error.
  double asymmetry_allowed = 1e-6;
};

/// A problem with subsystems, trees, and constraints with their sides; e, mu, k, b, limit are still zero.
[[nodiscard]] ContactProblem assemble_parts(ProblemParts parts, LoadReport& report);

}  // namespace almond
