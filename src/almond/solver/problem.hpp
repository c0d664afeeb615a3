#pragma once
// ContactProblem: one step of a multibody system with constraints, as matrices.
//
//   A v = b + Jᵀλ,   (J v, λ) in S_c                                                          (8)
//
// The velocities v split into *subsystems* (a free body, or one articulated tree), A is block diagonal over them. Each
// constraint has one or two *sides*; a side names a subsystem and the block of J that acts on it. An absent second side
// is the ground. Two sides on the same subsystem are allowed (contact between two links of one robot).
//
//   contact   3 rows (t1, t2, n):  Signorini-Coulomb with friction mu on  J v + e              (5)
//   hard      0 <= λ  _|_  J v + e >= 0                                                        (3)
//   soft      λ = -k e - b J v, b > 0, clamped to ±limit where one is set                      (4)
//   equality  J v + e = 0, λ free
//   bounded   -limit <= λ <= limit, opposing J v + e (dry joint friction)
//
// λ stacks contacts, hard, soft, equality, bounded, each in the order they were added. Units: v in m/s and rad/s, λ in
// N s, e in m/s (for soft rows: m, with k and b already scaled by the time step).
//
// A subsystem may carry a Tree (bodies, joints, motion subspaces); then sides name a body and a body-space Jacobian,
// and SubADMM factors in tree order without fill. A tree only accelerates: A, b and J are always complete without it.
//
// Storage is pooled and clear() keeps capacity, so a simulator refills one problem step after step without allocating.

#include <array>
#include <string>
#include <vector>

#include "almond/base/types.hpp"

namespace almond {

/// Kinematic tree of one subsystem, in world axes at one reference point. Bodies are numbered parent before child.
///   A_j = Σ_b J_bᵀ M_b J_b + diag(diagonal),   J_b = [S_k] over the joints k on the path from b to the ground.
struct Tree {
  std::vector<int> parent;         // (bodies) parent body, -1 for the ground
  std::vector<int> dof_offset;     // (bodies + 1) body b owns dofs [dof_offset[b], dof_offset[b+1])
  Eigen::Matrix<double, 6, -1> S;  // (6 x dofs) motion subspace columns, [linear; angular]
  std::vector<Mat6> M;             // (bodies) spatial inertia M_b, scaled like A
  VecX diagonal;                   // (dofs) armature and implicit joint damping
  [[nodiscard]] int num_bodies() const { return static_cast<int>(parent.size()); }
  [[nodiscard]] int num_dofs() const { return static_cast<int>(S.cols()); }
};

struct Subsystem {
  int dofs = 0;
  int offset = 0;   // first velocity of this subsystem in v and b
  int A_start = 0;  // into ContactProblem::A_pool, column-major dofs x dofs
  int tree = -1;    // into ContactProblem::trees, -1: none
};

/// One end of a constraint. The rows of its Jacobian lie in J_pool, row-major rows x dofs.
struct Side {
  int subsystem = -1;
  int J_start = -1;       // into J_pool
  int body = -1;          // body of the subsystem's tree, -1: joint space or no tree
  int J_body_start = -1;  // into J_pool, row-major rows x 6, -1: none
};

/// What a caller hands over for one side. `J_body` (rows x 6) is used only with a tree; J may then be left empty.
struct SideInput {
  int subsystem = -1;
  MatXr J;
  int body = -1;
  MatXr J_body;
};

struct Contact {
  std::array<Side, 2> sides;
  int num_sides = 0;
  double mu = 0.0;        // friction coefficient [-]
  Vec3 e = Vec3::Zero();  // bias (t1, t2, n) [m/s]
};

enum class RowKind : std::uint8_t { kHard, kSoft, kEquality, kBounded };

/// A constraint of one row.
struct Row {
  std::array<Side, 2> sides;
  int num_sides = 0;
  double e = 0.0;
  double k = 0.0;            // soft only
  double b = 0.0;            // soft only, > 0
  double limit = kInfinity;  // |λ| at most, of soft and bounded rows [N s]
};

struct ContactProblem {
  std::string name;

  std::vector<Subsystem> subsystems;
  std::vector<double> A_pool;
  std::vector<double> b;  // (n)
  std::vector<Tree> trees;

  std::vector<Contact> contacts;
  std::vector<Row> hard, soft, equality, bounded;
  std::vector<double> J_pool;

  std::vector<double> v0, lambda0;  // optional start values, empty or of full size

  [[nodiscard]] int num_dofs() const { return static_cast<int>(b.size()); }
  [[nodiscard]] int num_contacts() const { return static_cast<int>(contacts.size()); }
  [[nodiscard]] int num_scalar_rows() const {
    return static_cast<int>(hard.size() + soft.size() + equality.size() + bounded.size());
  }
  /// Length of λ.
  [[nodiscard]] int num_rows() const { return 3 * num_contacts() + num_scalar_rows(); }

  [[nodiscard]] MapConstMat A(int subsystem) const;
  [[nodiscard]] MapConstVec b_of(int subsystem) const;
  [[nodiscard]] MapConstMatr J(const Side& side, int rows) const;
  [[nodiscard]] MapConstMatr J_body(const Side& side, int rows) const;

  /// Empties the problem, keeps all capacity.
  void clear();

  // Builders. They check sizes against what is there and throw Error; values are checked by validate().
  int add_subsystem(const Eigen::Ref<const MatX>& A, const Eigen::Ref<const VecX>& b);
  /// A is composed from the tree.
  int add_tree(const Tree& tree, const Eigen::Ref<const VecX>& b);
  int add_contact(double mu, const Vec3& e, const SideInput& side0);
  int add_contact(double mu, const Vec3& e, const SideInput& side0, const SideInput& side1);
  int add_hard(double e, const std::vector<SideInput>& sides);
  int add_soft(double e, double k, double b, const std::vector<SideInput>& sides, double limit = kInfinity);
  int add_equality(double e, const std::vector<SideInput>& sides);
  int add_bounded(double e, double limit, const std::vector<SideInput>& sides);

  /// Throws Error naming the first thing that is wrong: sizes, finiteness, symmetry and positive definiteness of A,
  /// mu >= 0, b > 0 of soft rows, indices, trees that do not reproduce A. Solvers assume a validated problem.
  void validate() const;
};

/// Rows of all constraints in λ's order as one dense J (rows x n) and A (n x n): for tests and small exports.
[[nodiscard]] MatX make_dense_A(const ContactProblem& problem);
[[nodiscard]] MatX make_dense_J(const ContactProblem& problem);
/// e in λ's order.
[[nodiscard]] VecX make_dense_e(const ContactProblem& problem);

/// Builds a problem from whole matrices: A (n x n) with its diagonal blocks given by `offsets` (N+1; empty: the blocks
/// of A's own sparsity), J (3m x n), e (3m), mu (m). Rows of J may touch at most two subsystems.
/// Validated.
[[nodiscard]] ContactProblem make_problem(const MatX& A, const VecX& b, const MatX& J, const VecX& e, const VecX& mu,
                                          const std::vector<int>& offsets = {});

}  // namespace almond
