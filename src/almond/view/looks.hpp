#pragma once
// What a model looks like: shapes with colours on bodies, those that collide and those that are only seen.

#include <optional>
#include <string>
#include <vector>

#include "almond/model/model.hpp"

namespace almond {

/// Red, green, blue, opacity; 0 to 1.
using Color = std::array<double, 4>;

struct Look {
  enum class Role : std::uint8_t { kCollision, kVisual, kBoth };
  std::string name;
  int body = kGround;
  Pose X_BG;
  Shape shape;
  Role role = Role::kCollision;
  std::optional<Color> color;
};

/// The geoms of a model. `visuals` are what else there is to see: bodies that have some show their geoms as collision
/// shapes only, those of other bodies stand for both.
[[nodiscard]] std::vector<Look> make_looks(const Model& model, const std::vector<Look>& visuals);

/// Corners and triangles of a convex polytope or a height field.
[[nodiscard]] TriangleSoup make_triangles(const Polytope& hull);
[[nodiscard]] TriangleSoup make_triangles(const HeightGrid& grid);

}  // namespace almond
