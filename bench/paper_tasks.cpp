// Robots at work under a limit of time per step: a nut screwed on, dishes piled (Sec. VII-A and VII-B).

#include <algorithm>
#include <cmath>

#include "almond/load/installed_robots.hpp"
#include "almond/view/replay.hpp"
#include "bench/delassus_pgs.hpp"
#include "bench/paper.hpp"
#include "scenes/metrics.hpp"

namespace almond::bench {
namespace {

struct TaskOfPaper {
  const char* scene;
  double budget_ms;    // of the solver, per step
  const char* figure;  // a metric of the scene that says how well it went
  std::vector<double> camera;
  const char* caption;
};

struct TaskRun {
  bool done = false;
  std::string reached;
  double deepest_um = kNaN, figure = kNaN, jitter = kNaN;
  double cut = 0.0;  // share of the steps that ended above the tolerance [%]
  std::vector<double> solve_ms, residuals;
  std::vector<double> forming_ms;  // the Delassus matrix, now and then
};

TaskRun run_task(const TaskOfPaper& task, SolverKind solver, const BenchOptions& options) {
  std::vector<std::pair<std::string, double>> given;
  if (options.quick) given = {{"turns", 1.0}};
  scenes::Scene scene = scenes::make_scene(task.scene, given);
  scene.options.solver.solver = solver;
  scene.options.solver.budget_ms = task.budget_ms;
  Simulation sim(scene.model, scene.options);
  TaskRun run;
  for (int k = 0; k < scene.steps; ++k) {
    options.progress(std::string(task.scene) + " by " + to_string(solver) + ", step " + std::to_string(k) + " of " +
                     std::to_string(scene.steps));
    scene.control(sim);
    const StepReport report = sim.step();
    if (scene.observe) scene.observe(sim, report);
    run.cut += report.status == Status::kSolved ? 0.0 : 100.0 / scene.steps;
    run.solve_ms.push_back(report.solve_ms);
    run.residuals.push_back(report.residual);
    constexpr int kEvery = 100;
    if (solver == SolverKind::kPgs && k % kEvery == kEvery - 1)
      run.forming_ms.push_back(time_delassus_pgs(copy_problem(sim, "task"), 0, 3).front());
  }
  const scenes::Outcome outcome = scene.judge(sim);
  run.done = outcome.success.value_or(false);
  run.reached = outcome.reached;
  run.deepest_um = scenes::metric_of(outcome, "deepest_um");
  run.figure = scenes::metric_of(outcome, task.figure);
  run.jitter = scenes::metric_of(outcome, "jitter_mm_per_s");
  return run;
}

/// A picture of the task on its way, by the default solver without a limit.
void draw_task(const TaskOfPaper& task, const BenchOptions& options, Report& report) {
  if (!options.pictures) return;
  scenes::Scene scene = scenes::make_scene(task.scene);
  Simulation sim(scene.model, scene.options);
  for (int k = 0; k < 4 * scene.steps / 5; ++k) {
    options.progress("drawing: " + std::string(task.caption) + ", step " + std::to_string(k));
    scene.control(sim);
    const StepReport step = sim.step();
    if (scene.observe) scene.observe(sim, step);
  }
  PictureOptions picture{task.caption, task.camera, false, {}};
  if (scene.make_looks) picture.looks = scene.make_looks();
  add_picture(sim, picture, options, report);
}

}  // namespace

Report run_robot_tasks(const BenchOptions& options) {
  Report report;
  report.name = "robot_tasks";
  report.title = "Robots at work within a limit of time (Sec. VII-A and VII-B)";
  report.lead =
      "The scenes bolt_nut_assembly (a Panda with an actuator that turns without end screws an M48 nut onto its bolt) "
      "and "
      "dish_piling (a Panda with an Allegro hand piles bowl, bowl, plate and a pot of 5 kg; 47 degrees of freedom), "
      "from start to end, with "
      "the "
      "paper's limits for the solver of each step, 0.5 and 1 ms of wall-clock time on this machine, by each solver as "
      "it is "
      "shipped. Cut: steps that ended above the tolerance, almost all of them because the time was up.";
  std::string why;
  if (!have_robots(why)) {
    report.notes.push_back(why);
    report.left_out = true;
    return report;
  }
  std::vector<TaskOfPaper> tasks = {{"bolt_nut_assembly",
                                     0.5,
                                     "pitch_error_percent",
                                     {1.25, -0.75, 0.65, 0.45, 0.0, 0.25},
                                     "A Panda screws an M48 nut onto its bolt"}};
  if (!options.quick)
    tasks.push_back({"dish_piling",
                     1.0,
                     "slip_mm",
                     {1.15, -0.75, 0.6, 0.45, 0.0, 0.15},
                     "A Panda with an Allegro hand piles dishes"});
  Table table{"robot_tasks",
              "Each solver runs the task itself",
              "Figure: error of the pitch [%] of the nut, largest slip of a dish in the hand [mm].",
              {"task", "solver", "budget ms", "goal", "deepest um", "figure", "jitter mm/s", "cut %", "solve ms",
               "solve 95 % ms", "median residual", "how far"},
              {}};
  for (const TaskOfPaper& task : tasks) {
    std::string measured;
    bool ours = true, pgs = false;
    double forming = kNaN;
    const auto judge = [&](const TaskOfPaper& limited, SolverKind solver) {
      const TaskRun run = run_task(limited, solver, options);
      const auto optional = [](double value) {
        return std::isfinite(value) ? time_cell(value) : text_cell("-", Tone::kQuiet);
      };
      table.rows.push_back({text_cell(task.scene), text_cell(to_string(solver)),
                            limited.budget_ms > 0.0 ? time_cell(limited.budget_ms) : text_cell("none"),
                            text_cell(run.done ? "reached" : "missed", run.done ? Tone::kGood : Tone::kBad),
                            optional(run.deepest_um), optional(run.figure), optional(run.jitter), time_cell(run.cut),
                            time_cell(median(run.solve_ms)), time_cell(quantile(run.solve_ms, 0.95)),
                            residual_cell(median(run.residuals)), text_cell(run.reached)});
      if (solver == SolverKind::kPgs) forming = quantile(run.forming_ms, 0.9);
      return run.done;
    };
    for (const SolverKind solver : {SolverKind::kAuto, SolverKind::kCanal, SolverKind::kSubAdmm, SolverKind::kPgs}) {
      const bool done = judge(task, solver);
      if (solver == SolverKind::kPgs) {
        pgs = done;
      } else if (solver != SolverKind::kAuto) {
        ours = ours && done;
      }
      measured += (measured.empty() ? "" : ", ") + std::string(to_string(solver)) + (done ? " succeeds" : " fails");
    }
    TaskOfPaper free = task;
    free.budget_ms = 0.0;
    static_cast<void>(judge(free, SolverKind::kAuto));
    report.add_claim(std::string(task.scene) + ": CANAL and SubADMM complete the task within " +
                         time_cell(task.budget_ms).text + " ms a step",
                     "both succeed", measured, ours);
    report.add_claim(std::string(task.scene) + ": PGS fails", "penetration, jitter", measured, !pgs, "",
                     "ours needs no Delassus matrix; to form it would take " + time_cell(forming).text +
                         " ms in the fullest tenth of the steps, of " + time_cell(task.budget_ms).text + " ms in all");
  }
  report.tables.push_back(std::move(table));
  if (!options.quick)
    report.notes.emplace_back(
        "without a limit (the last line of each task) nearly all steps of the dishes take less than 1 ms. Those in "
        "which "
        "the pot comes to rest on the light dishes take several; cut off, they carry too little of its weight. What "
        "our "
        "solvers leave then is stopped from the table up, body by body, before anything moves: without that the bowls "
        "sink into the table by centimetres, with PGS as with the others");
  for (const TaskOfPaper& task : tasks) draw_task(task, options, report);
  return report;
}

}  // namespace almond::bench
