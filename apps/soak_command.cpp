// `almond soak`: every scene with every solver, pushed and driven at random, every step checked.

#include <malloc.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstdio>
#include <fstream>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>

#include "almond/base/check.hpp"
#include "almond/base/timer.hpp"
#include "apps/commands.hpp"
#include "apps/common.hpp"
#include "apps/interrupt.hpp"
#include "bench/report.hpp"
#include "scenes/soak.hpp"

namespace almond::app {
namespace {

using Json = nlohmann::ordered_json;
using scenes::SoakResult;

struct SoakArguments {
  int steps = 1000000;
  std::uint64_t seed = 0;
  std::vector<std::string> cases, solver_names;
  std::string json;
  int repeat_steps = 30;
};

/// A case with a solver, and what it has come to.
struct Pair {
  const scenes::SoakCase* which;
  SolverKind solver;
  SoakResult result;
  double seconds = 0.0;
  std::uint64_t seed;
  /// What it has been given: its time, and a millisecond for each step, so that cheap cases do not get all steps.
  [[nodiscard]] double charge() const { return seconds + 1e-3 * static_cast<double>(result.steps); }
  [[nodiscard]] double ms_per_step() const {
    return 1e3 * seconds / static_cast<double>(std::max<std::int64_t>(1, result.steps + result.repeated));
  }
};

/// Resident memory after what is free has gone back [kB]; 0 where the system does not say.
double resident_kb() {
  malloc_trim(0);
  std::ifstream file("/proc/self/statm");
  long size = 0, resident = 0;
  file >> size >> resident;
  return static_cast<double>(resident) * static_cast<double>(sysconf(_SC_PAGESIZE)) / 1024.0;
}

/// Slope of memory over steps, by least squares [kB per 1000 steps].
struct MemorySlope {
  static constexpr double kFewest = 100.0;  // turns to judge by: pages come and go
  double n = 0.0, x = 0.0, y = 0.0, xx = 0.0, xy = 0.0, first = 0.0;
  void add(double steps, double kb) {
    if (n == 0.0) first = kb;
    const double s = 1e-3 * steps, m = kb - first;
    n += 1.0, x += s, y += m, xx += s * s, xy += s * m;
  }
  [[nodiscard]] double value() const { return n < kFewest ? kNaN : (n * xy - x * y) / (n * xx - x * x); }
};

std::string count_text(std::int64_t value) { return std::to_string(value); }

bench::Table make_table(const std::vector<Pair>& pairs) {
  bench::Table table;
  table.name = "soak";
  table.columns = {"case",    "solver",     "steps",   "pushes", "contacts",     "solved",  "iterations",
                   "stalled", "infeasible", "numbers", "jammed", "deepest [mm]", "ms/step", "faults"};
  for (const Pair& pair : pairs) {
    const SoakResult& r = pair.result;
    const auto of = [&](Status status) {
      return bench::text_cell(count_text(r.status[static_cast<std::size_t>(status)]));
    };
    char deepest[32], price[32];
    std::snprintf(deepest, sizeof deepest, "%.2g", 1e3 * r.deepest);
    std::snprintf(price, sizeof price, "%.2g", pair.ms_per_step());
    table.rows.push_back(
        {bench::text_cell(pair.which->name), bench::text_cell(almond::to_string(pair.solver)),
         bench::text_cell(count_text(r.steps)), bench::text_cell(count_text(r.pushes)),
         bench::text_cell(count_text(r.contacts)), of(Status::kSolved), of(Status::kMaxIterations),
         of(Status::kStalled), of(Status::kInfeasible), of(Status::kNumericalError),
         bench::text_cell(count_text(r.jammed)), bench::text_cell(deepest), bench::text_cell(price),
         bench::text_cell(count_text(r.num_faults()), r.num_faults() == 0 ? bench::Tone::kGood : bench::Tone::kBad)});
  }
  return table;
}

std::string make_json(const std::vector<Pair>& pairs, const SoakResult& all, double slope) {
  const auto figures = [](const SoakResult& r) {
    Json statuses, faults;
    for (std::size_t i = 0; i < r.status.size(); ++i) statuses[almond::to_string(static_cast<Status>(i))] = r.status[i];
    for (std::size_t i = 0; i < r.faults.size(); ++i) faults[to_string(static_cast<scenes::Fault>(i))] = r.faults[i];
    return Json{{"steps", r.steps},
                {"repeated_steps", r.repeated},
                {"pushes", r.pushes},
                {"contacts", r.contacts},
                {"status", statuses},
                {"jammed", r.jammed},
                {"deepest_mm", 1e3 * r.deepest},
                {"energy_excess", r.excess},
                {"energy_gained", r.gained},
                {"faults", faults}};
  };
  Json json = {{"all", figures(all)},
               {"memory_kb_per_1000_steps", slope},  // null: not judged
               {"cases", Json::array()},
               {"findings", Json::array()}};
  for (const Pair& pair : pairs) {
    Json entry = figures(pair.result);
    entry["case"] = pair.which->name;
    entry["solver"] = almond::to_string(pair.solver);
    entry["ms_per_step"] = pair.ms_per_step();
    json["cases"].push_back(entry);
  }
  for (const scenes::SoakFinding& finding : all.findings) json["findings"].push_back(finding.what);
  return json.dump(1) + "\n";
}

std::vector<Pair> make_pairs(SoakArguments& arguments) {
  std::vector<std::string> paths;
  std::vector<SolverKind> solvers = parse_solvers(arguments.solver_names, paths);
  require(paths.empty(), "soak: takes no files");
  if (solvers.empty())
    solvers = {SolverKind::kAuto, SolverKind::kCanal, SolverKind::kSubAdmm, SolverKind::kSpn, SolverKind::kPgs};
  std::vector<const scenes::SoakCase*> cases;
  for (const std::string& name : arguments.cases) {
    const scenes::SoakCase* found = &scenes::find_soak_case(name);
    if (std::find(cases.begin(), cases.end(), found) == cases.end()) cases.push_back(found);  // named twice: once
  }
  if (cases.empty()) {
    for (const scenes::SoakCase& entry : scenes::soak_cases()) {
      if (is_installed(entry))
        cases.push_back(&entry);
      else
        say("note: without " + entry.name + ", whose robot is not installed");
    }
  }
  std::vector<Pair> pairs;
  for (const scenes::SoakCase* which : cases)
    for (const SolverKind solver : solvers) pairs.push_back({which, solver, {}, 0.0, arguments.seed});
  return pairs;
}

/// Runs all pairs, as long as there are steps left and nobody interrupts.
class Soak {
 public:
  Soak(const SoakArguments& arguments, std::vector<Pair> all_pairs, const InterruptGuard& guard)
      : pairs(std::move(all_pairs)),
        interrupt(guard),
        steps_(arguments.steps),
        share_(std::max<std::int64_t>(1, arguments.steps / static_cast<std::int64_t>(pairs.size()))) {}

