#include "almond/load/urdf.hpp"

#include <Eigen/Geometry>
#include <algorithm>
#include <cmath>
#include <filesystem>

#include "almond/base/check.hpp"
#include "almond/base/text.hpp"
#include "almond/load/asset_path.hpp"
#include "almond/load/file_io.hpp"
#include "almond/load/mesh_file.hpp"
#include "almond/load/urdf_parse.hpp"

namespace almond {
namespace {

constexpr int kNotAdded = -1;

bool has_one_dof(UrdfJointKind kind) {
  return kind == UrdfJointKind::kRevolute || kind == UrdfJointKind::kContinuous || kind == UrdfJointKind::kPrismatic;
}

JointKind to_model(UrdfJointKind kind) {
  switch (kind) {
    case UrdfJointKind::kRevolute:
      return JointKind::kRevolute;
    case UrdfJointKind::kContinuous:
      return JointKind::kContinuous;
    case UrdfJointKind::kPrismatic:
      return JointKind::kPrismatic;
    case UrdfJointKind::kFloating:
      return JointKind::kFree;
    default:
      return JointKind::kFixed;
  }
}

/// Builds one robot. Names of messages are those of the file.
class Adder {
 public:
  Adder(ModelBuilder& builder, const UrdfDocument& document, std::string place, std::string folder,
        const FileOptions& options, FileNotes& notes)
      : builder_(builder),
        document_(document),
        place_(std::move(place)),
        folder_(std::move(folder)),
        options_(options),
        notes_(notes),
        body_(document.links.size(), kNotAdded),
        joint_(document.joints.size(), kNotAdded) {}

  UrdfRobot add() {
    robot_.name = document_.name;
    find_carried_masses();
    find_locked();
    find_starts();
    for (const UrdfLink& link : document_.links)
      meshes_ += static_cast<int>(std::count_if(link.collisions.begin(), link.collisions.end(),
                                                [](const UrdfShape& s) { return s.kind == UrdfShapeKind::kMesh; }));
    add_root();
    std::vector<int> open(document_.links[document_.root].child_joints.rbegin(),
                          document_.links[document_.root].child_joints.rend());
    while (!open.empty()) {
      const int joint = open.back();
      open.pop_back();
      located(document_.joints[joint].line, [&] { add_joint(joint); });
      const std::vector<int>& next = document_.links[document_.joints[joint].child].child_joints;
      open.insert(open.end(), next.rbegin(), next.rend());
    }
    for (std::size_t j = 0; j < document_.joints.size(); ++j)
      if (document_.joints[j].mimic)
        located(document_.joints[j].line, [&] { add_mimic(document_.joints[j], joint_[j]); });
    say_welded();
    if (!options_.self_collision) exclude_own_pairs();
    for (const auto& [kind, count] : document_.ignored) notes_.ignored[kind] += count;
    notes_.said.insert(notes_.said.end(), document_.said.begin(), document_.said.end());
    return std::move(robot_);
  }

 private:
  [[nodiscard]] std::string prefixed(const std::string& name) const {
    return options_.name.empty() ? name : options_.name + "/" + name;
  }

  /// Puts file and line before what the builder complains about.
  template <class Action>
  void located(int line, const Action& action) {
    try {
      action();
    } catch (const Error& error) {
      const std::string message = error.what();
      const bool located_inside = message.rfind(place_, 0) == 0;
      throw Error(located_inside ? message : place_ + ":" + std::to_string(line) + ": " + message);
    }
  }

  void say(const UrdfJoint& joint, const std::string& what) {
    notes_.said.push_back("joint " + quote(joint.name) + ": " + what);
  }

  void say_welded() {
    if (welded_.empty()) return;
    std::string names;
    for (const std::string& name : welded_) names += (names.empty() ? "" : ", ") + quote(name);
    notes_.said.push_back("joints that move nothing with mass, welded: " + names);
  }

  /// Mass beyond each joint; links come in any order, so each one's mass goes up to the root.
  void find_carried_masses() {
    std::vector<int> above(document_.links.size(), -1);
    for (std::size_t j = 0; j < document_.joints.size(); ++j) above[document_.joints[j].child] = static_cast<int>(j);
    carried_.assign(document_.joints.size(), false);
    for (std::size_t link = 0; link < document_.links.size(); ++link) {
      if (!(document_.links[link].mass > 0.0)) continue;
      for (int j = above[link]; j >= 0 && !carried_[j]; j = above[document_.joints[j].parent]) carried_[j] = true;
    }
  }

