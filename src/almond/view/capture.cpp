#include "almond/view/capture.hpp"

#include <signal.h>
#include <sys/wait.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <filesystem>

#include "almond/base/check.hpp"
#include "almond/base/text.hpp"
#include "almond/load/file_io.hpp"
#include "almond/view/browser.hpp"

namespace almond {
namespace {

std::string point_text(const Vec3& p) {
  return "[" + to_text(p.x()) + "," + to_text(p.y()) + "," + to_text(p.z()) + "]";
}

/// Opens the page without its controls, as the options want it.
void open_page(Browser& browser, const std::string& html, const CaptureOptions& options) {
  const std::string path = browser.folder() + "/page.html";
  write_file(path, html);
  browser.open("file://" + path + "#ui=0&paused=1");
  for (int attempt = 0; browser.evaluate("typeof window.almond") != "\"object\""; ++attempt) {
    require(attempt < 300, "the page does not start");
    browser.evaluate("new Promise(done => setTimeout(done, 100))");
  }
  browser.evaluate("Promise.resolve(almond.ready).then(() => true)", 300.0);
  const char* on = options.contacts ? "true" : "false";
  browser.evaluate(std::string("almond.show({contacts:") + on + ",forces:" + on +
                   ",cones:false,plots:false,panel:false}), true");
  if (options.camera)
    browser.evaluate("almond.camera({position:" + point_text(options.camera->position) +
                     ",target:" + point_text(options.camera->target) + "}), true");
}

void draw(Browser& browser, double time) {
  browser.evaluate("almond.seek(" + to_text(time) + "), almond.render(), true");
}

double duration_of(Browser& browser) { return std::stod(browser.evaluate("almond.duration")); }

/// A program that reads what we write.
class Sink {
 public:
  explicit Sink(const std::string& command) : previous_(signal(SIGPIPE, SIG_IGN)), pipe_(popen(command.c_str(), "w")) {
    require(pipe_ != nullptr, "cannot start ffmpeg");
  }
  ~Sink() {
    if (pipe_ != nullptr) pclose(pipe_);
    signal(SIGPIPE, previous_);
  }
  Sink(const Sink&) = delete;
  Sink& operator=(const Sink&) = delete;
  bool put(const std::string& bytes) { return std::fwrite(bytes.data(), 1, bytes.size(), pipe_) == bytes.size(); }
  bool finish() {
    const int status = pclose(pipe_);
    pipe_ = nullptr;
    return WIFEXITED(status) && WEXITSTATUS(status) == 0;
  }

 private:
  void (*previous_)(int);
  std::FILE* pipe_;
};

std::string in_quotes(const std::string& path) {
  std::string text = "'";
  for (const char c : path) text += c == '\'' ? std::string("'\\''") : std::string(1, c);
  return text + "'";
}

}  // namespace

void check_capture(bool video) {
  require(!find_chromium().empty(), "no Chromium found: install chromium, or name one in ALMOND_CHROMIUM");
  require(!video || have_program("ffmpeg"), "no ffmpeg found: videos need it; install ffmpeg");
}

double count_frames(const CaptureOptions& options, double duration) {
  const double shown = std::min(options.end, duration) - std::max(0.0, options.begin);
  return std::max(1.0, std::floor(shown / options.speed * options.fps + 1e-9) + 1.0);
}

std::string capture_png(const std::string& html, const CaptureOptions& options) {
  check_capture(false);
  Browser browser(options.width, options.height, options.cancelled);
  open_page(browser, html, options);
  const double duration = duration_of(browser);
  draw(browser, std::isnan(options.time) ? duration : std::clamp(options.time, 0.0, duration));
  return browser.screenshot("png");
}

void capture_video(const std::string& html, const CaptureOptions& options, const std::string& path,
                   const std::function<void(int, int)>& progress) {
  check_capture(true);
  require(std::isfinite(options.fps) && options.fps > 0.0 && options.speed > 0.0,
          "a video needs frames per second > 0");
  const int width = options.width / 2 * 2, height = options.height / 2 * 2;  // H.264 wants even sizes
  Browser browser(width, height, options.cancelled);
  open_page(browser, html, options);
  const double begin = std::max(0.0, options.begin);
  const double count = count_frames(options, duration_of(browser));
  require(count <= kMostVideoFrames, "a video of " + to_text(count) + " frames: expected at most " +
                                         std::to_string(kMostVideoFrames) + "; show it faster, or a part of it");
  const int frames = static_cast<int>(count);
  PendingFile file(path);
  Sink ffmpeg("ffmpeg -loglevel error -y -f image2pipe -framerate " + to_text(options.fps) +
              " -c:v mjpeg -i - -c:v libx264 -preset medium -crf 20 -pix_fmt yuv420p -movflags +faststart -f mp4 " +
              in_quotes(file.temporary()) + " 2>/dev/null");
  for (int i = 0; i < frames; ++i) {
    draw(browser, begin + i * options.speed / options.fps);
    if (!ffmpeg.put(browser.screenshot("jpeg"))) break;
    if (progress) progress(i + 1, frames);
  }
  require(ffmpeg.finish(), path + ": ffmpeg could not write the video");
  file.commit();
}

}  // namespace almond
