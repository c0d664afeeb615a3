#include "apps/compare_mujoco.hpp"

#include <algorithm>
#include <cmath>

#include "almond/base/text.hpp"
#include "almond/base/timer.hpp"
#include "almond/view/mujoco_step.hpp"
#include "apps/common.hpp"
#include "apps/run_settings.hpp"
#include "apps/run_statistics.hpp"

namespace almond::app {
namespace {

using Facts = std::vector<std::pair<std::string, std::string>>;

/// What is known of the steps; what MuJoCo does not tell is left out.
Facts step_facts(const RunStatistics& s) {
  if (s.steps() == 0) return {};
  const Spread contacts = make_spread(s.contacts), time = make_spread(s.step_ms), depth = make_spread(s.penetration_mm);
  return {{"contacts", format("median %.4g, max %.4g", contacts.median, contacts.max)},
          {"step", format("median %.3g, p95 %.3g, max %.3g ms", time.median, time.p95, time.max)},
          {"penetration", format("median %.3g, max %.3g mm", depth.median, depth.max)}};
}

}  // namespace

MujocoRecord run_by_mujoco(scenes::LoadedScene& loaded, const std::string& title,
                           const std::function<bool(int done)>& after_step) {
  scenes::Scene& scene = loaded.scene;
  Simulation simulation(std::move(scene.model), scene.options);
  const Model& model = simulation.model();
  const double dt = simulation.options().dt;
  FileNotes notes;
  MujocoRun run(model, dt, notes);
  ReplayOptions kept;
  kept.title = title;
  Replay replay(model, make_looks(model, loaded.looks), dt, kept);
  RunStatistics statistics;
  Frame frame;
  double ran_away = kNaN;
  const double energy_start = simulation.energy().total();
  const Stopwatch watch;
  for (int i = 0; i < scene.steps; ++i) {
    if (scene.control) scene.control(simulation);
    const StepReport report = step_by_mujoco(run, simulation, frame);
    if (report.status == Status::kNumericalError) {
      ran_away = frame.time;
      break;
    }
    replay.add_step(frame, report, simulation.energy().total());
    statistics.add(report);
    if (!after_step(i + 1)) return {};
  }
  const int steps = statistics.steps();
  const double wall_s = 1e-3 * watch.elapsed_ms();
  Facts facts = {{"run", format("%d steps of %.4g ms, %.4g s simulated in %.3g s (%.3g x real time)", steps, 1e3 * dt,
                                dt * steps, wall_s, dt * steps / wall_s)},
                 {"model", format("%d bodies, %d dofs", model.num_bodies(), model.num_v)},
                 {"solver", run.settings()}};
  for (auto& fact : step_facts(statistics)) facts.push_back(std::move(fact));
  facts.emplace_back("energy",
                     format("%.6g J at the start, %.6g J at the end", energy_start, simulation.energy().total()));
  if (!std::isnan(ran_away)) facts.emplace_back("ran away", format("at %.4g s, where its recording ends", ran_away));
  // A judge that needs an observer may look at what only our steps leave behind.
  const scenes::Outcome outcome =
      scene.judge && !scene.observe && std::isnan(ran_away) ? scene.judge(simulation) : scenes::Outcome();
  for (const scenes::Metric& metric : outcome.metrics) facts.emplace_back(metric.name, format("%.6g", metric.value));
  if (outcome.success) facts.emplace_back("goal", *outcome.success ? "reached" : "missed");
  if (!notes.ignored.empty()) facts.emplace_back("not in MuJoCo", ignored_text(notes));
  for (const std::string& said : notes.said) facts.emplace_back("note", said);

  MujocoRecord record;
  record.summary = printable(title) + ": " + facts[0].second + "\n";
  std::size_t width = 11;
  for (const auto& [name, text] : facts) width = std::max(width, name.size());
  for (std::size_t i = 1; i < facts.size(); ++i)
    record.summary += "  " + facts[i].first + std::string(width + 2 - facts[i].first.size(), ' ') +
                      terminal_line(facts[i].second) + "\n";
  Frame end = frame;
  record_state(simulation, end);
  end.contacts = frame.contacts;
  record.replay = replay.finish(end, facts);
  return record;
}

}  // namespace almond::app
