// An arm with two fingers takes a cube, turns by a quarter and puts it down; the program fails if it does not.
#include <cstdio>
#include <numbers>

#include "almond/almond.hpp"
using namespace almond;

int main() {
  ModelBuilder builder("pick");
  builder.add_ground(Plane{});
  const int cube = builder.add_solid("cube", Box{Vec3::Constant(0.025)}, 0.2, make_translation(0.5, 0.0, 0.025));
  Arm arm;  // a shoulder that turns about z, three links that turn about y, each held like a spring by its drive
  int link = kGround;
  Pose joint_at = make_translation(0.0, 0.0, 0.5);
  for (const double length : {0.1, 0.4, 0.4, 0.1}) {
    const Joint hinge = make_joint(JointKind::kRevolute, link < 0 ? Vec3::UnitZ() : Vec3::UnitY(), joint_at);
    link = builder.add_link("link" + std::to_string(link + 1), link, hinge, Box{{0.5 * length - 0.01, 0.03, 0.02}}, 1.5,
                            make_translation(0.5 * length, 0.0, 0.0));
    arm.drives.push_back(add_impedance_drive(builder, link, {2e3, 100.0, 200.0}, 0.0));
    joint_at = make_translation(length, 0.0, 0.0);
  }
  arm.hand = {link, make_translation(0.18, 0.0, 0.0)};  // between the finger tips; x points out of the hand
  Gripper gripper;
  for (const double side : {1.0, -1.0}) {
    const Joint slider = make_joint(JointKind::kPrismatic, {0.0, -side, 0.0}, make_translation(0.1, 0.045 * side, 0.0));
    const int finger = builder.add_link(side > 0.0 ? "left" : "right", link, slider, Box{{0.05, 0.005, 0.01}}, 0.05,
                                        make_translation(0.05, 0.0, 0.0), {.mu = 0.8});
    gripper.fingers.push_back({add_impedance_drive(builder, finger, {2e3, 40.0, 50.0}, 0.0), 0.04, 1.0});
  }
  Simulation sim(builder.build());

  constexpr double kQuarter = 0.5 * std::numbers::pi;
  const auto at = [](double turn, double z) {  // the hand 0.5 m from the axis of the shoulder, pointing down
    return make_rotation(Vec3::UnitZ(), turn) * make_rotation(Vec3::UnitY(), kQuarter, Vec3(0.5, 0.0, z));
  };
  double grip = 0.0;  // force of the fingers [N], 0: open
  Task task{{move_joints("ready", arm, Vec4(0.0, -0.73, 2.04, 0.26), 1.5),
             move_hand("above", arm, at(0.0, 0.15), 1.0),
             move_hand("down", arm, at(0.0, 0.03), 1.0),
             {.name = "grasp", .duration = 0.5, .begin = [&](Simulation&) { grip = 15.0; }},
             move_hand("lift", arm, at(0.0, 0.15), 1.0),
             move_joints("turn", arm, Vec4(kQuarter, -0.73, 2.04, 0.26), 1.5),
             move_hand("lower", arm, at(kQuarter, 0.03), 1.0),
             {.name = "release", .duration = 0.5, .begin = [&](Simulation&) { grip = 0.0; }},
             move_hand("leave", arm, at(kQuarter, 0.15), 1.0)}};
  task.phases[4].check = [&](Simulation&) {
    return std::vector<Check>{{"cube_height_mm", 1e3 * sim.kinematics().X_WB[cube].p.z(), 100.0}};
  };
  task.phases.back().check = [&](Simulation&) {
    const Vec3 off = sim.kinematics().X_WB[cube].p - Vec3(0.0, 0.5, 0.025);
    return std::vector<Check>{{"cube_off_mm", 1e3 * off.norm(), 0.0, 5.0}};
  };
  for (advance(task, sim); !task.over(); advance(task, sim)) {
    if (grip > 0.0) close_with(sim.model(), sim.state(), gripper, grip, sim.inputs());
    if (grip == 0.0) open_to(gripper, 0.08, sim.inputs());
    sim.step();
  }
  std::printf("%s after %.1f s\n", describe(task).c_str(), sim.state().time);
  return task.done() ? 0 : 1;
}
