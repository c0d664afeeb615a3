#pragma once
// FCLIB problem files (HDF5): groups `fclib_local` (W, q, mu) and `fclib_global` (M, H, f, w, mu; G, b for equality
// rows).
//
//   local    w = W r + q            W = Σ R_b R_bᵀ over the bodies found in it (delassus.hpp), A = I, J = R, b = 0, e =
//   q global   M v = H r + f,  w = Hᵀ v + w0        A = M, J = Hᵀ, b = f, e = w0
//
// FCLIB puts the normal first in each contact, we put it last; the reader and the writer convert, nobody else does.

#include <string>

#include "almond/load/problem_file.hpp"

namespace almond {

// What our own files say in `info`.
inline constexpr const char* kWrittenByUs = "written by almond";
inline constexpr const char* kNoName = "contact problem";

/// From the bytes of the file at `path`.
[[nodiscard]] ContactProblem read_fclib(const std::string& path, std::string bytes, LoadReport& report);
void write_fclib(const ContactProblem& problem, const std::string& path, FclibForm form);

}  // namespace almond
