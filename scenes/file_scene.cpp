#include "scenes/file_scene.hpp"

#include <algorithm>
#include <cmath>
#include <filesystem>

#include "almond/base/check.hpp"
#include "almond/base/text.hpp"
#include "almond/collision/broadphase.hpp"
#include "almond/collision/detect.hpp"
#include "almond/load/file_io.hpp"
#include "almond/load/urdf.hpp"
#include "almond/load/xml_scan.hpp"
#include "almond/sim/assemble.hpp"
#include "almond/sim/overlaps.hpp"
#include "almond/sim/second_look.hpp"

namespace almond::scenes {
namespace {

std::string extension_of(const std::string& path) {
  std::string extension = std::filesystem::path(path).extension().string();
  std::transform(extension.begin(), extension.end(), extension.begin(),
                 [](char c) { return static_cast<char>(std::tolower(static_cast<unsigned char>(c))); });
  return extension;
}

/// By name, or where that says .xml, by what is in it: MuJoCo would read URDF in a way of its own.
bool is_urdf(const std::string& path) {
  if (extension_of(path) == ".urdf") return true;
  std::error_code error;
  if (extension_of(path) != ".xml" || !std::filesystem::is_regular_file(path, error)) return false;
  return root_element(read_file(path)) == "robot";
}

constexpr double kBelow = 0.05;  // [m] from the lowest point down to a floor that is put below

/// What one robot file became.
struct Part {
  int first_body = 0, end_body = 0;
  bool hold = false, urdf = false;
  std::vector<UrdfRobot::Motor> motors;
};

Part add_robot(ModelBuilder& builder, const SceneRobot& robot, bool first_mjcf_of_many, LoadedScene& out) {
  Part part;
  part.first_body = builder.so_far().num_bodies();
  part.hold = robot.hold;
  part.urdf = is_urdf(robot.path);
  if (part.urdf) {
    require(robot.keyframe.empty(), robot.path + ": keyframe " + quote(robot.keyframe) + ": URDF has none");
    part.motors = add_urdf(builder, robot.path, robot.options, out.notes).motors;
  } else {
    const MjcfFile file = add_mjcf(builder, robot.path, robot.options, out.notes);
    if (!robot.keyframe.empty()) start_at_keyframe(builder, file, robot.keyframe);
    out.controls.insert(out.controls.end(), file.controls.begin(), file.controls.end());
    if (first_mjcf_of_many)
      out.notes.said.push_back("friction of all pairs in the scene is the larger of the two, as in MJCF, because of " +
                               quote(robot.path));
  }
  part.end_body = builder.so_far().num_bodies();
  return part;
}

void add_object(ModelBuilder& builder, const SceneObject& object, int number) {
  const std::string name = object.name.empty() ? "object" + std::to_string(number) : object.name;
  if (!object.mass) {
    GeomSpec geom;
    geom.name = name;
    geom.shape = object.shape;
    geom.X_BG = object.X_WB;
    geom.material = object.material;
    builder.add_geom(geom);
    return;
  }
  const int body = builder.add_solid(name, object.shape, *object.mass, object.X_WB, object.material);
  builder.set_start_velocity(body, object.velocity);
}

/// Of everything that has an end, at the start; 0 where nothing does.
double lowest_point(const Model& model) {
  Kinematics kin;
  compute_kinematics(model, model.q0, model.v0, kin);
  double lowest = kInfinity;
  for (int g = 0; g < model.num_geoms(); ++g)
    if (std::isfinite(model.geoms[g].radius))
      lowest = std::min(lowest, make_box(model.geoms[g].shape, kin.X_WG[g], model.geoms[g].radius).lower.z());
  return std::isfinite(lowest) ? lowest : 0.0;
}

/// Impedance drives on all joints of one dof that have none, with 30 rad/s for the inertia that each sees at the start.
void hold_joints(ModelBuilder& builder, const std::vector<Part>& parts) {
  constexpr double kRate = 30.0;
  if (std::none_of(parts.begin(), parts.end(), [](const Part& part) { return part.hold; })) return;
  const Model model = builder.build();
  std::vector<char> driven(model.bodies.size(), 0);
  for (const Drive& drive : model.drives)
    if (drive.joint >= 0) driven[drive.joint] = 1;
  for (const Closure& closure : model.closures)
    if (closure.kind == ClosureKind::kMimic) driven[closure.a] = 1;
  Kinematics kin;
  compute_kinematics(model, model.q0, VecX::Zero(model.num_v), kin);
  Assembly assembly;
  assemble(model, make_state(model), kin, {}, make_inputs(model), {}, assembly);
  const auto hold = [&](const Part& part, int b) {
    const Joint& joint = model.joints[b];
    const int tree = model.bodies[b].subsystem;
    if (tree < 0 || num_velocities(joint.kind) != 1 || driven[b] != 0) return;
    const int local = joint.v_begin - model.trees[tree].v_begin;
    const double inertia = assembly.problem.A(tree)(local, local);
    Drive drive;
    drive.name = "hold " + joint.name;
    drive.joint = b;
    drive.mode = DriveMode::kImpedance;
    drive.stiffness = inertia * kRate * kRate;
    drive.damping = 2.0 * inertia * kRate;
    drive.target = model.q0[joint.q_begin];
    for (const UrdfRobot::Motor& motor : part.motors)
      if (motor.joint == b && motor.effort > 0.0) drive.effort_limit = motor.effort;
    builder.add_drive(drive);
  };
  for (const Part& part : parts)
    for (int b = part.first_body; part.hold && b < part.end_body; ++b) hold(part, b);
}

/// The body that a body hangs on in the end, over all joints.
int root_of(const Model& model, int body) {
  while (model.bodies[body].parent >= 0) body = model.bodies[body].parent;
  return body;
}

/// What contacts take in a step, everything that is made of them included: so much each, and so much for each degree of
/// freedom on their sides. Measured for balls and boxes in one place and for chains of up to 400 links, within a fifth.
constexpr double kBytesPerContact = 1500.0, kBytesPerDof = 75.0;

double memory_of(const Model& model, const Contacts& contacts) {
  double bytes = kBytesPerContact * static_cast<double>(contacts.points.size() + contacts.spare.size());
  const auto tree_of = [&](int body) { return body < 0 ? -1 : model.bodies[body].subsystem; };
  const auto dofs = [&](int tree) { return tree < 0 ? 0 : model.trees[tree].dofs; };
  for (const ContactPoint& point : contacts.points) {
    const int a = tree_of(point.body_a), b = tree_of(point.body_b);
    bytes += kBytesPerDof * (dofs(a) + (a == b ? 0 : dofs(b)));
  }
  return bytes;
}

/// A file of some hundred kB may ask for billions of contacts: with everything in one place, or so fast that in the
/// first step all may meet all.
void check_crowding(const Model& model, const StepOptions& options, const std::string& name) {
  // The solver comes on top: 1.8 GB in all for 6300 boxes that overlap in a grid, 0.9 for 12000 balls at random in
  // 1.4 m³, each of which overlaps 35 others.
  constexpr double kMostBytes = 0.75e9;
  constexpr Crowd kMost{1000000, static_cast<std::size_t>(kMostBytes / kBytesPerContact)};
  Kinematics kin;
  std::vector<GeomMotion> motion;
  Contacts contacts;
  compute_kinematics(model, model.q0, model.v0, kin);
  compute_motion(model, kin, kin.V, options.dt, motion);
  const Crowd crowd = count_crowd(model, kin.X_WG, motion, options.collision, kMost, contacts);
  const std::string place = quote(name) + ": in the first step ", geoms = std::to_string(model.num_geoms()) + " geoms";
  require(crowd.pairs <= kMost.pairs,
          place + "more than " + std::to_string(kMost.pairs) + " pairs of its " + geoms + " may meet, expected fewer");
  require(memory_of(model, contacts) <= kMostBytes,
          place + "the contacts of its " + geoms + " take more than 750 MB, expected fewer");
}

/// Links of one mechanism that lie in each other at the start. Things that lie about are pushed apart instead.
void exclude_pairs(ModelBuilder& builder, const Model& model, const std::vector<Part>& parts, FileNotes& notes) {
  constexpr double kDepth = 1e-4;  // [m]
  int count = 0, pushed = 0, held = 0;
  Overlap deepest, deepest_pushed, deepest_held;
  for (const Overlap& overlap : find_overlaps(model, model.q0, kDepth)) {
    const bool own = std::any_of(parts.begin(), parts.end(), [&](const Part& part) {
      return overlap.body_a >= part.first_body && overlap.body_b < part.end_body;
    });
    if (!own || root_of(model, overlap.body_a) != root_of(model, overlap.body_b)) {
      ++(overlap.held ? held : pushed);
      Overlap& worst = overlap.held ? deepest_held : deepest_pushed;
      if (overlap.depth > worst.depth) worst = overlap;
      continue;
    }
    builder.exclude(overlap.body_a, overlap.body_b);
    ++count;
    if (overlap.depth > deepest.depth) deepest = overlap;
  }
  const auto tell = [&](int pairs, const Overlap& worst, const char* fate) {
    if (pairs == 0) return;
    const auto name = [&](int geom) {
      const Geom& g = model.geoms[geom];
      return quote(g.body == kGround ? g.name : model.bodies[g.body].name);
    };
    notes.said.push_back(
        (pairs == 1 ? "one pair of things overlaps" : std::to_string(pairs) + " pairs of things overlap") +
        std::string(" at the start and ") + fate + ", " + (pairs == 1 ? "" : "the deepest ") + name(worst.geom_a) +
        " and " + name(worst.geom_b) + " by " + to_text(1e3 * worst.depth) + " mm");
  };
  tell(pushed, deepest_pushed, "will be pushed apart");
  tell(held, deepest_held, "no joint can push them apart");
  if (count == 0) return;
  notes.said.push_back(std::to_string(count) + " pairs of links overlap at the start and do not collide, the deepest " +
                       quote(model.bodies[deepest.body_a].name) + " and " + quote(model.bodies[deepest.body_b].name) +
                       " by " + to_text(1e3 * deepest.depth) + " mm");
}

}  // namespace

void apply_controls(const std::vector<Control>& controls, const VecX& ctrl, Inputs& inputs) {
  for (std::size_t i = 0; i < controls.size(); ++i) {
    const Control& control = controls[i];
    if (control.drive < 0) continue;
    const double u = std::clamp(ctrl[static_cast<Eigen::Index>(i)], control.lower, control.upper);
    VecX& input = control.input == Control::Input::kTarget           ? inputs.target
                  : control.input == Control::Input::kTargetVelocity ? inputs.target_velocity
                                                                     : inputs.feedforward;
    input[control.drive] = control.scale * u + control.offset;
  }
}

bool is_scene_file(const std::string& name) {
  const std::string extension = extension_of(name);
  return extension == ".urdf" || extension == ".xml" || extension == ".mjcf" || extension == ".json";
}

void add_search(const std::string& path, const std::vector<std::string>& folders, SceneFile& description) {
  namespace fs = std::filesystem;
  std::error_code code;
  for (SceneRobot& robot : description.robots) {
    robot.options.search.insert(robot.options.search.begin(), folders.begin(), folders.end());
    if (fs::exists(robot.path, code)) continue;
    const fs::path name = fs::path(robot.path).lexically_relative(fs::path(path).parent_path());
    const auto found = std::find_if(folders.begin(), folders.end(), [&](const std::string& folder) {
      return fs::is_regular_file(fs::path(folder) / name, code);
    });
    if (found != folders.end()) robot.path = (fs::path(*found) / name).string();
  }
}

SceneFile describe_file(const std::string& path, const ShareProgress& progress) {
  if (extension_of(path) == ".json") return load_scene_file(path, progress);
  SceneFile description;
  description.name = std::filesystem::path(path).stem().string();
  SceneRobot robot;
  robot.path = path;
  description.robots.push_back(robot);
  return description;
}

LoadedScene load_scene(const SceneFile& description, bool with_looks) {
  LoadedScene out;
  out.scene.name = description.name;
  ModelBuilder builder(description.name);
  if (description.gravity) builder.set_gravity(*description.gravity);
  if (description.time_step) builder.set_time_step(*description.time_step);
  std::vector<Part> parts;
  bool first_mjcf = true;
  for (SceneRobot robot : description.robots) {
    robot.options.looks = with_looks ? &out.looks : nullptr;
    parts.push_back(add_robot(builder, robot, first_mjcf && description.robots.size() > 1, out));
    first_mjcf = first_mjcf && parts.back().urdf;
  }
  out.scene.options = make_options(builder.so_far());
  for (std::size_t i = 0; i < description.objects.size(); ++i) {
    const std::vector<std::string>& said = description.objects[i].notes.said;
    out.notes.said.insert(out.notes.said.end(), said.begin(), said.end());
    add_object(builder, description.objects[i], static_cast<int>(i));
  }
  if (description.floor || description.floor_below) {
    GeomSpec floor;
    floor.name = "floor";
    floor.shape = Plane{};
    floor.X_BG = make_translation(0.0, 0.0, description.floor.value_or(lowest_point(builder.build()) - kBelow));
    floor.material = description.floor_material;
    builder.add_geom(floor);
  }
  hold_joints(builder, parts);
  check_crowding(builder.build(), out.scene.options, description.name);
  exclude_pairs(builder, builder.build(), parts, out.notes);
  out.scene.model = builder.build();
  out.scene.steps = description.steps.value_or(std::max(1, static_cast<int>(std::lround(2.0 / out.scene.options.dt))));
  return out;
}

}  // namespace almond::scenes
