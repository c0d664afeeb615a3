// What every signed distance function promises: sign, gradient, Lipschitz bound, distance.

#include <gtest/gtest.h>

#include <Eigen/Geometry>
#include <cmath>
#include <functional>
#include <numbers>

#include "almond/model/grid_sdf.hpp"
#include "almond/model/neural_sdf.hpp"
#include "almond/model/profile.hpp"
#include "almond/model/thread.hpp"
#include "scenes/random.hpp"
#include "tests/model/sdf_oracle.hpp"

namespace almond {
namespace {

using scenes::Random;

constexpr double kPi = std::numbers::pi;

struct Kind {
  const char* name;
  std::function<SdfPtr()> make;
  double edge;          // of the fine mesh that distances are measured to [m]
  double band = 1e300;  // the promises hold for |φ| below this [m]
  double step = 1e-7;   // of finite differences [m]; more where φ is computed in single precision
};

Pose some_pose() { return make_rotation(Vec3(1.0, 2.0, -0.5).normalized(), 0.8, Vec3(0.02, -0.01, 0.03)); }

/// A grid around a shape's own triangles.
SdfPtr make_grid_of(const SdfPtr& sdf, double edge, double cell) {
  return make_grid_sdf(make_fine_mesh(*sdf, edge, 2e-6), {cell});
}

const Kind kKinds[] = {
    {"sphere", [] { return make_sphere_sdf(0.05); }, 2e-3},
    {"box", [] { return make_box_sdf(Vec3(0.05, 0.03, 0.02)); }, 1e-2},
    {"capsule", [] { return make_capsule_sdf(0.03, 0.04); }, 1.5e-3},
    {"cylinder", [] { return make_cylinder_sdf(0.03, 0.04); }, 1.5e-3},
    {"cone", [] { return make_cone_sdf(0.03, 0.04); }, 1.5e-3},
    {"ellipsoid", [] { return make_ellipsoid_sdf(Vec3(0.05, 0.03, 0.02)); }, 2e-3},
    {"hexagon", [] { return make_hexagon_sdf(0.06, 0.02); }, 1e-2},
    {"posed", [] { return make_posed(make_box_sdf(Vec3(0.05, 0.03, 0.02)), some_pose()); }, 1e-2},
    {"rounded", [] { return make_offset(make_box_sdf(Vec3(0.04, 0.03, 0.02)), 0.005); }, 7e-4},
    {"union",
     [] {
       return make_union({make_sphere_sdf(0.03), make_posed(make_box_sdf(Vec3(0.03, 0.02, 0.02)), some_pose())});
     },
     2e-3},
    {"intersection",
     [] {
       return make_intersection({make_sphere_sdf(0.04), make_posed(make_box_sdf(Vec3(0.05, 0.03, 0.02)), some_pose())});
     },
     2e-3},
    {"difference", [] { return make_difference(make_box_sdf(Vec3(0.04, 0.04, 0.02)), make_sphere_sdf(0.03)); }, 2e-3},
    {"dish", [] { return make_dish(Vec2(0.03, 0.0), Vec2(0.06, 0.04), 0.002); }, 2e-3},
    {"bowl", [] { return make_bowl(0.025, 0.07, 0.05, 0.004); }, 2e-3},
    {"pot", [] { return make_pot(0.08, 0.07, 0.005); }, 2e-3},
    {"bottle", [] { return make_bottle(0.035, 0.012, 0.10, 0.18, 0.003); }, 2e-3},
    {"round_bowl", [] { return make_round_bowl(0.08, 0.05, 0.004); }, 2e-3},
    {"ring",
     [] {
       return make_dish({{0.05, 0.0, -0.4}, {0.07, 0.02}}, 0.004);
     },
     1.5e-3},
    {"revolved",
     [] {
       return make_revolved_solid({{0.0, -0.02}, {0.05, -0.02}, {0.05, 0.03}, {0.02, 0.01}, {0.0, 0.015}});
     },
     2e-3},
    {"ring_solid",
     [] {
       return make_revolved_solid({{0.03, -0.02}, {0.05, -0.01}, {0.04, 0.03}});
     },
     2e-3},
    {"thread", [] { return make_thread(find_thread("M48").external(), -0.02, 0.02); }, 1e-3, 2.5e-3},
    {"hole", [] { return make_thread(find_thread("M20").internal(), -0.01, 0.01); }, 5e-4, 1.2e-3},
    {"bolt",
     [] {
       return make_bolt(find_thread("M20"), {0.05, 0.03, true});
     },
     6e-4, 1.2e-3},
    {"nut", [] { return make_nut(find_thread("M48")); }, 1.2e-3, 2.5e-3},
    {"grid_of_ring",
     [] {
       return make_grid_of(make_dish({{0.02, 0.0}, {0.0201, 0.0}}, 0.008), 5e-4, 1e-3);
     },
     2e-3, 3e-3},
    {"grid_of_box", [] { return make_grid_of(make_box_sdf(Vec3(0.05, 0.03, 0.02)), 1.0, 5e-4); }, 2e-2, 1.5e-3},
    {"neural_bolt", [] { return make_neural_bolt(); }, 1.2e-3, 2.5e-3, 3e-6},
};

class SdfKind : public testing::TestWithParam<Kind> {
 protected:
  /// Points in the bounds and some way around them, half of them near the surface.
  [[nodiscard]] std::vector<Vec3> make_points(const Sdf& sdf, int count) {
    const Aabb box = sdf.bounds();
    const Vec3 middle = 0.5 * (box.lower + box.upper), half = 0.5 * (box.upper - box.lower);
    Random random(7);
    std::vector<Vec3> points;
    while (static_cast<int>(points.size()) < count) {
      Vec3 p =
          middle +
          1.2 *
              Vec3(random.uniform(-1.0, 1.0), random.uniform(-1.0, 1.0), random.uniform(-1.0, 1.0)).cwiseProduct(half);
      SdfSample s = sdf.sample(p);
      if (points.size() % 2 == 0) {
        p -= (s.d + random.uniform(-1e-3, 1e-3)) * s.g;
        s = sdf.sample(p);
      }
      if (std::abs(s.d) < GetParam().band) points.push_back(p);
    }
    return points;
  }
};

TEST_P(SdfKind, GradientsAreThoseOfTheValues) {
  const SdfPtr sdf = GetParam().make();
  const double h = GetParam().step;
  int smooth = 0;
  const std::vector<Vec3> points = make_points(*sdf, 4000);
  for (const Vec3& p : points) {
    const SdfSample s = sdf->sample(p);
    EXPECT_NEAR(s.g.norm(), 1.0, std::max(2.0 * sdf->slack(), 1e-9)) << p.transpose();
    Vec3 difference;
    double curvature = 0.0;
    for (int i = 0; i < 3; ++i) {
      const double up = sdf->value(p + h * Vec3::Unit(i)), down = sdf->value(p - h * Vec3::Unit(i));
      difference[i] = (up - down) / (2.0 * h);
      curvature = std::max(curvature, std::abs(up + down - 2.0 * s.d) / (h * h));
    }
    if (curvature > 1e4) continue;  // [1/m]; a kink: nearest points on two sides
    ++smooth;
    EXPECT_LT((difference - s.g).norm(), 1e-3 + 10.0 * sdf->slack()) << p.transpose() << " d " << s.d;
  }
  EXPECT_GT(smooth, static_cast<int>(0.97 * static_cast<double>(points.size())));
}

TEST_P(SdfKind, ChangesNoFasterThanThePointMoves) {
  const SdfPtr sdf = GetParam().make();
  const std::vector<Vec3> points = make_points(*sdf, 600);
  for (std::size_t i = 0; i < points.size(); ++i)
    for (std::size_t j = i + 1; j < points.size(); j += 7) {
      const double change = std::abs(sdf->value(points[i]) - sdf->value(points[j]));
      EXPECT_LE(change, (1.0 + 2.0 * sdf->slack()) * (points[i] - points[j]).norm() + 1e-12)
          << points[i].transpose() << " / " << points[j].transpose();
    }
}

TEST_P(SdfKind, BlocksAnswerLikeSinglePoints) {
  const SdfPtr sdf = GetParam().make();
  const std::vector<Vec3> points = make_points(*sdf, 50);
  SdfBlock block;
  for (const Vec3& p : points) block.add(p);
  sdf->sample(block);
  for (int i = 0; i < block.count; ++i) {
    const SdfSample s = sdf->sample(points[static_cast<std::size_t>(i)]);
    EXPECT_NEAR(s.d, block.d[i], 1e-15);
    EXPECT_LT((s.g - block.gradient(i)).norm(), 1e-9);
  }
}

TEST_P(SdfKind, IsTheDistanceToItsFineMesh) {
  const Kind& kind = GetParam();
  const SdfPtr sdf = kind.make();
  const double chord = 0.02 * kind.edge;
  const TriangleSoup soup = make_fine_mesh(*sdf, kind.edge, chord);
  const DistanceOracle oracle(soup);
  for (const auto& triangle : soup.triangles)
    for (const int v : triangle)
      EXPECT_LT(std::abs(sdf->value(soup.vertices[v])), chord + 1e-9) << soup.vertices[v].transpose();
  int wrong_sign = 0;
  for (const Vec3& p : make_points(*sdf, 300)) {
    const double d = sdf->value(p), measured = oracle.distance(p);
    // Where two surfaces were cut away, the nearest point may be missing: then φ is less.
    EXPECT_LE(std::abs(d), measured + 2.0 * chord + sdf->slack() * measured) << p.transpose();
    if (sdf->exact() && d > 0.0) {
      EXPECT_NEAR(std::abs(d), measured, 2.0 * chord + sdf->slack() * measured) << p.transpose();
    }
    // Winding number: 1 inside, 0 outside.
    if (std::abs(d) > 2.0 * kind.edge) wrong_sign += (oracle.winding(p) > 0.5) != (d < 0.0) ? 1 : 0;
  }
  const bool endless = std::string(kind.name) == "thread" || std::string(kind.name) == "hole";
  if (!endless) {
    EXPECT_EQ(wrong_sign, 0);
  }
}

INSTANTIATE_TEST_SUITE_P(Kinds, SdfKind, testing::ValuesIn(kKinds),
                         [](const auto& kind) { return std::string(kind.param.name); });

// ---- Threads ----

TEST(Thread, DimensionsAreThoseOfTheStandard) {
  const MetricThread m48 = find_thread("M48"), m20 = find_thread("M20");
  EXPECT_NEAR(m48.pitch_diameter(), 44.752e-3, 1e-6);
  EXPECT_NEAR(m20.pitch_diameter(), 18.376e-3, 1e-6);
  EXPECT_NEAR(2.0 * m48.internal().root_radius, 42.587e-3, 1e-6);                    // D1
  EXPECT_NEAR(2.0 * m48.external().root_radius + m48.allowance(), 41.866e-3, 1e-6);  // d3
  EXPECT_NEAR(m48.allowance(), 71e-6, 1.5e-6);                                       // ISO 965-1: 6g
  EXPECT_NEAR(m20.allowance(), 42e-6, 1.5e-6);
  EXPECT_NEAR(m48.external().crest_width, 5e-3 / 8.0, 1e-9);
  EXPECT_NEAR(std::atan(m48.external().rise() / (0.5 * m48.pitch_diameter())) * 180.0 / kPi, 2.04, 0.005);
  EXPECT_NEAR(find_thread("M20x1.5").pitch, 1.5e-3, 1e-12);
  EXPECT_THROW(static_cast<void>(find_thread("M49")), std::exception);
  EXPECT_THROW(static_cast<void>(find_thread("M20x")), std::exception);
  EXPECT_THROW(static_cast<void>(find_thread("M20x-1")), std::exception);
}

TEST(Thread, IsTheSameAlongItsScrew) {
  const SdfPtr thread = make_thread(find_thread("M48").external(), -0.02, 0.02);
  Random random(3);
  for (int k = 0; k < 200; ++k) {
    const Vec3 p(random.uniform(0.018, 0.026), random.uniform(-0.01, 0.01), random.uniform(-0.01, 0.01));
    const double angle = random.uniform(-20.0, 20.0);
    const Vec3 moved = make_rotation(Vec3::UnitZ(), angle) * p + 5e-3 * angle / (2.0 * kPi) * Vec3::UnitZ();
    EXPECT_NEAR(thread->value(p), thread->value(moved), 1e-14);
  }
}

TEST(Thread, FitsWithTheClearanceOfItsClass) {
  for (const char* name : {"M48", "M20"}) {
    const MetricThread m = find_thread(name);
    const SdfPtr bolt = make_thread(m.external(), -0.02, 0.02), hole = make_thread(m.internal(), -0.02, 0.02);
    // Flanks are parallel: half the allowance, seen along the flank's normal, lies between them.
    const double between = 0.5 * m.allowance() * 0.5, r = 0.5 * m.pitch_diameter();
    const double s = 0.25 * m.pitch;
    const double sum = bolt->value(Vec3(r, 0.0, s)) - hole->value(Vec3(r, 0.0, s));
    EXPECT_NEAR(sum, between, 0.002 * between);
  }
}

}  // namespace
}  // namespace almond
