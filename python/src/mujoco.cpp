// MuJoCo's constraints as a contact problem, and its answer in MuJoCo's layout. Works on arrays, so that it needs no
// MuJoCo itself; python/almond/mujoco.py hands them over and says what is done with them. One problem, workspace and
// answer serve all steps: a step whose sizes are known allocates nothing here.

#include <algorithm>
#include <cmath>

#include "almond/solver/certificate.hpp"
#include "parts.hpp"

namespace almond::python {
namespace {

template <class Value>
using Column = nb::ndarray<const Value, nb::ndim<1>, nb::device::cpu>;
template <class Value>
using Table = nb::ndarray<const Value, nb::ndim<2>, nb::device::cpu>;
using Writable = nb::ndarray<double, nb::ndim<1>, nb::c_contig, nb::device::cpu>;

enum Kind : int { kEquality, kFrictionDof, kFrictionTendon, kLimitJoint, kLimitTendon, kContact };  // mjtConstraint

constexpr double kMaxCorrection = 0.5;  // speed at which an overlap is removed, at most [m/s, rad/s]
constexpr double kNoticeable = 1e-4;    // corrections up to this speed may stay in the velocities [m/s, rad/s]
constexpr int kLimitRounds = 10;        // spin and rolling friction: limits follow the normal forces of the last round
// Contacts and limits are found this far off [m, rad], and farther by speeds, and by what forces may do to them
// meanwhile.
constexpr double kLookAhead = 1e-3, kAccelerations = 20.0;  // [m/s², rad/s²]
constexpr double kLimitChange = 1e-6;  // relative change of a limit that is not worth another round

template <class Value>
Value at(const Column<Value>& array, int k) {
  return array.data()[k * array.stride(0)];
}
template <class Value>
Value at(const Table<Value>& array, int k, int column) {
  return array.data()[k * array.stride(0) + column * array.stride(1)];
}

void require_size(std::size_t size, std::size_t expected, const char* name) {
  if (size < expected)
    raise_value_error(std::string(name) + ": has " + std::to_string(size) + " entries, expected " +
                      std::to_string(expected) + "; is data of this model?");
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
  const int *geom_body = nullptr, *body_root = nullptr, *pair_geom1 = nullptr, *pair_geom2 = nullptr;
  const int *joint_dof = nullptr, *joint_type = nullptr;
  const double *geom_radius = nullptr, *geom_position = nullptr, *subtree_com = nullptr, *tendon_velocity = nullptr;
  const int* treeid = nullptr;
  Sparse M, D;
  const double *damping = nullptr, *dampingpoly = nullptr;
  int poly = 0;
  const double *qvel = nullptr, *cvel = nullptr, *force = nullptr;
  const int* awake = nullptr;
  double *qfrc_constraint = nullptr, *qacc = nullptr;
};

struct MujocoSolver {
  Settings settings;
  Bound bound;
  Workspace workspace;
  ContactProblem problem;
  Solution solution, moved;  // velocities to keep, and those to move with
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
};

// ---------------------------------------------------------------- assembly

/// Subsystems are trees. A constraint may touch two; where one touches more, all trees from its first to its last
/// become one.
void make_subsystems(MujocoSolver& s, int n) {
  ContactProblem& p = s.problem;
  const int trees = static_cast<int>(s.tree_begin.size()) - 1;
  s.first_tree.resize(static_cast<std::size_t>(trees));
  for (int t = 0; t < trees; ++t) s.first_tree[t] = t;
  for (const Origin& origin : s.origins) {
    int low = trees, high = -1;
    std::array<int, 2> seen = {-1, -1};
    bool many = false;
    for (int k = 0; k < origin.rows; ++k)
      s.J.for_row(origin.efc + k, [&](int j, double) {
        const int t = s.tree_of_dof[j];
        low = std::min(low, t);
        high = std::max(high, t);
        for (int& tree : seen) {
          if (tree < 0) tree = t;
          if (tree == t) return;
        }
        many = true;
      });
    if (many)
      for (int t = low + 1; t <= high; ++t) s.first_tree[t] = std::min(s.first_tree[t], low);
  }
  s.subsystem_of.resize(static_cast<std::size_t>(n));
  for (int t = 0; t < trees; ++t) {
    if (s.first_tree[t] == t) {
      Subsystem sub;
      sub.offset = s.tree_begin[t];
      p.subsystems.push_back(sub);
    }
    Subsystem& sub = p.subsystems.back();
    sub.dofs = s.tree_begin[t + 1] - sub.offset;
    for (int j = s.tree_begin[t]; j < s.tree_begin[t + 1]; ++j)
      s.subsystem_of[j] = static_cast<int>(p.subsystems.size()) - 1;
  }
  int start = 0;
  for (Subsystem& sub : p.subsystems) {
    sub.A_start = start;
    start += sub.dofs * sub.dofs;
  }
  p.A_pool.assign(static_cast<std::size_t>(start), 0.0);
}

double* entry(MujocoSolver& s, int i, int j) {
  const Subsystem& sub = s.problem.subsystems[s.subsystem_of[i]];
  return s.problem.A_pool.data() + sub.A_start + static_cast<std::ptrdiff_t>(j - sub.offset) * sub.dofs +
         (i - sub.offset);
}

/// Finds the subsystems that the rows touch and makes room for `height` rows of each; false if there are none.
template <class Constraint>
bool add_sides(MujocoSolver& s, const Origin& origin, int height, Constraint& constraint) {
  constraint.num_sides = 0;
  for (int k = 0; k < origin.rows; ++k)
    s.J.for_row(origin.efc + k, [&](int j, double) {
      const int sub = s.subsystem_of[j];
      for (int i = 0; i < constraint.num_sides; ++i)
        if (constraint.sides[i].subsystem == sub) return;
      Side& side = constraint.sides[constraint.num_sides++];
      side = Side{};
      side.subsystem = sub;
      side.J_start = static_cast<int>(s.problem.J_pool.size());
      s.problem.J_pool.resize(
          s.problem.J_pool.size() + static_cast<std::size_t>(height) * s.problem.subsystems[sub].dofs, 0.0);
    });
  return constraint.num_sides > 0;
}

/// Adds `scale` times a row of MuJoCo's to row r of the constraint.
template <class Constraint>
void add_row(MujocoSolver& s, const Constraint& constraint, int efc, double scale, int r) {
  s.J.for_row(efc, [&](int j, double value) {
    const int sub = s.subsystem_of[j];
    const Side& side = constraint.sides[constraint.sides[0].subsystem == sub ? 0 : 1];
    const Subsystem& info = s.problem.subsystems[sub];
    s.problem.J_pool[side.J_start + r * info.dofs + (j - info.offset)] += scale * value;
  });
}

/// Row k > 0 of a contact (t1, t2, spin, roll, roll) alone; edges of a pyramid are n ± mu_k t_k.
template <class Constraint>
void add_friction_row(MujocoSolver& s, const Constraint& constraint, int efc, int k, double scale, double mu_k, int r) {
  if (s.pyramidal) {
    add_row(s, constraint, efc + 2 * (k - 1), 0.5 * scale / mu_k, r);
    add_row(s, constraint, efc + 2 * (k - 1) + 1, -0.5 * scale / mu_k, r);
  } else {
    add_row(s, constraint, efc + k, scale, r);
  }
}

double approach(double gap, double dt) { return std::max(gap / dt, -kMaxCorrection); }

struct ContactArrays {
  Column<int> address, dim;
  Column<double> dist, includemargin;
  Table<double> friction, surfacevel;
  Table<int> geom;
};

void add_cone(MujocoSolver& s, Origin& origin, const ContactArrays& c) {
  Contact contact;
  if (!add_sides(s, origin, 3, contact)) return;
  const int k = origin.contact;
  const double mu2 = at(c.friction, k, 1);
  contact.mu = origin.mu1 = at(c.friction, k, 0);
  origin.scale = mu2 / origin.mu1;  // an ellipse becomes a circle when t2 is measured in other units
  contact.e = Vec3(at(c.surfacevel, k, 0), at(c.surfacevel, k, 1) * origin.scale, approach(origin.gap, s.dt));
  add_friction_row(s, contact, origin.efc, 1, 1.0, origin.mu1, 0);
  add_friction_row(s, contact, origin.efc, 2, origin.scale, mu2, 1);
  add_row(s, contact, origin.efc, s.pyramidal ? 0.5 : 1.0, 2);
  if (s.pyramidal) add_row(s, contact, origin.efc + 1, 0.5, 2);
  origin.first = 3 * s.problem.num_contacts();
  s.problem.contacts.push_back(contact);
}

void add_scalar(MujocoSolver& s, Origin& origin, std::vector<Row>& pool, double e, double limit,
                const ContactArrays& c) {
  Row row;
  if (!add_sides(s, origin, 1, row)) return;
  if (origin.roll > 0) {
    add_friction_row(s, row, origin.efc, origin.roll, 1.0, at(c.friction, origin.contact, origin.roll - 1), 0);
  } else {
    add_row(s, row, origin.efc, 1.0, 0);
  }
  row.e = e;
  row.limit = limit;
  origin.first = static_cast<int>(pool.size());  // within its kind; complete once all kinds are counted
  pool.push_back(row);
}

void set_trees(MujocoSolver& s) {
  const int n = s.bound.n;
  s.tree_of_dof.resize(static_cast<std::size_t>(n));
  s.tree_begin.clear();
  int last = -1;
  for (int j = 0; j < n; ++j) {
    if (s.bound.treeid[j] != last) s.tree_begin.push_back(j);
    last = s.bound.treeid[j];
    s.tree_of_dof[j] = static_cast<int>(s.tree_begin.size()) - 1;
  }
  s.tree_begin.push_back(n);
}

void bind(MujocoSolver& s, const std::vector<Writable>& margins, const Column<int>& geom_body,
          const Column<int>& body_root, const Column<int>& pair_geom1, const Column<int>& pair_geom2,
          const Column<int>& joint_dof, const Column<int>& joint_type, const Column<double>& geom_radius,
          const Table<double>& geom_position, const Table<double>& subtree_com, const Column<double>& tendon_velocity,
          const Column<int>& treeid, const Column<double>& M, const Column<int>& M_rownnz, const Column<int>& M_rowadr,
          const Column<int>& M_colind, const Column<int>& D_rownnz, const Column<int>& D_rowadr,
          const Column<int>& D_colind, const Column<double>& damping, const Table<double>& dampingpoly,
          const Column<double>& qvel, const Table<double>& cvel, const Column<double>& force, const Column<int>& awake,
          Writable qfrc_constraint, Writable qacc) {
  const Busy busy(s.busy, "this stepper");
  const auto n = treeid.shape(0);
  for (const auto& [size, name] :
       {std::pair(qvel.shape(0), "qvel"), std::pair(force.shape(0), "qfrc_smooth"), std::pair(qacc.shape(0), "qacc"),
        std::pair(damping.shape(0), "dof_damping"), std::pair(M_rownnz.shape(0), "M_rownnz")})
    if (size != n)
      raise_value_error(std::string(name) + ": has " + std::to_string(size) + " entries, expected " +
                        std::to_string(n) + "; is data of this model?");
  Bound& b = s.bound;
  b.n = static_cast<int>(n);
  std::size_t k = 0;
  for (Bound::Margin* margin : {&b.geoms, &b.bodies, &b.pairs, &b.joints, &b.tendons}) {
    margin->values = margins.at(k).data();
    margin->size = static_cast<int>(margins.at(k++).shape(0));
    margin->extra.assign(static_cast<std::size_t>(margin->size), 0.0);
  }
  b.geom_body = geom_body.data();
  b.body_root = body_root.data();
  b.pair_geom1 = pair_geom1.data();
  b.pair_geom2 = pair_geom2.data();
  b.joint_dof = joint_dof.data();
  b.joint_type = joint_type.data();
  b.geom_radius = geom_radius.data();
  b.geom_position = geom_position.data();
  b.subtree_com = subtree_com.data();
  b.tendon_velocity = tendon_velocity.data();
  b.treeid = treeid.data();
  b.M = {M.data(), M_rownnz.data(), M_rowadr.data(), M_colind.data(), b.n};
  b.D = {nullptr, D_rownnz.data(), D_rowadr.data(), D_colind.data(), b.n};
  b.derivatives = static_cast<int>(D_colind.shape(0));
  b.damping = damping.data();
  b.dampingpoly = dampingpoly.data();
  b.poly = static_cast<int>(dampingpoly.shape(1));
  b.qvel = qvel.data();
  b.cvel = cvel.data();
  b.force = force.data();
  b.awake = awake.data();
  b.qfrc_constraint = qfrc_constraint.data();
  b.qacc = qacc.data();
  s.memory.clear();
}

/// The speed of the fastest point of a geom; its body's velocity is given at the centre of mass of its tree.
double speed_of(const Bound& b, int geom) {
  using Map3 = Eigen::Map<const Vec3>;
  const int body = b.geom_body[geom];
  const Map3 turning(b.cvel + 6 * body), velocity(b.cvel + 6 * body + 3), p(b.geom_position + 3 * geom);
  const Vec3 arm = p - Map3(b.subtree_com + 3 * b.body_root[body]);
  return (velocity + turning.cross(arm)).norm() + turning.norm() * b.geom_radius[geom];
}

/// By how much each margin is to be wider, so that contacts and limits are found that may be reached within the step.
void set_extra(Bound& b, double dt) {
  const auto reach = [&](double speed, double share) {
    const double way = std::isfinite(speed) ? 1.5 * dt * speed : 0.0;
    return way + share * (kLookAhead + kAccelerations * dt * dt);
  };
  std::fill(b.bodies.extra.begin(), b.bodies.extra.end(), 0.0);
  for (int g = 0; g < b.geoms.size; ++g) {
    b.geoms.extra[g] = reach(speed_of(b, g), 0.5);  // margins of two geoms add up
    double& body = b.bodies.extra[b.geom_body[g]];
    body = std::max(body, b.geoms.extra[g]);
  }
  for (int k = 0; k < b.pairs.size; ++k)
    b.pairs.extra[k] = b.geoms.extra[b.pair_geom1[k]] + b.geoms.extra[b.pair_geom2[k]];
  for (int k = 0; k < b.joints.size; ++k) {
    const double* v = b.qvel + b.joint_dof[k];
    const bool ball = b.joint_type[k] == 1;  // mjJNT_BALL
    b.joints.extra[k] = reach(ball ? Vec3(v[0], v[1], v[2]).norm() : std::abs(v[0]), 1.0);
  }
  for (int k = 0; k < b.tendons.size; ++k) b.tendons.extra[k] = reach(std::abs(b.tendon_velocity[k]), 1.0);
}

/// Makes margins wider. A rigid contact must be known before it is there: found too late, it overlaps. Returns how much
/// wider a margin has to be that counts for all contacts alike.
double widen(MujocoSolver& s, double dt) {
  Bound& b = s.bound;
  set_extra(b, dt);
  for (Bound::Margin* margin : {&b.geoms, &b.bodies, &b.pairs, &b.joints, &b.tendons}) {
    margin->kept.assign(margin->values, margin->values + margin->size);
    for (int k = 0; k < margin->size; ++k) margin->values[k] += margin->extra[k];
  }
  return b.geoms.size == 0 ? 0.0 : 2.0 * *std::max_element(b.geoms.extra.begin(), b.geoms.extra.end());
}

void narrow(MujocoSolver& s) {
  Bound& b = s.bound;
  for (const Bound::Margin* margin : {&b.geoms, &b.bodies, &b.pairs, &b.joints, &b.tendons})
    std::copy(margin->kept.begin(), margin->kept.end(), margin->values);
}

/// The derivative of joint damping a v + b v|v| + c v³ + ..., which Euler's method takes implicitly.
double damping_of(const Bound& b, int j) {
  double sum = b.damping[j], power = 1.0;
  for (int k = 0; k < b.poly; ++k) {
    power *= std::abs(b.qvel[j]);
    sum += (k + 2) * b.dampingpoly[j * b.poly + k] * power;
  }
  return sum;
}

/// The kinds and gaps of all constraints, from MuJoCo's arrays. What made margins wider is taken off again: `common` of
/// all contacts, or if that is negative, what the geoms were given.
void list_constraints(MujocoSolver& s, const Column<int>& type, const Column<int>& id, const Column<double>& pos,
                      const Column<double>& margin, double common, const ContactArrays& c) {
  const int rows = static_cast<int>(type.shape(0)), contacts = static_cast<int>(c.address.shape(0));
  s.origins.clear();
  for (int i = 0; i < rows; ++i) {
    const int kind = at(type, i);
    if (kind >= kContact) break;  // contacts come last
    Origin origin;
    origin.efc = i;
    origin.key_a = -1 - kind;
    origin.key_b = at(id, i);
    const bool same =
        !s.origins.empty() && s.origins.back().key_a == origin.key_a && s.origins.back().key_b == origin.key_b;
    origin.key_c = same ? s.origins.back().key_c + 1 : 0;
    const bool limit = kind == kLimitJoint || kind == kLimitTendon;
    const Bound::Margin& kin = kind == kLimitJoint ? s.bound.joints : s.bound.tendons;
    const double ahead = limit && at(id, i) < kin.size ? kin.extra[at(id, i)] : 0.0;
    origin.gap = limit ? at(pos, i) - (at(margin, i) - ahead) : kind == kEquality ? at(pos, i) : 0.0;
    s.origins.push_back(origin);
  }
  for (int k = 0; k < contacts; ++k) {
    if (at(c.address, k) < 0) continue;
    const int dim = at(c.dim, k);
    Origin origin;
    origin.contact = k;
    origin.efc = at(c.address, k);
    origin.rows = dim == 1 ? 1 : s.pyramidal ? 2 * (dim - 1) : dim;
    if (origin.efc + origin.rows > rows) raise_value_error("data: contacts do not belong to its constraints");
    const int a = at(c.geom, k, 0), b = at(c.geom, k, 1);
    origin.key_a = a;
    origin.key_b = b;
    const bool same = !s.origins.empty() && s.origins.back().key_a == a && s.origins.back().key_b == b;
    origin.key_c = same ? s.origins.back().key_c + 8 : 0;
    const auto extra = [&](int geom) {  // of a flex, which is no geom, the margin was not made wider
      return geom >= 0 && geom < s.bound.geoms.size ? s.bound.geoms.extra[geom] : 0.0;
    };
    origin.gap = at(c.dist, k) - (at(c.includemargin, k) - (common >= 0.0 ? common : extra(a) + extra(b)));
    s.origins.push_back(origin);
    for (int roll = 3; roll < dim; ++roll) {
      Origin more = origin;
      more.roll = roll;
      more.scale = at(c.friction, k, roll - 1);
      more.key_c += roll;
      s.origins.push_back(more);
    }
  }
}

void add_constraints(MujocoSolver& s, const Column<int>& type, const Column<double>& loss, const ContactArrays& c) {
  ContactProblem& p = s.problem;
  for (auto* list : {&s.cones, &s.hard, &s.equality, &s.bounded}) list->clear();
  int cone = -1;
  for (int i = 0; i < static_cast<int>(s.origins.size()); ++i) {
    Origin& origin = s.origins[i];
    const auto note = [&](std::vector<int>& list) {
      if (origin.first >= 0) list.push_back(i);
    };
    if (origin.contact >= 0 && origin.roll > 0) {
      add_scalar(s, origin, p.bounded, origin.roll == 3 ? at(c.surfacevel, origin.contact, 2) : 0.0, 0.0, c);
      origin.normal = cone;
      note(s.bounded);
    } else if (origin.contact >= 0 && at(c.dim, origin.contact) > 1) {
      add_cone(s, origin, c);
      cone = i;
      note(s.cones);
    } else if (origin.contact >= 0 || at(type, origin.efc) >= kLimitJoint) {
      add_scalar(s, origin, p.hard, approach(origin.gap, s.dt), kInfinity, c);
      note(s.hard);
    } else if (at(type, origin.efc) == kEquality) {
      add_scalar(s, origin, p.equality, std::clamp(origin.gap / s.dt, -kMaxCorrection, kMaxCorrection), kInfinity, c);
      note(s.equality);
    } else {
      add_scalar(s, origin, p.bounded, 0.0, s.dt * at(loss, origin.efc), c);
      note(s.bounded);
    }
  }
  int rest = 3 * p.num_contacts();
  for (const auto* list : {&s.hard, &s.equality, &s.bounded}) {
    for (const int i : *list) s.origins[i].first += rest;
    rest += static_cast<int>(list->size());
  }
}

/// A, with implicit joint damping or with MuJoCo's qDeriv, and b from the forces, or from the next velocity without
/// constraints where that is known.
void set_smooth(MujocoSolver& s, bool damped, const double* derivative, const double* free_velocity, bool sleeps) {
  const Bound& in = s.bound;
  for (int i = 0; i < in.n; ++i)
    in.M.for_row(i, [&](int j, double value) {  // the lower triangle
      *entry(s, i, j) += value;
      if (i != j) *entry(s, j, i) += value;
    });
  if (damped)
    for (int i = 0; i < in.n; ++i) *entry(s, i, i) += s.dt * damping_of(in, i);
  if (derivative != nullptr) {  // its symmetric part
    Sparse D = in.D;
    D.values = derivative;
    for (int i = 0; i < in.n; ++i)
      D.for_row(i, [&](int j, double value) {
        *entry(s, i, j) -= 0.5 * s.dt * value;
        *entry(s, j, i) -= 0.5 * s.dt * value;
      });
  }
  const double* v = free_velocity != nullptr ? free_velocity : in.qvel;
  s.problem.b.resize(static_cast<std::size_t>(in.n));
  for (const Subsystem& sub : s.problem.subsystems)
    for (int i = sub.offset; i < sub.offset + sub.dofs; ++i) {
      double sum = free_velocity != nullptr ? 0.0 : s.dt * in.force[i];
      for (int j = sub.offset; j < sub.offset + sub.dofs; ++j) sum += *entry(s, i, j) * v[j];
      s.problem.b[i] = sleeps && in.awake[in.treeid[i]] == 0 ? 0.0 : sum;
    }
}

/// The contact problem of a step. `derivative` is MuJoCo's qDeriv and `free_velocity` its next velocity without
/// constraints; both are empty for Euler's method.
void assemble(MujocoSolver& s, double dt, bool looked_ahead, bool damped, bool sleeps, const Column<double>& derivative,
              const Column<double>& free_velocity, bool pyramidal, double common, bool sparse, const Column<double>& J,
              const Column<int>& J_rownnz, const Column<int>& J_rowadr, const Column<int>& J_colind,
              const Column<int>& type, const Column<int>& id, const Column<double>& pos, const Column<double>& margin,
              const Column<double>& loss, const Column<int>& address, const Column<int>& dim,
              const Column<double>& dist, const Column<double>& includemargin, const Table<double>& friction,
              const Table<double>& surfacevel, const Table<int>& geom) {
  const Busy busy(s.busy, "this stepper");
  const auto n = static_cast<std::size_t>(s.bound.n), rows = static_cast<std::size_t>(type.shape(0));
  require_size(sparse ? J_rownnz.shape(0) : J.shape(0), sparse ? rows : rows * n, "efc_J");
  if (derivative.shape(0) > 0)
    require_size(derivative.shape(0), static_cast<std::size_t>(s.bound.derivatives), "qDeriv");
  if (free_velocity.shape(0) > 0) require_size(free_velocity.shape(0), n, "qvel");
  if (!(dt > 0.0)) raise_value_error("timestep: is " + to_text(dt) + ", expected > 0");
  s.dt = dt;
  s.pyramidal = pyramidal;
  s.J = {J.data(), J_rownnz.data(), J_rowadr.data(), sparse ? J_colind.data() : nullptr, s.bound.n};
  const ContactArrays contacts{address, dim, dist, includemargin, friction, surfacevel, geom};
  if (!looked_ahead)
    for (Bound::Margin* m : {&s.bound.geoms, &s.bound.joints, &s.bound.tendons})
      std::fill(m->extra.begin(), m->extra.end(), 0.0);
  s.problem.clear();
  set_trees(s);
  list_constraints(s, type, id, pos, margin, common, contacts);
  make_subsystems(s, s.bound.n);
  set_smooth(s, damped, derivative.shape(0) > 0 ? derivative.data() : nullptr,
             free_velocity.shape(0) > 0 ? free_velocity.data() : nullptr, sleeps);
  add_constraints(s, type, loss, contacts);
}

// ---------------------------------------------------------------- solution

/// Impulses of the last step, for the constraints that are still there. They mostly come in the same order.
void recall(MujocoSolver& s, Solution& answer) {
  answer.lambda.resize(s.problem.num_rows());
  answer.lambda.setZero();
  std::size_t next = 0;
  for (const Origin& origin : s.origins) {
    if (origin.first < 0) continue;
    for (std::size_t tried = 0; tried < s.memory.size(); ++tried) {
      const Memory& m = s.memory[(next + tried) % s.memory.size()];
      if (m.a != origin.key_a || m.b != origin.key_b || m.c != origin.key_c) continue;
      const bool cone = origin.first < 3 * s.problem.num_contacts();
      for (int k = 0; k < (cone ? 3 : 1); ++k) answer.lambda[origin.first + k] = m.impulse[k];
      next += tried + 1;
      break;
    }
  }
}

void remember(MujocoSolver& s) {
  s.memory.clear();
  for (const Origin& origin : s.origins) {
    if (origin.first < 0) continue;
    Memory m{origin.key_a, origin.key_b, origin.key_c, Vec3::Zero()};
    const bool cone = origin.first < 3 * s.problem.num_contacts();
    for (int k = 0; k < (cone ? 3 : 1); ++k) m.impulse[k] = s.solution.lambda[origin.first + k];
    s.memory.push_back(m);
  }
}

/// Limits of spin and rolling friction from the normal impulses of an answer; true if one has changed.
bool set_limits(MujocoSolver& s, const Solution& answer) {
  bool changed = false;
  const int first = s.problem.num_rows() - static_cast<int>(s.problem.bounded.size());
  for (const int i : s.bounded) {
    const Origin& origin = s.origins[i];
    if (origin.roll == 0) continue;
    Row& row = s.problem.bounded[origin.first - first];
    const int normal = origin.normal >= 0 ? s.origins[origin.normal].first : -1;
    const double limit = normal >= 0 ? origin.scale * std::max(0.0, answer.lambda[normal + 2]) : 0.0;
    changed = changed || std::abs(limit - row.limit) > kLimitChange * std::max(limit, row.limit);
    row.limit = limit;
  }
  return changed;
}

void solve_with_limits(MujocoSolver& s, Solution& answer) {
  set_limits(s, answer);
  for (int round = 0; round < kLimitRounds; ++round) {
    ++s.solves;
    solve(s.problem, s.settings, s.workspace, answer);
    if (!set_limits(s, answer)) return;
  }
}

/// What moves bodies apart is no speed: it counts for positions only, and the velocities that are kept are those of the
/// same problem without it. False if there is nothing to be moved apart.
bool drop_corrections(MujocoSolver& s) {
  bool some = false;
  const auto drop = [&](double& e, bool both) {
    some = some || e < -kNoticeable || (both && e > kNoticeable);
    if (e < 0.0 || both) e = 0.0;
  };
  for (Contact& contact : s.problem.contacts) drop(contact.e[2], false);
  for (Row& row : s.problem.hard) drop(row.e, false);
  for (Row& row : s.problem.equality) drop(row.e, true);
  return some;
}

bool all_finite(const ContactProblem& p) {
  const auto finite = [](double x) { return std::isfinite(x); };
  const auto fine = [&](const Row& row) { return finite(row.e) && !std::isnan(row.limit); };
  return std::all_of(p.b.begin(), p.b.end(), finite) && std::all_of(p.A_pool.begin(), p.A_pool.end(), finite) &&
         std::all_of(p.J_pool.begin(), p.J_pool.end(), finite) &&
         std::all_of(p.contacts.begin(), p.contacts.end(), [](const Contact& c) { return c.e.allFinite(); }) &&
         std::all_of(p.hard.begin(), p.hard.end(), fine) && std::all_of(p.equality.begin(), p.equality.end(), fine) &&
         std::all_of(p.bounded.begin(), p.bounded.end(), fine);
}

/// False where the numbers that came in are not finite: then nothing was solved.
bool solve_step(MujocoSolver& s, bool warm) {
  const Busy busy(s.busy, "this stepper");
  nb::gil_scoped_release release;
  if (!all_finite(s.problem)) return false;
  s.settings.warm_start = true;
  s.solves = 0;
  if (!warm) s.memory.clear();
  s.workspace.forget_penalties();  // the same state gives the same bits, whatever was solved before
  recall(s, s.solution);
  solve_with_limits(s, s.solution);
  s.moved.v = s.solution.v;
  const bool moves = s.solution.status == Status::kSolved;
  s.corrects = drop_corrections(s);
  if (s.corrects) {
    if (!moves) recall(s, s.solution);
    solve_with_limits(s, s.solution);
    if (!moves) s.moved.v = s.solution.v;  // nothing can be moved apart: opposed overlaps
  }
  remember(s);
  return true;
}

/// Into efc_force, qfrc_constraint and qacc. An edge of a pyramid carries f = n / edges ± t / (2 mu).
void write(const MujocoSolver& s, Writable efc_force) {
  const GrowVector& lambda = s.solution.lambda;
  double* force = efc_force.data();
  std::fill_n(force, efc_force.shape(0), 0.0);
  for (const Origin& origin : s.origins) {
    if (origin.first < 0) continue;
    double* f = force + origin.efc;
    const auto put = [&](int k, double tangent, double mu) {  // a friction force along row k
      if (s.pyramidal) {
        f[2 * (k - 1)] += 0.5 * tangent / mu;
        f[2 * (k - 1) + 1] -= 0.5 * tangent / mu;
      } else {
        f[k] += tangent;
      }
    };
    if (origin.roll > 0) {
      put(origin.roll, lambda[origin.first] / s.dt, origin.scale);
    } else if (origin.first < 3 * s.problem.num_contacts()) {
      const double normal = lambda[origin.first + 2] / s.dt;
      if (s.pyramidal) {
        for (int k = 0; k < origin.rows; ++k) f[k] += normal / origin.rows;
      } else {
        f[0] += normal;
      }
      put(1, lambda[origin.first] / s.dt, origin.mu1);
      put(2, origin.scale * lambda[origin.first + 1] / s.dt, origin.scale * origin.mu1);
    } else {
      f[0] = lambda[origin.first] / s.dt;
    }
  }
  const Bound& out = s.bound;
  std::fill_n(out.qfrc_constraint, out.n, 0.0);
  for (int i = 0; i < static_cast<int>(efc_force.shape(0)); ++i)
    if (force[i] != 0.0) s.J.for_row(i, [&](int j, double value) { out.qfrc_constraint[j] += value * force[i]; });
  for (int j = 0; j < out.n; ++j) out.qacc[j] = (s.solution.v[j] - out.qvel[j]) / s.dt;
}

/// Impulses of the problem from forces in MuJoCo's layout, the inverse of write().
VecX read_forces(const MujocoSolver& s, const Column<double>& efc_force, const Table<double>& friction) {
  VecX lambda = VecX::Zero(s.problem.num_rows());
  for (const Origin& origin : s.origins) {
    if (origin.first < 0) continue;
    const auto f = [&](int k) { return s.dt * at(efc_force, origin.efc + k); };
    const auto along = [&](int k) {
      return s.pyramidal ? at(friction, origin.contact, k - 1) * (f(2 * (k - 1)) - f(2 * (k - 1) + 1)) : f(k);
    };
    if (origin.roll > 0) {
      lambda[origin.first] = along(origin.roll);
    } else if (origin.first < 3 * s.problem.num_contacts()) {
      lambda[origin.first] = along(1);
      lambda[origin.first + 1] = along(2) / origin.scale;
      for (int k = 0; k < (s.pyramidal ? origin.rows : 1); ++k) lambda[origin.first + 2] += f(k);
    } else {
      lambda[origin.first] = f(0);
    }
  }
  return lambda;
}

/// How far forces of MuJoCo's layout are from the law, at the velocities that they lead to; overlaps are no violation.
Certificate certify(MujocoSolver& s, const Column<double>& efc_force, const Table<double>& friction) {
  const Busy busy(s.busy, "this stepper");
  Solution given;
  given.lambda = read_forces(s, efc_force, friction);
  drop_corrections(s);
  set_limits(s, given);
  return make_certificate(s.problem, compute_velocity(s.problem, given.lambda), given.lambda);
}

}  // namespace

void add_mujoco(nb::module_& m) {
  nb::class_<MujocoSolver>(m, "MujocoSolver", "The contact solve of MuJoCo's steps; see almond.mujoco.")
      .def(
          "__init__",
          [](MujocoSolver* self, const nb::kwargs& given) {
            Settings settings;
            settings.prefer_stick = true;
            settings.crowd_tol = 1e-7;
            settings.max_work = 5e5;
            read_settings(given, settings);
            new (self) MujocoSolver();
            self->settings = settings;
          },
          nb::arg("settings"))
      .def(
          "set", [](MujocoSolver& s, const nb::dict& given) { read_settings(given, s.settings); }, nb::arg("settings"))
      .def("clear",
           [](MujocoSolver& s) {  // a step without constraints
             const Busy busy(s.busy, "this stepper");
             s.origins.clear();
             s.memory.clear();
             s.corrects = false;
             s.solves = 0;
             s.solution.lambda.resize(0);
             s.solution.v = Eigen::Map<const VecX>(s.bound.qvel, s.bound.n);
             s.solution.status = Status::kSolved;
             s.solution.certificate = Certificate{};
             s.solution.certificate.residual = s.solution.certificate.natural_map = 0.0;
             s.solution.info = SolveInfo{};
           })
      .def("bind", &bind)
      .def("widen", &widen, nb::arg("dt"))
      .def("narrow", &narrow)
      .def("assemble", &assemble)
      .def("solve", &solve_step, nb::arg("warm") = true)
      .def("write", &write)
      .def("certify", &certify)
      .def_ro("corrects", &MujocoSolver::corrects)
      .def_ro("solves", &MujocoSolver::solves)
      .def_prop_ro(
          "solution", [](MujocoSolver& s) -> Solution& { return s.solution; }, nb::rv_policy::reference_internal)
      .def_prop_ro("correction",
                   [](MujocoSolver& s) {  // from the velocities that are kept to those that move
                     return to_numpy(VecX(s.moved.v - s.solution.v));
                   })
      .def_prop_ro(
          "overlap",
          [](MujocoSolver& s) {
            double deepest = 0.0;
            for (const Origin& origin : s.origins)
              if (origin.contact >= 0) deepest = std::max(deepest, -origin.gap);
            return deepest;
          },
          "Deepest overlap at the start of the step [m].")
      .def("problem", [](MujocoSolver& s) {
        ContactProblem problem = s.problem;
        problem.validate();
        return problem;
      });
}

}  // namespace almond::python
