#pragma once
// MuJoCo's constraints as a contact problem, and its answer in MuJoCo's layout. Takes arrays of MjModel and MjData by
// their names, so that it needs no MuJoCo itself; python/almond/mujoco.py says what is done with them. One problem,
// workspace and answer serve all steps.
//
//   bind -> widen -> (MuJoCo looks for contacts) -> narrow -> assemble -> solve_step -> write

#include "almond/solver/certificate.hpp"
#include "almond/solver/independent.hpp"
#include "parts.hpp"

namespace almond::python {

template <class Value>
using Column = nb::ndarray<const Value, nb::ndim<1>, nb::device::cpu>;
template <class Value>
using Table = nb::ndarray<const Value, nb::ndim<2>, nb::device::cpu>;
using Strided = nb::ndarray<double, nb::ndim<1>, nb::device::cpu>;
using Writable = nb::ndarray<double, nb::ndim<1>, nb::c_contig, nb::device::cpu>;
using WritableTable = nb::ndarray<double, nb::ndim<2>, nb::c_contig, nb::device::cpu>;

/// An attribute of a model or its data where it lies, never a copy. Throws ValueError where it is no such array.
template <class Array>
Array array_of(nb::handle owner, const char* name) {
  Array array;
  if (!nb::try_cast(nb::object(owner.attr(name)), array, false))
    raise_value_error(std::string(name) + ": has another type or shape than MuJoCo's arrays of that name");
  return array;
}

template <class Value>
Value at(const Column<Value>& array, int k) {
  return array.data()[k * array.stride(0)];
}
template <class Value>
Value at(const Table<Value>& array, int k, int column) {
  return array.data()[k * array.stride(0) + column * array.stride(1)];
}

/// Rows of a sparse matrix, or of a dense one with `columns` columns.
struct Sparse {
  const double* values = nullptr;
  const int *rownnz = nullptr, *rowadr = nullptr, *colind = nullptr;
  int columns = 0;

  template <class Function>
  void for_row(int row, Function f) const {
    if (colind == nullptr) {
      const double* start = values + static_cast<std::ptrdiff_t>(row) * columns;
      for (int j = 0; j < columns; ++j)
        if (start[j] != 0.0) f(j, start[j]);
    } else {
      for (int k = rowadr[row]; k < rowadr[row] + rownnz[row]; ++k) f(colind[k], values[k]);
    }
  }
};

/// One constraint of the problem: which rows of MuJoCo's it is made of, and whose it is.
struct Origin {
  int efc = 0;       // its first row
  int rows = 1;      // how many
  int first = -1;    // where its impulses begin in λ, -1: it acts on nothing
  int contact = -1;  // in the arrays of contacts, -1: none
  int roll = 0;      // 0: the constraint itself; 3, 4, 5: spin and rolling friction of a contact
  int normal = -1;   // of spin and rolling: where the impulse of the contact's normal is
  std::int64_t key_a = 0, key_b = 0, key_c = 0;  // by which the next step finds it again
  double gap = 0.0;                              // [m, rad]
  double correction = 0.0;                       // the part of e that takes an overlap or an error back [m/s, rad/s]
  bool follows = false;                          // an equality that ties a body to a mocap body
  double scale = 1.0;                            // of contacts mu2 / mu1, of spin and rolling friction its coefficient
  double mu1 = 1.0;
};

struct Memory {
  std::int64_t a = 0, b = 0, c = 0;
  Vec3 impulse = Vec3::Zero();
};

/// Arrays of a model and its data that stay where they are. Not owned: almond.mujoco binds anew for another model or
/// data, and holds both during a step.
struct Bound {
  int n = 0;
  int derivatives = 0;  // entries of qDeriv
  struct Margin {
    double* values = nullptr;
    int size = 0;
    std::vector<double> kept, extra;
  };
  Margin geoms, bodies, pairs, joints, tendons;  // of bodies, since the broad phase goes by them
  Margin sizes;                                  // of geoms, three each
  const int* geom_type = nullptr;
  const int *geom_body = nullptr, *body_root = nullptr, *pair_geom1 = nullptr, *pair_geom2 = nullptr;
  const int *joint_dof = nullptr, *joint_type = nullptr;
  const double *geom_radius = nullptr, *geom_position = nullptr, *subtree_com = nullptr, *tendon_velocity = nullptr;
  const int* treeid = nullptr;
  Sparse M, D;
  const double *damping = nullptr, *dampingpoly = nullptr;
  int poly = 0;
  const double *qvel = nullptr, *cvel = nullptr, *force = nullptr;
  const int *eq_type = nullptr, *eq_objtype = nullptr, *eq_obj1 = nullptr, *eq_obj2 = nullptr, *site_body = nullptr;
  const int* body_mocap = nullptr;
  const double* joint_stiffness = nullptr;
  const int *body_parent = nullptr, *body_dof = nullptr, *body_dofs = nullptr, *joint_q = nullptr;
  int eq_stride = 0;  // numbers of an equality in eq_data
  const double *eq_data = nullptr, *qpos0 = nullptr, *qpos = nullptr, *cdof_dot = nullptr;
  const double *body_position = nullptr, *body_rotation = nullptr, *site_position = nullptr, *site_rotation = nullptr;
  Mat6X acceleration;  // (bodies) [angular; linear] at v̇ = 0, at the centres of mass of their trees
  const int* awake = nullptr;
  double *qfrc_constraint = nullptr, *qacc = nullptr;
};

/// Scratch of take_back.
struct Repair {
  struct Row {
    double r = 0.0;  // J v + e [m/s]
    double rho = 0.0, lambda = 0.0, W = 0.0;
    double stubborn = 1.0;  // 1, or by how much softer it is
    bool both = false;      // an equality
    int closure = -1;       // rows of one closure and unit share it
  };
  struct Side {
    int row = 0, subsystem = 0;
    int J = 0;  // into the problem's J_pool
    int Z = 0;
  };
  struct Factor {
    int subsystem = 0, U = 0;
  };
  std::vector<Row> rows;
  std::vector<Side> sides;  // by subsystem
  std::vector<Factor> factors;
  std::vector<double> U, Z, inverse;
  VecX resistance;  // (dofs) of joints to being moved apart from time [kg, kg m²]
  VecX x, u, y, g, d, p, residual, Zp, Hp;
  double goal = 0.0;
};

struct MujocoSolver {
  Settings settings;
  Bound bound;
  Workspace workspace;
  ContactProblem problem;
  Solution solution, moved;  // velocities to keep, and those to move with
  double opening = 0.0;      // of equalities at the start of the last step [m, rad]
  bool corrects = false;     // `moved` counts
  bool pyramidal = true;
  int solves = 0;
  double dt = 0.0;
  std::atomic<bool> busy{false};

