#pragma once
// The fields of Settings by name, for command lines and other languages.

#include <map>
#include <string>
#include <variant>

#include "almond/solver/result.hpp"

namespace almond {

using SettingField = std::variant<double Settings::*, int Settings::*, bool Settings::*, InnerSolver Settings::*,
                                  SolverKind Settings::*>;

[[nodiscard]] const std::map<std::string, SettingField>& setting_fields();

/// newton, cg or apg. Throws Error, beginning with `place`, for anything else.
[[nodiscard]] InnerSolver inner_from_string(const std::string& text, const std::string& place);

}  // namespace almond
