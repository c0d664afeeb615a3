#include "almond/base/articulated.hpp"

namespace almond {

bool factor_articulated(const TreeView& tree, const std::vector<Mat6>& M, const Eigen::Ref<const VecX>& diagonal,
                        ArticulatedFactor& factor) {
  if (factor.U.cols() < tree.num_dofs()) {
    factor.U.resize(6, tree.num_dofs());
    factor.inverse_pivot.resize(tree.num_dofs());
  }
  if (factor.P.cols() < tree.num_bodies) factor.P.resize(6, tree.num_bodies);
  factor.M_A.assign(M.begin(), M.begin() + tree.num_bodies);
  for (int body = tree.num_bodies - 1; body >= 0; --body) {
    Mat6& M_A = factor.M_A[body];
    for (int k = tree.dof_offset[body + 1] - 1; k >= tree.dof_offset[body]; --k) {
      const Vec6 U = M_A * tree.S.col(k);
      const double pivot = tree.S.col(k).dot(U) + diagonal[k];
      if (!(pivot > 0.0)) return false;
      factor.U.col(k) = U;
      factor.inverse_pivot[k] = 1.0 / pivot;
      M_A.noalias() -= (factor.inverse_pivot[k] * U) * U.transpose();
    }
    if (tree.parent[body] >= 0) factor.M_A[tree.parent[body]] += M_A;
  }
  return true;
}

void solve_articulated(const TreeView& tree, ArticulatedFactor& factor, Eigen::Ref<VecX> tau) {
  Mat6X& P = factor.P;
  P.leftCols(tree.num_bodies).setZero();
  for (int body = tree.num_bodies - 1; body >= 0; --body) {
    for (int k = tree.dof_offset[body + 1] - 1; k >= tree.dof_offset[body]; --k) {
      tau[k] -= tree.S.col(k).dot(P.col(body));
      P.col(body) += factor.U.col(k) * (tau[k] * factor.inverse_pivot[k]);
    }
    if (tree.parent[body] >= 0) P.col(tree.parent[body]) += P.col(body);
  }
  for (int body = 0; body < tree.num_bodies; ++body) {  // P now holds velocities
    Vec6 V = Vec6::Zero();
    if (tree.parent[body] >= 0) V = P.col(tree.parent[body]);
    for (int k = tree.dof_offset[body]; k < tree.dof_offset[body + 1]; ++k) {
      tau[k] = (tau[k] - factor.U.col(k).dot(V)) * factor.inverse_pivot[k];
      V += tree.S.col(k) * tau[k];
    }
    P.col(body) = V;
  }
}

}  // namespace almond