  void exclude_own_pairs() {
    std::vector<int> solid;
    for (std::size_t link = 0; link < body_.size(); ++link)
      if (!document_.links[link].collisions.empty()) solid.push_back(body_[link]);
    for (std::size_t a = 0; a < solid.size(); ++a)
      for (std::size_t b = 0; b < a; ++b) builder_.exclude(solid[a], solid[b]);
  }

  /// Throws Error with the nearest name; `what` says what it was named for.
  [[nodiscard]] int find_joint(const std::string& name, const std::string& what) const {
    std::vector<std::string> names;
    for (const UrdfJoint& joint : document_.joints) names.push_back(joint.name);
    const auto found = std::find(names.begin(), names.end(), name);
    if (found != names.end()) return static_cast<int>(found - names.begin());
    const std::string near = nearest_name(name, names);
    throw Error(place_ + ": no joint is called " + quote(name) + " (" + what + ")" +
                (near.empty() ? "" : "; did you mean " + quote(near) + "?"));
  }

  void find_locked() {
    locked_.assign(document_.joints.size(), false);
    for (const std::string& name : options_.locked) {
      const int joint = find_joint(name, "joints to lock");
      require(has_one_dof(document_.joints[joint].kind),
              place_ + ":" + std::to_string(document_.joints[joint].line) + ": joint " + quote(name) +
                  ": cannot be locked, expected a revolute, continuous or prismatic one");
      locked_[joint] = true;
    }
  }

  /// Start positions: asked for, else 0 within the limits; of a mimic, what it follows from.
  void find_starts() {
    start_.assign(document_.joints.size(), 0.0);
    std::vector<bool> given(document_.joints.size());
    for (const auto& [name, value] : options_.joints) {
      require(std::isfinite(value),
              place_ + ": start of joint " + quote(name) + " is " + to_text(value) + ", expected a finite value");
      if (set_planar_start(name, value)) continue;
      const auto found = document_.joints.begin() + find_joint(name, "start values");
      require(has_one_dof(found->kind), place_ + ":" + std::to_string(found->line) + ": joint " + quote(name) +
                                            ": has no single position, expected a revolute, continuous or prismatic "
                                            "joint for a start value");
      start_[found - document_.joints.begin()] = value;
      given[found - document_.joints.begin()] = true;
    }
    for (std::size_t j = 0; j < start_.size(); ++j) {
      const UrdfJoint& joint = document_.joints[j];
      const bool limited = joint.kind == UrdfJointKind::kRevolute || joint.kind == UrdfJointKind::kPrismatic;
      if (!given[j] && limited && joint.limits && joint.limits->lower <= joint.limits->upper)
        start_[j] = std::clamp(0.0, joint.limits->lower, joint.limits->upper);
    }
    // A mimic may follow a mimic: as many rounds as there are in the longest chain, at most one each.
    bool changed = true;
    for (std::size_t round = 0; changed && round < start_.size(); ++round) {
      changed = false;
      for (std::size_t j = 0; j < start_.size(); ++j) {
        const std::optional<UrdfMimic>& mimic = document_.joints[j].mimic;
        if (!mimic || mimic->joint < 0 || given[j]) continue;
        const double value = mimic->ratio * start_[mimic->joint] + mimic->offset;
        if (value == start_[j] || !std::isfinite(value)) continue;
        start_[j] = value;
        changed = true;
      }
    }
  }

  bool set_planar_start(const std::string& name, double value) {
    for (const UrdfJoint& joint : document_.joints) {
      if (joint.kind != UrdfJointKind::kPlanar) continue;
      for (const char* part : {"/x", "/y", "/angle"})
        if (name == joint.name + part) {
          planar_start_[name] = value;
          return true;
        }
    }
    return false;
  }

  void add_link(int link, int parent, const Joint& joint) {
    const UrdfLink& from = document_.links[link];
    try {
      BodySpec spec;
      spec.name = prefixed(from.name);
      spec.parent = parent;
      spec.joint = joint;
      spec.mass = from.mass;
      spec.com = from.com;
      spec.inertia = from.inertia;
      spec.from_file = true;
      body_[link] = builder_.add_body(spec);
    } catch (const Error& error) {
      if (std::string(error.what()).rfind("joint ", 0) == 0) throw;  // located by the joint's line
      located(from.line, [&] { throw Error(error.what()); });
    }
    for (const UrdfShape& shape : from.collisions)
      located(shape.line, [&] { add_collision(body_[link], from, shape); });
    if (options_.looks != nullptr)
      for (const UrdfShape& shape : from.visuals) add_look(body_[link], from, shape);
    robot_.num_visuals += static_cast<int>(from.visuals.size());
  }

