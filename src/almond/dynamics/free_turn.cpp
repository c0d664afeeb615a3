#include "almond/dynamics/free_turn.hpp"

#include <Eigen/Eigenvalues>
#include <algorithm>
#include <array>
#include <cmath>
#include <numbers>

namespace almond {
namespace {

constexpr double kPiece = 0.35;   // [rad] of a series: terms fall by at least that factor
constexpr int kMostPieces = 750;  // 256 rad
constexpr int kMostTerms = 32;
constexpr double kLost = 1e-18;  // relative: a term that changes no digit any more

struct Principal {
  Vec3 moments;  // [kg m²]
  Mat3 axes = Mat3::Identity();
  bool turned = false;  // axes differ from those of the body
};

Principal find_axes(const Mat3& inertia) {
  Principal p{inertia.diagonal()};
  if ((inertia - Mat3(p.moments.asDiagonal())).isZero(0.0)) return p;
  const Eigen::SelfAdjointEigenSolver<Mat3> solver(inertia);
  p.moments = solver.eigenvalues();
  p.axes = solver.eigenvectors();
  if (p.axes.determinant() < 0.0) p.axes.col(0) *= -1.0;
  p.turned = true;
  return p;
}

Vec4 turn_by(const Vec4& q, const Vec3& w) {
  return {-q[1] * w[0] - q[2] * w[1] - q[3] * w[2], q[0] * w[0] + q[2] * w[2] - q[3] * w[1],
          q[0] * w[1] - q[1] * w[2] + q[3] * w[0], q[0] * w[2] + q[1] * w[1] - q[2] * w[0]};
}

/// One piece of time `h`: ω and T there, in principal axes. `rate`: ω̇ = rate (ω₂ω₃, ω₃ω₁, ω₁ω₂).
void advance(const Vec3& rate, double h, Vec3& omega, Vec4& turn) {
  std::array<Vec3, kMostTerms> w;  // terms of the series, each times its power of h
  std::array<Vec4, kMostTerms> q;
  w[0] = h * omega;
  q[0] = turn;
  const double size = w[0].norm();
  Vec3 sum_w = w[0];
  Vec4 sum_q = q[0];
  for (int k = 0; k + 1 < kMostTerms; ++k) {
    Vec3 product = Vec3::Zero();
    Vec4 next = Vec4::Zero();
    for (int i = 0; i <= k; ++i) {
      const Vec3 &a = w[i], &b = w[k - i];
      product += Vec3(a[1] * b[2], a[2] * b[0], a[0] * b[1]);
      next += turn_by(q[i], b);
    }
    const double step = 1.0 / (k + 1);
    w[k + 1] = step * rate.cwiseProduct(product);
    q[k + 1] = 0.5 * step * next;
    sum_w += w[k + 1];
    sum_q += q[k + 1];
    // Odd and even terms may vanish by themselves.
    if (k > 0 && w[k + 1].norm() + w[k].norm() <= kLost * size && q[k + 1].norm() + q[k].norm() <= kLost) break;
  }
  omega = sum_w / h;
  turn = sum_q.normalized();
}

/// The rotation vector of a unit quaternion, next to `way` of all that turn alike.
Vec3 unwind(Vec4 q, const Vec3& way) {
  if (q.tail<3>().dot(way) < 0.0) q = -q;
  const double sine = q.tail<3>().norm();
  const Vec3 axis = sine > 0.0 ? Vec3(q.tail<3>() / sine) : way.normalized();  // whole turns, or none
  const double angle = 2.0 * std::atan2(sine, q[0]), whole = 2.0 * std::numbers::pi;
  return axis * (angle + whole * std::round((axis.dot(way) - angle) / whole));
}

}  // namespace

FreeTurn turn_freely(const Mat3& inertia, const Vec3& omega, double h) {
  FreeTurn out;
  const Principal p = find_axes(inertia);
  Vec3 w = p.turned ? Vec3(p.axes.transpose() * omega) : omega;
  const Vec3 momentum = p.moments.cwiseProduct(w), start = w;
  const Vec3 rate((p.moments[1] - p.moments[2]) / p.moments[0], (p.moments[2] - p.moments[0]) / p.moments[1],
                  (p.moments[0] - p.moments[1]) / p.moments[2]);
  double left = h;
  for (int piece = 0; piece < kMostPieces && left != 0.0; ++piece) {
    const double length = std::min(1.0, kPiece / std::max(std::abs(left) * w.norm(), kPiece)) * left;
    advance(rate, length, w, out.turn);
    left -= length;
  }
  out.way = unwind(out.turn, h * start);
  out.momentum = quaternion_to_matrix(out.turn).transpose() * momentum;
  out.omega = out.momentum.cwiseQuotient(p.moments);
  if (p.turned) {
    out.turn.tail<3>() = p.axes * Vec3(out.turn.tail<3>());
    for (Vec3* x : {&out.way, &out.momentum, &out.omega}) *x = p.axes * *x;
  }
  return out;
}

}  // namespace almond
