#pragma once
// A headless Chromium of our own: started, asked, ended. Not part of the public interface.

#include <functional>
#include <string>

#include "almond/load/file_io.hpp"

namespace almond {

/// The first of $ALMOND_CHROMIUM, chromium, chromium-browser, google-chrome that is on PATH; empty: none.
[[nodiscard]] std::string find_chromium();
/// Whether a program is on PATH, or is the path of one.
[[nodiscard]] bool have_program(const std::string& name);

class Browser {
 public:
  /// Starts Chromium with an empty page of this size. Throws Error, also from any other function once `cancelled`,
  /// asked a few times a second, says so.
  Browser(int width, int height, std::function<bool()> cancelled = {});
  ~Browser();
  Browser(const Browser&) = delete;
  Browser& operator=(const Browser&) = delete;

  void open(const std::string& url);
  /// The value of a JavaScript expression as JSON text; a promise is waited for. Throws Error with what the page threw.
  std::string evaluate(const std::string& expression, double timeout_s = 60.0);
  /// What the page looks like: "png" or "jpeg".
  std::string screenshot(const std::string& format);
  /// A folder for files, removed with the browser.
  [[nodiscard]] const std::string& folder() const { return folder_.path(); }

 private:
  /// Sends a method of the debugging protocol with parameters as JSON, and returns its result as JSON.
  std::string call(const std::string& method, const std::string& parameters, double timeout_s = 60.0);
  void start(const std::string& program, int width, int height);
  void end();

  TemporaryFolder folder_;
  std::function<bool()> cancelled_;
  std::string session_, buffer_;
  int to_ = -1, from_ = -1, next_ = 1;
  int process_ = -1;
};

}  // namespace almond
