#pragma once
// Articulated bodies: solves (Σ_b J_bᵀ M_b J_b + diag) x = τ on a tree in O(dofs), however deep it is.
//
//   leaves to root, dof by dof:   U_k = M^A S_k,  δ_k = S_kᵀU_k + diag_k,  M^A := M^A - U_k U_kᵀ / δ_k
//                                 e_k = τ_k - S_kᵀ P_b,  P_b += U_k e_k / δ_k
//   root to leaves:               x_k = (e_k - U_kᵀ V_b) / δ_k,  V_b += S_k x_k
//
// A joint of several dofs is a row of massless bodies, so that no small matrix is ever inverted.

#include <vector>

#include "almond/base/tree.hpp"

namespace almond {

struct ArticulatedFactor {
  Mat6X U;                // (6 x dofs)
  VecX inverse_pivot;     // (dofs) 1 / δ
  std::vector<Mat6> M_A;  // (bodies) scratch
  Mat6X P;                // (6 x bodies) scratch
};

/// False where a pivot is not positive: no inertia along some joint.
bool factor_articulated(const TreeView& tree, const std::vector<Mat6>& M, const Eigen::Ref<const VecX>& diagonal,
                        ArticulatedFactor& factor);

/// τ (dofs) becomes x.
void solve_articulated(const TreeView& tree, ArticulatedFactor& factor, Eigen::Ref<VecX> tau);

}  // namespace almond
