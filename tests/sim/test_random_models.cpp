// Proves that any legal model can be stepped: 200 random ones with every joint, shape, drive, spring and closure, and
// some with absurd numbers, stay finite, keep unit quaternions and report a known status.

#include <gtest/gtest.h>

#include <cmath>

#include "common/helpers.hpp"
#include "common/random_tree.hpp"
#include "sim/sim_fixture.hpp"

namespace almond {
namespace {

using scenes::Random;

Shape random_shape(Random& random) {
  const double a = random.uniform(0.02, 0.3), b = random.uniform(0.02, 0.3), c = random.uniform(0.02, 0.3);
  switch (random.index(8)) {
    case 0:
      return Sphere{a};
    case 1:
      return Capsule{a, b};
    case 2:
      return Box{Vec3(a, b, c)};
    case 3:
      return Cylinder{a, b};
    case 4:
      return Cone{a, b};
    case 5:
      return Ellipsoid{Vec3(a, b, c)};
    case 6: {
      std::vector<Vec3> points;
      for (int i = 0; i < 12; ++i) points.push_back(a * random.normal3());
      return ConvexMesh{make_polytope(points)};
    }
    default: {
      const Vec3 p(a, 0.0, 0.0), q(0.0, b, 0.0), r(0.0, 0.0, c);
      return make_triangle_mesh({{Vec3::Zero(), p, q, r}, {{0, 2, 1}, {0, 1, 3}, {0, 3, 2}, {1, 2, 3}}});
    }
  }
}

Shape random_ground(Random& random) {
  const std::vector<testing::Floor> floors = testing::all_floors();
  if (random.uniform() < 0.8) return floors[static_cast<std::size_t>(random.index(4))].shape;
  auto grid = std::make_shared<HeightGrid>();
  grid->rows = 3;
  grid->columns = 4;
  grid->half_x = grid->half_y = 3.0;
  for (int i = 0; i < 12; ++i) grid->height.push_back(random.uniform(-0.3, 0.3));
  return HeightField{grid};
}

/// What makes a model absurd; 1 everywhere is a sane one.
struct Extremes {
  double mass_ratio = 1.0;   // masses between 1/ratio and ratio
  double friction = 1.0;     // times a random one; 0 allowed
  double stiffness = 100.0;  // largest
  double spread = 1.0;       // distance between bodies; small: deep overlaps
  double speed = 1.0;
  bool free_only = false;  // nothing but free bodies, so that nothing can jam
};

Model make_random_model(Random& random, const Extremes& extremes) {
  ModelBuilder builder("random");
  builder.set_friction_combine(static_cast<Combine>(random.index(3)));
  const auto material = [&] {
    return Material{extremes.friction * random.uniform(0.0, 1.0), random.uniform() < 0.3 ? random.uniform() : 0.0};
  };
  const int grounds = random.index(3);
  for (int i = 0; i < grounds; ++i)
    builder.add_ground(random_ground(random), {exp_so3(0.2 * random.normal3()), 0.3 * random.normal3()}, material());
  const std::vector<JointKind> kinds = testing::all_joint_kinds();
  const int bodies = 1 + random.index(10);
  for (int b = 0; b < bodies; ++b) {
    BodySpec spec;
    spec.name = "b" + std::to_string(b);
    spec.parent = random.uniform() < 0.4 ? kGround : random.index(b + 1) - 1;
    spec.joint.kind = extremes.free_only ? JointKind::kFree : kinds[static_cast<std::size_t>(random.index(6))];
    if (spec.joint.kind == JointKind::kFree) spec.parent = kGround;
    spec.joint.X_PJ = {random.rotation(), extremes.spread * (0.4 * random.normal3() + Vec3(0.0, 0.0, 0.2))};
    spec.joint.axis = random.direction();
    spec.joint.anchor = 0.2 * random.normal3();
    const bool hinge = num_velocities(spec.joint.kind) == 1;
    if (hinge || spec.joint.kind == JointKind::kBall) {
      if (random.uniform() < 0.3) spec.joint.damping = random.uniform(0.0, extremes.stiffness);
      if (random.uniform() < 0.3) spec.joint.dry_friction = random.uniform(0.0, 2.0);
      if (random.uniform() < 0.3) spec.joint.armature = random.uniform(0.0, 0.1);
    }
    if (hinge && random.uniform() < 0.3) spec.joint.stiffness = random.uniform(0.0, extremes.stiffness);
    if ((spec.joint.kind == JointKind::kRevolute || spec.joint.kind == JointKind::kPrismatic) &&
        random.uniform() < 0.5) {
      spec.joint.lower = -random.uniform(0.0, 1.0);
      spec.joint.upper = random.uniform(0.0, 1.0);
    }
    spec.mass = std::pow(extremes.mass_ratio, random.uniform(-1.0, 1.0)) * random.uniform(0.5, 2.0);
    spec.com = 0.1 * random.normal3();
    spec.inertia = testing::random_inertia(random, 0.02 * spec.mass);
    const int body = builder.add_body(spec);
    VecX v(num_velocities(spec.joint.kind));
    for (double& x : v) x = extremes.speed * random.normal();
    builder.set_start_velocity(body, v);
    const int geoms = random.index(3);
    for (int i = 0; i < geoms; ++i) {
      GeomSpec geom;
      geom.body = body;
      geom.shape = random_shape(random);
      geom.X_BG = {random.rotation(), 0.1 * random.normal3()};
      geom.material = material();
      geom.group = random.uniform() < 0.9 ? 1U : 2U;
      builder.add_geom(geom);
    }
    if (hinge && random.uniform() < 0.6) {
      Drive drive;
      drive.joint = body;
      drive.mode = static_cast<DriveMode>(random.index(4));
      drive.stiffness = random.uniform(0.0, extremes.stiffness);
      drive.damping = random.uniform(0.0, extremes.stiffness);
      drive.target = random.normal();
      drive.target_velocity = random.normal();
      drive.feedforward = random.normal();
      if (random.uniform() < 0.5) drive.effort_limit = random.uniform(0.1, 10.0);
      builder.add_drive(drive);
    }
  }
  for (int i = 0; i < 2 && bodies > 1 && !extremes.free_only; ++i) {
    const int a = random.index(bodies), b = random.index(bodies + 1) - 1;
    if (a == b) continue;
    Spring spring;
    spring.name = "spring" + std::to_string(i);
    spring.body_a = a;
    spring.body_b = b;
    spring.point_a = 0.2 * random.normal3();
    spring.stiffness = random.uniform(1.0, extremes.stiffness);
    spring.damping = random.uniform(0.0, 5.0);
    spring.rest_length = random.uniform(0.0, 1.0);
    if (random.uniform() < 0.6) builder.add_spring(spring);
    Closure closure;
    closure.name = "closure" + std::to_string(i);
    closure.a = b;
    closure.b = a;
    closure.X_a = {random.rotation(), 0.3 * random.normal3()};
    closure.X_b = {random.rotation(), 0.3 * random.normal3()};
    closure.kind = static_cast<ClosureKind>(random.index(3));
    closure.ratio = random.normal();
    const auto& joints = builder.so_far().joints;
    const bool mimics =
        closure.a >= 0 && num_velocities(joints[closure.a].kind) == 1 && num_velocities(joints[closure.b].kind) == 1;
    if (closure.kind == ClosureKind::kMimic && !mimics) closure.kind = ClosureKind::kConnect;
    if (random.uniform() < 0.4) builder.add_closure(closure);
  }
  if (bodies > 2 && random.uniform() < 0.3) builder.include(0, 1);
  if (bodies > 2 && random.uniform() < 0.3) builder.exclude(0, 2);
  return builder.build();
}

struct Seen {
  int contacts = 0, solved = 0, steps = 0;
};

Seen step_model(Model model, const StepOptions& options, int steps) {
  Simulation sim(std::move(model), options);
  Seen seen;
  for (int i = 0; i < steps; ++i) {
    const StepReport report = sim.step();
    seen.contacts += report.contacts;
    seen.solved += report.status == Status::kSolved ? 1 : 0;
    ++seen.steps;
    EXPECT_LE(report.status, Status::kNumericalError);
    EXPECT_STRNE(to_string(report.status), "unknown");
    EXPECT_FALSE(std::isnan(report.penetration));
    EXPECT_EQ(report.dropped_contacts, 0);
    const State& state = sim.state();
    EXPECT_TRUE(state.q.allFinite() && state.v.allFinite()) << "step " << i;
    for (const Joint& joint : sim.model().joints) {
      const int at = joint.kind == JointKind::kFree ? 3 : joint.kind == JointKind::kBall ? 0 : -1;
      if (at >= 0) {
        EXPECT_NEAR(state.q.segment<4>(joint.q_begin + at).norm(), 1.0, 1e-14);
      }
    }
    for (const ContactMemory& contact : state.contacts) EXPECT_TRUE(contact.impulse.allFinite());
    for (const RowMemory& row : state.rows) EXPECT_TRUE(std::isfinite(row.impulse));
    if (::testing::Test::HasFailure()) break;
  }
  return seen;
}

class RandomModels : public ::testing::TestWithParam<int> {};

TEST_P(RandomModels, StayFinite) {
  Seen sum;
  for (int k = 0; k < 10; ++k) {
    const int seed = 10 * GetParam() + k;
    Random random(static_cast<std::uint64_t>(seed));
    StepOptions options;
    options.theta = random.uniform() < 0.3 ? random.uniform(0.0, 0.9) : 0.0;
    const Seen seen = step_model(make_random_model(random, {}), options, 30);
    sum.contacts += seen.contacts;
    sum.solved += seen.solved;
    sum.steps += seen.steps;
    ASSERT_FALSE(HasFailure()) << "seed " << seed;
  }
  EXPECT_GT(sum.contacts, 0);
  // Loops that nothing can close and hinges that jam in what they overlap have no solution, and say so; others have.
  EXPECT_GT(sum.solved, sum.steps / 4);
}

INSTANTIATE_TEST_SUITE_P(Tens, RandomModels, ::testing::Range(0, 20));

TEST(FreeModels, AreSolved) {
  Extremes extremes;
  extremes.free_only = true;
  Seen sum;
  for (int seed = 0; seed < 60; ++seed) {
    Random random(static_cast<std::uint64_t>(1000 + seed));
    const Seen seen = step_model(make_random_model(random, extremes), {}, 40);
    sum.contacts += seen.contacts;
    sum.solved += seen.solved;
    sum.steps += seen.steps;
  }
  // A step out of a thousand may use up its work and go on in the next.
  EXPECT_GE(sum.solved, sum.steps - sum.steps / 400);
  EXPECT_GT(sum.contacts, 1000);
}

struct Absurd {
  std::string name;
  Extremes extremes;
  double dt;
};

class AbsurdModels : public ::testing::TestWithParam<Absurd> {};

TEST_P(AbsurdModels, StayFinite) {
  for (int seed = 0; seed < 10; ++seed) {
    Random random(static_cast<std::uint64_t>(seed));
    StepOptions options;
    options.dt = GetParam().dt;
    options.solver.max_work = 200.0;
    step_model(make_random_model(random, GetParam().extremes), options, 20);
    ASSERT_FALSE(HasFailure()) << "seed " << seed;
  }
}

INSTANTIATE_TEST_SUITE_P(Kinds, AbsurdModels,
                         ::testing::Values(Absurd{"masses", {1e9, 1.0, 100.0, 1.0, 1.0}, 1.0 / 240.0},
                                           Absurd{"frictionless", {1.0, 0.0, 100.0, 1.0, 1.0}, 1.0 / 240.0},
                                           Absurd{"sticky", {1.0, 100.0, 100.0, 1.0, 1.0}, 1.0 / 240.0},
                                           Absurd{"stiff", {1.0, 1.0, 1e9, 1.0, 1.0}, 1.0 / 240.0},
                                           Absurd{"tiny_dt", {1.0, 1.0, 100.0, 1.0, 1.0}, 1e-6},
                                           Absurd{"huge_dt", {1.0, 1.0, 100.0, 1.0, 1.0}, 0.1},
                                           Absurd{"deep", {1.0, 1.0, 100.0, 0.05, 1.0}, 1.0 / 240.0},
                                           Absurd{"fast", {1.0, 1.0, 100.0, 1.0, 1e4}, 1.0 / 240.0},
                                           Absurd{"all", {1e9, 100.0, 1e9, 0.1, 1e3}, 0.1}),
                         [](const auto& each) { return each.param.name; });

}  // namespace
}  // namespace almond
