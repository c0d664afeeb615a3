#pragma once
// What several tests of the simulator share: scenes that run, and small models.

#include <memory>
#include <string>
#include <vector>

#include "almond/sim/step.hpp"
#include "scenes/parts.hpp"
#include "scenes/scene.hpp"

namespace almond::testing {

/// A scene with its simulation.
struct SceneRun {
  explicit SceneRun(scenes::Scene scene_) : scene(std::move(scene_)), sim(scene.model, scene.options) {}
  StepReport step() {
    if (scene.control) scene.control(sim);
    return sim.step();
  }
  void steps(int count) {
    for (int i = 0; i < count; ++i) step();
  }
  scenes::Scene scene;
  Simulation sim;
};

/// A body of one dof that slides along `axis` (world), 2 kg, on the ground.
inline BodySpec make_slider(const std::string& name, const Vec3& axis, double mass = 2.0, int parent = kGround) {
  BodySpec spec;
  spec.name = name;
  spec.parent = parent;
  spec.joint = make_joint(JointKind::kPrismatic, axis);
  spec.mass = mass;
  spec.inertia = Mat3::Identity() * 0.01;
  return spec;
}

/// A rod of length 1 along x on a hinge about y.
inline BodySpec make_arm(const std::string& name, double mass = 1.0, int parent = kGround,
                         const Vec3& at = Vec3::Zero()) {
  BodySpec spec;
  spec.name = name;
  spec.parent = parent;
  spec.joint = make_joint(JointKind::kRevolute, Vec3::UnitY(), make_translation(at));
  spec.mass = mass;
  spec.com = Vec3(0.5, 0.0, 0.0);
  spec.inertia = Vec3(1e-3, mass / 12.0, mass / 12.0).asDiagonal();
  return spec;
}

/// The impulse of a one-row constraint in the last step, NaN if there was none.
inline double row_impulse(const State& state, RowRole role, int index, int row = 0) {
  const std::uint32_t key = RowTag{role, index, row}.key();
  for (const RowMemory& memory : state.rows)
    if (memory.key == key) return memory.impulse;
  return kNaN;
}

/// Sum of the impulses of the last step that act on a geom, world axes.
inline Vec3 impulse_on(const State& state, int geom) {
  Vec3 sum = Vec3::Zero();
  for (const ContactMemory& contact : state.contacts) {
    if (contact.geom_b == geom) sum += contact.impulse;
    if (contact.geom_a == geom) sum -= contact.impulse;
  }
  return sum;
}

/// Every shape that may move, its lowest point at z = 0.
struct Solid {
  std::string name;
  Shape shape;
  double height;  // of the shape's origin above its lowest point [m]
};
inline std::vector<Solid> all_solids() {
  std::vector<Vec3> points;  // a brick with a roof
  for (const double x : {-0.06, 0.06})
    for (const double y : {-0.05, 0.05}) {
      points.emplace_back(x, y, -0.04);
      points.emplace_back(x, y, 0.03);
    }
  points.emplace_back(0.0, 0.0, 0.06);
  return {{"sphere", Sphere{0.05}, 0.05},
          {"box", Box{Vec3(0.05, 0.06, 0.04)}, 0.04},
          {"capsule", Capsule{0.03, 0.06}, 0.09},
          {"cylinder", Cylinder{0.05, 0.04}, 0.04},
          {"cone", Cone{0.06, 0.05}, 0.05},
          {"ellipsoid", Ellipsoid{Vec3(0.06, 0.05, 0.04)}, 0.04},
          {"hull", ConvexMesh{make_polytope(points)}, 0.04}};
}

/// Every shape to land on; its top, of at least 1 m x 1 m, is z = 0.
struct Floor {
  std::string name;
  Shape shape;
  Pose X;
};
inline std::vector<Floor> all_floors() {
  TriangleSoup soup;
  constexpr int kCells = 5;
  for (int i = 0; i <= kCells; ++i)
    for (int j = 0; j <= kCells; ++j) soup.vertices.emplace_back(-0.5 + 0.2 * j, -0.5 + 0.2 * i, 0.0);
  for (int i = 0; i < kCells; ++i)
    for (int j = 0; j < kCells; ++j) {
      const int a = i * (kCells + 1) + j, b = a + 1, c = a + kCells + 1, d = c + 1;
      soup.triangles.push_back({a, b, d});
      soup.triangles.push_back({a, d, c});
    }
  auto grid = std::make_shared<HeightGrid>();
  grid->rows = grid->columns = 6;
  grid->half_x = grid->half_y = 0.5;
  grid->height.assign(36, 0.0);
  return {{"plane", Plane{}, {}},
          {"box", Box{Vec3(0.5, 0.5, 0.1)}, make_translation(0.0, 0.0, -0.1)},
          {"mesh", make_triangle_mesh(std::move(soup)), {}},
          {"field", HeightField{grid}, {}}};
}

}  // namespace almond::testing
