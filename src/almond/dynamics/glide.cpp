#include "almond/dynamics/glide.hpp"

namespace almond {
namespace {

bool is_ball_like(const Mat3& inertia) {
  const Vec3 d = inertia.diagonal();
  return d[0] == d[1] && d[1] == d[2] && (inertia - Mat3(d.asDiagonal())).isZero(0.0);
}

}  // namespace

bool spins_steadily(const Mat3& inertia, const Vec3& omega) {
  return is_ball_like(inertia) || omega.cross(inertia * omega).isZero(0.0);
}

bool bends(const Body& body, const Mat3& R, const Vec3& u, const Vec3& omega) {
  return !is_ball_like(body.inertia) && (u != omega || !spins_steadily(body.inertia, R.transpose() * omega));
}

void glide(const Body& body, const Joint& joint, const Mat3& R, const FreeTurn& turn, const VecX& u, double h,
           VecX& q) {
  auto turned = q.segment<4>(joint.q_begin + 3);
  turned = multiply_quaternions(turned, turn.turn).normalized();
  q.segment<3>(joint.q_begin) +=
      h * u.segment<3>(joint.v_begin) + (R - quaternion_to_matrix(turned)) * body.com;  // the centre goes straight
}

}  // namespace almond
