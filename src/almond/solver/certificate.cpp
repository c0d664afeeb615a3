#include "almond/solver/certificate.hpp"

#include <Eigen/Cholesky>
#include <Eigen/LU>
#include <algorithm>
#include <cmath>

#include "almond/base/check.hpp"

namespace almond {
namespace {

// The maps below are written from their definitions and share nothing with the solvers, so that an error there cannot
// hide here.

/// Euclidean projection onto the cone |λ_t| <= μ λ_n, with (t1, t2, n).
Vec3 project_cone(double mu, const Vec3& x) {
  const double tangent = std::sqrt(x[0] * x[0] + x[1] * x[1]);
  if (x[2] >= 0.0 && tangent <= mu * x[2]) return x;
  if (mu * tangent <= -x[2]) return Vec3::Zero();
  const double normal = (x[2] + mu * tangent) / (1.0 + mu * mu);
  const double shrink = mu * normal / tangent;
  return {shrink * x[0], shrink * x[1], normal};
}

/// (17) normal first, then the tangent onto the disc of radius μ λ_n.
Vec3 apply_strict(double mu, const Vec3& x) {
  const double normal = std::max(0.0, x[2]);
  const double tangent = std::sqrt(x[0] * x[0] + x[1] * x[1]);
  const double shrink = tangent > mu * normal ? mu * normal / tangent : 1.0;
  return {shrink * x[0], shrink * x[1], normal};
}

/// One scalar row as the certificate sees it.
struct RowView {
  const Row* row;
  RowKind kind;
};

/// λ - (the law's answer to λ - ρ w): zero iff the row's law holds, for any ρ > 0.
double row_map(const RowView& view, double lambda, double w, double rho) {
  switch (view.kind) {
    case RowKind::kHard:
      return lambda - std::max(0.0, lambda - rho * w);
    case RowKind::kSoft:
    case RowKind::kBounded:
      if (std::isinf(view.row->limit)) return rho * w;
      return lambda - std::clamp(lambda - rho * w, -view.row->limit, view.row->limit);
    case RowKind::kEquality:
      return rho * w;
  }
  return 0.0;
}

/// Bias of a row: a soft row is an equality J v + (k/b) e + λ/b = 0 with compliance 1/b.
double row_bias(const RowView& view) {
  return view.kind == RowKind::kSoft ? view.row->k / view.row->b * view.row->e : view.row->e;
}

double row_compliance(const RowView& view) { return view.kind == RowKind::kSoft ? 1.0 / view.row->b : 0.0; }

std::vector<RowView> list_rows(const ContactProblem& problem) {
  std::vector<RowView> rows;
  rows.reserve(static_cast<std::size_t>(problem.num_scalar_rows()));
  const auto add = [&rows](const std::vector<Row>& pool, RowKind kind) {
    for (const Row& row : pool) rows.push_back({&row, kind});
  };
  add(problem.hard, RowKind::kHard);
  add(problem.soft, RowKind::kSoft);
  add(problem.equality, RowKind::kEquality);
  add(problem.bounded, RowKind::kBounded);
  return rows;
}

using Factors = std::vector<Eigen::LLT<MatX>>;

Factors factor_subsystems(const ContactProblem& problem) {
  Factors factors;
  factors.reserve(problem.subsystems.size());
  for (std::size_t s = 0; s < problem.subsystems.size(); ++s) factors.emplace_back(problem.A(static_cast<int>(s)));
  return factors;
}

/// J_i v over the sides of one constraint.
template <int kRows, class Constraint>
Eigen::Matrix<double, kRows, 1> relative_velocity(const ContactProblem& problem, const Constraint& constraint,
                                                  const VecX& v) {
  Eigen::Matrix<double, kRows, 1> result = Eigen::Matrix<double, kRows, 1>::Zero();
  for (int s = 0; s < constraint.num_sides; ++s) {
    const Subsystem& sub = problem.subsystems[constraint.sides[s].subsystem];
    result += problem.J(constraint.sides[s], kRows) * v.segment(sub.offset, sub.dofs);
  }
  return result;
}

/// What moves a constraint: tr(W_ii), W_ii = J_i A⁻¹ J_iᵀ, and Σ_s tr(W_s) ‖b_s‖² over its sides, the most that the
/// energy of free motion can make of it [m²/s²]. Two sides on one subsystem count as one; where they cancel up to
/// rounding (two links that cannot move apart) they count as zero.
struct Mobility {
  double trace = 0.0, reach2 = 0.0;
  Mat3 W = Mat3::Zero();  // the first entry alone of a row
};

/// `energy2`: (subsystems) bᵀA⁻¹b.
template <class Constraint>
Mobility find_mobility(const ContactProblem& problem, const Factors& factors, const std::vector<double>& energy2,
                       const Constraint& constraint, int rows) {
  const bool joined = constraint.num_sides == 2 && constraint.sides[0].subsystem == constraint.sides[1].subsystem;
  Mobility mobility;
  for (int s = 0; s < (joined ? 1 : constraint.num_sides); ++s) {
    const Side& side = constraint.sides[s];
    MatX Jt = problem.J(side, rows).transpose();
    const double size = Jt.norm();
    if (joined) Jt += problem.J(constraint.sides[1], rows).transpose();
    if (Jt.norm() <= 1e-13 * size) continue;
    factors[side.subsystem].matrixL().solveInPlace(Jt);
    mobility.W.topLeftCorner(rows, rows) += Jt.transpose() * Jt;
    mobility.trace += Jt.squaredNorm();
    mobility.reach2 += Jt.squaredNorm() * energy2[side.subsystem];
  }
  return mobility;
}

template <class Constraint>
void add_transposed(const ContactProblem& problem, const Constraint& constraint, const double* lambda, int rows,
                    VecX& out) {
  for (int s = 0; s < constraint.num_sides; ++s) {
    const Subsystem& sub = problem.subsystems[constraint.sides[s].subsystem];
    out.segment(sub.offset, sub.dofs) += problem.J(constraint.sides[s], rows).transpose() * MapConstVec(lambda, rows);
  }
}

/// Jᵀλ.
VecX apply_transposed(const ContactProblem& problem, const std::vector<RowView>& rows, const VecX& lambda) {
  VecX out = VecX::Zero(problem.num_dofs());
  const double* value = lambda.data();
  for (const Contact& contact : problem.contacts) {
    add_transposed(problem, contact, value, 3, out);
    value += 3;
  }
  for (const RowView& view : rows) add_transposed(problem, *view.row, value++, 1, out);
  return out;
}

/// x := A⁻¹ x.
void solve_subsystems(const ContactProblem& problem, const Factors& factors, VecX& x) {
  for (std::size_t s = 0; s < problem.subsystems.size(); ++s) {
    const Subsystem& sub = problem.subsystems[s];
    auto part = x.segment(sub.offset, sub.dofs);
    factors[s].solveInPlace(part);
  }
}

VecX free_velocity(const ContactProblem& problem, const Factors& factors) {
  VecX v = MapConstVec(problem.b.data(), problem.num_dofs());
  solve_subsystems(problem, factors, v);
  return v;
}

/// bᵀA⁻¹b of each subsystem: twice its kinetic energy in free motion.
std::vector<double> free_energies(const ContactProblem& problem, const VecX& v_free) {
  std::vector<double> energies;
  energies.reserve(problem.subsystems.size());
  for (std::size_t s = 0; s < problem.subsystems.size(); ++s) {
    const Subsystem& sub = problem.subsystems[s];
    energies.push_back(problem.b_of(static_cast<int>(s)).dot(v_free.segment(sub.offset, sub.dofs)));
  }
  return energies;
}

double dynamics_residual(const ContactProblem& problem, const VecX& v, const VecX& Jt_lambda) {
  const MapConstVec b(problem.b.data(), problem.num_dofs());
  VecX r = -b - Jt_lambda;
  for (std::size_t s = 0; s < problem.subsystems.size(); ++s) {
    const Subsystem& sub = problem.subsystems[s];
    r.segment(sub.offset, sub.dofs) += problem.A(static_cast<int>(s)) * v.segment(sub.offset, sub.dofs);
  }
  const double scale = b.norm() + Jt_lambda.norm();
  return r.norm() / (scale > 0.0 ? scale : 1.0);
}

void raise(double& worst, double value) { worst = std::max(worst, value); }

/// Sums and maxima gathered over the constraints.
struct Tally {
  Certificate& certificate;
  double residual2 = 0.0, map2 = 0.0, q2 = 0.0, worst = -1.0;

