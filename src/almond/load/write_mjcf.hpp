#pragma once
// A model as MJCF, so that a scene can be opened in MuJoCo beside ours: the same masses, frames, inertias, joints and
// shapes, written with 17 digits. Massless bodies become further joints of the body they carry.

#include "almond/load/robot_file.hpp"

namespace almond {

/// What MuJoCo has no counterpart for is counted in notes.ignored.
[[nodiscard]] std::string write_mjcf(const Model& model, double time_step, FileNotes& notes);

}  // namespace almond
