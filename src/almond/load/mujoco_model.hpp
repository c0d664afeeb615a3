#pragma once
// MJCF -> MuJoCo's compiled model. Only where this program was built with MuJoCo's library.

#include <memory>

#include "almond/load/robot_file.hpp"

struct mjModel_;

namespace almond {

using MujocoModel = std::unique_ptr<mjModel_, void (*)(mjModel_*)>;

/// Both throw Error with MuJoCo's message; what it warns of goes to notes.said.
[[nodiscard]] MujocoModel compile_mjcf_file(const std::string& path, FileNotes& notes);
/// Assets are looked for in `folder`; errors begin with `place`.
[[nodiscard]] MujocoModel compile_mjcf_text(const std::string& text, const std::string& folder,
                                            const std::string& place, FileNotes& notes);

}  // namespace almond
