// Models of boxes: slope, tower, grasp, dishes.

#include <cmath>
#include <numbers>

#include "scenes/parts.hpp"

namespace almond::scenes {
namespace {

const Vec3 kCubeHalf(kCube, kCube, kCube);

/// A dish of boxes: a floor and a ring of twelve walls leaning outwards.
void add_dish(ModelBuilder& builder, const std::string& name, double mass, double radius, double height, double lean,
              double z, const Material& material) {
  constexpr int kWalls = 12;
  constexpr double kThick = 0.004;  // half thickness
  BodySpec spec;
  spec.name = name;
  spec.joint.X_PJ = make_translation(0.0, 0.0, z);
  spec.mass = mass;
  spec.com = Vec3(0.0, 0.0, 0.4 * height);
  // A disc with a rim; the law of motion only asks that it be a possible inertia.
  const double across = mass * (0.3 * radius * radius + height * height / 12.0), along = 0.6 * mass * radius * radius;
  spec.inertia = Vec3(across, across, along).asDiagonal();
  GeomSpec geom;
  geom.body = builder.add_body(spec);
  geom.material = material;
  geom.shape = Box{Vec3(0.7 * radius, 0.7 * radius, kThick)};
  geom.X_BG = make_translation(0.0, 0.0, kThick);
  builder.add_geom(geom);
  for (int i = 0; i < kWalls; ++i) {
    const double angle = 2.0 * std::numbers::pi * i / kWalls;
    const Pose turn = make_rotation(Vec3::UnitZ(), angle);
    const Pose tilt =
        make_rotation(Vec3::UnitY(), lean, Vec3(radius + 0.5 * height * std::tan(lean), 0.0, 0.5 * height + kThick));
    geom.shape = Box{Vec3(kThick, radius * std::tan(std::numbers::pi / kWalls), 0.5 * height)};
    geom.X_BG = turn * tilt;
    builder.add_geom(geom);
  }
}

}  // namespace

Mat3 slope_axes(double ratio, double mu) { return exp_so3(Vec3(0.0, std::atan(ratio * mu), 0.0)); }

Model make_slope_model(double ratio, double mu, double speed) {
  ModelBuilder builder("slope");
  const Material material{mu, 0.0};
  const Mat3 R = slope_axes(ratio, mu);
  builder.add_ground(Plane{}, {R, Vec3::Zero()}, material);
  const int cube = builder.add_solid("cube", Box{kCubeHalf}, 1.0, {R, R.col(2) * kCube}, material);
  VecX v = VecX::Zero(6);
  v.head<3>() = R.col(0) * speed;
  builder.set_start_velocity(cube, v);
  return builder.build();
}

Model make_tower_model(int count, double top_mass, double mu) {
  ModelBuilder builder("tower");
  const Material material{mu, 0.0};
  builder.add_ground(Plane{}, {}, material);
  for (int i = 0; i <= count; ++i)
    builder.add_solid(i < count ? "cube" + std::to_string(i) : "top", Box{kCubeHalf}, i < count ? 0.1 : top_mass,
                      make_translation(0.0, 0.0, (2 * i + 1) * kCube), material);
  return builder.build();
}

namespace {

constexpr double kHandHeight = 0.5;

/// A hand on a lift with two pads that press a load `2 half_width` wide from both sides, with `squeeze` times the least
/// force that holds it.
void add_hand(ModelBuilder& builder, double half_width, double load, double squeeze, const Material& material) {
  constexpr double kPad = 0.01;
  BodySpec hand;
  hand.name = "hand";
  hand.joint = make_joint(JointKind::kPrismatic, Vec3::UnitZ(), make_translation(0.0, 0.0, kHandHeight), "lift");
  hand.mass = 1.0;
  hand.inertia = Mat3::Identity() * 1e-3;
  const int palm = builder.add_body(hand);
  Drive lift;
  lift.joint = palm;
  lift.mode = DriveMode::kPosition;
  lift.stiffness = 1e8;
  lift.damping = 1e6;
  lift.feedforward = (hand.mass + 0.2 + load) * kGravity;
  builder.add_drive(lift);
  for (const int side : {-1, 1}) {
    BodySpec pad;
    pad.name = side < 0 ? "left" : "right";
    pad.parent = palm;
    // A positive q closes the hand.
    pad.joint = make_joint(JointKind::kPrismatic, Vec3(-side, 0.0, 0.0),
                           make_translation(side * (half_width + kPad), 0.0, 0.0));
    pad.mass = 0.1;
    pad.inertia = Mat3::Identity() * 1e-4;
    GeomSpec geom;
    geom.body = builder.add_body(pad);
    geom.shape = Box{Vec3(kPad, half_width, half_width)};
    geom.material = material;
    builder.add_geom(geom);
    Drive grip;
    grip.joint = geom.body;
    grip.feedforward = squeeze * load * kGravity / (2.0 * material.mu);
    builder.add_drive(grip);
  }
}

}  // namespace

Model make_gripper_model(double cube_mass, double squeeze, double mu) {
  ModelBuilder builder("gripper");
  const Material material{mu, 0.0};
  add_hand(builder, kCube, cube_mass, squeeze, material);
  builder.add_solid("cube", Box{kCubeHalf}, cube_mass, make_translation(0.0, 0.0, kHandHeight), material);
  return builder.build();
}

Model make_cup_model(int balls, double squeeze) {
  ModelBuilder builder("cup");
  const Material material{0.5, 0.0};
  constexpr double kRadius = 0.005, kBall = 1e4 * 4.0 / 3.0 * std::numbers::pi * kRadius * kRadius * kRadius;
  constexpr double kInner = 0.0225, kWall = 0.002, kHalfHeight = 0.035, kCupMass = 0.1, kPitch = 0.011;
  constexpr int kSide = 4;  // balls along an edge of a layer
  add_hand(builder, kInner + 2.0 * kWall, kCupMass + balls * kBall, squeeze, material);
  BodySpec spec;
  spec.name = "cup";
  spec.joint.X_PJ = make_translation(0.0, 0.0, kHandHeight);
  spec.mass = kCupMass;
  const double width = 2.0 * kInner, height = 2.0 * kHalfHeight;
  spec.inertia =
      Vec3(width * width + height * height, width * width + height * height, 2.0 * width * width).asDiagonal();
  spec.inertia *= kCupMass / 12.0;
  GeomSpec geom;
  geom.body = builder.add_body(spec);
  geom.material = material;
  for (const int side : {-1, 1}) {
    geom.shape = Box{Vec3(kWall, kInner + 2.0 * kWall, kHalfHeight)};
    geom.X_BG = make_translation(side * (kInner + kWall), 0.0, 0.0);
    builder.add_geom(geom);
    geom.shape = Box{Vec3(kInner, kWall, kHalfHeight)};
    geom.X_BG = make_translation(0.0, side * (kInner + kWall), 0.0);
    builder.add_geom(geom);
  }
  geom.shape = Box{Vec3(kInner, kInner, kWall)};
  geom.X_BG = make_translation(0.0, 0.0, kWall - kHalfHeight);
  builder.add_geom(geom);
  const double floor = kHandHeight - kHalfHeight + 2.0 * kWall;
  for (int i = 0; i < balls; ++i) {
    const int layer = i / (kSide * kSide), row = i / kSide % kSide, column = i % kSide;
    builder.add_solid("ball" + std::to_string(i), Sphere{kRadius}, kBall,
                      make_translation((column - 0.5 * (kSide - 1)) * kPitch, (row - 0.5 * (kSide - 1)) * kPitch,
                                       floor + kRadius + 1e-4 + layer * kPitch),
                      material);
  }
  return builder.build();
}

Model make_dishes_model() {
  ModelBuilder builder("dishes");
  const Material material{0.6, 0.0};
  builder.add_ground(Plane{}, {}, material);
  add_dish(builder, "bowl1", 0.1, 0.06, 0.05, 0.5, 1e-4, material);
  add_dish(builder, "bowl2", 0.1, 0.06, 0.05, 0.5, 0.030, material);
  add_dish(builder, "plate", 0.1, 0.10, 0.02, 0.8, 0.095, material);
  add_dish(builder, "pot", 5.0, 0.09, 0.10, 0.05, 0.106, material);
  return builder.build();
}

}  // namespace almond::scenes
