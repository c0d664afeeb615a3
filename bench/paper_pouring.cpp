// How the methods scale with the number of bodies: balls poured from a bottle that a drive tilts.

#include "bench/paper_causes.hpp"
#include "bench/paper_scaling.hpp"
#include "scenes/bottle.hpp"

namespace almond::bench {

Report run_pouring(const BenchOptions& options) {
  Report report;
  report.name = "pouring";
  report.title = "Pouring, how the methods scale (Sec. VII-C, Fig. 8)";
  report.lead =
      "Balls of 5 mm radius and 10 g/cm\u00b3 in a bottle (a revolved profile) that a stiff drive tilts over a jar. "
      "Every few steps of the pouring the contact problem is solved by 5 iterations of CANAL, 100 of SubADMM and 100 "
      "sweeps of PGS, plain as in the paper and all on the same problems; the run itself is solved to 1e-8 (to 1e-6 "
      "beyond 120 degrees of freedom), with more than 45 balls by 200 iterations of SubADMM. Cold: from no impulses, "
      "which the claims are judged by; warm: from "
      "the exact ones of the step before. The robot that holds the bottle has a part of its own below. Beyond the "
      "paper's 45 balls the bottle grows with their number. Curves: times are medians, residuals means, bands 10 to 90 "
      "% of the steps.";
  std::vector<int> counts = {9, 18, 27, 36, 45};
  if (options.quick) counts = {9, 18, 27};
  if (!options.quick) counts.insert(counts.end(), {100, 300, 1000});
  std::vector<ScalingSize> sizes, of_paper;
  std::vector<BenchProblem> kept;  // of 27 balls
  for (const int balls : counts) {
    ScalingRun run;
    run.scene = scenes::make_bottle_scene(balls);
    if (balls > kMostOfPaper) {  // what is measured does not need a run that is exact
      run.scene.options.solver.solver = SolverKind::kSubAdmm;
      run.scene.options.solver.max_iterations = 200;
    }
    run.balls = balls;
    run.every = balls > 300 ? 100 : 8;
    run.name = "pour";
    run.save = balls <= kMostOfPaper || balls > 300;
    sizes.push_back(measure_scaling(run, options, balls == kLooked ? &kept : nullptr));
    if (balls <= kMostOfPaper) of_paper.push_back(sizes.back());
  }
  report.tables.push_back(tabulate_scaling(sizes, "pouring"));
  draw_scaling(sizes, "pouring", report);
  claim_scaling(sizes, of_paper, "", report);
  const std::string where = "on the problems of " + std::to_string(kLooked) + " balls";
  static_cast<void>(show_lag(kept, "pouring", where, options, report));
  show_canal_penalty(kept, kFixedMethods[0].iterations, "pouring", where, options, report);
  show_penalty(kept, "pouring", where, options, report);
  show_pgs_steps(kept, "pouring", where, options, report);
  if (!options.quick)
    report.notes.push_back(
        "residuals of SubADMM and PGS grow with the number of balls up to 45: nine balls touch in chains so short that "
        "a "
        "hundred local steps settle most of them, and the mean is that of the few that are left; from 100 balls on it "
        "grows no more");
  if (options.pictures) {
    scenes::Scene scene = scenes::make_bottle_scene(45);
    Simulation sim(scene.model, scene.options);
    for (int k = 0; k < 380; ++k) {
      scene.control(sim);
      static_cast<void>(sim.step());
    }
    add_picture(sim, {"45 balls poured from a bottle into a jar", {0.2, -0.36, 0.42, -0.01, 0.0, 0.09}}, options,
                report);
  }
  return report;
}

}  // namespace almond::bench
