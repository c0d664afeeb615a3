// From MuJoCo's arrays to a contact problem.

#include <algorithm>
#include <cmath>

#include "mujoco.hpp"

namespace almond::python {
namespace {

enum Kind : int { kEquality, kFrictionDof, kFrictionTendon, kLimitJoint, kLimitTendon, kContact };  // mjtConstraint

bool is_limit(int kind) { return kind == kLimitJoint || kind == kLimitTendon; }

constexpr double kMaxCorrection = 0.5;  // speed at which an overlap or an error is removed, at most [m/s, rad/s]

/// The bias of a contact or limit, and what of it is a correction.
double approach(Origin& origin, double dt) {
  const double bias = std::max(origin.gap / dt, -kMaxCorrection);
  origin.correction = std::min(bias, 0.0);
  return bias;
}

/// The same of an equality.
double close(Origin& origin, double dt) {
  return origin.correction = std::clamp(origin.gap / dt, -kMaxCorrection, kMaxCorrection);
}

void require_size(std::size_t size, std::size_t expected, const char* name) {
  if (size < expected)
    raise_value_error(std::string(name) + ": has " + std::to_string(size) + " entries, expected " +
                      std::to_string(expected) + "; is data of this model?");
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

/// MjData.contact; its arrays only where there are some, since each takes half a microsecond to get.
struct ContactArrays {
  explicit ContactArrays(nb::handle data) : count(nb::cast<int>(data.attr("ncon"))) {
    if (count == 0) return;
    const nb::object contact(data.attr("contact"));
    address = array_of<Column<int>>(contact, "efc_address");
    dim = array_of<Column<int>>(contact, "dim");
    dist = array_of<Strided>(contact, "dist");
    includemargin = array_of<Column<double>>(contact, "includemargin");
    friction = array_of<Table<double>>(contact, "friction");
    surfacevel = array_of<Table<double>>(contact, "surfacevel");
    geom = array_of<Table<int>>(contact, "geom");
    count = static_cast<int>(address.shape(0));
  }

  int count = 0;
  Column<int> address, dim;
  Strided dist;
  Column<double> includemargin;
  Table<double> friction, surfacevel;
  Table<int> geom;
};

/// MjData.efc_*, but for J: a row per constraint. Margins only where something has one, losses likewise.
struct ConstraintArrays {
  explicit ConstraintArrays(nb::handle data)
      : type(array_of<Column<int>>(data, "efc_type")),
        id(array_of<Column<int>>(data, "efc_id")),
        pos(array_of<Column<double>>(data, "efc_pos")) {
    bool limits = false, frictions = false;
    for (int i = 0; i < static_cast<int>(type.shape(0)); ++i) {
      limits = limits || is_limit(at(type, i));
      frictions = frictions || at(type, i) == kFrictionDof || at(type, i) == kFrictionTendon;
    }
    if (limits) margin = array_of<Column<double>>(data, "efc_margin");
    if (frictions) loss = array_of<Column<double>>(data, "efc_frictionloss");
  }

  Column<int> type, id;
  Column<double> pos, margin, loss;
};

/// Where the rows of MjData.efc_J lie, which has `rows` of them.
Sparse find_rows(nb::handle data, bool sparse, std::size_t rows, int n) {
  const auto J = array_of<nb::ndarray<const double, nb::c_contig, nb::device::cpu>>(data, "efc_J");
  if (!sparse) {
    require_size(J.size(), rows * static_cast<std::size_t>(n), "efc_J");
    return {J.data(), nullptr, nullptr, nullptr, n};
  }
  const auto rownnz = array_of<Column<int>>(data, "efc_J_rownnz");
  require_size(rownnz.shape(0), rows, "efc_J");
  return {J.data(), rownnz.data(), array_of<Column<int>>(data, "efc_J_rowadr").data(),
          array_of<Column<int>>(data, "efc_J_colind").data(), n};
}

/// Whether a normal or a limit is more than rounding: an impulse along it moves something.
template <class Constraint>
bool has_lever(const ContactProblem& p, const Constraint& constraint, int row) {
  for (int k = 0; k < constraint.num_sides; ++k)
    if (p.J(constraint.sides[k], row + 1).row(row).cwiseAbs().maxCoeff() > kNoLever) return true;
  return false;
}

void add_cone(MujocoSolver& s, Origin& origin, const ContactArrays& c) {
  Contact contact;
  if (!add_sides(s, origin, 3, contact)) return;
  const int k = origin.contact;
  const double mu2 = at(c.friction, k, 1);
  contact.mu = origin.mu1 = at(c.friction, k, 0);
  origin.scale = mu2 / origin.mu1;  // an ellipse becomes a circle when t2 is measured in other units
  contact.e = Vec3(at(c.surfacevel, k, 0), at(c.surfacevel, k, 1) * origin.scale, approach(origin, s.dt));
  add_friction_row(s, contact, origin.efc, 1, 1.0, origin.mu1, 0);
  add_friction_row(s, contact, origin.efc, 2, origin.scale, mu2, 1);
  add_row(s, contact, origin.efc, s.pyramidal ? 0.5 : 1.0, 2);
  if (s.pyramidal) add_row(s, contact, origin.efc + 1, 0.5, 2);
  if (!has_lever(s.problem, contact, 2)) return;
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
    if (origin.contact >= 0 && !has_lever(s.problem, row, 0)) return;
  }
  row.e = e;
  row.limit = limit;
  origin.first = static_cast<int>(pool.size());  // within its kind; complete once all kinds are counted
  pool.push_back(row);
}

/// The kinds and gaps of all constraints, from MuJoCo's arrays. What made margins wider is taken off again: `common` of
/// all contacts, or if that is negative, what the geoms were given.
void list_constraints(MujocoSolver& s, const ConstraintArrays& all, double common, const ContactArrays& c) {
  const int rows = static_cast<int>(all.type.shape(0));
  s.origins.clear();
  for (int i = 0; i < rows; ++i) {
    const int kind = at(all.type, i);
    if (kind >= kContact) break;  // contacts come last
    Origin origin;
    origin.efc = i;
    origin.key_a = -1 - kind;
    origin.key_b = at(all.id, i);
    const bool same =
        !s.origins.empty() && s.origins.back().key_a == origin.key_a && s.origins.back().key_b == origin.key_b;
    origin.key_c = same ? s.origins.back().key_c + 1 : 0;
    const bool limit = is_limit(kind);
    const Bound::Margin& kin = kind == kLimitJoint ? s.bound.joints : s.bound.tendons;
    const double ahead = limit && at(all.id, i) < kin.size ? kin.extra[at(all.id, i)] : 0.0;
    origin.gap = limit ? at(all.pos, i) - (at(all.margin, i) - ahead) : kind == kEquality ? at(all.pos, i) : 0.0;
    s.origins.push_back(origin);
  }
  for (int k = 0; k < c.count; ++k) {
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
    const auto swell = [&](int geom) {
      return geom >= 0 && geom < s.bound.geoms.size ? s.bound.sizes.extra[3 * geom] : 0.0;
    };
    double& dist = c.dist.data()[k * c.dist.stride(0)];
    dist += swell(a) + swell(b);  // as those who look at contacts after the step expect it
    origin.gap = dist - (at(c.includemargin, k) - (common >= 0.0 ? common : extra(a) + extra(b)));
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

void add_constraints(MujocoSolver& s, const ConstraintArrays& all, const ContactArrays& c) {
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
    } else if (origin.contact >= 0 || at(all.type, origin.efc) >= kLimitJoint) {
      add_scalar(s, origin, p.hard, approach(origin, s.dt), kInfinity, c);
      note(s.hard);
    } else if (at(all.type, origin.efc) == kEquality) {
      origin.follows = follows_mocap(s.bound, origin);
      add_scalar(s, origin, p.equality, close(origin, s.dt), kInfinity, c);
      note(s.equality);
    } else {
      add_scalar(s, origin, p.bounded, 0.0, s.dt * at(all.loss, origin.efc), c);
      note(s.bounded);
    }
  }
  int rest = 3 * p.num_contacts();
  for (const auto* list : {&s.hard, &s.equality, &s.bounded}) {
    for (const int i : *list) s.origins[i].first += rest;
    rest += static_cast<int>(list->size());
  }
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

}  // namespace

void assemble(MujocoSolver& s, nb::handle data, const Column<double>& derivative, const Column<double>& free_velocity,
              const StepFacts& facts) {
  const Busy busy(s.busy, "this stepper");
  const ConstraintArrays constraints(data);
  const ContactArrays contacts(data);
  const bool implicit = derivative.shape(0) > 0;
  if (implicit) require_size(derivative.shape(0), static_cast<std::size_t>(s.bound.derivatives), "qDeriv");
  if (implicit) require_size(free_velocity.shape(0), static_cast<std::size_t>(s.bound.n), "qvel");
  if (!(facts.dt > 0.0)) raise_value_error("timestep: is " + to_text(facts.dt) + ", expected > 0");
  s.dt = facts.dt;
  s.pyramidal = facts.pyramidal;
  s.J = find_rows(data, facts.sparse, constraints.type.shape(0), s.bound.n);
  if (!facts.looked_ahead)
    for (Bound::Margin* m : {&s.bound.geoms, &s.bound.sizes, &s.bound.joints, &s.bound.tendons})
      std::fill(m->extra.begin(), m->extra.end(), 0.0);
  s.problem.clear();
  set_trees(s);
  list_constraints(s, constraints, facts.common, contacts);
  make_subsystems(s, s.bound.n);
  set_smooth(s, facts.damped, implicit ? derivative.data() : nullptr, implicit ? free_velocity.data() : nullptr,
             facts.sleeps);
  add_constraints(s, constraints, contacts);
  set_curvatures(s);
  if (!facts.judges) soften_loops(s);
}

}  // namespace almond::python