  void add(int index, double strict2, double entry2, double free2) {
    residual2 += strict2;
    map2 += entry2;
    q2 += free2;
    if (entry2 > worst) {
      worst = entry2;
      certificate.worst_constraint = index;
    }
  }
};

void judge_contact(const Contact& contact, const Vec3& lambda, const Vec3& w, const Vec3& q, double rho, int index,
                   Tally& tally) {
  const double slip = w.head<2>().norm();
  const Vec3 shifted(w[0], w[1], w[2] + contact.mu * slip);
  const Vec3 strict = lambda - apply_strict(contact.mu, lambda - w);
  const Vec3 entry = (lambda - project_cone(contact.mu, lambda - rho * shifted)) / rho;
  tally.add(index, strict.squaredNorm(), entry.squaredNorm(), q.squaredNorm());
  Certificate& c = tally.certificate;
  raise(c.normal_violation, -w[2]);
  raise(c.complementarity, std::abs(lambda[2] * w[2]));
  raise(c.cone_violation, (lambda - project_cone(contact.mu, lambda)).norm());
  raise(c.slip_error, std::abs(contact.mu * lambda[2] * slip + lambda.head<2>().dot(w.head<2>())));
}

void judge_row(const RowView& view, double lambda, double Jv, double Jv_free, double W, int index, Tally& tally) {
  const double compliance = row_compliance(view), bias = row_bias(view);
  const double w = Jv + bias + compliance * lambda;
  const double rho = W + compliance > 0.0 ? 1.0 / (W + compliance) : 1.0;
  const double strict = row_map(view, lambda, w, 1.0 / (1.0 + compliance));
  const double entry = row_map(view, lambda, w, rho) / rho;
  tally.add(index, strict * strict, entry * entry, (Jv_free + bias) * (Jv_free + bias));
  Certificate& c = tally.certificate;
  raise(c.row_violation, std::abs(entry));
  if (view.kind == RowKind::kHard) {
    raise(c.complementarity, std::abs(lambda * w));
    raise(c.cone_violation, -lambda);
  }
  if (view.kind == RowKind::kBounded || view.kind == RowKind::kSoft)
    raise(c.cone_violation, std::abs(lambda) - view.row->limit);
}

/// Finds impulse_ratio. Constraints are told in λ's order.
class ImpulseJudge {
 public:
  explicit ImpulseJudge(const ContactProblem& problem, const std::vector<double>& energies)
      : problem_(problem), energies_(energies), reach_(VecX::Zero(problem.num_dofs())) {
    for (std::size_t s = 0; s < problem.subsystems.size(); ++s) group_.push_back(static_cast<int>(s));
  }

