#pragma once
// The linear half of a SubADMM iteration, node by node: s -> Ĵ v with v = (I + ĴᵀĴ)⁻¹ (b + Ĵᵀ s), (34).
//
// Only Ĵ v is ever needed, so each node keeps whatever makes s -> Ĵ v cheapest:
//
//   kGram         G = Ĵ H⁻¹ Ĵᵀ          Ĵv = g0 + G s           few rows
//   kColumns      X = Ĵ L⁻ᵀ, H = LLᵀ    Ĵv = g0 + X (Xᵀ s)      many rows
//   kTree         TreeMap, LᵀL          per body wrenches, passes over the tree, sparse factor
//   kArticulated  TreeMap, ABA          the same without a factor
//   kSolve        L, H = LLᵀ            v by substitution, as a solver does that keeps no such map: for comparison
//
// with g0 = Ĵ H⁻¹ b. Rows of a node are sorted by the last velocity they touch, and H is eliminated from its end: in a
// robot the rows of a leg then lie side by side, the columns of X that belong to the leg are zero elsewhere, and only
// the blocks that are not zero are kept. That holds for plain blocks without a tree as well.
//
// Rows are padded with zeros to a multiple of 8 per node.

#include <vector>

#include "almond/solver/island.hpp"
#include "almond/solver/lanes.hpp"
#include "almond/solver/tree_map.hpp"

namespace almond {

enum class NodeForm : std::uint8_t { kGram, kColumns, kTree, kArticulated, kSolve };

/// Which forms nodes may take: all, or for comparison only dense ones that take no notice of zeros, or on trees only
/// those that go along the tree, or on all the dense substitution.
enum class TreePath : std::uint8_t { kCheapest, kDense, kTree, kArticulated, kSolve };

struct NodeMap {
  int begin = 0;  // first padded row
  int rows = 0;
  int padded = 0;  // multiple of 8
  NodeForm form = NodeForm::kColumns;
  int matrix = 0;  // into NodeMaps::matrices
  int gram = 0;
  int square = 0;  // into NodeMaps::squares: H and its factor
  int blocks_begin = 0, blocks_end = 0;
  int sides_begin = 0, sides_end = 0;  // into NodeMaps::sides
  double cost = 0.0;                   // of one application, in multiply-adds of a dense product
};

/// Columns of X that are nonzero in the same rows.
struct ColumnBlock {
  int first_column, columns;
  int first_row, rows;  // multiples of 8
  int matrix;           // into NodeMaps::matrices, column-major, `rows` apart
};

struct NodeMaps {
  std::vector<NodeMap> nodes;
  std::vector<int> slot;  // (2 x constraints) padded row of each side
  int size = 0;           // padded rows of all nodes
  bool sparse = true;     // leave out the zero blocks of X
  LineVector matrices, squares, g0;
  LineVector t;  // (padded velocities) Xᵀs, scratch of the node that owns it
  std::vector<ColumnBlock> blocks;
  std::vector<int> first, last;    // (padded velocities) rows of each column of X that are not zero, whole lanes
  std::vector<TreeMap> trees;      // (nodes) used by the tree forms only
  std::vector<int> sides;          // 2 constraint + side, node by node in the order of the rows
  std::vector<int> count, row_of;  // scratch of lay_out
};

/// Places the rows and decides who goes by the tree; needs no penalty.
void lay_out(const Island& island, TreePath path, NodeMaps& maps);

/// Factors node k for Ĵ = diag(scale) J, scale per padded row. False if H is not positive definite to rounding.
bool factor_node(const Island& island, int k, const double* scale, NodeMaps& maps);

/// out = Ĵ v for the rows of node k; padding gets zeros.
void apply_node(const Island& island, int k, const double* s, NodeMaps& maps, double* out);

}  // namespace almond
