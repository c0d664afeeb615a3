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

}  // namespace almond
