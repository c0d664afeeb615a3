#pragma once
// Spatial algebra in world axes, order [linear; angular], all quantities at one reference point.
//
//   velocity   V = [v; ω]: v is the velocity of the point of the body that passes the reference point
//   wrench     F = [f; τ]: τ is the moment about the reference point;  power = Vᵀ F
//
// Points are given relative to the reference point. A reference near the bodies keeps m|c|² from swamping a small
// inertia.

#include <Eigen/Geometry>
#include <cmath>

#include "almond/base/types.hpp"

namespace almond {

/// skew(a) b = a × b.
inline Mat3 skew(const Vec3& a) {
  Mat3 m;
  m << 0.0, -a.z(), a.y(), a.z(), 0.0, -a.x(), -a.y(), a.x(), 0.0;
  return m;
}

/// Rotation by |r| radians about r (Rodrigues), exact to rounding for small |r| too.
inline Mat3 exp_so3(const Vec3& r) {
  const double angle2 = r.squaredNorm();
  const double angle = std::sqrt(angle2);
  // sin(x)/x and (1 - cos(x))/x², by their series where the quotient would lose digits.
  const double a = angle < 1e-4 ? 1.0 - angle2 / 6.0 : std::sin(angle) / angle;
  const double b = angle < 1e-4 ? 0.5 - angle2 / 24.0 : (1.0 - std::cos(angle)) / angle2;
  const Mat3 k = skew(r);
  return Mat3::Identity() + a * k + b * k * k;
}

/// Columns (t1, t2, n) of a right-handed frame whose third axis is the unit vector n.
inline Mat3 make_frame(const Vec3& n) {
  const Vec3 helper = std::abs(n.x()) < 0.7 ? Vec3::UnitX() : Vec3::UnitY();
  Mat3 R;
  R.col(1) = n.cross(helper).normalized();
  R.col(0) = R.col(1).cross(n);
  R.col(2) = n;
  return R;
}

/// Spatial inertia of a body of mass m with centre c and rotational inertia I_c about c, world axes:
///   M = [ m 1   -m c× ;  m c×   I_c - m c× c× ].
inline Mat6 make_spatial_inertia(double mass, const Vec3& c, const Mat3& I_c) {
  const Mat3 cx = skew(c);
  Mat6 M;
  M.topLeftCorner<3, 3>() = mass * Mat3::Identity();
  M.topRightCorner<3, 3>() = -mass * cx;
  M.bottomLeftCorner<3, 3>() = mass * cx;
  M.bottomRightCorner<3, 3>() = I_c - mass * cx * cx;
  return M;
}

/// Velocity of point p along the columns of R: Rᵀ [1  -p×] (3 x 6).
inline Eigen::Matrix<double, 3, 6> make_point_jacobian(const Vec3& p, const Mat3& R) {
  Eigen::Matrix<double, 3, 6> J;
  J.leftCols<3>() = R.transpose();
  J.rightCols<3>() = -R.transpose() * skew(p);
  return J;
}

/// Motion subspace of a hinge about the unit axis a through point p.
inline Vec6 make_revolute(const Vec3& a, const Vec3& p) {
  Vec6 S;
  S << p.cross(a), a;
  return S;
}

/// Motion subspace of a slider along the unit axis a.
inline Vec6 make_prismatic(const Vec3& a) {
  Vec6 S;
  S << a, Vec3::Zero();
  return S;
}

}  // namespace almond
