#pragma once
// A simulation that runs in real time and can be watched and touched while it does. Knows nothing of the network: a
// server, or a test, asks for snapshots and posts commands, from any thread.

#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "almond/view/replay.hpp"

namespace almond {

/// What is run.
struct LiveWorld {
  std::string title;
  Model model;
  StepOptions options;
  std::uint64_t seed = 0;
  std::vector<Look> looks;
  std::function<void(Simulation&)> control;  // before each step; may be empty
};

class Live {
 public:
  /// Makes the world anew at every reset. `held`: it stands still until somebody looks, so that nothing is missed.
  explicit Live(std::function<LiveWorld()> make, bool held = false);
  ~Live();
  Live(const Live&) = delete;
  Live& operator=(const Live&) = delete;

  /// One command as JSON: {"type": "play" | "pause" | "step" | "reset" | "defaults"}, {"type": "set", "name", "value"},
  /// {"type": "drag", "body", "local": [3], "target": [3], "viewer"}, {"type": "release", "viewer"}. A pull that is not
  /// renewed ends after 0.3 s, and one viewer's release does not end another's pull. Returns at once. Throws Error
  /// naming what was not understood, and does nothing then.
  void post(const std::string& command);

  /// The next snapshot (JSON) after the one numbered `seen`, and its number; waits for it up to `timeout_ms`. Empty:
  /// there was none, or the end has come.
  [[nodiscard]] std::string wait_for_snapshot(std::int64_t& seen, double timeout_ms);
  /// Somebody looks: a world that was held starts.
  void let_go();
  /// Grows when the world was made anew, so that a page knows that it must look again.
  [[nodiscard]] std::int64_t world_number() const;
  /// Grows when a control has another value.
  [[nodiscard]] std::int64_t controls_number() const;

  [[nodiscard]] std::string scene();     // bytes of a replay with one frame, gzip'ed
  [[nodiscard]] std::string controls();  // JSON: choices and sliders with their values
  [[nodiscard]] std::string inside();    // JSON: the last step, its contacts and how two solvers get on with it
  /// .npz of the last step, or of one that inside() told of lately. Throws Error where that is not kept any more.
  [[nodiscard]] std::string problem(std::optional<std::int64_t> step = {});

  void stop();

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace almond
