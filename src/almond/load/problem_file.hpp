#pragma once
// Contact problems in files: FCLIB HDF5, .npz and JSON (docs/formats.md).
//
// The reader goes by content, then by extension. A problem that comes back has been validated. What had to be changed
// on the way (symmetrised, projected, merged, ignored) is in the report, one sentence each.

#include <string>
#include <vector>

#include "almond/solver/problem.hpp"

namespace almond {

struct LoadReport {
  std::vector<std::string> notes;
};

/// Throws Error with one line: file, field, value, expectation.
[[nodiscard]] ContactProblem load_problem(const std::string& path, LoadReport* report = nullptr);
/// From the bytes of the file at `path`.
[[nodiscard]] ContactProblem parse_problem(const std::string& path, std::string bytes, LoadReport* report = nullptr);

/// FCLIB has two forms: `global` keeps A and J, `local` only the Delassus matrix W = J A⁻¹ Jᵀ and q = J A⁻¹ b + e.
enum class FclibForm { kGlobal, kLocal };

/// Format by extension: .npz and .json hold everything, bit for bit; .hdf5 and .h5 (FCLIB) hold contacts, and in the
/// global form equality rows, and refuse other constraints. An earlier file of that name is replaced only by a complete
/// one.
void save_problem(const ContactProblem& problem, const std::string& path, FclibForm form = FclibForm::kGlobal);

/// `v` and `lambda` as arrays of a .npz file.
void save_solution(const std::string& path, const VecX& v, const VecX& lambda);

}  // namespace almond
