#include "scenes/dish_robot.hpp"

#include <numbers>

#include "almond/load/installed_robots.hpp"
#include "almond/load/urdf.hpp"

namespace almond::scenes {
namespace {

constexpr const char* kFile = "allegro_hand_description/urdf/allegro_right_hand.urdf";
constexpr const char* kName = "allegro";
constexpr double kRotor = 1e-3;  // of a small motor behind a gear of 369 to 1, as the hand has [kg m²]

/// The hand alone, on the ground.
UrdfRobot read_hand(ModelBuilder& builder, std::vector<Look>* looks) {
  FileOptions file;
  FileNotes notes;
  file.name = kName;
  file.base = Base::kFixed;
  file.looks = looks;
  return add_urdf(builder, need_installed_robot(kFile), file, notes);
}

}  // namespace

Allegro add_allegro(ModelBuilder& builder, int parent, const AllegroOptions& options) {
  ModelBuilder alone;
  const UrdfRobot robot = read_hand(alone, nullptr);
  const Model& hand = alone.so_far();
  Allegro result;
  const int first = result.first_body = builder.so_far().num_bodies();
  for (int b = 0; b < hand.num_bodies(); ++b) {
    const Body& from = hand.bodies[b];
    BodySpec spec{.name = from.name,
                  .parent = from.parent == kGround ? parent : first + from.parent,
                  .joint = hand.joints[b],
                  .mass = from.mass,
                  .com = from.com,
                  .inertia = from.inertia,
                  .gravcomp = from.gravcomp,
                  .from_file = true};
    if (from.parent == kGround) spec.joint.X_PJ = options.X_PF;
    spec.joint.dry_friction = spec.joint.damping = 0.0;
    if (spec.joint.kind != JointKind::kFixed) spec.joint.armature = kRotor;
    builder.add_body(spec);
  }
  for (const Geom& from : hand.geoms) {
    builder.add_geom({from.name, first + from.body, from.X_BG, from.shape, from.material, from.group, from.mask});
    if (const auto* ball = std::get_if<Sphere>(&from.shape)) result.tip_radius = ball->radius;
  }
  for (std::size_t k = 0; k < robot.motors.size(); ++k) {
    const int joint = first + robot.motors[k].joint;
    JointGains gains = options.gains;
    gains.effort_limit = std::min(gains.effort_limit, robot.motors[k].effort);
    builder.set_start(joint, VecX::Constant(1, kAllegroReady[k]));
    result.joints.push_back(joint);
    result.drives.push_back(add_impedance_drive(builder, joint, gains, kAllegroReady[k]));
  }
  const auto body = [&](const char* link) { return builder.so_far().body(std::string(kName) + "/" + link); };
  result.palm = {body("palm_link"), {}};
  result.tips = {BodyFrame{body("link_3.0_tip"), {}}, BodyFrame{body("link_7.0_tip"), {}},
                 BodyFrame{body("link_11.0_tip"), {}}, BodyFrame{body("link_15.0_tip"), {}}};
  return result;
}

std::vector<Look> allegro_looks(int first_body) {
  ModelBuilder alone;
  std::vector<Look> looks;
  read_hand(alone, &looks);
  for (Look& look : looks) look.body += first_body;
  return looks;
}

Pose palm_down_mount() {
  const Vec3 back(-0.0297, 0.03, -0.02);  // of the palm, where the bracket holds it
  constexpr double kBracket = 0.02;       // [m]
  const double half = std::sqrt(0.5);
  // Franka's tools are turned by 45 degrees about the flange's axis.
  Mat3 R;
  R.col(0) = Vec3::UnitZ();
  R.col(2) = Vec3(half, -half, 0.0);
  R.col(1) = R.col(2).cross(R.col(0));
  return {R, Vec3(0.0, 0.0, kBracket) - R * back};
}

}  // namespace almond::scenes
