#include "bench/summary.hpp"

#include <algorithm>
#include <cmath>

#include "almond/base/check.hpp"
#include "bench/process.hpp"

namespace almond::bench {
namespace {

constexpr std::size_t kMostInLegend = 5;  // more curves share one legend on the page

bool contains(const std::vector<std::string>& names, const std::string& name) {
  return std::find(names.begin(), names.end(), name) != names.end();
}

bool starts_with(const std::string& text, const std::string& prefix) { return text.rfind(prefix, 0) == 0; }

std::string counts_text(const std::array<int, 3>& counts) {
  return std::to_string(counts[0]) + " / " + std::to_string(counts[1]) + " / " + std::to_string(counts[2]);
}

std::string limit_text(double ms) {
  return ms >= 1000.0 ? almond::to_text(1e-3 * ms) + " s" : almond::to_text(ms) + " ms";
}

}  // namespace

std::vector<std::string> problem_names(const std::vector<Run>& runs) {
  std::vector<std::string> names;
  for (const Run& run : runs) {
    if (!contains(names, run.problem)) names.push_back(run.problem);
  }
  return names;
}

std::vector<std::string> solver_names(const std::vector<Run>& runs) {
  std::vector<std::string> names;
  for (const Run& run : runs) {
    if (!contains(names, run.solver)) names.push_back(run.solver);
  }
  return names;
}

const Run* find_run(const std::vector<Run>& runs, const std::string& problem, const std::string& solver) {
  for (const Run& run : runs) {
    if (run.problem == problem && run.solver == solver) return &run;
  }
  return nullptr;
}

Table summary_table(const std::vector<Run>& runs, double budget_ms) {
  const std::array<double, 3> limits = {0.01 * budget_ms, 0.1 * budget_ms, budget_ms};
  Table table{"summary",
              "Solved problems and mean times",
              "Problems at natural map 1e-3 / 1e-6 / 1e-9 within each time; geometric mean of the time to each target "
              "[ms], where "
              "an unsolved problem counts as the budget. Cold start, one thread.",
              {"solver", "problems"},
              {}};
  for (const double limit : limits) table.columns.push_back("in " + limit_text(limit));
  for (const char* column : {"mean to 1e-3", "mean to 1e-6", "mean to 1e-9", "not solved", "crashed or hung"}) {
    table.columns.push_back(column);
  }
  for (const std::string& solver : solver_names(runs)) {
    std::array<std::array<int, 3>, 3> solved{};
    std::array<std::vector<double>, 3> times;
    int problems = 0, unsolved = 0, failures = 0;
    for (const Run& run : runs) {
      if (run.solver != solver) continue;
      ++problems;
      unsolved += run.to_natural[2] > budget_ms ? 1 : 0;
      failures += run.failure.empty() || run.failure == kTooLarge ? 0 : 1;
      for (std::size_t t = 0; t < 3; ++t) {
        times[t].push_back(std::min(run.to_natural[t], budget_ms));
        for (std::size_t k = 0; k < 3; ++k) solved[k][t] += run.to_natural[t] <= limits[k] ? 1 : 0;
      }
    }
    std::vector<Cell> row = {text_cell(solver), count_cell(problems)};
    for (const auto& counts : solved) row.push_back(text_cell(counts_text(counts)));
    for (const auto& values : times) row.push_back(time_cell(geometric_mean(values)));
    row.push_back(count_cell(unsolved, unsolved > 0 ? Tone::kBad : Tone::kGood));
    row.push_back(count_cell(failures, failures > 0 ? Tone::kBad : Tone::kQuiet));
    table.rows.push_back(std::move(row));
  }
  return table;
}

Table times_table(const std::vector<Run>& runs) {
  Table table{
      "times",
      "Time to natural map 1e-9, problem by problem",
      "Milliseconds; where a solver does not get there within the budget, the best natural map it reached, in red.",
      {"problem", "contacts", "dofs"},
      {}};
  const std::vector<std::string> solvers = solver_names(runs);
  table.columns.insert(table.columns.end(), solvers.begin(), solvers.end());
  for (const std::string& problem : problem_names(runs)) {
    std::vector<Cell> row;
    for (const std::string& solver : solvers) {
      const Run* run = find_run(runs, problem, solver);
      if (run != nullptr && row.empty()) row = {text_cell(problem), count_cell(run->contacts), count_cell(run->dofs)};
      if (run == nullptr) {
        row.push_back(text_cell("", Tone::kQuiet));
      } else if (std::isfinite(run->to_natural[2])) {
        row.push_back(time_cell(run->to_natural[2]));
      } else if (run->curve.empty()) {
        row.push_back(text_cell(run->failure.empty() ? "no result" : run->failure, Tone::kBad));
      } else {
        // The colour says it is a residual; as a number it sorts behind every time.
        Cell cell = residual_cell(run->curve.back().natural_map, Tone::kBad);
        cell.value = kNaN;
        row.push_back(std::move(cell));
      }
    }
    table.rows.push_back(std::move(row));
  }
  return table;
}

Table runs_table(const std::vector<Run>& runs) {
  Table table{"runs",
              "All runs",
              "Status is the solver's own word; residual (paper, Sec. VII) and natural map are of the answer it "
              "returned, computed "
              "alike for all. Times in ms.",
              {"problem", "solver", "contacts", "dofs", "status", "iterations", "newton steps", "time", "residual",
               "natural map", "to 1e-3", "to 1e-6", "to 1e-9", "to residual 1e-8"},
              {}};
  for (const Run& run : runs) {
    const bool good = run.certificate.natural_map <= kNaturalTargets[2];
    const std::string status = run.peer ? (run.failure.empty() ? "ran" : run.failure) : to_string(run.status);
    const Tone tone = run.peer ? (run.failure.empty() ? Tone::kPlain : Tone::kBad)
                               : (run.status == Status::kSolved ? Tone::kGood : Tone::kBad);
    table.rows.push_back({text_cell(run.problem), text_cell(run.solver), count_cell(run.contacts), count_cell(run.dofs),
                          text_cell(status, tone), count_cell(run.iterations), count_cell(run.newton_steps),
                          time_cell(run.time_ms), residual_cell(run.certificate.residual),
                          residual_cell(run.certificate.natural_map, good ? Tone::kGood : Tone::kBad),
                          time_cell(run.to_natural[0]), time_cell(run.to_natural[1]), time_cell(run.to_natural[2]),
                          time_cell(run.to_residual)});
  }
  return table;
}

std::vector<PeerRatio> peer_ratios(const std::vector<Run>& runs, const std::string& solver,
                                   const std::string& peer_prefix, double budget_ms) {
  std::vector<PeerRatio> ratios;
  for (const std::string& problem : problem_names(runs)) {
    PeerRatio entry;
    entry.problem = problem;
    bool has_own = false, has_peer = false, had_time = false;
    for (const Run& run : runs) {
      if (run.problem != problem) continue;
      const double time = run.to_natural[2] <= budget_ms ? run.to_natural[2] : kNever;
      if (run.solver == solver) {
        has_own = true;
        entry.contacts = run.contacts;
        entry.own_ms = time;
      } else if (run.peer && starts_with(run.solver, peer_prefix)) {
        has_peer = true;
        if (run.failure == kInterruptedText) entry.unknown = run.solver + ": " + run.failure;
        if (!run.had_its_time() && !std::isfinite(time)) {
          entry.failed += (entry.failed.empty() ? "" : "; ") + run.solver + ": " + run.failure;
          continue;
        }
        had_time = true;
        if (time < entry.peer_ms) {
          entry.peer_ms = time;
          entry.best_peer = run.solver;
        }
      }
    }
    if (!has_own || !has_peer) continue;
    if (entry.unknown.empty() && !had_time) entry.unknown = entry.failed;
    if (!entry.unknown.empty()) {
      entry.best_peer.clear();
      entry.peer_ms = kNaN;
    } else if (std::isfinite(entry.own_ms) || std::isfinite(entry.peer_ms)) {
      entry.ratio = std::min(entry.peer_ms, budget_ms) / std::min(entry.own_ms, budget_ms);
    }
    ratios.push_back(std::move(entry));
  }
  return ratios;
}

Table ratio_table(const std::vector<PeerRatio>& ratios, const std::string& solver, const std::string& group) {
  Table table{"ratios",
              solver + " against the best of " + group,
              "Time to natural map 1e-9 [ms]. A side that does not get there counts as the budget, so a ratio marked "
              ">= is a lower "
              "bound.",
              {"problem", "contacts", solver, "best peer", "its time", "times faster"},
              {}};
  for (const PeerRatio& r : ratios) {
    if (!r.unknown.empty()) {
      const Cell nothing = text_cell("-", Tone::kQuiet);
      table.rows.push_back({text_cell(r.problem), count_cell(r.contacts), time_cell(r.own_ms),
                            text_cell(r.unknown, Tone::kQuiet), nothing, nothing});
      continue;
    }
    Cell ratio = ratio_cell(r.ratio, r.ratio >= 1.0 ? Tone::kGood : Tone::kBad);
    if (std::isfinite(r.ratio) && !std::isfinite(r.peer_ms)) ratio.text = ">= " + ratio.text;
    table.rows.push_back({text_cell(r.problem), count_cell(r.contacts), time_cell(r.own_ms),
                          r.best_peer.empty() ? text_cell("none solves it", Tone::kBad) : text_cell(r.best_peer),
                          time_cell(r.peer_ms), std::move(ratio)});
  }
  return table;
}

Plot performance_profile(const std::vector<Run>& runs, double target, double budget_ms) {
  Plot plot;
  char title[80];
  std::snprintf(title, sizeof title, "Performance profile, natural map %.0e", target);
  plot.title = title;
  plot.x = {"times slower than the fastest", true, 1.0, 1000.0};
  plot.y = {"share of problems", false, 0.0, 1.0};
  plot.height = 340;
  const std::vector<std::string> problems = problem_names(runs);
  for (const std::string& solver : solver_names(runs)) {
    std::vector<double> ratios;
    int count = 0;
    for (const std::string& problem : problems) {
      double best = kNever, own = kNever;
      bool present = false;
      for (const Run& run : runs) {
        if (run.problem != problem) continue;
        const double time = time_to_natural(run.curve, target);
        if (time <= budget_ms) best = std::min(best, time);
        if (run.solver == solver) {
          present = true;
          if (time <= budget_ms) own = time;
        }
      }
      if (!present) continue;
      ++count;  // also what nobody solves
      if (std::isfinite(own)) ratios.push_back(std::max(own, 1e-6) / std::max(best, 1e-6));
    }
    std::sort(ratios.begin(), ratios.end());
    Series series;
    series.name = solver;
    series.dashed = is_peer_name(solver);
    if (count > 0) series.points.push_back({1.0, 0.0});
    for (std::size_t k = 0; k < ratios.size(); ++k) {
      series.points.push_back({ratios[k], static_cast<double>(k + 1) / count});
    }
    if (!series.points.empty()) series.points.push_back({1000.0, series.points.back().y});
    plot.series.push_back(std::move(series));
  }
  return plot;
}

std::vector<Plot> curve_plots(const std::vector<Run>& runs, double budget_ms) {
  std::vector<Plot> plots;
  for (const std::string& problem : problem_names(runs)) {
    Plot plot;
    plot.x = {"time [ms]", true, 0.0, 0.0};
    plot.y = {"natural map", true, 1e-12, 1e1};
    plot.rules = {1e-9};
    double first = budget_ms, last = 0.0;
    for (const Run& run : runs) {
      if (run.problem != problem) continue;
      if (plot.title.empty()) {
        plot.title = problem;
        plot.subtitle = std::to_string(run.contacts) + " contacts, " + std::to_string(run.dofs) + " dofs";
      }
      Series series = natural_series(run);
      if (series.points.empty()) continue;
      first = std::min(first, series.points.front().x);
      last = std::max(last, series.points.back().x);
      plot.series.push_back(std::move(series));
    }
    plot.legend = plot.series.size() <= kMostInLegend;
    plot.x.low = std::pow(10.0, std::floor(std::log10(std::max(first, 1e-3))));
    plot.x.high =
        std::max(10.0 * plot.x.low, std::min(budget_ms, std::pow(10.0, std::ceil(std::log10(std::max(last, 1e-2))))));
    plots.push_back(std::move(plot));
  }
  return plots;
}

}  // namespace almond::bench
