#include "almond/model/grid_build.hpp"

#include <algorithm>
#include <cmath>

#include "almond/base/check.hpp"
#include "almond/base/parallel.hpp"
#include "almond/model/mesh_distance.hpp"

namespace almond {
namespace {

constexpr int kBlock = SdfGrid::kBlock, kSide = SdfGrid::kSide, kOwn = kBlock * kBlock * kBlock;
constexpr double kMaxBlocks = 16e6;       // of the table: 2000³ cells
constexpr std::size_t kMaxNear = 400000;  // blocks with values: 1.6 GB
constexpr int kChunk = 256;               // blocks of a worker between two reports

constexpr double kRelaxed = 0.05;  // share by which far bounds may be less for being found sooner

using Index = std::array<int, 3>;

/// Runs f(i) for all i, and says between chunks how far it is, `from` to `to`.
template <class F>
void for_all(WorkerPool& pool, int count, double from, double to, const GridProgress& progress, F f) {
  const int chunk = kChunk * pool.num_workers();
  for (int begin = 0; begin < count; begin += chunk) {
    if (progress) progress(from + (to - from) * begin / count);
    pool.for_ranges(std::min(count - begin, chunk), [&](int first, int last, int) {
      for (int i = begin + first; i < begin + last; ++i) f(i);
    });
  }
}

class Builder {
 public:
  Builder(const MeshDistance& mesh, SdfGrid& grid) : mesh_(mesh), grid_(grid), most_(grid.most()) {}

  /// Whether the surface comes within the band of a block: asked for its eight parts, each in a ball.
  void classify(int block) {
    const double edge = kBlock * grid_.cell, reach = 0.5 * std::sqrt(3.0) * edge;
    const Vec3 lower = corner(place(block, grid_.blocks));
    DistanceWalker walker(mesh_, grid_.band + 2.0 * reach);
    const double d = walker.at(lower + Vec3::Constant(0.5 * edge));
    grid_.table[block] = d < 0.0 ? SdfGrid::kInside : SdfGrid::kOutside;
    if (std::abs(d) > grid_.band + reach) return;
    for (int part = 0; part < 8 && grid_.table[block] < 0; ++part) {
      const Vec3 center =
          lower + edge * Vec3(0.25 + 0.5 * (part & 1), 0.25 + 0.5 * (part >> 1 & 1), 0.25 + 0.5 * (part >> 2));
      if (std::abs(walker.at(center)) <= grid_.band + 0.5 * reach) grid_.table[block] = 0;
    }
  }

  /// Linear interpolation between corners a distance H apart lies above the distance d by at most √3/2 H, because d
  /// changes no faster than the point moves, and by at most H²/(4 d), because second derivatives add up to at most 2/d.
  void bound_corner(int number) {
    const Index i = place(number, {grid_.blocks[0] + 1, grid_.blocks[1] + 1, grid_.blocks[2] + 1});
    const double edge = kBlock * grid_.cell, diagonal = std::sqrt(3.0) * edge;
    int any = 0;
    const double d = mesh_.distance(corner(i), kInfinity, kRelaxed, any), least = d - diagonal;  // in all blocks around
    const double above = std::min(0.5 * diagonal, least > 0.0 ? 0.25 * edge * edge / least : kInfinity);
    grid_.far[number] = static_cast<float>(std::max(d - above, 0.0));
  }

  /// Refuses far too many blocks at the surface after a look at some of all, which would take long.
  void check_some() {
    constexpr int kSamples = 1 << 14;
    constexpr double kSure = 1.25, kGolden = 0.6180339887498949;
    const auto blocks = static_cast<double>(grid_.table.size());
    if (blocks <= kSure * kMaxNear) return;
    int near = 0;
    for (int i = 0; i < kSamples; ++i) {
      const int block = static_cast<int>(std::fmod(i * kGolden, 1.0) * blocks);
      classify(block);
      if (grid_.table[block] >= 0) ++near;
    }
    const double guess = blocks * near / kSamples;
    if (guess > kSure * kMaxNear) refuse_near("about " + to_text(guess));
  }

