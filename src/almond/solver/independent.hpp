#pragma once
// Equality rows that say the same, or nearly: a loop in a plane is closed across it by its hinges already, two points
// tie a body to another like a hinge with one row to spare, a linkage passes through its dead point. Such rows have no
// impulse of their own, and rounding would make one up.

#include <vector>

#include "almond/solver/problem.hpp"

namespace almond {

/// Entries of a Jacobian below it are rounding [m/rad, 1]: a joint at 1e-10 m from its axis moves nothing.
inline constexpr double kNoLever = 1e-10;

/// Compliance of a closure by its largest W_ii.
inline constexpr double kClosureCompliance = 1e-6;

/// Scratch of soften_equalities.
struct IndependenceWorkspace {
  std::vector<double> U, Z, inverse;  // A = U Uᵀ of one subsystem, rows U⁻¹ Jᵀ of its sides, 1 / U_kk
  std::vector<int> side_row;          // (sides) the row of each
  MatX W, L;                          // (rows x rows) Delassus matrix of the rows, its factor
  VecX left, scale;                   // (rows) what of W_ii is not explained yet, size of the closure
  std::vector<int> kept;              // (rows) 1: independent
};

/// Keeps the equality rows that pivoted Cholesky finds independent to 1e-9 of their closure's size, and gives them a
/// compliance of 1e-6 of it: soft rows, λ = -(w + e) / (1e-6 W), behind those that there are. What that gives way is
/// mended in the next step; what it keeps out are impulses beyond a million times the usual. `closure` tells rows of
/// one closure and unit by a common number. `workspace.kept` has which rows were kept; false, and nothing changed,
/// where there are none or more than 400.
bool soften_equalities(const std::vector<int>& closure, IndependenceWorkspace& workspace, ContactProblem& problem);

}  // namespace almond
