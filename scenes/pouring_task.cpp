#include "scenes/pouring_task.hpp"

#include <algorithm>
#include <cmath>

#include "almond/task/arm.hpp"

namespace almond::scenes {
namespace {

// The hand is turned to the left, as the arm comes from the right; where the axis of the bottle lies in the palm.
constexpr double kYaw = 0.3;
const Vec3 kInPalm(0.066, 0.056, 0.0);
constexpr double kAside = 0.09, kLift = 0.10;
// Over the jar, the bottle tilted so far that nothing leaves it yet, then on about its lip.
constexpr double kLipClearance = 0.045, kLipBefore = 0.02;  // above the jar and before its middle [m]
constexpr double kReady = 1.05, kTilted = 2.25;             // [rad]
constexpr double kThumbOpen = 0.5;                          // [rad]
constexpr std::size_t kThumbJoints = 3;                     // the first ones of a hand
// Torques of the finger joints as parts of the grip, thumb first. Outer joints have less, or they would push the inner
// ones open; the thumb stands against two fingers.
constexpr double kShares[] = {0.0, 2.0, 0.8, 1.0, 0.4, 1.0, 0.4};

Mat3 yawed() { return exp_so3(Vec3(0.0, 0.0, kYaw)); }
Vec3 pour_direction() { return yawed().col(1); }
Pose pose_of(Simulation& sim, int body) { return sim.kinematics().X_WB[body]; }

// ---- where the tool goes

Pose grasp_pose() {
  const Mat3 R = yawed();
  return {R, kBottleAt + Vec3(0.0, 0.0, kGraspHeight) - R * kInPalm};
}

Pose beside(const Pose& X) { return X * make_translation(0.0, -kAside, 0.0); }

/// Of the lip, with the bottle upright and so high above where it stood.
Pose above_place(double height) {
  return make_translation(kBottleAt + kNeckRadius * pour_direction() + Vec3(0.0, 0.0, kBottleHeight + height));
}

Pose over_jar(double tilt) {
  const Vec3 lip = kJarAt + Vec3(0.0, 0.0, kJarHeight + kLipClearance) - kLipBefore * pour_direction();
  return make_rotation(yawed().col(0), -tilt, lip);
}

/// The bottle is in the hand: from now on its lip is led.
void take(Pouring& p, Simulation& sim) {
  p.X_PB = pose_of(sim, p.g1.right.palm).inverse() * pose_of(sim, p.bottle);
  p.held = true;
  const Mat3 R = pose_of(sim, p.bottle).R.transpose();
  p.tool.X_BF = p.X_PB * Pose{R, R * (kNeckRadius * pour_direction()) + kBottleHeight * Vec3::UnitZ()};
}

// ---- phases

/// One step along the way of the tool: inverse kinematics from where the drives were told to be before.
void lead(Pouring& p, Simulation& sim, double t) {
  const Pose goal = sample(p.way, t + sim.options().dt).X;
  p.ik_error = std::max(p.ik_error, lead_hand(sim, {p.tool, p.g1.right.drives}, goal, p.q).position_error);
}

/// Leads the tool from where the drives were told it to be to `goal(that pose)`, then waits.
template <class Goal>
Phase lead_phase(const std::string& name, Pouring* p, double duration, double wait, const Goal& goal) {
  Phase phase;
  phase.name = name;
  phase.duration = duration + wait;
  phase.begin = [=](Simulation& sim) {
    Kinematics kinematics;
    compute_kinematics(sim.model(), p->q, VecX::Zero(sim.model().num_v), kinematics);
    const Pose from = frame_pose(kinematics, p->tool);
    p->way = make_pose_trajectory({from, goal(from)}, {duration});
  };
  phase.act = [=](Simulation& sim, double t) { lead(*p, sim, t); };
  return phase;
}

/// To a place beside the bottle, from where the open hand can be pushed over it.
Phase reach_phase(Pouring* p) {
  Phase phase;
  phase.name = "reach";
  phase.duration = 1.2;
  phase.begin = [=](Simulation& sim) {
    const G1Arm& arm = p->g1.right;
    p->tool = {arm.palm, {}};
    const IkResult ik = solve_ik(sim.model(), sim.state().q, arm.joints, {{p->tool, beside(grasp_pose())}});
    p->ik_error = ik.position_error;
    p->joint_way = make_joint_trajectory(
        {positions_of(sim.model(), sim.state().q, arm.joints), positions_of(sim.model(), ik.q, arm.joints)},
        {phase.duration});
    p->q = ik.q;
    sim.inputs().target[arm.fingers[1]] = kThumbOpen;
  };
  phase.act = [=](Simulation& sim, double t) {
    follow(p->joint_way, t + sim.options().dt, p->g1.right.drives, sim.inputs());
  };
  return phase;
}

/// Lets a finger close at a speed; one that is stopped has the spring of its drive wound up to a torque, whatever its
/// stiffness. It holds with that torque, and as stiffly as it is, from then on.
void close_finger(Simulation& sim, int drive, double speed, double torque) {
  constexpr double kStopped = 0.02;  // of the speed
  const Drive& motor = sim.model().drives[drive];
  const Joint& joint = sim.model().joints[motor.joint];
  const double q = sim.state().q[joint.q_begin], v = sim.state().v[joint.v_begin];
  const bool moves = v / speed > kStopped;
  sim.inputs().target[drive] = q + (moves ? sim.options().dt * speed : std::copysign(torque / motor.stiffness, speed));
  sim.inputs().target_velocity[drive] = moves ? speed : 0.0;
}

/// Fingers draw the bottle into the palm, then the thumb closes.
Phase grasp_phase(Pouring* p) {
  constexpr double kSpeed = 1.5, kThumbLater = 0.6;  // [rad/s, s]
  Phase phase;
  phase.name = "grasp";
  phase.duration = 1.5;
  phase.act = [=](Simulation& sim, double t) {
    const G1Arm& arm = p->g1.right;
    for (std::size_t k = 0; k < arm.fingers.size(); ++k)
      if (arm.closing[k] != 0.0 && (k >= kThumbJoints || t > kThumbLater))
        close_finger(sim, arm.fingers[k], kSpeed * arm.closing[k], kShares[k] * p->options.grip);
  };
  return phase;
}

/// Fingers open to where they were at first.
Phase release_phase(Pouring* p) {
  Phase phase;
  phase.name = "release";
  phase.duration = 0.6;
  phase.begin = [=](Simulation& sim) {
    p->held = false;
    p->tool.X_BF = {};
    std::vector<int> joints;
    for (const int drive : p->g1.right.fingers) joints.push_back(sim.model().drives[drive].joint);
    const VecX now = positions_of(sim.model(), sim.state().q, joints);
    VecX open = VecX::Zero(now.size());
    open[1] = kThumbOpen;
    p->joint_way = make_joint_trajectory({now, open}, {phase.duration});
  };
  phase.act = [=](Simulation& sim, double t) {
    follow(p->joint_way, t + sim.options().dt, p->g1.right.fingers, sim.inputs());
  };
  return phase;
}

// ---- what must hold

std::vector<Check> check_grasp(const Pouring& p) {
  return {{"slip_mm", 1e3 * p.slip, 0.0, 5.0}, {"ik_error_mm", 1e3 * p.ik_error, 0.0, 1.0}};
}

std::vector<Check> check_poured(const Pouring& p, Simulation& sim) {
  std::vector<Check> checks = check_grasp(p);
  checks.push_back({"in_jar", static_cast<double>(count_balls(sim).in_jar), std::ceil(0.9 * p.options.balls)});
  return checks;
}

std::vector<Check> check_stands(const Pouring& p, Simulation& sim) {
  const Pose X = pose_of(sim, p.bottle);
  return {{"above_table_mm", 1e3 * (X.p.z() - kTable), -0.1, 0.1}, {"upright_cosine", X.R(2, 2), 0.9999}};
}

}  // namespace

Task make_pouring_task(Pouring* p) {
  Phase approach = lead_phase("approach", p, 0.8, 0.0, [](const Pose&) { return grasp_pose(); });
  approach.check = [=](Simulation& sim) {
    return std::vector<Check>{{"pushed_mm", 1e3 * (pose_of(sim, p->bottle).p - kBottleAt).norm(), 0.0, 5.0}};
  };
  Phase lift = lead_phase("lift", p, 0.8, 0.1, [](const Pose& X) { return make_translation(0.0, 0.0, kLift) * X; });
  lift.begin = [=, begin = lift.begin](Simulation& sim) {
    take(*p, sim);
    begin(sim);
  };
  lift.check = [=](Simulation& sim) {
    std::vector<Check> checks = check_grasp(*p);
    checks.push_back({"lift_mm", 1e3 * (pose_of(sim, p->bottle).p.z() - kTable), 900.0 * kLift});
    return checks;
  };
  Phase carry = lead_phase("carry", p, 1.4, 0.1, [](const Pose&) { return over_jar(kReady); });
  carry.check = [=](Simulation&) { return check_grasp(*p); };
  Phase pour = lead_phase("pour", p, 2.0, 0.8, [](const Pose&) { return over_jar(kTilted); });
  Phase back = lead_phase("return", p, 2.4, 0.1, [](const Pose&) { return above_place(kLift); });
  Phase put = lead_phase("put down", p, 0.8, 0.2, [](const Pose&) { return above_place(0.0); });
  pour.check = back.check = put.check = [=](Simulation& sim) { return check_poured(*p, sim); };
  Phase leave = lead_phase("leave", p, 0.8, 0.2, beside);
  leave.check = [=](Simulation& sim) { return check_stands(*p, sim); };
  return {{reach_phase(p), approach, grasp_phase(p), lift, carry, pour, back, put, release_phase(p), leave}};
}

}  // namespace almond::scenes
