// Runs of engines as tables and plots.

#include <algorithm>
#include <cmath>
#include <cstdio>

#include "bench/paper.hpp"
#include "bench/peer_bench.hpp"

namespace almond::bench {
namespace {

Cell plain_cell(double value) {
  if (std::isnan(value)) return {"-", kNaN, Tone::kQuiet};
  char buffer[48];
  std::snprintf(buffer, sizeof buffer, "%.3g", value);
  return {buffer, value, Tone::kPlain};
}

/// A run without a time has its reason in the note.
Cell step_cell(double ms) { return std::isfinite(ms) ? time_cell(ms) : plain_cell(kNaN); }

Cell spread_cell(const Spread& spread, Tone tone) {
  if (std::isnan(spread.middle)) return plain_cell(kNaN);
  return {to_text(spread), spread.middle, tone};
}

Cell figure_cell(const PeerRun& run, const PeerColumn& column) {
  const double value = run.at(column.figure);
  if (std::isnan(value)) return plain_cell(value);
  if (column.kind == PeerColumn::kYes) return value != 0.0 ? text_cell("yes", Tone::kBad) : text_cell("no");
  return column.kind == PeerColumn::kResidual && value != 0.0 ? residual_cell(value) : plain_cell(value);
}

/// Whose numbers they are.
std::string caption_of(const PeerPart& part) {
  bool residuals = false, own = false;
  for (const PeerColumn& column : part.columns) {
    residuals = residuals || std::string(column.title).find("e0") != std::string::npos;
    own = own || std::string(column.figure).rfind("certificate", 0) == 0;
  }
  std::string text = part.timed ? std::string("Almond and ") + part.rival +
                                      " take turns where runs are short: their times are medians of three passes, and "
                                      "the ratio stands with its least and most. "
                                : "";
  if (residuals) text += "Residuals are the referee's: one formula on each engine's own impulses and velocities. ";
  if (own)
    text +=
        "\u201cAlmond reports\u201d is not the referee's but what Almond's solver says of the problem it was given; a "
        "push "
        "out of an overlap belongs to that problem, and counts as an error in e0.";
  return text;
}

std::string colour_of(const std::string& engine) { return find_engine(engine).colour; }

int balls_of(const std::string& scene) { return std::stoi(scene.substr(std::string("growth").size())); }

/// On an incline creep is the error, of what slides that it leaves the ground.
std::string error_label(const PeerPart& part, const PeerRun& run) {
  if (std::string(part.error.figure) != "judged.error") return part.error.title;
  return run.has("judged.creep_mm_s") ? "creep [mm/s]" : "lift [mm]";
}

}  // namespace

std::string note_of(const PeerRun& run) {
  if (!run.failure.empty()) return run.failure;
  if (run.at("blow_ups") > 0.0) return "blew up: after that its figures mean little";
  if (run.at("judged.finite") == 0.0) return "its numbers ran away";
  if (run.at("cut") == 1.0) return "cut by the time limit after " + count_cell(run.at("steps")).text + " steps";
  return "";
}

bool was_left_out(const PeerRun& run) { return run.failure.rfind("left out", 0) == 0; }

bool was_spared(const PeerRun& run) { return run.failure.rfind("spared", 0) == 0; }

const PeerRun* find_peer(const PeerRuns& runs, const std::string& scene, const std::string& engine) {
  const auto found = std::find_if(runs.begin(), runs.end(), [&](const PeerRun& run) {
    return run.scene == scene && run.engine == engine && run.failure.empty();
  });
  return found == runs.end() ? nullptr : &*found;
}

Spread time_ratio(const PeerPart& part, const PeerRuns& runs, const std::string& scene) {
  const PeerRun *own = find_peer(runs, scene, "almond"), *rival = find_peer(runs, scene, part.rival);
  const std::string figure = std::string(part.time) + ".median";
  return own == nullptr || rival == nullptr ? Spread{} : ratio_of(*own, figure, *rival, figure);
}

Spread p95_by_median(const PeerPart& part, const PeerRun& run) {
  const std::string time = part.time;
  return ratio_of(run, time + ".p95", run, time + ".median");
}

Table peer_table(const PeerPart& part, const PeerRuns& runs) {
  const std::string rival = part.rival, median = std::string(part.time) + ".median";
  Table table{part.name,
              part.title,
              caption_of(part),
              {"scene", "engine", "median [ms]", "p95 [ms]", "p95 / median", "time / " + rival},
              {},
              2};
  for (const PeerColumn& column : part.columns) table.columns.emplace_back(column.title);
  table.columns.emplace_back("note");
  for (const PeerRun& run : runs) {
    const PeerRun* other = find_peer(runs, run.scene, rival);
    const Spread ratio = other == nullptr         ? Spread{}
                         : run.engine == "almond" ? time_ratio(part, runs, run.scene)
                                                  : Spread{run.at(median) / other->at(median)};
    const Tone tone = run.engine != "almond" || std::isnan(ratio.middle) || ratio.straddles(1.0) ? Tone::kPlain
                      : ratio.middle <= 1.0                                                      ? Tone::kGood
                                                                                                 : Tone::kBad;
    std::vector<Cell> row = {text_cell(run.scene),
                             text_cell(run.engine),
                             step_cell(run.at(median)),
                             step_cell(run.at(std::string(part.time) + ".p95")),
                             ratio_cell(p95_by_median(part, run).middle),
                             spread_cell(ratio, tone)};
    for (const PeerColumn& column : part.columns) row.push_back(figure_cell(run, column));
    const std::string note = note_of(run);
    const bool quiet = was_left_out(run) || was_spared(run);
    row.push_back(text_cell(note, note.empty() ? Tone::kPlain : quiet ? Tone::kQuiet : Tone::kBad));
    table.rows.push_back(std::move(row));
  }
  return table;
}

void add_peer_plots(const PeerPart& part, const PeerRuns& runs, Report& report) {
  if (std::string(part.error.figure).empty()) return;
  constexpr double kFloor = 1e-12;  // what is zero is drawn here
  for (const std::string& scene : part.scenes) {
    Plot plot;
    plot.title = scene + (std::string(part.time) == "cpu" ? "" : ", cold");
    plot.subtitle = "left and low is good, dashed: the front";
    plot.x.label = std::string("median ") + (std::string(part.time) == "cpu" ? "step" : "solve") + " [ms]";
    bool zeros = false;
    plot.names = true;
    for (const PeerRun& run : runs) {
      const double time = run.at(std::string(part.time) + ".median"), error = std::abs(run.at(part.error.figure));
      if (run.scene != scene || !run.failure.empty() || !std::isfinite(time) || !std::isfinite(error)) continue;
      if (run.at("blow_ups") > 0.0 || run.at("judged.finite") == 0.0) continue;  // nowhere near a front
      Series series;
      series.name = run.engine;
      series.points = {{time, std::max(error, kFloor)}};
      plot.y.label = error_label(part, run);
      zeros = zeros || error < kFloor;
      series.colour = colour_of(run.engine);
      series.markers = true;
      series.steps = false;
      plot.series.push_back(std::move(series));
    }
    if (zeros) plot.y.label += " (0 at 1e-12)";
    if (plot.series.size() > 1) add_plot(plot, std::string(part.name) + "_" + scene, report);
  }
}

namespace {

/// Over all sizes, and where steps cost what the solver is allowed to spend; a run that saw too few sizes claims
/// nothing.
void claim_growth(const PeerPart& part, double p, double late, std::size_t sizes, const std::string& unsolved,
                  Report& report) {
  constexpr double kMost = 1.1;
  if (sizes == part.scenes.size())
    report.add_claim("the time of a step grows no faster than the number of balls",
                     "exponent at most 1.1, over all sizes", plain_cell(p).text, p <= kMost,
                     "heaps that land end many steps at the limit of their work instead of the law (not solved: " +
                         unsolved + "), so it is that of limited steps");
  if (!std::isnan(late))
    report.add_claim("nor from 1000 balls on", "exponent at most 1.1", plain_cell(late).text, late <= kMost, "",
                     late <= kMost ? ""
                                   : "every visit of a contact takes longer where the caches no longer hold them: see "
                                     "docs/performance.md");
}

}  // namespace

void add_growth(const PeerPart& part, const PeerRuns& runs, Report& report) {
  Plot plot;
  plot.title = "Time per step by balls";
  plot.x.label = "balls";
  plot.y.label = "median step [ms]";
  constexpr double kLarge = 1000.0;  // below, steps may all cost what the solver is allowed to spend
  Table exponents{"exponents",
                  "Exponent p of time ~ balls^p",
                  "Of runs that were not cut by the time limit.",
                  {"engine", "p", "p from 1000 balls on", "from [balls]", "to [balls]"},
                  {}};
  for (const std::string& engine : part.engines) {
    Series series;
    series.name = engine;
    series.colour = colour_of(engine);
    series.markers = true;
    series.steps = false;
    for (const std::string& scene : part.scenes)
      if (const PeerRun* run = find_peer(runs, scene, engine);
          run != nullptr && run->has("cpu.median") && run->at("cut") != 1.0)
        series.points.push_back({static_cast<double>(balls_of(scene)), run->at("cpu.median")});
    if (series.points.size() < 2) continue;
    std::vector<Point> large;
    for (const Point& point : series.points)
      if (point.x >= kLarge) large.push_back(point);
    const double p = fit_exponent(series.points), late = large.size() > 1 ? fit_exponent(large) : kNaN;
    exponents.rows.push_back({text_cell(engine), plain_cell(p), plain_cell(late), count_cell(series.points.front().x),
                              count_cell(series.points.back().x)});
    std::string unsolved;
    for (const std::string& scene : part.scenes)
      if (const PeerRun* run = find_peer(runs, scene, engine); run != nullptr)
        unsolved += (unsolved.empty() ? "" : ", ") + count_text(static_cast<std::size_t>(run->at("unsolved")),
                                                                static_cast<std::size_t>(run->at("steps")), {});
    if (engine == "almond") claim_growth(part, p, late, series.points.size(), unsolved, report);
    plot.series.push_back(std::move(series));
  }
  if (!plot.series.empty()) add_plot(plot, "growth", report);
  if (!exponents.rows.empty()) report.tables.push_back(std::move(exponents));
}

}  // namespace almond::bench
