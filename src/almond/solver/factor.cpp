#include "almond/solver/factor.hpp"

#include <Eigen/Cholesky>
#include <Eigen/LU>
#include <algorithm>
#include <bit>
#include <cmath>

#include "almond/base/check.hpp"

namespace almond {
namespace {

using Strided = Eigen::Map<MatX, 0, Eigen::OuterStride<>>;
using StridedConst = Eigen::Map<const MatX, 0, Eigen::OuterStride<>>;

constexpr int kWordBits = 64;

}  // namespace

void BlockFactor::analyze(const Island& island) {
  const int n = static_cast<int>(island.nodes.size());
  const int words = (n + kWordBits - 1) / kWordBits;
  adjacency_.assign(static_cast<std::size_t>(n) * words, 0);
  for (const Constraint& c : island.constraints) {
    if (c.num_sides != 2 || c.node[0] == c.node[1]) continue;
    adjacency_[c.node[0] * words + c.node[1] / kWordBits] |= std::uint64_t{1} << (c.node[1] % kWordBits);
    adjacency_[c.node[1] * words + c.node[0] / kWordBits] |= std::uint64_t{1} << (c.node[0] % kWordBits);
  }
  bool same = n == num_nodes_ && graph_.size() == adjacency_.size() &&
              std::equal(graph_.begin(), graph_.end(), adjacency_.begin());
  for (int k = 0; same && k < n; ++k) same = dofs_[k] == island.nodes[k].dofs;
  if (!same) {
    num_nodes_ = n;
    graph_.assign(adjacency_.begin(), adjacency_.end());
    dofs_.resize(n);
    for (int k = 0; k < n; ++k) dofs_[k] = island.nodes[k].dofs;
    order_nodes(island);
    build_supernodes(island);
  }
  build_targets(island);
}

// Minimum degree, degrees weighted by dofs, on explicit bit rows; ties go to the lower index, so the order is a
// function of the graph alone.
void BlockFactor::order_nodes(const Island& island) {
  const int n = num_nodes_, words = (n + kWordBits - 1) / kWordBits;
  order_.resize(n);
  position_.resize(n);
  degree_.assign(n, 0);
  eliminated_.assign(n, 0);
  later_begin_.assign(n + 1, 0);
  later_.clear();
  const auto for_each_bit = [&](int row, auto&& visit) {
    for (int w = 0; w < words; ++w) {
      std::uint64_t bits = adjacency_[static_cast<std::size_t>(row) * words + w];
      while (bits != 0) {
        visit(w * kWordBits + std::countr_zero(bits));
        bits &= bits - 1;
      }
    }
  };
  const auto weigh = [&](int row) {
    int sum = 0;
    for_each_bit(row, [&](int j) { sum += island.nodes[j].dofs; });
    return sum;
  };
  for (int k = 0; k < n; ++k) degree_[k] = weigh(k);
  for (int step = 0; step < n; ++step) {
    int best = -1;
    for (int k = 0; k < n; ++k) {
      if (eliminated_[k] == 0 && (best < 0 || degree_[k] < degree_[best])) best = k;
    }
    order_[step] = best;
    position_[best] = step;
    eliminated_[best] = 1;
    later_begin_[step] = static_cast<int>(later_.size());
    for_each_bit(best, [&](int j) { later_.push_back(j); });
    const std::uint64_t* from = &adjacency_[static_cast<std::size_t>(best) * words];
    for (int l = later_begin_[step]; l < static_cast<int>(later_.size()); ++l) {
      const int i = later_[l];
      std::uint64_t* row = &adjacency_[static_cast<std::size_t>(i) * words];
      for (int w = 0; w < words; ++w) row[w] |= from[w];
      row[i / kWordBits] &= ~(std::uint64_t{1} << (i % kWordBits));
      row[best / kWordBits] &= ~(std::uint64_t{1} << (best % kWordBits));
      degree_[i] = weigh(i);
    }
  }
  later_begin_[n] = static_cast<int>(later_.size());
  for (int step = 0; step < n; ++step) {
    for (int l = later_begin_[step]; l < later_begin_[step + 1]; ++l) later_[l] = position_[later_[l]];
    std::sort(later_.begin() + later_begin_[step], later_.begin() + later_begin_[step + 1]);
  }
}

void BlockFactor::build_supernodes(const Island& island) {
  const int n = num_nodes_;
  supernodes_.clear();
  lists_.clear();
  owner_.resize(n);
  local_offset_.resize(n);
  for (int k = 0; k < n;) {
    Supernode s;
    s.begin = k;
    s.end = k + 1;
    // Position k+1 joins when the structures agree: later(k) = {k+1} + later(k+1).
    while (s.end < n) {
      const int last = s.end - 1;
      const int size = later_begin_[last + 1] - later_begin_[last];
      const int next = later_begin_[s.end + 1] - later_begin_[s.end];
      if (size == 0 || later_[later_begin_[last]] != s.end || size != next + 1) break;
      ++s.end;
    }
    s.list_begin = static_cast<int>(lists_.size());
    const int last = s.end - 1;
    for (int l = later_begin_[last]; l < later_begin_[last + 1]; ++l) lists_.push_back(later_[l]);
    s.list_end = static_cast<int>(lists_.size());
    for (int p = s.begin; p < s.end; ++p) {
      owner_[p] = static_cast<int>(supernodes_.size());
      local_offset_[p] = s.size;
      s.size += island.nodes[order_[p]].dofs;
    }
    supernodes_.push_back(s);
    k = s.end;
  }

  list_offset_.resize(lists_.size());
  int values = 0, pivots = 0, largest = 0;
  factor_flops_ = 0.0;
  for (Supernode& s : supernodes_) {
    for (int l = s.list_begin; l < s.list_end; ++l) {
      list_offset_[l] = s.trailing;
      s.trailing += island.nodes[order_[lists_[l]]].dofs;
    }
    s.D = values;
    values += s.size * s.size;
    s.U = values;
    values += s.size * s.trailing;
    s.L = values;
    values += s.size * s.trailing;
    s.pivots = pivots;
    pivots += s.size;
    largest = std::max(largest, s.trailing);
    const double m = s.size, t = s.trailing;
    factor_flops_ += 2.0 / 3.0 * m * m * m + 2.0 * m * m * t + 2.0 * m * t * t;
  }
  values_.assign(values, 0.0);
  pivots_.assign(pivots, 0);
  update_.resize(static_cast<std::size_t>(largest) * largest);
  rhs_.resize(pivots);

  pair_targets_.clear();
  for (Supernode& s : supernodes_) {
    s.pairs = static_cast<int>(pair_targets_.size());
    for (int a = s.list_begin; a < s.list_end; ++a) {
      for (int b = s.list_begin; b < s.list_end; ++b) pair_targets_.push_back(block_target(lists_[a], lists_[b]));
    }
  }
}

BlockFactor::Target BlockFactor::block_target(int row, int col) const {
  const int first = std::min(row, col), second = std::max(row, col);
  const Supernode& s = supernodes_[owner_[first]];
  if (second < s.end) return {s.D + local_offset_[row] + local_offset_[col] * s.size, s.size, false};
  const auto begin = lists_.begin() + s.list_begin, end = lists_.begin() + s.list_end;
  const int l = static_cast<int>(std::lower_bound(begin, end, second) - lists_.begin());
  ALMOND_ASSERT(l < s.list_end && lists_[l] == second);
  const int at = local_offset_[first] + list_offset_[l] * s.size;
  if (row < col) return {s.U + at, s.size, false};
  return {s.L + at, s.size, true};
}

void BlockFactor::build_targets(const Island& island) {
  flops_ = factor_flops_;
  for (const Node& node : island.nodes) flops_ += 4.0 * node.dofs * node.dofs * node.side_rows;
  diagonal_target_.resize(num_nodes_);
  for (int k = 0; k < num_nodes_; ++k) diagonal_target_[k] = block_target(position_[k], position_[k]);
  upper_target_.resize(island.num_constraints);
  lower_target_.resize(island.num_constraints);
  int largest = 0;
  for (int i = 0; i < island.num_constraints; ++i) {
    const Constraint& c = island.constraints[i];
    if (c.num_sides != 2) continue;
    upper_target_[i] = block_target(position_[c.node[0]], position_[c.node[1]]);
    lower_target_[i] = block_target(position_[c.node[1]], position_[c.node[0]]);
  }
  for (const Node& node : island.nodes) largest = std::max(largest, node.ld);
  if (static_cast<int>(KJ_.size()) < 3 * largest) {
    KJ_.resize(3 * largest);
    KJ_other_.resize(3 * largest);
  }
  largest = 0;
  for (const Node& node : island.nodes) largest = std::max(largest, node.side_rows * node.dofs);
  if (static_cast<int>(stack_J_.size()) < largest) {
    stack_J_.resize(largest);
    stack_KJ_.resize(largest);
  }
}

namespace {

/// block(n0 x n1) += J0ᵀ KJ1 for one constraint of `dim` rows; J0 row-major with ld0, KJ1 row-major with ld1.
/// `transposed` writes the transposed block (n1 x n0) instead.
template <int kDofs0, int kDofs1>
void add_block_fixed(const double* J0, int ld0, const double* KJ1, int ld1, int dim, double* block, int ld) {
  for (int c = 0; c < kDofs1; ++c) {
    double* column = block + c * ld;
    for (int k = 0; k < dim; ++k) {
      const double x = KJ1[k * ld1 + c];
      const double* row = J0 + k * ld0;
      for (int r = 0; r < kDofs0; ++r) column[r] += x * row[r];
    }
  }
}

void add_block(const double* J0, int n0, int ld0, const double* KJ1, int n1, int ld1, int dim, double* block, int ld) {
  if (n0 == 6 && n1 == 6) {
    add_block_fixed<6, 6>(J0, ld0, KJ1, ld1, dim, block, ld);
    return;
  }
  for (int c = 0; c < n1; ++c) {
    double* column = block + c * ld;
    for (int k = 0; k < dim; ++k) {
      const double x = KJ1[k * ld1 + c];
      if (x == 0.0) continue;
      const double* row = J0 + k * ld0;
      for (int r = 0; r < n0; ++r) column[r] += x * row[r];
    }
  }
}

/// KJ = K J for one constraint; with `transpose` Kᵀ J.
void multiply_K(const double* K, int dim, bool transpose, const double* J, int ld, double* KJ) {
  if (dim == 1) {
    for (int j = 0; j < ld; ++j) KJ[j] = K[0] * J[j];
    return;
  }
  for (int r = 0; r < 3; ++r) {
    const double k0 = transpose ? K[r] : K[3 * r], k1 = transpose ? K[3 + r] : K[3 * r + 1],
                 k2 = transpose ? K[6 + r] : K[3 * r + 2];
    for (int j = 0; j < ld; ++j) KJ[r * ld + j] = k0 * J[j] + k1 * J[ld + j] + k2 * J[2 * ld + j];
  }
}

bool is_zero(const double* K, int dim) {
  const int count = dim == 3 ? 9 : 1;
  return std::all_of(K, K + count, [](double x) { return x == 0.0; });
}

}  // namespace

void BlockFactor::assemble(const Island& island, const double* K, bool symmetric) {
  symmetric_ = symmetric;
  std::fill(values_.begin(), values_.end(), 0.0);
  for (int k = 0; k < num_nodes_; ++k) {
    const Node& node = island.nodes[k];
    const Target& t = diagonal_target_[k];
    for (int c = 0; c < node.dofs; ++c) values_[t.offset + c * t.ld + c] = 1.0;
  }
  AlignedVector &KJ = KJ_, &KJ_other = KJ_other_;
  constexpr int kStackDofs = 12;  // from here on a node's diagonal block is one matrix product over its stacked rows
  for (int i = 0; i < island.num_constraints; ++i) {
    const Constraint& c = island.constraints[i];
    const double* Ki = i < island.num_contacts ? K + 9 * i : K + 9 * island.num_contacts + island.row_index(i);
    if (is_zero(Ki, c.dim)) continue;
    for (int s = 0; s < c.num_sides; ++s) {
      const Node& node = island.nodes[c.node[s]];
      const double* J = &island.J[c.J[s]];
      const bool two_nodes = c.num_sides == 2 && c.node[0] != c.node[1];
      if (node.dofs < kStackDofs || two_nodes) multiply_K(Ki, c.dim, false, J, node.ld, KJ.data());
      if (node.dofs < kStackDofs) {
        const Target& t = diagonal_target_[c.node[s]];
        add_block(J, node.dofs, node.ld, KJ.data(), node.dofs, node.ld, c.dim, values_.data() + t.offset, t.ld);
      }
      if (c.num_sides == 1) continue;
      const int o = 1 - s;
      const Node& other = island.nodes[c.node[o]];
      const double* J_other = &island.J[c.J[o]];
      if (!two_nodes) {  // two sides on one node: cross terms go to the same diagonal block
        const Target& t = diagonal_target_[c.node[s]];
        multiply_K(Ki, c.dim, false, J, node.ld, KJ.data());
        add_block(J_other, other.dofs, other.ld, KJ.data(), node.dofs, node.ld, c.dim, values_.data() + t.offset, t.ld);
        continue;
      }
      // Block (other, this) = J_otherᵀ K J_this. A block below the diagonal is stored transposed: J_thisᵀ Kᵀ J_other.
      const Target& t = s == 1 ? upper_target_[i] : lower_target_[i];
      if (!t.transposed) {
        add_block(J_other, other.dofs, other.ld, KJ.data(), node.dofs, node.ld, c.dim, values_.data() + t.offset, t.ld);
      } else if (!symmetric) {
        multiply_K(Ki, c.dim, true, J_other, other.ld, KJ_other.data());
        add_block(J, node.dofs, node.ld, KJ_other.data(), other.dofs, other.ld, c.dim, values_.data() + t.offset, t.ld);
      }
    }
  }
  // Wide nodes: D += Jᵀ (K J) over the active stacked rows.
  for (int k = 0; k < num_nodes_; ++k) {
    const Node& node = island.nodes[k];
    if (node.dofs < kStackDofs) continue;
    int count = 0;
    for (int i = 0; i < island.num_constraints; ++i) {
      const Constraint& c = island.constraints[i];
      const double* Ki = i < island.num_contacts ? K + 9 * i : K + 9 * island.num_contacts + island.row_index(i);
      for (int s = 0; s < c.num_sides; ++s) {
        if (c.node[s] != k || is_zero(Ki, c.dim)) continue;
        const double* J = &island.J[c.J[s]];
        multiply_K(Ki, c.dim, false, J, node.ld, KJ.data());
        for (int r = 0; r < c.dim; ++r) {
          std::copy(J + r * node.ld, J + r * node.ld + node.dofs, &stack_J_[count * node.dofs]);
          std::copy(&KJ[r * node.ld], &KJ[r * node.ld] + node.dofs, &stack_KJ_[count * node.dofs]);
          ++count;
        }
      }
    }
    const Target& t = diagonal_target_[k];
    const Eigen::Map<const MatX> J(stack_J_.data(), node.dofs, count), KJs(stack_KJ_.data(), node.dofs, count);
    Strided D(values_.data() + t.offset, node.dofs, node.dofs, Eigen::OuterStride<>(t.ld));
    if (symmetric) {
      D.triangularView<Eigen::Lower>() += J * KJs.transpose();
    } else {
      D.noalias() += J * KJs.transpose();
    }
  }
}

void BlockFactor::add_diagonal(const Island& island, double shift) {
  for (int k = 0; k < num_nodes_; ++k) {
    const Node& node = island.nodes[k];
    const Target& t = diagonal_target_[k];
    for (int c = 0; c < node.dofs; ++c) values_[t.offset + c * t.ld + c] += shift;
  }
}

bool BlockFactor::factor_lu() { return factor(false); }
bool BlockFactor::factor_llt() { return factor(true); }

bool BlockFactor::factor(bool symmetric) {
  symmetric_ = symmetric;
  for (const Supernode& s : supernodes_) {
    const int m = s.size, t = s.trailing;
    MapMat D(values_.data() + s.D, m, m), U(values_.data() + s.U, m, t), L(values_.data() + s.L, m, t);
    if (symmetric) {
      if (Eigen::internal::llt_inplace<double, Eigen::Lower>::blocked(D) >= 0) return false;
      for (int k = 0; k < m; ++k) {
        if (!std::isfinite(D(k, k))) return false;
      }
      if (t > 0) {
        D.triangularView<Eigen::Lower>().solveInPlace(U);
        MapMat update(update_.data(), t, t);
        update.triangularView<Eigen::Lower>() = U.transpose() * U;
      }
    } else {
      int swaps = 0;
      int* pivots = &pivots_[s.pivots];
      Eigen::internal::partial_lu_impl<double, Eigen::ColMajor, int>::blocked_lu(m, m, D.data(), m, pivots, swaps);
      for (int k = 0; k < m; ++k) {
        if (!(std::abs(D(k, k)) > 0.0) || !std::isfinite(D(k, k))) return false;
      }
      if (t > 0) {
        for (int k = 0; k < m; ++k) {
          if (pivots[k] != k) U.row(k).swap(U.row(pivots[k]));
        }
        D.triangularView<Eigen::UnitLower>().solveInPlace(U);
        D.triangularView<Eigen::Upper>().solveInPlace(U);
        MapMat(update_.data(), t, t).noalias() = L.transpose() * U;
      }
    }
    if (t > 0) scatter_update(s, symmetric);
  }
  return true;
}

void BlockFactor::scatter_update(const Supernode& s, bool symmetric) {
  const int count = s.list_end - s.list_begin, t = s.trailing;
  for (int a = 0; a < count; ++a) {
    const int row = list_offset_[s.list_begin + a], na = dofs_[order_[lists_[s.list_begin + a]]];
    for (int b = 0; b < count; ++b) {
      const Target& target = pair_targets_[s.pairs + a * count + b];
      const int col = list_offset_[s.list_begin + b], nb = dofs_[order_[lists_[s.list_begin + b]]];
      double* out = values_.data() + target.offset;
      const double* in = &update_[static_cast<std::size_t>(col) * t + row];
      if (symmetric) {
        // The update is known below its diagonal only; blocks above the diagonal of H are what is stored.
        if (a < b) {
          const double* lower = &update_[static_cast<std::size_t>(row) * t + col];
          if (owner_[lists_[s.list_begin + a]] == owner_[lists_[s.list_begin + b]]) continue;  // inside D: lower half
          for (int c = 0; c < nb; ++c) {
            for (int r = 0; r < na; ++r) out[c * target.ld + r] -= lower[r * t + c];
          }
        } else if (!target.transposed) {
          for (int c = 0; c < nb; ++c) {
            for (int r = a == b ? c : 0; r < na; ++r) out[c * target.ld + r] -= in[c * t + r];
          }
        }
        continue;
      }
      if (!target.transposed) {
        for (int c = 0; c < nb; ++c) {
          for (int r = 0; r < na; ++r) out[c * target.ld + r] -= in[c * t + r];
        }
      } else {
        for (int r = 0; r < na; ++r) {
          for (int c = 0; c < nb; ++c) out[r * target.ld + c] -= in[c * t + r];
        }
      }
    }
  }
}

void BlockFactor::solve(const Island& island, double* x) {
  // Gather into elimination order.
  int at = 0;
  for (int p = 0; p < num_nodes_; ++p) {
    const Node& node = island.nodes[order_[p]];
    std::copy(x + node.v_begin, x + node.v_begin + node.dofs, &rhs_[at]);
    at += node.dofs;
  }
  // rhs_ is contiguous per supernode because positions are.
  const auto gather = [&](const Supernode& s, double* out) {
    for (int l = s.list_begin; l < s.list_end; ++l) {
      const int p = lists_[l];
      const Supernode& o = supernodes_[owner_[p]];
      std::copy_n(&rhs_[o.pivots + local_offset_[p]], dofs_[order_[p]], out + list_offset_[l]);
    }
  };
  for (const Supernode& s : supernodes_) {
    MapVec y(&rhs_[s.pivots], s.size);
    const MapConstMat D(values_.data() + s.D, s.size, s.size);
    if (symmetric_) {
      D.triangularView<Eigen::Lower>().solveInPlace(y);
    } else {
      for (int k = 0; k < s.size; ++k) std::swap(y[k], y[pivots_[s.pivots + k]]);
      D.triangularView<Eigen::UnitLower>().solveInPlace(y);
      D.triangularView<Eigen::Upper>().solveInPlace(y);
    }
    if (s.trailing == 0) continue;
    MapVec push(update_.data(), s.trailing);
    push.noalias() = MapConstMat(values_.data() + (symmetric_ ? s.U : s.L), s.size, s.trailing).transpose() * y;
    for (int l = s.list_begin; l < s.list_end; ++l) {
      const int p = lists_[l];
      double* to = &rhs_[supernodes_[owner_[p]].pivots + local_offset_[p]];
      for (int r = 0; r < dofs_[order_[p]]; ++r) to[r] -= push[list_offset_[l] + r];
    }
  }
  for (auto it = supernodes_.rbegin(); it != supernodes_.rend(); ++it) {
    const Supernode& s = *it;
    MapVec y(&rhs_[s.pivots], s.size);
    if (s.trailing > 0) {
      MapVec later(update_.data(), s.trailing);
      gather(s, later.data());
      y.noalias() -= MapConstMat(values_.data() + s.U, s.size, s.trailing) * later;
    }
    if (symmetric_)
      MapConstMat(values_.data() + s.D, s.size, s.size).transpose().triangularView<Eigen::Upper>().solveInPlace(y);
  }
  at = 0;
  for (int p = 0; p < num_nodes_; ++p) {
    const Node& node = island.nodes[order_[p]];
    std::copy(&rhs_[at], &rhs_[at] + node.dofs, x + node.v_begin);
    at += node.dofs;
  }
}

}  // namespace almond