  /// What cannot be shown is said, and stops nobody from simulating it.
  void add_look(int body, const UrdfLink& link, const UrdfShape& from) {
    Look look;
    look.name = link.name;
    look.body = body;
    look.X_BG = from.X_LG;
    look.role = Look::Role::kVisual;
    look.color = from.color;
    try {
      if (from.kind == UrdfShapeKind::kMesh) {
        look.shape = load_look(find_mesh(from.mesh), from.scale);
      } else {
        look.shape = make_shape(from);
        check_shape(look.shape, "visual");
      }
    } catch (const Error& error) {
      notes_.said.push_back("link " + quote(link.name) + " is not shown as it looks: " + error.what());
      return;
    }
    options_.looks->push_back(std::move(look));
  }

  void add_root() {
    Joint joint;
    joint.kind = options_.base == Base::kFloating ? JointKind::kFree : JointKind::kFixed;
    joint.X_PJ = options_.X_WF;
    joint.name = "root_joint";
    const auto taken = [&] {
      return std::any_of(document_.joints.begin(), document_.joints.end(),
                         [&](const UrdfJoint& other) { return other.name == joint.name; });
    };
    while (taken()) joint.name += "_";
    joint.name = prefixed(joint.name);
    const UrdfLink& root = document_.links[document_.root];
    const bool weighs = std::any_of(document_.links.begin(), document_.links.end(),
                                    [](const UrdfLink& link) { return link.mass > 0.0; });
    require(joint.kind == JointKind::kFixed || weighs,
            place_ + ":" + std::to_string(root.line) + ": no link has mass, expected some on a floating base");
    add_link(document_.root, kGround, joint);
    robot_.root = body_[document_.root];
  }

  /// Whether all joints between the body and the ground are fixed.
  [[nodiscard]] bool is_static(int body) const {
    for (; body >= 0; body = builder_.so_far().bodies[body].parent)
      if (builder_.so_far().joints[body].kind != JointKind::kFixed) return false;
    return true;
  }

  void add_joint(int index) {
    const UrdfJoint& from = document_.joints[index];
    const std::string place = "joint " + quote(from.name) + ": ";
    Joint joint = make_joint(to_model(from.kind), from.axis, from.X_PJ, prefixed(from.name));
    int parent = body_[from.parent];
    if (from.limits && (from.kind == UrdfJointKind::kRevolute || from.kind == UrdfJointKind::kPrismatic)) {
      joint.lower = from.limits->lower;
      joint.upper = from.limits->upper;
      require(joint.lower <= joint.upper, place + "limits " + to_text(joint.lower) + " to " + to_text(joint.upper) +
                                              ", expected the lower one first");
      if (joint.lower == joint.upper && !from.mimic && carried_[index])
        say(from, "both limits are " + to_text(joint.lower) + ", so it cannot move");
    }
    if (has_one_dof(from.kind)) {
      joint.damping = from.damping;
      joint.dry_friction = from.friction;
    } else if (from.damping != 0.0 || from.friction != 0.0) {
      ++notes_.ignored["dynamics of a joint without a single position"];
    }
    if (from.kind != UrdfJointKind::kFixed && (!carried_[index] || locked_[index])) {
      weld(index, joint);
      add_link(from.child, parent, joint);
      return;
    }
    if (from.kind == UrdfJointKind::kFloating) {
      require(is_static(parent), place + "is floating below a link that moves, expected one that stands still");
      for (; parent >= 0; parent = builder_.so_far().bodies[parent].parent)
        joint.X_PJ = builder_.so_far().joints[parent].X_PJ * joint.X_PJ;
    }
    if (from.kind == UrdfJointKind::kPlanar) parent = add_planar(from, parent, joint);
    add_link(from.child, parent, joint);
    joint_[index] = body_[from.child];
    if (from.kind == UrdfJointKind::kPlanar) builder_.set_start(joint_[index], planar_start(from.name + "/angle"));
    if (!has_one_dof(from.kind)) return;
    builder_.set_start(joint_[index], VecX::Constant(1, start_[index]));
    if (from.mimic) return;
    UrdfRobot::Motor motor;
    motor.joint = joint_[index];
    if (from.limits) {
      motor.effort = from.limits->effort;
      motor.velocity = from.limits->velocity;
    }
    robot_.motors.push_back(motor);
  }

