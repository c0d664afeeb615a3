#pragma once
// Line plots as SVG text: residual over time (log-log), performance profiles (log-linear), ratios. Dark on white, for a
// page and for print. Each curve carries its points as data, so that a page can read values under the pointer.

#include <string>
#include <vector>

namespace almond::bench {

struct Point {
  double x, y;
};

struct Series {
  std::string name;
  std::vector<Point> points;
  std::string colour;  // empty: solver_colour(name)
  bool dashed = false;
  bool steps = true;  // holds its value until the next point (a best-so-far curve), else straight lines
  bool markers = false;
  std::vector<Point> low = {}, high = {};  // a band behind the curve, such as quantiles; may be empty
};

struct Axis {
  std::string label;
  bool logarithmic = true;
  double low = 0.0, high = 0.0;  // equal: from the data
};

struct Plot {
  std::string title;
  std::string subtitle;  // small, at the right end of the title line
  Axis x, y;
  std::vector<Series> series;
  std::vector<double> rules;  // horizontal guide lines, at these y
  int width = 420, height = 300;
  bool legend = true;
  bool names = false;  // series of one point: each with its name beside it, and the front of those that none beats
};

/// A fixed colour for every solver and peer, the same on every figure.
[[nodiscard]] std::string solver_colour(const std::string& name);
/// Peers are dashed.
[[nodiscard]] bool is_peer_name(const std::string& name);

[[nodiscard]] std::string to_svg(const Plot& plot);

/// Several plots on one sheet, `columns` side by side, as one SVG.
[[nodiscard]] std::string to_sheet(const std::vector<Plot>& plots, int columns);

/// The bytes of a PNG picture, drawn by rsvg-convert (Debian package librsvg2-bin). Throws Error when it is not
/// installed.
[[nodiscard]] std::string to_png(const std::string& svg);

/// The five characters that HTML and SVG reserve.
[[nodiscard]] std::string escape_xml(const std::string& text);

}  // namespace almond::bench
