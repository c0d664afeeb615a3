#pragma once
// The numbers behind delassus.hpp: splits the Delassus matrix of one island into a part per body.
//
// For a body a and classes S, T of its constraints the block W[S,T] is known to be R_S R_Tᵀ, because S and T share no
// other body; only the diagonal blocks D_S = X_aS + X_bS mix two bodies. They are separated by
//
//   completion   X_T = W[T,Q] W[R,Q]⁺ W[R,T]    R, Q sets of a's other classes with known blocks, rank W[R,Q] = rank
//   R_a remainder    X_bT = D_T - X_aT              once one of the two bodies is known leaf         X_T = W[T,K] P_KK⁺
//   W[K,T]      K all others: the smallest X that keeps the part semidefinite; what is left
//                                               of D_T goes to the other body, or to a body of its own
//
// in the order of their amplification of rounding errors, which is tracked. Bodies that stay undecided are merged.

#include <vector>

#include "almond/load/semidefinite.hpp"

namespace almond {

/// One body: the rows it acts on and R (rows x rank), the part is R Rᵀ.
struct BodyPart {
  std::vector<int> rows;
  MatX R;
};

/// Parts of an island whose constraints fall into `classes` (rows of each) covered by `clusters` of classes. `scale` is
/// max|W| of the island; splits with an estimated error above `max_error` x scale are avoided. Empty if the parts do
/// not add up to W within 1e-12 x scale.
[[nodiscard]] std::vector<BodyPart> split_into_bodies(SymmetricBlocks& W, const std::vector<std::vector<int>>& classes,
                                                      const std::vector<std::vector<int>>& clusters, double scale,
                                                      double max_error);

}  // namespace almond
