// One step of a nut on its bolt and of a pile of dishes: what the paper says of Fig. 5 and 7.

#include <algorithm>
#include <cmath>

#include "bench/paper_causes.hpp"
#include "bench/paper_compare.hpp"
#include "scenes/parts.hpp"

namespace almond::bench {
namespace {

std::string solved_text(const Outcome& outcome) {
  return std::to_string(outcome.solved()) + " of " + std::to_string(outcome.runs.size()) + " cases, median " +
         residual_cell(median(outcome.residuals())).text;
}

constexpr const char* kRest =
    "a contact on the verge between bearing and open, or the penalty at the start (table of the rest)";

std::string milliseconds(double ms) { return std::isfinite(ms) ? time_cell(ms).text + " ms" : "never"; }

/// When CANAL is done: the time at which the methods are compared [ms].
double end_of_canal(const Comparison& result) { return quantile(result.of("canal, plain").times_to_1e8(), 0.5); }

/// What the paper says of both scenes. Its methods are the plain ones, and PGS on the Delassus matrix.
void claim_common(const Comparison& result, Report& report) {
  const Outcome &canal = result.of("canal, plain"), &subadmm = result.of("subadmm, plain"),
                &pgs = result.of("pgs on W"), &our_pgs = result.of("pgs");
  const double to_canal = end_of_canal(result), to_pgs = quantile(pgs.times_to_1e8(), 0.5),
               to_ours = quantile(our_pgs.times_to_1e8(), 0.5);
  report.add_claim(
      "CANAL takes less time in all than PGS, though more per iteration", "shorter total time",
      milliseconds(to_canal) + " against " + milliseconds(to_pgs) + " (our PGS " + milliseconds(to_ours) + ") to 1e-8",
      to_canal < to_pgs);
  report.add_claim("CANAL converges faster than linearly", "superlinear convergence",
                   "the last three iterations before 1e-8 gain " + ratio_cell(median(canal.acceleration)).text +
                       " the decades of the first three",
                   median(canal.acceleration) > 1.0, "more than 1x",
                   "the lag of the friction, which CANAL updates once per iteration (table)");
  const double cost[] = {median(subadmm.cost_us), median(pgs.cost_us), median(canal.cost_us)};
  report.add_claim("cost per iteration", "SubADMM < PGS < CANAL",
                   "SubADMM " + time_cell(cost[0]).text + " us, PGS " + time_cell(cost[1]).text + " us (ours " +
                       time_cell(median(our_pgs.cost_us)).text + " us), CANAL " + time_cell(cost[2]).text + " us",
                   cost[0] < cost[1] && cost[1] < cost[2]);
  report.add_claim("SubADMM needs hardly any preparation, PGS a Delassus matrix", "negligible against that of PGS",
                   time_cell(subadmm.preparation_us()).text + " us, " +
                       ratio_cell(subadmm.preparation_us() / cost[0]).text + " the cost of an iteration; PGS " +
                       time_cell(pgs.preparation_us()).text + " us",
                   subadmm.preparation_us() < 0.1 * pgs.preparation_us(), "less than a tenth of that of PGS");
  const double even[] = {median(subadmm.late_cost), median(pgs.late_cost)};
  report.add_claim("SubADMM and PGS cost the same in every iteration", "uniform cost, linear increase",
                   "last third of the iterations by the first: SubADMM " + ratio_cell(even[0]).text + ", PGS " +
                       ratio_cell(even[1]).text,
                   is_about(even[0], 1.0, 1.5) && is_about(even[1], 1.0, 1.5), "both between 0.67x and 1.5x");
  report.add_claim("CANAL's cost per iteration falls as it goes on", "sublinear increase",
                   "last third of the iterations by the first: " + ratio_cell(median(canal.late_cost)).text,
                   median(canal.late_cost) < 1.0, "less than 1x");
}

/// Of CANAL, per iteration: the first two against the last two of ten.
void claim_steps(double early, double late, Report& report) {
  report.add_claim(
      "CANAL needs fewer Newton steps per iteration as it goes on", "falls, by the warm start",
      time_cell(early).text + " in the first two iterations, " + time_cell(late).text + " in the last two of ten",
      late < early);
}

void claim_nut(const Comparison& result, Report& report) {
  const Outcome &canal = result.of("canal, plain"), &subadmm = result.of("subadmm, plain"),
                &pgs = result.of("pgs on W"), &ours = result.of("auto");
  report.add_claim("CANAL reaches 1e-8", "residuals of 1e-8 or less", solved_text(canal), canal.all_solved(),
                   "all cases do", kRest);
  report.add_claim("SubADMM reaches 1e-8", "residuals of 1e-8 or less",
                   solved_text(subadmm) + ", in " + milliseconds(quantile(subadmm.times_to_1e8(), 0.5)),
                   subadmm.all_solved(), "all cases do", kRest);
  const double stuck = pgs.residual_at(end_of_canal(result));
  report.add_claim("PGS struggles past 1e-4", "near 1e-4",
                   (std::isfinite(stuck) ? residual_cell(stuck).text : "nothing yet") + " when CANAL is done, " +
                       residual_cell(median(pgs.residual_fixed)).text + " after 100 sweeps; in the end " +
                       solved_text(pgs) + " (our PGS " + solved_text(result.of("pgs")) + ")",
                   is_about(stuck, 1e-4, 10.0), "1e-5 to 1e-3 when CANAL is done");
  const double exact = subadmm.residual_at(end_of_canal(result));
  report.add_claim("SubADMM is more exact than PGS", "higher accuracy",
                   residual_cell(exact).text + " against " + residual_cell(stuck).text +
                       " when CANAL is done; after 100 iterations " +
                       residual_cell(median(subadmm.residual_fixed)).text + " against " +
                       residual_cell(median(pgs.residual_fixed)).text,
                   exact < stuck, "when CANAL is done");
  report.add_claim("SubADMM is quick at first, and less exact than CANAL in the end", "lower accuracy after a while",
                   residual_cell(exact).text + " when CANAL is at 1e-8", exact > kSolved);
  const double iterations = quantile(canal.iterations_to_1e8, 0.5);
  report.add_claim("CANAL is done in about 10 iterations", "about 10 outer iterations",
                   "to 1e-8: median " + time_cell(iterations).text + ", 90 % " +
                       time_cell(quantile(canal.iterations_to_1e8, 0.9)).text + " (ours " +
                       time_cell(quantile(result.of("canal").iterations_to_1e8, 0.5)).text + ")",
                   is_about(iterations, 10.0, 1.5), "the median is 7 to 15",
                   "the lag of the friction, which CANAL updates once per iteration (table)");
  claim_common(result, report);
  report.add_claim("beyond the paper: every case at 1e-8 from a cold start, median below 1 ms", "all, 1 ms (auto)",
                   solved_text(ours) + ", " + milliseconds(median(ours.times())),
                   ours.all_solved() && median(ours.times()) < 1.0);
}

void claim_dishes(const Comparison& result, Report& report) {
  const Outcome &canal = result.of("canal, plain"), &subadmm = result.of("subadmm, plain"),
                &pgs = result.of("pgs on W"), &ours = result.of("auto");
  report.add_claim("CANAL reaches residuals under 1e-8", "under 1e-8", solved_text(canal), canal.all_solved(),
                   "all cases do");
  const double end = end_of_canal(result), after = subadmm.residual_at(end), sweeps = pgs.residual_at(end);
  report.add_claim("SubADMM struggles to get under 1e-6", "about 1e-6",
                   residual_cell(after).text + " when CANAL is done, " +
                       residual_cell(median(subadmm.residual_fixed)).text + " after 100 iterations; in the end " +
                       solved_text(subadmm),
                   is_about(after, 1e-6, 10.0), "1e-7 to 1e-5 when CANAL is done",
                   "many cheap iterations, and a better penalty than from the paper's rule (notes)");
  report.add_claim("PGS is worse than both", "worse than SubADMM and CANAL",
                   (std::isfinite(sweeps) ? residual_cell(sweeps).text : "no sweep yet") +
                       " when CANAL is done, SubADMM " + residual_cell(after).text + "; after 100 sweeps " +
                       residual_cell(median(pgs.residual_fixed)).text + ", after 100 iterations " +
                       residual_cell(median(subadmm.residual_fixed)).text,
                   sweeps > after && median(pgs.residual_fixed) > median(subadmm.residual_fixed),
                   "both when CANAL is done and after 100 iterations");
  claim_common(result, report);
  report.add_claim("beyond the paper: every case at 1e-8 from a cold start", "all (auto)",
                   solved_text(ours) + ", " + milliseconds(median(ours.times())), ours.all_solved());
}

}  // namespace

Report run_bolt_nut(const BenchOptions& options) {
  const int places = options.quick ? 2 : 10, pushes = options.quick ? 5 : 10;
  Report report;
  report.name = "bolt_nut";
  report.title = "Bolt and nut, one step (Sec. VII-A, Fig. 5)";
  report.lead =
      "An M48 nut of steel, friction 0.2, pressed into the thread of its bolt by a random force of up to 100 N and a "
      "torque of up to 5 N m at " +
      std::to_string(places) + " places, then pushed by " + std::to_string(pushes) +
      " other random wrenches at each: contact problems of 6 degrees of freedom and up to 120 contacts. The bolt is a "
      "neural signed distance function, the nut's triangles are matched with it by Frank-Wolfe, and clouds of more "
      "than "
      "120 points are reduced. The same again on the exact function of the thread, as a check. Curves are medians, "
      "bands 10 to 90 % of the cases. Plain methods are the paper's (of SubADMM's penalty at the start there is a "
      "table below); PGS on W forms the Delassus matrix, as the paper's does. Our CANAL also takes strict Newton "
      "steps, "
      "our SubADMM is over-relaxed and accelerated, our PGS keeps velocities instead of W.";
  constexpr double kBudget = 50.0;  // [ms]
  for (const bool neural : {true, false}) {
    const std::vector<BenchProblem> cases = make_nut_cases(neural, places, pushes, options);
    save_cases(cases, options);
    const Comparison result = compare(cases, kBudget, options);
    const std::string key = neural ? "nut" : "nut_analytic";
    draw(result, key, neural ? "Neural bolt" : "Analytic bolt", kBudget, report);
    tabulate(result, key, neural ? "Nut on the neural bolt" : "Nut on the analytic bolt", kBudget, report);
    if (neural) {
      claim_nut(result, report);
      const auto [early, late] = show_lag(cases, "nut", "on the cases of the neural bolt", options, report);
      claim_steps(early, late, report);
      show_penalty(cases, "nut", "on the cases of the neural bolt", options, report);
      explain_rest(cases, result, report);
    } else {
      const Outcome& canal = result.of("canal, plain");
      report.add_claim("on the analytic thread, too, CANAL reaches 1e-8", "1e-8 or less", solved_text(canal),
                       canal.all_solved(), "all cases do");
    }
    double open = 0.0, all = 0.0;
    for (const Run& run : result.of("auto").runs) {
      open += run.certificate.modes[0];
      all += run.contacts;
    }
    report.notes.push_back(std::string(neural ? "neural" : "analytic") + " bolt: " +
                           count_cell(100.0 * open / all).text + " % of the contacts are open in the answer");
  }
  if (options.pictures) {
    Simulation nut(scenes::make_nut_model("M48", 0.2));
    for (int k = 0; k < 10; ++k) static_cast<void>(nut.step());
    add_picture(nut, {"M48 nut at rest on its bolt, and its contacts", {0.16, -0.2, 0.2, 0.0, 0.0, 0.085}, true},
                options, report);
  }
  return report;
}

Report run_dishes(const std::vector<DishCases>& cases, const BenchOptions& options) {
  Report report;
  report.name = "dishes";
  report.title = "Pile of dishes, one step (Sec. VII-B, Fig. 7)";
  report.lead =
      "Two bowls and a plate of 0.1 kg each under a pot of 5 kg, friction 0.5, at rest with 120 contacts in each of "
      "four "
      "pairs; then a random wrench on each dish at a lever of 5 cm. The paper does not say how large its wrenches are. "
      "Forces of up to a tenth of a dish's weight come nearest to its figures, so the claims are judged on these; "
      "forces "
      "of up to three times the weight are harder and shown as well. A case without an answer, with dishes wedged and "
      "pushed at once, is recognised and counted apart.";
  constexpr double kBudget = 100.0;  // [ms]
  Table jammed{
      "dish_jams", "Dish cases without an answer", "Recognised by auto within a second.", {"case", "status", "ms"}, {}};
  for (const DishCases& set : cases) {
    const std::size_t all = set.feasible.size() + set.jammed.rows.size();
    report.notes.push_back("wrenches up to " + time_cell(set.per_weight).text + " of the weight: " +
                           (set.jammed.rows.empty()
                                ? "all " + std::to_string(all) + " cases have an answer"
                                : std::to_string(set.jammed.rows.size()) + " of " + std::to_string(all) +
                                      " cases have no answer and are left out of the curves"));
    jammed.rows.insert(jammed.rows.end(), set.jammed.rows.begin(), set.jammed.rows.end());
    if (set.feasible.empty() || set.per_weight == kModerate) continue;
    const bool gentle = set.per_weight == kGentle;
    const Comparison result = compare(set.feasible, kBudget, options);
    draw(result, gentle ? "dish" : "dish_rough", gentle ? "Dishes" : "Rough wrenches", kBudget, report);
    tabulate(result, gentle ? "dish" : "dish_rough", gentle ? "Pile of dishes" : "Pile of dishes, rough wrenches",
             kBudget, report);
    const Outcome& ours = result.of("auto");
    if (gentle) {
      claim_dishes(result, report);
      const auto [early, late] = show_lag(set.feasible, "dish", "on the dish cases", options, report);
      claim_steps(early, late, report);
      show_penalty(set.feasible, "dish", "on the dish cases", options, report);
      explain_pace(set.feasible, result, options, report);
    } else {
      const Outcome& canal = result.of("canal, plain");
      report.add_claim("CANAL reaches 1e-8 with wrenches of three times the weight, too",
                       "under 1e-8; which wrenches is not said",
                       solved_text(canal) + ", SubADMM " + solved_text(result.of("subadmm, plain")), canal.all_solved(),
                       "all cases do", "many contacts slide, and friction lags (table of the lag)");
      report.add_claim("beyond the paper: wrenches of three times the weight, every case at 1e-8 from a cold start",
                       "all (auto)", solved_text(ours) + ", " + milliseconds(median(ours.times())), ours.all_solved());
    }
  }
  if (!jammed.rows.empty()) report.tables.push_back(std::move(jammed));
  if (options.pictures) {
    Simulation pile(scenes::make_pile_model(5.0, 0.5));
    for (int k = 0; k < 240; ++k) static_cast<void>(pile.step());
    add_picture(pile, {"Bowl, bowl, plate and pot at rest", {0.3, -0.36, 0.16, 0.0, 0.0, 0.06}, false}, options,
                report);
  }
  return report;
}

}  // namespace almond::bench
