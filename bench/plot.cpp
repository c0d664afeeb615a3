#include "bench/plot.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdio>
#include <utility>

#include "almond/base/check.hpp"
#include "almond/base/types.hpp"
#include "almond/load/file_io.hpp"
#include "bench/process.hpp"

namespace almond::bench {
namespace {

constexpr std::array<std::pair<const char*, const char*>, 15> kColours = {{
    {"auto", "#d7263d"},
    {"almond", "#d7263d"},
    {"canal", "#0b6fb8"},
    {"subadmm", "#129a63"},
    {"spn", "#7b3fb3"},
    {"pgs", "#e08e00"},
    {"admm-nosub", "#5bb5a2"},
    {"admm-nobody", "#9ccb3b"},
    {"dogleg", "#4aa3df"},
    {"damped-sn", "#b48ad6"},
    {"siconos-nsgs", "#3d3d3d"},
    {"siconos-nsn", "#767676"},
    {"siconos-admm", "#a8a8a8"},
    {"pinocchio-admm", "#8c5a2b"},
    {"pinocchio-pgs", "#c9a26b"},
}};

std::string number(double value) {
  char buffer[32];
  std::snprintf(buffer, sizeof buffer, "%.1f", value);
  return buffer;
}

/// Enough digits to read a value off the page.
std::string data_number(double value) {
  char buffer[32];
  const bool plain = std::abs(value) >= 1e3 && std::abs(value) < 1e6;
  std::snprintf(buffer, sizeof buffer, plain ? "%.0f" : "%.3g", value);
  return buffer;
}

/// Data to pixels along one axis.
struct Scale {
  bool logarithmic;
  double low, high;  // data, after the logarithm where there is one
  double pixel0, pixel1;

