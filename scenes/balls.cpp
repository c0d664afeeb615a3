// Models of balls: dropped, rolling, in a row, poured into a box.

#include <cmath>
#include <numbers>

#include "scenes/parts.hpp"
#include "scenes/random.hpp"

namespace almond::scenes {

Model make_ball_model(double height, double speed, double mu, double restitution) {
  ModelBuilder builder("ball");
  const Material material{mu, restitution};
  constexpr double kRadius = 0.05;
  builder.add_ground(Plane{}, {}, material);
  const int ball =
      builder.add_solid("ball", Sphere{kRadius}, 1.0, make_translation(0.0, 0.0, kRadius + height), material);
  VecX v = VecX::Zero(6);
  v[0] = speed;
  builder.set_start_velocity(ball, v);
  return builder.build();
}

Model make_cradle_model(int balls, double gap) {
  ModelBuilder builder("cradle");
  builder.set_gravity(Vec3::Zero());
  const Material material{0.0, 1.0};
  constexpr double kRadius = 0.05, kStart = 0.1;
  for (int i = 0; i < balls; ++i) {
    const double x = i == 0 ? -kStart - 2.0 * kRadius : (i - 1) * (2.0 * kRadius + gap);
    const int ball =
        builder.add_solid("ball" + std::to_string(i), Sphere{kRadius}, 1.0, make_translation(x, 0.0, 0.0), material);
    VecX v = VecX::Zero(6);
    v[0] = i == 0 ? 1.0 : 0.0;
    builder.set_start_velocity(ball, v);
  }
  return builder.build();
}

Model make_spheres_model(int count, std::uint64_t seed) {
  ModelBuilder builder("spheres");
  Random random(seed);
  const Material material{0.5, 0.0};
  constexpr double kRadius = 0.005, kDensity = 1e4, kWall = 0.01;
  const double mass = kDensity * 4.0 / 3.0 * std::numbers::pi * kRadius * kRadius * kRadius;
  // The box is about as wide as the heap is high; balls start on a loose grid above each other.
  const int side = std::max(3, static_cast<int>(std::lround(std::cbrt(count))));
  const double pitch = 2.2 * kRadius, half = 0.5 * side * pitch + 0.1 * kRadius;
  const int layers = (count + side * side - 1) / (side * side);
  const double height = 0.5 * layers * pitch + 2.0 * kWall;
  builder.add_ground(Plane{}, {}, material);
  for (const int s : {-1, 1}) {
    builder.add_ground(Box{Vec3(kWall, half + 2.0 * kWall, height)}, make_translation(s * (half + kWall), 0.0, height),
                       material);
    builder.add_ground(Box{Vec3(half + 2.0 * kWall, kWall, height)}, make_translation(0.0, s * (half + kWall), height),
                       material);
  }
  for (int i = 0; i < count; ++i) {
    const int layer = i / (side * side), row = i / side % side, column = i % side;
    const Vec3 shake = 0.05 * kRadius * Vec3(random.uniform(-1.0, 1.0), random.uniform(-1.0, 1.0), 0.0);
    const Vec3 place((column - 0.5 * (side - 1)) * pitch, (row - 0.5 * (side - 1)) * pitch,
                     kRadius + 1e-4 + layer * pitch);
    builder.add_solid("ball" + std::to_string(i), Sphere{kRadius}, mass, make_translation(place + shake), material);
  }
  return builder.build();
}

}  // namespace almond::scenes
