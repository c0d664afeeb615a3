// The parts of `almond bench peers` that give single contact problems to solvers: Pinocchio's and Siconos' beside ours,
// judged by one certificate.

#include <algorithm>
#include <array>
#include <cmath>

#include "almond/base/check.hpp"
#include "almond/load/file_io.hpp"
#include "almond/solver/certificate.hpp"
#include "bench/paper.hpp"
#include "bench/peer_bench.hpp"
#include "bench/peers.hpp"
#include "bench/process.hpp"
#include "bench/summary.hpp"
#include "scenes/problems.hpp"

namespace almond::bench {
namespace {

constexpr double kGoalSpeed = 1e-8;  // natural map of a nut that counts as solved [m/s]
constexpr double kFaster = 50.0;     // target: how many times faster than Pinocchio's ADMM

// ---- nuts

/// ‖q‖ = ‖J A⁻¹b + e‖ [m/s], which the natural map is relative to.
double free_speed(const ContactProblem& problem) {
  const VecX v = compute_velocity(problem, VecX::Zero(problem.num_rows()));
  double sum = 0.0;
  for (const Contact& contact : problem.contacts) {
    Vec3 w = contact.e;
    for (int s = 0; s < contact.num_sides; ++s) {
      const Side& side = contact.sides[static_cast<std::size_t>(s)];
      const Subsystem& sub = problem.subsystems[static_cast<std::size_t>(side.subsystem)];
      w += problem.J(side, 3) * v.segment(sub.offset, sub.dofs);
    }
    sum += w.squaredNorm();
  }
  return std::sqrt(sum);
}

/// One problem by both.
struct NutCase {
  double goal = kNaN;  // natural map to reach
  double own_ms = kNaN, peer_ms = kInfinity;
  std::array<double, 2> longest_ms = {};  // as it is, with extrapolation: the longest run of each
  double peer_best = kInfinity;           // [m/s]
  bool own_solved = false;
  std::string failure;  // of the peer: why it had not all of its runs

