#pragma once
// What makes the matrices of an island unit ones, and the diagonal of its Delassus operator.

#include "almond/solver/island.hpp"

namespace almond {

/// Factors the A of each node, whitens b and J.
void whiten(Island& island, std::vector<double>& scratch);

/// Diagonal blocks of W = J Jᵀ + compliance, and the free velocity.
void compute_delassus(Island& island, std::vector<double>& scratch);

}  // namespace almond