  [[nodiscard]] double transform(double value) const { return logarithmic ? std::log10(value) : value; }
  [[nodiscard]] double operator()(double value) const {
    const double t = (transform(value) - low) / (high - low);
    return pixel0 + std::clamp(t, 0.0, 1.0) * (pixel1 - pixel0);
  }
};

/// `tight`: the data with some room, instead of whole decades.
Scale make_scale(const Axis& axis, const std::vector<Series>& series, double Point::*member, double pixel0,
                 double pixel1, bool tight) {
  double low = axis.low, high = axis.high;
  if (low == high) {
    low = 1e300;
    high = -1e300;
    for (const Series& s : series) {
      for (const Point& p : s.points) {
        const double value = p.*member;
        if (!std::isfinite(value) || (axis.logarithmic && value <= 0.0)) continue;
        low = std::min(low, value);
        high = std::max(high, value);
      }
    }
    if (low > high) {
      low = axis.logarithmic ? 0.1 : 0.0;
      high = 1.0;
    }
  }
  Scale scale{axis.logarithmic, low, high, pixel0, pixel1};
  scale.low = scale.transform(low);
  scale.high = scale.transform(high);
  if (axis.logarithmic && axis.low == axis.high && tight) {
    const double room = std::max(0.08 * (scale.high - scale.low), 0.1);
    scale.low -= room;
    scale.high += room;
  } else if (axis.logarithmic && axis.low == axis.high) {
    scale.low = std::floor(scale.low);
    scale.high = std::ceil(scale.high);
  }
  if (scale.high <= scale.low) scale.high = scale.low + 1.0;
  return scale;
}

struct Tick {
  double value;
  std::string label;
};

std::string superscript(int exponent) {
  return "10<tspan dy=\"-4\" font-size=\"8\">" + std::string(exponent < 0 ? "\u2212" : "") +
         std::to_string(std::abs(exponent)) + "</tspan>";
}

/// 1, 2 and 5 of each decade, as numbers: for few decades; all nine of the decade where even those are too few.
std::vector<Tick> make_fine_ticks(const Scale& scale) {
  constexpr double kRoom = 30.0;  // between labels
  std::vector<Tick> ticks;
  for (const bool all : {false, true}) {
    ticks.clear();
    for (int k = static_cast<int>(std::floor(scale.low)); k <= static_cast<int>(std::ceil(scale.high)); ++k)
      for (int digit = 1; digit <= 9; ++digit) {
        const double value = digit * std::pow(10.0, k), at = std::log10(value);
        if (at < scale.low - 1e-9 || at > scale.high + 1e-9) continue;
        const bool room = ticks.empty() || std::abs(scale(value) - scale(ticks.back().value)) > kRoom;
        if (room && (all || digit == 1 || digit == 2 || digit == 5)) ticks.push_back({value, data_number(value)});
      }
    if (ticks.size() > 1) break;
  }
  return ticks;
}

std::vector<Tick> make_ticks(const Scale& scale) {
  std::vector<Tick> ticks;
  if (scale.logarithmic && scale.high - scale.low < 2.2) return make_fine_ticks(scale);
  if (scale.logarithmic) {
    const int first = static_cast<int>(std::ceil(scale.low - 1e-9)),
              last = static_cast<int>(std::floor(scale.high + 1e-9));
    const int every = std::max(1, (last - first + 5) / 6);
    for (int k = first; k <= last; ++k) {
      if ((k - last) % every == 0) ticks.push_back({std::pow(10.0, k), superscript(k)});
    }
    return ticks;
  }
  // Steps of 1, 2 or 5 times a power of ten, four to eight of them.
  const double rough = (scale.high - scale.low) / 5.0, power = std::pow(10.0, std::floor(std::log10(rough)));
  const double digit = rough / power,
               step = power * (digit < 1.5 ? 1.0 : (digit < 3.5 ? 2.0 : (digit < 7.5 ? 5.0 : 10.0)));
  for (double k = std::ceil(scale.low / step - 1e-9) + 0.0; k * step <= scale.high + 1e-9 * step; k += 1.0)
    ticks.push_back({k * step, data_number(k * step + 0.0)});
  return ticks;
}

struct Frame {
  double left = 50, right = 16, top = 26, bottom = 38;
};

std::string draw_axes(const Plot& plot, const Scale& x, const Scale& y) {
  std::string out;
  for (const Tick& tick : make_ticks(x)) {
    const std::string at = number(x(tick.value));
    out += "<line class=\"grid\" stroke=\"#e9e9ee\" x1=\"" + at + "\" x2=\"" + at + "\" y1=\"" + number(y.pixel0) +
           "\" y2=\"" + number(y.pixel1) + "\"/><text x=\"" + at + "\" y=\"" + number(y.pixel0 + 15) +
           "\" text-anchor=\"middle\">" + tick.label + "</text>\n";
  }
  for (const Tick& tick : make_ticks(y)) {
    const std::string at = number(y(tick.value));
    out += "<line class=\"grid\" stroke=\"#e9e9ee\" x1=\"" + number(x.pixel0) + "\" x2=\"" + number(x.pixel1) +
           "\" y1=\"" + at + "\" y2=\"" + at + "\"/><text x=\"" + number(x.pixel0 - 6) + "\" y=\"" +
           number(y(tick.value) + 3.5) + "\" text-anchor=\"end\">" + tick.label + "</text>\n";
  }
  for (const double rule : plot.rules) {
    const std::string at = number(y(rule));
    out += "<line stroke=\"#9aa0ab\" stroke-dasharray=\"1.5 3\" x1=\"" + number(x.pixel0) + "\" x2=\"" +
           number(x.pixel1) + "\" y1=\"" + at + "\" y2=\"" + at + "\"/>\n";
  }
  out += "<rect fill=\"none\" stroke=\"#6b7280\" stroke-width=\"0.8\" x=\"" + number(x.pixel0) + "\" y=\"" +
         number(y.pixel1) + "\" width=\"" + number(x.pixel1 - x.pixel0) + "\" height=\"" + number(y.pixel0 - y.pixel1) +
         "\"/>\n";
  out += "<text x=\"" + number(0.5 * (x.pixel0 + x.pixel1)) + "\" y=\"" + number(y.pixel0 + 31) +
         "\" text-anchor=\"middle\">" + escape_xml(plot.x.label) + "</text>\n";
  const double middle = 0.5 * (y.pixel0 + y.pixel1);
  out += "<text transform=\"translate(12," + number(middle) + ") rotate(-90)\" text-anchor=\"middle\">" +
         escape_xml(plot.y.label) + "</text>\n";
  return out;
}

std::string draw_series(const Series& series, const Scale& x, const Scale& y) {
  const std::string colour = series.colour.empty() ? solver_colour(series.name) : series.colour;
  std::string path, data, dots;
  double last_y = 0.0;
  for (const Point& p : series.points) {
    if (!std::isfinite(p.x) || !std::isfinite(p.y)) continue;
    const double px = x(std::max(p.x, x.logarithmic ? 1e-300 : p.x)),
                 py = y(std::max(p.y, y.logarithmic ? 1e-300 : p.y));
    if (path.empty()) {
      path = "M" + number(px) + " " + number(py);
    } else {
      if (series.steps) path += "H" + number(px);
      if (!series.steps || py != last_y) path += series.steps ? "V" + number(py) : "L" + number(px) + " " + number(py);
    }
    last_y = py;
    data += (data.empty() ? "" : " ") + data_number(p.x) + "," + data_number(p.y);
    if (series.markers) {
      dots += "<circle cx=\"" + number(px) + "\" cy=\"" + number(py) + "\" r=\"2.6\" fill=\"" + colour + "\"/>";
    }
  }
  if (path.empty()) return "";
  const std::string dash = series.dashed ? " stroke-dasharray=\"5 3\"" : "";
  return "<path class=\"curve\" data-name=\"" + escape_xml(series.name) + "\" data-points=\"" + data +
         "\" fill=\"none\" stroke=\"" + colour + "\" stroke-width=\"1.7\" stroke-linejoin=\"round\"" + dash + " d=\"" +
         path + "\"/>" + dots + "\n";
}

std::string draw_band(const Series& series, const Scale& x, const Scale& y) {
  std::string path;
  const auto add = [&](const Point& p) {
    if (!std::isfinite(p.x) || !std::isfinite(p.y)) return;
    path += (path.empty() ? "M" : "L") + number(x(std::max(p.x, x.logarithmic ? 1e-300 : p.x))) + " " +
            number(y(std::max(p.y, y.logarithmic ? 1e-300 : p.y)));
  };
  for (const Point& p : series.low) add(p);
  for (std::size_t k = series.high.size(); k-- > 0;) add(series.high[k]);
  if (path.empty()) return "";
  const std::string colour = series.colour.empty() ? solver_colour(series.name) : series.colour;
  return "<path fill=\"" + colour + "\" fill-opacity=\"0.13\" stroke=\"none\" d=\"" + path + "Z\"/>\n";
}

/// Entries in rows below the title, as many per row as fit.
std::string draw_legend(const Plot& plot, double left, double top, double width, double* height) {
  std::string out;
  double at_x = left, at_y = top;
  for (const Series& s : plot.series) {
    const double entry = 36.0 + 6.4 * static_cast<double>(s.name.size());
    if (at_x > left && at_x + entry > left + width) {
      at_x = left;
      at_y += 14.0;
    }
    const std::string colour = s.colour.empty() ? solver_colour(s.name) : s.colour;
    out += "<line x1=\"" + number(at_x) + "\" x2=\"" + number(at_x + 18) + "\" y1=\"" + number(at_y - 3.5) +
           "\" y2=\"" + number(at_y - 3.5) + "\" stroke=\"" + colour + "\" stroke-width=\"2.2\"" +
           (s.dashed ? " stroke-dasharray=\"5 3\"" : "") + "/><text x=\"" + number(at_x + 22) + "\" y=\"" +
           number(at_y) + "\">" + escape_xml(s.name) + "</text>\n";
    at_x += entry;
  }
  *height = plot.series.empty() ? 0.0 : at_y - top + 14.0;
  return out;
}

/// The edge of what the points reach: at every x the least y so far. Its corners are the points that none beats in
/// both.
std::string draw_front(const Plot& plot, const Scale& x, const Scale& y) {
  std::vector<Point> points;
  for (const Series& series : plot.series)
    if (!series.points.empty()) points.push_back(series.points.front());
  std::sort(points.begin(), points.end(),
            [](const Point& a, const Point& b) { return a.x != b.x ? a.x < b.x : a.y < b.y; });
  std::string path;
  double best = kInfinity;
  for (const Point& p : points) {
    if (p.y >= best) continue;
    path +=
        (path.empty() ? "M" + number(x(p.x)) + " " + number(y.pixel1) : "H" + number(x(p.x))) + "V" + number(y(p.y));
    best = p.y;
  }
  if (path.empty()) return "";
  return "<path class=\"front\" fill=\"none\" stroke=\"#9aa0ab\" stroke-width=\"0.9\" stroke-dasharray=\"4 2\" d=\"" +
         path + "H" + number(x.pixel1) + "\"/>\n";
}

/// A rectangle that is taken: a point or a name.
struct Area {
  double left, right, top, bottom;

