// Equality constraints, tendons and actuators of an MJCF file.

#ifdef ALMOND_HAVE_MUJOCO

#include <mujoco/mujoco.h>

#include <algorithm>
#include <cmath>

#include "almond/base/text.hpp"
#include "almond/load/mjcf_reader.hpp"

namespace almond {
namespace {

Vec3 vec3(const mjtNum* x) { return {x[0], x[1], x[2]}; }

bool is_one_dof(const MjcfReader& r, int joint) {
  return r.m.jnt_type[joint] == mjJNT_HINGE || r.m.jnt_type[joint] == mjJNT_SLIDE;
}

/// q1 = ref1 + a0 + a1 (q2 - ref2); without a second joint q1 is held.
bool make_mimic(MjcfReader& r, int i, Closure& closure) {
  const mjModel& m = r.m;
  const int j1 = m.eq_obj1id[i], j2 = m.eq_obj2id[i];
  const mjtNum* data = m.eq_data + mjNEQDATA * i;
  if (!is_one_dof(r, j1) || (j2 >= 0 && !is_one_dof(r, j2))) return false;
  r.ignore("higher order of a joint equality", j2 >= 0 && (data[2] != 0.0 || data[3] != 0.0 || data[4] != 0.0));
  const double ref1 = m.qpos0[m.jnt_qposadr[j1]];
  closure.kind = ClosureKind::kMimic;
  closure.a = r.file.joints[j1];
  closure.b = j2 >= 0 ? r.file.joints[j2] : closure.a;
  closure.ratio = j2 >= 0 ? data[1] : 0.0;
  closure.offset = ref1 + data[0] - (j2 >= 0 ? closure.ratio * m.qpos0[m.jnt_qposadr[j2]] : 0.0);
  return true;
}

/// The same for tendons, about their lengths at the reference.
bool make_tendon_closure(MjcfReader& r, int i, const std::vector<int>& tendon_of, Closure& closure) {
  const mjModel& m = r.m;
  const int t1 = m.eq_obj1id[i], t2 = m.eq_obj2id[i];
  const mjtNum* data = m.eq_data + mjNEQDATA * i;
  if (tendon_of[t1] < 0 || (t2 >= 0 && tendon_of[t2] < 0)) return false;
  r.ignore("higher order of a tendon equality", t2 >= 0 && (data[2] != 0.0 || data[3] != 0.0 || data[4] != 0.0));
  closure.kind = ClosureKind::kTendon;
  closure.a = tendon_of[t1];
  closure.b = t2 >= 0 ? tendon_of[t2] : closure.a;
  closure.ratio = t2 >= 0 ? data[1] : 0.0;
  closure.offset = m.tendon_length0[t1] + data[0] - (t2 >= 0 ? closure.ratio * m.tendon_length0[t2] : 0.0);
  return true;
}

Pose site_pose(const mjModel& m, int site) {
  const mjtNum* q = m.site_quat + static_cast<std::ptrdiff_t>(4) * site;
  return {quaternion_to_matrix(Vec4(q[0], q[1], q[2], q[3])), vec3(m.site_pos + static_cast<std::ptrdiff_t>(3) * site)};
}

bool make_closure(MjcfReader& r, int i, const std::vector<int>& tendon_of, Closure& closure) {
  const mjModel& m = r.m;
  const mjtNum* data = m.eq_data + mjNEQDATA * i;
  if (m.eq_type[i] == mjEQ_JOINT) return make_mimic(r, i, closure);
  if (m.eq_type[i] == mjEQ_TENDON) return make_tendon_closure(r, i, tendon_of, closure);
  if (m.eq_type[i] != mjEQ_CONNECT && m.eq_type[i] != mjEQ_WELD) return false;
  const bool sites = m.eq_objtype[i] == mjOBJ_SITE;
  const auto body_of = [&](int object) { return sites ? m.site_bodyid[object] : object; };
  const int body_a = body_of(m.eq_obj1id[i]), body_b = body_of(m.eq_obj2id[i]);
  closure.a = r.file.bodies[body_a];
  closure.b = r.file.bodies[body_b];
  if (m.eq_type[i] == mjEQ_WELD) closure.kind = ClosureKind::kWeld;
  if (sites) {  // that coincide
    closure.X_a = site_pose(m, m.eq_obj1id[i]);
    closure.X_b = site_pose(m, m.eq_obj2id[i]);
  } else if (m.eq_type[i] == mjEQ_CONNECT) {
    closure.X_a.p = vec3(data);
    closure.X_b.p = vec3(data + 3);
  } else {  // data: point of body 2, the same point of body 1, and how body 2 is turned in body 1
    const Vec4 q(data[6], data[7], data[8], data[9]);
    closure.X_b.p = vec3(data);
    closure.X_a = {quaternion_to_matrix(q.normalized()), vec3(data + 3)};
  }
  // The file's world may lie elsewhere.
  if (body_a == 0) closure.X_a = r.file.X_WF * closure.X_a;
  if (body_b == 0) closure.X_b = r.file.X_WF * closure.X_b;
  return true;
}

const char* equality_name(int type) {
  switch (type) {
    case mjEQ_TENDON:
      return "equality of spatial tendons";
    case mjEQ_JOINT:
      return "equality of ball or free joints";
    default:
      return "equality of a flex";
  }
}

/// What a drive pulls at, and how far one unit of the actuator moves it.
bool find_transmission(const MjcfReader& r, int i, const std::vector<int>& tendon_of, Drive& drive) {
  const mjModel& m = r.m;
  const int id = m.actuator_trnid[2 * i];
  switch (m.actuator_trntype[i]) {
    case mjTRN_JOINT:
    case mjTRN_JOINTINPARENT:
      if (!is_one_dof(r, id)) return false;
      drive.joint = r.file.joints[id];
      return true;
    case mjTRN_TENDON:
      drive.tendon = tendon_of[id];
      return drive.tendon >= 0;
    default:
      return false;
  }
}

/// force = gain u + bias0 + bias1 length + bias2 velocity, with length = gear q. False for any other.
bool find_gains(const mjModel& m, int i, double& gain, Vec3& bias) {
  if (m.actuator_dyntype[i] != mjDYN_NONE || m.actuator_plugin[i] >= 0 || m.actuator_ctrlnum[i] != 1) return false;
  const mjtNum* g = m.actuator_gainprm + mjNGAIN * i;
  const bool plain =
      m.actuator_gaintype[i] == mjGAIN_FIXED || (m.actuator_gaintype[i] == mjGAIN_AFFINE && g[1] == 0.0 && g[2] == 0.0);
  if (!plain || (m.actuator_biastype[i] != mjBIAS_NONE && m.actuator_biastype[i] != mjBIAS_AFFINE)) return false;
  gain = g[0];
  bias = m.actuator_biastype[i] == mjBIAS_AFFINE ? vec3(m.actuator_biasprm + mjNBIAS * i) : Vec3(0.0, 0.0, 0.0);
  return bias[1] <= 0.0 && bias[2] <= 0.0;
}

/// Range of the force on joint or tendon. The joint's own range bounds the sum of all its actuators, which is the same
/// where there is one.
void find_force_range(MjcfReader& r, int i, const Drive& drive, double& lower, double& upper) {
  const mjModel& m = r.m;
  lower = -kInfinity, upper = kInfinity;
  const double gear = m.actuator_gear[6 * m.actuator_outadr[i]];
  if (m.actuator_forcelimited[i]) {
    const mjtNum* range = m.actuator_forcerange + 2 * i;
    lower = std::min(gear * range[0], gear * range[1]);
    upper = std::max(gear * range[0], gear * range[1]);
  }
  const int id = m.actuator_trnid[2 * i];
  const bool limited = drive.joint >= 0 ? m.jnt_actfrclimited[id] : m.tendon_actfrclimited[id];
  if (drive.tendon >= 0) {
    bool crosses = false;
    for (int k = m.tendon_adr[id]; k < m.tendon_adr[id] + m.tendon_num[id]; ++k)
      crosses = crosses || m.jnt_actfrclimited[m.wrap_objid[k]];
    r.ignore("actuatorfrcrange of a joint that a tendon pulls at", crosses);
  }
  if (!limited) return;
  const mjtNum* range = drive.joint >= 0 ? m.jnt_actfrcrange + 2 * id : m.tendon_actfrcrange + 2 * id;
  lower = std::clamp(lower, range[0], range[1]);
  upper = std::clamp(upper, range[0], range[1]);
  const auto on_joint = [&](int k) {
    return m.actuator_trntype[k] == mjTRN_JOINT || m.actuator_trntype[k] == mjTRN_JOINTINPARENT;
  };
  int actuators = 0;
  for (int k = 0; k < m.nactuator; ++k) {
    const bool same = drive.joint >= 0 ? on_joint(k) : m.actuator_trntype[k] == mjTRN_TENDON;
    actuators += same && m.actuator_trnid[2 * k] == id;
  }
  r.ignore("actuatorfrcrange over several actuators (it bounds each of them)", actuators > 1);
}

/// The drive of actuator i and its control; false where it has no counterpart.
bool read_actuator(MjcfReader& r, int i, const std::vector<int>& tendon_of, Control& control) {
  const mjModel& m = r.m;
  Drive drive;
  double gain = 0.0;
  Vec3 bias;
  if (!find_transmission(r, i, tendon_of, drive) || !find_gains(m, i, gain, bias)) return false;
  const double gear = m.actuator_gear[6 * m.actuator_outadr[i]];
  drive.name = control.name;
  drive.stiffness = -bias[1] * gear * gear;
  drive.damping = -bias[2] * gear * gear;
  double lower = 0.0, upper = 0.0;
  find_force_range(r, i, drive, lower, upper);
  if (lower == upper) {  // ranges of actuator and joint have one force in common: whatever the control, it acts
    drive.stiffness = drive.damping = 0.0;
    drive.feedforward = control.offset = lower;
    control.scale = 0.0;
    control.drive = r.builder.add_drive(drive);
    return true;
  }
  if (std::isfinite(lower)) {
    drive.effort_limit = 0.5 * (upper - lower);
    drive.effort_middle = 0.5 * (upper + lower);
  }
  double unit = gear;  // of the drive's input, per unit of force
  if (drive.stiffness > 0.0) {
    drive.mode = DriveMode::kPosition;
    control.input = Control::Input::kTarget;
    unit = gear / drive.stiffness;
  } else if (drive.damping > 0.0) {
    drive.mode = DriveMode::kVelocity;
    control.input = Control::Input::kTargetVelocity;
    unit = gear / drive.damping;
  }
  control.scale = unit * gain;
  control.offset = unit * bias[0];
  const int u = m.actuator_ctrladr[i];
  if (m.actuator_ctrllimited[u] && !r.disabled(mjDSBL_CLAMPCTRL)) {
    control.lower = m.actuator_ctrlrange[2 * u];
    control.upper = m.actuator_ctrlrange[2 * u + 1];
  }
  const double start = control.scale * std::clamp(0.0, control.lower, control.upper) + control.offset;
  if (control.input == Control::Input::kTarget) drive.target = start;
  if (control.input == Control::Input::kTargetVelocity) drive.target_velocity = start;
  if (control.input == Control::Input::kFeedforward) drive.feedforward = start;
  control.drive = r.builder.add_drive(drive);
  return true;
}

}  // namespace

void read_equality(MjcfReader& r, const std::vector<int>& tendon_of) {
  const mjModel& m = r.m;
  if (r.disabled(mjDSBL_EQUALITY)) return;
  for (int i = 0; i < m.neq; ++i) {
    Closure closure;
    closure.name = r.name_of(m.name_eqadr, i, "equality" + std::to_string(i));
    if (!m.eq_active0[i]) {
      r.ignore("equality that is not active");
    } else if (!make_closure(r, i, tendon_of, closure)) {
      r.ignore(equality_name(m.eq_type[i]));
    } else {
      r.builder.add_closure(closure);
    }
  }
}

void read_tendons(MjcfReader& r, std::vector<int>& tendon_of) {
  const mjModel& m = r.m;
  tendon_of.assign(m.ntendon, -1);
  for (int t = 0; t < m.ntendon; ++t) {
    Tendon tendon;
    tendon.name = r.name_of(m.name_tendonadr, t, "tendon" + std::to_string(t));
    bool fixed = true;
    for (int k = m.tendon_adr[t]; k < m.tendon_adr[t] + m.tendon_num[t]; ++k) {
      fixed = fixed && m.wrap_type[k] == mjWRAP_JOINT;
      if (fixed) tendon.terms.emplace_back(r.file.joints[m.wrap_objid[k]], m.wrap_prm[k]);
    }
    if (!fixed) {
      r.ignore("spatial tendon");
      continue;
    }
    if (m.tendon_treenum[t] > 2) {
      r.ignore("tendon over more than two robots");
      continue;
    }
    if (m.tendon_limited[t] && !r.disabled(mjDSBL_LIMIT)) {
      tendon.lower = m.tendon_range[2 * t];
      tendon.upper = m.tendon_range[2 * t + 1];
    }
    if (!r.disabled(mjDSBL_SPRING)) tendon.stiffness = m.tendon_stiffness[t];
    if (!r.disabled(mjDSBL_DAMPER)) tendon.damping = m.tendon_damping[t];
    tendon.rest_lower = m.tendon_lengthspring[2 * t];
    tendon.rest_upper = m.tendon_lengthspring[2 * t + 1];
    if (!r.disabled(mjDSBL_FRICTIONLOSS)) tendon.dry_friction = m.tendon_frictionloss[t];
    r.ignore("armature of a tendon", m.tendon_armature[t] != 0.0);
    tendon_of[t] = r.builder.add_tendon(tendon);
  }
}

void read_actuators(MjcfReader& r, const std::vector<int>& tendon_of) {
  const mjModel& m = r.m;
  r.file.controls.resize(m.nu);
  for (int i = 0; i < m.nactuator; ++i) {
    Control control;
    control.name = r.name_of(m.name_actuatoradr, i, "actuator" + std::to_string(i));
    const int group = m.actuator_group[i];
    const bool off =
        r.disabled(mjDSBL_ACTUATION) || (group >= 0 && group < 31 && (m.opt.disableactuator >> group & 1) != 0);
    if (off) {
      r.notes.said.push_back("actuator " + quote(control.name) + " is switched off in the file");
    } else if (!read_actuator(r, i, tendon_of, control)) {
      control.drive = -1;
      r.ignore("actuator (site, body, ball joint, muscle, activation, negative gain, ...)");
    }
    for (int u = m.actuator_ctrladr[i]; u < m.actuator_ctrladr[i] + m.actuator_ctrlnum[i]; ++u)
      r.file.controls[u] = control;
  }
}

}  // namespace almond

#endif
