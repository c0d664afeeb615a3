#include "scenes/robots.hpp"

#include "almond/load/installed_robots.hpp"
#include "almond/load/urdf.hpp"
#include "almond/sim/overlaps.hpp"

namespace almond::scenes {
namespace {

constexpr const char* kPandaFile = "panda_description/urdf/panda.urdf";
constexpr JointGains kFinger{1e3, 40.0, 70.0};  // of the Panda's own hand, which presses with 70 N at most

FileOptions file_options(const PandaOptions& options) {
  FileOptions file;
  file.name = options.name;
  file.X_WF = options.X_WF;
  file.base = Base::kFixed;
  if (!options.hand) file.without = {"panda_hand"};
  if (options.hand) file.joints["panda_finger_joint1"] = options.finger;
  for (int i = 0; i < 7; ++i) file.joints["panda_joint" + std::to_string(i + 1)] = options.q[i];
  return file;
}

}  // namespace

Panda add_panda(ModelBuilder& builder, const PandaOptions& options) {
  FileNotes notes;
  Panda panda;
  panda.first_body = builder.so_far().num_bodies();
  const UrdfRobot robot = add_urdf(builder, need_installed_robot(kPandaFile), file_options(options), notes);
  panda.end_body = builder.so_far().num_bodies();
  const std::string prefix = options.name.empty() ? "" : options.name + "/";
  panda.flange = builder.so_far().body(prefix + "panda_link8");
  panda.max_velocity.resize(7);
  for (const UrdfRobot::Motor& motor : robot.motors) {
    const auto k = static_cast<int>(panda.joints.size());
    if (k < 7) {  // depth first: the arm comes before the fingers
      panda.joints.push_back(motor.joint);
      panda.max_velocity[k] = motor.velocity;
      panda.drives.push_back(add_impedance_drive(
          builder, motor.joint, {options.stiffness[k], options.damping[k], motor.effort}, options.q[k]));
    } else {
      panda.gripper.fingers.push_back({add_impedance_drive(builder, motor.joint, kFinger, options.finger), 0.0, -1.0});
    }
  }
  return panda;
}

std::vector<Look> read_looks(const std::string& file, FileOptions options) {
  ModelBuilder builder;
  FileNotes notes;
  std::vector<Look> looks;
  options.meshes = MeshUse::kNone;
  options.looks = &looks;
  add_urdf(builder, need_installed_robot(file), options, notes);
  return looks;
}

std::vector<Look> panda_looks(const PandaOptions& options) {
  constexpr Color kWhite = {0.93, 0.94, 0.95, 1.0};
  std::vector<Look> looks = read_looks(kPandaFile, file_options(options));
  for (Look& look : looks) look.color = look.name.find("finger") == std::string::npos ? kWhite : kDark;
  return looks;
}

void paint(const Model& model, int body, const Color& color, std::vector<Look>& looks) {
  for (const Geom& geom : model.geoms)
    if (geom.body == body) looks.push_back({geom.name, body, geom.X_BG, geom.shape, Look::Role::kVisual, color});
}

void push_arm(Simulation& sim, const Panda& panda, const BodyFrame& frame, const Vec3& force) {
  const Mat6X J = frame_jacobian(sim.model(), sim.kinematics(), frame, panda.joints);
  const VecX torque = J.topRows<3>().transpose() * force;
  for (std::size_t k = 0; k < panda.drives.size(); ++k)
    sim.inputs().feedforward[panda.drives[k]] = torque[static_cast<Eigen::Index>(k)];
}

void make_stiff(PandaOptions& options) {
  options.stiffness = {3000.0, 3000.0, 3000.0, 2500.0, 2500.0, 2000.0, 2000.0};
  options.damping = {200.0, 200.0, 150.0, 120.0, 60.0, 50.0, 30.0};
}

void exclude_overlaps(ModelBuilder& builder, int first, int end) {
  constexpr double kDepth = 1e-4;  // [m]
  const Model model = builder.build();
  for (const Overlap& overlap : find_overlaps(model, model.q0, kDepth))
    if (overlap.body_a >= first && overlap.body_b < end) builder.exclude(overlap.body_a, overlap.body_b);
}

}  // namespace almond::scenes
