// How much work fixed problems and steps are: iterations, as JSON, for tools/work_baseline. Under callgrind each call
// of do_work() is one profile, so that instructions are counted without the making of a case.

#include <algorithm>
#include <cstdio>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "almond/sim/step.hpp"
#include "scenes/parts.hpp"
#include "scenes/problems.hpp"

#if __has_include(<valgrind/callgrind.h>)
#include <valgrind/callgrind.h>
#else  // nothing is counted then
#define CALLGRIND_START_INSTRUMENTATION
#define CALLGRIND_STOP_INSTRUMENTATION
#define CALLGRIND_DUMP_STATS
#endif

namespace almond {
namespace {

using nlohmann::ordered_json;

template <class Work>
void do_work(const Work& work) {
  CALLGRIND_START_INSTRUMENTATION;
  work();
  CALLGRIND_STOP_INSTRUMENTATION;
  CALLGRIND_DUMP_STATS;
}

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

/// Cold solves, one after the other.
Work cold(const std::vector<scenes::NamedProblem>& problems) {
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
}

/// Steps of a run from `first` on, warm as in a simulation; what leads there is not counted.
Work steps(const Model& model, int first, int count) {
  Simulation simulation(model);
  for (int k = 0; k < first; ++k) static_cast<void>(simulation.step());
  Work total;
  total.calls = 1;
  do_work([&] {
    for (int k = 0; k < count; ++k) {
      const StepReport report = simulation.step();
      SolveInfo info = simulation.last().solution.info;  // of the last solve of the step
      info.iterations = report.iterations;
      total.add(info, report.status);
    }
  });
  return total;
}

std::vector<scenes::NamedProblem> nuts() {
  std::vector<scenes::NamedProblem> problems;
  for (std::uint64_t seed = 0; seed < 5; ++seed) problems.push_back(scenes::make_nut(120, seed));
  return problems;
}

struct Case {
  const char* name;
  Work (*count)();
};

/// Small enough that all of them together take half a minute under callgrind.
constexpr Case kCases[] = {{"tower10_cold", [] { return cold({scenes::make_tower(10, 50.0)}); }},
                           {"nut120_cold", [] { return cold(nuts()); }},
                           {"blocks12_cold", [] { return cold({scenes::make_block_pile(12, 0)}); }},
                           {"spheres20_cold", [] { return cold({scenes::make_spheres(20, 0)}); }},
                           {"quadrupeds8_cold", [] { return cold({scenes::make_quadrupeds(8, 0)}); }},
                           {"tower10_steps", [] { return steps(scenes::make_tower_model(9, 5.0, 0.6), 0, 60); }},
                           {"dishes_steps", [] { return steps(scenes::make_dishes_model(), 0, 60); }},
                           {"spheres45_steps", [] { return steps(scenes::make_spheres_model(45, 0), 20, 5); }},
                           {"quadrupeds4_steps", [] { return steps(scenes::make_quadrupeds_model(4, 0), 85, 10); }},
                           {"cup_steps", [] { return steps(scenes::make_pour_model(9, 3.0, 0), 10, 40); }}};

}  // namespace
}  // namespace almond

/// work_probe [CASE ...]: all, or these.
int main(int count, char** names) {
  using almond::ordered_json;
  ordered_json cases = ordered_json::object();
  for (const auto& [name, count_work] : almond::kCases) {
    if (count > 1 && std::find(names + 1, names + count, std::string(name)) == names + count) continue;
    const almond::Work work = count_work();
    cases[name] = {
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
