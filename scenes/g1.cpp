#include "scenes/g1.hpp"

#include <algorithm>

#include "almond/load/installed_robots.hpp"
#include "almond/load/urdf.hpp"
#include "scenes/robots.hpp"

namespace almond::scenes {
namespace {

constexpr const char* kFile = "g1_description/urdf/g1_29dof_with_hand_rev_1_0.urdf";
constexpr const char* kArm[] = {"shoulder_pitch", "shoulder_roll", "shoulder_yaw", "elbow",
                                "wrist_roll",     "wrist_pitch",   "wrist_yaw"};
constexpr const char* kFingers[] = {"thumb_0", "thumb_1", "thumb_2", "middle_0", "middle_1", "index_0", "index_1"};
constexpr double kClosing[] = {0.0, -1.0, -1.0, 1.0, 1.0, 1.0, 1.0};  // of the right hand; the left one mirrors it
// A stiff robot: what it carries here moves it by a millimetre or two [N m/rad, N m s/rad].
constexpr double kArmStiffness = 500.0, kArmDamping = 25.0;
constexpr double kFingerTime = 0.0075;  // damping by stiffness [s]

std::string arm_joint(const std::string& side, int k) { return side + "_" + kArm[k] + "_joint"; }

FileOptions file_options(const G1Options& options) {
  FileOptions file;
  file.X_WF = options.X_WF;
  file.base = Base::kFixed;
  file.locked = {"waist_yaw_joint", "waist_roll_joint", "waist_pitch_joint"};
  for (const char* side : {"left_", "right_"})
    for (const char* joint : {"hip_pitch", "hip_roll", "hip_yaw", "knee", "ankle_pitch", "ankle_roll"})
      file.locked.push_back(std::string(side) + joint + "_joint");
  for (int k = 0; k < 7; ++k) {
    file.joints[arm_joint("left", k)] = options.left.at(k);
    file.joints[arm_joint("right", k)] = options.right.at(k);
  }
  return file;
}

G1Arm add_arm(ModelBuilder& builder, const std::string& side, const UrdfRobot& robot, const std::vector<double>& q,
              double finger_stiffness) {
  G1Arm arm;
  const auto find = [&](const std::string& name) {
    return *std::find_if(robot.motors.begin(), robot.motors.end(), [&](const UrdfRobot::Motor& motor) {
      return builder.so_far().joints[motor.joint].name == name;
    });
  };
  for (int k = 0; k < 7; ++k) {
    const UrdfRobot::Motor motor = find(arm_joint(side, k));
    arm.joints.push_back(motor.joint);
    arm.drives.push_back(
        add_impedance_drive(builder, motor.joint, {kArmStiffness, kArmDamping, motor.effort}, q.at(k)));
  }
  for (int k = 0; k < 7; ++k) {
    const UrdfRobot::Motor motor = find(side + "_hand_" + kFingers[k] + "_joint");
    arm.fingers.push_back(add_impedance_drive(builder, motor.joint,
                                              {finger_stiffness, kFingerTime * finger_stiffness, motor.effort}, 0.0));
    arm.closing.push_back(side == "right" ? kClosing[k] : -kClosing[k]);
  }
  arm.palm = builder.so_far().body(side + "_hand_palm_link");
  return arm;
}

}  // namespace

G1 add_g1(ModelBuilder& builder, const G1Options& options) {
  G1 g1;
  FileNotes notes;
  g1.first_body = builder.so_far().num_bodies();
  const UrdfRobot robot = add_urdf(builder, need_installed_robot(kFile), file_options(options), notes);
  g1.end_body = builder.so_far().num_bodies();
  g1.left = add_arm(builder, "left", robot, options.left, options.finger_stiffness);
  g1.right = add_arm(builder, "right", robot, options.right, options.finger_stiffness);
  return g1;
}

std::vector<Look> g1_looks(const G1Options& options) { return read_looks(kFile, file_options(options)); }

}  // namespace almond::scenes
