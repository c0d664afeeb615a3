#include "almond/base/tree.hpp"

#include "almond/base/check.hpp"

namespace almond {

void compose(const TreeView& tree, const std::vector<Mat6>& H, const Eigen::Ref<const VecX>& diagonal,
             std::vector<Mat6>& composite, Eigen::Ref<MatX> A) {
  ALMOND_ASSERT(static_cast<int>(H.size()) == tree.num_bodies && A.rows() == tree.num_dofs());
  composite.assign(H.begin(), H.end());
  A.setZero();
  for (int body = tree.num_bodies - 1; body >= 0; --body) {
    const Mat6& H_c = composite[body];
    for (int k = tree.dof_offset[body]; k < tree.dof_offset[body + 1]; ++k) {
      const Vec6 F = H_c * tree.S.col(k);
      for (int l = tree.dof_offset[body]; l <= k; ++l) A(k, l) = A(l, k) = tree.S.col(l).dot(F);
      for (int up = tree.parent[body]; up >= 0; up = tree.parent[up])
        for (int l = tree.dof_offset[up]; l < tree.dof_offset[up + 1]; ++l) A(k, l) = A(l, k) = tree.S.col(l).dot(F);
      A(k, k) += diagonal[k];
    }
    if (tree.parent[body] >= 0) composite[tree.parent[body]] += H_c;
  }
}

void compute_body_jacobian(const TreeView& tree, int body, Eigen::Ref<Mat6X> J) {
  J.setZero();
  for (int up = body; up >= 0; up = tree.parent[up])
    for (int k = tree.dof_offset[up]; k < tree.dof_offset[up + 1]; ++k) J.col(k) = tree.S.col(k);
}

void forward_pass(const TreeView& tree, const Eigen::Ref<const VecX>& v, Eigen::Ref<Mat6X> V) {
  for (int body = 0; body < tree.num_bodies; ++body) {
    Vec6 V_b = Vec6::Zero();
    if (tree.parent[body] >= 0) V_b = V.col(tree.parent[body]);
    for (int k = tree.dof_offset[body]; k < tree.dof_offset[body + 1]; ++k) V_b += tree.S.col(k) * v[k];
    V.col(body) = V_b;
  }
}

void backward_pass(const TreeView& tree, Eigen::Ref<Mat6X> F, Eigen::Ref<VecX> tau) {
  for (int body = tree.num_bodies - 1; body >= 0; --body) {
    for (int k = tree.dof_offset[body]; k < tree.dof_offset[body + 1]; ++k) tau[k] = tree.S.col(k).dot(F.col(body));
    if (tree.parent[body] >= 0) F.col(tree.parent[body]) += F.col(body);
  }
}

void compute_dof_parents(const TreeView& tree, std::vector<int>& dof_parent) {
  dof_parent.resize(static_cast<std::size_t>(tree.num_dofs()));
  for (int body = 0; body < tree.num_bodies; ++body) {
    // The last dof met before this body's first one; bodies without dofs are passed through.
    int last = -1;
    for (int up = tree.parent[body]; up >= 0 && last < 0; up = tree.parent[up])
      if (tree.dof_offset[up + 1] > tree.dof_offset[up]) last = tree.dof_offset[up + 1] - 1;
    for (int k = tree.dof_offset[body]; k < tree.dof_offset[body + 1]; ++k) {
      dof_parent[k] = last;
      last = k;
    }
  }
}

}  // namespace almond
