#pragma once
// Algorithms on a kinematic tree whose quantities share world axes and one reference point, so that no pass transforms.
//
//   V_b = V_parent(b) + Σ_k S_k v_k over the joints k of b                    forward pass
//   F_parent(b) += F_b,  τ_k = S_kᵀ F_b                                       backward pass
//   A(k,l) = S_kᵀ H^c_b S_l for k a joint of b and l a joint of b or of an ancestor, H^c the sum of H below b     (40)
//
// With H_b = M_b compose() is the mass matrix (CRBA); with H_b = M_b + Σ β J_ibᵀJ_ib it is the matrix of SubADMM (41).
// Nothing here allocates once the scratch has its size.

#include <vector>

#include "almond/base/types.hpp"

namespace almond {

using Mat6X = Eigen::Matrix<double, 6, Eigen::Dynamic>;

/// What the passes need to know of a tree. Bodies are numbered parent before child; body b owns the consecutive dofs
/// [dof_offset[b], dof_offset[b+1]), possibly none (a body welded to its parent).
struct TreeView {
  const int* parent;      // (bodies), -1: ground
  const int* dof_offset;  // (bodies + 1)
  int num_bodies;
  Eigen::Map<const Mat6X> S;  // (6 x dofs)

  TreeView(const std::vector<int>& parent_, const std::vector<int>& dof_offset_, const Mat6X& S_)
      : parent(parent_.data()),
        dof_offset(dof_offset_.data()),
        num_bodies(static_cast<int>(parent_.size())),
        S(S_.data(), 6, S_.cols()) {}

  TreeView(const std::vector<int>& parent_, const std::vector<int>& dof_offset_, const double* S_, int dofs)
      : parent(parent_.data()),
        dof_offset(dof_offset_.data()),
        num_bodies(static_cast<int>(parent_.size())),
        S(S_, 6, dofs) {}

  /// From any struct with the members parent, dof_offset and S.
  template <class AnyTree>
  TreeView(const AnyTree& tree) : TreeView(tree.parent, tree.dof_offset, tree.S) {}  // NOLINT: implicit on purpose

  [[nodiscard]] int num_dofs() const { return static_cast<int>(S.cols()); }
};

/// A = Σ_b J_bᵀ H_b J_b + diag(diagonal), full symmetric (dofs x dofs). H has one symmetric 6x6 per body;
/// `composite` is scratch of the same length.
void compose(const TreeView& tree, const std::vector<Mat6>& H, const Eigen::Ref<const VecX>& diagonal,
             std::vector<Mat6>& composite, Eigen::Ref<MatX> A);

/// J_b (6 x dofs): spatial velocity of `body` from the joint velocities.
void compute_body_jacobian(const TreeView& tree, int body, Eigen::Ref<Mat6X> J);

/// V (6 x bodies) from joint velocities v (dofs).
void forward_pass(const TreeView& tree, const Eigen::Ref<const VecX>& v, Eigen::Ref<Mat6X> V);

/// τ (dofs) = Σ_b J_bᵀ F_b. On return F holds the wrenches accumulated over each body's descendants.
void backward_pass(const TreeView& tree, Eigen::Ref<Mat6X> F, Eigen::Ref<VecX> tau);

/// The dof before each dof on its way to the ground, -1 at the root. A(k,l) = 0 unless one is an ancestor of the other:
/// the pattern in which L'L factors without fill.
void compute_dof_parents(const TreeView& tree, std::vector<int>& dof_parent);

}  // namespace almond