  [[nodiscard]] bool meets(const Area& other) const {
    return left < other.right && other.left < right && top < other.bottom && other.top < bottom;
  }
};

/// Where a name has room near its point: right or left of it, in its row or the rows below and above.
Area place_name(double px, double py, double width, const Area& frame, const std::vector<Area>& taken) {
  constexpr double kHeight = 11.0, kGap = 6.0;
  const auto at = [&](bool left, double row) {
    const double start = left ? px - kGap - width : px + kGap, middle = py + kHeight * row;
    return Area{start, start + width, middle - 0.5 * kHeight, middle + 0.5 * kHeight};
  };
  const auto fits = [&](const Area& area) {
    if (area.left < frame.left || area.right > frame.right || area.top < frame.top || area.bottom > frame.bottom)
      return false;
    return std::none_of(taken.begin(), taken.end(), [&](const Area& other) { return area.meets(other); });
  };
  for (int k = 0; k < 24; ++k)  // here, below, above, farther below, ...
    for (const bool left : {false, true}) {
      const Area area = at(left, (k % 2 == 1 ? 1.0 : -1.0) * ((k + 1) / 2));
      if (fits(area)) return area;
    }
  return at(px + kGap + width > frame.right, 0.0);
}

/// Names beside the first points, where they cover neither each other nor a point; one that is a row or more away has a
/// line to its point.
std::string draw_names(const Plot& plot, const Scale& x, const Scale& y) {
  constexpr double kLetter = 6.0, kRadius = 5.0;
  const Area frame{x.pixel0, x.pixel1, y.pixel1, y.pixel0};
  std::vector<Area> taken;
  for (const Series& series : plot.series)
    if (!series.points.empty()) {
      const double px = x(series.points.front().x), py = y(series.points.front().y);
      taken.push_back({px - kRadius, px + kRadius, py - kRadius, py + kRadius});
    }
  std::string lines, names;
  for (const Series& series : plot.series) {
    if (series.points.empty()) continue;
    const double px = x(series.points.front().x), py = y(series.points.front().y);
    const Area area = place_name(px, py, kLetter * static_cast<double>(series.name.size()), frame, taken);
    taken.push_back(area);
    const bool left = area.right < px;
    const double middle = 0.5 * (area.top + area.bottom);
    const std::string colour = series.colour.empty() ? solver_colour(series.name) : series.colour;
    if (std::abs(middle - py) > 1.0)
      lines += "<line stroke=\"" + colour + "\" stroke-width=\"0.6\" opacity=\"0.6\" x1=\"" + number(px) + "\" y1=\"" +
               number(py) + "\" x2=\"" + number(left ? area.right : area.left) + "\" y2=\"" + number(middle) + "\"/>\n";
    names += "<circle cx=\"" + number(px) + "\" cy=\"" + number(py) + "\" r=\"4\" fill=\"" + colour + "\"/><text x=\"" +
             number(left ? area.right : area.left) + "\" y=\"" + number(middle + 3.5) +
             (left ? "\" text-anchor=\"end" : "") + "\" fill=\"" + colour +
             "\" stroke=\"#fff\" stroke-width=\"3\" paint-order=\"stroke\">" + escape_xml(series.name) + "</text>\n";
  }
  return lines + names;
}

std::string shorten(const std::string& text, std::size_t most) {
  return text.size() <= most ? text : text.substr(0, most - 1) + "\u2026";
}

std::string draw_inside(const Plot& plot) {
  Frame frame;
  std::string out, legend;
  if (plot.legend && !plot.names) {
    double height = 0.0;
    legend = draw_legend(plot, frame.left, frame.top + 10.0, plot.width - frame.left - frame.right, &height);
    frame.top += height + 2.0;
  }
  const Scale x = make_scale(plot.x, plot.series, &Point::x, frame.left, plot.width - frame.right, plot.names);
  const Scale y = make_scale(plot.y, plot.series, &Point::y, plot.height - frame.bottom, frame.top, plot.names);
  out += "<rect width=\"" + std::to_string(plot.width) + "\" height=\"" + std::to_string(plot.height) +
         "\" fill=\"#fff\"/>\n";
  out += "<text x=\"" + number(frame.left) + "\" y=\"16\" font-size=\"12.5\" font-weight=\"600\" fill=\"#111827\">" +
         escape_xml(shorten(plot.title, plot.subtitle.empty() ? 48 : 30)) + "</text>\n";
  out += "<text x=\"" + number(plot.width - frame.right) + "\" y=\"16\" text-anchor=\"end\" fill=\"#6b7280\">" +
         escape_xml(plot.subtitle) + "</text>\n" + legend + draw_axes(plot, x, y);
  // The first series is the one to look at: drawn last, on top.
  for (const Series& series : plot.series) out += draw_band(series, x, y);
  if (plot.names) out += draw_front(plot, x, y);
  for (std::size_t k = plot.series.size(); k-- > 0;) out += draw_series(plot.series[k], x, y);
  if (plot.names) out += draw_names(plot, x, y);
  // What a page needs to turn pointer positions into data.
  out += "<g class=\"frame\" data-x=\"" + number(x.pixel0) + "," + number(x.pixel1) + "," + data_number(x.low) + "," +
         data_number(x.high) + "," + (x.logarithmic ? "1" : "0") + "\" data-y=\"" + number(y.pixel0) + "," +
         number(y.pixel1) + "\"/>\n";
  return out;
}

std::string open_svg(int width, int height) {
  const std::string w = std::to_string(width), h = std::to_string(height);
  return "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 " + w + " " + h + "\" width=\"" + w + "\" height=\"" +
         h +
         "\" font-family=\"system-ui, 'DejaVu Sans', Helvetica, sans-serif\" font-size=\"10.5\" fill=\"#374151\">\n";
}

}  // namespace

std::string escape_xml(const std::string& text) {
  std::string out;
  for (const char c : text) {
    switch (c) {
      case '&':
        out += "&amp;";
        break;
      case '<':
        out += "&lt;";
        break;
      case '>':
        out += "&gt;";
        break;
      case '"':
        out += "&quot;";
        break;
      case '\'':
        out += "&#39;";
        break;
      default:
        out += c;
    }
  }
  return out;
}

bool is_peer_name(const std::string& name) { return name.rfind("siconos", 0) == 0 || name.rfind("pinocchio", 0) == 0; }

std::string solver_colour(const std::string& name) {
  for (const auto& [known, colour] : kColours) {
    if (name == known) return colour;
  }
  return "#111827";
}

std::string to_svg(const Plot& plot) { return open_svg(plot.width, plot.height) + draw_inside(plot) + "</svg>"; }

std::string to_sheet(const std::vector<Plot>& plots, int columns) {
  int width = 0, height = 0, row_height = 0, column = 0, x = 0, y = 0;
  std::string inside;
  for (const Plot& plot : plots) {
    if (column == columns) {
      x = column = 0;
      y += row_height;
      row_height = 0;
    }
    inside += "<g transform=\"translate(" + std::to_string(x) + "," + std::to_string(y) + ")\">\n" + draw_inside(plot) +
              "</g>\n";
    x += plot.width;
    ++column;
    row_height = std::max(row_height, plot.height);
    width = std::max(width, x);
    height = y + row_height;
  }
  return open_svg(std::max(width, 1), std::max(height, 1)) + inside + "</svg>";
}

std::string to_png(const std::string& svg) {
  const TemporaryFolder folder;
  const std::string source = folder.path() + "/plot.svg", target = folder.path() + "/plot.png";
  write_file(source, svg);
  const ProcessResult result =
      run_process({"rsvg-convert", "--zoom", "2", "--background-color", "white", "--output", target, source}, 60e3);
  require(result.started, "cannot draw a PNG: the program rsvg-convert is not installed (Debian package librsvg2-bin)");
  require(result.exit_code == 0, "cannot draw a PNG: rsvg-convert failed: " + result.errors);
  return read_file(target);
}

}  // namespace almond::bench
