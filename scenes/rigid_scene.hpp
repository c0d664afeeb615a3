#pragma once
// Free rigid bodies and contacts between points, turned into a ContactProblem.

#include "almond/base/spatial.hpp"
#include "almond/solver/problem.hpp"

namespace almond::scenes {

inline constexpr double kGravity = 9.81;  // [m/s²]
inline constexpr int kGround = -1;

struct RigidBody {
  double mass = 1.0;                // [kg]
  Mat3 inertia = Mat3::Identity();  // about the centre, world axes [kg m²]
  Vec3 position = Vec3::Zero();     // centre [m]
  Vec3 velocity = Vec3::Zero();     // at the start of the step [m/s]
  Vec3 spin = Vec3::Zero();         // [rad/s]
};

/// Inertia of a box with the given edge lengths.
inline Mat3 make_box_inertia(double mass, const Vec3& edges) {
  const Vec3 square = edges.cwiseProduct(edges);
  return (mass / 12.0 * Vec3(square[1] + square[2], square[0] + square[2], square[0] + square[1])).asDiagonal();
}

inline Mat3 make_sphere_inertia(double mass, double radius) { return 0.4 * mass * radius * radius * Mat3::Identity(); }

/// Adds a body as a subsystem: A = M, b = M v + impulse, impulse = [force; torque] dt.
inline int add_body(ContactProblem& problem, const RigidBody& body, const Vec6& impulse) {
  Mat6 M = make_spatial_inertia(body.mass, Vec3::Zero(), body.inertia);
  Vec6 v;
  v << body.velocity, body.spin;
  return problem.add_subsystem(M, M * v + impulse);
}

inline Vec6 make_impulse(const Vec3& force, double dt) {
  Vec6 impulse = Vec6::Zero();
  impulse.head<3>() = force * dt;
  return impulse;
}

/// A contact at `point` (world) whose normal, third column of R, points towards body `b`; `a` may be kGround. Subsystem
/// i is bodies[i].
inline void add_point_contact(ContactProblem& problem, const std::vector<RigidBody>& bodies, int a, int b,
                              const Vec3& point, const Mat3& R, double mu, const Vec3& e) {
  SideInput side_b, side_a;
  side_b.subsystem = b;
  side_b.J = make_point_jacobian(point - bodies[b].position, R);
  if (a == kGround) {
    problem.add_contact(mu, e, side_b);
    return;
  }
  side_a.subsystem = a;
  side_a.J = -make_point_jacobian(point - bodies[a].position, R);
  problem.add_contact(mu, e, side_b, side_a);
}

}  // namespace almond::scenes
