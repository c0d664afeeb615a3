// The targets of `almond bench peers`.

#include <algorithm>
#include <cmath>
#include <cstdio>

#include "bench/peer_bench.hpp"

namespace almond::bench {
namespace {

std::string short_number(double value) {
  char buffer[48];
  std::snprintf(buffer, sizeof buffer, "%.4g", value);
  return buffer;
}

/// A target on the size of a figure of Almond's runs; the worst scene counts.
struct Target {
  const char *part, *figure, *claim, *expected;
  double limit;
  const char *unit, *criterion = "";  // unit: with a blank before it
  const char* cause = "";             // why it is known to be missed
};

constexpr const char* kLimited =
    "a heap that lands has no start to speak of: its steps end at the limit of their work, and the next one goes on";
constexpr const char* kPushes =
    "e0 asks for no push out of an overlap; the problem that Almond solved asks for one, and its answer has it";
constexpr const char* kOwn = "Almond's own report, the residual of the problem that each step solved, says so";

const Target kTargets[] = {
    {"stacks", "judged.sink_mm", "stacks do not sink", "at most 0.5 mm", 0.5, " mm"},
    {"stacks", "judged.jitter_mm_s", "what rests does not move", "below 1e-3 mm/s", 1e-3, " mm/s"},
    {"cold", "certificate.max", "loaded steps are solved", "residual at most 1e-8 N s in every case", 1e-8, " N s",
     kOwn},
    {"cold", "e0.max", "and so says the referee", "residual e0 at most 1e-8 N s in every case", 1e-8, " N s", "",
     kPushes},
    {"cold", "unsolved", "no loaded step is given up", "none", 0.0, ""},
    {"spheres", "judged.pen_mean_mm", "balls do not overlap", "at most 0.02 mm on average", 0.02, " mm"},
    {"spheres", "judged.jitter_mm_s", "balls come to rest", "below 0.1 mm/s", 0.1, " mm/s",
     "all balls count, also those that roll freely, which the law lets roll for ever"},
    {"spheres", "judged.held_jitter_mm_s", "balls that others hold do not tremble", "below 0.1 mm/s", 0.1, " mm/s"},
    {"spheres", "law.e0", "residual e0 by the referee, median of the second half", "at most 1e-6 N s", 1e-6, " N s"},
    {"spheres", "certificate.max", "every step, landing included", "residual at most 1e-6 N s", 1e-6, " N s", kOwn,
     kLimited},
    {"spheres", "unsolved", "no step ends at the limit of its work", "none", 0.0, " steps", "", kLimited},
    {"quads", "certificate.max", "every step is solved, impacts included", "residual at most 1e-5 N s", 1e-5, " N s",
     kOwn},
    {"quads", "law.e0_worst", "and so says the referee", "residual e0 at most 1e-5 N s in every step", 1e-5, " N s", "",
     kPushes},
    {"quads", "blow_ups", "no blow-up", "none", 0.0, ""},
    {"quads", "judged.blow_up", "no robot is thrown", "0 scenes with one faster than 100 m/s", 0.0, " scenes"},
    {"friction", "judged.creep_mm_s", "no creep on an incline", "below 1e-6 mm/s", 1e-6, " mm/s"},
    {"friction", "judged.lift_mm", "what slides stays on the ground", "below 0.01 mm", 0.01, " mm"},
    {"friction", "judged.way_error_pct", "it stops where Coulomb says", "within 0.7 %", 0.7, " %"},
    {"grasp", "judged.slip_rate_mm_s", "a grasp does not slip", "below 1e-6 mm/s", 1e-6, " mm/s"},
    {"ball", "judged.impact_pen_mm", "a dropped ball does not sink in", "at most 0.01 mm", 0.01, " mm"},
    {"ball", "judged.rebound_mm", "without restitution nothing bounces", "0 mm, up to 1e-6", 1e-6, " mm"},
    {"ball", "judged.roll_error_pct", "it rolls at 5/7 of its speed", "within 0.01 %", 0.01, " %"}};

/// The scene of Almond's runs in which `value` is largest.
struct Worst {
  std::string scene;
  double value = kNaN;
};

template <class Value>
Worst find_worst(const PeerPart& part, const PeerRuns& runs, const Value& value) {
  Worst worst;
  for (const std::string& scene : part.scenes) {
    const PeerRun* run = find_peer(runs, scene, "almond");
    if (run == nullptr) continue;
    const double own = value(*run);
    if (std::isnan(own) || own <= worst.value) continue;
    worst = {scene, own};
  }
  return worst;
}

/// ", of 2 of the 5 scenes" where some had no turn.
std::string scenes_run(const PeerPart& part, const PeerRuns& runs) {
  const auto missing = std::count_if(runs.begin(), runs.end(),
                                     [](const PeerRun& run) { return run.engine == "almond" && was_left_out(run); });
  if (missing == 0) return "";
  const std::size_t all = part.scenes.size();
  return ", of " + std::to_string(all - static_cast<std::size_t>(missing)) + " of the " + std::to_string(all) +
         " scenes";
}

/// Why a target is known to be missed; empty: it is not known to be.
std::string known_cause(const std::string& part, const std::string& scene) {
  if (part == "cold" && scene == "stack10") return "some 55 Newton steps from nothing, at a mass ratio of 50";
  if (part == "cold" && scene == "quad8")
    return "robots slide at micrometres a second: 120 to 260 Newton steps from nothing to 1e-8, where the peer ends at "
           "1e-2";
  if (part == "quads")
    return "robots that fall are solved two to five times in a step, and a third of it is kinematics and a drift that "
           "keeps momentum; a heap of 27 keeps falling in most of the steps";
  return "";
}

/// Why some steps are long.
const char* long_steps(const std::string& part) {
  if (part == "cold") return "some loads take Newton's method several times as many steps as most";
  if (part == "quads")
    return "what rests needs hardly an iteration, which is the median; what lands has no start to speak of, and is "
           "solved several times in a step where limbs whip";
  return "what rests needs hardly an iteration, which is the median; what lands has no start to speak of";
}

std::string passes_text(const PeerRun& run) {
  return run.passes.empty() ? "one pass" : std::to_string(run.passes.size()) + " passes in turn";
}

void claim_times(const PeerPart& part, const PeerRuns& runs, Report& report) {
  const std::string time = std::string(part.time) + ".median";
  for (const std::string& scene : part.scenes) {
    const Spread ratio = time_ratio(part, runs, scene);
    if (std::isnan(ratio.middle)) continue;
    const PeerRun &own = *find_peer(runs, scene, "almond"), &rival = *find_peer(runs, scene, part.rival);
    const std::string note = note_of(rival);
    const std::string rough = own.has("rough_ms.median") && rival.has("e0.median")
                                  ? "; " + rival.engine + " ends at " + short_number(rival.at("e0.median")) +
                                        " N s, Almond comes to " + short_number(kRoughResidual) + " in " +
                                        time_cell(own.at("rough_ms.median")).text + " ms"
                                  : "";
    report.add_claim(scene + ": median time against " + part.rival, "at most 1.0x",
                     to_text(ratio) + ": " + time_cell(own.at(time)).text + " ms against " +
                         time_cell(rival.at(time)).text + " ms, " + passes_text(own) + rough +
                         (note.empty() ? "" : " (" + rival.engine + " " + note + ")"),
                     ratio.middle <= 1.0, "", known_cause(part.name, scene));
    report.claims.back().near = ratio.straddles(1.0);
  }
}

/// "; peers there 1.2x to 4.0x": their spread of the same in a scene.
std::string others_there(const PeerPart& part, const PeerRuns& runs, const std::string& scene) {
  double least = kInfinity, most = 0.0;
  for (const PeerRun& run : runs) {
    const double ratio = p95_by_median(part, run).middle;
    if (run.scene != scene || run.engine == "almond" || !run.failure.empty() || std::isnan(ratio)) continue;
    least = std::min(least, ratio);
    most = std::max(most, ratio);
  }
  if (most == 0.0) return "";
  const std::string low = ratio_cell(least).text, high = ratio_cell(most).text;
  return "; peers there " + (low == high ? low : low + " to " + high);
}

/// Beside a number of Almond's own report, the referee's worst in the same part.
std::string referee_there(const Target& target, const PeerPart& part, const PeerRuns& runs) {
  if (target.criterion != kOwn) return "";
  const Worst worst = find_worst(part, runs, [](const PeerRun& run) {
    return run.has("law.e0_worst") ? run.at("law.e0_worst") : run.at("e0.max");
  });
  return worst.scene.empty() ? ""
                             : "; the referee's worst e0: " + short_number(worst.value) + " N s (" + worst.scene + ")";
}

void claim_long_steps(const PeerPart& part, const PeerRuns& runs, Report& report) {
  constexpr double kMost = 3.0;
  const Worst slowest = find_worst(part, runs, [&](const PeerRun& run) { return p95_by_median(part, run).middle; });
  if (slowest.scene.empty()) return;
  const Spread ratio = p95_by_median(part, *find_peer(runs, slowest.scene, "almond"));
  report.add_claim(
      "no step is long: 95th percentile by median", "at most 3x everywhere",
      to_text(ratio) + " in " + slowest.scene + others_there(part, runs, slowest.scene) + scenes_run(part, runs),
      ratio.middle <= kMost, "", long_steps(part.name));
  report.claims.back().near = ratio.straddles(kMost);
}

}  // namespace

void add_peer_claims(const PeerPart& part, const PeerRuns& runs, Report& report) {
  const std::string name = part.name;
  if (part.timed) claim_times(part, runs, report);
  for (const Target& target : kTargets) {
    if (name != target.part) continue;
    const Worst worst = find_worst(part, runs, [&](const PeerRun& run) { return std::abs(run.at(target.figure)); });
    if (!worst.scene.empty())
      report.add_claim(target.claim, target.expected,
                       short_number(worst.value) + target.unit + " (" + worst.scene + ")" +
                           referee_there(target, part, runs) + scenes_run(part, runs),
                       worst.value <= target.limit, target.criterion, worst.value <= target.limit ? "" : target.cause);
  }
  claim_long_steps(part, runs, report);
  for (const std::string& scene : part.scenes)
    for (const PeerRun& run : runs)
      if (run.scene == scene && run.engine == "almond" && !run.failure.empty() && !was_left_out(run) &&
          !was_spared(run))
        report.add_claim(scene + ": Almond runs it", "no failure", run.failure, false);
}

}  // namespace almond::bench
