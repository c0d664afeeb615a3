// How overlaps and errors of loops are taken back: by positions, without friction.
//
// With v the velocities that are kept, δ are those that bodies move with besides:
//
//   min ½ δᵀA'δ,   J (v + δ) + e >= 0 of contacts along their normals and of limits,   = 0 of equalities
//
// by the method of multipliers, in x = Uᵀδ with A' = U Uᵀ, which has A and what joints resist with:
//
//   min ½ ‖x‖² + Σ ‖(λ - ρ (r + Z x))₊‖² / 2ρ,   ρ = 1 / (c W),   λ <- (λ - ρ (r + Z x))₊        (r = J v + e)
//
// Rows that agree hold to c³ after three rounds. Rows that contradict each other share what was asked of them: nothing
// grows, and what else overlaps comes free beside them.

#include <algorithm>
#include <cmath>

#include "almond/solver/whiten.hpp"
#include "mujoco.hpp"

namespace almond::python {
namespace {

constexpr double kSlack = 1e-2;      // c
constexpr int kRounds = 3;           // so that 1e-6 of an overlap is left, and of a contradiction's force no more than
constexpr double kGoal = 1e-7;       // 3 / c; gradient by that of the beginning, a tenth of it
constexpr int kNewtonSteps = 30;     // usually 3 to 6
constexpr int kProducts = 200;       // of conjugate gradients
constexpr double kPatience = 1.0;    // [s]: longer than most joints take to come to rest
constexpr double kLeastLever = 0.1;  // of a normal by its tangents: less hardly opens, and is not forced to

/// Adds a row of the problem: `row` of the sides' blocks of J, r = J v + e.
template <class Constraint>
void add_row(MujocoSolver& s, const Constraint& constraint, int row, double e, bool both) {
  Repair& w = s.repair;
  const ContactProblem& p = s.problem;
  double r = e;
  for (int k = 0; k < constraint.num_sides; ++k) {
    const Side& side = constraint.sides[k];
    const Subsystem& sub = p.subsystems[side.subsystem];
    const MapConstVec J(p.J_pool.data() + side.J_start + static_cast<std::ptrdiff_t>(row) * sub.dofs, sub.dofs);
    r += J.dot(s.solution.v.segment(sub.offset, sub.dofs));
    w.sides.push_back(
        {static_cast<int>(w.rows.size()), side.subsystem, static_cast<int>(J.data() - p.J_pool.data()), 0});
  }
  Repair::Row& added = w.rows.emplace_back();
  added.r = r;
  added.both = both;
}

/// What is moved apart from time moves as if it took kPatience: dampers resist, and springs stay as they are rather
/// than ring afterwards.
void set_resistance(const Bound& b, VecX& resistance) {
  resistance = kPatience * MapConstVec(b.damping, b.n);
  for (int j = 0; j < b.joints.size; ++j) {
    const int dofs = b.joint_type[j] == 0 ? 6 : b.joint_type[j] == 1 ? 3 : 1;  // mjJNT_FREE, mjJNT_BALL
    resistance.segment(b.joint_dof[j], dofs).array() += kPatience * kPatience * b.joint_stiffness[j];
  }
}

/// How much smaller than its tangents a normal's lever is, where that is much.
double stubbornness(const ContactProblem& p, const Contact& contact) {
  double normal = 0.0, tangents = 0.0;
  for (int k = 0; k < contact.num_sides; ++k) {
    const MapConstMatr J = p.J(contact.sides[k], 3);
    normal += J.row(2).squaredNorm();
    tangents += J.topRows(2).squaredNorm();
  }
  return std::max(1.0, kLeastLever * kLeastLever * tangents / normal);
}

void list_rows(MujocoSolver& s) {
  Repair& w = s.repair;
  ContactProblem& p = s.problem;
  w.rows.clear();
  w.sides.clear();
  const int cones = 3 * p.num_contacts(), hard = cones + static_cast<int>(p.hard.size());
  const int soft = hard + static_cast<int>(p.soft.size()), equality = soft + static_cast<int>(p.equality.size());
  for (const Origin& origin : s.origins) {
    const int i = origin.first;
    if (i < 0 || origin.roll > 0 || i >= equality || origin.follows) continue;
    if (i < cones) {
      const Contact& contact = p.contacts[i / 3];
      add_row(s, contact, 2, contact.e[2] + origin.correction, false);
      w.rows.back().stubborn = stubbornness(p, contact);
    } else {
      const Row& row = i < hard ? p.hard[i - cones] : i < soft ? p.soft[i - hard] : p.equality[i - soft];
      add_row(s, row, 0, row.e + origin.correction, i >= hard);
      if (i >= hard) w.rows.back().closure = closure_of(s.bound, origin);
    }
  }
}

/// U of the subsystems that rows touch, Z = U⁻¹ Jᵀ, and ρ. False if an A has no factor.
bool whiten_rows(const ContactProblem& p, Repair& w) {
  std::stable_sort(w.sides.begin(), w.sides.end(),
                   [](const Repair::Side& a, const Repair::Side& b) { return a.subsystem < b.subsystem; });
  w.U.clear();
  w.Z.clear();
  w.factors.clear();
  for (std::size_t begin = 0, end = 0; begin < w.sides.size(); begin = end) {
    const int t = w.sides[begin].subsystem, n = p.subsystems[t].dofs;
    const auto U = static_cast<std::ptrdiff_t>(w.U.size()), Z = static_cast<std::ptrdiff_t>(w.Z.size());
    const MapConstMat A = p.A(t);
    w.U.insert(w.U.end(), A.data(), A.data() + A.size());
    for (int k = 0; k < n; ++k)
      w.U[U + static_cast<std::ptrdiff_t>(k) * (n + 1)] += w.resistance[p.subsystems[t].offset + k];
    if (!factor_upper(w.U.data() + U, n)) return false;
    w.factors.push_back({t, static_cast<int>(U)});
    for (; end < w.sides.size() && w.sides[end].subsystem == t; ++end) {
      w.sides[end].Z = static_cast<int>(w.Z.size());
      const double* J = p.J_pool.data() + w.sides[end].J;
      w.Z.insert(w.Z.end(), J, J + n);
    }
    w.inverse.resize(static_cast<std::size_t>(n));
    for (int k = 0; k < n; ++k) w.inverse[k] = 1.0 / w.U[U + static_cast<std::ptrdiff_t>(k) * n + k];
    solve_upper_rows(w.U.data() + U, n, w.inverse.data(), w.Z.data() + Z, n, static_cast<int>(end - begin));
    for (std::size_t k = begin; k < end; ++k)
      w.rows[w.sides[k].row].W += MapConstVec(w.Z.data() + w.sides[k].Z, n).squaredNorm();
  }
  for (std::size_t begin = 0, end = 0; begin < w.rows.size(); begin = end) {  // of a closure, its largest W_ii counts
    double W = 0.0;
    do {
      W = std::max(W, w.rows[end++].W);
    } while (end < w.rows.size() && w.rows[begin].closure >= 0 && w.rows[end].closure == w.rows[begin].closure);
    for (std::size_t k = begin; k < end; ++k) w.rows[k].rho = W > 0.0 ? 1.0 / (kSlack * w.rows[k].stubborn * W) : 0.0;
  }
  return true;
}

/// out = Z x, by row.
void multiply(const ContactProblem& p, const Repair& w, const VecX& x, VecX& out) {
  out.setZero(static_cast<Eigen::Index>(w.rows.size()));
  for (const Repair::Side& side : w.sides) {
    const Subsystem& sub = p.subsystems[side.subsystem];
    out[side.row] += MapConstVec(w.Z.data() + side.Z, sub.dofs).dot(x.segment(sub.offset, sub.dofs));
  }
}

/// out += Zᵀ y.
void add_transposed(const ContactProblem& p, const Repair& w, const VecX& y, VecX& out) {
  for (const Repair::Side& side : w.sides) {
    if (y[side.row] == 0.0) continue;
    const Subsystem& sub = p.subsystems[side.subsystem];
    out.segment(sub.offset, sub.dofs) += y[side.row] * MapConstVec(w.Z.data() + side.Z, sub.dofs);
  }
}

/// y = (λ - ρ (r + u))₊; returns ½ ‖x‖² + Σ y² / 2ρ.
double find_forces(const Repair& w, const VecX& x, const VecX& u, VecX& y) {
  double sum = 0.5 * x.squaredNorm();
  y.resize(u.size());
  for (Eigen::Index i = 0; i < u.size(); ++i) {
    const Repair::Row& row = w.rows[i];
    y[i] = row.lambda - row.rho * (row.r + u[i]);
    if (!row.both) y[i] = std::max(y[i], 0.0);
    if (row.rho > 0.0) sum += 0.5 * y[i] * y[i] / row.rho;
  }
  return sum;
}

/// (1 + Zᵀ ρ Z) d = g over the rows that are active, by conjugate gradients.
void find_direction(const ContactProblem& p, Repair& w) {
  w.d.setZero(w.g.size());
  w.residual = w.g;
  w.p = w.g;
  double square = w.residual.squaredNorm();
  const double goal = 1e-12 * square;
  for (int k = 0; k < kProducts && square > goal; ++k) {
    multiply(p, w, w.p, w.Zp);
    for (Eigen::Index i = 0; i < w.Zp.size(); ++i)
      w.Zp[i] = w.rows[i].both || w.y[i] > 0.0 ? w.rows[i].rho * w.Zp[i] : 0.0;
    w.Hp = w.p;
    add_transposed(p, w, w.Zp, w.Hp);
    const double step = square / w.p.dot(w.Hp);
    w.d += step * w.p;
    w.residual -= step * w.Hp;
    const double last = square;
    square = w.residual.squaredNorm();
    w.p = w.residual + (square / last) * w.p;
  }
}

/// The minimum over x for the present λ, from the present x; `goal` of the gradient's square.
void minimise(const ContactProblem& p, Repair& w, double goal) {
  multiply(p, w, w.x, w.u);
  double value = find_forces(w, w.x, w.u, w.y);
  for (int k = 0; k < kNewtonSteps; ++k) {
    w.g = -w.x;
    add_transposed(p, w, w.y, w.g);
    if (w.g.squaredNorm() <= goal) return;
    find_direction(p, w);
    multiply(p, w, w.d, w.Zp);
    const double slope = w.g.dot(w.d);
    double step = 1.0, next = 0.0;
    for (; step > 1e-6; step *= 0.5) {
      w.Hp = w.x + step * w.d;
      w.p = w.u + step * w.Zp;
      next = find_forces(w, w.Hp, w.p, w.y);
      if (next <= value - 1e-4 * step * slope) break;
    }
    if (!(step > 1e-6)) {  // at rounding
      static_cast<void>(find_forces(w, w.x, w.u, w.y));
      return;
    }
    w.x = w.Hp;
    w.u = w.p;
    value = next;
  }
}

}  // namespace

void take_back(MujocoSolver& s) {
  const ContactProblem& p = s.problem;
  Repair& w = s.repair;
  s.moved.v = s.solution.v;
  list_rows(s);
  set_resistance(s.bound, w.resistance);
  if (!whiten_rows(p, w)) return;
  w.x.setZero(s.bound.n);
  for (int round = 0; round < kRounds; ++round) {
    if (round == 0) {
      multiply(p, w, w.x, w.u);
      static_cast<void>(find_forces(w, w.x, w.u, w.y));
      w.g.setZero(s.bound.n);
      add_transposed(p, w, w.y, w.g);
      w.goal = kGoal * kGoal * w.g.squaredNorm();
    }
    minimise(p, w, w.goal);
    for (std::size_t i = 0; i < w.rows.size(); ++i) w.rows[i].lambda = w.y[static_cast<Eigen::Index>(i)];
  }
  for (const Repair::Factor& factor : w.factors) {  // Uᵀ δ = x
    const Subsystem& sub = p.subsystems[factor.subsystem];
    auto x = w.x.segment(sub.offset, sub.dofs);
    MapConstMat(w.U.data() + factor.U, sub.dofs, sub.dofs).transpose().triangularView<Eigen::Lower>().solveInPlace(x);
    if (x.allFinite()) s.moved.v.segment(sub.offset, sub.dofs) += x;
  }
}

}  // namespace almond::python
