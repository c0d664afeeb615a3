#pragma once
// The linear map of SubADMM on one articulated tree, in tree order: the body splitting of Sec. VI and Appendix A.
//
//   H_b = M_b + Σ Ĵ_ibᵀ Ĵ_ib          6x6 per body, over the sides on it, Ĵ = sqrt(β) J_ib                      (41)
//   H   = Σ_b J_bᵀ H_b J_b + diag     joint space; rows that act on one joint only add to its diagonal             (40)
//   out = Ĵ v,  v = H⁻¹ (b + Ĵᵀ s)
//
// One application:  wrenches of the sides, backward pass, solve, forward pass, Ĵ_ib V_b. Two ways to solve:
//
//   kFactor        composite rigid bodies give H on the pattern of the tree, H = LᵀL leaves first: no fill         (39)
//   kArticulated   articulated bodies: per dof one 6-vector U_k and one pivot, O(dofs) whatever the depth; the sweeps
//   are
//                  the backward and the forward pass at the same time
//
// H_b is a general symmetric 6x6: rows of one component are no point masses, so the ten-number form would not hold.
// A row that couples several joints or two bodies (G) keeps out of the tree: H = T + GᵀG and
//   H⁻¹ = T⁻¹ - X (1 + G X)⁻¹ Xᵀ,  X = T⁻¹Gᵀ.
//
// Everything is in world axes at the tree's reference point; six-vectors are padded to eight.

#include "almond/base/types.hpp"
#include "almond/solver/island.hpp"
#include "almond/solver/lanes.hpp"

namespace almond {

enum class TreeSolve : std::uint8_t { kFactor, kArticulated };

class TreeMap {
 public:
  /// Reads the tree of a node and its sides: `num_sides` numbers 2 constraint + side; `row_of` gives the first row of a
  /// side in the node's own order.
  void lay_out(const Island& island, int node, const int* sides, int num_sides, const std::vector<int>& row_of);

  /// Multiply-adds of one application.
  [[nodiscard]] double cost(TreeSolve solve) const;
  /// Velocities that the rows touch, counted row by row: a row touches the joints between its body and the ground.
  [[nodiscard]] double num_touched() const;

  /// `scale` is sqrt(β) per row of the node. False if a pivot is not positive.
  bool factor(TreeSolve solve, const double* scale);

  /// out = Ĵ H⁻¹ (b + Ĵᵀ s) for the rows of the node.
  void apply(const double* s, double* out);

 private:
  struct BodySide {
    int row, dim, body;
    int J;               // into J_: dim x 8
    const double* from;  // body Jacobian, row-major dim x 6
  };
  struct JointRow {
    int row, dof;
    double from;   // its only entry of J
    double value;  // scaled
  };
  struct GeneralRow {
    int row;
    const Side* parts;
    int num_parts, dim, component;
  };

  void compose_bodies(const double* scale);
  bool factor_joint_space();
  bool factor_articulated();
  void factor_general(const double* scale);
  void solve_tree(double* x);     // x = T⁻¹ x by the factor
  void sweep_back(double* tau);   // articulated: wrenches to the root, tau becomes e
  void sweep_forth(double* tau);  // articulated: velocities to the leaves, tau becomes v
  void correct(double* v);        // Woodbury
  void forward();                 // V from v_

  const ContactProblem* problem_ = nullptr;
  const Tree* tree_ = nullptr;
  const double* b_ = nullptr;
  int num_bodies_ = 0, num_dofs_ = 0;
  TreeSolve solve_ = TreeSolve::kFactor;
  std::vector<BodySide> body_sides_;
  std::vector<JointRow> joint_rows_;
  std::vector<GeneralRow> general_rows_;
  std::vector<int> dof_parent_, path_begin_, path_;  // ancestors of each dof, itself first
  LineVector S_;                                     // (dofs x 8)
  LineVector J_;                                     // (rows of body sides x 8), scaled
  LineVector W_, V_;                                 // (bodies x 8) wrench, velocity
  LineVector U_;                                     // (dofs x 8) articulated: H^A S
  LineVector H_;                                     // (bodies x 48) columns of 8: H_b, then composite or articulated
  std::vector<double> L_;                            // packed rows along path_
  std::vector<double> pivot_;                        // (dofs) 1 / L_kk or 1 / d_k
  std::vector<double> diagonal_;                     // (dofs)
  std::vector<double> v_;                            // (dofs)
  std::vector<double> G_, X_, C_, w_;                // general rows: (k x dofs), (k x dofs), (k x k) Cholesky, (k)
};

}  // namespace almond