  std::vector<int> tree_of_dof, tree_begin, first_tree, subsystem_of;
  std::vector<double> free_velocity;
  Sparse J;
  std::vector<Origin> origins;
  std::vector<int> hard, equality, bounded, cones;  // into origins, in the order of λ
  std::vector<Memory> memory;
  std::vector<int> closure;  // (equalities) rows of one of MuJoCo's and of one unit share a number
  IndependenceWorkspace independence;
  Repair repair;
};

/// Arrays of an MjModel and its MjData that stay where they are; for another model or data, again.
void bind(MujocoSolver& s, nb::handle model, nb::handle data);

/// Makes margins wider, so that contacts and limits are found that may be reached within the step: a rigid contact must
/// be known before it is there; found too late, it overlaps. Returns how much wider a margin has to be that counts for
/// all contacts alike.
double widen(MujocoSolver& s, double dt);
/// Margins as they were.
void narrow(MujocoSolver& s);

/// What a step is told besides the arrays of its data.
struct StepFacts {
  double dt = 0.0;
  bool looked_ahead = true;  // margins were wider when MuJoCo looked
  bool damped = false;       // D is part of A
  bool sleeps = false;       // some trees may be asleep
  bool pyramidal = true;     // rows of contacts are edges of pyramids
  bool sparse = false;       // J is
  bool judges = false;       // forces of others: every equality has its row
  double common = -1.0;      // see list_constraints
};

/// Whether an equality ties a body to what is moved from outside.
[[nodiscard]] bool follows_mocap(const Bound& bound, const Origin& equality);
/// A number that rows of one equality and unit share.
[[nodiscard]] int closure_of(const Bound& bound, const Origin& equality);
/// Adds to the biases of equalities how their rows turn within the step, dt/2 J̇v, so that loops stay closed to third
/// order.
void set_curvatures(MujocoSolver& s);
/// Makes the equalities soft by a millionth, those that say nothing of their own left out (solver/independent.hpp).
void soften_loops(MujocoSolver& s);

/// The contact problem of the constraints in an MjData. `derivative` is MuJoCo's qDeriv and `free_velocity` its next
/// velocity without constraints; both are empty for Euler's method.
void assemble(MujocoSolver& s, nb::handle data, const Column<double>& derivative, const Column<double>& free_velocity,
              const StepFacts& facts);

/// `moved` from the answer: overlaps and errors of loops are taken back by positions alone, without friction, and where
/// they contradict each other by a compromise.
void take_back(MujocoSolver& s);
/// False where the numbers that came in are not finite: then nothing was solved.
bool solve_step(MujocoSolver& s, bool warm);
/// Into efc_force, qfrc_constraint and qacc.
void write(const MujocoSolver& s, Writable efc_force);
/// How far forces of MuJoCo's layout are from the law, at the velocities that they lead to; overlaps are no violation.
[[nodiscard]] Certificate certify(MujocoSolver& s, const Column<double>& efc_force, const Table<double>& friction);

}  // namespace almond::python
