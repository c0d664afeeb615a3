// The targets that are measured on problem files: see docs/commands.md for their wording.

#include <algorithm>
#include <cctype>
#include <cmath>

#include "bench/benches.hpp"
#include "bench/summary.hpp"

namespace almond::bench {
namespace {

bool named(const std::string& problem, std::initializer_list<const char*> parts) {
  std::string lower = problem;
  std::transform(lower.begin(), lower.end(), lower.begin(),
                 [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  return std::any_of(parts.begin(), parts.end(),
                     [&](const char* part) { return lower.find(part) != std::string::npos; });
}

bool is_open_prize(const std::string& problem) { return named(problem, {"rockpile", "spheres1000"}); }
/// Where lagged-p CANAL may stall.
bool is_loose_pile(const std::string& problem) {
  return named(problem, {"cup", "grip", "spheres45", "spheres200", "spheres1000"});
}
bool is_large_pile(const std::string& problem) { return named(problem, {"rockpile", "spheres200", "spheres1000"}); }

bool solved_by_anyone(const std::vector<Run>& runs, const std::string& problem) {
  return std::any_of(runs.begin(), runs.end(),
                     [&](const Run& run) { return run.problem == problem && std::isfinite(run.to_natural[2]); });
}

/// Counts how many of the runs pass, and names the others.
template <class Select, class Pass>
void count_claim(const std::vector<const Run*>& runs, Select select, Pass pass, const std::string& claim,
                 const std::string& expected, Report& report) {
  std::size_t all = 0, good = 0;
  std::vector<std::string> missing;
  for (const Run* run : runs) {
    if (!select(*run)) continue;
    ++all;
    if (pass(*run)) {
      ++good;
    } else {
      missing.push_back(run->problem + " (" + residual_cell(run->certificate.natural_map).text + ", " +
                        time_cell(run->time_ms).text + " ms)");
    }
  }
  if (all > 0) report.add_claim(claim, expected, count_text(good, all, missing), good == all);
}

std::vector<const Run*> runs_of(const std::vector<Run>& runs, const std::vector<std::string>& feasible,
                                const std::string& solver) {
  std::vector<const Run*> out;
  for (const std::string& problem : feasible) {
    if (const Run* run = find_run(runs, problem, solver)) out.push_back(run);
  }
  return out;
}

void add_auto_claims(const std::vector<const Run*>& runs, Report& report) {
  count_claim(
      runs, [](const Run& r) { return !is_open_prize(r.problem); },
      [](const Run& r) { return r.solved_within(1000.0); },
      "auto: residual 1e-8 and natural map 1e-9 on every feasible problem", "all within 1 s", report);
  count_claim(
      runs, [](const Run& r) { return !is_open_prize(r.problem) && r.contacts <= 300; },
      [](const Run& r) { return r.solved_within(100.0); }, "auto: the same with at most 300 contacts",
      "all within 0.1 s", report);
  for (const Run* run : runs) {
    if (!is_open_prize(run->problem)) continue;
    const double time = run->to_natural[1];
    report.add_claim(
        "auto: natural map 1e-6 on " + run->problem, "within 1 s",
        std::isfinite(time)
            ? time_cell(time).text + " ms"
            : "not reached, best " + residual_cell(run->curve.empty() ? kNaN : run->curve.back().natural_map).text,
        time <= 1000.0);
  }
}

void add_canal_claims(const std::vector<const Run*>& runs, Report& report) {
  count_claim(
      runs, [](const Run& r) { return !is_loose_pile(r.problem) && !is_open_prize(r.problem); },
      [](const Run& r) { return r.solved_within(1000.0); },
      "canal: residual 1e-8 and natural map 1e-9 on all but cups, grippers and sphere piles", "all within 1 s", report);
  count_claim(
      runs, [](const Run& r) { return !r.solved_within(1000.0); },
      [](const Run& r) { return r.status != Status::kSolved; }, "canal: where it stalls, it says so",
      "no such run is called solved", report);
}

void add_siconos_claims(const std::vector<Run>& runs, const BenchOptions& options, bool has_siconos, Report& report) {
  const std::string mean_claim =
      "auto against the best Siconos solver of each problem, time to natural map 1e-9, geometric mean";
  const std::string worst_claim = "auto never slower than the best Siconos solver on problems with 20 or more contacts";
  if (!has_siconos) {
    report.notes.push_back("Siconos did not run: the two targets against it were not measured");
    return;
  }
  const std::vector<PeerRatio> ratios = peer_ratios(runs, "auto", "siconos", options.budget());
  std::vector<double> values, both;
  const PeerRatio* worst = nullptr;
  std::size_t large = 0, slower = 0;
  for (const PeerRatio& r : ratios) {
    if (std::isnan(r.ratio)) continue;
    values.push_back(r.ratio);
    if (std::isfinite(r.own_ms) && std::isfinite(r.peer_ms)) both.push_back(r.ratio);
    if (r.contacts < 20) continue;
    ++large;
    slower += r.ratio < 1.0 ? 1 : 0;
    if (worst == nullptr || r.ratio < worst->ratio) worst = &r;
  }
  const double mean = geometric_mean(values);
  report.add_claim(mean_claim, "at least 10x faster",
                   ratio_cell(mean).text + " over " + std::to_string(values.size()) +
                       " problems (unsolved counts as the budget); " + ratio_cell(geometric_mean(both)).text +
                       " over the " + std::to_string(both.size()) + " both solve",
                   mean >= 10.0);
  if (worst != nullptr) {
    report.add_claim(worst_claim, "every ratio >= 1",
                     std::to_string(large - slower) + " of " + std::to_string(large) + "; smallest ratio " +
                         ratio_cell(worst->ratio).text + " (" + worst->problem + ")",
                     slower == 0);
  }
  report.tables.push_back(ratio_table(ratios, "auto", "Siconos"));
}

}  // namespace

void add_file_claims(const std::vector<Run>& runs, const BenchOptions& options, bool has_siconos, Report& report,
                     Alarms& alarms) {
  std::vector<std::string> feasible;
  for (const std::string& problem : problem_names(runs)) {
    const Run* automatic = find_run(runs, problem, "auto");
    const bool flagged = automatic != nullptr && automatic->status == Status::kInfeasible;
    if (flagged && !solved_by_anyone(runs, problem)) {
      report.notes.push_back(problem + ": recognised as infeasible, solved by nobody; left out of the claims");
    } else {
      feasible.push_back(problem);
    }
  }
  for (const Run& run : runs) {
    if (solved_by_anyone(runs, run.problem)) alarms.add(run);
  }
  add_auto_claims(runs_of(runs, feasible, "auto"), report);
  add_canal_claims(runs_of(runs, feasible, "canal"), report);
  count_claim(
      runs_of(runs, feasible, "subadmm"), [](const Run& r) { return !is_large_pile(r.problem); },
      [](const Run& r) { return r.to_natural[1] <= 1000.0; },
      "subadmm: natural map 1e-6 on all but RockPile and the two large sphere piles", "all within 1 s", report);
  if (find_run(runs, problem_names(runs).front(), "auto") != nullptr)
    add_siconos_claims(runs, options, has_siconos, report);
  std::size_t said = 0;
  std::vector<std::string> wrong;
  for (const Run& run : runs) {
    if (run.peer || run.status != Status::kSolved) continue;
    ++said;
    const bool true_word =
        run.certificate.residual <= kResidualTarget && run.certificate.natural_map <= kNaturalTargets[2];
    if (!true_word) wrong.push_back(run.problem + " (" + run.solver + ")");
  }
  report.add_claim("every 'solved' is confirmed by the independent certificate", "no exception",
                   count_text(said - wrong.size(), said, wrong), wrong.empty());
}

}  // namespace almond::bench
