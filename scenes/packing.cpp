#include "scenes/packing.hpp"

#include <algorithm>
#include <cmath>

namespace almond::scenes {
namespace {

/// Spheres sorted into cubic cells of one diameter, so that neighbours are found in 27 cells.
class Cells {
 public:
  Cells(double size, double width) : size_(size), columns_(static_cast<int>(std::ceil(width / size)) + 2) {}

  void fill(const std::vector<Vec3>& centres) {
    for (auto& cell : cells_) cell.clear();
    for (std::size_t i = 0; i < centres.size(); ++i) {
      const std::size_t cell =
          index(coordinate(centres[i].x()), coordinate(centres[i].y()), coordinate(centres[i].z()));
      if (cell >= cells_.size()) cells_.resize(cell + 1);
      cells_[cell].push_back(static_cast<int>(i));
    }
  }

  /// Calls f(j) for each j > i in the cells around sphere i, in a fixed order.
  template <class Function>
  void for_each_after(const Vec3& centre, int i, Function f) const {
    const int x = coordinate(centre.x()), y = coordinate(centre.y()), z = coordinate(centre.z());
    for (int dz = -1; dz <= 1; ++dz)
      for (int dy = -1; dy <= 1; ++dy)
        for (int dx = -1; dx <= 1; ++dx) {
          if (x + dx < 0 || y + dy < 0 || z + dz < 0) continue;
          const std::size_t cell = index(x + dx, y + dy, z + dz);
          if (cell >= cells_.size()) continue;
          for (const int j : cells_[cell])
            if (j > i) f(j);
        }
  }

 private:
  [[nodiscard]] int coordinate(double value) const {
    return std::clamp(static_cast<int>(std::floor(value / size_)) + 1, 0, 1 << 20);
  }
  [[nodiscard]] std::size_t index(int x, int y, int z) const {
    return static_cast<std::size_t>((static_cast<std::int64_t>(z) * columns_ + std::min(y, columns_ - 1)) * columns_ +
                                    std::min(x, columns_ - 1));
  }
  double size_;
  int columns_;
  std::vector<std::vector<int>> cells_;
};

/// Inside the walls and above the floor.
void push_inside(Vec3& centre, double radius, double width) {
  centre.x() = std::clamp(centre.x(), radius, width - radius);
  centre.y() = std::clamp(centre.y(), radius, width - radius);
  centre.z() = std::max(centre.z(), radius);
}

void find_touches(const Cells& cells, double radius, double width, Packing& packing) {
  const double near = 0.01 * radius;
  for (int i = 0; i < static_cast<int>(packing.centres.size()); ++i) {
    const Vec3& c = packing.centres[i];
    const auto wall = [&](double distance, const Vec3& normal) {
      if (distance - radius < near)
        packing.touches.push_back({-1, i, c - distance * normal, normal, distance - radius});
    };
    wall(c.z(), Vec3::UnitZ());
    wall(c.x(), Vec3::UnitX());
    wall(width - c.x(), -Vec3::UnitX());
    wall(c.y(), Vec3::UnitY());
    wall(width - c.y(), -Vec3::UnitY());
    cells.for_each_after(c, i, [&](int j) {
      const Vec3 delta = c - packing.centres[j];
      const double distance = delta.norm();
      if (distance - 2.0 * radius < near)
        packing.touches.push_back({j, i, 0.5 * (c + packing.centres[j]), delta / distance, distance - 2.0 * radius});
    });
  }
}

}  // namespace

Packing pack_spheres(int count, double radius, Random& random) {
  // As wide as the settled heap is high, roughly.
  const double width = 2.0 * radius * std::max(2.0, std::ceil(std::cbrt(0.8 * count)));
  const int columns = std::max(1, static_cast<int>(width / (2.05 * radius)));
  Packing packing;
  for (int i = 0; i < count; ++i) {
    const Vec3 site(i % columns + 0.5, i / columns % columns + 0.5, i / (columns * columns) + 0.5);
    packing.centres.push_back(2.05 * radius * site + 0.3 * radius * random.normal3());
  }
  // Settle: sink a little, then push overlapping pairs apart; the sinking fades out, and so do the overlaps.
  Cells cells(2.0 * radius * 1.02, width);
  const int rounds = 400;
  for (int round = 0; round < rounds; ++round) {
    const double fade = 1.0 - static_cast<double>(round) / rounds;
    for (Vec3& centre : packing.centres) centre.z() -= 0.04 * radius * fade;
    for (Vec3& centre : packing.centres) push_inside(centre, radius, width);
    cells.fill(packing.centres);
    for (int sweep = 0; sweep < 3; ++sweep)
      for (int i = 0; i < count; ++i) {
        Vec3& c = packing.centres[i];
        cells.for_each_after(c, i, [&](int j) {
          const Vec3 delta = c - packing.centres[j];
          const double distance = delta.norm();
          if (distance >= 2.0 * radius || distance == 0.0) return;
          const Vec3 shift = 0.5 * (2.0 * radius - distance) / distance * delta;
          c += shift;
          packing.centres[j] -= shift;
        });
        push_inside(c, radius, width);
      }
  }
  cells.fill(packing.centres);
  find_touches(cells, radius, width, packing);
  return packing;
}

}  // namespace almond::scenes
