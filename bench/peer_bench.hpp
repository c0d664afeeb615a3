#pragma once
// `almond bench peers`, part by part: scenes of one kind, the peer that the target names, and what is shown of a run.

#include <functional>
#include <string>
#include <vector>

#include "bench/benches.hpp"
#include "bench/peer_engines.hpp"
#include "bench/peer_passes.hpp"

namespace almond::bench {

struct PeerColumn {
  const char* title;
  const char* figure;
  enum Kind { kPlain, kResidual, kYes } kind = kPlain;
};

struct PeerPart {
  const char *name, *title, *lead;
  std::vector<std::string> scenes, quick;  // quick: of a quick run
  const char* rival;                       // the peer of the time target
  const char* time;                        // the figure that is a step's time [ms], with .median and .p95
  std::vector<PeerColumn> columns;
  PeerColumn error;                  // of the time-against-error plots; no figure: none are drawn
  std::vector<std::string> engines;  // that can be asked; empty: all
  double quick_seconds = 0.0;        // of a quick run's scenes; 0: all
  bool timed = false;                // whether the rival's time is a target
  /// Instead of engines on scenes: solvers on single problems. May be null.
  Report (*solvers)(const PeerPart&, const std::map<std::string, PeerScene>&, const BenchOptions&) = nullptr;
};

[[nodiscard]] const std::vector<PeerPart>& peer_parts();
/// With the part's name and what it is about.
[[nodiscard]] Report begin_report(const PeerPart& part);

/// The runs of one scene, in the order of the engines.
using PeerRuns = std::vector<PeerRun>;
/// nullptr: not run, or failed.
[[nodiscard]] const PeerRun* find_peer(const PeerRuns& runs, const std::string& scene, const std::string& engine);
/// Almond's time by the rival's; NaN where one of them is not there.
[[nodiscard]] Spread time_ratio(const PeerPart& part, const PeerRuns& runs, const std::string& scene);

/// How long the long steps are, by the middle one.
[[nodiscard]] Spread p95_by_median(const PeerPart& part, const PeerRun& run);

/// Not run, as time was up or somebody interrupted: no failure, but the part is not complete.
[[nodiscard]] bool was_left_out(const PeerRun& run);
/// Not run, as the engine was too slow for less: nothing is missing.
[[nodiscard]] bool was_spared(const PeerRun& run);
inline constexpr const char* kTimeWasUp = "left out: time was up";
/// What is to be known of a run beside its figures; empty: nothing.
[[nodiscard]] std::string note_of(const PeerRun& run);
[[nodiscard]] Table peer_table(const PeerPart& part, const PeerRuns& runs);
/// Time against error, one plot per scene, a point per engine.
void add_peer_plots(const PeerPart& part, const PeerRuns& runs, Report& report);
/// Step times by the number of balls, with their exponents.
void add_growth(const PeerPart& part, const PeerRuns& runs, Report& report);
/// Nuts by Pinocchio's ADMM and by Almond.
[[nodiscard]] Report run_nut_part(const PeerPart& part, const std::map<std::string, PeerScene>& scenes,
                                  const BenchOptions& options);
/// Loaded steps of scenes, and problem files, by the solvers of Pinocchio and Siconos and by Almond.
[[nodiscard]] Report run_problem_part(const PeerPart& part, const std::map<std::string, PeerScene>& scenes,
                                      const BenchOptions& options);
/// The targets of the part.
void add_peer_claims(const PeerPart& part, const PeerRuns& runs, Report& report);

}  // namespace almond::bench
