#pragma once
// Remarks: what a model is allowed to be and yet looks like a mistake.

#include "almond/model/model.hpp"

namespace almond {

/// One line each, with the element's name and the value. The model is complete but for its remarks.
[[nodiscard]] std::vector<std::string> make_remarks(const Model& model);

/// Whether a joint with the positions q lies outside of its limits, by more than rounding.
[[nodiscard]] bool is_outside(const Joint& joint, const double* q);

}  // namespace almond