  void weld(int index, Joint& joint) {
    const UrdfJoint& from = document_.joints[index];
    if (has_one_dof(from.kind)) {
      require(joint.axis.norm() > 1e-9, "joint " + quote(from.name) + ": axis is zero, expected a direction");
      joint.axis.normalize();
      joint.X_PJ = joint.X_PJ * make_joint_pose(joint, &start_[index]);
    }
    joint = make_joint(JointKind::kFixed, joint.axis, joint.X_PJ, joint.name);
    if (!locked_[index]) welded_.push_back(from.name);
  }

  [[nodiscard]] VecX planar_start(const std::string& name) const {
    const auto found = planar_start_.find(name);
    return VecX::Constant(1, found == planar_start_.end() ? 0.0 : found->second);
  }

  /// Two massless bodies that slide along x and y of the plane; `joint` becomes the rotation about its normal.
  int add_planar(const UrdfJoint& from, int parent, Joint& joint) {
    require(from.axis.norm() > 1e-9, "joint " + quote(from.name) + ": axis is zero, expected the plane's normal");
    if (from.limits) ++notes_.ignored["limit of a planar joint"];
    const Mat3 R = Eigen::Quaterniond::FromTwoVectors(Vec3::UnitZ(), from.axis).toRotationMatrix();
    const std::string link = prefixed(document_.links[from.child].name);
    for (int i = 0; i < 2; ++i) {
      const char* part = i == 0 ? "/x" : "/y";
      BodySpec spec;
      spec.name = link + part;
      spec.parent = parent;
      spec.joint = make_joint(JointKind::kPrismatic, R.col(i), i == 0 ? from.X_PJ : Pose{}, joint.name + part);
      spec.from_file = true;
      parent = builder_.add_body(spec);
      builder_.set_start(parent, planar_start(from.name + part));
    }
    joint = make_joint(JointKind::kContinuous, from.axis, {}, joint.name + "/angle");
    return parent;
  }

  void add_mimic(const UrdfJoint& from, int joint) {
    const UrdfMimic& mimic = *from.mimic;
    if (mimic.joint < 0) {
      say(from, "mimics " + quote(mimic.name) + ", which does not exist; it moves by itself");
      return;
    }
    const int followed = joint_[mimic.joint];
    if (joint < 0 || followed < 0 || !has_one_dof(from.kind) || !has_one_dof(document_.joints[mimic.joint].kind)) {
      ++notes_.ignored["mimic of or by a joint that does not move"];
      return;
    }
    Closure closure;
    closure.name = prefixed(from.name);
    closure.kind = ClosureKind::kMimic;
    closure.a = joint;
    closure.b = followed;
    closure.ratio = mimic.ratio;
    closure.offset = mimic.offset;
    builder_.add_closure(closure);
  }

  [[nodiscard]] static Shape make_shape(const UrdfShape& from) {
    switch (from.kind) {
      case UrdfShapeKind::kSphere:
        return Sphere{from.size.x()};
      case UrdfShapeKind::kCylinder:
        return Cylinder{from.size.x(), 0.5 * from.size.y()};
      case UrdfShapeKind::kCapsule:
        return Capsule{from.size.x(), 0.5 * from.size.y()};
      default:
        return Box{0.5 * from.size};
    }
  }

  void add_collision(int body, const UrdfLink& link, const UrdfShape& from) {
    GeomSpec geom;
    geom.body = body;
    geom.X_BG = from.X_LG;
    if (link.friction) geom.material.mu = *link.friction;
    if (from.kind == UrdfShapeKind::kMesh) {
      if (options_.meshes == MeshUse::kNone) {
        ++notes_.ignored["collision mesh"];
        return;
      }
      if (options_.progress) options_.progress(meshes_done_++, meshes_);
      const std::string path = find_mesh(from.mesh);
      if (options_.meshes == MeshUse::kHull) {
        geom.shape = ConvexMesh{load_hull(path, from.scale, notes_)};
      } else {
        geom.shape = load_triangles(path, from.scale);
      }
    } else {
      geom.shape = make_shape(from);
      const int sizes = from.kind == UrdfShapeKind::kBox ? 3 : from.kind == UrdfShapeKind::kSphere ? 1 : 2;
      const bool empty = (from.size.head(sizes).array() == 0.0).any() && from.size.minCoeff() >= 0.0;
      if (empty) {
        notes_.said.push_back("link " + quote(link.name) + ": a collision " + std::string(shape_name(geom.shape)) +
                              " without volume is left out");
        return;
      }
    }
    builder_.add_geom(geom);
  }