  /// First each pair over and over with 1, 2 and 4 threads; then whoever has not had the fewest steps that each gets,
  /// or that take some time (Newton's method on a thousand balls does); then whoever has had least.
  void run(int repeat_steps) {
    for (Pair& pair : pairs)
      if (goes_on() && repeat_steps > 0)
        turn(pair, [&] {
          const int steps = limited(pair, std::min<std::int64_t>(repeat_steps, share_));
          return check_repeats(*pair.which, pair.solver, pair.seed++, steps, within(pair, kRepeatSeconds, 1));
        });
    while (goes_on()) {
      const auto starved = std::find_if(pairs.begin(), pairs.end(), [&](const Pair& p) { return missing(p) > 0; });
      const auto least = std::min_element(pairs.begin(), pairs.end(),
                                          [](const Pair& a, const Pair& b) { return a.charge() < b.charge(); });
      Pair& pair = starved != pairs.end() ? *starved : *least;
      turn(pair, [&] {
        return run_soak(*pair.which, pair.solver, pair.seed++, limited(pair, kEpisode), 1,
                        within(pair, kTurnSeconds, missing(pair)));
      });
      // By then every pair has run, and what is kept for good (shapes, tables) is there.
      if (starved == pairs.end() && 2 * all.steps >= steps_) memory.add(static_cast<double>(all.steps), resident_kb());
    }
    progress_.clear();
  }

  static constexpr int kEpisode = 500, kFewest = 100;
  std::vector<Pair> pairs;
  SoakResult all;
  MemorySlope memory;
  const InterruptGuard& interrupt;

 private:
  static constexpr double kFewestSeconds = 20.0, kTurnSeconds = 2.0, kRepeatSeconds = 1.0, kLineEverySeconds = 30.0,
                          kShowEveryMs = 1000.0;

  [[nodiscard]] bool goes_on() const { return all.steps < steps_ && !interrupt.raised(); }
  /// Steps that it lacks of those that each pair gets.
  [[nodiscard]] std::int64_t missing(const Pair& pair) const {
    if (pair.seconds > kFewestSeconds && pair.result.steps > 0) return 0;
    return std::max<std::int64_t>(0, std::min<std::int64_t>(kFewest, share_) - pair.result.steps);
  }
  /// Of these steps, those that are left when the other pairs get what they lack.
  [[nodiscard]] int limited(const Pair& pair, std::int64_t steps) const {
    std::int64_t left = steps_ - all.steps + missing(pair);
    for (const Pair& each : pairs) left -= missing(each);
    return static_cast<int>(std::clamp<std::int64_t>(left, 1, steps));
  }

  template <class Work>
  void turn(Pair& pair, const Work& work) {
    show(pair);
    const Stopwatch watch;
    const SoakResult result = work();
    pair.seconds += 1e-3 * watch.elapsed_ms();
    pair.result.add(result);
    all.add(result);
  }

