// The parts of `almond bench peers`, and the targets of each.

#include <algorithm>
#include <cmath>
#include <cstdio>

#include "bench/paper.hpp"
#include "bench/peer_bench.hpp"

namespace almond::bench {
namespace {

constexpr auto kPlain = PeerColumn::kPlain;
constexpr auto kRes = PeerColumn::kResidual;
constexpr auto kYes = PeerColumn::kYes;

const PeerColumn kMean{"mean overlap [mm]", "judged.pen_mean_mm", kRes},
    kDeepest{"deepest [mm]", "judged.pen_worst_mm", kRes}, kJitter{"jitter [mm/s]", "judged.jitter_mm_s", kRes},
    kE0{"residual e0", "law.e0", kRes}, kE0Worst{"worst e0", "law.e0_worst", kRes},
    kErp{"residual erp.2", "law.erp2", kRes}, kScaled{"scaled [m/s]", "law.scaled_m_s", kRes},
    kGain{"energy gain [J]", "judged.energy_gain_J", kRes},
    kCertificate{"own certificate, worst", "certificate.max", kRes},
    kContacts{"contacts", "judged.referee_contacts", kPlain}, kCollide{"collide", "collide", kPlain},
    kSolve{"solve", "solve", kPlain};

std::string number(const char* pattern, double value) {
  char buffer[48];
  std::snprintf(buffer, sizeof buffer, pattern, value);
  return buffer;
}

/// One target on a figure of Almond's runs, over the scenes that were run: the worst counts.
void claim_figure(const PeerPart& part, const PeerRuns& runs, const std::string& figure, const std::string& what,
                  const std::string& expected, const std::function<double(double)>& badness, double limit,
                  const std::function<bool(const std::string&)>& applies, Report& report) {
  double worst = -1.0, value = kNaN;
  std::string where;
  for (const std::string& scene : part.scenes) {
    const PeerRun* run = find_peer(runs, scene, "almond");
    if (run == nullptr || !applies(scene) || !run->has(figure)) continue;
    if (badness(run->at(figure)) <= worst) continue;
    worst = badness(run->at(figure));
    value = run->at(figure);
    where = scene;
  }
  if (where.empty()) return;
  report.add_claim(what, expected, number("%.2g", value) + " (" + where + ")", worst <= limit);
}

void claim_times(const PeerPart& part, const PeerRuns& runs, Report& report) {
  for (const std::string& scene : part.scenes) {
    const double ratio = time_ratio(part, runs, scene);
    if (std::isnan(ratio)) continue;
    const std::string time = std::string(part.time) + ".median";
    report.add_claim(scene + ": median time against " + part.rival, "at most 1.0x",
                     ratio_cell(ratio).text + ": " + time_cell(find_peer(runs, scene, "almond")->at(time)).text +
                         " ms against " + time_cell(find_peer(runs, scene, part.rival)->at(time)).text + " ms",
                     ratio <= 1.0);
  }
}

void claim_evenness(const PeerPart& part, const PeerRuns& runs, Report& report) {
  double worst = 0.0;
  std::string where;
  for (const std::string& scene : part.scenes) {
    const PeerRun* run = find_peer(runs, scene, "almond");
    if (run == nullptr) continue;
    const double ratio = run->at(std::string(part.time) + ".p95") / run->at(std::string(part.time) + ".median");
    if (!(ratio > worst)) continue;
    worst = ratio;
    where = scene;
  }
  if (where.empty()) return;
  report.add_claim("no step is long: 95th percentile by median", "at most 3x everywhere",
                   ratio_cell(worst).text + " (" + where + ")", worst <= 3.0);
}

}  // namespace

const std::vector<PeerPart>& peer_parts() {
  static const std::vector<PeerPart> parts = {
      {"stacks",
       "Stacks and dishes at rest",
       "Cubes of 0.1 kg under one of 5 kg, and bowl, bowl, plate (0.1 kg) under a 5 kg pot, thirteen boxes each; 3 s.",
       {"stack4", "stack10", "dish"},
       {"stack10", "dish"},
       "mj_firm",
       "cpu",
       {kCollide,
        kSolve,
        kContacts,
        {"sink [mm]", "judged.sink_mm", kRes},
        {"toppled", "judged.toppled", kYes},
        kMean,
        kDeepest,
        kJitter,
        kE0,
        kE0Worst,
        kErp,
        kScaled,
        kGain},
       kMean,
       {},
       0.0},
      {"cold",
       "Loaded cold single steps",
       "One step from a settled state under random wrenches (5 N, 0.2 N m per body; balls 0.05 N), nothing known from "
       "before. Time of the solver: mj_fwdConstraint there, all solves of the step here.",
       {"stack4", "stack10", "dish", "spheres45", "quad8"},
       {"stack10", "dish"},
       "mj_hard",
       "solve_ms",
       {{"whole step", "step_ms.median", kPlain},
        {"contacts", "contacts", kPlain},
        {"residual e0", "e0.median", kRes},
        {"worst e0", "e0.max", kRes},
        kCertificate,
        {"not solved", "unsolved", kPlain}},
       {"residual e0", "e0.median", kRes},
       {"almond", "mj_default", "mj_firm", "mj_hard", "mj_cg", "mj_noslip"},
       0.0},
      {"spheres",
       "Balls in a box",
       "Balls of 5 mm radius and 10 g/cm\u00b3, friction 0.5, fall into a box; 2 s. Jitter is that of all balls over "
       "the "
       "last half second; of held ones, of those with three contacts or more: nothing in the law stops a ball that "
       "rolls.",
       {"spheres45", "spheres200", "spheres1000"},
       {"spheres45"},
       "mj_cg",
       "cpu",
       {kCollide,
        kSolve,
        kContacts,
        kMean,
        kDeepest,
        kJitter,
        {"of held [mm/s]", "judged.held_jitter_mm_s", kRes},
        {"thrown out", "judged.thrown_out", kPlain},
        kE0,
        kE0Worst,
        kErp,
        kScaled,
        kGain,
        kCertificate,
        {"not solved", "unsolved", kPlain}},
       kMean,
       {},
       0.0},
      {"quads",
       "Quadrupeds dropped in a heap",
       "Robots of 18 degrees of freedom with limp legs, dropped as a cube of robots; 2 s with all impacts.",
       {"quad8", "quad27"},
       {"quad8"},
       "mj_default",
       "cpu",
       {kCollide,
        kSolve,
        kContacts,
        kMean,
        kDeepest,
        kE0,
        kE0Worst,
        kErp,
        kScaled,
        kCertificate,
        {"blow-ups", "blow_ups", kPlain},
        {"fastest [m/s]", "judged.fastest_m_s", kPlain}},
       {"worst residual e0", "law.e0_worst", kRes},
       {},
       0.0},
      {"friction",
       "Friction: an incline and a block that slides to rest",
       "A cube on an incline of 0.5, 0.95, 0.99 of the friction angle must stay, at 1.5 must slide 24.5 m in 5 s; one "
       "thrown at 3 m/s must stop where Coulomb says, on the ground.",
       {"slope0.5", "slope0.95", "slope0.99", "slope1.5", "slide"},
       {"slope0.95", "slope1.5", "slide"},
       "mj_default",
       "cpu",
       {{"creep [mm/s]", "judged.creep_mm_s", kRes},
        {"way [m]", "judged.way_m", kPlain},
        {"stop error [%]", "judged.way_error_pct", kRes},
        {"lift [mm]", "judged.lift_mm", kRes},
        kMean,
        kE0,
        kE0Worst},
       {"lift [mm]", "judged.lift_mm", kRes},
       {},
       0.0},
      {"grasp",
       "Grasps",
       "Two pads on sliders hold a cube with 1.1 or 1.5 times the least squeeze; 10 s.",
       {"grip0.2x1.1", "grip0.2x1.5", "grip2x1.5"},
       {"grip0.2x1.5"},
       "mj_default",
       "cpu",
       {{"slip [mm]", "judged.slip_mm", kRes},
        {"slip rate [mm/s]", "judged.slip_rate_mm_s", kRes},
        {"dropped", "judged.dropped", kYes},
        kMean,
        kE0,
        kE0Worst},
       {"slip [mm]", "judged.slip_mm", kRes},
       {},
       3.0},
      {"ball",
       "One ball: dropped, and thrown until it rolls",
       "1 kg, 5 cm radius: dropped from 0.5 m without bounce, and thrown at 1 m/s, after which it rolls at 5/7 m/s.",
       {"drop", "roll"},
       {"drop", "roll"},
       "mj_default",
       "cpu",
       {{"overlap at rest [mm]", "judged.rest_pen_mm", kRes},
        {"at impact [mm]", "judged.impact_pen_mm", kRes},
        {"rebound [mm]", "judged.rebound_mm", kRes},
        {"rolling error [%]", "judged.roll_error_pct", kRes},
        kE0,
        kE0Worst,
        kGain},
       kDeepest,
       {},
       0.0},
      {"growth",
       "What a step costs by the number of balls",
       "Half a second of filling a box; the later half of the steps.",
       {"growth100", "growth300", "growth1000", "growth3000", "growth10000"},
       {},
       "mj_cg",
       "cpu",
       {kCollide, kSolve, {"not solved", "unsolved", kPlain}},
       {"", "", kPlain},
       {"almond", "mj_cg", "mj_default", "bullet50", "drake_sap"},
       0.0}};
  return parts;
}

void add_peer_claims(const PeerPart& part, const PeerRuns& runs, Report& report) {
  const std::string name = part.name;
  const auto claim =
      [&](
          const char* figure, const std::string& what, const std::string& expected, double limit,
          const std::function<bool(const std::string&)>& applies = [](const std::string&) { return true; }) {
        claim_figure(
            part, runs, figure, what, expected, [](double x) { return std::abs(x); }, limit, applies, report);
      };
  if (name == "growth") return;  // add_growth has its own
  if (name == "stacks" || name == "cold" || name == "spheres" || name == "quads") claim_times(part, runs, report);
  if (name == "stacks") {
    claim("judged.sink_mm", "stacks do not sink", "at most 0.5 mm", 0.5);
    claim("judged.jitter_mm_s", "what rests does not move", "below 1e-3 mm/s", 1e-3);
  }
  if (name == "cold") {
    claim("certificate.max", "loaded steps are solved", "residual at most 1e-8 in every case", 1e-8);
    claim("unsolved", "no loaded step is given up", "none", 0.0);
  }
  if (name == "spheres") {
    claim("judged.pen_mean_mm", "balls do not overlap", "at most 0.02 mm on average", 0.02);
    claim("judged.jitter_mm_s", "balls come to rest", "below 0.1 mm/s", 0.1);
    claim("law.e0", "residual of the law, median of the second half", "at most 1e-6", 1e-6);
  }
  if (name == "quads") {
    claim("certificate.max", "residual of every step, impacts included", "at most 1e-5", 1e-5);
    claim("blow_ups", "no blow-up", "none", 0.0);
    claim("judged.blow_up", "no robot is thrown", "none faster than 100 m/s", 0.0);
  }
  if (name == "friction") {
    claim("judged.creep_mm_s", "no creep on an incline", "below 1e-6 mm/s", 1e-6);
    claim("judged.lift_mm", "what slides stays on the ground", "below 0.01 mm", 0.01);
    claim("judged.way_error_pct", "it stops where Coulomb says", "within 0.7 %", 0.7);
  }
  if (name == "grasp") claim("judged.slip_rate_mm_s", "a grasp does not slip", "below 1e-6 mm/s", 1e-6);
  if (name == "ball") {
    claim("judged.impact_pen_mm", "a dropped ball does not sink in", "at most 0.01 mm", 0.01);
    claim("judged.rebound_mm", "without restitution nothing bounces", "0 mm, up to 1e-6", 1e-6);
    claim("judged.roll_error_pct", "it rolls at 5/7 of its speed", "within 0.01 %", 0.01);
  }
  claim_evenness(part, runs, report);
}

}  // namespace almond::bench
