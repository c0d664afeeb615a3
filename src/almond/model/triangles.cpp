#include "almond/model/triangles.hpp"

namespace almond {

TriangleSoup make_triangles(const Polytope& hull) {
  TriangleSoup soup;
  soup.vertices = hull.vertices;
  for (const std::vector<int>& face : hull.faces)
    for (std::size_t k = 2; k < face.size(); ++k) soup.triangles.push_back({face[0], face[k - 1], face[k]});
  return soup;
}

TriangleSoup make_triangles(const HeightGrid& grid) {
  TriangleSoup soup;
  for (int i = 0; i < grid.rows; ++i)
    for (int j = 0; j < grid.columns; ++j)
      soup.vertices.emplace_back((2.0 * j / (grid.columns - 1) - 1.0) * grid.half_x,
                                 (2.0 * i / (grid.rows - 1) - 1.0) * grid.half_y,
                                 grid.height[static_cast<std::size_t>(i) * grid.columns + j]);
  for (int i = 0; i + 1 < grid.rows; ++i) {
    for (int j = 0; j + 1 < grid.columns; ++j) {
      const int a = i * grid.columns + j, b = a + 1, c = a + grid.columns, d = c + 1;
      soup.triangles.push_back({a, b, d});
      soup.triangles.push_back({a, d, c});
    }
  }
  return soup;
}

}  // namespace almond
