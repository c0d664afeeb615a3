#include "almond/solver/factor.hpp"

#include <algorithm>
#include <bit>

#include "almond/base/check.hpp"
#include "almond/solver/panel.hpp"

namespace almond {
namespace {

using Strided = Eigen::Map<MatX, 0, Eigen::OuterStride<>>;

constexpr int kWordBits = 64;
constexpr int kStackDofs = 12;  // from here on a node's diagonal block is one product D += Jᵀ (K J) over active rows

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
  int values = 0, pivots = 0, largest = 0, panel = 0;
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
    largest = std::max(largest, pad_lanes(s.trailing));
    if (s.size <= kNarrow) panel = std::max(panel, s.size * 2 * (pad_lanes(s.size) + pad_lanes(s.trailing)));
    const double m = s.size, t = s.trailing;
    factor_flops_ += 2.0 / 3.0 * m * m * m + 2.0 * m * m * t + 2.0 * m * t * t;
  }
  values_.assign(values, 0.0);
  pivots_.assign(pivots, 0);
  update_.resize(static_cast<std::size_t>(largest) * largest);
  panel_.resize(panel);
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
  if (largest >= kStackDofs && stack_J_.size() < island.J.size()) {
    stack_J_.resize(island.J.size());
    stack_KJ_.resize(island.J.size());
  }
}

