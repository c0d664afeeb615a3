#pragma once
// What makes the matrices of an island unit ones, and the diagonal of its Delassus operator.

#include "almond/solver/island.hpp"

namespace almond {

/// A = U Uᵀ in place (upper triangle of n x n, column by column), last column first, so that trees do not fill in.
/// False if A is not positive definite.
[[nodiscard]] bool factor_upper(double* A, int n);
/// x <- U⁻¹ x of `count` rows x that begin `ld` apart, four at a time. `inverse` holds 1 / U_kk.
void solve_upper_rows(const double* U, int n, const double* inverse, double* rows, int ld, int count);

/// Factors the A of each node, whitens b and J.
void whiten(Island& island, std::vector<double>& scratch);

/// Diagonal blocks of W = J Jᵀ + compliance, and the free velocity.
void compute_delassus(Island& island, std::vector<double>& scratch);

}  // namespace almond
