// An arm of three links with two fingers takes a cube and puts it down 0.4 m away; the program fails if it does not.
#include <cstdio>

#include "almond/almond.hpp"
using namespace almond;

/// A box of 2h on a joint of its parent.
static int add_link(ModelBuilder& builder, int parent, const Joint& joint, double mass, const Vec3& h, const Vec3& centre) {
  const Vec3 s = h.cwiseProduct(h) * (mass / 3.0);
  const Mat3 inertia = Vec3(s.y() + s.z(), s.x() + s.z(), s.x() + s.y()).asDiagonal();
  const int body = builder.add_body({joint.name, parent, joint, mass, centre, inertia});
  builder.add_geom({.name = "", .body = body, .X_BG = make_translation(centre), .shape = Box{h}, .material = {.mu = 0.8}});
  return body;
}

int main() {
  ModelBuilder builder("pick");
  builder.add_ground(Plane{});
  const int cube = builder.add_solid("cube", Box{Vec3::Constant(0.025)}, 0.2, make_translation(0.5, 0.0, 0.025));
  std::vector<int> joints, drives;
  const double start[] = {-1.2, 1.6, 1.17};  // turns about y; the links lie along x
  for (int i = 0; i < 3; ++i) {
    const Pose at = i == 0 ? make_translation(0.0, 0.0, 0.5) : make_translation(i == 1 ? 0.45 : 0.4, 0.0, 0.0);
    const double half = i == 0 ? 0.2 : i == 1 ? 0.175 : 0.04;
    joints.push_back(add_link(builder, i == 0 ? kGround : joints.back(),
                              make_joint(JointKind::kRevolute, Vec3::UnitY(), at, "arm" + std::to_string(i)), 2.0 - 0.5 * i,
                              Vec3(half, 0.03, 0.02), Vec3(half + 0.02, 0.0, 0.0)));
    builder.set_start(joints.back(), VecX::Constant(1, start[i]));
    drives.push_back(add_impedance_drive(builder, joints.back(), {2e3, 100.0, 200.0}, start[i]));
  }
  Gripper gripper;
  for (const double side : {1.0, -1.0}) {
    const std::string name = side > 0.0 ? "left" : "right";
    const int finger = add_link(builder, joints[2],
                                make_joint(JointKind::kPrismatic, side * Vec3::UnitY(), make_translation(0.105, 0, 0), name),
                                0.05, Vec3(0.04, 0.005, 0.01), Vec3(0.04, side * 0.005, 0.0));
    builder.set_start(finger, VecX::Constant(1, 0.04));
    gripper.fingers.push_back({add_impedance_drive(builder, finger, {2e3, 40.0, 50.0}, 0.04), 0.0, -1.0});
  }
  Simulation sim(builder.build());
  const Model& model = sim.model();

  const BodyFrame grip{joints[2], make_translation(0.165, 0.0, 0.0)};  // between the finger tips; x points out of the hand
  const Mat3 down = make_rotation(Vec3::UnitY(), 0.5 * 3.14159265358979).R;
  VecX q = model.q0;
  Task task;
  const auto go = [&](const std::string& name, double x, double z, double grasp) {  // grasp [N], 0: open
    const IkResult ik = solve_ik(model, q, joints, {{grip, Pose{down, Vec3(x, 0.0, z)}}});
    if (ik.status != IkStatus::kReached) throw Error(name + ": out of reach");
    const JointTrajectory way =
        make_joint_trajectory({positions_of(model, q, joints), positions_of(model, ik.q, joints)}, {1.0});
    q = ik.q;
    task.phases.push_back({.name = name, .duration = 1.2, .act = [&, way, grasp](Simulation& s, double t) {
                             follow(way, t + s.options().dt, drives, s.inputs());
                             if (grasp > 0.0) close_with(model, s.state(), gripper, grasp, s.inputs());
                             if (grasp == 0.0) open_to(gripper, 0.08, s.inputs());
                           }});
  };
  go("above", 0.5, 0.15, 0.0);
  go("down", 0.5, 0.03, 0.0);
  go("grasp", 0.5, 0.03, 15.0);
  go("lift", 0.5, 0.15, 15.0);
  task.phases.back().check = [&](Simulation& s) {
    return std::vector<Check>{{"cube_height_m", s.kinematics().X_WB[cube].p.z(), 0.1}};
  };
  go("carry", 0.1, 0.15, 15.0);
  go("lower", 0.1, 0.03, 15.0);
  go("release", 0.1, 0.03, 0.0);
  go("away", 0.1, 0.15, 0.0);
  task.phases.back().check = [&](Simulation& s) {
    return std::vector<Check>{{"cube_x_m", s.kinematics().X_WB[cube].p.x(), 0.09, 0.11},
                              {"cube_height_m", s.kinematics().X_WB[cube].p.z(), 0.0249, 0.0251}};
  };
  for (advance(task, sim); !task.over(); advance(task, sim)) sim.step();
  std::printf("%s after %.1f s\n", describe(task).c_str(), sim.state().time);
  return task.done() ? 0 : 1;
}