  void number_blocks() {
    for (std::size_t b = 0; b < grid_.table.size(); ++b)
      if (grid_.table[b] >= 0) {
        grid_.table[b] = static_cast<int>(near_.size());
        near_.push_back(static_cast<int>(b));
      }
    if (near_.size() > kMaxNear) refuse_near(std::to_string(near_.size()));
    nodes_.resize(near_.size() * kOwn);
    grid_.values.assign(near_.size() * SdfGrid::kBlockValues + 1, 0.0F);
  }
  [[nodiscard]] int num_near() const { return static_cast<int>(near_.size()); }

  void measure_nodes(int number) {
    DistanceWalker walker(mesh_, most_);
    const Index first = first_node(number);
    float* out = nodes_.data() + static_cast<std::size_t>(number) * kOwn;
    for (int i = 0; i < kOwn; ++i) {
      const Index local = snake(i);
      out[index(local, kBlock)] = static_cast<float>(walker.at(node(first, local)));
    }
  }

  /// c = f - Δf / 8 for the block's nodes and one more on each side; f of two more come from the blocks around.
  void filter(int number) {
    constexpr int kWide = kSide + 2, kStep[3] = {1, kWide, kWide * kWide};
    std::array<double, kWide * kWide * kWide> f;
    const Index first = first_node(number);
    DistanceWalker walker(mesh_, most_);
    for (int i = 0; i < static_cast<int>(f.size()); ++i) {
      const Index at = place(i, {kWide, kWide, kWide}), local{at[0] - 2, at[1] - 2, at[2] - 2};
      const float* known = find_node({first[0] + local[0], first[1] + local[1], first[2] + local[2]});
      f[i] = known != nullptr ? *known : static_cast<float>(walker.at(node(first, local)));
    }
    float* out = grid_.values.data() + static_cast<std::size_t>(number) * SdfGrid::kBlockValues;
    for (int i = 0; i < SdfGrid::kBlockValues; ++i) {
      const Index at = place(i, {kSide, kSide, kSide});
      const int c = index({at[0] + 1, at[1] + 1, at[2] + 1}, kWide);
      double sum = -6.0 * f[c];
      for (const int step : kStep) sum += f[c - step] + f[c + step];
      out[i] = static_cast<float>(f[c] - 0.125 * sum);
    }
  }

 private:
  [[noreturn]] void refuse_near(const std::string& count) const {
    throw Error("grid: " + count + " blocks of 8³ cells of " + to_text(grid_.cell) +
                " m lie at the surface, expected at most " + std::to_string(kMaxNear) +
                ": a larger cell or a smaller band");
  }
  static Index place(int i, const Index& size) { return {i % size[0], i / size[0] % size[1], i / size[0] / size[1]}; }
  static int index(const Index& i, int size) { return i[0] + size * (i[1] + size * i[2]); }
  /// A way through a block's nodes on which each is next to the one before.
  static Index snake(int i) {
    const int z = i / (kBlock * kBlock), row = i / kBlock, y = row % kBlock;
    return {row % 2 == 0 ? i % kBlock : kBlock - 1 - i % kBlock, z % 2 == 0 ? y : kBlock - 1 - y, z};
  }
  /// The lower corner of a block: half a cell before its first node.
  [[nodiscard]] Vec3 corner(const Index& i) const {
    return grid_.origin + grid_.cell * (kBlock * Vec3(i[0], i[1], i[2]) - Vec3::Constant(0.5));
  }
  [[nodiscard]] Index first_node(int number) const {
    const Index i = place(near_[number], grid_.blocks);
    return {kBlock * i[0], kBlock * i[1], kBlock * i[2]};
  }
  [[nodiscard]] Vec3 node(const Index& first, const Index& local) const {
    return grid_.origin + grid_.cell * Vec3(first[0] + local[0], first[1] + local[1], first[2] + local[2]);
  }
  [[nodiscard]] const float* find_node(const Index& i) const {
    Index block, local;
    for (int k = 0; k < 3; ++k) {
      if (i[k] < 0 || i[k] >= kBlock * grid_.blocks[k]) return nullptr;
      block[k] = i[k] / kBlock;
      local[k] = i[k] % kBlock;
    }
    const int number = grid_.table[block[0] + grid_.blocks[0] * (block[1] + grid_.blocks[1] * block[2])];
    return number < 0 ? nullptr : nodes_.data() + static_cast<std::size_t>(number) * kOwn + index(local, kBlock);
  }

