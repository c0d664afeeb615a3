#pragma once
// Block-sparse factorisation of the Newton matrix  H = I + Σ_i J_iᵀ K_i J_i  of a (whitened) island: (24) and its
// strict twin.
//
// The unit is the subsystem, not the scalar: minimum degree runs on the graph of nodes, nodes with the same later
// neighbours join into supernodes, and all arithmetic is dense inside supernodes.
//
//   supernode s:  D_s (m x m),  U_s (m x t) to the right,  L_sᵀ (m x t) below, t = dofs of its later neighbours
//   LU    X_s = D_s⁻¹ U_s,  trailing -= L_s X_s         K nonsymmetric (strict operator)
//   LLT   D_s = C Cᵀ, X_s = C⁻¹ U_s,  trailing -= X_sᵀ X_s      K symmetric (proximal operator), half the work
//
// A single node, or a graph that fills in, ends as one dense supernode: the dense per-island factor is the special
// case. The symbolic part is reused while the graph of the island stays the same.

#include <cstdint>
#include <vector>

#include "almond/solver/island.hpp"
#include "almond/solver/lanes.hpp"

namespace almond {

class BlockFactor {
 public:
  /// Orders the nodes and lays out the blocks; cheap when the graph did not change.
  void analyze(const Island& island);
  /// The next analyze() orders anew.
  void forget() { num_nodes_ = 0; }

  /// Flops of one factorisation (multiply-add counted as two) and assembly; for cost models.
  [[nodiscard]] double flops() const { return flops_; }

  /// H = I + Jᵀ K J. K: 9 numbers per contact (row-major), then 1 per row; zero blocks are skipped.
  void assemble(const Island& island, const double* K, bool symmetric);
  /// H += shift I: regularisation after a failed factorisation.
  void add_diagonal(const Island& island, double shift);

  /// In place; false if a pivot is not usable (LLT: not positive definite).
  bool factor_lu();
  bool factor_llt();

  /// x = H⁻¹ x on padded velocities.
  void solve(const Island& island, double* x);

 private:
  struct Supernode {
    int begin = 0, end = 0;            // positions in elimination order
    int size = 0;                      // m
    int trailing = 0;                  // t
    int D = 0, U = 0, L = 0;           // into values_
    int pivots = 0;                    // into pivots_
    int list_begin = 0, list_end = 0;  // later neighbours (positions) in lists_
    int pairs = 0;                     // into pair_offset_, first pair target
  };
  struct Target {
    int offset;  // into values_
    int ld;
    bool transposed;  // block lives in Lᵀ storage
  };

  void order_nodes(const Island& island);
  void build_supernodes(const Island& island);
  void build_targets(const Island& island);
  [[nodiscard]] Target block_target(int position_row, int position_col) const;
  void assemble_pair(const Island& island, const double* K, int first, int end);
  void scatter_update(const Supernode& s);
  void scatter_update_upper(const Supernode& s);

  bool symmetric_ = false;
  double flops_ = 0.0, factor_flops_ = 0.0;
  int num_nodes_ = 0;
  std::vector<std::uint64_t> adjacency_, graph_;  // bit rows of the elimination graph; the graph as analysed
  std::vector<int> dofs_;
  std::vector<int> order_, position_;  // order_[k] = node, position_[node] = k
  std::vector<int> degree_;
  std::vector<char> eliminated_;
  std::vector<int> later_begin_, later_;  // later neighbours of each position, sorted
  std::vector<Supernode> supernodes_;
  std::vector<int> owner_, local_offset_;  // per position: supernode and row inside it
  std::vector<int> lists_, list_offset_;   // later neighbours of supernodes and their offset in the trailing block
  std::vector<Target> pair_targets_;
  std::vector<Target> diagonal_target_;              // per node
  std::vector<Target> upper_target_, lower_target_;  // per constraint with two nodes
  AlignedVector values_;
  LineVector update_;  // t x t of a supernode, columns padded
  std::vector<int> pivots_;
  LineVector panel_;
  AlignedVector rhs_;
  std::vector<int> stacked_;          // per node: rows in its stack
  AlignedVector stack_J_, stack_KJ_;  // laid out as Island::J
  AlignedVector KJ_, KJ_other_;
};

}  // namespace almond
