#pragma once
// A ContactProblem as named arrays, the content of .npz and JSON problem files (docs/formats.md).

#include "almond/load/npz.hpp"
#include "almond/load/problem_file.hpp"

namespace almond {

[[nodiscard]] ContactProblem problem_from_fields(const NpzArchive& archive, LoadReport& report);
[[nodiscard]] NpzArchive fields_from_problem(const ContactProblem& problem);

}  // namespace almond
