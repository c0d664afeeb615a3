#pragma once
// Triangle meshes and height fields seen alike: triangles by number, and those around a corner.

#include <algorithm>
#include <cmath>

#include "almond/collision/convex_workspace.hpp"
#include "almond/model/surface_tree.hpp"

namespace almond {

struct Triangle {
  Vec3 corner[3];
  Vec3 n;
  int id[3];  // numbers of the corners, the same in every triangle that shares them
};

struct MeshSurface {
  const TriangleSoup& soup;
  const SurfaceTree& tree;
  static constexpr bool kSolidBelow = false;

  [[nodiscard]] Triangle triangle(int t) const {
    const auto& [i, j, k] = tree.vertices[t];
    return {{soup.vertices[i], soup.vertices[j], soup.vertices[k]}, tree.normals[t], {i, j, k}};
  }
  /// Whether edges or corners of the triangle can be touched at all.
  [[nodiscard]] bool sharp(int t) const { return tree.sharp[t] != 0; }

  template <class Visit>
  void visit_around(const Triangle& triangle, int k, const Visit& visit) const {
    const int v = triangle.id[k];
    for (int i = tree.around_begin[v]; i < tree.around_begin[v + 1]; ++i) visit(this->triangle(tree.around[i]));
  }

  /// Triangles whose boxes meet `box`, in the order of their numbers.
  void find(const Aabb& box, std::vector<int>& triangles) const {
    triangles.clear();
    for (int i = 0; i < static_cast<int>(tree.nodes.size());) {
      const SurfaceNode& node = tree.nodes[i];
      if (!node.box.overlaps(box)) {
        i = node.skip;
        continue;
      }
      triangles.insert(triangles.end(), tree.order.begin() + node.begin, tree.order.begin() + node.begin + node.count);
      ++i;
    }
    std::sort(triangles.begin(), triangles.end());
  }
};

/// Triangle 2 (i (columns - 1) + j) lies right below the diagonal of cell (i, j), the next one above it.
struct GridSurface {
  const HeightGrid& grid;
  static constexpr bool kSolidBelow = true;

  [[nodiscard]] int vertex(int i, int j) const { return i * grid.columns + j; }
  [[nodiscard]] Vec3 point(int v) const {
    const int i = v / grid.columns, j = v % grid.columns;
    return {(2.0 * j / (grid.columns - 1) - 1.0) * grid.half_x, (2.0 * i / (grid.rows - 1) - 1.0) * grid.half_y,
            grid.height[v]};
  }
  [[nodiscard]] Triangle triangle(int t) const {
    const int cell = t / 2, i = cell / (grid.columns - 1), j = cell % (grid.columns - 1);
    Triangle result;
    result.id[0] = vertex(i, j);
    result.id[1] = t % 2 == 0 ? vertex(i, j + 1) : vertex(i + 1, j + 1);
    result.id[2] = t % 2 == 0 ? vertex(i + 1, j + 1) : vertex(i + 1, j);
    for (int k = 0; k < 3; ++k) result.corner[k] = point(result.id[k]);
    result.n = (result.corner[1] - result.corner[0]).cross(result.corner[2] - result.corner[0]).normalized();
    return result;
  }

  template <class Visit>
  void visit_around(const Triangle& of, int k, const Visit& visit) const {
    const int i = of.id[k] / grid.columns, j = of.id[k] % grid.columns;
    for (int di = -1; di <= 0; ++di)
      for (int dj = -1; dj <= 0; ++dj) {
        const int row = i + di, column = j + dj;
        if (row < 0 || column < 0 || row >= grid.rows - 1 || column >= grid.columns - 1) continue;
        const int first = 2 * (row * (grid.columns - 1) + column);
        // Both triangles of a cell meet at the ends of its diagonal, one at each other corner.
        if (dj >= di) visit(triangle(di == dj ? first : first + 1));
        if (dj <= di) visit(triangle(di == dj ? first + 1 : first));
      }
  }

  /// Compares the heights around the cell with the triangle's plane; flat or at the border is all it can tell.
  [[nodiscard]] bool sharp(int t) const {
    const int cell = t / 2, i = cell / (grid.columns - 1), j = cell % (grid.columns - 1);
    if (i < 1 || j < 1 || i >= grid.rows - 2 || j >= grid.columns - 2) return true;
    const double z = grid.height[vertex(i, j)], across = grid.height[vertex(i + 1, j + 1)];
    const double dx = t % 2 == 0 ? grid.height[vertex(i, j + 1)] - z : across - grid.height[vertex(i + 1, j)];
    const double dy = across - z - dx;
    const double tolerance =
        1e-6 * std::min(2.0 * grid.half_x / (grid.columns - 1), 2.0 * grid.half_y / (grid.rows - 1));
    for (int k = i - 1; k <= i + 2; ++k)
      for (int l = j - 1; l <= j + 2; ++l)
        if (std::abs(grid.height[vertex(k, l)] - z - (l - j) * dx - (k - i) * dy) > tolerance) return true;
    return false;
  }

  /// Cells under `box`, whose lower side they reach: the ground below them is solid, so how deep they are does not
  /// matter.
  void find(const Aabb& box, std::vector<int>& triangles) const {
    triangles.clear();
    const auto cell_range = [](double low, double high, double half, int cells, int& first, int& last) {
      const double scale = 0.5 * cells / half;
      first = static_cast<int>(std::clamp(std::floor((low + half) * scale), 0.0, static_cast<double>(cells)));
      last = static_cast<int>(std::clamp(std::floor((high + half) * scale), -1.0, static_cast<double>(cells - 1)));
    };
    int i0, i1, j0, j1;
    cell_range(box.lower.y(), box.upper.y(), grid.half_y, grid.rows - 1, i0, i1);
    cell_range(box.lower.x(), box.upper.x(), grid.half_x, grid.columns - 1, j0, j1);
    for (int i = i0; i <= i1; ++i)
      for (int j = j0; j <= j1; ++j) {
        const double* low = &grid.height[vertex(i, j)];
        const double* high = low + grid.columns;
        if (std::max({low[0], low[1], high[0], high[1]}) < box.lower.z()) continue;
        const int first = 2 * (i * (grid.columns - 1) + j);
        triangles.push_back(first);
        triangles.push_back(first + 1);
      }
  }
};

}  // namespace almond