  template <class Constraint>
  void add(const Constraint& constraint, const VecX& lambda, const VecX& e, double mass) {
    if (lambda.isZero(0.0)) return;
    const auto rows = static_cast<int>(lambda.size());
    const int group = group_[constraint.sides[0].subsystem];
    for (int s = 0; s < constraint.num_sides; ++s) {
      const Side& side = constraint.sides[s];
      const Subsystem& sub = problem_.subsystems[side.subsystem];
      for (int k = 0; k < sub.dofs; ++k)
        raise(reach_[sub.offset + k], problem_.J(side, rows).col(k).lpNorm<Eigen::Infinity>());
      if (const int other = group_[side.subsystem]; other != group)
        std::replace(group_.begin(), group_.end(), other, group);
    }
    bearing_.push_back(
        {constraint.sides[0].subsystem, lambda.lpNorm<Eigen::Infinity>(), e.lpNorm<Eigen::Infinity>(), mass});
  }

  [[nodiscard]] double ratio() const {
    const std::size_t count = group_.size();
    std::vector<double> energy(count, 0.0), heaviest(count, 0.0), mass(count, 0.0), pushed(count, 0.0);
    for (std::size_t s = 0; s < count; ++s) {
      const Subsystem& sub = problem_.subsystems[s];
      energy[group_[s]] += energies_[s];
      for (int k = 0; k < sub.dofs; ++k)
        if (reach_[sub.offset + k] > 0.0)
          raise(heaviest[group_[s]], mass_at_lever(problem_.A(static_cast<int>(s))(k, k), reach_[sub.offset + k]));
    }
    for (const Bearing& b : bearing_) {
      const int group = group_[b.subsystem];
      const double least = std::min(b.mass, heaviest[group]);
      raise(mass[group], least);
      raise(pushed[group], least * b.bias);
    }
    double worst = 0.0;
    for (const Bearing& b : bearing_) {
      const int group = group_[b.subsystem];
      raise(worst, b.impulse / (std::sqrt(mass[group] * energy[group]) + pushed[group]));
    }
    return worst;
  }

