#include "apps/run_report.hpp"

#include <sys/resource.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "almond/base/text.hpp"
#include "bench/runs.hpp"

namespace almond::app {
namespace {

using Json = nlohmann::ordered_json;

double peak_rss_mb() {
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  return static_cast<double>(usage.ru_maxrss) / 1024.0;  // Linux counts in KiB
}

Json middle_and_max(const std::vector<double>& values) {
  const Spread spread = make_spread(values);
  return {{"median", spread.median}, {"max", spread.max}};
}

Json whole_spread(const std::vector<double>& values) {
  const Spread spread = make_spread(values);
  return {{"median", spread.median}, {"p95", spread.p95}, {"max", spread.max}};
}

double real_time_factor(const Simulation& simulation, const RunRecord& record) {
  return simulation.options().dt * record.statistics.steps() / record.wall_s;
}

std::string spread_text(const std::vector<double>& values, const char* unit) {
  const Spread s = make_spread(values);
  return format("median %.3g, p95 %.3g, max %.3g %s", s.median, s.p95, s.max, unit);
}

/// The statuses other than solved, with how often: "2 max-iterations, 1 stalled".
std::string unsolved_text(const RunStatistics& statistics) {
  std::string text;
  for (std::size_t i = 1; i < kStatuses.size(); ++i) {
    if (statistics.status_counts[i] == 0) continue;
    text += (text.empty() ? "" : ", ") + std::to_string(statistics.status_counts[i]) + " " + to_string(kStatuses[i]);
  }
  return text;
}

}  // namespace

std::string run_json(const scenes::Scene& scene, const Simulation& simulation, const RunRecord& record,
                     std::uint64_t seed) {
  const RunStatistics& s = record.statistics;
  const StepOptions& options = simulation.options();
  Json metrics = Json::object(), counts = Json::object();
  for (const scenes::Metric& metric : record.outcome.metrics) metrics[metric.name] = metric.value;
  for (std::size_t i = 0; i < kStatuses.size(); ++i) counts[to_string(kStatuses[i])] = s.status_counts[i];
  const Json object = {
      {"scene", scene.name},
      {"solver", to_string(options.solver.solver)},
      {"dt", options.dt},
      {"steps", s.steps()},
      {"dofs", simulation.model().num_v},
      {"bodies", simulation.model().num_bodies()},
      {"threads", options.solver.threads},
      {"seed", seed},
      {"state_hash", hash_text(state_hash(simulation.state()))},
      {"contacts", middle_and_max(s.contacts)},
      {"step_ms", whole_spread(s.step_ms)},
      {"solve_ms", whole_spread(s.solve_ms)},
      {"collide_ms", whole_spread(s.collide_ms)},
      {"residual", whole_spread(s.residual)},
      {"penetration_mm", middle_and_max(s.penetration_mm)},
      {"opening", middle_and_max(s.opening)},
      {"unconverged_steps", s.unconverged()},
      {"dropped_contacts", s.dropped_contacts},
      {"peak_rss_mb", peak_rss_mb()},
      {"success", record.outcome.success && record.own_steps == 0 ? Json(*record.outcome.success) : Json(nullptr)},
      {"metrics", std::move(metrics)},
      {"time_s", simulation.state().time},
      {"real_time_factor", real_time_factor(simulation, record)},
      {"status_counts", std::move(counts)},
      {"energy", {{"start", record.energy_start.total()}, {"end", record.energy_end.total()}}},
      {"reduced_contacts", s.reduced_contacts},
      {"suspicious_depths", s.suspicious_depths},
      {"jammed_steps", s.jammed},
      {"overdone_steps", s.overdone},
      {"passed_steps", s.passed},
      {"divided_steps", s.divided},
      {"held_contacts", s.held_contacts},
      {"energy_limited_steps", s.energy_limited},
      {"energy_dt", s.energy_dt},
      {"interrupted", record.interrupted},
      {"remarks", simulation.model().remarks},
      {"task", record.outcome.reached.empty() ? Json(nullptr) : Json(record.outcome.reached)},
      {"tolerance", enough_residual(options.solver, simulation.model().num_v)},
  };
  return object.dump(1, ' ', false, Json::error_handler_t::replace) + "\n";
}

std::vector<RunFact> run_facts(const Simulation& simulation, const RunRecord& record) {
  const RunStatistics& s = record.statistics;
  const StepOptions& options = simulation.options();
  std::vector<RunFact> facts;
  const auto line = [&facts](const std::string& name, const std::string& text, Verdict verdict = Verdict::kNone) {
    facts.push_back({name, text, verdict});
  };
  line("model", format("%d bodies, %d dofs", simulation.model().num_bodies(), simulation.model().num_v));
  line("solver", format("%s, tolerance %.3g, %d %s", to_string(options.solver.solver),
                        enough_residual(options.solver, simulation.model().num_v), options.solver.threads,
                        options.solver.threads == 1 ? "thread" : "threads"));
  if (options.solver.budget_ms > 0.0)
    line(
        "budget",
        format(
            "%.3g ms of wall clock for the solves of a step, on a machine that takes %.3g ms for a Cholesky of 300x300",
            options.solver.budget_ms, bench::time_cholesky_300()));
  const Spread contacts = make_spread(s.contacts), depth = make_spread(s.penetration_mm);
  line("contacts", format("median %.4g, max %.4g", contacts.median, contacts.max));
  line("step", spread_text(s.step_ms, "ms"));
  line("solve", spread_text(s.solve_ms, "ms"));
  line("collide", spread_text(s.collide_ms, "ms"));
  line("residual", spread_text(s.residual, "N s"));
  line("penetration", format("median %.3g, max %.3g mm", depth.median, depth.max));
  if (!simulation.model().closures.empty()) {
    const Spread opening = make_spread(s.opening);
    line("loops", format("open by median %.3g, max %.3g m or rad", opening.median, opening.max));
  }
  line("energy",
       format("%.6g J at the start, %.6g J at the end", record.energy_start.total(), record.energy_end.total()));
  if (s.unconverged() == 0) {
    line("converged", "every step", Verdict::kGood);
  } else {
    line("converged", format("%d of %d steps", s.status_counts[0], s.steps()) + ": " + unsolved_text(s), Verdict::kBad);
  }
  if (s.dropped_contacts > 0) line("dropped", std::to_string(s.dropped_contacts) + " contacts", Verdict::kBad);
  if (s.suspicious_depths > 0)
    line("depths", std::to_string(s.suspicious_depths) + " suspicious ones cut", Verdict::kBad);
  if (s.passed > 0)
    line("passed", format("%d steps led bodies through each other, or into each other", s.passed), Verdict::kBad);
  if (s.divided > 0) line("divided", format("%d steps, for bodies not to pass through each other", s.divided));
  if (s.energy_limited > 0)
    line("energy",
         format("%d steps: links whirl too fast for the step, held; %.2g s would do", s.energy_limited, s.energy_dt));
  if (s.jammed > 0)
    line(
        "jammed",
        format("%d steps: overlaps held by friction or from two sides, corrected without friction as far as they agree",
               s.jammed));
  if (s.overdone > 0)
    line("impulses",
         format("%d steps: beyond what any mass could need, so constraints contradict each other", s.overdone),
         Verdict::kBad);
  if (s.held_contacts > 0)
    line("held", format("up to %d contacts in a step that no joint can open, left out", s.held_contacts));
  for (const scenes::Metric& metric : record.outcome.metrics) line(metric.name, format("%.6g", metric.value));
  if (!record.outcome.reached.empty()) line("task", record.outcome.reached);
  if (record.own_steps > 0) {
    const auto done = static_cast<int>(simulation.state().steps);
    line("goal",
         format("not reached yet: %d of %d steps, %.0f %%", done, record.own_steps, 100.0 * done / record.own_steps));
  } else if (record.outcome.success) {
    const bool reached = *record.outcome.success;
    line("goal", reached ? "reached" : "missed", reached ? Verdict::kGood : Verdict::kBad);
  }
  line("state", hash_text(state_hash(simulation.state())));
  if (record.interrupted) line("interrupted", "what was recorded until here is written", Verdict::kBad);
  return facts;
}

std::string run_headline(const Simulation& simulation, const RunRecord& record) {
  const double dt = simulation.options().dt;
  const int steps = record.statistics.steps();
  return format("%d steps of %.4g ms, %.4g s simulated in %.3g s (%.3g x real time)", steps, 1e3 * dt, dt * steps,
                record.wall_s, real_time_factor(simulation, record));
}

std::vector<std::pair<std::string, std::string>> page_facts(const Simulation& simulation, const RunRecord& record) {
  std::vector<std::pair<std::string, std::string>> facts = {{"run", run_headline(simulation, record)}};
  for (const RunFact& fact : run_facts(simulation, record)) facts.emplace_back(fact.name, fact.text);
  return facts;
}

std::string run_summary(const scenes::Scene& scene, const Simulation& simulation, const RunRecord& record,
                        bool colour) {
  const std::vector<RunFact> facts = run_facts(simulation, record);
  std::size_t width = 11;
  for (const RunFact& fact : facts) width = std::max(width, fact.name.size());
  std::string text = printable(scene.name) + ": " + run_headline(simulation, record) + "\n";
  for (const RunFact& fact : facts) {
    const bool painted = colour && fact.verdict != Verdict::kNone;
    text += "  " + fact.name + std::string(width + 2 - fact.name.size(), ' ');
    text += painted ? (fact.verdict == Verdict::kGood ? "\033[32m" : "\033[31m") + fact.text + "\033[0m" : fact.text;
    text += "\n";
  }
  return text;
}

}  // namespace almond::app
