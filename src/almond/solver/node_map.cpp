#include "almond/solver/node_map.hpp"

#include <Eigen/Cholesky>
#include <algorithm>
#include <cmath>

namespace almond {
namespace {

// What a multiply-add costs, in those of a dense product: short dependent chains on trees, long vectors elsewhere.
// Measured with AVX-512 on chains of 5 to 240 links, branching trees and quadrupeds.
constexpr double kFactorPrice = 6.0, kArticulatedPrice = 5.0;
constexpr double kBlockPrice = 1.2;    // padding of the blocks of X
constexpr double kIterations = 200.0;  // that share a factorisation
// Above this size Eigen's blocked kernels beat plain loops over padded columns.
constexpr int kPlainDofs = 512;

/// Last nonzero column of a side's rows, -1 if there is none.
int last_column(const double* J, int rows, int ld) {
  for (int j = ld - 1; j >= 0; --j) {
    for (int r = 0; r < rows; ++r) {
      if (J[r * ld + j] != 0.0) return j;
    }
  }
  return -1;
}

/// H (n x n, column-major, upper triangle) = U Uᵀ in place, last column first; keeps 1 / U_jj on the diagonal.
bool factor_upper_inverse(double* H, int n) {
  for (int j = n - 1; j >= 0; --j) {
    double* column = H + static_cast<std::ptrdiff_t>(j) * n;
    if (!(column[j] > 0.0) || !std::isfinite(column[j])) return false;
    const double inverse = 1.0 / std::sqrt(column[j]);
    column[j] = inverse;
    for (int i = 0; i < j; ++i) column[i] *= inverse;
    for (int k = 0; k < j; ++k) {
      const double x = column[k];
      if (x == 0.0) continue;
      double* other = H + static_cast<std::ptrdiff_t>(k) * n;
      for (int i = 0; i <= k; ++i) other[i] -= x * column[i];
    }
  }
  return true;
}

/// X <- Ĵ, then H = I + XᵀX = U Uᵀ and X <- X U⁻ᵀ; t <- U⁻¹ b.
bool factor_dense(const Island& island, const Node& node, const NodeMap& a, NodeMaps& maps) {
  const int n = node.dofs, m = a.padded;
  double *X = &maps.matrices[a.matrix], *H = &maps.squares[a.square], *t = &maps.t[node.v_begin];
  std::copy_n(&island.b[node.v_begin], n, t);
  if (n > kPlainDofs) {
    MapMat H_map(H, n, n), X_map(X, m, n);
    H_map.setIdentity();
    H_map.selfadjointView<Eigen::Lower>().rankUpdate(X_map.transpose());
    Eigen::LLT<Eigen::Ref<MatX>> llt(H_map);
    if (llt.info() != Eigen::Success) return false;
    H_map.triangularView<Eigen::Lower>().transpose().solveInPlace<Eigen::OnTheRight>(X_map);
    MapVec t_map(t, n);
    llt.matrixL().solveInPlace(t_map);
    std::fill_n(&maps.first[node.v_begin], n, 0);
    std::fill_n(&maps.last[node.v_begin], n, m);
    return true;
  }
  // Column j lives on its rows [first, last): the others need not be looked at.
  int *first = &maps.first[node.v_begin], *last = &maps.last[node.v_begin];
  for (int j = 0; j < n; ++j) {
    const double* column = X + static_cast<std::ptrdiff_t>(j) * m + first[j];
    double* H_j = H + static_cast<std::ptrdiff_t>(j) * n;
    multiply_transposed(X + first[j], last[j] - first[j], m, j + 1, column, H_j);
    H_j[j] += 1.0;
  }
  if (!factor_upper_inverse(H, n)) return false;
  for (int j = n - 1; j >= 0; --j) {
    double* column = X + static_cast<std::ptrdiff_t>(j) * m;
    for (int k = j + 1; k < n; ++k) {
      const double u = H[static_cast<std::ptrdiff_t>(k) * n + j];
      if (u == 0.0 || first[k] >= last[k]) continue;
      const double* other = X + static_cast<std::ptrdiff_t>(k) * m;
      for (int r = first[k]; r < last[k]; r += kLanes) lanes_at(column + r) -= u * lanes_at(other + r);
      first[j] = first[j] < last[j] ? std::min(first[j], first[k]) : first[k];
      last[j] = std::max(last[j], last[k]);
    }
    const double inverse = H[static_cast<std::ptrdiff_t>(j) * n + j];
    for (int r = first[j]; r < last[j]; r += kLanes) lanes_at(column + r) *= Lanes{} + inverse;
  }
  // t <- U⁻¹ b
  for (int j = n - 1; j >= 0; --j) {
    const double* column = H + static_cast<std::ptrdiff_t>(j) * n;
    t[j] *= column[j];
    for (int i = 0; i < j; ++i) t[i] -= column[i] * t[j];
  }
  return true;
}

/// Groups neighbouring columns of X over the rows where they are not zero. Returns the numbers to keep.
int find_blocks(const Node& node, NodeMap& a, NodeMaps& maps) {
  ColumnBlock* blocks = &maps.blocks[a.blocks_begin];
  if (!maps.sparse) {
    blocks[0] = {0, node.dofs, 0, a.padded, 0};
    a.blocks_end = a.blocks_begin + 1;
    return a.padded * node.dofs;
  }
  int count = 0, total = 0;
  for (int j = 0; j < node.dofs; ++j) {
    const int first = maps.first[node.v_begin + j], last = maps.last[node.v_begin + j];
    if (first >= last) continue;
    if (count > 0 && blocks[count - 1].first_column + blocks[count - 1].columns == j) {
      // Join the block before if that adds little: a block of its own costs about as much as four more lanes.
      ColumnBlock& before = blocks[count - 1];
      const int low = std::min(first, before.first_row), high = std::max(last, before.first_row + before.rows);
      if ((high - low) * (before.columns + 1) <= before.rows * before.columns + (last - first) + 4 * kLanes) {
        before = {before.first_column, before.columns + 1, low, high - low, 0};
        continue;
      }
    }
    blocks[count++] = {j, 1, first, last - first, 0};
  }
  a.blocks_end = a.blocks_begin + count;
  for (int k = 0; k < count; ++k) total += blocks[k].rows * blocks[k].columns;
  return total;
}

/// Packs the blocks in place: they only move towards the front, column by column.
void pack_blocks(const NodeMap& a, NodeMaps& maps) {
  double* X = &maps.matrices[a.matrix];
  int at = 0;
  for (int k = a.blocks_begin; k < a.blocks_end; ++k) {
    ColumnBlock& block = maps.blocks[k];
    block.matrix = a.matrix + at;
    for (int c = 0; c < block.columns; ++c, at += block.rows) {
      const double* from = X + static_cast<std::ptrdiff_t>(block.first_column + c) * a.padded + block.first_row;
      std::copy(from, from + block.rows, X + at);
    }
  }
}

/// G = X Xᵀ, column by column; `row` is scratch of n.
void fill_gram(const Node& node, const NodeMap& a, NodeMaps& maps, double* row) {
  const double* X = &maps.matrices[a.matrix];
  for (int r = 0; r < a.rows; ++r) {
    for (int j = 0; j < node.dofs; ++j) row[j] = X[static_cast<std::ptrdiff_t>(j) * a.padded + r];
    double* column = &maps.matrices[a.gram + static_cast<std::ptrdiff_t>(r) * a.padded];
    std::fill_n(column, a.padded, 0.0);
    combine_columns(X, a.padded, node.dofs, row, column, column);
  }
}

/// X <- Ĵ, rows in the order of the node, and the rows that each column lives on.
void fill_columns(const Island& island, const Node& node, const NodeMap& a, const double* scale, NodeMaps& maps) {
  double* X = &maps.matrices[a.matrix];
  std::fill_n(X, static_cast<std::size_t>(a.padded) * node.dofs, 0.0);
  int *first = &maps.first[node.v_begin], *last = &maps.last[node.v_begin];
  std::fill_n(first, node.dofs, a.padded);
  std::fill_n(last, node.dofs, 0);
  for (int k = a.sides_begin; k < a.sides_end; ++k) {
    const int side = maps.sides[k], row = maps.row_of[side];
    const Constraint& c = island.constraints[side / 2];
    const double* J = &island.J[c.J[side % 2]];
    const double factor = scale[a.begin + row];
    for (int r = 0; r < c.dim; ++r, J += node.ld) {
      double* to = X + row + r;
      const int low = (row + r) / kLanes * kLanes;
      for (int j = 0; j < node.dofs; ++j, to += a.padded) {
        if (J[j] == 0.0) continue;
        *to = factor * J[j];
        first[j] = std::min(first[j], low);
        last[j] = low + kLanes;
      }
    }
  }
}

/// X <- Ĵ and H = I + XᵀX = L Lᵀ, with the tools at hand and no regard to zeros.
bool factor_solve(const Island& island, const Node& node, const NodeMap& a, const double* scale, NodeMaps& maps) {
  fill_columns(island, node, a, scale, maps);
  MapMat H(&maps.squares[a.square], node.dofs, node.dofs), X(&maps.matrices[a.matrix], a.padded, node.dofs);
  H.setIdentity();
  H.selfadjointView<Eigen::Lower>().rankUpdate(X.transpose());
  return Eigen::LLT<Eigen::Ref<MatX>>(H).info() == Eigen::Success;
}

void apply_solve(const Island& island, const Node& node, const NodeMap& a, const double* s, NodeMaps& maps,
                 double* out) {
  const double* X = &maps.matrices[a.matrix];
  MapVec v(&maps.t[node.v_begin], node.dofs);
  multiply_transposed(X, a.padded, a.padded, node.dofs, s, v.data());
  v += MapConstVec(&island.b[node.v_begin], node.dofs);
  const MapMat H(&maps.squares[a.square], node.dofs, node.dofs);
  H.triangularView<Eigen::Lower>().solveInPlace(v);
  H.triangularView<Eigen::Lower>().transpose().solveInPlace(v);
  std::fill_n(out, a.padded, 0.0);
  combine_columns(X, a.padded, node.dofs, v.data(), out, out);
}

/// Decides whether node k goes along its tree, from multiply-adds and what they cost.
void choose_tree(const Island& island, int k, TreePath path, NodeMaps& maps) {
  const Node& node = island.nodes[k];
  NodeMap& a = maps.nodes[k];
  const double n = node.dofs;
  a.cost = a.padded * std::min<double>(a.rows, 2.0 * n);
  if (path == TreePath::kSolve) {
    a.form = NodeForm::kSolve;
    a.cost = 2.0 * n * a.padded + n * n;
    return;
  }
  if (node.tree == nullptr || path == TreePath::kDense) return;
  TreeMap& tree = maps.trees[k];
  tree.lay_out(island, k, &maps.sides[a.sides_begin], a.sides_end - a.sides_begin, maps.row_of);
  a.cost = std::min(a.cost, 2.0 * kBlockPrice * tree.num_touched());
  double best = a.cost + (n * n * a.padded + n * n * n / 6.0) / kIterations;
  for (const TreeSolve solve : {TreeSolve::kFactor, TreeSolve::kArticulated}) {
    const bool articulated = solve == TreeSolve::kArticulated;
    if (path == TreePath::kTree && articulated) continue;
    if (path == TreePath::kArticulated && !articulated) continue;
    const double cost = (articulated ? kArticulatedPrice : kFactorPrice) * tree.cost(solve);
    if (path == TreePath::kCheapest && cost >= best) continue;
    a.form = articulated ? NodeForm::kArticulated : NodeForm::kTree;
    a.cost = best = cost;
  }
}

}  // namespace

void lay_out(const Island& island, TreePath path, NodeMaps& maps) {
  const int count = static_cast<int>(island.nodes.size());
  maps.nodes.assign(count, {});
  maps.sparse = path != TreePath::kDense;
  maps.slot.resize(2 * island.num_constraints);
  maps.row_of.resize(2 * island.num_constraints);
  if (static_cast<int>(maps.trees.size()) < count) maps.trees.resize(count);

  // Sides of each node in the order of the last velocity they touch, by counting.
  int buckets = 0;
  for (const Node& node : island.nodes) buckets += node.ld + 1;
  maps.count.assign(buckets + 1, 0);
  const auto for_each_side = [&](auto&& visit) {
    for (int i = 0; i < island.num_constraints; ++i) {
      for (int s = 0; s < island.constraints[i].num_sides; ++s) visit(2 * i + s, island.constraints[i], s);
    }
  };
  const auto bucket_of = [&](const Constraint& c, int s) {
    const Node& node = island.nodes[c.node[s]];
    return node.v_begin + c.node[s] + 1 + last_column(&island.J[c.J[s]], c.dim, node.ld);
  };
  int num_sides = 0;
  for_each_side([&](int side, const Constraint& c, int s) {
    maps.row_of[side] = bucket_of(c, s);
    ++maps.count[maps.row_of[side] + 1];
    ++num_sides;
  });
  for (int k = 0; k < buckets; ++k) maps.count[k + 1] += maps.count[k];
  maps.sides.resize(num_sides);
  for_each_side([&](int side, const Constraint&, int) { maps.sides[maps.count[maps.row_of[side]]++] = side; });

  int begin = 0, matrices = 0, squares = 0, blocks = 0, at = 0;
  for (int k = 0; k < count; ++k) {
    const Node& node = island.nodes[k];
    NodeMap& a = maps.nodes[k];
    a.begin = begin;
    a.rows = node.side_rows;
    a.padded = pad_lanes(node.side_rows);
    begin += a.padded;
    a.sides_begin = at;
    for (int row = 0; row < a.rows; ++at) {
      const int side = maps.sides[at];
      maps.row_of[side] = row;
      maps.slot[side] = a.begin + row;
      row += island.constraints[side / 2].dim;
    }
    a.sides_end = at;
    choose_tree(island, k, path, maps);
    if (a.form == NodeForm::kTree || a.form == NodeForm::kArticulated) continue;
    a.matrix = matrices;
    matrices += a.padded * node.dofs;
    a.gram = matrices;
    if (a.rows <= 2 * node.dofs) matrices += a.padded * a.rows;
    a.square = squares;
    squares += node.dofs * node.dofs;
    a.blocks_begin = a.blocks_end = blocks;
    blocks += node.dofs;
  }
  maps.size = begin;
  maps.matrices.resize(matrices);
  maps.squares.resize(squares);
  maps.blocks.resize(blocks);
  maps.g0.assign(begin, 0.0);
  maps.t.assign(island.v_size, 0.0);
  maps.first.resize(island.v_size);
  maps.last.resize(island.v_size);
}

bool factor_node(const Island& island, int k, const double* scale, NodeMaps& maps) {
  const Node& node = island.nodes[k];
  NodeMap& a = maps.nodes[k];
  if (a.form == NodeForm::kTree) return maps.trees[k].factor(TreeSolve::kFactor, scale + a.begin);
  if (a.form == NodeForm::kArticulated) return maps.trees[k].factor(TreeSolve::kArticulated, scale + a.begin);
  if (a.form == NodeForm::kSolve) return factor_solve(island, node, a, scale, maps);

  fill_columns(island, node, a, scale, maps);
  if (!factor_dense(island, node, a, maps)) return false;
  double *t = &maps.t[node.v_begin], *g0 = &maps.g0[a.begin];
  std::fill_n(g0, a.padded, 0.0);
  combine_columns(&maps.matrices[a.matrix], a.padded, node.dofs, t, g0, g0);
  const double columns = 2.0 * find_blocks(node, a, maps), gram = static_cast<double>(a.rows) * a.padded;
  if (a.rows <= 2 * node.dofs && gram <= columns) {
    a.form = NodeForm::kGram;
    a.cost = gram;
    fill_gram(node, a, maps, t);
  } else {
    a.form = NodeForm::kColumns;
    a.cost = columns;
    pack_blocks(a, maps);
  }
  return true;
}

void apply_node(const Island& island, int k, const double* s, NodeMaps& maps, double* out) {
  const NodeMap& a = maps.nodes[k];
  switch (a.form) {
    case NodeForm::kGram:
      combine_columns(&maps.matrices[a.gram], a.padded, a.rows, s, &maps.g0[a.begin], out);
      return;
    case NodeForm::kColumns: {
      double* t = &maps.t[island.nodes[k].v_begin];
      const double* start = &maps.g0[a.begin];
      std::copy_n(start, a.padded, out);
      for (int b = a.blocks_begin; b < a.blocks_end; ++b) {
        const ColumnBlock& block = maps.blocks[b];
        const double* X = &maps.matrices[block.matrix];
        multiply_transposed(X, block.rows, block.rows, block.columns, s + block.first_row, t);
        combine_columns(X, block.rows, block.columns, t, out + block.first_row, out + block.first_row);
      }
      return;
    }
    case NodeForm::kTree:
    case NodeForm::kArticulated:
      maps.trees[k].apply(s, out);
      return;
    case NodeForm::kSolve:
      apply_solve(island, island.nodes[k], a, s, maps, out);
      return;
  }
}

}  // namespace almond
