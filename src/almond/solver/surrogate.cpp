#include "almond/solver/surrogate.hpp"

#include <algorithm>
#include <cmath>

#include "almond/solver/cone.hpp"
#include "almond/solver/line_search.hpp"

namespace almond {
namespace {

double dot(const std::vector<double>& x, const std::vector<double>& y) {
  double sum = 0.0;
  for (std::size_t i = 0; i < x.size(); ++i) sum += x[i] * y[i];
  return sum;
}

}  // namespace

void Surrogate::start(const Island& island) {
  island_ = &island;
  factor_.analyze(island);
  beta_.assign(island.num_constraints, 1.0);
  p_.assign(island.num_contacts, 0.0);
  for (std::vector<double>* rows : {&anchor_, &Jv_, &Jd_, &x_, &T_}) rows->assign(island.rows, 0.0);
  for (std::vector<double>* v : {&v_, &d_, &r_, &trial_}) v->assign(island.v_size, 0.0);
  side_.assign(island.side_rows, 0.0);
  K_.assign(8 * island.num_contacts + island.num_constraints, 0.0);
  Kx_.assign(island.rows, 0.0);
  region_.assign(island.num_constraints, 0);
  first_region_.assign(island.num_constraints, 0);
}

void Surrogate::set_penalty(double c) {
  for (int i = 0; i < island_->num_constraints; ++i) beta_[i] = c / island_->w_bar[i];
}

void Surrogate::set_penalty_uniform(double beta) { std::fill(beta_.begin(), beta_.end(), beta); }

void Surrogate::set_anchor(const double* lambda) { std::copy(lambda, lambda + island_->rows, anchor_.begin()); }

void Surrogate::set_velocity(const double* v) {
  if (v != v_.data()) std::copy(v, v + island_->v_size, v_.begin());
  multiply_J(*island_, v_.data(), side_.data());
  gather_sides(*island_, side_.data(), false, Jv_.data());
}

void Surrogate::set_velocity_from(const double* lambda) {
  scatter_rows(*island_, lambda, side_.data());
  multiply_JT(*island_, side_.data(), true, v_.data());
  set_velocity(v_.data());
}

void Surrogate::lag_p(double damping) {
  for (int i = 0; i < island_->num_contacts; ++i) {
    const double w0 = Jv_[3 * i] + island_->e[3 * i], w1 = Jv_[3 * i + 1] + island_->e[3 * i + 1];
    const double fresh = island_->mu[i] * std::sqrt(w0 * w0 + w1 * w1);
    p_[i] += damping * (fresh - p_[i]);
  }
}

void Surrogate::clear_p() { std::fill(p_.begin(), p_.end(), 0.0); }

double Surrogate::p_change() const {
  double sum = 0.0;
  for (int i = 0; i < island_->num_contacts; ++i) {
    const double w0 = Jv_[3 * i] + island_->e[3 * i], w1 = Jv_[3 * i + 1] + island_->e[3 * i + 1];
    const double change = island_->mu[i] * std::sqrt(w0 * w0 + w1 * w1) - p_[i];
    if (T_[3 * i + 2] > 0.0) sum += change * change;
  }
  return std::sqrt(sum);
}

double Surrogate::al_residual() const {
  double sum = 0.0;
  for (int i = 0; i < island_->num_constraints; ++i) {
    const Constraint& c = island_->constraints[i];
    for (int r = 0; r < c.dim; ++r) {
      const double gap = (T_[c.row + r] - anchor_[c.row + r]) / beta_[i];
      sum += gap * gap;
    }
  }
  return std::sqrt(sum);
}

double Surrogate::defect() {
  multiply_J(*island_, r_.data(), side_.data());
  gather_sides(*island_, side_.data(), false, Kx_.data());
  double sum = 0.0;
  for (double value : Kx_) sum += value * value;
  return std::sqrt(sum);
}

// x = λ - β(J(v + αd) + e [+ p]), T(x).
void Surrogate::apply_T(bool strict, double alpha) {
  const Island& island = *island_;
  for (int i = 0; i < island.num_contacts; ++i) {
    const double beta = beta_[i];
    Vec3 x, projected;
    for (int r = 0; r < 3; ++r) {
      const int k = 3 * i + r;
      x[r] = anchor_[k] - beta * (Jv_[k] + alpha * Jd_[k] + island.e[k]);
    }
    ConeRegion region;
    if (strict) {
      region = project_strict(island.mu[i], x, projected);
    } else {
      x[2] -= beta * p_[i];
      region = project_prox(island.mu[i], x, projected);
    }
    region_[i] = static_cast<char>(region);
    for (int r = 0; r < 3; ++r) {
      x_[3 * i + r] = x[r];
      T_[3 * i + r] = projected[r];
    }
  }
  for (int i = island.num_contacts; i < island.num_constraints; ++i) {
    const int k = island.constraints[i].row, s = island.row_index(i);
    const double beta = beta_[i];
    x_[k] = anchor_[k] - beta * (Jv_[k] + alpha * Jd_[k] + island.e[k]);
    T_[k] = project_row(x_[k], beta * island.compliance[s], island.lower[s], island.upper[s]);
    region_[i] = static_cast<char>(T_[k] > island.lower[s] && T_[k] < island.upper[s]);
  }
}

double Surrogate::evaluate_at(bool strict, double alpha) {
  apply_T(strict, alpha);
  return compute_residual(alpha);
}

double Surrogate::compute_residual(double alpha) {
  scatter_rows(*island_, T_.data(), side_.data());
  multiply_JT(*island_, side_.data(), true, r_.data());
  double sum = 0.0;
  for (int i = 0; i < island_->v_size; ++i) {
    r_[i] = v_[i] + alpha * d_[i] - r_[i];
    sum += r_[i] * r_[i];
  }
  return std::sqrt(sum);
}

double Surrogate::evaluate(bool strict) { return evaluate_at(strict, 0.0); }

void Surrogate::compute_direction_products() {
  multiply_J(*island_, d_.data(), side_.data());
  gather_sides(*island_, side_.data(), false, Jd_.data());
}

void Surrogate::move(double alpha) {
  for (int i = 0; i < island_->v_size; ++i) v_[i] += alpha * d_[i];
  for (int i = 0; i < island_->rows; ++i) Jv_[i] += alpha * Jd_[i];
}

double Surrogate::rounding_floor() const {
  double sum = 0.0;
  for (int i = 0; i < island_->num_constraints; ++i) {
    const Constraint& c = island_->constraints[i];
    if (c.dim == 3 && T_[c.row + 2] <= 0.0) continue;
    double velocity = 0.0, impulse = 0.0;
    for (int r = 0; r < c.dim; ++r) {
      const double a = std::abs(Jv_[c.row + r]) + std::abs(island_->e[c.row + r]);
      velocity += a * a;
      impulse += anchor_[c.row + r] * anchor_[c.row + r];
    }
    const double size = beta_[i] * std::sqrt(velocity) + std::sqrt(impulse);
    sum += island_->w_bar[i] * size * size;
  }
  return 8.0 * kEpsilon * std::sqrt(sum);
}

double Surrogate::rounding_defect() const {
  double sum = 0.0;
  for (int i = 0; i < island_->num_constraints; ++i) {
    const Constraint& c = island_->constraints[i];
    if (c.dim == 3 && T_[c.row + 2] <= 0.0) continue;
    double velocity = 0.0;
    for (int r = 0; r < c.dim; ++r) velocity += std::pow(std::abs(Jv_[c.row + r]) + std::abs(island_->e[c.row + r]), 2);
    sum += std::pow(beta_[i] * island_->w_bar[i], 2) * velocity;
  }
  return kEpsilon * std::sqrt(sum);
}

bool Surrogate::newton_direction(bool strict) {
  const Island& island = *island_;
  for (int i = 0; i < island.num_contacts; ++i) {
    const Vec3 x(x_[3 * i], x_[3 * i + 1], x_[3 * i + 2]);
    Mat3 D;
    if (strict) {
      strict_derivative(island.mu[i], x, D);
    } else {
      prox_derivative(island.mu[i], x, D);
    }
    for (int r = 0; r < 3; ++r) {
      for (int c = 0; c < 3; ++c) K_[9 * i + 3 * r + c] = beta_[i] * D(r, c);
    }
  }
  for (int i = island.num_contacts; i < island.num_constraints; ++i) {
    const int s = island.row_index(i);
    K_[9 * island.num_contacts + s] =
        beta_[i] * row_derivative(x_[island.constraints[i].row], beta_[i] * island.compliance[s], island.lower[s],
                                  island.upper[s]);
  }
  factor_.assemble(island, K_.data(), !strict);
  bool ok = strict ? factor_.factor_lu() : factor_.factor_llt();
  for (double shift = 1e-12; !ok && shift < 1e-2; shift *= 100.0) {
    factor_.assemble(island, K_.data(), !strict);
    factor_.add_diagonal(island, shift);
    ok = strict ? factor_.factor_lu() : factor_.factor_llt();
  }
  if (!ok) return false;
  for (int i = 0; i < island.v_size; ++i) d_[i] = -r_[i];
  factor_.solve(island, d_.data());
  for (double value : d_) {
    if (!std::isfinite(value)) return false;
  }
  compute_direction_products();
  return true;
}

void Surrogate::multiply_H(const double* x, bool transposed, double* out) {
  const Island& island = *island_;
  const int row = transposed ? 1 : 3, col = transposed ? 3 : 1;
  multiply_J(island, x, side_.data());
  gather_sides(island, side_.data(), false, Kx_.data());
  for (int i = 0; i < island.num_contacts; ++i) {
    const double* K = &K_[9 * i];
    const double a = Kx_[3 * i], b = Kx_[3 * i + 1], c = Kx_[3 * i + 2];
    for (int r = 0; r < 3; ++r) Kx_[3 * i + r] = K[r * row] * a + K[r * row + col] * b + K[r * row + 2 * col] * c;
  }
  for (int i = island.num_contacts; i < island.num_constraints; ++i) {
    Kx_[island.constraints[i].row] *= K_[9 * island.num_contacts + island.row_index(i)];
  }
  scatter_rows(island, Kx_.data(), side_.data());
  multiply_JT(island, side_.data(), false, out);
  for (int i = 0; i < island.v_size; ++i) out[i] += x[i];
}

NewtonResult Surrogate::newton_strict(const NewtonOptions& options, Monitor& monitor) {
  NewtonResult result;
  double r_norm = evaluate(true);
  first_region_ = region_;
  double reference = r_norm;  // must be halved within `patience` steps
  const double relative = options.relative * r_norm;
  int since_halved = 0;
  for (int step = 0;; ++step) {
    const double floor = rounding_floor();
    const double goal = std::max(options.tolerance, floor);
    if (r_norm <= goal ||
        (r_norm <= relative && (options.defect == 0.0 || defect() <= options.defect * al_residual()))) {
      result.converged = true;
      break;
    }
    if (step >= options.max_steps || monitor.expired()) break;
    if (!std::isfinite(r_norm) || !newton_direction(true)) {
      result.factor_failed = true;
      break;
    }
    ++result.steps;
    ++monitor.newton_steps;
    double best_alpha = 0.0, best_norm = r_norm;
    bool accepted = false;
    for (double alpha = 1.0; alpha > 0.007; alpha *= 0.5) {
      const double trial = evaluate_at(true, alpha);
      if (trial < best_norm) {
        best_norm = trial;
        best_alpha = alpha;
      }
      if (trial < (1.0 - 0.01 * alpha) * r_norm) {
        accepted = true;
        break;
      }
    }
    if (best_alpha == 0.0) {  // no decrease anywhere: stuck, perhaps at rounding
      r_norm = evaluate(true);
      result.converged = r_norm <= options.stuck_factor * goal;
      break;
    }
    move(best_alpha);
    r_norm = accepted ? best_norm : evaluate(true);
    if (r_norm < 0.5 * reference) {
      reference = r_norm;
      since_halved = 0;
    } else if (++since_halved >= options.patience) {
      result.converged = r_norm <= options.stuck_factor * goal;
      break;
    }
  }
  result.r_norm = r_norm;
  for (int i = 0; i < island_->num_constraints; ++i) result.region_changes += region_[i] != first_region_[i];
  return result;
}

// (26) minimises φ(α) = h(v + αd) by its slope, so that soft and bounded rows enter through T alone:
// φ'(α) = d·(v + αd - b) - Σ (J_i d)·λ_i(α),  φ'' = ‖d‖² + Σ β (J_i d)·D_i (J_i d): O(constraints) per evaluation.
double Surrogate::line_search(double tolerance) {
  const Island& island = *island_;
  const double dd = dot(d_, d_);
  double dv = 0.0;
  for (int i = 0; i < island.v_size; ++i) dv += d_[i] * (v_[i] - island.b[i]);
  const auto slope = [&](double alpha, double& curvature) {
    apply_T(false, alpha);
    double first = dv + alpha * dd;
    curvature = dd;
    for (int i = 0; i < island.num_contacts; ++i) {
      Mat3 D;
      const Vec3 Jd(Jd_[3 * i], Jd_[3 * i + 1], Jd_[3 * i + 2]);
      const Vec3 x(x_[3 * i], x_[3 * i + 1], x_[3 * i + 2]);
      for (int r = 0; r < 3; ++r) first -= Jd[r] * T_[3 * i + r];
      prox_derivative(island.mu[i], x, D);
      curvature += beta_[i] * Jd.dot(D * Jd);
    }
    for (int i = island.num_contacts; i < island.num_constraints; ++i) {
      const int k = island.constraints[i].row, s = island.row_index(i);
      first -= Jd_[k] * T_[k];
      curvature += beta_[i] * Jd_[k] * Jd_[k] *
                   row_derivative(x_[k], beta_[i] * island.compliance[s], island.lower[s], island.upper[s]);
    }
    return first;
  };
  return find_step(slope, dot(d_, r_), tolerance);
}

NewtonResult Surrogate::newton_convex(const NewtonOptions& options, Monitor& monitor) {
  NewtonResult result;
  double r_norm = evaluate(false);
  first_region_ = region_;
  double least = r_norm;
  const double relative = options.relative * r_norm;
  int since_gain = 0;
  for (int step = 0;; ++step) {
    const double goal = std::max(options.tolerance, rounding_floor());
    if (r_norm <= goal || (r_norm <= relative && defect() <= options.defect * al_residual())) {
      result.converged = true;
      break;
    }
    if (step >= options.max_steps || monitor.expired()) break;
    if (!std::isfinite(r_norm) || !newton_direction(false)) {
      result.factor_failed = true;
      break;
    }
    ++result.steps;
    ++monitor.newton_steps;
    move(line_search(options.line_tolerance));
    if (step % 8 == 7) {
      refresh();
      r_norm = evaluate(false);
    } else {
      r_norm = compute_residual(0.0);  // T is that of the step
    }
    if (r_norm < 0.9 * least) {
      least = r_norm;
      since_gain = 0;
    } else if (++since_gain >= 8 && r_norm <= options.stuck_factor * goal) {
      result.converged = true;  // rounding
      break;
    }
  }
  result.r_norm = r_norm;
  for (int i = 0; i < island_->num_constraints; ++i) result.region_changes += region_[i] != first_region_[i];
  return result;
}

}  // namespace almond
