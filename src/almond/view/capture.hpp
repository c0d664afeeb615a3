#pragma once
// Pictures and videos of a page without a display: Chromium draws it headless, steered over its debugging pipe.

#include <functional>
#include <optional>
#include <string>

#include "almond/view/camera.hpp"

namespace almond {

inline constexpr int kMostVideoFrames = 100000;

struct CaptureOptions {
  int width = 1280, height = 720;
  double time = kNaN;                   // of a picture [s]; NaN: the end
  double fps = 30.0;                    // of a video
  double speed = 1.0;                   // simulated by shown time of a video
  double begin = 0.0, end = kInfinity;  // part of the run that a video shows [s]
  std::optional<Camera> camera;         // none: the page's own
  bool contacts = false;                // with contact points and forces
  std::function<bool()> cancelled;      // asked often; true ends it with an Error, and leaves nothing behind
};

/// Frames of a video of a run of this length [s].
[[nodiscard]] double count_frames(const CaptureOptions& options, double duration);

/// PNG of a replay page at one time. Throws Error when no Chromium is found or it fails, with how to get one.
[[nodiscard]] std::string capture_png(const std::string& html, const CaptureOptions& options);

/// Writes an MP4 (H.264) of a replay page, by ffmpeg. `progress` is told frames done and all. Throws Error; an earlier
/// file stays as it was then.
void capture_video(const std::string& html, const CaptureOptions& options, const std::string& path,
                   const std::function<void(int, int)>& progress);

/// Throws Error where a picture (and a video) could not be made, before anything is computed for it.
void check_capture(bool video);

}  // namespace almond
