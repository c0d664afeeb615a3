#pragma once
// A scene run by MuJoCo, for the pages that show it beside ours.

#include <functional>

#include "almond/view/replay.hpp"
#include "scenes/file_scene.hpp"

namespace almond::app {

struct MujocoRecord {
  std::string replay;   // as Replay::finish() makes it
  std::string summary;  // for the terminal
};

/// Runs scene.steps steps. `after_step` gets the steps done; false ends the run, and nothing is recorded then. Throws
/// Error where MuJoCo does not take the scene.
[[nodiscard]] MujocoRecord run_by_mujoco(scenes::LoadedScene& loaded, const std::string& title,
                                         const std::function<bool(int done)>& after_step);

}  // namespace almond::app
