#pragma once
// Pictures and videos of a run, as the command line asks for them.

#include <string>

#include "almond/view/capture.hpp"

namespace CLI {
class App;
}

namespace almond::app {

struct PictureArguments {
  std::string png, video;                                                  // files, empty: none
  std::string camera;                                                      // x,y,z,tx,ty,tz
  std::string size;                                                        // WIDTHxHEIGHT
  double time = kNaN, fps = kNaN, speed = kNaN, begin = kNaN, end = kNaN;  // NaN: not given
  bool contacts = false;

  [[nodiscard]] bool wanted() const { return !png.empty() || !video.empty(); }
};

void add_picture_options(CLI::App& command, PictureArguments& arguments);

/// Of a run of this length [s]. Throws Error naming the option, the value and what was expected, or the program that is
/// missing.
[[nodiscard]] CaptureOptions check_pictures(const PictureArguments& arguments, double duration = kInfinity);

/// Draws what is wanted of a page with one replay or several. False: Ctrl-C ended it, which leaves nothing behind.
[[nodiscard]] bool write_pictures(const PictureArguments& arguments, CaptureOptions options, const std::string& html);

}  // namespace almond::app
