#include "almond/sim/held.hpp"

#include <algorithm>
#include <cmath>

namespace almond {
namespace {

/// Sine of the angle to the tangent below which a motion is along it: normals of curved shapes are no better, and a
/// joint would have to move by a metre to open a micrometre.
constexpr double kSine = 1e-6;
constexpr double kLocked = 1e-9;  // [rad or m] between limits that leave no room

bool is_locked(const Joint& joint) { return joint.kind != JointKind::kBall && joint.upper - joint.lower <= kLocked; }

/// Whether the joint that carries `body` moves the point p (world) of it along n.
bool moves_along(const Model& model, const Kinematics& kin, int body, const Vec3& p, const Vec3& n) {
  const int tree = model.bodies[body].subsystem;
  const Joint& joint = model.joints[body];
  if (tree < 0 || is_locked(joint)) return false;
  const Vec3 arm = p - kin.reference[tree];
  for (int k = 0; k < num_velocities(joint.kind); ++k) {
    const auto S = kin.S.col(joint.v_begin + k);
    const Vec3 linear = S.head<3>(), angular = S.tail<3>();
    if (std::abs(n.dot(linear + angular.cross(arm))) > kSine * (linear.norm() + angular.norm() * arm.norm()))
      return true;
  }
  return false;
}

}  // namespace

bool can_open(const Model& model, const Kinematics& kin, const ContactPoint& point) {
  int a = point.body_a, b = point.body_b;
  while (a != b) {  // up to what carries both; parents have smaller numbers
    int& body = a > b ? a : b;
    if (moves_along(model, kin, body, a > b ? point.on_a() : point.on_b(), point.n)) return true;
    body = model.bodies[body].parent;
  }
  return false;
}

int leave_out_held(const Model& model, const Kinematics& kin, Contacts& contacts) {
  const auto held = [&](const ContactPoint& point) { return !can_open(model, kin, point); };
  std::erase_if(contacts.spare, held);
  return static_cast<int>(std::erase_if(contacts.points, held));
}

}  // namespace almond
