#include "almond/model/model.hpp"

#include <algorithm>
#include <cmath>

#include "almond/base/check.hpp"
#include "almond/base/text.hpp"

namespace almond {
namespace {

template <class Elements>
int find_by_name(const Elements& elements, const std::string& name, const char* what) {
  for (std::size_t i = 0; i < elements.size(); ++i)
    if (elements[i].name == name) return static_cast<int>(i);
  std::vector<std::string> names;
  for (const auto& element : elements) names.push_back(element.name);
  const std::string near = nearest_name(name, names);
  throw Error(std::string("no ") + what + " is called " + quote(name) +
              (near.empty() ? "" : "; did you mean " + quote(near) + "?"));
}

bool contains(const std::vector<std::pair<int, int>>& pairs, int a, int b) {
  return std::binary_search(pairs.begin(), pairs.end(), std::pair<int, int>(std::min(a, b), std::max(a, b)));
}

const GeomPair* find_pair(const Model& model, int geom_a, int geom_b) {
  if (model.pairs.empty()) return nullptr;
  const auto [a, b] = std::minmax(geom_a, geom_b);
  const auto found = std::lower_bound(model.pairs.begin(), model.pairs.end(), std::pair(a, b),
                                      [](const GeomPair& p, const auto& key) { return std::pair(p.a, p.b) < key; });
  return found != model.pairs.end() && found->a == a && found->b == b ? &*found : nullptr;
}

}  // namespace

const char* to_string(JointKind kind) {
  switch (kind) {
    case JointKind::kFixed:
      return "fixed";
    case JointKind::kFree:
      return "free";
    case JointKind::kBall:
      return "ball";
    case JointKind::kRevolute:
      return "revolute";
    case JointKind::kContinuous:
      return "continuous";
    case JointKind::kPrismatic:
      return "prismatic";
  }
  return "unknown";
}

int num_positions(JointKind kind) {
  switch (kind) {
    case JointKind::kFixed:
      return 0;
    case JointKind::kFree:
      return 7;
    case JointKind::kBall:
      return 4;
    default:
      return 1;
  }
}

int num_velocities(JointKind kind) {
  switch (kind) {
    case JointKind::kFixed:
      return 0;
    case JointKind::kFree:
      return 6;
    case JointKind::kBall:
      return 3;
    default:
      return 1;
  }
}

const char* to_string(DriveMode mode) {
  switch (mode) {
    case DriveMode::kTorque:
      return "torque";
    case DriveMode::kPosition:
      return "position";
    case DriveMode::kVelocity:
      return "velocity";
    case DriveMode::kImpedance:
      return "impedance";
  }
  return "unknown";
}

int Model::body(const std::string& body_name) const { return find_by_name(bodies, body_name, "body"); }
int Model::joint(const std::string& joint_name) const { return find_by_name(joints, joint_name, "joint"); }
int Model::drive(const std::string& drive_name) const { return find_by_name(drives, drive_name, "drive"); }

double tendon_position(const Model& model, const Tendon& tendon, const VecX& q) {
  double x = 0.0;
  for (const auto& [joint, coefficient] : tendon.terms) x += coefficient * q[model.joints[joint].q_begin];
  return x;
}

bool may_collide(const Model& model, int geom_a, int geom_b) {
  const Geom &a = model.geoms[geom_a], &b = model.geoms[geom_b];
  const bool paired = find_pair(model, geom_a, geom_b) != nullptr;
  if (!paired && ((a.group & b.mask) == 0 || (b.group & a.mask) == 0)) return false;
  // Bodies welded together act as one; so do all that are welded to the ground.
  const int weld_a = a.body < 0 ? kGround : model.bodies[a.body].weld;
  const int weld_b = b.body < 0 ? kGround : model.bodies[b.body].weld;
  if (weld_a == weld_b) return false;
  if (paired) return true;
  if (!model.excluded.empty() && contains(model.excluded, a.body, b.body)) return false;
  // A robot's first link passes through the base it is mounted on, but not through the floor.
  const auto hangs_on = [&](int child, int parent_weld, int parent_body) {
    if (child < 0 || model.bodies[child].parent < 0) return false;
    const int above = model.bodies[child].parent;
    return parent_weld < 0 ? above == parent_body : model.bodies[above].weld == parent_weld;
  };
  if (hangs_on(weld_a, weld_b, b.body) || hangs_on(weld_b, weld_a, a.body))
    return contains(model.included, a.body, b.body);
  return true;
}

Pose make_joint_pose(const Joint& joint, const double* q) {
  const auto turned = [&](const Mat3& R) { return Pose{R, joint.anchor - R * joint.anchor}; };
  switch (joint.kind) {
    case JointKind::kFixed:
      return {};
    case JointKind::kFree:
      return {quaternion_to_matrix(Vec4(q[3], q[4], q[5], q[6])), Vec3(q[0], q[1], q[2])};
    case JointKind::kBall:
      return turned(quaternion_to_matrix(Vec4(q[0], q[1], q[2], q[3])));
    case JointKind::kRevolute:
    case JointKind::kContinuous:
      return turned(exp_so3(joint.axis * q[0]));
    case JointKind::kPrismatic:
      return make_translation(joint.axis * q[0]);
  }
  return {};
}

Material combine(const Model& model, int geom_a, int geom_b) {
  if (const GeomPair* pair = find_pair(model, geom_a, geom_b)) return pair->material;
  const Geom &a = model.geoms[geom_a], &b = model.geoms[geom_b];
  Material material;
  material.restitution = std::max(a.material.restitution, b.material.restitution);
  if (a.material.priority != b.material.priority) {
    const Material& decides = a.material.priority > b.material.priority ? a.material : b.material;
    material.mu = decides.smooth ? 0.0 : decides.mu;
    return material;
  }
  const double mu_a = a.material.mu, mu_b = b.material.mu;
  switch (model.friction_combine) {
    case Combine::kGeometricMean:
      material.mu = mu_a == mu_b ? mu_a : std::sqrt(mu_a * mu_b);
      break;
    case Combine::kMaximum:
      material.mu = std::max(mu_a, mu_b);
      break;
    case Combine::kMinimum:
      material.mu = std::min(mu_a, mu_b);
      break;
  }
  if (a.material.smooth && b.material.smooth) material.mu = 0.0;
  return material;
}

}  // namespace almond
