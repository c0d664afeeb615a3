#include "almond/load/mjcf.hpp"

#include <algorithm>

#include "almond/base/check.hpp"
#include "almond/base/text.hpp"

#ifdef ALMOND_HAVE_MUJOCO
#include <mujoco/mujoco.h>

#include <filesystem>
#include <numbers>

#include "almond/load/file_io.hpp"
#include "almond/load/mjcf_reader.hpp"
#include "almond/load/mujoco_model.hpp"
#include "almond/model/remarks.hpp"
#endif

namespace almond {
namespace {

std::string did_you_mean(const std::string& name, const std::vector<std::string>& names) {
  const std::string near = nearest_name(name, names);
  if (!near.empty()) return "; did you mean " + quote(near) + "?";
  return names.empty() ? "; there is none" : "";
}

}  // namespace

VecX joint_position(const Joint& joint, const double* qpos, const Pose& X_WF) {
  VecX q = Eigen::Map<const VecX>(qpos, num_positions(joint.kind));
  if (joint.kind == JointKind::kFree) {
    const Pose X = X_WF * Pose{quaternion_to_matrix(q.tail<4>().normalized()), q.head<3>()};
    q.head<3>() = X.p;
    q.tail<4>() = matrix_to_quaternion(X.R);
  } else if (joint.kind == JointKind::kBall) {
    q.normalize();
  }
  return q;
}

VecX joint_velocity(const Body& body, const Joint& joint, const double* qpos, const double* qvel, const Pose& X_WF) {
  VecX v = Eigen::Map<const VecX>(qvel, num_velocities(joint.kind));
  if (joint.kind == JointKind::kBall) {  // from the body's axes to those of the joint frame
    const Vec3 local = v;
    v = quaternion_to_matrix(Vec4(qpos[0], qpos[1], qpos[2], qpos[3]).normalized()) * local;
  } else if (joint.kind == JointKind::kFree) {  // origin and body axes to centre of mass and world axes
    const Mat3 R = X_WF.R * quaternion_to_matrix(Vec4(qpos[3], qpos[4], qpos[5], qpos[6]).normalized());
    const Vec3 origin = v.head<3>(), local = v.tail<3>(), w = R * local;
    v.head<3>() = X_WF.R * origin + w.cross(R * body.com);
    v.tail<3>() = w;
  }
  return v;
}

void start_at_keyframe(ModelBuilder& builder, const MjcfFile& file, const std::string& name) {
  std::vector<std::string> names;
  for (const Keyframe& key : file.keyframes) names.push_back(key.name);
  const auto found = std::find(names.begin(), names.end(), name);
  require(found != names.end(), "no keyframe " + quote(name) + did_you_mean(name, names));
  const Keyframe& key = file.keyframes[found - names.begin()];
  for (std::size_t j = 0; j < file.joints.size(); ++j) {
    const int joint = file.joints[j];
    if (joint < 0 || file.given[j] != 0) continue;
    const double* qpos = key.qpos.data() + file.qpos[j];
    const Model& so_far = builder.so_far();
    builder.set_start(joint, joint_position(so_far.joints[joint], qpos, file.X_WF));
    builder.set_start_velocity(joint, joint_velocity(so_far.bodies[joint], so_far.joints[joint], qpos,
                                                     key.qvel.data() + file.dof[j], file.X_WF));
  }
  for (std::size_t i = 0; i < file.controls.size(); ++i) {
    const Control& control = file.controls[i];
    if (control.drive < 0) continue;
    const Drive& drive = builder.so_far().drives[control.drive];
    double inputs[] = {drive.target, drive.target_velocity, drive.feedforward};
    const double u = std::clamp(key.ctrl[static_cast<Eigen::Index>(i)], control.lower, control.upper);
    inputs[static_cast<int>(control.input)] = control.scale * u + control.offset;
    builder.set_start_inputs(control.drive, inputs[0], inputs[1], inputs[2]);
  }
}

#ifndef ALMOND_HAVE_MUJOCO

namespace {
[[noreturn]] void refuse(const std::string& place) {
  throw Error(place +
              ": is MJCF, and this program was built without MuJoCo's library, which compiles it: `pip install "
              "mujoco-core` into .venv and build again");
}
}  // namespace

MjcfFile add_mjcf(ModelBuilder&, const std::string& path, const FileOptions&, FileNotes&) { refuse(path); }
MjcfFile add_mjcf_text(ModelBuilder&, const std::string&, const std::string&, const FileOptions&, FileNotes&) {
  refuse("text");
}

#else

std::string MjcfReader::name_of(const int* addresses, int id, const std::string& otherwise) const {
  const std::string name = m.names + addresses[id];
  return (options.name.empty() ? "" : options.name + "/") + (name.empty() ? otherwise : name);
}

bool MjcfReader::disabled(int flag) const { return (m.opt.disableflags & flag) != 0; }

namespace {

Vec3 vec3(const mjtNum* x) { return {x[0], x[1], x[2]}; }

Pose pose(const mjtNum* p, const mjtNum* quaternion) {
  const Vec4 q(quaternion[0], quaternion[1], quaternion[2], quaternion[3]);
  return {quaternion_to_matrix(q.normalized()), vec3(p)};
}

JointKind joint_kind(const mjModel& m, int j) {
  switch (m.jnt_type[j]) {
    case mjJNT_FREE:
      return JointKind::kFree;
    case mjJNT_BALL:
      return JointKind::kBall;
    case mjJNT_SLIDE:
      return JointKind::kPrismatic;
    default:
      return m.jnt_limited[j] ? JointKind::kRevolute : JointKind::kContinuous;
  }
}

/// A joint of the file; `X` is where the body lies in its parent at the joint's reference position.
Joint make_joint_of(MjcfReader& r, int j, const Pose& X, const std::string& body_name) {
  const mjModel& m = r.m;
  Joint joint;
  joint.name = r.name_of(m.name_jntadr, j, body_name + "_joint" + std::to_string(j - m.body_jntadr[m.jnt_bodyid[j]]));
  joint.kind = joint_kind(m, j);
  joint.axis = vec3(m.jnt_axis + 3 * j);
  joint.anchor = vec3(m.jnt_pos + 3 * j);
  joint.X_PJ = X;
  const int dof = m.jnt_dofadr[j];
  if (num_velocities(joint.kind) == 1) {
    // The file's pose belongs to q = ref: joint(q) there is joint(-ref) joint(q) here.
    const double minus_ref = -m.qpos0[m.jnt_qposadr[j]];
    joint.X_PJ = X * make_joint_pose(joint, &minus_ref);
    if (!r.disabled(mjDSBL_SPRING)) joint.stiffness = m.jnt_stiffness[j];
    joint.rest = m.qpos_spring[m.jnt_qposadr[j]];
    if (m.jnt_limited[j] && !r.disabled(mjDSBL_LIMIT)) {
      joint.lower = m.jnt_range[2 * j];
      joint.upper = m.jnt_range[2 * j + 1];
    }
  } else {
    r.ignore("spring of a ball or free joint", m.jnt_stiffness[j] != 0.0);
    // Of a ball joint the range is 0 to the largest angle; no rotation has more than half a turn.
    if (joint.kind == JointKind::kBall && m.jnt_limited[j] && !r.disabled(mjDSBL_LIMIT)) {
      const double most = std::max(m.jnt_range[2 * j], m.jnt_range[2 * j + 1]);
      r.ignore("limit of a ball joint at angle 0", !(most > 0.0));
      if (most > 0.0 && most < std::numbers::pi) joint.upper = most;
    }
  }
  if (joint.kind == JointKind::kFree) {
    r.ignore("damping, armature or friction of a free joint",
             m.dof_damping[dof] != 0.0 || m.dof_armature[dof] != 0.0 || m.dof_frictionloss[dof] != 0.0);
  } else {
    if (!r.disabled(mjDSBL_DAMPER)) joint.damping = m.dof_damping[dof];
    joint.armature = m.dof_armature[dof];
    if (!r.disabled(mjDSBL_FRICTIONLOSS)) joint.dry_friction = m.dof_frictionloss[dof];
  }
  bool polynomial = false;
  for (int k = 0; k < mjNPOLY; ++k)
    polynomial =
        polynomial || m.jnt_stiffnesspoly[mjNPOLY * j + k] != 0.0 || m.dof_dampingpoly[mjNPOLY * dof + k] != 0.0;
  r.ignore("higher order of a joint's stiffness or damping", polynomial);
  return joint;
}

void start_joint(MjcfReader& r, int j, int joint) {
  r.file.joints[j] = joint;
  r.file.qpos[j] = r.m.jnt_qposadr[j];
  r.file.dof[j] = r.m.jnt_dofadr[j];
  const Joint& made = r.builder.so_far().joints[joint];
  const std::string name = r.m.names + r.m.name_jntadr[j];
  const auto wanted = r.options.joints.find(name);
  if (wanted != r.options.joints.end()) {
    require(num_positions(made.kind) == 1, "joint " + quote(name) + ": is a " + to_string(made.kind) +
                                               " joint, expected one that a single start value can set");
    r.file.given[j] = 1;
    r.builder.set_start(joint, VecX::Constant(1, wanted->second));
  } else if (made.kind != JointKind::kFree) {  // a free joint starts where the body is
    r.builder.set_start(joint, joint_position(made, r.m.qpos0 + r.m.jnt_qposadr[j], {}));
  }
}

void read_body(MjcfReader& r, int b) {
  const mjModel& m = r.m;
  const std::string name = r.name_of(m.name_bodyadr, b, "body" + std::to_string(b));
  const int parent = m.body_parentid[b];
  Pose X = pose(m.body_pos + 3 * b, m.body_quat + 4 * b);
  if (parent == 0) X = r.file.X_WF * X;
  int on = r.file.bodies[parent];
  const int joints = m.body_jntnum[b], first = m.body_jntadr[b];
  r.ignore("mocap body (it stands still)", m.body_mocapid[b] >= 0);

  BodySpec last;
  last.mass = m.body_mass[b];
  last.com = vec3(m.body_ipos + 3 * b);
  const Mat3 R = pose(m.body_ipos + 3 * b, m.body_iquat + 4 * b).R;
  last.inertia = R * vec3(m.body_inertia + 3 * b).asDiagonal() * R.transpose();
  last.inertia = 0.5 * (last.inertia + Mat3(last.inertia.transpose()));
  const bool passive = !r.disabled(mjDSBL_SPRING) || !r.disabled(mjDSBL_DAMPER);  // without both nothing passive acts
  last.gravcomp = passive ? m.body_gravcomp[b] : 0.0;
  last.from_file = true;

  const bool free = joints > 0 && m.jnt_type[first] == mjJNT_FREE;
  const bool root = parent == 0;
  if (joints == 0 || (free && r.options.base == Base::kFixed)) {
    last.joint.kind = root && r.options.base == Base::kFloating ? JointKind::kFree : JointKind::kFixed;
    last.joint.X_PJ = X;
    last.name = name;
    last.parent = on;
    r.file.bodies[b] = r.builder.add_body(last);
    return;
  }
  for (int k = 0; k < joints; ++k) {
    const bool is_last = k == joints - 1;
    BodySpec spec = is_last ? last : BodySpec{};
    spec.name = is_last ? name : name + "#" + std::to_string(k + 1);
    spec.parent = on;
    spec.joint = make_joint_of(r, first + k, k == 0 ? X : Pose{}, name);
    spec.from_file = true;
    on = r.builder.add_body(spec);
    start_joint(r, first + k, on);
  }
  r.file.bodies[b] = on;
}

void read_keyframes(MjcfReader& r) {
  const mjModel& m = r.m;
  for (int k = 0; k < m.nkey; ++k) {
    Keyframe key;
    key.name = m.names + m.name_keyadr[k];
    if (key.name.empty()) key.name = std::to_string(k);
    key.qpos = Eigen::Map<const VecX>(m.key_qpos + k * m.nq, m.nq);
    key.qvel = Eigen::Map<const VecX>(m.key_qvel + k * m.nv, m.nv);
    key.ctrl = Eigen::Map<const VecX>(m.key_ctrl + k * m.nu, m.nu);
    r.file.keyframes.push_back(std::move(key));
  }
}

/// Where the file's own start is outside of limits, a keyframe may be inside of all: the first that is.
void advise_keyframe(MjcfReader& r, const std::string& place) {
  std::vector<int> joints;
  for (std::size_t j = 0; j < r.file.joints.size(); ++j)
    if (r.file.joints[j] >= 0 && r.file.given[j] == 0) joints.push_back(r.file.joints[j]);
  const auto fits = [&](const Keyframe& key) {
    for (std::size_t j = 0; j < r.file.joints.size(); ++j) {
      if (r.file.joints[j] < 0 || r.file.given[j] != 0) continue;
      const Joint& joint = r.builder.so_far().joints[r.file.joints[j]];
      if (is_outside(joint, joint_position(joint, key.qpos.data() + r.file.qpos[j], {}).data())) return false;
    }
    return true;
  };
  const auto found = std::find_if(r.file.keyframes.begin(), r.file.keyframes.end(), fits);
  if (found == r.file.keyframes.end()) return;
  const std::string name = quote(found->name);
  r.builder.advise_start(joints, place + ": its keyframe " + name +
                                     " lies within all limits; start there with --keyframe " + name +
                                     ", in Python and scene files with keyframe " + name);
}

void check_joint_names(const MjcfReader& r) {
  std::vector<std::string> names;
  for (int j = 0; j < r.m.njnt; ++j) names.emplace_back(r.m.names + r.m.name_jntadr[j]);
  for (const auto& [name, value] : r.options.joints)
    require(std::find(names.begin(), names.end(), name) != names.end(),
            "no joint " + quote(name) + did_you_mean(name, names));
}

/// Gravity compensation that a joint counts among its actuators' forces.
void check_actuated_gravcomp(MjcfReader& r) {
  const mjModel& m = r.m;
  if (std::none_of(m.body_gravcomp, m.body_gravcomp + m.nbody, [](mjtNum share) { return share != 0.0; })) return;
  for (int j = 0; j < m.njnt; ++j) {
    if (m.jnt_actgravcomp[j] == 0) continue;
    r.ignore("actuatorgravcomp of a joint with actuatorfrcrange (it bounds the actuator alone)",
             m.jnt_actfrclimited[j] != 0);
    r.ignore("actuatorgravcomp of a joint whose actuators are switched off (it acts)", r.disabled(mjDSBL_ACTUATION));
  }
}

MjcfFile convert(const mjModel& m, ModelBuilder& builder, const std::string& place, const std::string& folder,
                 const FileOptions& options, FileNotes& notes) {
  require(options.without.empty(), "links to leave out: MJCF has none, expected a URDF file");
  require(options.locked.empty(), "joints to lock: only those of a URDF file can be");
  MjcfFile file;
  file.time_step = m.opt.timestep;
  file.X_WF = options.X_WF;
  MjcfReader r{m, builder, options, notes, folder, file};
  if (!r.disabled(mjDSBL_GRAVITY)) file.gravity = vec3(m.opt.gravity);
  builder.suggest(place, file.gravity, file.time_step);
  builder.set_friction_combine(Combine::kMaximum);
  check_joint_names(r);
  const int first = builder.so_far().num_bodies();
  file.bodies.assign(m.nbody, kGround);
  file.joints.assign(m.njnt, -1);
  file.given.assign(m.njnt, 0);
  file.qpos.assign(m.njnt, 0);
  file.dof.assign(m.njnt, 0);
  for (int b = 1; b < m.nbody; ++b) read_body(r, b);
  read_geoms(r);
  read_filters(r);
  if (!options.self_collision) {
    for (int a = first; a < builder.so_far().num_bodies(); ++a)
      for (int b = a + 1; b < builder.so_far().num_bodies(); ++b) builder.exclude(a, b);
  }
  std::vector<int> tendon_of;
  read_tendons(r, tendon_of);
  read_equality(r, tendon_of);
  read_actuators(r, tendon_of);
  read_keyframes(r);
  advise_keyframe(r, place);
  check_actuated_gravcomp(r);
  r.ignore("flex", static_cast<int>(m.nflex));
  r.ignore("plugin", static_cast<int>(m.nplugin));
  r.ignore("sensor", static_cast<int>(m.nsensor));
  r.ignore("fluid (density, viscosity, wind)",
           m.opt.density != 0.0 || m.opt.viscosity != 0.0 || vec3(m.opt.wind).squaredNorm() > 0.0);
  return file;
}

}  // namespace

MjcfFile add_mjcf(ModelBuilder& builder, const std::string& path, const FileOptions& options, FileNotes& notes) {
  const std::string parent = std::filesystem::path(path).parent_path().string(), folder = parent.empty() ? "." : parent;
  const MujocoModel m = compile_mjcf(check_mjcf(read_file(path), path, folder, options), path, notes);
  try {
    return convert(*m, builder, path, folder, options, notes);
  } catch (const Error& error) {
    throw Error(path + ": " + error.what());
  }
}

MjcfFile add_mjcf_text(ModelBuilder& builder, const std::string& text, const std::string& folder,
                       const FileOptions& options, FileNotes& notes) {
  const MujocoModel m = compile_mjcf(check_mjcf(text, "text", folder, options), "text", notes);
  return convert(*m, builder, "text", folder, options, notes);
}

#endif

}  // namespace almond
