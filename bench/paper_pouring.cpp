// How the methods scale with the number of bodies: balls poured from a bottle, fixed numbers of iterations (Fig. 8).

#include <algorithm>
#include <cmath>

#include "almond/sim/next_problem.hpp"
#include "almond/solver/certificate.hpp"
#include "almond/solver/solve.hpp"
#include "bench/paper.hpp"
#include "scenes/bottle.hpp"

namespace almond::bench {
namespace {

constexpr int kMostOfPaper = 45;

struct Method {
  const char* name;
  SolverKind kind;
  int iterations;
};
constexpr Method kMethods[] = {
    {"canal", SolverKind::kCanal, 5}, {"subadmm", SolverKind::kSubAdmm, 100}, {"pgs", SolverKind::kPgs, 100}};

/// Of one method, over the run.
struct Means {
  double time_ms = 0.0, residual = 0.0;
};

struct Size {
  int balls = 0, dofs = 0;
  double contacts = 0.0, poured = 0.0;
  Means methods[3];
};

Size measure(int balls, int every, const BenchOptions& options) {
  scenes::Scene scene = scenes::make_bottle_scene(balls);
  const auto control = scene.control;
  const auto judge = scene.judge;
  const int steps = scene.steps;
  Simulation sim(std::move(scene.model), scene.options);
  Size size;
  size.balls = balls;
  size.dofs = sim.model().num_v;
  std::vector<double> contacts, times[3], residuals[3];
  Workspace workspace[3];
  for (int k = 0; k < steps; ++k) {
    options.progress(std::to_string(balls) + " balls, step " + std::to_string(k));
    control(sim);
    if (k % every == every / 2) {
      BenchProblem problem;
      problem.problem = next_problem(sim.model(), sim.options(), sim.inputs(), sim.state());
      problem.name = problem.problem.name = "pour" + std::to_string(balls) + "_step" + std::to_string(k);
      contacts.push_back(problem.problem.num_contacts());
      for (int m = 0; m < 3; ++m) {
        Settings settings;
        settings.solver = kMethods[m].kind;
        settings.max_iterations = kMethods[m].iterations;
        settings.fixed_iterations = kMethods[m].kind != SolverKind::kCanal;
        std::vector<double> repeats;
        Solution solution;
        for (int r = 0; r < 3; ++r) {
          workspace[m].forget();
          solution = Solution{};
          solve(problem.problem, settings, workspace[m], solution);
          repeats.push_back(solution.info.time_ms);
        }
        times[m].push_back(median(repeats));
        residuals[m].push_back(make_certificate(problem.problem, solution.v, solution.lambda).residual);
      }
      if (k == every / 2 + every * (steps / every / 2)) save_cases({problem}, options);
    }
    static_cast<void>(sim.step());
  }
  size.contacts = mean(contacts);
  for (int m = 0; m < 3; ++m) size.methods[m] = {mean(times[m]), mean(residuals[m])};
  size.poured = judge(sim).metrics[0].value;
  return size;
}

}  // namespace

Report run_pouring(const BenchOptions& options) {
  Report report;
  report.name = "pouring";
  report.title = "Pouring, how the methods scale (Sec. VII-C, Fig. 8)";
  report.lead =
      "Balls of 5 mm radius and 10 g/cm\u00b3 in a bottle (a revolved profile) that a stiff drive tilts over a jar. At "
      "every "
      "few steps of the pouring the contact problem is solved from a cold start by 5 iterations of CANAL, 100 of "
      "SubADMM "
      "and 100 sweeps of PGS, on the same problems; the run itself is solved to 1e-8. The paper's robot that holds the "
      "bottle is left out here. Beyond the paper's 45 balls the bottle grows with their number.";
  std::vector<int> counts = {9, 18, 27, 36, 45};
  if (options.quick) counts = {9, 18, 27};
  if (!options.quick) counts.insert(counts.end(), {100, 300, 1000});
  Table table{"pouring",
              "Fig. 8: mean time and residual over the pouring",
              "Times in ms.",
              {"balls", "dofs", "contacts", "canal ms", "subadmm ms", "pgs ms", "canal residual", "subadmm residual",
               "pgs residual", "in the jar"},
              {}};
  std::vector<Size> sizes;
  for (const int balls : counts) {
    sizes.push_back(measure(balls, balls > 300 ? 24 : 8, options));
    const Size& s = sizes.back();
    table.rows.push_back(
        {count_cell(s.balls), count_cell(s.dofs), count_cell(s.contacts), time_cell(s.methods[0].time_ms),
         time_cell(s.methods[1].time_ms), time_cell(s.methods[2].time_ms), residual_cell(s.methods[0].residual),
         residual_cell(s.methods[1].residual), residual_cell(s.methods[2].residual), count_cell(s.poured)});
  }
  report.tables.push_back(std::move(table));
  Plot time, residual;
  time.title = "Time over degrees of freedom";
  time.x.label = residual.x.label = "degrees of freedom";
  time.y.label = "mean time [ms]";
  residual.title = "Residual over degrees of freedom";
  residual.y.label = "mean residual [N s]";
  double exponent[3], exponent_all[3], ratio = 0.0, worst_canal = 0.0;
  for (int m = 0; m < 3; ++m) {
    Series times, residuals;
    times.name = residuals.name = kMethods[m].name;
    times.steps = residuals.steps = false;
    times.markers = residuals.markers = true;
    std::vector<Point> of_paper;
    for (const Size& s : sizes) {
      times.points.push_back({static_cast<double>(s.dofs), s.methods[m].time_ms});
      residuals.points.push_back({static_cast<double>(s.dofs), s.methods[m].residual});
      if (s.balls <= kMostOfPaper) of_paper.push_back(times.points.back());
    }
    exponent[m] = fit_exponent(of_paper);
    exponent_all[m] = fit_exponent(times.points);
    time.series.push_back(std::move(times));
    residual.series.push_back(std::move(residuals));
  }
  std::vector<double> ratios;
  for (const Size& s : sizes) {
    if (s.balls > kMostOfPaper) continue;
    worst_canal = std::max(worst_canal, s.methods[0].residual);
    ratios.push_back(s.methods[1].residual / s.methods[2].residual);
  }
  ratio = geometric_mean(ratios);
  add_plot(time, "pouring_time", report);
  add_plot(residual, "pouring_residual", report);
  const auto text = [](const double* e) {
    return "SubADMM " + time_cell(e[1]).text + ", PGS " + time_cell(e[2]).text + ", CANAL " + time_cell(e[0]).text;
  };
  report.add_claim("growth of the time, exponent over degrees of freedom", "SubADMM < PGS < CANAL, CANAL below 3",
                   text(exponent), exponent[1] < exponent[2] && exponent[2] < exponent[0] && exponent[0] < 3.0);
  if (sizes.back().balls > kMostOfPaper)
    report.add_claim("beyond the paper: the same up to " + std::to_string(sizes.back().balls) + " balls",
                     "SubADMM < PGS < CANAL", text(exponent_all),
                     exponent_all[1] < exponent_all[2] && exponent_all[2] < exponent_all[0]);
  report.add_claim("CANAL in 5 iterations", "below 1e-5", "at most " + residual_cell(worst_canal).text + " (means)",
                   worst_canal < 1e-5);
  report.add_claim("SubADMM is more exact than PGS", "about 0.1x its residual", ratio_cell(ratio).text, ratio <= 0.3);
  const double low = sizes.front().methods[1].residual, high = sizes.back().methods[1].residual;
  report.add_claim("the residual does not depend much on the number of balls", "not significantly",
                   "SubADMM: " + residual_cell(low).text + " with " + std::to_string(sizes.front().balls) + ", " +
                       residual_cell(high).text + " with " + std::to_string(sizes.back().balls),
                   high < 10.0 * low);
  if (options.pictures) {
    scenes::Scene scene = scenes::make_bottle_scene(45);
    Simulation sim(scene.model, scene.options);
    for (int k = 0; k < 290; ++k) {
      scene.control(sim);
      static_cast<void>(sim.step());
    }
    add_picture(sim, "45 balls poured from a bottle into a jar", {0.12, -0.25, 0.2, 0.0, 0.0, 0.07}, false, options,
                report);
  }
  return report;
}

}  // namespace almond::bench