  [[nodiscard]] bool peer_solved() const { return std::isfinite(peer_ms); }
  [[nodiscard]] double in_vain_ms() const { return std::min(longest_ms[0], longest_ms[1]); }
  /// How many times faster; a lower bound where the peer never gets there.
  [[nodiscard]] double ratio() const { return (peer_solved() ? peer_ms : in_vain_ms()) / own_ms; }
};

/// What the peer makes of all problems with one tolerance, as it is and with Anderson's extrapolation.
void ask_peer(const std::vector<BenchProblem>& problems, const Peer& admm, double tolerance,
              std::vector<NutCase>& cases) {
  constexpr int kMostIterations = 2000;
  constexpr double kSetMs = 300e3;
  Peer extrapolated = admm;
  extrapolated.solver = "admm-anderson";
  const std::array<Peer, 2> forms = {admm, extrapolated};
  for (std::size_t f = 0; f < forms.size(); ++f) {
    const std::vector<Run> runs = run_peer_once(forms[f], problems, kMostIterations, tolerance, kSetMs);
    for (std::size_t k = 0; k < runs.size(); ++k) {
      if (!runs[k].failure.empty()) cases[k].failure = runs[k].failure;
      if (std::isnan(runs[k].time_ms)) continue;
      cases[k].peer_ms = std::min(cases[k].peer_ms, time_to_natural(runs[k].curve, cases[k].goal));
      cases[k].longest_ms[f] = std::max(cases[k].longest_ms[f], runs[k].time_ms);
      cases[k].peer_best = std::min(cases[k].peer_best, runs[k].certificate.natural_map * kGoalSpeed / cases[k].goal);
    }
  }
}

/// Fewer than there are problems where somebody interrupts.
std::vector<NutCase> run_nuts(const std::vector<BenchProblem>& problems, const Peer* admm,
                              const std::vector<double>& tolerances, const BenchOptions& options) {
  std::vector<NutCase> cases;
  for (const BenchProblem& problem : problems) {
    if (options.stopped()) return cases;
    options.progress("nut, " + problem.name + ": almond");
    NutCase one;
    one.goal = kGoalSpeed / std::max(free_speed(problem.problem), kStill);
    Settings settings;  // of a cold solve: a tenth of tol is the natural map's
    settings.tol = std::min(settings.tol, 10.0 * one.goal);
    const Run run = run_solver(problem, settings, 5);
    one.own_ms = run.time_ms;
    one.own_solved = run.certificate.finite && run.certificate.natural_map <= one.goal;
    cases.push_back(one);
  }
  if (admm == nullptr) return cases;
  for (const double tolerance : tolerances) {
    options.progress("nut, " + problems.front().name + " and others: " + admm->name + " to " +
                     residual_cell(tolerance).text);
    ask_peer(problems, *admm, tolerance, cases);
  }
  if (options.stopped())
    for (NutCase& one : cases) one.failure = kInterruptedText;
  return cases;
}

/// One row of the table, and what the claims ask of it.
struct NutSet {
  std::string name;
  std::size_t cases = 0, own = 0, peer = 0;
  double own_ms = kNaN, slowest_ms = kNaN, peer_ms = kNaN, peer_best = kNaN, ratio = kNaN, least = kNaN;
  std::string failure;  // of the peer in any case: then it has no figures
};

NutSet summarise(const std::string& name, const std::vector<NutCase>& cases) {
  NutSet set;
  set.name = name;
  set.cases = cases.size();
  std::vector<double> own, peer, best, ratios;
  for (const NutCase& one : cases) {
    set.own += one.own_solved ? 1U : 0U;
    set.peer += one.peer_solved() ? 1U : 0U;
    own.push_back(one.own_ms);
    if (!one.failure.empty()) set.failure = one.failure;
    if (one.peer_solved()) peer.push_back(one.peer_ms);
    if (one.in_vain_ms() > 0.0) ratios.push_back(one.ratio());
    if (std::isfinite(one.peer_best)) best.push_back(one.peer_best);
  }
  set.own_ms = median(own);
  set.slowest_ms = *std::max_element(own.begin(), own.end());
  if (!set.failure.empty()) return set;
  set.peer_ms = median(peer);
  set.peer_best = median(best);
  set.ratio = median(ratios);
  if (!ratios.empty()) set.least = *std::min_element(ratios.begin(), ratios.end());
  return set;
}

std::vector<std::vector<BenchProblem>> make_nut_sets(const BenchOptions& options) {
  const int seeds = options.quick ? 5 : 10, places = options.quick ? 1 : 2, pushes = 5;
  std::vector<std::vector<BenchProblem>> sets;
  for (const int contacts : options.quick ? std::vector<int>{120} : std::vector<int>{20, 60, 120}) {
    sets.emplace_back();
    for (int seed = 0; seed < seeds; ++seed) {
      scenes::NamedProblem named = scenes::make_nut(contacts, static_cast<std::uint64_t>(seed));
      sets.back().push_back({"thread" + std::to_string(contacts), std::move(named.problem), false});
    }
  }
  sets.push_back(make_nut_cases(false, places, pushes, options));
  for (BenchProblem& problem : sets.back()) problem.name = "M48";
  return sets;
}

/// Those among --engines; all that are installed where none is named.
std::vector<Peer> choose_peers(const BenchOptions& options, const std::string& only, std::vector<std::string>& notes) {
  std::vector<Peer> chosen;
  for (const std::string& group : {std::string("pinocchio"), std::string("siconos")}) {
    const auto asked = [&](const std::string& start) {
      return options.engines.empty() || std::any_of(options.engines.begin(), options.engines.end(),
                                                    [&](const std::string& name) { return name.rfind(start, 0) == 0; });
    };
    if ((only != "all" && only != group) || !asked(group)) continue;
    for (Peer& peer : find_peers(group, notes))
      if (asked(peer.name)) chosen.push_back(std::move(peer));
  }
  return chosen;
}

const Peer* find_admm(const std::vector<Peer>& peers) {
  const auto found = std::find_if(peers.begin(), peers.end(), [](const Peer& peer) { return peer.solver == "admm"; });
  return found == peers.end() ? nullptr : &*found;
}

// ---- problems of scenes and files

/// A loaded cold step of each scene, and what the files hold.
std::vector<BenchProblem> gather_problems(const PeerPart& part, const std::map<std::string, PeerScene>& scenes,
                                          const BenchOptions& options, Report& report) {
  std::vector<BenchProblem> problems;
  for (const std::string& name : part.scenes) {
    if (options.stopped()) return problems;
    options.progress("problems, " + name + ": comes to rest");
    try {
      problems.push_back({name, make_cold_problem(scenes.at(name)), false});
    } catch (const Error& error) {
      report.notes.push_back(name + ": " + error.what());
    }
  }
  std::vector<std::string> bad;
  for (BenchProblem& problem : load_folders(options.folders, report.notes, &bad))
    problems.push_back(std::move(problem));
  for (const std::string& why : bad) report.notes.push_back("without this file: " + why);
  report.left_out = report.left_out || !bad.empty();
  return problems;
}

/// An interrupt before Almond is done leaves nothing.
void run_problem(const BenchProblem& problem, const std::vector<Peer>& peers, double budget_ms,
                 const BenchOptions& options, Report& report, std::vector<Run>& runs) {
  options.progress("problems, " + problem.name + ": almond");
  Settings settings;
  settings.budget_ms = budget_ms;
  Run own = run_solver(problem, settings, 5);
  if (options.stopped()) return;
  own.solver = "almond";
  runs.push_back(std::move(own));
  if (!fits_peers(problem.problem)) {
    report.notes.push_back(problem.name + ": it has more than contacts, so the peers cannot be asked");
    return;
  }
  const TemporaryFolder folder;
  const std::string exported = folder.path() + "/problem.npz";
  export_delassus(problem.problem, exported);
  for (const Peer& peer : peers) {
    options.progress("problems, " + problem.name + ": " + peer.name);
    runs.push_back(run_peer(peer, problem, exported, budget_ms));
  }
}

/// "Pinocchio and Siconos": those at hand.
std::string peer_groups(const std::vector<Peer>& peers) {
  const auto has = [&](const std::string& group) {
    return std::any_of(peers.begin(), peers.end(), [&](const Peer& peer) { return peer.name.rfind(group, 0) == 0; });
  };
  return has("pinocchio") && has("siconos") ? "Pinocchio and Siconos" : has("siconos") ? "Siconos" : "Pinocchio";
}

void claim_ratio(const PeerRatio& ratio, const std::string& group, Report& report) {
  if (!ratio.unknown.empty()) {
    report.notes.push_back(ratio.problem + ": nothing to compare with: " + ratio.unknown);
    report.left_out = true;
    return;
  }
  const std::string there = ratio.best_peer.empty() ? "none that gets there"
                                                    : time_cell(ratio.peer_ms).text + " ms (" + ratio.best_peer + ")";
  report.add_claim(
      ratio.problem + ": time to natural map 1e-9 against the fastest of " + group, "at most 1.0x",
      (std::isnan(ratio.ratio) ? "nobody gets there" : time_cell(ratio.own_ms).text + " ms against " + there) +
          (ratio.failed.empty() ? "" : "; without " + ratio.failed),
      ratio.ratio >= 1.0);
}

}  // namespace

Report run_nut_part(const PeerPart& part, const std::map<std::string, PeerScene>&, const BenchOptions& options) {
  Report report = begin_report(part);
  const std::vector<Peer> peers = choose_peers(options, "pinocchio", report.notes);
  const Peer* admm = find_admm(peers);
  const std::vector<double> tolerances =
      options.quick ? std::vector<double>{1e-10} : std::vector<double>{1e-8, 1e-10, 1e-12};
  Table table{"nut",
              part.title,
              "Solved: natural map at 1e-8 m/s. Pinocchio's time is the least of its tolerances, with and without "
              "Anderson's extrapolation, that gets there within 2000 iterations; where none does, its longest run in "
              "the quicker form is a "
              "lower bound.",
              {"problems", "cases", "almond: solved", "median [ms]", "slowest [ms]", "pinocchio-admm: solved",
               "median of those solved [ms]", "its natural map, median [m/s]", "times faster, median", "least"},
              {}};
  const bool asked = options.engines.empty() || std::find(options.engines.begin(), options.engines.end(),
                                                          "pinocchio-admm") != options.engines.end();
  for (const std::vector<BenchProblem>& problems : make_nut_sets(options)) {
    const std::vector<NutCase> cases = run_nuts(problems, admm, tolerances, options);
    if (cases.size() < problems.size()) {
      std::vector<Cell> row(table.columns.size(), text_cell("-", Tone::kQuiet));
      row[0] = text_cell(problems.front().name);
      row[1] = count_cell(static_cast<double>(problems.size()));
      row[2] = text_cell("left out: interrupted", Tone::kQuiet);
      table.rows.push_back(std::move(row));
      report.left_out = true;
      continue;
    }
    const NutSet set = summarise(problems.front().name, cases);
    const auto count = [&](std::size_t solved) {
      return count_cell(static_cast<double>(solved), solved == set.cases ? Tone::kGood : Tone::kBad);
    };
    table.rows.push_back({text_cell(set.name), count_cell(static_cast<double>(set.cases)), count(set.own),
                          time_cell(set.own_ms), time_cell(set.slowest_ms),
                          admm == nullptr        ? text_cell(asked ? "not installed" : "not asked", Tone::kQuiet)
                          : !set.failure.empty() ? text_cell(set.failure, Tone::kQuiet)
                                                 : count(set.peer),
                          set.peer > 0 && set.failure.empty() ? time_cell(set.peer_ms) : text_cell("-", Tone::kQuiet),
                          residual_cell(set.peer_best), ratio_cell(set.ratio), ratio_cell(set.least)});
    report.add_claim(set.name + ": every case is solved", "natural map at 1e-8 m/s in all",
                     count_text(set.own, set.cases, {}), set.own == set.cases);
    if (!set.failure.empty()) {
      report.notes.push_back(set.name + ": nothing to compare with: pinocchio-admm: " + set.failure);
      report.left_out = true;
    }
    // Few contacts are no nut: the target is for those that have many more than a body has freedoms.
    if (std::isfinite(set.ratio) && (set.name == "M48" || set.name == "thread120"))
      report.add_claim(set.name + ": time against Pinocchio's ADMM to 1e-8", "at least 50 times faster",
                       (set.peer < set.cases ? "at least " : "") + ratio_cell(set.ratio).text + " (median; least " +
                           ratio_cell(set.least).text + "); Pinocchio solves " + count_text(set.peer, set.cases, {}),
                       set.ratio >= kFaster);
  }
  report.tables.push_back(std::move(table));
  return report;
}

Report run_problem_part(const PeerPart& part, const std::map<std::string, PeerScene>& scenes,
                        const BenchOptions& options) {
  Report report = begin_report(part);
  const double budget_ms = options.quick ? 20.0 : 500.0;
  const std::vector<Peer> peers = choose_peers(options, "all", report.notes);
  if (peers.empty() && !options.engines.empty())
    report.notes.emplace_back("Almond alone: none of --engines is a solver of single problems");
  std::vector<Run> runs;
  for (const BenchProblem& problem : gather_problems(part, scenes, options, report)) {
    if (options.stopped()) break;
    try {
      run_problem(problem, peers, budget_ms, options, report, runs);
    } catch (const Error& error) {
      report.notes.push_back(problem.name + ": " + error.what());
      report.left_out = true;
    }
  }
  if (options.stopped()) {
    report.notes.emplace_back("interrupted: there is a row for each problem that had its turn");
    report.left_out = true;
  }
  if (runs.empty()) return report;
  const std::vector<PeerRatio> ratios = peer_ratios(runs, "almond", "", budget_ms);
  Table table = ratio_table(ratios, "almond", peer_groups(peers));
  table.name = "problems";
  report.tables.push_back(std::move(table));
  Table times = times_table(runs);
  times.name = "problem_times";
  report.tables.push_back(std::move(times));
  for (Plot& plot : curve_plots(runs, budget_ms)) {
    plot.legend = true;
    add_plot(plot, "problem_" + plot.title, report);
  }
  for (const PeerRatio& ratio : ratios) claim_ratio(ratio, peer_groups(peers), report);
  return report;
}

}  // namespace almond::bench
