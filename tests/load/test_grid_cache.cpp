// Grids kept on disk come back bit for bit, are told apart by mesh, cell and band, and any entry that is damaged is
// passed over and mended.

#include <cstdlib>

#include "almond/load/grid_cache.hpp"
#include "load/load_fixture.hpp"
#include "load/robot_samples.hpp"
#include "model/mesh_samples.hpp"

namespace almond::testing {
namespace {

namespace fs = std::filesystem;

class GridCache : public FolderTest {
 protected:
  void SetUp() override {
    FolderTest::SetUp();
    ::setenv("ALMOND_CACHE_DIR", path("cache").c_str(), 1);
  }
  void TearDown() override {
    ::setenv("ALMOND_CACHE_DIR", "off", 1);
    FolderTest::TearDown();
  }
  /// Whether the grid was made anew.
  bool made(const GridOptions& options) {
    bool called = false;
    grid = find_grid(mesh, options, [&](double) { called = true; });
    return called;
  }
  [[nodiscard]] std::vector<std::string> entries() const {
    std::vector<std::string> names;
    std::error_code code;
    for (const auto& entry : fs::directory_iterator(path("cache/grids"), code)) names.push_back(entry.path().string());
    return names;
  }
  static void expect_same(const SdfGrid& a, const SdfGrid& b) {
    EXPECT_TRUE(same_values(a.origin, b.origin));
    EXPECT_TRUE(same_bits(a.cell, b.cell) && same_bits(a.band, b.band));
    EXPECT_TRUE(same_bits(a.slack, b.slack) && same_bits(a.lost, b.lost) &&
                same_bits(a.surface_error, b.surface_error));
    EXPECT_EQ(a.blocks, b.blocks);
    EXPECT_EQ(a.table, b.table);
    EXPECT_EQ(a.values, b.values);
    EXPECT_EQ(a.far, b.far);
  }

  TriangleSoup mesh = samples::octahedron(0.02);
  std::shared_ptr<const SdfGrid> grid;
};

TEST_F(GridCache, SecondGridIsTheFirstBitForBit) {
  EXPECT_TRUE(made({2e-3}));
  const SdfGrid first = *grid;
  EXPECT_EQ(entries().size(), 1U);
  EXPECT_FALSE(made({2e-3}));
  expect_same(*grid, first);
  expect_same(*grid, make_grid(mesh, {2e-3}));
  EXPECT_FALSE(made({2e-3, 0.0, 2}));  // threads make no difference
  EXPECT_TRUE(made({3e-3}));
  EXPECT_TRUE(made({2e-3, 1e-2}));
  mesh.vertices[0].x() += 1e-9;
  EXPECT_TRUE(made({2e-3}));
  EXPECT_EQ(entries().size(), 4U);
}

TEST_F(GridCache, DamagedEntriesAreMadeAnew) {
  EXPECT_TRUE(made({4e-3}));
  const std::string file = entries().at(0), good = read_file(file);
  const SdfGrid first = *grid;
  for (std::size_t at = 0; at < good.size(); at += 1 + good.size() / 40) {
    std::string bad = good;
    bad[at] = static_cast<char>(bad[at] ^ 1 << at % 8);
    write_file(file, bad);
    EXPECT_TRUE(made({4e-3})) << at;
    write_file(file, good.substr(0, at));
    EXPECT_TRUE(made({4e-3})) << at;
    expect_same(*grid, first);
  }
  EXPECT_EQ(read_file(file), good);
  EXPECT_FALSE(made({4e-3}));
}

TEST_F(GridCache, NothingIsKeptWhereItIsTurnedOff) {
  ::setenv("ALMOND_CACHE_DIR", "off", 1);
  EXPECT_TRUE(made({4e-3}));
  EXPECT_TRUE(made({4e-3}));
  EXPECT_TRUE(entries().empty());
}

TEST_F(GridCache, MeshFilesSayWhatBecameOfThem) {
  write_file(path("box.stl"), SampleBox().stl_text());
  FileNotes notes;
  const SdfPtr sdf = load_grid_sdf(path("box.stl"), Vec3::Constant(0.01), {5e-4}, notes);
  EXPECT_LT(sdf->value(Vec3(0.005, 0.005, 0.005)), 0.0);
  ASSERT_FALSE(notes.said.empty());
  EXPECT_EQ(notes.said.back().rfind("mesh \"box.stl\": 12 triangles as distances on cells of 0.5 mm", 0), 0U)
      << notes.said.back();
  notes = {};
  static_cast<void>(load_grid_sdf(path("box.stl"), Vec3(0.1, 0.1, 1e-4), {5e-3}, notes));
  EXPECT_NE(notes.said.back().find("walls thinner than the cell are lost"), std::string::npos) << notes.said.back();
}

}  // namespace
}  // namespace almond::testing
