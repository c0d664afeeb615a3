// `almond bench NAME`: figures with their targets, as text, JSON, HTML and PNG.

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <memory>
#include <optional>

#include "almond/base/check.hpp"
#include "apps/commands.hpp"
#include "apps/common.hpp"
#include "apps/interrupt.hpp"
#include "bench/benches.hpp"
#include "bench/page.hpp"
#include "bench/peers.hpp"
#include "bench/plot.hpp"
#include "bench/process.hpp"

namespace almond::app {
namespace {

struct BenchCommandOptions {
  std::string name, json, html, png, save, replays;
  std::vector<std::string> folders, solver_names, parts, engines;
  std::string peers = "all";
  double budget_ms = 0.0;
  CLI::Option* budget = nullptr;
  bool quick = false, strict = false, files_only = false;
};

void print_contents(const bench::Report& report, bool colour, std::FILE* out) {
  for (bench::Table table : report.tables) {
    if (table.name == "runs" || table.name == "times") continue;
    if (table.title == report.title) table.title.clear();  // it stands above
    std::fprintf(out, "\n%s", bench::to_text(table, colour).c_str());
  }
  std::fprintf(out, "\n%s", bench::to_text(report.claims, colour).c_str());
}

int run_bench(BenchCommandOptions& options) {
  const bench::BenchEntry& entry = bench::find_bench(options.name);
  if (options.budget->count() > 0) check_budget(options.budget_ms);
  bench::check_peers(options.peers);
  if (options.name == "paper")
    require(options.folders.empty() && options.solver_names.empty() && options.peers == "all" &&
                options.budget->count() == 0,
            "bench paper: FOLDER, --solver, --peers and --budget-ms have no effect on it; expected --quick, --part, "
            "--save, --json, --html, --png or --strict");
  if (options.name == "peers")
    require(
        options.solver_names.empty() && options.peers == "all" && options.budget->count() == 0 && !options.files_only,
        "bench peers: --solver, --peers, --budget-ms and --files-only have no effect on it; expected FOLDER, --quick, "
        "--part, --engines, --save, --replays, --json, --html, --png or --strict");
  if (options.name == "peers" && !options.parts.empty() && !options.folders.empty())
    require(std::find(options.parts.begin(), options.parts.end(), "problems") != options.parts.end(),
            "bench peers " + options.folders.front() +
                ": problem files are for its part problems; expected --part problems, or no --part");
  require(options.name == "paper" || options.name == "peers" || options.parts.empty(),
          "bench " + options.name + ": --part has no effect on it; expected it with bench paper or bench peers");
  require(options.name == "peers" || options.engines.empty(),
          "bench " + options.name + ": --engines has no effect on it; expected it with bench peers only");
  require(options.name == "peers" || options.replays.empty(),
          "bench " + options.name + ": --replays has no effect on it; expected it with bench peers only");
  bench::BenchOptions inner;
  inner.solvers = parse_solvers(options.solver_names, options.folders);
  inner.folders = options.folders;
  inner.peers = options.peers;
  inner.budget_ms = options.budget_ms;
  inner.quick = options.quick;
  inner.files_only = options.files_only;
  inner.save = options.save;
  inner.replays = options.replays;
  inner.page = options.html;
  inner.parts = options.parts;
  inner.engines = options.engines;
  inner.pictures = !options.html.empty();
  check_output("--json", options.json);
  check_output("--html", options.html);
  check_output("--png", options.png);
  check_output_folder("--save", options.save);
  check_output_folder("--replays", options.replays);
  int on_stdout = 0;
  for (const std::string& path : {options.json, options.html, options.png}) on_stdout += path == "-" ? 1 : 0;
  require(on_stdout <= 1, "only one output can go to standard output (-)");

  std::FILE* out = on_stdout > 0 ? stderr : stdout;
  Progress progress;
  inner.progress = [&](const std::string& text) { progress.show(text); };
  inner.say = [&](const std::string& text) {
    progress.clear();
    std::fprintf(out, "%s\n", text.c_str());
    std::fflush(out);
  };
  std::optional<InterruptGuard> interrupt;  // what was measured by then is worth a page
  if (options.name == "peers" || options.name == "budget") {
    interrupt.emplace();
    inner.stopped = [&] { return interrupt->raised(); };
    bench::set_process_stop(inner.stopped);
  }
  bench::Report report = entry.run(inner);
  report.interrupted = interrupt && interrupt->raised();
  bench::set_process_stop({});
  progress.clear();

  const bool colour = on_stdout == 0 && use_colour();
  if (!report.parts.empty())
    for (const auto& [key, value] : report.facts) std::fprintf(out, "%-12s %s\n", key.c_str(), value.c_str());
  print_contents(report, colour, out);
  for (const bench::Report& part : report.parts) {
    std::fprintf(out, "\n==== %s\n", part.title.c_str());
    print_contents(part, colour, out);
  }
  if (report.num_claims() > 0 || report.interrupted) std::fprintf(out, "\n%s\n", report.score().c_str());
  if (report.num_left_out() > 0)
    std::fprintf(out, "parts that did not run, or not in full: %d, see the notes\n", report.num_left_out());
  std::fflush(out);
  for (const std::string& note : report.notes) say("note: " + note);
  for (const bench::Report& part : report.parts)
    for (const std::string& note : part.notes) say("note: " + part.name + ": " + note);
  const auto write = [&](const std::string& path, const std::string& what, const std::string& bytes) {
    write_output(path, bytes);
    if (path != "-") std::fprintf(out, "%s: %s\n", what.c_str(), std::filesystem::absolute(path).c_str());
  };
  if (!options.json.empty()) write(options.json, "JSON", bench::to_json(report));
  if (!options.html.empty()) write(options.html, "page", bench::to_html(report));
  if (!options.png.empty()) {
    require(!report.sheet.empty(), "--png: bench " + options.name + " draws no curves");
    write(options.png, "curves", bench::to_png(report.sheet));
  }
  if (!options.save.empty())
    std::fprintf(out, "%s: %s\n", options.name == "paper" ? "problems" : "scenes",
                 std::filesystem::absolute(options.save).c_str());
  const bool played = std::any_of(report.parts.begin(), report.parts.end(),
                                  [](const bench::Report& part) { return !part.links.empty(); });
  if (played) std::fprintf(out, "replays: %s\n", std::filesystem::absolute(options.replays).c_str());
  if (interrupt && interrupt->raised()) return kInterrupted;
  const bool complete = report.num_held() + report.num_near() == report.num_claims() && report.num_left_out() == 0;
  return options.strict && !complete ? kWorkFailed : kDone;
}

}  // namespace

Action add_bench_command(CLI::App& command) {
  const auto o = std::make_shared<BenchCommandOptions>();
  std::string names = "Benchmarks:\n";
  for (const bench::BenchEntry& entry : bench::bench_entries()) {
    names += std::string("  ") + entry.name +
             std::string(12 - std::min<std::size_t>(11, std::string(entry.name).size()), ' ') + entry.about + "\n";
  }
  command.footer(names);
  command.add_option("NAME", o->name, "which benchmark, see below")->required();
  command.add_option(
      "FOLDER", o->folders,
      "folders of problem files (default: ../shared/fclib and ../shared/problems); robots: of robot files "
      "(default: those of packages in .venv); peers: of problem files for its part problems");
  command.add_flag("--quick", o->quick,
                   "a budget of 200 ms instead of 1 s, fewer repeats; robots: one state, 0.5 s of fall; paper: fewer "
                   "cases; peers: fewer "
                   "scenes and engines");
  command.add_flag("--files-only", o->files_only,
                   "fclib: leave out nuts, towers, jams, SubADMM's price and the factor");
  command.add_flag(
      "--strict", o->strict,
      "exit 1 unless every target holds, or lies within the spread of what was measured, and every part ran");
  command.add_option("--solver", o->solver_names,
                     "solvers to run (default: auto, spn, canal, subadmm, pgs); all: every one");
  command.add_option("--peers", o->peers, "all (default), none, siconos, pinocchio: those installed run beside");
  o->budget = command.add_option("--budget-ms", o->budget_ms, "wall-clock limit of one solve (default 1000)");
  expect_number(o->budget);
  command.add_option("--json", o->json, "write claims and figures as JSON (-: standard output)");
  command.add_option("--html", o->html, "write a page with claims, curves and tables");
  command.add_option("--save", o->save,
                     "paper: write its contact problems into this folder, as .npz files; peers: its scenes, as MJCF");
  const auto add_list = [&command](const char* name, std::vector<std::string>& list, const char* about) {
    command.add_option(name, list, about)->delimiter(',')->allow_extra_args(false);  // what follows may be a FOLDER
  };
  add_list(
      "--part", o->parts,
      "paper: only this part of it: engines, bolt_nut, dishes, robot_tasks, pouring, robot_pouring, "
      "canal_ablation or subadmm_ablation; peers: stacks, cold, spheres, quads, friction, grasp, ball, growth, nut "
      "or problems; several with commas between them, or one by one");
  add_list("--engines", o->engines,
           "peers: only these, with commas between them, or one by one: almond, mj_default, mj_firm, mj_hard, mj_cg, "
           "mj_noslip, "
           "drake_lagged, drake_sap, drake_tamsi, bullet50, bullet1000; parts nut and problems: almond, "
           "pinocchio-admm, pinocchio-pgs, siconos-nsgs, siconos-nsn, siconos-admm");
  command.add_option("--replays", o->replays,
                     "peers: write a page per scene into this folder that plays the engines side by side");
  command.add_option("--png", o->png, "draw profiles and curves (needs rsvg-convert)");
  return [o] { return run_bench(*o); };
}

}  // namespace almond::app
