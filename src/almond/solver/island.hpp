#pragma once
// An island: subsystems coupled by constraints, compiled for speed. Islands do not see each other and are solved apart.
//
// Whitening. With A_j = U Uᵀ (U upper triangular: leaves are eliminated first, so a tree does not fill in) and
//   ṽ = Uᵀ v,   J̃ = J U⁻ᵀ,   b̃ = U⁻¹ b      the problem reads   ṽ = b̃ + J̃ᵀλ,  J̃ ṽ = J v,
// so inside an island A is the identity, W = J̃ J̃ᵀ, and norms of ṽ are energies. Everything below is whitened.
//
// Layout. A *node* is a subsystem of the island. Its velocities are padded to a multiple of 4 (`ld`), padding stays
// zero, so the inner loops have no remainder. The Jacobian rows of all sides on a node are stacked: node k owns the
// side rows [side_begin, side_begin + side_rows), and J v for all constraints is one dense product per node.
//
//   v_pad   [ node 0: v.. 0 0 | node 1: v.. 0 0 | ... ]                     (padded dofs)
//   side    [ node 0: rows of its sides | node 1: ... ]                      (side rows)
//   λ       [ contact 0: t1 t2 n | contact 1 ... | row 0 | row 1 ... ]       (rows)
//
// All rows of one component are normalised to  w = J v + e,  λ = clamp(·/(1 + β·compliance), lower, upper):
// hard [0, inf), equality (-inf, inf), bounded [-limit, limit], soft the same (limit often infinite) with
// compliance 1/b and e := (k/b) e.

#include <vector>

#include "almond/solver/problem.hpp"

namespace almond {

struct Node {
  int subsystem = 0;
  int dofs = 0;
  int ld = 0;          // dofs rounded up to a multiple of 4
  int v_begin = 0;     // into padded velocities
  int U_begin = 0;     // into U, column-major dofs x dofs
  int side_begin = 0;  // first side row
  int side_rows = 0;
  int J_begin = 0;             // into J, row-major side_rows x ld
  bool diagonal = false;       // U is diagonal
  const Tree* tree = nullptr;  // of the subsystem, in the problem
};

struct Constraint {
  int row = 0;  // into λ
  int dim = 3;  // 3: contact, 1: row
  int num_sides = 0;
  int node[2] = {-1, -1};
  int slot[2] = {-1, -1};       // first side row of each side
  int J[2] = {-1, -1};          // into Island::J, row-major dim x ld(node)
  int width[2] = {0, 0};        // columns of J from which on it is zero, whole registers; ld(node) where that is less
  int index = 0;                // of the contact or row in the problem, in λ's block order
  const Side* parts = nullptr;  // the problem's sides, before two on one node were merged
  int num_parts = 0;
};

struct Island {
  int num_contacts = 0;  // constraints [0, num_contacts) are contacts, the rest rows
  int num_constraints = 0;
  int rows = 0;  // length of λ
  int side_rows = 0;
  int v_size = 0;    // padded
  int num_dofs = 0;  // unpadded

  const ContactProblem* problem = nullptr;  // where the island was compiled from; trees and their sides are read there
  std::vector<Node> nodes;
  std::vector<Constraint> constraints;
  std::vector<double> U;                         // per node, A = U Uᵀ
  std::vector<double> b;                         // (v_size) whitened
  std::vector<double> J;                         // per node, row-major, whitened
  std::vector<double> e, q;                      // (rows) bias, free velocity J b + e
  std::vector<double> mu;                        // (contacts)
  std::vector<double> compliance, lower, upper;  // (num_constraints - num_contacts)
  std::vector<double> W;                         // diagonal blocks: 9 per contact, then 1 per row (compliance included)
  std::vector<double> w_bar;                     // (constraints) tr W_ii / dim
  double q_norm = 0.0;
  double reach2 = 0.0;      // Σ ‖J_s‖² ‖b_s‖² over all sides, the most that ‖J_s b_s‖² can be
  double b_norm = 0.0;      // ‖b̃‖ = sqrt(bᵀA⁻¹b)
  bool degenerate = false;  // some A_j is not positive definite

  [[nodiscard]] int row_index(int constraint) const { return constraint - num_contacts; }
};

/// So many rows per dof that first-order methods crawl, and Newton steps are cheap beside their iterations.
[[nodiscard]] inline bool has_many_rows(const Island& island) {
  constexpr double kManyRows = 8.0;
  return island.rows > kManyRows * island.num_dofs;
}

/// Scratch of the compilation; kept so that a second call of the same size allocates nothing.
struct IslandWorkspace {
  std::vector<Island> islands;  // capacity only grows; the first `count` are valid
  int count = 0;
  std::vector<int> parent, island_of, node_of, row_of, fill;
  std::vector<char> left_out;        // contacts that take no part
  std::vector<int> free_subsystems;  // touched by no constraint
  std::vector<double> scratch;
};

struct CompileOptions {
  bool merge_sides = true;                  // two sides on one subsystem become one Jacobian block
  bool whole = false;                       // one island, one node holding everything (baselines)
  const std::vector<char>* idle = nullptr;  // (contacts) not zero: left out
};

void compile_islands(const ContactProblem& problem, const CompileOptions& options, IslandWorkspace& workspace);

/// A contact whose Jacobian is zero: no impulse there moves anything. It belongs to no island, its λ is 0, and the law
/// holds iff its bias does not approach.
[[nodiscard]] bool is_inert(const ContactProblem& problem, const Contact& contact);

/// Row of λ in the problem's order for a constraint of the island.
int problem_row(const ContactProblem& problem, const Island& island, int constraint);

/// side = J v for all side rows.
void multiply_J(const Island& island, const double* v, double* side);
/// out = Jᵀ side (+ b if add_b), padded.
void multiply_JT(const Island& island, const double* side, bool add_b, double* out);
/// v = U⁻ᵀ ṽ of one node, unpadded.
void unwhiten(const Island& island, const Node& node, const double* v_white, double* v);
/// v_j = A_j⁻¹ b_j of a subsystem that no constraint touches.
bool solve_free(const ContactProblem& problem, int subsystem, IslandWorkspace& workspace, double* v);
/// side rows <- rows: each side gets its constraint's λ.
void scatter_rows(const Island& island, const double* rows, double* side);
/// rows <- Σ sides (+ e if add_e).
void gather_sides(const Island& island, const double* side, bool add_e, double* rows);

struct Residuals {
  double natural2 = 0.0;   // squared Delassus-scaled natural map [m²/s²]
  double residual2 = 0.0;  // squared paper residual, unit β
};

/// Scratch for measure().
struct MeasureWorkspace {
  std::vector<double> side, v, w;
};

/// v = b + Jᵀλ, w = Jv + e (in the workspace) and both residuals.
Residuals measure(const Island& island, const double* lambda, MeasureWorkspace& workspace);

}  // namespace almond