namespace {

/// block(n0 x n1) += J0ᵀ KJ1 for a constraint of kDim rows; J0 row-major with ld0, KJ1 row-major with ld1. kDofs is n0
/// where the compiler shall know it: a column then stays in registers.
template <int kDofs, int kDim>
void add_block_fixed(const double* J0, int ld0, const double* KJ1, int n1, int ld1, double* block, int ld) {
  for (int c = 0; c < n1; ++c) {
    alignas(32) double sum[kDofs];  // GCC 12 at -O2 takes it for aligned and does not align it
    std::copy_n(block + c * ld, kDofs, sum);
    for (int k = 0; k < kDim; ++k) {
      for (int r = 0; r < kDofs; ++r) sum[r] += KJ1[k * ld1 + c] * J0[k * ld0 + r];
    }
    std::copy_n(sum, kDofs, block + c * ld);
  }
}

void add_block(const double* J0, int n0, int ld0, const double* KJ1, int n1, int ld1, int dim, double* block, int ld) {
  if (n0 == 6 && dim == 3) {
    add_block_fixed<6, 3>(J0, ld0, KJ1, n1, ld1, block, ld);
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

/// block(6 x 6) += J0ᵀ KJ1 over all rows of contacts between the same two rigid bodies, of eight padded numbers each.
void add_body_block(const double* J0, const double* KJ1, int rows, double* block, int ld) {
  Lanes column[6] = {};
  for (int k = 0; k < rows; ++k, J0 += kLanes, KJ1 += kLanes) {
    const Lanes row = lanes_at(J0);
    for (int c = 0; c < 6; ++c) column[c] += KJ1[c] * row;
  }
  for (int c = 0; c < 6; ++c) {
    for (int r = 0; r < 6; ++r) block[c * ld + r] += column[c][r];
  }
}

/// KJ = K J for one constraint, ld a multiple of 4; with `transpose` Kᵀ J.
void multiply_K(const double* K, int dim, bool transpose, const double* J, int ld, double* KJ) {
  if (dim == 1) {
    for (int j = 0; j < ld; ++j) KJ[j] = K[0] * J[j];
    return;
  }
  const int row = transpose ? 1 : 3, col = transpose ? 3 : 1;
  for (int j = 0; j < ld; j += 4) {
    const HalfLanes J0 = half_lanes_at(J + j), J1 = half_lanes_at(J + ld + j), J2 = half_lanes_at(J + 2 * ld + j);
    for (int r = 0; r < 3; ++r) {
      const double* k = K + r * row;
      half_lanes_at(KJ + r * ld + j) = k[0] * J0 + k[col] * J1 + k[2 * col] * J2;
    }
  }
}

bool is_zero(const double* K, int dim) {
  const int count = dim == 3 ? 9 : 1;
  return std::all_of(K, K + count, [](double x) { return x == 0.0; });
}

bool is_body(const Node& node) { return node.dofs == 6; }

/// The end of the contacts from `first` on that are between the same two rigid bodies, or one and the ground; `first`
/// itself where it is another kind of constraint. Their rows lie one after the other in Island::J.
int end_of_pair(const Island& island, int first) {
  const Constraint& c = island.constraints[first];
  if (c.dim != 3 || !is_body(island.nodes[c.node[0]])) return first;
  if (c.num_sides == 2 && (c.node[0] == c.node[1] || !is_body(island.nodes[c.node[1]]))) return first;
  int end = first + 1;
  while (end < island.num_contacts && island.constraints[end].num_sides == c.num_sides &&
         std::equal(c.node, c.node + c.num_sides, island.constraints[end].node))
    ++end;
  return end;
}

}  // namespace

/// Contacts [first, end) between two rigid bodies, or one and the ground.
void BlockFactor::assemble_pair(const Island& island, const double* K, int first, int end) {
  const Constraint& c = island.constraints[first];
  const int size = 3 * kLanes, rows = 3 * (end - first);
  KJ_.resize(std::max<std::size_t>(KJ_.size(), size * (end - first)));
  const auto multiply = [&](int side, bool transpose) {
    for (int i = first; i < end; ++i)
      multiply_K(K + 9 * i, 3, transpose, &island.J[c.J[side] + size * (i - first)], kLanes, &KJ_[size * (i - first)]);
  };
  const auto add = [&](int side, const Target& t) {
    add_body_block(&island.J[c.J[side]], KJ_.data(), rows, values_.data() + t.offset, t.ld);
  };
  for (int s = 0; s < c.num_sides; ++s) {
    multiply(s, false);
    add(s, diagonal_target_[c.node[s]]);
    if (c.num_sides == 1) return;
    const Target& t = s == 1 ? upper_target_[first] : lower_target_[first];
    if (!t.transposed) add(1 - s, t);
  }
  if (symmetric_) return;
  for (int s = 0; s < 2; ++s) {
    const Target& t = s == 1 ? upper_target_[first] : lower_target_[first];
    if (!t.transposed) continue;
    multiply(1 - s, true);
    add(s, t);
  }
}

void BlockFactor::assemble(const Island& island, const double* K, bool symmetric) {
  symmetric_ = symmetric;
  std::fill(values_.begin(), values_.end(), 0.0);
  for (int k = 0; k < num_nodes_; ++k) {
    const Node& node = island.nodes[k];
    const Target& t = diagonal_target_[k];
    for (int c = 0; c < node.dofs; ++c) values_[t.offset + c * t.ld + c] = 1.0;
  }
  AlignedVector &KJ = KJ_, &KJ_other = KJ_other_;
  stacked_.assign(num_nodes_, 0);
  for (int i = 0; i < island.num_constraints; ++i) {
    const Constraint& c = island.constraints[i];
    const double* Ki = i < island.num_contacts ? K + 9 * i : K + 9 * island.num_contacts + island.row_index(i);
    if (is_zero(Ki, c.dim)) continue;
    if (const int end = end_of_pair(island, i); end > i) {
      assemble_pair(island, K, i, end);
      i = end - 1;
      continue;
    }
    for (int s = 0; s < c.num_sides; ++s) {
      const Node& node = island.nodes[c.node[s]];
      const double* J = &island.J[c.J[s]];
      const bool two_nodes = c.num_sides == 2 && c.node[0] != c.node[1];
      multiply_K(Ki, c.dim, false, J, node.ld, KJ.data());
      if (node.dofs >= kStackDofs) {
        const int at = node.J_begin + stacked_[c.node[s]] * node.ld;
        std::copy_n(J, c.dim * node.ld, &stack_J_[at]);
        std::copy_n(KJ.data(), c.dim * node.ld, &stack_KJ_[at]);
        stacked_[c.node[s]] += c.dim;
      } else {
        const Target& t = diagonal_target_[c.node[s]];
        add_block(J, node.dofs, node.ld, KJ.data(), node.dofs, node.ld, c.dim, values_.data() + t.offset, t.ld);
      }
      if (c.num_sides == 1) continue;
      const int o = 1 - s;
      const Node& other = island.nodes[c.node[o]];
      const double* J_other = &island.J[c.J[o]];
      if (!two_nodes) {  // two sides on one node: cross terms go to the same diagonal block
        const Target& t = diagonal_target_[c.node[s]];
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
  for (int k = 0; k < num_nodes_; ++k) {
    const Node& node = island.nodes[k];
    if (stacked_[k] == 0) continue;
    const Target& t = diagonal_target_[k];
    const MapConstMat J(&stack_J_[node.J_begin], node.ld, stacked_[k]);
    const MapConstMat KJs(&stack_KJ_[node.J_begin], node.ld, stacked_[k]);
    Strided D(values_.data() + t.offset, node.dofs, node.dofs, Eigen::OuterStride<>(t.ld));
    if (symmetric) {
      D.triangularView<Eigen::Lower>() += J.topRows(node.dofs) * KJs.topRows(node.dofs).transpose();
    } else {
      D.noalias() += J.topRows(node.dofs) * KJs.topRows(node.dofs).transpose();
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

}  // namespace almond
