#include "almond/model/builder.hpp"

#include <Eigen/Eigenvalues>
#include <algorithm>
#include <cmath>

#include "almond/model/checks.hpp"
#include "almond/model/remarks.hpp"
#include "almond/model/sdf_solid.hpp"

namespace almond {
namespace {

using namespace checks;

constexpr double kFarthest = 1e12;  // of start values: what a step accepts

/// Row by row.
std::string inertia_text(const Mat3& I) {
  return "(" + vector_text(I.row(0)) + ", " + vector_text(I.row(1)) + ", " + vector_text(I.row(2)) + ")";
}

/// Mass and inertia of something that exists: eigenvalues positive, none larger than the sum of the others.
void check_mass(const BodySpec& spec, const std::string& place) {
  check_at_least_zero(spec.mass, place, "mass");
  check_vector(spec.com, place, "centre of mass");
  require(spec.inertia.allFinite(), place + ": inertia is " + inertia_text(spec.inertia) + ", expected finite values");
  const double size = spec.inertia.cwiseAbs().maxCoeff();
  require((spec.inertia - spec.inertia.transpose()).cwiseAbs().maxCoeff() <= 1e-9 * size,
          place + ": inertia is " + inertia_text(spec.inertia) + ", expected a symmetric one");
  check_finite(spec.gravcomp, place, "gravcomp");
  if (spec.from_file) return;
  if (spec.mass == 0.0) {
    require(size == 0.0,
            place + ": mass is 0 but the inertia is " + inertia_text(spec.inertia) + ", expected mass > 0");
    return;
  }
  const Vec3 d = Eigen::SelfAdjointEigenSolver<Mat3>(spec.inertia, Eigen::EigenvaluesOnly).eigenvalues();
  require(d[0] > 0.0, place + ": inertia has the principal moments " + vector_text(d) + ", expected > 0");
  require(d[0] + d[1] >= d[2] * (1.0 - kUnitTolerance),
          place + ": inertia has the principal moments " + vector_text(d) +
              ", expected the largest to be at most the sum of the others");
}

void check_time_step(double seconds, const std::string& place) {
  require(seconds >= kShortestTimeStep && seconds <= kLongestTimeStep,
          place + ": time step is " + to_text(seconds) + " s, expected " + to_text(kShortestTimeStep) + " to " +
              to_text(kLongestTimeStep));
}

void check_limits(const Joint& joint, const std::string& place) {
  require(joint.lower < kInfinity, place + ": lower is " + to_text(joint.lower) + ", expected a number or -inf");
  require(joint.upper > -kInfinity, place + ": upper is " + to_text(joint.upper) + ", expected a number or inf");
  require(joint.lower <= joint.upper, place + ": limits " + to_text(joint.lower) + " to " + to_text(joint.upper) +
                                          ", expected the lower one first");
  const bool limited = std::isfinite(joint.lower) || std::isfinite(joint.upper);
  if (joint.kind == JointKind::kBall) {
    require(std::isinf(joint.lower) && joint.upper > 0.0,
            place + ": a ball joint has limits " + to_text(joint.lower) + " to " + to_text(joint.upper) +
                ", expected none or an upper one > 0, of the angle of its rotation");
    return;
  }
  require(!limited || joint.kind == JointKind::kRevolute || joint.kind == JointKind::kPrismatic,
          place + ": a " + to_string(joint.kind) + " joint has limits, expected none");
}

/// Damper, rotor, dry friction and spring, and whether a joint of this kind may have them.
void check_passive(const Joint& joint, const std::string& place) {
  const bool moves = joint.kind != JointKind::kFixed && joint.kind != JointKind::kFree;
  const auto check = [&](double value, const char* field, bool allowed) {
    check_at_least_zero(value, place, field);
    require(allowed || value == 0.0,
            place + ": " + field + " is " + to_text(value) + " on a " + to_string(joint.kind) + " joint, expected 0");
  };
  check(joint.damping, "damping", moves);
  check(joint.armature, "armature", moves);
  check(joint.dry_friction, "dry_friction", moves);
  check(joint.stiffness, "stiffness", is_one_dof(joint.kind));
  check_finite(joint.rest, place, "rest");
}

void check_joint(Joint& joint, int parent) {
  const std::string place = label("joint", joint.name);
  check_kind(joint.kind, JointKind::kPrismatic, place, "kind", "fixed, free, ball, revolute, continuous or prismatic");
  check_pose(joint.X_PJ, place, "X_PJ");
  check_vector(joint.anchor, place, "anchor");
  check_vector(joint.axis, place, "axis");
  if (is_one_dof(joint.kind)) {
    require(joint.axis.norm() > 1e-9, place + ": axis is " + vector_text(joint.axis) + ", expected a direction");
    joint.axis.normalize();
  }
  check_limits(joint, place);
  check_passive(joint, place);
  require(joint.kind != JointKind::kFree || parent == kGround,
          place + ": a free joint hangs on a body, expected the ground");
}

MassProperties unit_solid(const Shape& shape, const std::string& place) {
  try {
    return solid_properties(shape, 1.0);
  } catch (const Error& error) {
    throw Error(place + ": " + error.what());
  }
}

VecX default_position(const Joint& joint) {
  VecX q = VecX::Zero(num_positions(joint.kind));
  if (joint.kind == JointKind::kBall) q[0] = 1.0;
  if (joint.kind == JointKind::kFree) q << joint.X_PJ.p, matrix_to_quaternion(joint.X_PJ.R);
  if (is_one_dof(joint.kind)) q[0] = std::clamp(0.0, joint.lower, joint.upper);
  return q;
}

/// Trees: each moving body whose parent cannot move starts one. Velocities and positions are numbered tree by tree.
void find_trees(Model& model) {
  for (int b = 0; b < model.num_bodies(); ++b) {
    Body& body = model.bodies[b];
    const bool fixed = model.joints[b].kind == JointKind::kFixed;
    const int above = body.parent < 0 ? -1 : model.bodies[body.parent].subsystem;
    body.weld = !fixed ? b : body.parent < 0 ? kGround : model.bodies[body.parent].weld;
    if (above < 0 && fixed) continue;
    if (above < 0) model.trees.emplace_back();
    body.subsystem = above < 0 ? static_cast<int>(model.trees.size()) - 1 : above;
    TreeInfo& tree = model.trees[body.subsystem];
    body.local = static_cast<int>(tree.bodies.size());
    tree.bodies.push_back(b);
    tree.parent.push_back(above < 0 ? -1 : model.bodies[body.parent].local);
  }
  for (TreeInfo& tree : model.trees) {
    tree.v_begin = model.num_v;
    for (const int b : tree.bodies) {
      Joint& joint = model.joints[b];
      joint.q_begin = model.num_q;
      joint.v_begin = model.num_v;
      tree.dof_offset.push_back(model.num_v - tree.v_begin);
      model.num_q += num_positions(joint.kind);
      model.num_v += num_velocities(joint.kind);
    }
    tree.dofs = model.num_v - tree.v_begin;
    tree.dof_offset.push_back(tree.dofs);
    tree.single = tree.bodies.size() == 1 && model.joints[tree.bodies[0]].kind == JointKind::kFree;
  }
}

/// A joint that moves no inertia would make the mass matrix singular.
void check_carried_mass(const Model& model) {
  std::vector<double> carried(model.bodies.size());
  for (int b = model.num_bodies() - 1; b >= 0; --b) {
    carried[b] += model.bodies[b].mass;
    if (model.bodies[b].parent >= 0) carried[model.bodies[b].parent] += carried[b];
    const Joint& joint = model.joints[b];
    require(joint.kind == JointKind::kFixed || carried[b] > 0.0 || joint.armature > 0.0,
            label("body", model.bodies[b].name) + ": mass is 0 and nothing with mass hangs on it, expected mass > 0");
  }
}

void check_material(const Material& material, const std::string& place) {
  check_at_least_zero(material.mu, place, "friction mu");
  require(material.restitution >= 0.0 && material.restitution <= 1.0,
          place + ": restitution is " + to_text(material.restitution) + ", expected 0 to 1");
}

/// A row of the problem reaches two trees at most.
void check_tendons(const Model& model) {
  const auto check = [&](const std::vector<const Tendon*>& tendons, const std::string& place) {
    std::vector<int> trees;
    for (const Tendon* tendon : tendons)
      for (const auto& [joint, coefficient] : tendon->terms) trees.push_back(model.bodies[joint].subsystem);
    std::sort(trees.begin(), trees.end());
    const auto count = std::unique(trees.begin(), trees.end()) - trees.begin();
    require(count <= 2, place + ": runs over " + std::to_string(count) + " trees, expected at most 2");
  };
  for (const Tendon& tendon : model.tendons) check({&tendon}, label("tendon", tendon.name));
  for (const Closure& closure : model.closures)
    if (closure.kind == ClosureKind::kTendon)
      check({&model.tendons[closure.a], &model.tendons[closure.b]}, label("closure", closure.name));
}

}  // namespace

Joint make_joint(JointKind kind, const Vec3& axis, const Pose& X_PJ, const std::string& name) {
  Joint joint;
  joint.kind = kind;
  joint.axis = axis;
  joint.X_PJ = X_PJ;
  joint.name = name;
  return joint;
}

ModelBuilder::ModelBuilder(std::string name) { model_.name = std::move(name); }

void ModelBuilder::set_friction_combine(Combine combine) {
  check_kind(combine, Combine::kMinimum, "model", "friction_combine", "geometric mean, maximum or minimum");
  model_.friction_combine = combine;
}

void ModelBuilder::set_gravity(const Vec3& gravity) {
  check_vector(gravity, "model", "gravity");
  model_.gravity = gravity;
  has_gravity_ = true;
}

void ModelBuilder::set_time_step(double seconds) {
  check_time_step(seconds, "model");
  model_.time_step = seconds;
  has_time_step_ = true;
}

void ModelBuilder::suggest(const std::string& file, const Vec3& gravity, double time_step) {
  check_vector(gravity, "model", "gravity");
  check_time_step(time_step, "model");
  if (suggested_.empty()) {
    if (!has_gravity_) model_.gravity = gravity;
    if (!has_time_step_) model_.time_step = time_step;
  }
  suggested_.push_back({file, gravity, time_step});
}

int ModelBuilder::add_body(const BodySpec& spec) {
  check_name(names_.body, spec.name, "body");
  const std::string place = label("body", spec.name);
  check_index(spec.parent, model_.bodies.size(), true, place, "parent");
  check_mass(spec, place);
  Joint joint = spec.joint;
  if (joint.name.empty()) joint.name = spec.name;
  check_name(names_.joint, joint.name, "joint");
  check_joint(joint, spec.parent);
  names_.body.insert(spec.name);
  names_.joint.insert(joint.name);
  model_.joints.push_back(joint);
  Body body;
  body.name = spec.name;
  body.parent = spec.parent;
  body.mass = spec.mass;
  body.com = spec.com;
  body.inertia = 0.5 * (spec.inertia + spec.inertia.transpose());
  body.gravcomp = spec.gravcomp;
  model_.bodies.push_back(body);
  start_q_.emplace_back();
  start_v_.emplace_back();
  return model_.num_bodies() - 1;
}

int ModelBuilder::add_geom(const GeomSpec& spec) {
  Geom geom;
  check_index(spec.body, model_.bodies.size(), true, label("geom", spec.name, model_.geoms.size()), "body");
  const std::string owner = spec.body < 0 ? "ground" : model_.bodies[spec.body].name;
  geom.name = spec.name.empty() ? owner + "/" + std::to_string(model_.geoms.size()) : spec.name;
  check_name(names_.geom, geom.name, "geom");
  const std::string place = label("geom", geom.name);
  check_shape(spec.shape, place);
  check_pose(spec.X_BG, place, "X_BG");
  check_material(spec.material, place);
  geom.body = spec.body;
  geom.X_BG = spec.X_BG;
  geom.shape = spec.shape;
  geom.material = spec.material;
  geom.group = spec.group;
  geom.mask = spec.mask;
  geom.radius = bounding_radius(spec.shape);
  names_.geom.insert(geom.name);
  model_.geoms.push_back(std::move(geom));
  return model_.num_geoms() - 1;
}

int ModelBuilder::add_solid(const std::string& name, const Shape& shape, double mass, const Pose& X_WB,
                            const Material& material) {
  Joint free;
  free.X_PJ = X_WB;
  return add_link(name, kGround, free, shape, mass, {}, material);
}

int ModelBuilder::add_link(const std::string& name, int parent, const Joint& joint, const Shape& shape, double mass,
                           const Pose& X_BG, const Material& material) {
  const std::string place = label("body", name, model_.bodies.size());
  check_shape(shape, place);
  check_pose(X_BG, place, "X_BG");
  require(std::isfinite(mass) && mass > 0.0, place + ": mass is " + to_text(mass) + ", expected finite and > 0");
  const MassProperties unit = unit_solid(shape, place);
  BodySpec spec;
  spec.name = name;
  spec.parent = parent;
  spec.joint = joint;
  spec.mass = mass;
  spec.com = X_BG * unit.com;
  spec.inertia = X_BG.R * unit.inertia * (mass / unit.mass) * X_BG.R.transpose();
  require(spec.inertia.allFinite(), place + ": the inertia of a " + shape_name(shape) + " of mass " + to_text(mass) +
                                        " overflows, expected a smaller mass or shape");
  GeomSpec geom;
  geom.shape = shape;
  geom.X_BG = X_BG;
  geom.material = material;
  geom.body = add_body(spec);
  try {
    add_geom(geom);
  } catch (const Error&) {  // refused as a whole
    names_.body.erase(name);
    names_.joint.erase(model_.joints.back().name);
    model_.bodies.pop_back();
    model_.joints.pop_back();
    start_q_.pop_back();
    start_v_.pop_back();
    throw;
  }
  return geom.body;
}

int ModelBuilder::add_ground(const Shape& shape, const Pose& X_WG, const Material& material) {
  GeomSpec geom;
  geom.shape = shape;
  geom.X_BG = X_WG;
  geom.material = material;
  return add_geom(geom);
}

void ModelBuilder::exclude(int body_a, int body_b) {
  for (const int body : {body_a, body_b}) check_index(body, model_.bodies.size(), true, "excluded pair", "body");
  model_.excluded.push_back(std::minmax(body_a, body_b));
}

void ModelBuilder::include(int body_a, int body_b) {
  for (const int body : {body_a, body_b}) check_index(body, model_.bodies.size(), true, "included pair", "body");
  model_.included.push_back(std::minmax(body_a, body_b));
}

void ModelBuilder::include_by_rule(int body_a, int body_b) {
  for (const int body : {body_a, body_b}) check_index(body, model_.bodies.size(), true, "included pair", "body");
  included_by_rule_.emplace_back(std::minmax(body_a, body_b));
}

void ModelBuilder::add_pair(int geom_a, int geom_b, const Material& material) {
  for (const int geom : {geom_a, geom_b}) check_index(geom, model_.geoms.size(), false, "pair of geoms", "geom");
  require(geom_a != geom_b, "pair of geoms: geom " + std::to_string(geom_a) + " with itself, expected two");
  const std::string place =
      "pair of geoms " + quote(model_.geoms[geom_a].name) + " and " + quote(model_.geoms[geom_b].name);
  check_material(material, place);
  const auto [a, b] = std::minmax(geom_a, geom_b);
  model_.pairs.push_back({a, b, material});
}

void ModelBuilder::set_start(int joint, const VecX& q) {
  check_index(joint, model_.joints.size(), false, "start", "joint");
  const Joint& j = model_.joints[joint];
  const std::string place = label("joint", j.name);
  require(q.size() == num_positions(j.kind), place + ": start has " + std::to_string(q.size()) + " values, expected " +
                                                 std::to_string(num_positions(j.kind)));
  require(q.allFinite() && (q.size() == 0 || q.cwiseAbs().maxCoeff() <= kFarthest),
          place + ": start is (" + list_text(q) + "), expected finite values up to 1e12");
  VecX start = q;
  if (j.kind == JointKind::kFree || j.kind == JointKind::kBall) {
    const double norm = q.tail<4>().norm();
    require(std::abs(norm - 1.0) <= kUnitTolerance,
            place + ": start quaternion has norm " + to_text(norm) + ", expected 1");
    start.tail<4>() /= norm;
  }
  start_q_[joint] = start;
}

void ModelBuilder::set_start_velocity(int joint, const VecX& v) {
  check_index(joint, model_.joints.size(), false, "start velocity", "joint");
  const Joint& j = model_.joints[joint];
  const std::string place = label("joint", j.name);
  require(v.size() == num_velocities(j.kind), place + ": start velocity has " + std::to_string(v.size()) +
                                                  " values, expected " + std::to_string(num_velocities(j.kind)));
  require(v.allFinite() && (v.size() == 0 || v.cwiseAbs().maxCoeff() <= kFarthest),
          place + ": start velocity is (" + list_text(v) + "), expected finite values up to 1e12");
  start_v_[joint] = v;
}

void ModelBuilder::set_start_inputs(int drive, double target, double target_velocity, double feedforward) {
  check_index(drive, model_.drives.size(), false, "start", "drive");
  Drive& d = model_.drives[drive];
  const std::string place = label("drive", d.name);
  check_finite(target, place, "target");
  check_finite(target_velocity, place, "target_velocity");
  check_finite(feedforward, place, "feedforward");
  d.target = target;
  d.target_velocity = target_velocity;
  d.feedforward = feedforward;
}

void ModelBuilder::advise_start(const std::vector<int>& joints, const std::string& advice) {
  for (const int joint : joints) check_index(joint, model_.joints.size(), false, "advice", "joint");
  advice_.push_back({joints, advice});
}

namespace {

/// Shapes that may meet a signed distance shape need a function and triangles, too.
void make_solids(Model& model) {
  const auto is_sdf = [](const Geom& geom) { return std::holds_alternative<SdfShape>(geom.shape); };
  if (std::none_of(model.geoms.begin(), model.geoms.end(), is_sdf)) return;
  for (Geom& geom : model.geoms) geom.solid = make_counterpart(geom.shape);
}

}  // namespace

Model ModelBuilder::build() const {
  Model model = model_;
  make_solids(model);
  check_carried_mass(model);
  find_trees(model);
  std::sort(model.excluded.begin(), model.excluded.end());
  for (const auto& pair : included_by_rule_)
    if (!std::binary_search(model.excluded.begin(), model.excluded.end(), pair)) model.included.push_back(pair);
  std::sort(model.included.begin(), model.included.end());
  const auto key = [](const GeomPair& pair) { return std::pair(pair.a, pair.b); };
  std::stable_sort(model.pairs.begin(), model.pairs.end(),
                   [&](const GeomPair& x, const GeomPair& y) { return key(x) < key(y); });
  check_tendons(model);
  model.q0.setZero(model.num_q);
  model.v0.setZero(model.num_v);
  for (int j = 0; j < model.num_bodies(); ++j) {
    Joint& joint = model.joints[j];
    const VecX q = start_q_[j].size() > 0 ? start_q_[j] : default_position(joint);
    model.q0.segment(joint.q_begin, q.size()) = q;
    if (start_v_[j].size() > 0) model.v0.segment(joint.v_begin, start_v_[j].size()) = start_v_[j];
    if (joint.kind == JointKind::kFree) joint.X_PJ = Pose{};  // it was the start
  }
  model.remarks = make_remarks(model);
  const auto starts_outside = [&](int j) {
    return is_outside(model.joints[j], model.q0.data() + model.joints[j].q_begin);
  };
  for (const Advice& advice : advice_)
    if (std::any_of(advice.joints.begin(), advice.joints.end(), starts_outside)) model.remarks.push_back(advice.text);
  for (const Suggestion& other : suggested_) {
    const Suggestion& first = suggested_.front();
    const auto give_way = [&](const std::string& what, const std::string& taken) {
      model.remarks.push_back(other.file + ": its " + what + " gives way to " + taken + " of " + first.file);
    };
    if (!has_gravity_ && other.gravity != first.gravity)
      give_way("gravity " + vector_text(other.gravity) + " m/s²", vector_text(first.gravity) + " m/s²");
    if (!has_time_step_ && other.time_step != first.time_step)
      give_way("time step of " + to_text(other.time_step) + " s", to_text(first.time_step) + " s");
  }
  return model;
}

}  // namespace almond
