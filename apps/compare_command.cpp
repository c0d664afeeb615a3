// `almond compare`: several runs side by side on one page with one time line: replays that exist, or one scene by
// several solvers, MuJoCo among them.

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstdio>
#include <memory>

#include "almond/base/check.hpp"
#include "almond/load/file_io.hpp"
#include "almond/load/mjcf.hpp"
#include "almond/view/page.hpp"
#include "apps/commands.hpp"
#include "apps/common.hpp"
#include "apps/compare_mujoco.hpp"
#include "apps/interrupt.hpp"
#include "apps/notes.hpp"
#include "apps/pictures.hpp"
#include "apps/run_report.hpp"
#include "apps/run_settings.hpp"

namespace almond::app {
namespace {

struct CompareArguments {
  std::vector<std::string> names, solvers;
  SceneArguments scene;
  std::string replay;
  PictureArguments pictures;
};

constexpr const char* kMujoco = "mujoco";

/// Runs the scene by one solver and packs what there was to see.
std::string run_by(const CompareArguments& arguments, const std::string& solver, const InterruptGuard& interrupt) {
  SceneArguments own = arguments.scene;
  const bool by_mujoco = solver == kMujoco;
  if (!by_mujoco) own.solver = solver;
  scenes::LoadedScene loaded = make_scene(own);
  scenes::Scene& scene = loaded.scene;
  if (solver == arguments.solvers.front()) {
    print_notes(loaded.notes);
    print_remarks(scene.model.remarks);
  }
  static_cast<void>(check_pictures(arguments.pictures, scene.options.dt * scene.steps));
  ReplayOptions kept;
  kept.title = scene.name + ", " + (by_mujoco ? "MuJoCo" : solver);
  Progress progress;
  const auto go_on = [&](int done) {
    if (done % 20 == 0)
      progress.show(kept.title + ": " + std::to_string(done) + " / " + std::to_string(scene.steps) + " steps");
    return !interrupt.raised();
  };
  const auto finished = [&](bool whole, const std::string& summary) {
    progress.clear();
    require(whole, "interrupted: nothing is written");
    std::fprintf(stderr, "%s", summary.c_str());
  };
  if (by_mujoco) {
    MujocoRecord record = run_by_mujoco(loaded, kept.title, go_on);
    finished(!record.replay.empty(), record.summary);
    return std::move(record.replay);
  }
  Simulation simulation(std::move(scene.model), scene.options, own.seed);
  Replay replay(simulation.model(), make_looks(simulation.model(), loaded.looks), simulation.options().dt, kept);
  RunOptions options;
  options.steps = scene.steps;
  options.replay = &replay;
  options.after_step = [&](const RunProgress& now) { return go_on(now.done); };
  const RunRecord record = run_scene(scene, simulation, options);
  finished(!record.interrupted, run_summary(scene, simulation, record, false));
  return replay.finish(simulation, page_facts(simulation, record));
}

void check_solver(const std::string& name) {
  if (name == kMujoco)
    require(have_mujoco(),
            "--solver mujoco: this program was built without MuJoCo's library: `pip install mujoco-core` "
            "into .venv and build again");
  else
    static_cast<void>(solver_from_string(name));
}

std::string list_of(const std::vector<std::string>& names) {
  std::string text;
  for (const std::string& name : names) text += (text.empty() ? "" : ", ") + name;
  return text;
}

int run_compare(CompareArguments& arguments) {
  require(!arguments.names.empty(), "compare: expected replays (.html), or a scene and --solver");
  const auto pages = std::count_if(arguments.names.begin(), arguments.names.end(), is_page);
  const bool files = pages == static_cast<std::ptrdiff_t>(arguments.names.size());
  require(files || (pages == 0 && arguments.names.size() == 1),
          "compare: expected either replays (.html) or one scene, got " + list_of(arguments.names));
  require(!files || arguments.solvers.empty(), "compare: --solver is for scenes, replays have been solved");
  const SceneArguments& s = arguments.scene;
  require(!files || !(s.steps || s.dt || s.budget_ms || s.max_iterations || !s.assignments.empty()),
          "compare: --steps, --dt, --budget-ms, --max-iters and --set are for scenes, replays have been run");
  require(files || arguments.solvers.size() >= 2, "compare: a scene needs two solvers or more: --solver auto pgs");
  if (arguments.replay.empty() && !arguments.pictures.wanted()) arguments.replay = "compare.html";
  check_output("--replay", arguments.replay);
  check_output("--png", arguments.pictures.png);
  check_output("--video", arguments.pictures.video);
  static_cast<void>(page_alone());
  CaptureOptions capture = check_pictures(arguments.pictures);
  std::vector<std::string> replays;
  if (files) {
    for (const std::string& name : arguments.names)
      for (std::string& replay : replays_of_page(read_file(name), name)) replays.push_back(std::move(replay));
    require(replays.size() >= 2 || arguments.replay.empty(),
            "compare: " + arguments.names[0] + " holds one run, expected two or more");
    double length = 0.0;
    for (const std::string& replay : replays) length = std::max(length, replay_length(replay, arguments.names[0]));
    capture = check_pictures(arguments.pictures, length);
  } else {
    for (const std::string& solver : arguments.solvers) check_solver(solver);
    arguments.scene.name = arguments.names[0];
    arguments.scene.looks = true;
    const InterruptGuard interrupt;
    for (const std::string& solver : arguments.solvers) replays.push_back(run_by(arguments, solver, interrupt));
  }
  const std::string html = make_page(replays);
  if (!arguments.replay.empty()) write_output(arguments.replay, html);
  if (!arguments.replay.empty() && arguments.replay != "-") say("replay: open " + arguments.replay + " in a browser");
  return write_pictures(arguments.pictures, capture, html) ? kDone : kInterrupted;
}

}  // namespace

Action add_compare_command(CLI::App& command) {
  const auto o = std::make_shared<CompareArguments>();
  SceneArguments& s = o->scene;
  command.add_option("NAME", o->names,
                     "replays written by almond run --replay (one is enough for a picture or video), or one scene or "
                     "robot file");
  command.add_option("--solver", o->solvers,
                     "of a scene: two or more solvers, auto pgs; or mujoco, the scene run by MuJoCo");
  expect_file(
      command.add_option("--replay", o->replay,
                         "the page to write (default compare.html, none where a picture or video is asked for)"),
      ".html");
  expect_whole(command.add_option("--steps", s.steps, "number of steps (default: the scene's)"));
  expect_number(command.add_option("--dt", s.dt, "time step in seconds"));
  expect_number(command.add_option("--budget-ms", s.budget_ms, "wall-clock limit of each step's solve"));
  expect_whole(command.add_option("--max-iters", s.max_iterations, "limit of outer iterations of each step"));
  expect_seed(command.add_option("--seed", s.seed, "decides everything random in a scene (default 0)"));
  command.add_option("--set", s.assignments, "key=value, as in almond run; may be repeated")->allow_extra_args(false);
  add_picture_options(command, o->pictures);
  add_file_options(command, s.file);
  return [o] { return run_compare(*o); };
}

}  // namespace almond::app
