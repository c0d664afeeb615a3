// Broad phase: pairs against testing every box with every other, boxes of shapes against their support functions, no
// allocation once warm.

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>

#include "almond/collision/broadphase.hpp"
#include "tests/collision/support_oracle.hpp"
#include "tests/common/allocation.hpp"

namespace almond {
namespace {

using scenes::Random;
using Pairs = std::vector<std::pair<int, int>>;

/// Boxes of sizes from grains to floors, a quarter of them fixed, some of them planes.
BroadphaseInput random_input(int seed) {
  Random random(seed);
  BroadphaseInput input;
  const int count = random.index(120);
  const double decades = seed % 3 == 0 ? 0.0 : 4.0, spread = random.uniform(0.1, 5.0);
  for (int k = 0; k < count; ++k) {
    const double size = std::pow(10.0, random.uniform(-decades, 0.0)) * 0.5;
    const Vec3 half = size * Vec3(random.uniform(), random.uniform(), random.uniform());
    Vec3 p = spread * random.normal3();
    if (seed % 5 == 0) p = p.array().round();  // many equal coordinates
    if (seed % 11 == 0 && k == 0) p *= 1e6;    // one lost far away
    input.boxes.push_back({p - half, p + half});
    input.fixed.push_back(random.uniform() < 0.25 ? 1 : 0);
    if (random.uniform() < 0.03) input.planes.push_back({k, random.direction(), random.normal()});
  }
  return input;
}

Pairs test_all(const BroadphaseInput& input) {
  const int count = static_cast<int>(input.boxes.size());
  const auto plane_of = [&](int geom) {
    const auto at =
        std::find_if(input.planes.begin(), input.planes.end(), [&](const auto& p) { return p.geom == geom; });
    return at == input.planes.end() ? nullptr : &*at;
  };
  const auto reaches = [&](const BroadphaseInput::HalfSpace& plane, int geom) {
    const Aabb& box = input.boxes[geom];
    const Vec3 middle = 0.5 * (box.lower + box.upper), half = 0.5 * (box.upper - box.lower);
    return plane.n.dot(middle) - plane.n.cwiseAbs().dot(half) <= plane.offset;
  };
  Pairs pairs;
  for (int i = 0; i < count; ++i) {
    for (int k = i + 1; k < count; ++k) {
      if (input.fixed[i] != 0 && input.fixed[k] != 0) continue;
      const auto *plane_i = plane_of(i), *plane_k = plane_of(k);
      if (plane_i != nullptr && plane_k != nullptr) continue;
      const bool near = plane_i != nullptr   ? reaches(*plane_i, k)
                        : plane_k != nullptr ? reaches(*plane_k, i)
                                             : input.boxes[i].overlaps(input.boxes[k]);
      if (near) pairs.emplace_back(i, k);
    }
  }
  return pairs;
}

TEST(Broadphase, FindsThePairsOfBruteForceSorted) {
  BroadphaseWorkspace workspace;
  Pairs pairs;
  std::size_t total = 0;
  for (int seed = 0; seed < 1000; ++seed) {
    const BroadphaseInput input = random_input(seed);
    find_pairs(input, workspace, pairs);
    EXPECT_EQ(pairs, test_all(input)) << seed;
    find_pairs(input, workspace, pairs);  // with the forests of the last time
    EXPECT_EQ(pairs, test_all(input)) << seed;
    total += pairs.size();
  }
  EXPECT_GT(total, 10000U);
}

TEST(Broadphase, FindsThePairsOfBruteForceWhileBoxesMove) {
  // Some rest, some creep, some fly, now and then one jumps or all do: whatever was kept from the last time, the pairs
  // are those of a search from nothing.
  BroadphaseWorkspace workspace;
  Pairs pairs;
  for (int seed = 1; seed < 60; ++seed) {
    BroadphaseInput input = random_input(seed);
    Random random(seed);
    std::vector<Vec3> velocity;
    for (std::size_t k = 0; k < input.boxes.size(); ++k)
      velocity.emplace_back(std::pow(10.0, random.uniform(-6.0, 0.0)) * random.normal3());
    for (int step = 0; step < 60; ++step) {
      for (std::size_t k = 0; k < input.boxes.size(); ++k) {
        const bool jumps = random.uniform() < 0.002 || step == 30;
        const Vec3 way = input.fixed[k] != 0 ? Vec3(Vec3::Zero()) : Vec3((jumps ? 10.0 : 0.1) * velocity[k]);
        input.boxes[k].lower += way;
        input.boxes[k].upper += way;
      }
      find_pairs(input, workspace, pairs);
      ASSERT_EQ(pairs, test_all(input)) << seed << ", step " << step;
    }
    if (input.fixed.empty()) continue;
    input.fixed[0] = 1 - input.fixed[0];
    find_pairs(input, workspace, pairs);
    ASSERT_EQ(pairs, test_all(input)) << seed << ", another may move";
  }
}

TEST(Broadphase, TouchingBoxesAreAPair) {
  BroadphaseInput input;
  input.boxes = {{Vec3::Zero(), Vec3::Ones()}, {Vec3(1.0, 0.0, 0.0), Vec3(2.0, 1.0, 1.0)}};
  input.fixed = {0, 1};
  BroadphaseWorkspace workspace;
  Pairs pairs;
  find_pairs(input, workspace, pairs);
  EXPECT_EQ(pairs, (Pairs{{0, 1}}));
  input.fixed = {1, 1};
  find_pairs(input, workspace, pairs);
  EXPECT_TRUE(pairs.empty());
}

/// Spheres of radius r in a heap: a jittered grid, so that neighbours overlap.
BroadphaseInput make_pile(int count, double r, bool with_floor) {
  Random random(7);
  BroadphaseInput input;
  const int side = static_cast<int>(std::ceil(std::cbrt(count)));
  for (int k = 0; k < count; ++k) {
    const Vec3 cell(k % side, k / side % side, k / (side * side));
    const Vec3 p = 2.0 * r * (cell + 0.1 * random.normal3());
    input.boxes.push_back({p - Vec3::Constant(1.02 * r), p + Vec3::Constant(1.02 * r)});
    input.fixed.push_back(0);
  }
  if (with_floor) {
    input.boxes.push_back({Vec3(-50.0, -50.0, -1.0), Vec3(50.0, 50.0, 0.0)});
    input.fixed.push_back(1);
    input.boxes.push_back({Vec3(-25.0, -25.0, -0.5), Vec3(25.0, 25.0, 0.0)});  // a large one that moves
    input.fixed.push_back(0);
  }
  return input;
}

TEST(Broadphase, DoesNotAllocateOnceWarm) {
  if (!testing::can_count_allocations()) GTEST_SKIP() << "allocations cannot be counted in this build";
  BroadphaseInput input = make_pile(1000, 0.005, true);
  BroadphaseWorkspace workspace;
  Pairs pairs;
  find_pairs(input, workspace, pairs);
  for (Aabb& box : input.boxes) box.lower.x() += 1e-5, box.upper.x() += 1e-5;
  const testing::AllocationCounter counter;
  find_pairs(input, workspace, pairs);
  EXPECT_EQ(counter.count(), 0);
  EXPECT_EQ(pairs, test_all(input));
}

TEST(Broadphase, LargeBoxesDoNotSwellTheTreeOfTheGrains) {
  // Sizes a factor of 8 apart live in trees of their own: beside a floor of 50 m every node over grains of 5 mm is as
  // small as the pile.
  for (const int count : {1000, 10000}) {
    const BroadphaseInput input = make_pile(count, 0.005, true);
    BroadphaseWorkspace workspace;
    Pairs pairs;
    find_pairs(input, workspace, pairs);
    const double pile = 0.02 * std::cbrt(count);
    int large = 0;
    for (const auto& node : workspace.moving.nodes) large += -node.bound[4] - node.bound[0] > pile ? 1 : 0;
    EXPECT_EQ(large, 1);
  }
}

TEST(Boxes, AreTheSupportOfTheShape) {
  const std::shared_ptr<const Polytope> hull = [] {
    Random random(4);
    std::vector<Vec3> points;
    for (int k = 0; k < 40; ++k) points.push_back(random.normal3());
    return make_polytope(points);
  }();
  const std::array<Shape, 7> shapes{Sphere{0.3},        Capsule{0.2, 0.5}, Box{Vec3(0.3, 0.4, 0.5)},
                                    Cylinder{0.3, 0.5}, Cone{0.3, 0.5},    Ellipsoid{Vec3(0.2, 0.3, 0.5)},
                                    ConvexMesh{hull}};
  for (int seed = 0; seed < 1000; ++seed) {
    Random random(seed);
    const Pose X = testing::random_pose(random, 3.0);
    for (const Shape& shape : shapes) {
      const Aabb box = make_box(shape, X, bounding_radius(shape));
      for (int k = 0; k < 3; ++k) {
        EXPECT_NEAR(box.upper[k], testing::support_height(shape, X, Vec3::Unit(k)), 1e-12) << shape_name(shape);
        EXPECT_NEAR(box.lower[k], -testing::support_height(shape, X, -Vec3::Unit(k)), 1e-12) << shape_name(shape);
      }
    }
  }
}

TEST(Boxes, HoldTheVerticesOfSurfaces) {
  Random random(2);
  TriangleSoup soup;
  for (int k = 0; k < 30; ++k) soup.vertices.push_back(random.normal3());
  for (int k = 0; k < 10; ++k) soup.triangles.push_back({3 * k, 3 * k + 1, 3 * k + 2});
  auto grid = std::make_shared<HeightGrid>();
  *grid = {3, 4, 2.0, 1.0, {}};
  for (int k = 0; k < 12; ++k) grid->height.push_back(random.normal());
  const Shape mesh = make_triangle_mesh(soup), field = HeightField{grid};
  for (int seed = 0; seed < 100; ++seed) {
    const Pose X = testing::random_pose(random, 3.0);
    const auto holds = [](const Aabb& box, const Vec3& p) {
      return ((p - box.lower).array() >= -1e-12).all() && ((box.upper - p).array() >= -1e-12).all();
    };
    const Aabb mesh_box = make_box(mesh, X, bounding_radius(mesh));
    for (const Vec3& vertex : soup.vertices) EXPECT_TRUE(holds(mesh_box, X * vertex));
    const Aabb field_box = make_box(field, X, bounding_radius(field));
    for (int i = 0; i < 3; ++i) {
      for (int j = 0; j < 4; ++j) {
        EXPECT_TRUE(holds(field_box, X * Vec3((2.0 * j / 3.0 - 1.0) * 2.0, i - 1.0, grid->height[4 * i + j])));
      }
    }
  }
}

}  // namespace
}  // namespace almond
