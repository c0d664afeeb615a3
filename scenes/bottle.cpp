#include "scenes/bottle.hpp"

#include <algorithm>
#include <cmath>
#include <numbers>

#include "almond/model/builder.hpp"
#include "almond/model/profile.hpp"

namespace almond::scenes {
namespace {

constexpr double kStill = 0.2, kTilt = 1.6, kEnd = 2.5;  // [s] upright, until tilted, after all fell
constexpr double kTilted = 2.5;                          // [rad]

/// Lengths that follow from the number of balls [m].
struct Sizes {
  double radius, neck, shoulder, height, wall, jar_radius, jar_height, lip;

  explicit Sizes(int balls) : radius(0.02 * std::cbrt(std::max(balls, 45) / 45.0)) {
    neck = 0.85 * radius;
    shoulder = 3.5 * radius;
    height = 4.5 * radius;
    wall = std::max(0.002, 0.08 * radius);
    jar_radius = 2.6 * radius;
    jar_height = 2.5 * radius;
    lip = jar_height + height + 0.3 * radius;  // above the ground: an upright bottle clears the jar
  }
};

Model make_model(int balls) {
  const Sizes size(balls);
  ModelBuilder builder("bottle");
  const Material material{0.3, 0.0};
  builder.add_ground(Plane{}, {}, material);
  builder.add_ground(make_sdf_shape(make_cup(size.jar_radius, size.jar_radius, size.jar_height, size.wall)), {},
                     material);
  // The hinge is at the lip over which the balls leave, towards +x.
  const Vec3 lip(-0.75 * size.jar_radius, 0.0, size.lip), lip_of_bottle(size.neck, 0.0, size.height);
  const Pose X_WB = make_translation(lip.x() - lip_of_bottle.x(), 0.0, lip.z() - lip_of_bottle.z());
  BodySpec bottle;
  bottle.name = "bottle";
  bottle.joint = make_joint(JointKind::kRevolute, Vec3::UnitY(), make_translation(lip.x(), lip.y(), lip.z()), "hinge");
  bottle.mass = 0.2;
  bottle.com = Vec3(0.0, 0.0, 0.5 * size.height) - lip_of_bottle;
  bottle.inertia = Mat3::Identity() * (0.2 * size.radius * size.radius);
  GeomSpec geom;
  geom.body = builder.add_body(bottle);
  geom.shape = make_sdf_shape(make_bottle(size.radius, size.neck, size.shoulder, size.height, size.wall));
  geom.X_BG = make_translation(-lip_of_bottle.x(), -lip_of_bottle.y(), -lip_of_bottle.z());
  geom.material = material;
  builder.add_geom(geom);
  Drive drive;
  drive.joint = geom.body;
  drive.mode = DriveMode::kPosition;
  drive.stiffness = 1e6;
  drive.damping = 1e4;
  builder.add_drive(drive);
  const std::vector<Vec3> places = make_ball_layers(size.radius - size.wall, size.wall, balls);
  for (int i = 0; i < balls; ++i) {
    const Vec3 p = X_WB * places[i];
    builder.add_solid("ball" + std::to_string(i), Sphere{kBallRadius}, kBallMass, make_translation(p.x(), p.y(), p.z()),
                      material);
  }
  return builder.build();
}

}  // namespace

std::vector<Vec3> make_ball_layers(double radius, double bottom, int balls) {
  constexpr double kPitch = 2.1 * kBallRadius, kGap = 1e-4;
  std::vector<Vec3> places;
  const double most = radius - kBallRadius - kGap;
  const int reach = static_cast<int>(most / kPitch) + 2;
  for (int layer = 0; static_cast<int>(places.size()) < balls; ++layer)
    for (int row = -reach; row <= reach; ++row)
      for (int column = -reach; column <= reach; ++column) {
        const Vec3 p(kPitch * (column + 0.5 * (row & 1)), kPitch * 0.5 * std::numbers::sqrt3 * row,
                     bottom + kBallRadius + kGap + kPitch * layer);
        if (p.head<2>().norm() <= most && static_cast<int>(places.size()) < balls) places.push_back(p);
      }
  return places;
}

double bottle_angle(double time) {
  const double t = std::clamp((time - kStill) / kTilt, 0.0, 1.0);
  return kTilted * t * t * t * (10.0 - t * (15.0 - 6.0 * t));
}

Scene make_bottle_scene(int balls) {
  Scene scene;
  scene.name = "bottle";
  scene.model = make_model(balls);
  scene.steps = static_cast<int>(std::lround(kEnd / scene.options.dt));
  scene.control = [](Simulation& sim) { sim.inputs().target[0] = bottle_angle(sim.state().time + sim.options().dt); };
  scene.judge = [balls](Simulation& sim) {
    const Sizes size(balls);
    const Kinematics& kin = sim.kinematics();
    double poured = 0.0, beside = 0.0;
    for (int b = 1; b < sim.model().num_bodies(); ++b) {
      const Vec3 p = kin.X_WB[b].p;
      const bool in_jar = p.head<2>().norm() < size.jar_radius && p.z() < size.jar_height;
      poured += in_jar ? 1.0 : 0.0;
      beside += !in_jar && p.z() < 0.5 * size.jar_height ? 1.0 : 0.0;
    }
    Outcome outcome;
    outcome.metrics = {{"in_jar", poured}, {"beside", beside}};
    outcome.success = beside == 0.0 && poured >= 0.9 * balls;
    return outcome;
  };
  return scene;
}

}  // namespace almond::scenes
