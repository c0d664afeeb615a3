#pragma once
// MJCF -> MuJoCo's compiled model. Only where this program was built with MuJoCo's library.

#include <memory>

#include "almond/load/mjcf_files.hpp"

struct mjModel_;

namespace almond {

using MujocoModel = std::unique_ptr<mjModel_, void (*)(mjModel_*)>;

/// Throws Error with MuJoCo's message, beginning with `place`; what it warns of goes to notes.said. It reads these
/// files and no others.
[[nodiscard]] MujocoModel compile_mjcf(const MjcfFiles& files, const std::string& place, FileNotes& notes);

}  // namespace almond