  /// From the first step on: to make a scene may take longer than a turn. Longer where `steps` take somewhat longer.
  [[nodiscard]] std::function<bool(Simulation&)> within(const Pair& pair, double seconds, std::int64_t steps) {
    return [this, &pair, seconds, steps, watch = std::optional<Stopwatch>()](const Simulation& sim) mutable {
      if (!watch) watch.emplace();
      if (since_shown_.elapsed_ms() > kShowEveryMs) show(pair);
      const double patience = sim.state().steps < steps ? std::max(seconds, kFewestSeconds) : seconds;
      return watch->elapsed_ms() < 1e3 * patience && !interrupt.raised();
    };
  }

  void show(const Pair& pair) {
    progress_.show(pair.which->name + ", " + almond::to_string(pair.solver) + ": " + count_text(all.steps) + " of " +
                   count_text(steps_) + " steps, " + count_text(all.num_faults()) + " faults");
    since_shown_.restart();
  }

  std::int64_t steps_, share_;
  Progress progress_{kLineEverySeconds};
  Stopwatch since_shown_;
};

void print_summary(const Soak& soak, std::FILE* out) {
  const SoakResult& all = soak.all;
  for (const scenes::SoakFinding& finding : all.findings) std::fprintf(out, "%s\n", finding.what.c_str());
  if (!all.findings.empty())
    std::fprintf(out, "One of them again: almond soak CASE --solver SOLVER --seed SEED --repeat-steps 0 --steps %d\n",
                 Soak::kEpisode);
  std::fprintf(out, "\n%lld steps, %lld contacts, %lld pushes; %lld steps not solved, each with its status\n",
               static_cast<long long>(all.steps), static_cast<long long>(all.contacts),
               static_cast<long long>(all.pushes), static_cast<long long>(all.steps - all.status[0]));
  std::fprintf(out, "%lld more in runs that were repeated, not counted above\n", static_cast<long long>(all.repeated));
  for (std::size_t i = 0; i < all.faults.size(); ++i)
    std::fprintf(out, "%-20s %lld\n", to_string(static_cast<scenes::Fault>(i)), static_cast<long long>(all.faults[i]));
  const MemorySlope& memory = soak.memory;
  if (memory.n < MemorySlope::kFewest)
    std::fprintf(out, "memory               not judged: the second half of the steps took %.0f turns only\n", memory.n);
  else
    std::fprintf(out, "memory               %.3g kB per 1000 steps, over %.0f turns\n", memory.value(), memory.n);
  std::int64_t fewest = all.steps, untouched = 0;
  for (const Pair& pair : soak.pairs) {
    fewest = std::min(fewest, pair.result.steps);
    untouched += pair.result.steps == 0 ? 1 : 0;
  }
  std::fprintf(out, "%zu cases with a solver, each with at least %lld steps\n", soak.pairs.size(),
               static_cast<long long>(fewest));
  if (untouched > 0)
    std::fprintf(out, "%lld of them had no step%s\n", static_cast<long long>(untouched),
                 soak.interrupt.raised() ? "" : ": too few steps for all");
  if (soak.interrupt.raised()) std::fprintf(out, "interrupted: these are the steps until then\n");
}

int run_soak_command(SoakArguments& arguments) {
  constexpr double kAllowedSlope = 1.0;
  require(arguments.steps >= 1, "--steps " + std::to_string(arguments.steps) + ": expected at least 1");
  require(arguments.repeat_steps >= 0,
          "--repeat-steps " + std::to_string(arguments.repeat_steps) + ": expected at least 0");
  check_output("--json", arguments.json);
  const InterruptGuard interrupt;  // also while scenes are looked for
  Soak soak(arguments, make_pairs(arguments), interrupt);
  soak.run(arguments.repeat_steps);
  const double slope = soak.memory.value();
  std::FILE* out = arguments.json == "-" ? stderr : stdout;
  std::fputs(bench::to_text(make_table(soak.pairs), arguments.json != "-" && use_colour()).c_str(), out);
  print_summary(soak, out);
  write_output(arguments.json, make_json(soak.pairs, soak.all, slope));
  if (soak.interrupt.raised()) return kInterrupted;
  return soak.all.num_faults() == 0 && !(slope > kAllowedSlope) ? kDone : kWorkFailed;
}

}  // namespace

Action add_soak_command(CLI::App& command) {
  const auto o = std::make_shared<SoakArguments>();
  command.add_option("CASE", o->cases, "cases by name (default: all)");
  expect_whole(
      command.add_option("--steps", o->steps,
                         "in all, repeats not counted (default 1e6); each case has at least 100 of them, or 20 s, with "
                         "each solver, or its share where there are fewer. Whether memory grows is "
                         "judged from 100 turns in the second half on; a turn has up to 500 steps"));
  expect_whole(command.add_option(
      "--repeat-steps", o->repeat_steps,
      "of each run that are repeated with 1, 2 and 4 threads (default 30; 0: none is). They come on top of "
      "--steps, and where a case has few steps they can be three times the work of those"));
  expect_seed(command.add_option("--seed", o->seed, "of the first episode of each case (default 0)"));
  command.add_option("--solver", o->solver_names, "solvers to run (default: auto, canal, subadmm, spn, pgs)");
  expect_file(command.add_option("--json", o->json, "write the figures as JSON (-: standard output)"));
  return [o] { return run_soak_command(*o); };
}

}  // namespace almond::app
