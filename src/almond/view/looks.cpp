#include "almond/view/looks.hpp"

#include <set>

namespace almond {

std::vector<Look> make_looks(const Model& model, const std::vector<Look>& visuals) {
  std::set<int> dressed;
  for (const Look& visual : visuals) dressed.insert(visual.body);
  std::vector<Look> looks;
  looks.reserve(model.geoms.size() + visuals.size());
  for (const Geom& geom : model.geoms) {
    const bool both = geom.body == kGround || dressed.count(geom.body) == 0;
    looks.push_back({.name = geom.name,
                     .body = geom.body,
                     .X_BG = geom.X_BG,
                     .shape = geom.shape,
                     .role = both ? Look::Role::kBoth : Look::Role::kCollision,
                     .color = std::nullopt});
  }
  looks.insert(looks.end(), visuals.begin(), visuals.end());
  return looks;
}

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
