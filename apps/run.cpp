#include "apps/run.hpp"

#include <algorithm>

#include "almond/base/timer.hpp"

namespace almond::app {

RunRecord run_scene(const scenes::Scene& scene, Simulation& simulation, const RunOptions& options) {
  RunRecord record;
  record.energy_start = simulation.energy();
  const auto keep_poses = [&] {
    if (options.trajectory) record.trajectory.add(simulation.model(), simulation.kinematics(), simulation.state().time);
  };
  keep_poses();
  const double start_time = simulation.state().time;
  const Stopwatch watch;
  for (int i = 0; i < options.steps && !record.interrupted; ++i) {
    if (scene.control) scene.control(simulation);
    const bool dump = std::find(options.dump_steps.begin(), options.dump_steps.end(), i) != options.dump_steps.end();
    const StepReport report = simulation.step();
    if (dump) record.problems[i] = copy_problem(simulation, scene.name + "-" + std::to_string(i));
    if (options.replay != nullptr) options.replay->add_step(simulation, report);
    if (scene.observe) scene.observe(simulation, report);
    record.statistics.add(report);
    keep_poses();
    if (!options.after_step) continue;
    const double now = simulation.state().time;
    const RunProgress progress{.done = i + 1,
                               .all = options.steps,
                               .time = now,
                               .real_time_factor = 1e3 * (now - start_time) / watch.elapsed_ms(),
                               .unconverged = record.statistics.unconverged(),
                               .last = report};
    record.interrupted = !options.after_step(progress) && i + 1 < options.steps;
  }
  record.wall_s = 1e-3 * watch.elapsed_ms();
  record.energy_end = simulation.energy();
  if (scene.judge) record.outcome = scene.judge(simulation);
  if (record.interrupted) record.outcome.success.reset();
  const bool missed = record.outcome.success && !*record.outcome.success;
  if (missed && simulation.state().steps < scene.own_steps) record.own_steps = scene.own_steps;
  return record;
}

}  // namespace almond::app
