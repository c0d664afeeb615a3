// How much work fixed problems and steps are: iterations, as JSON, for tools/work_baseline. Under callgrind each call
// of do_work() is one profile, so that instructions are counted case by case without the making of the case.

#include <cstdio>
#include <functional>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "almond/sim/step.hpp"
#include "scenes/parts.hpp"
#include "scenes/problems.hpp"

/// Outside of all namespaces, so that callgrind can be told its name. Never inlined, for the same reason.
__attribute__((noinline)) void do_work(const std::function<void()>& work) {
  work();
  asm volatile("" ::: "memory");  // no tail call: the profile ends where this returns
}

namespace almond {
namespace {

using nlohmann::ordered_json;

struct Work {
  int calls = 0;  // of do_work
  int iterations = 0, newton_steps = 0, pgs_sweeps = 0, admm_iterations = 0, unsolved = 0;

  void add(const SolveInfo& info, Status status) {
    iterations += info.iterations;
    newton_steps += info.newton_steps;
    pgs_sweeps += info.pgs_sweeps;
    admm_iterations += info.admm_iterations;
    unsolved += status == Status::kSolved ? 0 : 1;
  }
};

struct Case {
  const char* name;
  std::function<Work()> count;
};

/// Cold solves, one after the other.
Case cold(const char* name, std::vector<scenes::NamedProblem> problems) {
  return {name, [problems = std::move(problems)] {
            Work total;
            for (const scenes::NamedProblem& named : problems) {
              Workspace workspace;
              Solution solution;
              Status status = Status::kSolved;
              do_work([&] { status = solve(named.problem, {}, workspace, solution); });
              total.add(solution.info, status);
              ++total.calls;
            }
            return total;
          }};
}

/// Steps of a run from `first` on, warm as in a simulation; what leads there is not counted.
Case steps(const char* name, const Model& model, int first, int count) {
  return {name, [model, first, count] {
            Simulation simulation(model);
            for (int k = 0; k < first; ++k) static_cast<void>(simulation.step());
            Work total;
            do_work([&] {
              for (int k = 0; k < count; ++k) {
                const StepReport report = simulation.step();
                SolveInfo info = simulation.last().solution.info;  // of the last solve of the step
                info.iterations = report.iterations;
                total.add(info, report.status);
              }
            });
            total.calls = 1;
            return total;
          }};
}

std::vector<scenes::NamedProblem> nuts() {
  std::vector<scenes::NamedProblem> problems;
  for (std::uint64_t seed = 0; seed < 5; ++seed) problems.push_back(scenes::make_nut(120, seed));
  return problems;
}

std::vector<Case> all_cases() {
  std::vector<Case> cases;
  cases.push_back(cold("tower10_cold", {scenes::make_tower(10, 50.0)}));
  cases.push_back(cold("nut120_cold", nuts()));
  cases.push_back(cold("blocks12_cold", {scenes::make_block_pile(12, 0)}));
  cases.push_back(cold("spheres45_cold", {scenes::make_spheres(45, 0)}));
  cases.push_back(cold("quadrupeds8_cold", {scenes::make_quadrupeds(8, 0)}));
  cases.push_back(steps("tower10_steps", scenes::make_tower_model(9, 5.0, 0.6), 0, 120));
  cases.push_back(steps("dishes_steps", scenes::make_dishes_model(), 0, 120));
  cases.push_back(steps("spheres45_steps", scenes::make_spheres_model(45, 0), 60, 60));
  cases.push_back(steps("quadrupeds8_steps", scenes::make_quadrupeds_model(8, 0), 100, 40));
  cases.push_back(steps("nut_steps", scenes::make_nut_model("M48", 0.2), 10, 5));
  return cases;
}

}  // namespace
}  // namespace almond

int main() {
  using almond::ordered_json;
  ordered_json cases = ordered_json::object();
  for (const almond::Case& each : almond::all_cases()) {
    const almond::Work work = each.count();
    cases[each.name] = {
        {"calls", work.calls},           {"iterations", work.iterations},           {"newton_steps", work.newton_steps},
        {"pgs_sweeps", work.pgs_sweeps}, {"admm_iterations", work.admm_iterations}, {"unsolved", work.unsolved}};
  }
#ifdef __clang__
  const std::string compiler = "clang " __clang_version__;
#else
  const std::string compiler = "g++ " __VERSION__;
#endif
  const ordered_json out = {{"compiler", compiler}, {"flags", WORK_FLAGS}, {"cases", cases}};
  std::printf("%s\n", out.dump(1).c_str());
  return 0;
}
