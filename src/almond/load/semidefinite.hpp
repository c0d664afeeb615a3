#pragma once
// Dense pieces of a sparse symmetric matrix, and the factor R of a semidefinite one, P = R Rᵀ.

#include <vector>

#include "almond/load/csr.hpp"

namespace almond {

/// Symmetric W by rows, with dense blocks gathered on demand.
class SymmetricBlocks {
 public:
  explicit SymmetricBlocks(const Csr& W) : W_(W), position_(static_cast<std::size_t>(W.cols), -1) {}
  [[nodiscard]] MatX gather(const std::vector<int>& rows, const std::vector<int>& cols);
  [[nodiscard]] const Csr& csr() const { return W_; }

 private:
  const Csr& W_;
  std::vector<int> position_;
};

/// Rank-revealing Cholesky with complete pivoting: P ≈ R Rᵀ, stops when no diagonal exceeds `tolerance`.
[[nodiscard]] MatX factor_semidefinite(const MatX& P, double tolerance);

}  // namespace almond
