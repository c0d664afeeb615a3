// Grids around closed meshes: side and distance against brute force over all triangles, on meshes that are hard to tell
// inside from outside on; how errors fall with the cell; what is refused.

#include <gtest/gtest.h>

#include "almond/base/check.hpp"
#include "almond/model/grid_sdf.hpp"
#include "almond/model/mesh_distance.hpp"
#include "scenes/random.hpp"
#include "tests/model/mesh_samples.hpp"
#include "tests/model/sdf_oracle.hpp"

namespace almond {
namespace {

using scenes::Random;

struct Nasty {
  const char* name;
  std::function<TriangleSoup()> make;
};

const Nasty kNasty[] = {
    {"thin_plate", [] { return samples::box(Vec3(0.02, 0.015, 0.0008)); }},
    {"knot", [] { return samples::knot(0.006, 0.004, 96, 16); }},
    {"hollow",
     [] {
       TriangleSoup soup = samples::sphere(0.02, 16);
       samples::append(samples::turned_round(samples::sphere(0.012, 12)), Vec3(0.002, 0.0, 0.0), soup);
       return soup;
     }},
    {"corner_to_corner",
     [] {
       TriangleSoup soup = samples::octahedron(0.01);
       samples::append(samples::octahedron(0.01), Vec3(0.02, 0.0, 0.0), soup);
       return soup;
     }},
    {"edge_to_edge",
     [] {
       TriangleSoup soup = samples::box(Vec3(0.01, 0.01, 0.01));
       samples::append(samples::box(Vec3(0.01, 0.01, 0.01)), Vec3(0.02, 0.02, 0.0), soup);
       return soup;
     }},
    {"overlapping",
     [] {
       TriangleSoup soup = samples::sphere(0.012, 12);
       samples::append(samples::box(Vec3(0.01, 0.006, 0.006)), Vec3(0.01, 0.003, 0.001), soup);
       return soup;
     }},
    {"needle", [] { return samples::box(Vec3(0.03, 0.001, 0.001)); }},
};

Vec3 random_point(Random& random, const Aabb& box, double around) {
  const Vec3 half = 0.5 * (box.upper - box.lower) + Vec3::Constant(around), middle = 0.5 * (box.upper + box.lower);
  return middle +
         half.cwiseProduct(Vec3(random.uniform(-1.0, 1.0), random.uniform(-1.0, 1.0), random.uniform(-1.0, 1.0)));
}

class NastyMesh : public testing::TestWithParam<Nasty> {};

TEST_P(NastyMesh, TreeGivesTheDistancesAndWindingNumbersOfAllTriangles) {
  const TriangleSoup soup = GetParam().make();
  const DistanceOracle oracle(soup);
  const MeshDistance mesh(soup);
  DistanceWalker walker(mesh);
  Random random(5);
  for (int k = 0; k < 1000; ++k) {
    const Vec3 p = random_point(random, mesh.box(), 0.003);
    const double d = oracle.distance(p), winding = oracle.winding(p);
    EXPECT_NEAR(mesh.distance(p), d, 1e-12);
    EXPECT_NEAR(mesh.winding(p), winding, 0.05) << p.transpose();  // groups as dipoles, from 3 radii on
    EXPECT_NEAR(walker.at(p), winding > 0.5 ? -d : d, 1e-12) << p.transpose();
  }
}

TEST_P(NastyMesh, GridHasTheRightSideAndDistance) {
  const TriangleSoup soup = GetParam().make();
  const DistanceOracle oracle(soup);
  const double cell = 4e-4;
  const SdfPtr sdf = make_grid_sdf(soup, {cell});
  Random random(6);
  int near = 0;
  for (int k = 0; k < 3000; ++k) {
    const Vec3 p = random_point(random, sdf->bounds(), 0.004);
    const double d = oracle.distance(p), phi = sdf->value(p);
    // An edge is rounded over a cell: the distance is off by half a cell at most, also where nearest points change.
    if (d > 0.5 * cell) {
      EXPECT_EQ(phi<0.0, oracle.winding(p)> 0.5) << p.transpose() << " d " << d << " phi " << phi;
    }
    EXPECT_LE(std::abs(phi), d + 0.5 * cell) << p.transpose();
    if (std::abs(phi) < 3.0 * cell && d < 3.0 * cell) {
      EXPECT_NEAR(std::abs(phi), d, 0.5 * cell) << p.transpose();
      ++near;
    }
  }
  EXPECT_GT(near, 100);
}

INSTANTIATE_TEST_SUITE_P(Meshes, NastyMesh, testing::ValuesIn(kNasty),
                         [](const auto& mesh) { return std::string(mesh.param.name); });

// ---- Accuracy ----

TEST(GridSdf, FlatFacesAreExactAwayFromEdges) {
  const SdfPtr sdf = make_grid_sdf(samples::box(Vec3(0.02, 0.02, 0.02)), {1e-3});
  Random random(2);
  for (int k = 0; k < 500; ++k) {
    const double height = random.uniform(-2.5e-3, 2.5e-3);
    const Vec3 p(random.uniform(-0.015, 0.015), random.uniform(-0.015, 0.015), 0.02 + height);
    const SdfSample s = sdf->sample(p);
    EXPECT_NEAR(s.d, height, 2e-9);  // nodes are kept in single precision
    EXPECT_LT((s.g - Vec3::UnitZ()).norm(), 1e-5);
  }
}

/// Largest errors of value and normal within a cell of a sphere.
std::pair<double, double> measure_sphere(double radius, const TriangleSoup& mesh, double cell) {
  const SdfPtr sdf = make_grid_sdf(mesh, {cell});
  Random random(3);
  double value = 0.0, normal = 0.0;
  for (int k = 0; k < 4000; ++k) {
    const Vec3 n = Vec3(random.uniform(-1.0, 1.0), random.uniform(-1.0, 1.0), random.uniform(-1.0, 1.0)).normalized();
    const double height = random.uniform(-cell, cell);
    const SdfSample s = sdf->sample((radius + height) * n);
    value = std::max(value, std::abs(s.d - height));
    normal = std::max(normal, (s.g - n).norm());
  }
  return {value, normal};
}

TEST(GridSdf, ErrorsOnCurvedSurfacesFallWithTheThirdPowerOfTheCell) {
  const double radius = 0.02;
  const TriangleSoup mesh = samples::sphere(radius, 200);  // 0.6 µm off the sphere
  const auto [coarse, coarse_normal] = measure_sphere(radius, mesh, 6e-3);
  const auto [fine, fine_normal] = measure_sphere(radius, mesh, 3e-3);
  RecordProperty("errors", std::to_string(coarse) + " " + std::to_string(fine));
  EXPECT_GT(coarse, 7.0 * fine);                // between the third and the fourth power
  EXPECT_GT(coarse_normal, 3.5 * fine_normal);  // the second
  EXPECT_LT(fine, 1e-3 * 3e-3);
  EXPECT_LT(fine_normal, 5e-3);
}

TEST(GridSdf, FarValuesAreBoundsAndNotWorthless) {
  const TriangleSoup soup = samples::knot(0.006, 0.004, 96, 16);
  const DistanceOracle oracle(soup);
  const double cell = 5e-4;
  const SdfPtr sdf = make_grid_sdf(soup, {cell});
  Random random(4);
  for (int k = 0; k < 2000; ++k) {
    const Vec3 p = random_point(random, sdf->bounds(), 0.05);
    const double d = oracle.distance(p), phi = std::abs(sdf->value(p));
    EXPECT_LE(phi, d + 0.1 * cell) << p.transpose();
    EXPECT_GE(phi, std::min(d, 3.0 * cell) - 0.1 * cell) << p.transpose();
    // Between corners of blocks √3/2 of a block's edge is lost; beyond the box √(a² + f²) >= (a + f) / √2.
    EXPECT_GE(phi, (d - 8.0 * cell) / std::sqrt(2.0)) << p.transpose();
    EXPECT_NEAR(sdf->sample(p).g.norm(), 1.0, 1e-12);
  }
}

TEST(GridSdf, KeepsLittleOfWhatLiesFarFromTheSurface) {
  const SdfGrid grid = make_grid(samples::sphere(0.05, 24), {1e-1 / 128.0});
  const double dense = std::pow(128.0, 3.0) * sizeof(double);
  EXPECT_LT(static_cast<double>(grid.bytes()), 0.5 * dense);
  EXPECT_LT(grid.surface_error, 0.1 * grid.cell);
}

TEST(GridSdf, SurfaceIsTheMeshCutToSize) {
  const TriangleSoup box = samples::box(Vec3(0.02, 0.02, 0.02));
  const SdfPtr sdf = make_grid_sdf(box, {1e-3});
  TriangleSoup whole, cut;
  sdf->add_surface({}, whole);
  sdf->add_surface({5e-3, 0.0}, cut);
  EXPECT_EQ(whole.triangles.size(), box.triangles.size());
  double area = 0.0;
  for (const auto& [i, j, k] : cut.triangles) {
    const Vec3 &a = cut.vertices[i], &b = cut.vertices[j], &c = cut.vertices[k];
    EXPECT_LT((b - a).norm(), 5.1e-3);
    area += 0.5 * (b - a).cross(c - a).norm();
  }
  EXPECT_NEAR(area, 6.0 * 0.04 * 0.04, 1e-12);
}

TEST(GridSdf, ProgressGoesFromNoneToAll) {
  std::vector<double> shares;
  static_cast<void>(make_grid(samples::octahedron(0.02), {5e-4}, [&](double share) { shares.push_back(share); }));
  ASSERT_GT(shares.size(), 4U);
  EXPECT_TRUE(std::is_sorted(shares.begin(), shares.end()));
  EXPECT_EQ(shares.front(), 0.0);
  EXPECT_EQ(shares.back(), 1.0);
}

// ---- What is refused ----

void expect_refused(const TriangleSoup& soup, const GridOptions& options, const char* words) {
  try {
    static_cast<void>(make_grid(soup, options));
    ADD_FAILURE() << "accepted, expected: " << words;
  } catch (const Error& error) {
    EXPECT_NE(std::string(error.what()).find(words), std::string::npos) << error.what();
  }
}

TEST(GridSdf, RefusesWhatIsNoSolid) {
  TriangleSoup open = samples::octahedron(0.02);
  open.triangles.pop_back();
  expect_refused(open, {}, "the mesh is open: 3 edges have no partner");
  expect_refused(samples::turned_round(samples::octahedron(0.02)), {}, "the mesh is inside out");
  expect_refused({}, {}, "no triangles");
  TriangleSoup wild = samples::octahedron(0.02);
  wild.triangles[3][1] = 77;
  expect_refused(wild, {}, "names vertex 77");
  expect_refused(samples::octahedron(0.02), {-1.0}, "the cell is -1 m");
  expect_refused(samples::octahedron(0.02), {1e-3, kNaN}, "the band is nan m");
  expect_refused(samples::octahedron(0.02), {1e-7}, "a larger cell");
}

}  // namespace
}  // namespace almond
