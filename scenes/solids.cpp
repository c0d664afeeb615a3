// Models of signed distance shapes: threads, tableware.

#include <cmath>
#include <numbers>

#include "almond/base/check.hpp"
#include "almond/model/profile.hpp"
#include "almond/model/thread.hpp"
#include "scenes/parts.hpp"
#include "scenes/random.hpp"

namespace almond::scenes {
namespace {

constexpr double kSteel = 7850.0;  // [kg/m³]

Material with_friction(double mu) {
  Material material;
  material.mu = mu;
  return material;
}

}  // namespace

Model make_nut_model(const std::string& thread, double mu) {
  const MetricThread size = find_thread(thread);
  ModelBuilder builder("nut");
  const double length = 3.0 * size.diameter;
  builder.add_ground(make_sdf_shape(make_bolt(size, {length, length, true})), make_translation(0.0, 0.0, length),
                     with_friction(mu));
  const SdfShape nut = make_sdf_shape(make_nut(size));
  const double below = 1.2 * size.diameter;  // the tip of the bolt
  builder.add_solid("nut", nut, solid_properties(nut, kSteel).mass,
                    make_rotation(Vec3::UnitZ(), engaged_angle(size, -below), Vec3(0.0, 0.0, length - below)),
                    with_friction(mu));
  return builder.build();
}

Model make_pile_model(double pot_mass, double mu) {
  ModelBuilder builder("pile");
  builder.add_ground(Plane{}, Pose{}, with_friction(mu));
  const SdfShape bowl = make_sdf_shape(make_bowl(0.030, 0.070, 0.055, 0.004)),
                 plate = make_sdf_shape(make_plate(0.060, 0.105, 0.018, 0.004)),
                 pot = make_sdf_shape(make_pot(0.075, 0.080, 0.006));
  const Material material = with_friction(mu);
  // Each a little above where it comes to rest: walls of equal slope lie wall / cos apart, the plate lies on the rim,
  // the pot with its edge on the plate's slope.
  const double nested = 0.004 / (0.038 / std::hypot(0.038, 0.051)) + 3e-4;
  builder.add_solid("bowl1", bowl, 0.1, make_translation(0.0, 0.0, 2e-4), material);
  builder.add_solid("bowl2", bowl, 0.1, make_translation(0.0, 0.0, nested), material);
  builder.add_solid("plate", plate, 0.1, make_translation(0.0, 0.0, nested + 0.0529), material);
  builder.add_solid("pot", pot, pot_mass, make_translation(0.0, 0.0, nested + 0.0613), material);
  return builder.build();
}

Model make_bowl_model(double radius, double ball, double angle, double mu) {
  ModelBuilder builder("bowl");
  builder.add_ground(make_sdf_shape(make_round_bowl(radius, 0.8 * radius, 0.004)), Pose{}, with_friction(mu));
  const double way = radius - ball;
  builder.add_solid("ball", Sphere{ball}, 0.1,
                    make_translation(way * std::sin(angle), 0.0, radius - way * std::cos(angle)), with_friction(mu));
  return builder.build();
}

Model make_pour_model(int balls, double speed, std::uint64_t seed) {
  constexpr double kBall = 0.005, kDensity = 1e4;
  ModelBuilder builder("pour");
  builder.add_ground(Plane{});
  builder.add_ground(make_sdf_shape(make_cup(0.030, 0.045, 0.110, 0.003)));
  Random random(seed + 1);
  const double mass = kDensity * 4.0 / 3.0 * std::numbers::pi * std::pow(kBall, 3);
  for (int i = 0; i < balls; ++i) {
    const double layer = 0.13 + 0.0125 * (i / 4), angle = 0.5 * std::numbers::pi * i + random.uniform(0.0, 0.3);
    const double r = 0.010 + random.uniform(0.0, 0.004);
    const int body = builder.add_solid("ball" + std::to_string(i), Sphere{kBall}, mass,
                                       make_translation(r * std::cos(angle), r * std::sin(angle), layer));
    VecX v = VecX::Zero(6);
    v.head<3>() = Vec3(random.uniform(-0.05, 0.05), random.uniform(-0.05, 0.05), -1.0).normalized() * speed;
    builder.set_start_velocity(body, v);
  }
  return builder.build();
}

}  // namespace almond::scenes
