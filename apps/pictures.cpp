#include "apps/pictures.hpp"

#include <CLI/CLI.hpp>
#include <charconv>
#include <cmath>
#include <cstdio>
#include <utility>

#include "almond/base/check.hpp"
#include "almond/base/text.hpp"
#include "apps/common.hpp"
#include "apps/interrupt.hpp"

namespace almond::app {
namespace {

constexpr int kLargest = 7680;     // pixels
constexpr double kFarthest = 1e6;  // [m]

Camera parse_camera(const std::string& text) {
  double numbers[6];
  std::size_t at = 0;
  int count = 0;
  for (; count < 6 && at <= text.size(); ++count) {
    const std::size_t end = std::min(text.find(',', at), text.size());
    const auto [stop, error] = std::from_chars(text.data() + at, text.data() + end, numbers[count]);
    if (error != std::errc() || stop != text.data() + end || !std::isfinite(numbers[count])) break;
    at = end + 1;
  }
  require(count == 6 && at == text.size() + 1,
          "--camera " + text + ": expected x,y,z,tx,ty,tz, where the camera is and what it looks at, in metres");
  const Camera camera{Vec3(numbers[0], numbers[1], numbers[2]), Vec3(numbers[3], numbers[4], numbers[5])};
  const double far = std::max(camera.position.cwiseAbs().maxCoeff(), camera.target.cwiseAbs().maxCoeff());
  require(far <= kFarthest, "--camera " + text + ": expected at most " + to_text(kFarthest) + " m from the origin");
  require((camera.position - camera.target).norm() > 1e-6, "--camera " + text + ": looks at where it is");
  return camera;
}

void parse_size(const std::string& text, int& width, int& height) {
  const std::size_t x = text.find('x');
  const std::string why = "--size " + text + ": expected WIDTHxHEIGHT, 16 to " + std::to_string(kLargest) + " pixels";
  require(x != std::string::npos, why);
  const char *begin = text.data(), *end = begin + text.size();
  const auto first = std::from_chars(begin, begin + x, width);
  const auto second = std::from_chars(begin + x + 1, end, height);
  require(first.ec == std::errc() && first.ptr == begin + x && second.ec == std::errc() && second.ptr == end &&
              std::min(width, height) >= 16 && std::max(width, height) <= kLargest,
          why);
}

}  // namespace

void add_picture_options(CLI::App& command, PictureArguments& a) {
  expect_file(command.add_option("--png", a.png, "draw a picture, .png, without a display (needs chromium)"), ".png");
  expect_file(
      command.add_option("--video", a.video, "draw a video, .mp4, without a display (needs chromium and ffmpeg)"),
      ".mp4");
  expect_number(
      command.add_option("--picture-time", a.time, "of the picture, in simulated seconds (default: the end)"));
  command.add_option("--camera", a.camera,
                     "x,y,z,tx,ty,tz: where the camera is and what it looks at (default: all of it)");
  command.add_option("--size", a.size, "WIDTHxHEIGHT in pixels (default 1280x720)");
  expect_number(command.add_option("--video-fps", a.fps, "frames per second of the video (default 30)"));
  expect_number(command.add_option("--video-speed", a.speed, "simulated by shown time of the video (default 1)"));
  expect_number(command.add_option("--video-begin", a.begin, "simulated second where the video begins (default 0)"));
  expect_number(command.add_option("--video-end", a.end, "simulated second where the video ends (default: the end)"));
  command.add_flag("--show-contacts", a.contacts, "draw contact points and forces");
}

CaptureOptions check_pictures(const PictureArguments& a, double duration) {
  const auto given = [](double value) { return !std::isnan(value); };
  const std::pair<const char*, bool> pictures[] = {{"--camera", !a.camera.empty()},
                                                   {"--show-contacts", a.contacts},
                                                   {"--picture-time", given(a.time)},
                                                   {"--size", !a.size.empty()}};
  const std::pair<const char*, bool> videos[] = {{"--video-fps", given(a.fps)},
                                                 {"--video-speed", given(a.speed)},
                                                 {"--video-begin", given(a.begin)},
                                                 {"--video-end", given(a.end)}};
  for (const auto& [option, used] : pictures)
    require(!used || a.wanted(), std::string(option) + ": is about pictures, expected --png or --video beside it");
  for (const auto& [option, used] : videos)
    require(!used || !a.video.empty(), std::string(option) + ": is about videos, expected --video beside it");
  const std::string length = to_text(duration) + " s, the length of the run";
  const double most = duration * (1.0 + 1e-9);
  require(!given(a.time) || (a.time >= 0.0 && a.time <= most),
          "--picture-time " + to_text(a.time) + ": expected 0 to " + length);
  require(!given(a.begin) || (a.begin >= 0.0 && a.begin < most),
          "--video-begin " + to_text(a.begin) + ": expected 0 or more, less than " + length);
  require(!given(a.end) || (a.end > (given(a.begin) ? a.begin : 0.0) && a.end <= most),
          "--video-end " + to_text(a.end) + ": expected more than the begin, at most " + length);
  require(!given(a.fps) || (a.fps > 0.0 && a.fps <= 240.0),
          "--video-fps " + to_text(a.fps) + ": expected above 0, at most 240");
  require(!given(a.speed) || (a.speed > 0.0 && std::isfinite(a.speed)),
          "--video-speed " + to_text(a.speed) + ": expected > 0");
  require(a.video != "-", "--video -: a video cannot go to standard output");
  CaptureOptions options;
  if (!a.size.empty()) parse_size(a.size, options.width, options.height);
  if (!a.camera.empty()) options.camera = parse_camera(a.camera);
  options.time = a.time;
  options.contacts = a.contacts;
  if (given(a.fps)) options.fps = a.fps;
  if (given(a.speed)) options.speed = a.speed;
  if (given(a.begin)) options.begin = a.begin;
  if (given(a.end)) options.end = a.end;
  const double frames = a.video.empty() || !std::isfinite(duration) ? 1.0 : count_frames(options, duration);
  require(frames <= kMostVideoFrames, "--video-speed " + to_text(options.speed) + ": makes " + to_text(frames) +
                                          " frames, expected at most " + std::to_string(kMostVideoFrames));
  if (a.wanted()) check_capture(!a.video.empty());
  return options;
}

bool write_pictures(const PictureArguments& a, CaptureOptions options, const std::string& html) {
  if (!a.wanted()) return true;
  const InterruptGuard interrupt;
  options.cancelled = [&] { return interrupt.raised(); };
  try {
    if (!a.png.empty()) write_output(a.png, capture_png(html, options));
    if (a.video.empty()) return true;
    Progress progress;
    capture_video(html, options, a.video, [&](int done, int all) {
      progress.show("video: " + std::to_string(done) + " of " + std::to_string(all) + " frames");
    });
  } catch (const Error&) {
    if (!interrupt.raised()) throw;
    std::fprintf(stderr, "interrupted: the %s is not written\n", a.video.empty() ? "picture" : "video");
    return false;
  }
  return true;
}

}  // namespace almond::app
