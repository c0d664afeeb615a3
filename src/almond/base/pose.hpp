#pragma once
// Rigid transforms, and rotations as unit quaternions in the order w, x, y, z.

#include <cmath>

#include "almond/base/spatial.hpp"
#include "almond/base/types.hpp"

namespace almond {

/// X_AB: axes (columns of R) and origin p of a frame B, in the axes of A. X_AC = X_AB * X_BC; p_A = X_AB * p_B.
struct Pose {
  Mat3 R = Mat3::Identity();
  Vec3 p = Vec3::Zero();

  [[nodiscard]] Pose operator*(const Pose& other) const { return {R * other.R, p + R * other.p}; }
  [[nodiscard]] Vec3 operator*(const Vec3& point) const { return p + R * point; }
  [[nodiscard]] Pose inverse() const { return {R.transpose(), -(R.transpose() * p)}; }
};

inline Pose make_translation(const Vec3& p) { return {Mat3::Identity(), p}; }
inline Pose make_translation(double x, double y, double z) { return {Mat3::Identity(), Vec3(x, y, z)}; }
/// Rotation by `angle` [rad] about the unit vector `axis`.
inline Pose make_rotation(const Vec3& axis, double angle, const Vec3& p = Vec3::Zero()) {
  return {exp_so3(axis * angle), p};
}

using Vec4 = Eigen::Vector4d;

/// Product of unit quaternions (w, x, y, z): first b, then a.
inline Vec4 multiply_quaternions(const Vec4& a, const Vec4& b) {
  return {a[0] * b[0] - a[1] * b[1] - a[2] * b[2] - a[3] * b[3], a[0] * b[1] + a[1] * b[0] + a[2] * b[3] - a[3] * b[2],
          a[0] * b[2] - a[1] * b[3] + a[2] * b[0] + a[3] * b[1], a[0] * b[3] + a[1] * b[2] - a[2] * b[1] + a[3] * b[0]};
}

inline Mat3 quaternion_to_matrix(const Vec4& q) {
  const double w = q[0], x = q[1], y = q[2], z = q[3];
  Mat3 R;
  R << 1.0 - 2.0 * (y * y + z * z), 2.0 * (x * y - w * z), 2.0 * (x * z + w * y),  //
      2.0 * (x * y + w * z), 1.0 - 2.0 * (x * x + z * z), 2.0 * (y * z - w * x),   //
      2.0 * (x * z - w * y), 2.0 * (y * z + w * x), 1.0 - 2.0 * (x * x + y * y);
  return R;
}

/// The unit quaternion with w >= 0 of a rotation matrix.
inline Vec4 matrix_to_quaternion(const Mat3& R) {
  const Eigen::Quaterniond q(R);
  const Vec4 result(q.w(), q.x(), q.y(), q.z());
  return (q.w() < 0.0 ? -result : result).normalized();
}

/// Rotation by |r| about r as a quaternion.
inline Vec4 exp_quaternion(const Vec3& r) {
  const double angle = r.norm(), half = 0.5 * angle;
  const double s = angle < 1e-4 ? 0.5 - angle * angle / 48.0 : std::sin(half) / angle;
  return {std::cos(half), s * r.x(), s * r.y(), s * r.z()};
}

/// The rotation vector r with exp_so3(r) = R and |r| <= π.
inline Vec3 log_so3(const Mat3& R) {
  const Vec4 q = matrix_to_quaternion(R);
  const Vec3 axis = q.tail<3>();
  const double s = axis.norm();
  return s < 1e-12 ? Vec3(2.0 * axis) : Vec3(axis * (2.0 * std::atan2(s, q[0]) / s));
}

}  // namespace almond
