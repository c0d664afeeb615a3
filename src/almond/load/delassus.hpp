#pragma once
// From a Delassus matrix back to bodies.
//
//   w = W λ + q,   W = Σ_a R_a R_aᵀ                                     A = I,  J = [R_1 R_2 ...],  b = 0,  e = q
//
// A problem given by W alone (FCLIB local) has lost its bodies, and any factor W = L Lᵀ is dense per island. But W is a
// sum over bodies of parts of rank 6 or less, each living on the constraints that touch that body, and a constraint
// touches one or two bodies. delassus.cpp finds the parts again; what it cannot separate stays together as one larger
// subsystem, in the worst case the whole island. The sum is checked against W, block by block relative to sqrt(W_ii
// W_jj), before it is used.

#include <vector>

#include "almond/load/csr.hpp"
#include "almond/load/problem_file.hpp"

namespace almond {

/// W is 3m + p square: m contacts with rows (t1, t2, n), then p equality rows; q likewise, mu (m). W is replaced by its
/// symmetric part and by the nearest positive semidefinite matrix where it is not; the report says so.
[[nodiscard]] ContactProblem make_problem_from_delassus(const Csr& W, const std::vector<double>& q,
                                                        const std::vector<double>& mu, LoadReport& report);

}  // namespace almond
