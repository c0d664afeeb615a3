#pragma once
// The closed-form operators T of the constraints and their derivatives. Contact components are (t1, t2, n).
//
//   strict   λ_n = max(0, x_n);  λ_t = x_t min(1, μλ_n / ‖x_t‖)                                            (17)
//            with x = λ_prev - β(Jv + e), (z, λ) satisfies Signorini-Coulomb exactly
//   prox     closest point of the cone ‖λ_t‖ <= μλ_n: stick | open | slip                                   (21)
//   d prox   0 | I | 1/(1+μ²) [ μ²I + μ(x_n/‖x_t‖)(I - t tᵀ)   μt ;  μtᵀ   1 ],  t = x_t/‖x_t‖ a column       (23)
//   d strict 0 | I | [ (μx_n/‖x_t‖)(I - t tᵀ)   μt ;  0   1 ],  not symmetric
//
// ERRATUM: (23) as printed swaps the transposes of μt; tests check these forms by finite differences.
//
// Rows of one component all read  λ = clamp(x / (1 + βc), lower, upper)  with compliance c = 1/b for soft rows, 0 else:
// (14), (15).

#include <algorithm>
#include <cmath>

#include "almond/base/types.hpp"

namespace almond {

enum class ConeRegion : std::uint8_t { kOpen, kStick, kSlip };

inline ConeRegion project_strict(double mu, const Vec3& x, Vec3& lambda) {
  if (x[2] <= 0.0) {
    lambda.setZero();
    return ConeRegion::kOpen;
  }
  lambda = x;
  const double radius = mu * x[2];
  const double norm2 = x[0] * x[0] + x[1] * x[1];
  if (norm2 <= radius * radius) return ConeRegion::kStick;
  const double scale = radius / std::sqrt(norm2);
  lambda[0] *= scale;
  lambda[1] *= scale;
  return ConeRegion::kSlip;
}

inline ConeRegion project_prox(double mu, const Vec3& x, Vec3& lambda) {
  const double norm = std::sqrt(x[0] * x[0] + x[1] * x[1]);
  if (x[2] >= 0.0 && norm <= mu * x[2]) {
    lambda = x;
    return ConeRegion::kStick;
  }
  if (mu * norm <= -x[2]) {
    lambda.setZero();
    return ConeRegion::kOpen;
  }
  const double normal = (x[2] + mu * norm) / (1.0 + mu * mu);
  const double scale = norm > 0.0 ? mu * normal / norm : 0.0;
  lambda = {scale * x[0], scale * x[1], normal};
  return ConeRegion::kSlip;
}

/// Derivative of project_strict at x, row-major meaning D(i, j) = dλ_i / dx_j.
inline ConeRegion strict_derivative(double mu, const Vec3& x, Mat3& D) {
  if (x[2] <= 0.0) {
    D.setZero();
    return ConeRegion::kOpen;
  }
  if (mu == 0.0) {
    D = Vec3::UnitZ().asDiagonal();
    return ConeRegion::kSlip;
  }
  const double radius = mu * x[2];
  const double norm2 = x[0] * x[0] + x[1] * x[1];
  if (norm2 <= radius * radius) {
    D.setIdentity();
    return ConeRegion::kStick;
  }
  const double norm = std::sqrt(norm2);
  const double t0 = x[0] / norm, t1 = x[1] / norm, rho = radius / norm;
  D << rho * t1 * t1, -rho * t0 * t1, mu * t0,  //
      -rho * t0 * t1, rho * t0 * t0, mu * t1,   //
      0.0, 0.0, 1.0;
  return ConeRegion::kSlip;
}

/// Derivative of project_prox at x; symmetric positive semidefinite.
inline ConeRegion prox_derivative(double mu, const Vec3& x, Mat3& D) {
  const double norm = std::sqrt(x[0] * x[0] + x[1] * x[1]);
  if (mu * norm <= -x[2]) {
    D.setZero();
    return ConeRegion::kOpen;
  }
  if (mu == 0.0) {
    D = Vec3::UnitZ().asDiagonal();
    return ConeRegion::kSlip;
  }
  if (norm <= mu * x[2]) {
    D.setIdentity();
    return ConeRegion::kStick;
  }
  const double t0 = x[0] / norm, t1 = x[1] / norm, s = 1.0 / (1.0 + mu * mu);
  const double a = mu * mu, c = std::max(0.0, mu * x[2] / norm + a);         // along t: a; across t: c >= 0
  D << s * (a * t0 * t0 + c * t1 * t1), s * (a - c) * t0 * t1, s * mu * t0,  //
      s * (a - c) * t0 * t1, s * (a * t1 * t1 + c * t0 * t0), s * mu * t1,   //
      s * mu * t0, s * mu * t1, s;
  return ConeRegion::kSlip;
}

/// T of a one-component row: hard, soft, equality, bounded differ only in compliance and bounds.
inline double project_row(double x, double beta_compliance, double lower, double upper) {
  return std::clamp(x / (1.0 + beta_compliance), lower, upper);
}

inline double row_derivative(double x, double beta_compliance, double lower, double upper) {
  const double value = x / (1.0 + beta_compliance);
  return value > lower && value < upper ? 1.0 / (1.0 + beta_compliance) : 0.0;
}

}  // namespace almond