  std::string find_mesh(const std::string& name) {
    try {
      return find_asset(name, folder_, options_.search, options_.scene_search);
    } catch (const Error& error) {
      throw Error(std::string("mesh ") + error.what());
    }
  }

  /// Without the search tree, and what there is to say of a mesh that nothing touches.
  TriangleMesh load_look(const std::string& path, const Vec3& scale) {
    const auto key = std::make_pair(path, std::array<double, 3>{scale.x(), scale.y(), scale.z()});
    const auto found = looks_.find(key);
    if (found != looks_.end()) return found->second;
    FileNotes unsaid;
    return looks_[key] = TriangleMesh{std::make_shared<TriangleSoup>(load_mesh(path, scale, unsaid)), nullptr};
  }

  /// Links that show the same mesh share it.
  TriangleMesh load_triangles(const std::string& path, const Vec3& scale) {
    const auto key = std::make_pair(path, std::array<double, 3>{scale.x(), scale.y(), scale.z()});
    const auto found = triangles_.find(key);
    if (found != triangles_.end()) return found->second;
    return triangles_[key] = make_triangle_mesh(load_mesh(path, scale, notes_));
  }

  ModelBuilder& builder_;
  const UrdfDocument& document_;
  std::string place_, folder_;
  const FileOptions& options_;
  FileNotes& notes_;
  UrdfRobot robot_;
  std::vector<int> body_;      // (links)
  std::vector<int> joint_;     // (joints) of the model; kNotAdded: welded, or fixed
  std::vector<bool> carried_;  // (joints) whether anything beyond has mass
  std::vector<bool> locked_;   // (joints)
  std::vector<double> start_;  // (joints)
  std::map<std::string, double> planar_start_;
  std::vector<std::string> welded_;
  int meshes_ = 0, meshes_done_ = 0;  // collision shapes that are meshes
  std::map<std::pair<std::string, std::array<double, 3>>, TriangleMesh> triangles_, looks_;
};

/// Cuts a link off its parent; what hangs on it stays in the document as links without mass and shapes.
void leave_out(UrdfDocument& document, const std::string& name, const std::string& place) {
  const auto found = std::find_if(document.links.begin(), document.links.end(),
                                  [&](const UrdfLink& link) { return link.name == name; });
  if (found == document.links.end()) {
    std::vector<std::string> names;
    for (const UrdfLink& link : document.links) names.push_back(link.name);
    const std::string near = nearest_name(name, names);
    throw Error(place + ": no link is called " + quote(name) + " (links to leave out)" +
                (near.empty() ? "" : "; did you mean " + quote(near) + "?"));
  }
  const auto first = static_cast<int>(found - document.links.begin());
  require(first != document.root, place + ": link " + quote(name) + " is the root, expected one that can be left out");
  for (UrdfLink& link : document.links)
    std::erase_if(link.child_joints, [&](int joint) { return document.joints[joint].child == first; });
  std::vector<int> open = {first};
  while (!open.empty()) {
    UrdfLink& link = document.links[open.back()];
    open.pop_back();
    link.mass = 0.0;
    link.collisions.clear();
    link.visuals.clear();
    for (const int joint : link.child_joints) {
      document.joints[joint].mimic.reset();
      open.push_back(document.joints[joint].child);
    }
  }
}

UrdfRobot add_document(ModelBuilder& builder, const std::string& text, const std::string& place,
                       const std::string& folder, const FileOptions& options, FileNotes& notes) {
  UrdfDocument document = parse_urdf(text, place);
  for (const std::string& link : options.without) leave_out(document, link, place);
  UrdfRobot robot = Adder(builder, document, place, folder, options, notes).add();
  if (options.looks != nullptr)
    for (const char* seen : {"visual", "material"}) notes.ignored.erase(seen);
  return robot;
}

}  // namespace

UrdfRobot add_urdf(ModelBuilder& builder, const std::string& path, const FileOptions& options, FileNotes& notes) {
  const std::string folder = std::filesystem::path(path).parent_path().string();
  return add_document(builder, read_file(path), path, folder.empty() ? "." : folder, options, notes);
}

UrdfRobot add_urdf_text(ModelBuilder& builder, const std::string& text, const std::string& folder,
                        const FileOptions& options, FileNotes& notes) {
  return add_document(builder, text, "urdf", folder, options, notes);
}

}  // namespace almond
