#include "almond/load/semidefinite.hpp"

#include <algorithm>
#include <cmath>

namespace almond {

MatX SymmetricBlocks::gather(const std::vector<int>& rows, const std::vector<int>& cols) {
  for (std::size_t c = 0; c < cols.size(); ++c) position_[cols[c]] = static_cast<int>(c);
  MatX M = MatX::Zero(static_cast<Eigen::Index>(rows.size()), static_cast<Eigen::Index>(cols.size()));
  for (std::size_t r = 0; r < rows.size(); ++r) {
    for (int k = W_.start[rows[r]]; k < W_.start[rows[r] + 1]; ++k) {
      const int c = position_[W_.column[k]];
      if (c >= 0) M(static_cast<Eigen::Index>(r), c) = W_.value[k];
    }
  }
  for (const int col : cols) position_[col] = -1;
  return M;
}

MatX factor_semidefinite(const MatX& P, double tolerance) {
  const Eigen::Index n = P.rows();
  MatX R(n, 0);
  VecX diagonal = P.diagonal();
  Eigen::Index rank = 0;
  while (rank < n) {
    Eigen::Index pivot = 0;
    const double largest = diagonal.maxCoeff(&pivot);
    if (!(largest > tolerance)) break;
    if (rank == R.cols()) R.conservativeResize(n, std::min(n, 2 * rank + 8));
    // Column of the Schur complement at the pivot, without forming the complement.
    VecX column = P.col(pivot) - R.leftCols(rank) * R.row(pivot).head(rank).transpose();
    column /= std::sqrt(largest);
    column[pivot] = std::sqrt(largest);
    R.col(rank++) = column;
    diagonal -= column.cwiseAbs2();
    diagonal[pivot] = 0.0;
  }
  return R.leftCols(rank);
}

}  // namespace almond
