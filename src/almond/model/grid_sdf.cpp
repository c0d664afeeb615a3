#include "almond/model/grid_sdf.hpp"

#include <Eigen/Geometry>
#include <algorithm>
#include <cmath>

#include "almond/base/check.hpp"
#include "almond/model/grid_build.hpp"
#include "almond/model/sdf_surface.hpp"

namespace almond {
namespace {

using Vec4f = Eigen::Array4f;
using Array4 = Eigen::Array4d;

/// Weights of the nodes b - 1, b, b + 1 at b + t, -1/2 <= t <= 1/2, and their derivatives. The fourth is no node.
struct Weights {
  Array4 w, dw;
  explicit Weights(double t)
      : w(0.5 * (0.5 - t) * (0.5 - t), 0.75 - t * t, 0.5 * (0.5 + t) * (0.5 + t), 0.0),
        dw(t - 0.5, -2.0 * t, t + 0.5, 0.0) {}
};

class GridSdf final : public Sdf {
 public:
  GridSdf(std::shared_ptr<const SdfGrid> grid, TriangleSoup mesh) : grid_(std::move(grid)), mesh_(std::move(mesh)) {
    for (const auto& triangle : mesh_.triangles)
      for (const int v : triangle) box_.add(mesh_.vertices[static_cast<std::size_t>(v)]);
    const Vec3 half = Vec3::Constant(0.5 * grid_->cell);
    const Vec3 count(grid_->blocks[0], grid_->blocks[1], grid_->blocks[2]);
    lower_ = grid_->origin - half;
    upper_ = lower_ + SdfGrid::kBlock * grid_->cell * count;
  }

  using Sdf::sample;
  void sample(SdfBlock& b) const override {
    for (int i = 0; i < b.count; ++i) {
      const Vec3 x = b.point(i), p = x.cwiseMax(lower_).cwiseMin(upper_);
      Vec3 g;
      double d = sample_inside(p, g);
      const Vec3 beyond = x - p;
      if (!beyond.isZero(0.0)) {
        // The solid is in the box and p the box's nearest point: |x - s|² >= |x - p|² + |p - s|² for all s of the
        // solid.
        for (int k = 0; k < 3; ++k) g[k] = beyond[k] == 0.0 ? d * g[k] : beyond[k];
        d = std::sqrt(d * d + beyond.squaredNorm());
      }
      const double length = g.norm();
      if (length > 0.0) {
        g /= length;
      } else {
        g = Vec3::UnitZ();
      }
      b.d[i] = d;
      b.gx[i] = g.x();
      b.gy[i] = g.y();
      b.gz[i] = g.z();
    }
  }
  /// φ and ∇φ in the grid's box.
  [[nodiscard]] double sample_inside(const Vec3& p, Vec3& g) const {
    constexpr int kBlock = SdfGrid::kBlock;
    const SdfGrid& grid = *grid_;
    const Vec3 u = (p - lower_) / grid.cell;  // node i answers for i <= u < i + 1
    int node[3], block[3];
    for (int k = 0; k < 3; ++k) {
      node[k] = std::min(static_cast<int>(u[k]), kBlock * grid.blocks[k] - 1);
      block[k] = node[k] / kBlock;
    }
    const int number = grid.table[block[0] + grid.blocks[0] * (block[1] + grid.blocks[1] * block[2])];
    if (number < 0) return sample_far(u / kBlock, block, number == SdfGrid::kInside ? -grid.band : grid.band, g);
    constexpr int kSide = SdfGrid::kSide;
    const float* corner = grid.values.data() + static_cast<std::size_t>(number) * SdfGrid::kBlockValues +
                          (node[0] % kBlock) + kSide * ((node[1] % kBlock) + kSide * (node[2] % kBlock));
    const Weights x(u[0] - node[0] - 0.5), y(u[1] - node[1] - 0.5), z(u[2] - node[2] - 0.5);
    Array4 rows = Array4::Zero(), rows_y = rows, rows_z = rows;
    for (int k = 0; k < 3; ++k)
      for (int j = 0; j < 3; ++j) {
        const Array4 row = Eigen::Map<const Vec4f>(corner + kSide * (j + kSide * k)).cast<double>();
        rows += (y.w[j] * z.w[k]) * row;
        rows_y += (y.dw[j] * z.w[k]) * row;
        rows_z += (y.w[j] * z.dw[k]) * row;
      }
    g = Vec3((rows * x.dw).sum(), (rows_y * x.w).sum(), (rows_z * x.w).sum()) / grid.cell;
    const double d = (rows * x.w).sum();
    return std::abs(d) < grid.band + grid.cell ? d : sample_far(u / kBlock, block, d, g);
  }

