#pragma once
// Rows of closures that say the same, or nearly: a loop in a plane is closed across it by its hinges already, two
// points tie a body to another like a hinge with one row to spare, a linkage passes through its dead point. Such rows
// have no impulse of their own, and rounding would make one up.

#include "almond/sim/assemble.hpp"

namespace almond {

/// Scratch of soften_closures.
struct IndependenceWorkspace {
  std::vector<double> Y;      // M⁻¹ Jᵀ of all sides, one after the other
  std::vector<int> Y_start;   // (2 rows)
  MatX W, L;                  // (rows x rows) Delassus matrix of the rows, its factor
  VecX left, scale;           // (rows) what of W_ii is not explained yet, size of the closure
  std::vector<int> kept;      // (rows) 1: independent
  std::vector<char> touched;  // (trees) 1: a row acts on it
};

/// Keeps the equality rows that pivoted Cholesky finds independent to 1e-9 of their closure's size, and gives them a
/// compliance of 1e-6 of it: soft rows, λ = -(w + e) / (1e-6 W). What that gives way is mended in the next step; what
/// it keeps out are impulses beyond a million times the usual. More than 400 rows are left as they are.
void soften_closures(const Model& model, const Kinematics& kinematics, IndependenceWorkspace& workspace,
                     Assembly& assembly);

}  // namespace almond
