#include "almond/task/phases.hpp"

#include "almond/base/check.hpp"

namespace almond {
namespace {

/// Half a step: a duration of n steps lasts n steps, whatever rounding does to the sum of them.
bool is_late(const Phase& phase, const Simulation& simulation, double t) {
  return t >= phase.duration - 0.5 * simulation.options().dt;
}

void end_phase(Task& task, Simulation& simulation) {
  const Phase& phase = task.phases[task.current];
  if (phase.check)
    for (Check check : phase.check(simulation)) {
      if (!check.good() && task.failure.empty()) task.failure = to_text(check);
      check.name = phase.name + ": " + check.name;
      task.checks.push_back(std::move(check));
    }
  if (!task.failure.empty()) return;
  ++task.current;
  task.begun = false;
}

}  // namespace

std::string to_text(const Check& check) {
  const bool low = check.low > -kInfinity, high = check.high < kInfinity;
  std::string text = check.name + " is " + to_text(check.value) + ", expected ";
  if (low && high) return text + to_text(check.low) + " to " + to_text(check.high);
  if (!low && !high) return text + "a number";
  return text + (low ? "at least " + to_text(check.low) : "at most " + to_text(check.high));
}

void advance(Task& task, Simulation& simulation) {
  while (!task.over()) {
    const Phase& phase = task.phases[task.current];
    if (!task.begun) {
      task.begun = true;
      task.began = simulation.state().time;
      if (phase.begin) phase.begin(simulation);
    }
    const double t = simulation.state().time - task.began;
    const bool late = is_late(phase, simulation, t);
    const Check end = phase.done ? phase.done(simulation, t) : Check{"", late ? 1.0 : 0.0, 1.0};
    if (end.good()) {
      end_phase(task, simulation);
      continue;
    }
    if (late) {
      task.failure = to_text(end) + " after " + to_text(phase.duration) + " s";
      for (const Check& check : phase.check ? phase.check(simulation) : std::vector<Check>{})
        if (!check.good()) task.failure += ", " + to_text(check);
      return;
    }
    if (phase.act) phase.act(simulation, t);
    return;
  }
}

std::string describe(const Task& task) {
  if (task.done()) return "done: " + std::to_string(task.phases.size()) + " phases";
  const std::string place = "phase " + std::to_string(task.current + 1) + " of " + std::to_string(task.phases.size()) +
                            ", " + task.phases[task.current].name;
  return task.failure.empty() ? place : place + ": " + task.failure;
}

}  // namespace almond
