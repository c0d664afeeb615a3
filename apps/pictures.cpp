#include "apps/pictures.hpp"

#include <CLI/CLI.hpp>
#include <charconv>
#include <cmath>
#include <filesystem>

#include "almond/base/check.hpp"
#include "almond/base/text.hpp"
#include "apps/common.hpp"

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
  command.add_option("--png", a.png, "draw a picture, without a display (needs chromium)");
  command.add_option("--video", a.video, "draw a video, .mp4, without a display (needs chromium and ffmpeg)");
  expect_number(
      command.add_option("--picture-time", a.time, "of the picture, in simulated seconds (default: the end)"));
  command.add_option("--camera", a.camera,
                     "x,y,z,tx,ty,tz: where the camera is and what it looks at (default: all of it)");
  command.add_option("--size", a.size, "WIDTHxHEIGHT in pixels (default 1280x720)");
  expect_number(command.add_option("--video-fps", a.fps, "frames per second of the video (default 30)"));
  expect_number(command.add_option("--video-speed", a.speed, "simulated by shown time of the video (default 1)"));
  command.add_flag("--show-contacts", a.contacts, "draw contact points and forces");
}

CaptureOptions check_pictures(const PictureArguments& a, double duration) {
  const bool asked = !a.camera.empty() || a.contacts || !std::isnan(a.time);
  require(a.wanted() || !asked, std::string(a.contacts         ? "--show-contacts"
                                            : a.camera.empty() ? "--picture-time"
                                                               : "--camera") +
                                    ": is about pictures, expected --png or --video beside it");
  require(std::isnan(a.time) || (a.time >= 0.0 && a.time <= duration * (1.0 + 1e-9)),
          "--picture-time " + to_text(a.time) + ": expected 0 to " + to_text(duration) + " s, the length of the run");
  require(a.video.empty() || a.video == "-" || std::filesystem::path(a.video).extension() == ".mp4",
          "--video " + a.video + ": expected a file ending in .mp4");
  CaptureOptions options;
  parse_size(a.size, options.width, options.height);
  if (!a.camera.empty()) options.camera = parse_camera(a.camera);
  require(a.fps > 0.0 && a.fps <= 240.0, "--video-fps " + std::to_string(a.fps) + ": expected above 0, at most 240");
  require(a.speed > 0.0 && std::isfinite(a.speed), "--video-speed " + std::to_string(a.speed) + ": expected > 0");
  options.time = a.time;
  options.fps = a.fps;
  options.speed = a.speed;
  options.contacts = a.contacts;
  require(a.video.empty() || a.video != "-", "--video -: a video cannot go to standard output");
  if (a.wanted()) check_capture(!a.video.empty());
  return options;
}

void write_pictures(const PictureArguments& a, const CaptureOptions& options, const std::string& html) {
  if (!a.png.empty()) write_output(a.png, capture_png(html, options));
  if (a.video.empty()) return;
  Progress progress;
  capture_video(html, options, a.video, [&](int done, int all) {
    progress.show("video: " + std::to_string(done) + " of " + std::to_string(all) + " frames");
  });
}

}  // namespace almond::app
