// The builder's part for what acts on joints and bodies: drives, springs, tendons, closures.

#include "almond/model/builder.hpp"
#include "almond/model/checks.hpp"

namespace almond {
namespace {

using namespace checks;

/// A drive that could never follow its target is a mistake.
void check_gains(const Drive& drive, const std::string& place) {
  check_at_least_zero(drive.stiffness, place, "stiffness");
  check_at_least_zero(drive.damping, place, "damping");
  require(drive.mode != DriveMode::kPosition || drive.stiffness > 0.0,
          place + ": stiffness is 0, expected > 0 for a position drive");
  require(drive.mode != DriveMode::kVelocity || drive.damping > 0.0,
          place + ": damping is 0, expected > 0 for a velocity drive");
}

/// A joint that a drive, a tendon or a mimic can hold on to.
void check_one_dof(const Joint& joint, const std::string& place) {
  require(is_one_dof(joint.kind), place + ": joint " + quote(joint.name) + " is " + to_string(joint.kind) +
                                      ", expected revolute, continuous or prismatic");
}

}  // namespace

int ModelBuilder::add_tendon(const Tendon& tendon) {
  check_name(names_.tendon, tendon.name, "tendon");
  const std::string place = label("tendon", tendon.name);
  require(!tendon.terms.empty(), place + ": has no joints, expected at least one");
  for (const auto& [joint, coefficient] : tendon.terms) {
    check_index(joint, model_.joints.size(), false, place, "joint");
    check_one_dof(model_.joints[joint], place);
    check_finite(coefficient, place, "coefficient");
  }
  require(tendon.lower <= tendon.upper, place + ": limits " + to_text(tendon.lower) + " to " + to_text(tendon.upper) +
                                            ", expected the lower one first");
  require(tendon.rest_lower <= tendon.rest_upper, place + ": rest " + to_text(tendon.rest_lower) + " to " +
                                                      to_text(tendon.rest_upper) + ", expected the lower one first");
  check_at_least_zero(tendon.stiffness, place, "stiffness");
  check_at_least_zero(tendon.damping, place, "damping");
  check_at_least_zero(tendon.dry_friction, place, "dry_friction");
  names_.tendon.insert(tendon.name);
  model_.tendons.push_back(tendon);
  return static_cast<int>(model_.tendons.size()) - 1;
}

int ModelBuilder::add_drive(const Drive& drive) {
  Drive d = drive;
  const std::string nameless = label("drive", d.name, model_.drives.size());
  if (d.tendon >= 0) {
    check_index(d.tendon, model_.tendons.size(), false, nameless, "tendon");
    require(d.joint < 0, nameless + ": acts on joint " + std::to_string(d.joint) + " and on tendon " +
                             std::to_string(d.tendon) + ", expected one of them");
    if (d.name.empty()) d.name = model_.tendons[d.tendon].name;
    require(d.mode != DriveMode::kImpedance, nameless + ": mode is impedance on a tendon, expected another one");
  } else {
    check_index(d.joint, model_.joints.size(), false, nameless, "joint");
    if (d.name.empty()) d.name = model_.joints[d.joint].name;
  }
  check_name(names_.drive, d.name, "drive");
  const std::string place = label("drive", d.name);
  if (d.joint >= 0) check_one_dof(model_.joints[d.joint], place);
  check_kind(d.mode, DriveMode::kImpedance, place, "mode", "torque, position, velocity or impedance");
  check_gains(d, place);
  require(d.effort_limit > 0.0, place + ": effort_limit is " + to_text(d.effort_limit) + ", expected > 0");
  check_finite(d.effort_middle, place, "effort_middle");
  require(std::isfinite(d.effort_limit) || d.effort_middle == 0.0,
          place + ": effort_middle is " + to_text(d.effort_middle) + " without an effort_limit, expected 0");
  check_finite(d.target, place, "target");
  check_finite(d.target_velocity, place, "target_velocity");
  check_finite(d.feedforward, place, "feedforward");
  names_.drive.insert(d.name);
  model_.drives.push_back(d);
  return static_cast<int>(model_.drives.size()) - 1;
}

int ModelBuilder::add_spring(const Spring& spring) {
  check_name(names_.spring, spring.name, "spring");
  const std::string place = label("spring", spring.name);
  check_index(spring.body_a, model_.bodies.size(), true, place, "body");
  check_index(spring.body_b, model_.bodies.size(), true, place, "body");
  require(spring.body_a != spring.body_b, place + ": both ends are on one body, expected two");
  check_vector(spring.point_a, place, "point_a");
  check_vector(spring.point_b, place, "point_b");
  check_at_least_zero(spring.stiffness, place, "stiffness");
  check_at_least_zero(spring.damping, place, "damping");
  check_at_least_zero(spring.rest_length, place, "rest_length");
  require(spring.stiffness + spring.damping > 0.0, place + ": stiffness and damping are 0, expected one > 0");
  names_.spring.insert(spring.name);
  model_.springs.push_back(spring);
  return static_cast<int>(model_.springs.size()) - 1;
}

int ModelBuilder::add_closure(const Closure& closure) {
  check_name(names_.closure, closure.name, "closure");
  const std::string place = label("closure", closure.name);
  check_kind(closure.kind, ClosureKind::kTendon, place, "kind", "connect, weld, mimic or tendon");
  const bool mimic = closure.kind == ClosureKind::kMimic, tendon = closure.kind == ClosureKind::kTendon;
  const char* what = mimic ? "joint" : tendon ? "tendon" : "body";
  for (const int index : {closure.a, closure.b})
    check_index(index, tendon ? model_.tendons.size() : model_.bodies.size(), !mimic && !tendon, place, what);
  // A joint that mimics itself at ratio 0 is held at the offset.
  require(closure.a != closure.b || ((mimic || tendon) && closure.ratio == 0.0),
          place + ": closes a " + what + " on itself, expected two");
  check_pose(closure.X_a, place, "X_a");
  check_pose(closure.X_b, place, "X_b");
  check_finite(closure.ratio, place, "ratio");
  check_finite(closure.offset, place, "offset");
  if (mimic) {
    for (const int joint : {closure.a, closure.b}) check_one_dof(model_.joints[joint], place);
  }
  names_.closure.insert(closure.name);
  model_.closures.push_back(closure);
  return static_cast<int>(model_.closures.size()) - 1;
}

}  // namespace almond