  [[nodiscard]] Aabb bounds() const override { return box_; }
  [[nodiscard]] bool exact() const override { return false; }
  [[nodiscard]] double slack() const override { return std::max(grid_->slack, 1e-9); }
  [[nodiscard]] std::string name() const override { return "grid"; }
  void add_surface(const SurfaceOptions& options, TriangleSoup& soup) const override {
    for (const auto& [i, j, k] : mesh_.triangles)
      add_triangle(mesh_.vertices[i], mesh_.vertices[j], mesh_.vertices[k], options, soup);
  }

 private:
  /// At least what is known, on the same side; linear between the block's corners, with that gradient. u in blocks.
  double sample_far(const Vec3& u, const int block[3], double known, Vec3& g) const {
    const int nx = grid_->blocks[0] + 1, ny = grid_->blocks[1] + 1;
    const float* f = grid_->far.data() + block[0] + nx * (block[1] + static_cast<std::ptrdiff_t>(ny) * block[2]);
    const double tx = u[0] - block[0], ty = u[1] - block[1], tz = u[2] - block[2];
    double d = 0.0;
    g.setZero();
    for (int k = 0; k < 2; ++k)
      for (int j = 0; j < 2; ++j)
        for (int i = 0; i < 2; ++i) {
          const double wx = i == 1 ? tx : 1.0 - tx, wy = j == 1 ? ty : 1.0 - ty, wz = k == 1 ? tz : 1.0 - tz;
          const double v = f[i + nx * (j + static_cast<std::ptrdiff_t>(ny) * k)];
          d += wx * wy * wz * v;
          g += v * Vec3((2 * i - 1) * wy * wz, (2 * j - 1) * wx * wz, (2 * k - 1) * wx * wy);
        }
    g *= std::copysign(1.0 / (SdfGrid::kBlock * grid_->cell), known);
    return std::copysign(std::max(d, std::abs(known)), known);
  }

  std::shared_ptr<const SdfGrid> grid_;
  TriangleSoup mesh_;
  Aabb box_;
  Vec3 lower_, upper_;  // of the grid
};

/// The largest |∇φ| within the band, at the nodes and between them, and the largest |φ| on the mesh.
void measure(const TriangleSoup& mesh, SdfGrid& grid) {
  const auto shared = std::make_shared<const SdfGrid>(std::move(grid));
  const GridSdf sdf(shared, mesh);
  double steepest = 1.0, error = 0.0;
  Vec3 g;
  constexpr int kBlock = SdfGrid::kBlock;
  for (std::size_t b = 0; b < shared->table.size(); ++b) {
    if (shared->table[b] < 0) continue;
    const int n = static_cast<int>(b), nx = shared->blocks[0], ny = shared->blocks[1];
    const Vec3 first = kBlock * Vec3(n % nx, n / nx % ny, n / nx / ny);
    for (int i = 0; i < 2 * kBlock * kBlock * kBlock; ++i) {
      const Vec3 node(i / 2 % kBlock, i / 2 / kBlock % kBlock, i / 2 / kBlock / kBlock);
      const Vec3 p = shared->origin + shared->cell * (first + node + Vec3::Constant(i % 2 == 0 ? 0.0 : 0.499));
      if (std::abs(sdf.sample_inside(p, g)) < shared->band) steepest = std::max(steepest, g.squaredNorm());
    }
  }
  double area = 0.0, lost = 0.0;
  for (const auto& [i, j, k] : mesh.triangles) {
    const Vec3 &a = mesh.vertices[i], &b = mesh.vertices[j], &c = mesh.vertices[k];
    for (const Vec3& p : {a, b, c, Vec3((a + b + c) / 3.0)})  // the centre last: g is that there
      error = std::max(error, std::abs(sdf.sample_inside(p, g)));
    const Vec3 n = (b - a).cross(c - a);
    area += n.norm();
    if (g.dot(n) < 0.5 * n.norm()) lost += n.norm();
  }
  grid = *shared;
  grid.slack = std::sqrt(steepest) - 1.0;
  grid.surface_error = error;
  grid.lost = lost / area;
}

}  // namespace

SdfGrid make_grid(const TriangleSoup& closed_mesh, const GridOptions& options, const GridProgress& progress) {
  SdfGrid grid = build_grid(closed_mesh, options, progress);
  measure(closed_mesh, grid);
  if (progress) progress(1.0);
  return grid;
}

SdfPtr make_grid_sdf(std::shared_ptr<const SdfGrid> grid, TriangleSoup mesh) {
  require(grid != nullptr, "grid: there is none");
  return std::make_shared<GridSdf>(std::move(grid), std::move(mesh));
}

SdfPtr make_grid_sdf(const TriangleSoup& closed_mesh, const GridOptions& options, const GridProgress& progress) {
  return make_grid_sdf(std::make_shared<const SdfGrid>(make_grid(closed_mesh, options, progress)), closed_mesh);
}

}  // namespace almond
