#pragma once
// The fields of StepOptions by name, but for the solver's, for command lines and other languages.

#include <map>
#include <string>
#include <variant>

#include "almond/sim/options.hpp"

namespace almond {

using StepField = std::variant<double*, int*>;

/// Where each lies in these options.
[[nodiscard]] std::map<std::string, StepField> step_fields(StepOptions& options);

}  // namespace almond
