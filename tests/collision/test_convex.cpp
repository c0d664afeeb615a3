// Convex shapes: signed distance against closed forms, against all separating
// axes of polytopes, and against its own optimality conditions for every pair
// of shapes, apart, touching and overlapping; patches of flat contacts.

#include <gtest/gtest.h>

#include <Eigen/Geometry>
#include <algorithm>
#include <cmath>
#include <set>

#include "almond/collision/convex.hpp"
#include "almond/collision/support.hpp"
#include "scenes/random.hpp"
#include "tests/common/allocation.hpp"

namespace almond {
namespace {

using scenes::Random;

constexpr int kKinds = 8;

Shape random_shape(Random& random, int kind) {
  const auto size = [&] { return std::pow(10.0, random.uniform(-0.7, 0.3)); };
  switch (kind) {
    case 0:
      return Sphere{size()};
    case 1:
      return Capsule{size(), size()};
    case 2:
      return Box{Vec3(size(), size(), size())};
    case 3:
      return Cylinder{size(), size()};
    case 4:
      return Cone{size(), size()};
    case 5:
      return Ellipsoid{Vec3(size(), size(), size())};
    default: {
      // Few vertices, or many: both ways of finding the farthest one.
      std::vector<Vec3> points(4 + random.index(kind == 6 ? 12 : 120));
      for (Vec3& p : points) p = size() * random.direction();
      return ConvexMesh{make_polytope(points)};
    }
  }
}

struct Pair {
  Shape a, b;
  Pose X_a, X_b;
  double size;
};

/// A pair at a signed distance of about `gap` times its size.
Pair random_pair(Random& random, int kind_a, int kind_b, double gap, ConvexWorkspace& workspace) {
  Pair pair{random_shape(random, kind_a), random_shape(random, kind_b), {random.rotation(), random.normal3()}, {}, 0.0};
  pair.size = bounding_radius(pair.a) + bounding_radius(pair.b);
  pair.X_b = {random.rotation(), pair.X_a.p + 2.0 * pair.size * random.direction()};
  const ConvexDistance d = signed_distance(pair.a, pair.X_a, pair.b, pair.X_b, workspace);
  pair.X_b.p -= d.n * (d.gap - gap * pair.size);
  return pair;
}

/// Separation of the shapes along n: their gap if n were the normal.
double separation(const Pair& pair, const Vec3& n) {
  const auto farthest = [](const Shape& shape, const Pose& X, const Vec3& d) {
    const Core core = make_core(shape);
    int branch = 0;
    return d.dot(X * support(core, X.R.transpose() * d, branch)) + core.radius;
  };
  return -farthest(pair.a, pair.X_a, n) - farthest(pair.b, pair.X_b, -n);
}

double inside_by(const Pair& pair, const Vec3& p,
                 bool of_a);  // how far p lies outside a (or b): 0 on or inside

double inside_by(const Pair& pair, const Vec3& p, bool of_a) {
  ConvexWorkspace workspace;
  const Shape point = Sphere{1e-12};
  return of_a ? signed_distance(pair.a, pair.X_a, point, {Mat3::Identity(), p}, workspace).gap
              : signed_distance(pair.b, pair.X_b, point, {Mat3::Identity(), p}, workspace).gap;
}

TEST(SignedDistance, SatisfiesItsOptimalityConditions) {
  // Apart: n separates by exactly the distance between two points of the
  // shapes, which proves both. Overlapping: n separates by the depth, and no
  // direction near it or at random does with less.
  ConvexWorkspace workspace;
  Random random(1);
  for (int i = 0; i < kKinds; ++i)
    for (int j = 0; j < kKinds; ++j)
      for (int trial = 0; trial < 60; ++trial) {
        const double gap = trial % 3 == 0 ? random.uniform(0.0, 0.5)
                           : trial % 3 == 1
                               ? std::pow(10.0, random.uniform(-12, -2)) * (random.uniform() < 0.5 ? 1 : -1)
                               : -0.4 * random.uniform();
        const Pair pair = random_pair(random, i, j, gap, workspace);
        const ConvexDistance d = signed_distance(pair.a, pair.X_a, pair.b, pair.X_b, workspace);
        const bool curved = (i >= 3 && i <= 5) || (j >= 3 && j <= 5);
        const double tolerance = (curved ? 1e-9 : 1e-11) * pair.size;
        SCOPED_TRACE(std::string(shape_name(pair.a)) + " - " + shape_name(pair.b) + ", trial " + std::to_string(trial));
        EXPECT_TRUE(d.converged);
        EXPECT_NEAR(d.n.norm(), 1.0, 1e-12);
        EXPECT_NEAR(separation(pair, d.n), d.gap, tolerance);
        EXPECT_LT((d.p_b - d.p_a - d.gap * d.n).norm(), 1e-12 * pair.size);
        EXPECT_LT(std::abs(inside_by(pair, d.p_a, true)), 1e-7 * pair.size);
        EXPECT_LT(std::abs(inside_by(pair, d.p_b, false)), 1e-7 * pair.size);
        for (int k = 0; k < 40; ++k) {
          const double reach = k % 2 == 0 ? 2.0 : std::pow(10.0, random.uniform(-4, 0));
          const Vec3 n = (d.n + reach * random.normal3()).normalized();
          EXPECT_LE(separation(pair, n), d.gap + 3.0 * tolerance);
        }
      }
}

TEST(SignedDistance, ClosedForms) {
  ConvexWorkspace workspace;
  Random random(2);
  for (int trial = 0; trial < 200; ++trial) {
    const Pose X{random.rotation(), random.normal3()};
    const double gap = random.uniform(-0.3, 0.5);
    // A sphere over the face of a box, a cylinder's cap, an ellipsoid's pole, a
    // cone's tip and base.
    const struct {
      Shape shape;
      Vec3 top, n;
    } cases[] = {{Box{Vec3(1.0, 0.8, 0.5)}, Vec3(0.3, -0.2, 0.5), Vec3::UnitZ()},
                 {Box{Vec3(1.0, 0.8, 0.5)}, Vec3(0.3, 0.8, 0.1), Vec3::UnitY()},
                 {Cylinder{0.7, 0.6}, Vec3(0.2, 0.1, 0.6), Vec3::UnitZ()},
                 {Cylinder{0.7, 0.9}, Vec3(0.0, 0.7, 0.1), Vec3::UnitY()},
                 {Ellipsoid{Vec3(0.9, 0.8, 0.6)}, Vec3(0.0, 0.0, 0.6), Vec3::UnitZ()},
                 {Cone{0.8, 0.9}, Vec3(0.1, 0.2, -0.9), -Vec3::UnitZ()},
                 {Capsule{0.4, 0.7}, Vec3(0.4, 0.0, 0.2), Vec3::UnitX()}};
    for (const auto& c : cases) {
      const Sphere sphere{0.35};
      const Pose X_b{random.rotation(), X * Vec3(c.top + (gap + sphere.radius) * c.n)};
      const ConvexDistance d = signed_distance(c.shape, X, sphere, X_b, workspace);
      EXPECT_NEAR(d.gap, gap, 1e-11) << shape_name(c.shape);
      EXPECT_LT((d.n - X.R * c.n).norm(), 1e-7) << shape_name(c.shape);
      EXPECT_LT((d.p_a - X * c.top).norm(), 1e-7) << shape_name(c.shape);
    }
    // A cone's side: distance of a point beyond it, by the outward normal (2h,
    // r) / slant in (radial, z).
    const double r = 0.5, h = 0.6, slant = std::hypot(r, 2.0 * h);
    const Vec3 side(r * 0.5, 0.0, 0.0), n(2.0 * h / slant, 0.0, r / slant);
    const ConvexDistance d = signed_distance(Cone{r, h}, X, Sphere{0.1},
                                             {Mat3::Identity(), X * Vec3(side + (std::abs(gap) + 0.1) * n)}, workspace);
    EXPECT_NEAR(d.gap, std::abs(gap), 1e-12);
    EXPECT_LT((d.n - X.R * n).norm(), 1e-9);
    // Two coaxial cylinders, two faces of boxes.
    const ConvexDistance e = signed_distance(Cylinder{0.4, 0.3}, X, Cylinder{0.3, 0.5},
                                             X * make_translation(0.1, 0.0, 0.8 + 0.5 * gap), workspace);
    EXPECT_NEAR(e.gap, 0.5 * gap, 1e-12);
    EXPECT_LT((e.n - X.R.col(2)).norm(), 1e-7);
  }
}

/// All candidate normals of two polytopes: faces of both and cross products of
/// edges.
double separating_axes(const Polytope& a, const Pose& X_a, const Polytope& b, const Pose& X_b, const Pair& pair) {
  std::vector<Vec3> axes, edges[2];
  const auto collect = [&](const Polytope& hull, const Pose& X, double sign, std::vector<Vec3>& edge) {
    for (const Vec3& n : hull.normals) axes.push_back(sign * (X.R * n));
    for (std::size_t v = 0; v < hull.vertices.size(); ++v)
      for (const int w : hull.neighbors[v])
        if (w > static_cast<int>(v)) edge.push_back(X.R * (hull.vertices[w] - hull.vertices[v]));
  };
  collect(a, X_a, 1.0, edges[0]);
  collect(b, X_b, -1.0, edges[1]);
  for (const Vec3& e : edges[0])
    for (const Vec3& f : edges[1]) {
      const Vec3 n = e.cross(f);
      if (n.norm() < 1e-9 * e.norm() * f.norm()) continue;
      axes.push_back(n.normalized());
      axes.push_back(-n.normalized());
    }
  double best = -kInfinity;
  for (const Vec3& n : axes) best = std::max(best, separation(pair, n));
  return best;
}

TEST(SignedDistance, OverlapOfPolytopesIsTheBestSeparatingAxis) {
  ConvexWorkspace workspace;
  Random random(3);
  int overlapping = 0;
  for (int trial = 0; trial < 400; ++trial) {
    const Pair pair = random_pair(random, 6, 6, -0.4 * std::pow(random.uniform(), 3), workspace);
    const Polytope &a = *std::get<ConvexMesh>(pair.a).hull, &b = *std::get<ConvexMesh>(pair.b).hull;
    const ConvexDistance d = signed_distance(pair.a, pair.X_a, pair.b, pair.X_b, workspace);
    if (d.gap > 0.0) continue;
    ++overlapping;
    EXPECT_NEAR(d.gap, separating_axes(a, pair.X_a, b, pair.X_b, pair), 1e-10 * pair.size) << trial;
  }
  EXPECT_GT(overlapping, 300);
}

TEST(SignedDistance, AlignedAndNearlyAlignedBoxes) {
  // The awkward ones: parallel faces and edges, tilted by nothing or by next to
  // nothing.
  ConvexWorkspace workspace;
  Random random(4);
  for (int trial = 0; trial < 3000; ++trial) {
    const Box a{Vec3(0.5, 0.4, 0.3)}, b{trial % 2 == 0 ? a.half : Vec3(0.2, 0.3, 0.1)};
    const double tilt = trial % 3 == 0 ? 0.0 : std::pow(10.0, random.uniform(-16, -3));
    const double gap = trial % 5 == 0 ? 0.0 : std::pow(10.0, random.uniform(-16, -1)) * (trial % 7 < 3 ? 1 : -1);
    const int axis = random.index(3);
    Vec3 p(random.uniform(-0.1, 0.1), random.uniform(-0.1, 0.1), random.uniform(-0.1, 0.1));
    if (trial % 4 == 0) p.setZero();
    p[axis] = a.half[axis] + b.half[axis] + gap;
    const Pose X_a{trial % 2 == 0 ? Mat3(Mat3::Identity()) : random.rotation(), random.normal3()};
    const ConvexDistance d = signed_distance(a, X_a, b, X_a * Pose{exp_so3(tilt * random.direction()), p}, workspace);
    EXPECT_TRUE(d.converged);
    EXPECT_NEAR(d.gap, gap, tilt + 1e-14) << trial;
    EXPECT_LT((d.n - X_a.R.col(axis)).norm(), 2.0 * tilt + 1e-9)
        << "trial " << trial << " tilt " << tilt << " gap " << gap;
  }
}

TEST(SignedDistance, TouchingShapesHaveANormal) {
  ConvexWorkspace workspace;
  Random random(5);
  for (int i = 0; i < kKinds; ++i)
    for (int j = 0; j < kKinds; ++j)
      for (const double gap : {0.0, 1e-15, -1e-15, 1e-12, -1e-12, 1e-10}) {
        Pair pair = random_pair(random, i, j, 1e-3, workspace);
        const ConvexDistance before = signed_distance(pair.a, pair.X_a, pair.b, pair.X_b, workspace);
        pair.X_b.p -= before.n * (before.gap - gap * pair.size);
        const ConvexDistance d = signed_distance(pair.a, pair.X_a, pair.b, pair.X_b, workspace);
        SCOPED_TRACE(std::string(shape_name(pair.a)) + " - " + shape_name(pair.b));
        EXPECT_NEAR(d.gap, gap * pair.size, 1e-10 * pair.size);
        // A corner may touch at other normals than the one it came along; each
        // must separate.
        EXPECT_NEAR(separation(pair, d.n), d.gap, 1e-10 * pair.size);
      }
}

TEST(SignedDistance, ExchangeAndRigidMotionChangeNothing) {
  ConvexWorkspace workspace;
  Random random(6);
  for (int i = 0; i < kKinds; ++i)
    for (int j = 0; j < kKinds; ++j)
      for (int trial = 0; trial < 20; ++trial) {
        const Pair pair =
            random_pair(random, i, j, trial % 2 == 0 ? random.uniform(0.0, 0.3) : -0.05 * random.uniform(), workspace);
        const ConvexDistance d = signed_distance(pair.a, pair.X_a, pair.b, pair.X_b, workspace);
        SCOPED_TRACE(std::string(shape_name(pair.a)) + " - " + shape_name(pair.b));
        const ConvexDistance back = signed_distance(pair.b, pair.X_b, pair.a, pair.X_a, workspace);
        EXPECT_NEAR(back.gap, d.gap, 1e-9 * pair.size);
        if (d.gap > 0.0) {
          EXPECT_LT((back.n + d.n).norm(), 1e-5);
        }
        const Pose X{random.rotation(), 10.0 * random.normal3()};
        const ConvexDistance moved = signed_distance(pair.a, X * pair.X_a, pair.b, X * pair.X_b, workspace);
        EXPECT_NEAR(moved.gap, d.gap, 1e-9 * pair.size);
        if (d.gap > 0.0) {
          EXPECT_LT((moved.n - X.R * d.n).norm(), 1e-6);
        }
      }
}

TEST(SignedDistance, TheNormalIsTheGradient) {
  // Moving b by δ changes the gap by nᵀδ to first order.
  ConvexWorkspace workspace;
  Random random(7);
  for (int i = 0; i < kKinds; ++i)
    for (int j = 0; j < kKinds; ++j)
      for (int trial = 0; trial < 10; ++trial) {
        const Pair pair = random_pair(random, i, j, 0.2 * random.uniform(), workspace);
        const ConvexDistance d = signed_distance(pair.a, pair.X_a, pair.b, pair.X_b, workspace);
        const Vec3 step = 1e-6 * pair.size * random.direction();
        const auto gap_at = [&](double s) {
          return signed_distance(pair.a, pair.X_a, pair.b, {pair.X_b.R, pair.X_b.p + s * step}, workspace).gap;
        };
        // Second derivatives are bounded by 1 / distance of the cores.
        EXPECT_NEAR(0.5 * (gap_at(1.0) - gap_at(-1.0)), d.n.dot(step), 2e-6 * step.norm() + step.squaredNorm() / d.gap)
            << shape_name(pair.a) << " - " << shape_name(pair.b);
      }
}

TEST(SignedDistance, DegenerateShapesEqualSimplerOnes) {
  ConvexWorkspace workspace;
  Random random(8);
  const auto box_hull = [](const Vec3& h) {
    std::vector<Vec3> points;
    for (int i = 0; i < 8; ++i) points.push_back(h.cwiseProduct(Vec3(i & 1 ? 1 : -1, i & 2 ? 1 : -1, i & 4 ? 1 : -1)));
    return ConvexMesh{make_polytope(points)};
  };
  for (int trial = 0; trial < 300; ++trial) {
    const int kind = random.index(kKinds);
    const Pair pair =
        random_pair(random, kind, 0, trial % 2 == 0 ? 0.2 * random.uniform() : -0.2 * random.uniform(), workspace);
    const double r = std::get<Sphere>(pair.b).radius;
    const double expected = signed_distance(pair.a, pair.X_a, pair.b, pair.X_b, workspace).gap;
    for (const Shape& same : {Shape(Capsule{r, 0.0}), Shape(Ellipsoid{Vec3(r, r, r)})})
      EXPECT_NEAR(signed_distance(pair.a, pair.X_a, same, pair.X_b, workspace).gap, expected, 2e-9 * pair.size)
          << shape_name(pair.a) << " - " << shape_name(same) << " trial " << trial;
    const Pair other =
        random_pair(random, kind, 2, trial % 2 == 0 ? 0.2 * random.uniform() : -0.2 * random.uniform(), workspace);
    EXPECT_NEAR(signed_distance(other.a, other.X_a, box_hull(std::get<Box>(other.b).half), other.X_b, workspace).gap,
                signed_distance(other.a, other.X_a, other.b, other.X_b, workspace).gap, 1e-9 * other.size)
        << shape_name(other.a);
  }
}

TEST(SignedDistance, IsFiniteWhenCentresCoincide) {
  ConvexWorkspace workspace;
  Random random(9);
  for (int i = 0; i < kKinds; ++i)
    for (int j = 0; j < kKinds; ++j)
      for (const bool aligned : {true, false}) {
        const Shape a = random_shape(random, i), b = random_shape(random, j);
        const Pose X_a{}, X_b{aligned ? Mat3(Mat3::Identity()) : random.rotation(), Vec3::Zero()};
        const ConvexDistance d = signed_distance(a, X_a, b, X_b, workspace);
        SCOPED_TRACE(std::string(shape_name(a)) + " - " + shape_name(b));
        const double size = bounding_radius(a) + bounding_radius(b);
        ASSERT_TRUE(std::isfinite(d.gap) && d.n.allFinite() && d.p_a.allFinite() && d.p_b.allFinite());
        EXPECT_NEAR(d.n.norm(), 1.0, 1e-12);
        EXPECT_LT(d.gap, 0.0);
        EXPECT_NEAR(separation({a, b, X_a, X_b, size}, d.n), d.gap, 1e-6 * size);
      }
}

TEST(SignedDistance, SizesMayDifferALot) {
  ConvexWorkspace workspace;
  Random random(10);
  for (int trial = 0; trial < 500; ++trial) {
    // A crumb on a large plate.
    const double small = std::pow(10.0, random.uniform(-4, -1)), gap = small * random.uniform(-0.2, 0.5);
    const Shape plate = trial % 2 == 0 ? Shape(Box{Vec3(10, 10, 0.1)}) : Shape(Cylinder{10, 0.1});
    const Shape crumbs[] = {Sphere{small}, Box{Vec3::Constant(small)}, Cylinder{small, small},
                            Ellipsoid{small * Vec3(1, 1, 1)}};
    for (const Shape& crumb : crumbs) {
      const Pose X_b{Mat3::Identity(), Vec3(random.uniform(-5, 5), random.uniform(-5, 5), 0.1 + small + gap)};
      const ConvexDistance d = signed_distance(plate, Pose{}, crumb, X_b, workspace);
      EXPECT_NEAR(d.gap, gap, 1e-11) << shape_name(crumb);
      EXPECT_LT((d.n - Vec3::UnitZ()).norm(), 1e-6) << shape_name(crumb) << " " << small << " " << gap;
    }
  }
}

TEST(CollideConvex, FlatContactsBecomePatches) {
  ConvexWorkspace workspace;
  Manifold m;
  const Pose X_a{exp_so3(Vec3(0.3, 0.2, -0.5)), Vec3(1, 2, 3)};
  const auto collide = [&](const Shape& a, const Shape& b, const Pose& X_ab) -> const Manifold& {
    m.clear();
    collide_convex(a, X_a, b, X_a * X_ab, {1e-3, 8}, workspace, m);
    std::set<std::uint32_t> names;
    for (const ManifoldPoint& p : m.points) names.insert(p.feature);
    EXPECT_EQ(names.size(), m.points.size());
    return m;
  };
  const auto expect_flat = [&](std::size_t count, double gap) {
    ASSERT_EQ(m.points.size(), count);
    for (const ManifoldPoint& p : m.points) {
      EXPECT_LT((p.n - X_a.R.col(2)).norm(), 1e-9);
      EXPECT_NEAR(p.gap, gap, 1e-11);
    }
  };
  const Shape ground = Box{Vec3(1.0, 1.0, 0.5)};
  // Standing cylinder and cone: eight points of the rim. Lying cylinder: its
  // line. Box: four corners.
  collide(ground, Cylinder{0.2, 0.3}, make_translation(0.1, 0.0, 0.8 - 1e-4));
  expect_flat(8, -1e-4);
  collide(ground, Cone{0.2, 0.3}, make_translation(0.1, 0.0, 0.8 + 1e-4));
  expect_flat(8, 1e-4);
  collide(ground, Cylinder{0.2, 0.3}, make_rotation(Vec3::UnitX(), M_PI / 2, Vec3(0.1, 0.0, 0.7 - 1e-4)));
  expect_flat(2, -1e-4);
  collide(ground, Box{Vec3(0.2, 0.3, 0.1)}, make_rotation(Vec3::UnitZ(), 0.4, Vec3(0.1, 0.0, 0.6 - 1e-4)));
  expect_flat(4, -1e-4);
  // Capsule and sphere: ends of the line, one point.
  collide(ground, Capsule{0.2, 0.3}, make_rotation(Vec3::UnitX(), M_PI / 2, Vec3(0.1, 0.0, 0.7 - 1e-4)));
  expect_flat(2, -1e-4);
  collide(ground, Sphere{0.2}, make_translation(0.1, 0.0, 0.7 - 1e-4));
  expect_flat(1, -1e-4);
  // Too far: nothing.
  collide(ground, Sphere{0.2}, make_translation(0.1, 0.0, 0.7 + 2e-3));
  expect_flat(0, 0.0);
}

TEST(CollideConvex, TheDeepestPointIsNeverMissing) {
  ConvexWorkspace workspace;
  Random random(11);
  Manifold m;
  for (int i = 0; i < kKinds; ++i)
    for (int j = 0; j < kKinds; ++j)
      for (int trial = 0; trial < 30; ++trial) {
        Pair pair =
            random_pair(random, i, j, trial % 2 == 0 ? 1e-3 * random.uniform() : -1e-2 * random.uniform(), workspace);
        const ConvexDistance d = signed_distance(pair.a, pair.X_a, pair.b, pair.X_b, workspace);
        m.clear();
        collide_convex(pair.a, pair.X_a, pair.b, pair.X_b, {0.01 * pair.size, 8}, workspace, m);
        ASSERT_FALSE(m.points.empty());
        double least = kInfinity;
        for (const ManifoldPoint& p : m.points) {
          least = std::min(least, p.gap);
          EXPECT_LE(p.gap, 0.01 * pair.size);
          EXPECT_GE(p.gap, d.gap - 1e-9);
        }
        EXPECT_NEAR(least, d.gap, 1e-5 * pair.size) << shape_name(pair.a) << " - " << shape_name(pair.b);
      }
}

TEST(CollideConvex, NamesStayWhileAFlatContactSlides) {
  ConvexWorkspace workspace;
  Manifold m;
  const ConvexMesh hull{make_polytope({Vec3(0.1, 0, 0), Vec3(-0.1, 0.1, 0), Vec3(-0.1, -0.1, 0), Vec3(0, 0, 0.1)})};
  std::set<std::uint32_t> first;
  for (int k = 0; k < 100; ++k) {
    const Pose X = make_rotation(Vec3::UnitZ(), 0.01 * k, Vec3(0.005 * k - 0.2, 0.01, 0.5 - 1e-5 * k));
    m.clear();
    collide_convex(Box{Vec3(0.5, 0.5, 0.5)}, Pose{}, hull, X, {1e-3, 8}, workspace, m);
    std::set<std::uint32_t> names;
    for (const ManifoldPoint& p : m.points) names.insert(p.feature);
    ASSERT_EQ(names.size(), 3u);
    if (k == 0) first = names;
    EXPECT_EQ(names, first);
  }
}

TEST(CollideConvex, DoesNotAllocateWhenWarm) {
  if (!testing::can_count_allocations()) GTEST_SKIP() << "allocations cannot be counted in this build";
  ConvexWorkspace workspace;
  Manifold m;
  m.points.reserve(64);
  Random random(12);
  std::vector<Pair> pairs;
  for (int i = 0; i < kKinds; ++i)
    for (int j = 0; j < kKinds; ++j)
      for (const double gap : {0.01, -0.01, -0.3}) pairs.push_back(random_pair(random, i, j, gap, workspace));
  const testing::AllocationCounter counter;
  for (const Pair& pair : pairs) {
    m.clear();
    collide_convex(pair.a, pair.X_a, pair.b, pair.X_b, {1.0, 8}, workspace, m);
  }
  EXPECT_EQ(counter.count(), 0);
}

}  // namespace
}  // namespace almond
