#include "scenes/dish_cell.hpp"

#include <algorithm>
#include <cmath>

#include "almond/base/check.hpp"
#include "almond/model/profile.hpp"
#include "almond/model/sdf_solid.hpp"

namespace almond::scenes {
namespace {

// How the hand spans a dish from above, seen from the palm: the middle of the fingertips, which is farther on the
// thumb's side the larger the dish is, where the thumb lies, and how far index and ring finger are from the middle one.
const Vec3 kMiddle(0.093, 0.036, 0.015);
constexpr double kLeast = 0.052;  // radius of the fingertips' circle about kMiddle [m]
const Vec3 kThumbWay = Vec3(0.0, 0.71, -0.70).normalized();
constexpr double kSpread = 0.60;    // [rad]
constexpr double kOpening = 0.012;  // of each fingertip before and after a grasp [m]
constexpr double kNear = 3e-4;      // from where all fingers go on together [m]
constexpr double kInside = 0.001;   // how far a finger's target lies in the dish, a third of the thumb's [m]
constexpr double kTipMu = 0.8;      // rubber

/// All within half a wall of a path: a foot to stand on, a wall up to the rim, or to where it flares. The middle of the
/// bottom is a little higher than the foot, as it is with pottery, so that a dish stands on a ring.
struct DishShapes {
  SdfShape collides, looks;  // the same in more triangles
};
DishShapes make_dish_shapes(double foot, double wall, double bulge, const std::vector<PathPoint>& rim) {
  constexpr double kHollow = 0.004, kEdge = 0.06, kChord = 1.5e-3, kFine = 0.1;  // [m], of edge and chord
  const double d = 0.5 * wall;
  std::vector<PathPoint> path = {{0.0, d + kHollow}, {foot - 0.006, d + kHollow}, {foot, d, bulge}};
  path.insert(path.end(), rim.begin(), rim.end());
  const SdfPtr dish = make_dish(path, d);
  return {make_sdf_shape(dish, kEdge, kChord), make_sdf_shape(dish, kFine * kEdge, kFine * kChord)};
}

std::array<Vec3, 4> ways_in_hand() {
  const Vec3 up = -Vec3::UnitX(), across = up.cross(kThumbWay);
  const auto at = [&](double angle) { return Vec3(-std::cos(angle) * kThumbWay + std::sin(angle) * across); };
  return {at(-kSpread), at(0.0), at(kSpread), kThumbWay};
}

/// How far from the axis a ball touches the dish from outside at this height.
double touching_radius(const SdfShape& dish, double height, double ball) {
  const Sdf& field = *dish.solid->field;
  double low = 0.0, high = 0.2;  // bisected from outside, where the distance is large
  for (double r = high; r > 0.0 && field.value(Vec3(r, 0.0, height)) > ball; r -= 0.001) high = r;
  low = high - 0.001;
  for (int i = 0; i < 50; ++i) {
    const double middle = 0.5 * (low + high);
    (field.value(Vec3(middle, 0.0, height)) > ball ? high : low) = middle;
  }
  return high;
}

/// The hand with its fingertips on a circle of this radius, or inside of it, the thumb most.
VecX shape_hand(const Model& model, const DishCell& cell, const Vec3& middle, double radius, double inside = 0.0) {
  Kinematics kinematics;
  compute_kinematics(model, model.q0, VecX::Zero(model.num_v), kinematics);
  const Pose X_WH = frame_pose(kinematics, cell.hand.palm);
  const std::array<Vec3, 4> ways = ways_in_hand();
  std::vector<FrameGoal> goals;
  for (std::size_t k = 0; k < 4; ++k)
    goals.push_back({cell.hand.tips[k],
                     make_translation(X_WH * Vec3(middle + (radius - (k == 3 ? 3.0 : 1.0) * inside) * ways[k])),
                     Reach::kPosition});
  const IkResult ik = solve_ik(model, model.q0, cell.hand.joints, goals);
  require(ik.status == IkStatus::kReached, "dish_piling: the hand cannot span " + to_text(2.0 * radius) + " m, " +
                                               to_text(ik.position_error) + " m off");
  return positions_of(model, ik.q, cell.hand.joints);
}

}  // namespace

double nesting_height(const SdfShape& upper, const SdfShape& lower) {
  const auto gap = [&](double z) {
    double least = kInfinity;
    for (const Vec3& p : upper.solid->surface.vertices)
      least = std::min(least, lower.solid->field->value(p + Vec3(0.0, 0.0, z)));
    for (const Vec3& p : lower.solid->surface.vertices)
      least = std::min(least, upper.solid->field->value(p - Vec3(0.0, 0.0, z)));
    return least;
  };
  const Aabb box = lower.solid->field->bounds();
  double high = box.upper.z() + 0.01, low = high;
  while (low > 0.0 && gap(low) > 0.0) low -= 0.002;
  high = low + 0.002;
  for (int i = 0; i < 30; ++i) {
    const double middle = 0.5 * (low + high);
    (gap(middle) > 0.0 ? high : low) = middle;
  }
  return high;
}

Vec3 palm_around(const DishCell& cell, const Dish& dish, const Vec3& p) { return p - cell.R_WH * dish.middle; }

Grasp make_grasp(const DishCell& cell) {
  Grasp grasp;
  const std::array<Vec3, 4> ways = ways_in_hand();
  const double thumb = 1.0 + 2.0 * std::cos(kSpread);  // times one finger's
  for (std::size_t k = 0; k < 4; ++k) {
    grasp.out[k] = cell.R_WH * ways[k];
    grasp.share[k] = (k < 3 ? 1.0 : thumb) / (3.0 + thumb);
  }
  return grasp;
}

void press(Simulation& sim, const DishCell& cell, double squeeze, double weight) {
  const Model& model = sim.model();
  const Kinematics& kinematics = sim.kinematics();
  const Grasp grasp = make_grasp(cell);
  VecX tau = VecX::Zero(static_cast<Eigen::Index>(cell.joints.size()));
  for (std::size_t k = 0; k < 4; ++k) {
    const Vec3 F = grasp.share[k] * (weight * Vec3::UnitZ() - squeeze / grasp.share[3] * grasp.out[k]);
    tau += frame_jacobian(model, kinematics, cell.hand.tips[k], cell.joints).topRows<3>().transpose() * F;
  }
  for (std::size_t k = 0; k < cell.drives.size(); ++k)
    sim.inputs().feedforward[cell.drives[k]] = tau[static_cast<Eigen::Index>(k)];
}

Model make_dish_cell(double pot_mass, double mu, DishCell& cell) {
  ModelBuilder builder("dish_piling");
  PandaOptions arm;
  arm.stiffness = {3000.0, 3000.0, 3000.0, 3000.0, 1500.0, 1000.0, 500.0};
  arm.damping = {120.0, 120.0, 120.0, 120.0, 40.0, 30.0, 10.0};
  cell.panda = add_panda(builder, arm);
  cell.hand = add_allegro(builder, cell.panda.flange, {palm_down_mount()});
  exclude_overlaps(builder, 0, builder.so_far().num_bodies());
  Material material;
  material.mu = mu;
  builder.add_ground(Plane{}, {}, material);
  const DishShapes bowl = make_dish_shapes(0.028, 0.004, 0.0875, {{0.053, 0.040}}),
                   plate = make_dish_shapes(0.046, 0.004, 0.0, {{0.060, 0.020}}),
                   pot = make_dish_shapes(0.040, 0.006, 0.0, {{0.040, 0.050}, {0.052, 0.062}});
  const auto add = [&](const char* name, const DishShapes& shapes, double mass, double x, double y, double grip,
                       double squeeze) {
    const int body = builder.add_solid(name, shapes.collides, mass, make_translation(x, y, 1e-5), material);
    cell.dishes.push_back({name, body, shapes.collides, shapes.looks, mass, grip, squeeze, {}, {}, {}, {}});
  };
  add("bowl1", bowl, 0.1, 0.50, 0.0, 0.0405, 12.0);
  add("bowl2", bowl, 0.1, 0.40, 0.26, 0.0405, 12.0);
  add("plate", plate, 0.1, 0.48, -0.27, 0.0205, 12.0);
  // High under the flared rim: lower, the middle finger comes to lie on the rim and presses the pot to the table, from
  // where a light one jumps when it is lifted.
  add("pot", pot, pot_mass, 0.58, 0.27, 0.051, std::max(20.0, 13.0 * pot_mass));
  Material rubber;
  rubber.mu = kTipMu;
  const std::vector<Geom>& geoms = builder.so_far().geoms;
  std::vector<std::pair<int, int>> pairs;
  for (const BodyFrame& tip : cell.hand.tips)
    for (const Dish& dish : cell.dishes)
      for (int a = 0; a < static_cast<int>(geoms.size()); ++a)
        for (int b = 0; b < static_cast<int>(geoms.size()); ++b)
          if ((geoms[a].body == tip.body || geoms[a].body == builder.so_far().bodies[tip.body].parent) &&
              geoms[b].body == dish.body)
            pairs.emplace_back(a, b);
  for (const auto& [a, b] : pairs) builder.add_pair(a, b, rubber);
  Model model = builder.build();

  cell.joints = cell.panda.joints;
  cell.drives = cell.panda.drives;
  cell.joints.insert(cell.joints.end(), cell.hand.joints.begin(), cell.hand.joints.end());
  cell.drives.insert(cell.drives.end(), cell.hand.drives.begin(), cell.hand.drives.end());
  Kinematics kinematics;
  compute_kinematics(model, model.q0, VecX::Zero(model.num_v), kinematics);
  cell.R_WH = frame_pose(kinematics, cell.hand.palm).R;
  for (Dish& dish : cell.dishes) {
    const double radius = touching_radius(dish.shape, dish.grip_height, cell.hand.tip_radius);
    dish.middle = kMiddle + (radius - kLeast) * kThumbWay;
    dish.touching = shape_hand(model, cell, dish.middle, radius + kNear);
    dish.closed = shape_hand(model, cell, dish.middle, radius, kInside);
    dish.open = shape_hand(model, cell, dish.middle, radius + kOpening);
  }
  return model;
}

}  // namespace almond::scenes
