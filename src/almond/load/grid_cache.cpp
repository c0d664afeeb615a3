#include "almond/load/grid_cache.hpp"

#include <algorithm>
#include <cmath>
#include <filesystem>

#include "almond/base/text.hpp"
#include "almond/load/disk_cache.hpp"
#include "almond/load/mesh_file.hpp"

namespace almond {
namespace {

// Part of every key. To be raised with any change of what make_grid answers.
constexpr const char* kVersion = "almond grid 1";
constexpr DiskCache kCache{
    .name = "grids", .ending = ".grid", .magic = "almondG1", .most_entry = 256U << 20U, .most_total = 1U << 30U};

constexpr double kLost = 0.01;  // share of the surface worth a word

std::string content_of(const TriangleSoup& mesh) {
  std::string out;
  put_all(out, mesh.vertices);
  put_all(out, mesh.triangles);
  return out;
}

std::string to_bytes(const SdfGrid& grid) {
  std::string out;
  for (const double x : {grid.origin.x(), grid.origin.y(), grid.origin.z(), grid.cell, grid.band, grid.slack,
                         grid.surface_error, grid.lost})
    put(out, x);
  put(out, grid.blocks);
  put_all(out, grid.table);
  put_all(out, grid.values);
  put_all(out, grid.far);
  return out;
}

bool all_finite(const std::vector<float>& values) {
  return std::all_of(values.begin(), values.end(), [](float x) { return std::isfinite(x); });
}

/// Throws Error for what would be read out of bounds.
SdfGrid from_bytes(const std::string& bytes) {
  Cutter cutter{bytes};
  SdfGrid grid;
  for (double& x : grid.origin) x = cutter.take<double>();
  for (double* x : {&grid.cell, &grid.band, &grid.slack, &grid.surface_error, &grid.lost}) {
    *x = cutter.take<double>();
    require(std::isfinite(*x) && *x >= 0.0, "length");
  }
  require(grid.origin.allFinite() && grid.cell > 0.0, "place");
  grid.blocks = cutter.take<std::array<int, 3>>();
  cutter.take_all(grid.table);
  cutter.take_all(grid.values);
  cutter.take_all(grid.far);
  double blocks = 1.0, corners = 1.0;
  for (const int n : grid.blocks) {
    require(n > 0, "blocks");
    blocks *= n;
    corners *= n + 1.0;
  }
  const auto numbered = static_cast<int>(grid.values.size() / SdfGrid::kBlockValues);
  require(cutter.rest.empty() && static_cast<double>(grid.table.size()) == blocks &&
              static_cast<double>(grid.far.size()) == corners && grid.values.size() % SdfGrid::kBlockValues == 1,
          "size");
  for (const int number : grid.table) require(number >= SdfGrid::kInside && number < numbered, "number");
  require(all_finite(grid.values) && all_finite(grid.far), "value");
  return grid;
}

}  // namespace

std::shared_ptr<const SdfGrid> find_grid(const TriangleSoup& mesh, const GridOptions& options,
                                         const GridProgress& progress) {
  const bool keep = !cache_folder(kCache).empty();
  const std::string key = keep ? cache_key(kVersion, "mesh", content_of(mesh), {options.cell, options.band}) : "";
  if (keep) {
    try {
      if (const std::optional<std::string> bytes = read_entry(kCache, key))
        return std::make_shared<const SdfGrid>(from_bytes(*bytes));
    } catch (const std::exception&) {  // no grid made here
    }
  }
  auto grid = std::make_shared<const SdfGrid>(make_grid(mesh, options, progress));
  if (keep) write_entry(kCache, key, to_bytes(*grid));
  return grid;
}

SdfPtr load_grid_sdf(const std::string& path, const Vec3& scale, const GridOptions& options, FileNotes& notes,
                     const GridProgress& progress, std::size_t* bytes) {
  TriangleSoup mesh = load_mesh(path, scale, notes);
  std::shared_ptr<const SdfGrid> grid;
  try {
    grid = find_grid(mesh, options, progress);
  } catch (const Error& error) {
    throw Error(path + ": " + error.what());
  }
  if (bytes != nullptr) *bytes += grid->bytes();
  const std::string subject = "mesh " + quote(std::filesystem::path(path).filename().string()) + ": ";
  notes.said.push_back(subject + std::to_string(mesh.triangles.size()) + " triangles as distances on cells of " +
                       to_text(1e3 * grid->cell) + " mm, " + to_text(1e-6 * static_cast<double>(grid->bytes())) +
                       " MB; their corners lie up to " + to_text(1e3 * grid->surface_error) + " mm off");
  if (grid->lost > kLost)
    notes.said.push_back(subject + "walls thinner than the cell are lost, " + to_text(100.0 * grid->lost) +
                         " % of the surface; a smaller cell keeps them");
  return make_grid_sdf(std::move(grid), std::move(mesh));
}

}  // namespace almond
