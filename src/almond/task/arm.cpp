#include "almond/task/arm.hpp"

#include <algorithm>
#include <memory>

#include "almond/base/check.hpp"

namespace almond {
namespace {

/// q of the whole model as the drives are told to have it.
VecX planned_positions(Simulation& simulation, const Arm& arm, const std::vector<int>& joints) {
  VecX q = simulation.state().q;
  for (std::size_t k = 0; k < joints.size(); ++k)
    q[simulation.model().joints[joints[k]].q_begin] = simulation.inputs().target[arm.drives[k]];
  return q;
}

}  // namespace

std::vector<int> joints_of(const Model& model, const Arm& arm) {
  std::vector<int> joints;
  const int count = static_cast<int>(model.drives.size());
  for (const int drive : arm.drives) {
    require(drive >= 0 && drive < count,
            "arm: drive " + std::to_string(drive) + ", expected 0 to " + std::to_string(count - 1));
    joints.push_back(model.drives[drive].joint);
  }
  check_joints(model, joints, "arm");
  return joints;
}

IkResult lead_hand(Simulation& simulation, const Arm& arm, const Pose& X_WF, VecX& q) {
  const std::vector<int> joints = joints_of(simulation.model(), arm);
  IkOptions options;
  options.restarts = 0;  // the way is smooth: the last answer is near, and a jump to another is of no use
  IkResult ik = solve_ik(simulation.model(), q, joints, {{arm.hand, X_WF}}, options);
  const VecX before = positions_of(simulation.model(), q, joints), now = positions_of(simulation.model(), ik.q, joints);
  set_targets(arm.drives, now, (now - before) / simulation.options().dt, simulation.inputs());
  q = ik.q;
  return ik;
}

Phase move_joints(const std::string& name, const Arm& arm, const VecX& q, double duration) {
  require(q.size() == static_cast<Eigen::Index>(arm.drives.size()),
          "phase \"" + name + "\": q has " + std::to_string(q.size()) + " entries, expected " +
              std::to_string(arm.drives.size()) + ", one for each drive");
  const auto way = std::make_shared<JointTrajectory>(make_joint_trajectory({q, q}, {duration}));
  Phase phase{.name = name, .duration = duration};
  phase.begin = [arm, way](Simulation& simulation) {
    const std::vector<int> joints = joints_of(simulation.model(), arm);
    way->points[0] = positions_of(simulation.model(), planned_positions(simulation, arm, joints), joints);
  };
  phase.act = [arm, way](Simulation& simulation, double t) {
    follow(*way, t + simulation.options().dt, arm.drives, simulation.inputs());
  };
  return phase;
}

Phase move_hand(const std::string& name, const Arm& arm, const Pose& X_WF, double duration) {
  struct Plan {
    PoseTrajectory way;
    VecX q;
    double off = 0.0;  // the way, at most [m]
  };
  const auto plan = std::make_shared<Plan>();
  plan->way = make_pose_trajectory({X_WF, X_WF}, {duration});
  Phase phase{.name = name, .duration = duration};
  phase.begin = [arm, plan](Simulation& simulation) {
    plan->q = planned_positions(simulation, arm, joints_of(simulation.model(), arm));
    plan->off = 0.0;
    Kinematics kinematics;
    compute_kinematics(simulation.model(), plan->q, VecX::Zero(simulation.model().num_v), kinematics);
    plan->way.points[0] = frame_pose(kinematics, arm.hand);
  };
  phase.act = [arm, plan](Simulation& simulation, double t) {
    const IkResult ik = lead_hand(simulation, arm, sample(plan->way, t + simulation.options().dt).X, plan->q);
    plan->off = std::max(plan->off, ik.position_error + IkOptions{}.length * ik.rotation_error);
  };
  phase.done = [plan, duration](Simulation& simulation, double t) {
    constexpr double kMost = 0.01;  // [mm]; what is reached is reached much more closely
    const bool there = t >= duration - 0.5 * simulation.options().dt;
    return Check{"off_its_way_mm", there ? 1e3 * plan->off : kInfinity, 0.0, kMost};
  };
  return phase;
}

}  // namespace almond
