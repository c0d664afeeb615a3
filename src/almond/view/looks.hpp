#pragma once
// Shapes to draw: those of a model that collide, and those that are only seen.

#include "almond/model/look.hpp"
#include "almond/model/model.hpp"

namespace almond {

/// The geoms of a model. `visuals` are what else there is to see: bodies that have some show their geoms as collision
/// shapes only, those of other bodies stand for both.
[[nodiscard]] std::vector<Look> make_looks(const Model& model, const std::vector<Look>& visuals);

}  // namespace almond
