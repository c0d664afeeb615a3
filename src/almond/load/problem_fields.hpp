#pragma once
// A ContactProblem as named arrays, the content of .npz and JSON problem files (docs/formats.md).

#include "almond/load/npz.hpp"
#include "almond/load/problem_file.hpp"

namespace almond {

/// A limit from here on is none: files and JSON have no infinity.
inline constexpr double kNoLimit = 1e300;

[[nodiscard]] ContactProblem problem_from_fields(const NpzArchive& archive, LoadReport& report);
[[nodiscard]] NpzArchive fields_from_problem(const ContactProblem& problem);

}  // namespace almond