 private:
  struct Bearing {
    int subsystem;
    double impulse, bias, mass;
  };
  const ContactProblem& problem_;
  const std::vector<double>& energies_;
  VecX reach_;              // (n) longest lever on each dof
  std::vector<int> group_;  // (subsystems) equal for those joined by constraints that bear
  std::vector<Bearing> bearing_;
};

/// Open: no impulse. Slip: friction at its full and tangential motion. Everything else sticks.
ContactMode find_mode(double mu, const Vec3& lambda, const Vec3& w, double lambda_scale, double w_scale) {
  if (lambda[2] <= 1e-10 * lambda_scale) return ContactMode::kOpen;
  const bool full = lambda.head<2>().norm() >= mu * lambda[2] * (1.0 - 1e-6);
  return full && w.head<2>().norm() > 1e-9 * w_scale ? ContactMode::kSlip : ContactMode::kStick;
}

}  // namespace

VecX compute_velocity(const ContactProblem& problem, const VecX& lambda) {
  require(lambda.size() == problem.num_rows(),
          "lambda: has " + std::to_string(lambda.size()) + " values, expected " + std::to_string(problem.num_rows()));
  VecX v = MapConstVec(problem.b.data(), problem.num_dofs());
  v += apply_transposed(problem, list_rows(problem), lambda);
  solve_subsystems(problem, factor_subsystems(problem), v);
  return v;
}

Certificate make_certificate(const ContactProblem& problem, const VecX& v_in, const VecX& lambda) {
  require(lambda.size() == problem.num_rows(),
          "lambda: has " + std::to_string(lambda.size()) + " values, expected " + std::to_string(problem.num_rows()));
  require(v_in.size() == problem.num_dofs(),
          "v: has " + std::to_string(v_in.size()) + " values, expected " + std::to_string(problem.num_dofs()));
  Certificate certificate;
  const int num_contacts = problem.num_contacts(), num_constraints = num_contacts + problem.num_scalar_rows();
  certificate.mode.assign(static_cast<std::size_t>(num_contacts), ContactMode::kOpen);
  certificate.modes[0] = num_contacts;
  certificate.finite = v_in.allFinite() && lambda.allFinite();
  if (!certificate.finite) return certificate;

  const std::vector<RowView> rows = list_rows(problem);
  const Factors factors = factor_subsystems(problem);
  const VecX Jt_lambda = apply_transposed(problem, rows, lambda);
  certificate.dynamics_residual = dynamics_residual(problem, v_in, Jt_lambda);
  VecX v = MapConstVec(problem.b.data(), problem.num_dofs()) + Jt_lambda;
  solve_subsystems(problem, factors, v);
  const VecX v_free = free_velocity(problem, factors);
  const std::vector<double> energies = free_energies(problem, v_free);

  Tally tally{certificate};
  ImpulseJudge impulses(problem, energies);
  double reach2 = 0.0;
  const double lambda_scale = lambda.size() > 0 ? lambda.cwiseAbs().maxCoeff() : 0.0;
  std::vector<Vec3> contact_w(static_cast<std::size_t>(num_contacts));
  double w_scale = 0.0;
  for (int i = 0; i < num_contacts; ++i) {
    const Contact& contact = problem.contacts[i];
    const Vec3 w = relative_velocity<3>(problem, contact, v) + contact.e;
    const Vec3 q = relative_velocity<3>(problem, contact, v_free) + contact.e;
    const Mobility mobility = find_mobility(problem, factors, energies, contact, 3);
    const double rho = mobility.trace > 0.0 ? 3.0 / mobility.trace : 1.0;
    reach2 += mobility.reach2;
    judge_contact(contact, lambda.segment<3>(3 * i), w, q, rho, i, tally);
    impulses.add(contact, lambda.segment<3>(3 * i), contact.e,
                 mobility.W.determinant() > 0.0 ? mobility.W.inverse().trace() / 3.0 : kInfinity);
    w_scale = std::max({w_scale, w.norm(), q.norm()});
    contact_w[i] = w;
  }
  certificate.modes = {0, 0, 0};
  for (int i = 0; i < num_contacts; ++i) {
    certificate.mode[i] =
        find_mode(problem.contacts[i].mu, lambda.segment<3>(3 * i), contact_w[i], lambda_scale, w_scale);
    ++certificate.modes[static_cast<std::size_t>(certificate.mode[i])];
  }
  for (std::size_t r = 0; r < rows.size(); ++r) {
    const Row& row = *rows[r].row;
    const int index = num_contacts + static_cast<int>(r);
    const Mobility mobility = find_mobility(problem, factors, energies, row, 1);
    reach2 += mobility.reach2;
    impulses.add(row, lambda.segment<1>(3 * num_contacts + static_cast<int>(r)),
                 Eigen::Matrix<double, 1, 1>(row_bias(rows[r])), 1.0 / (mobility.trace + row_compliance(rows[r])));
    judge_row(rows[r], lambda[3 * num_contacts + static_cast<int>(r)], relative_velocity<1>(problem, row, v)[0],
              relative_velocity<1>(problem, row, v_free)[0], mobility.trace, index, tally);
  }
  certificate.impulse_ratio = impulses.ratio();
  const bool judged = std::isfinite(tally.residual2) && std::isfinite(tally.map2) && std::isfinite(tally.q2);
  certificate.residual = certificate.natural_map = judged ? 0.0 : kInfinity;
  if (!judged || num_constraints == 0) return certificate;
  certificate.residual = std::sqrt(tally.residual2) / num_constraints;
  certificate.natural_map = std::sqrt(tally.map2) / natural_map_unit(tally.q2, reach2);
  return certificate;
}

}  // namespace almond