  const MeshDistance& mesh_;
  SdfGrid& grid_;
  const double most_;         // what nodes are cut off at [m]
  std::vector<int> near_;     // blocks with values, in the order of their numbers
  std::vector<float> nodes_;  // (near * kOwn) signed distances [m]
};

/// Cells, band, and blocks that hold the mesh and its band.
SdfGrid lay_out(const Aabb& box, const GridOptions& options) {
  SdfGrid grid;
  const Vec3 extent = box.upper - box.lower;
  require(std::isfinite(options.cell) && options.cell >= 0.0,
          "grid: the cell is " + to_text(options.cell) + " m, expected finite and > 0, or 0 for one that fits");
  require(std::isfinite(options.band) && options.band >= 0.0,
          "grid: the band is " + to_text(options.band) + " m, expected finite and >= 0");
  grid.cell = options.cell > 0.0 ? options.cell : extent.maxCoeff() / GridOptions::kDefaultCells;
  grid.band = std::max(options.band > 0.0 ? options.band : 3.0 * grid.cell, 2.0 * grid.cell);
  require(grid.cell <= 0.5 * extent.maxCoeff(), "grid: the cell is " + to_text(grid.cell) +
                                                    " m, expected at most half the longest extent of the mesh, " +
                                                    to_text(0.5 * extent.maxCoeff()) + " m");
  const auto count_blocks = [&](double band) {
    double total = 1.0;
    for (int k = 0; k < 3; ++k) {
      const double count = std::ceil((extent[k] + 2.0 * band) / (kBlock * grid.cell));
      total *= count + 1.0;
      grid.blocks[k] = static_cast<int>(std::min(count, kMaxBlocks));
    }
    return total;
  };
  const double least = count_blocks(3.0 * grid.cell), total = count_blocks(grid.band);
  const std::string most = " blocks of 8³ cells in the mesh's box, expected at most " + to_text(kMaxBlocks);
  require(least <= kMaxBlocks,
          "grid: a cell of " + to_text(grid.cell) + " m makes " + to_text(least) + most + ": a larger cell");
  require(total <= kMaxBlocks,
          "grid: a band of " + to_text(grid.band) + " m makes " + to_text(total) + most + ": a smaller band");
  const Vec3 count(grid.blocks[0], grid.blocks[1], grid.blocks[2]);
  grid.origin = 0.5 * (box.lower + box.upper) - 0.5 * grid.cell * (kBlock * count - Vec3::Ones());
  return grid;
}

}  // namespace

SdfGrid build_grid(const TriangleSoup& soup, const GridOptions& options, const GridProgress& progress) {
  const MeshDistance mesh(soup);
  SdfGrid grid = lay_out(mesh.box(), options);
  const int blocks = grid.blocks[0] * grid.blocks[1] * grid.blocks[2];
  const int corners = (grid.blocks[0] + 1) * (grid.blocks[1] + 1) * (grid.blocks[2] + 1);
  grid.table.resize(static_cast<std::size_t>(blocks));
  grid.far.resize(static_cast<std::size_t>(corners));
  WorkerPool pool(options.workers);
  Builder builder(mesh, grid);
  builder.check_some();
  for_all(pool, blocks, 0.0, 0.1, progress, [&](int i) { builder.classify(i); });
  for_all(pool, corners, 0.1, 0.2, progress, [&](int i) { builder.bound_corner(i); });
  builder.number_blocks();
  for_all(pool, builder.num_near(), 0.2, 0.6, progress, [&](int i) { builder.measure_nodes(i); });
  for_all(pool, builder.num_near(), 0.6, 0.9, progress, [&](int i) { builder.filter(i); });
  return grid;
}

}  // namespace almond
