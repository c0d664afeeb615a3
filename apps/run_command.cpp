// `almond run`: a scene, step by step; figures, trajectory, states and problems out.

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cctype>
#include <charconv>
#include <cmath>
#include <cstdio>
#include <filesystem>
#include <memory>
#include <optional>
#include <set>

#include "almond/base/check.hpp"
#include "almond/base/text.hpp"
#include "almond/base/timer.hpp"
#include "almond/load/file_io.hpp"
#include "almond/load/problem_file.hpp"
#include "almond/load/write_mjcf.hpp"
#include "almond/view/page.hpp"
#include "apps/commands.hpp"
#include "apps/common.hpp"
#include "apps/interrupt.hpp"
#include "apps/notes.hpp"
#include "apps/pictures.hpp"
#include "apps/run.hpp"
#include "apps/run_report.hpp"
#include "apps/run_settings.hpp"

namespace almond::app {
namespace {

namespace fs = std::filesystem;

constexpr double kShowEveryMs = 100.0;

struct RunArguments {
  SceneArguments scene;
  std::vector<std::string> dumps;  // STEP=FILE
  std::string json, trajectory, save_state, load_state, mjcf, replay;
  std::optional<double> fps;
  std::vector<int> inside;  // steps
  PictureArguments pictures;
  bool strict = false;
};

struct Dump {
  int step;
  std::string path;
};

/// Options that take several values also take a scene's name behind them.
void find_scene_name(std::vector<std::string>& values, std::string& name) {
  if (!name.empty()) return;
  const auto stray =
      std::find_if(values.begin(), values.end(), [](const std::string& v) { return v.find('=') == std::string::npos; });
  if (stray == values.end()) return;
  name = *stray;
  values.erase(stray);
}

Dump parse_dump(const std::string& text, int steps) {
  const std::string option = "--dump-problem " + text;
  const std::size_t equals = text.find('=');
  require(equals != std::string::npos && equals + 1 < text.size(), option + ": expected STEP=FILE");
  Dump dump{0, text.substr(equals + 1)};
  const char *begin = text.data(), *end = text.data() + equals;
  const auto [stop, error] = std::from_chars(begin, end, dump.step);
  require(error == std::errc() && stop == end && dump.step >= 0 && dump.step < steps,
          option + ": expected a step from 0 to " + std::to_string(steps - 1));
  std::string extension = fs::path(dump.path).extension().string();
  std::transform(extension.begin(), extension.end(), extension.begin(),
                 [](char c) { return static_cast<char>(std::tolower(static_cast<unsigned char>(c))); });
  require(extension == ".npz" || extension == ".json" || extension == ".hdf5" || extension == ".h5",
          option + ": expected a file name that ends in .npz, .json, .hdf5 or .h5");
  return dump;
}

void check_outputs(const RunArguments& arguments, const std::vector<Dump>& dumps) {
  std::vector<std::pair<std::string, std::string>> outputs = {{"--json", arguments.json},
                                                              {"--trajectory", arguments.trajectory},
                                                              {"--save-state", arguments.save_state},
                                                              {"--write-mjcf", arguments.mjcf},
                                                              {"--replay", arguments.replay},
                                                              {"--png", arguments.pictures.png},
                                                              {"--video", arguments.pictures.video}};
  for (const Dump& dump : dumps) outputs.emplace_back("--dump-problem", dump.path);
  std::set<std::string> files;
  for (const auto& [option, path] : outputs) {
    check_output(option, path);
    if (path.empty()) continue;
    require(files.insert(path).second, path == "-" ? "only one output can go to standard output (-)"
                                                   : option + " " + path + ": another output has this name, too");
  }
}

std::string progress_text(const std::string& scene, const RunProgress& p) {
  char text[200];
  std::snprintf(text, sizeof text,
                ": %d / %d steps  %.2f s, %.2g x real time  %d contacts  residual %.0e  %d unconverged", p.done, p.all,
                p.time, p.real_time_factor, p.last.contacts, p.last.residual, p.unconverged);
  return scene + text;
}

RunRecord run_with_progress(const scenes::Scene& scene, Simulation& simulation, RunOptions options) {
  const InterruptGuard interrupt;
  Progress progress;
  Stopwatch since_shown;
  options.after_step = [&](const RunProgress& now) {
    if (now.done == 1 || since_shown.elapsed_ms() > kShowEveryMs) {
      progress.show(progress_text(printable(scene.name), now));
      since_shown.restart();
    }
    return !interrupt.raised();
  };
  return run_scene(scene, simulation, options);
}

/// Writes all outputs, also those behind one that fails; then says what failed first. False: interrupted.
bool write_outputs(const RunArguments& arguments, const std::vector<Dump>& dumps, const std::string& json,
                   Simulation& simulation, const RunRecord& record, Replay* replay) {
  std::string failure;
  bool drawn = true;
  const auto attempt = [&failure](const auto& write) {
    try {
      write();
    } catch (const Error& error) {
      if (failure.empty()) failure = error.what();
    }
  };
  attempt([&] { write_output(arguments.json, json); });
  if (!arguments.trajectory.empty())
    attempt([&] { write_output(arguments.trajectory, to_npz(record.trajectory, arguments.trajectory)); });
  if (!arguments.mjcf.empty()) {
    attempt([&] {
      FileNotes notes;
      write_output(arguments.mjcf, write_mjcf(simulation.model(), simulation.options().dt, notes));
      if (!notes.ignored.empty()) say("note: " + arguments.mjcf + " cannot hold " + ignored_text(notes));
    });
  }
  if (replay != nullptr) {
    std::string html;
    attempt([&] {
      html = make_page({replay->finish(simulation, page_facts(simulation, record))});
      write_output(arguments.replay, html);
      if (!arguments.replay.empty() && arguments.replay != "-")
        say("replay: open " + arguments.replay + " in a browser");
    });
    if (!html.empty())
      attempt([&] { drawn = write_pictures(arguments.pictures, check_pictures(arguments.pictures), html); });
  }
  if (!arguments.save_state.empty())
    attempt([&] { write_output(arguments.save_state, serialize(simulation.state())); });
  for (const Dump& dump : dumps) {
    const auto found = record.problems.find(dump.step);
    if (found != record.problems.end()) attempt([&] { save_problem(found->second, dump.path); });
  }
  require(failure.empty(), failure);
  return drawn;
}

int run_run(RunArguments& arguments) {
  arguments.scene.file.strict = arguments.strict;
  find_scene_name(arguments.scene.assignments, arguments.scene.name);
  find_scene_name(arguments.dumps, arguments.scene.name);
  const bool draws = !arguments.replay.empty() || arguments.pictures.wanted();
  arguments.scene.looks = draws;
  scenes::LoadedScene loaded = make_scene(arguments.scene);
  scenes::Scene& scene = loaded.scene;
  std::vector<Dump> dumps;
  for (const std::string& text : arguments.dumps) dumps.push_back(parse_dump(text, scene.steps));
  check_outputs(arguments, dumps);
  if (draws) static_cast<void>(page_alone());  // says at once where there is no page
  static_cast<void>(check_pictures(arguments.pictures, scene.options.dt * scene.steps));
  for (const int step : arguments.inside)
    require(step >= 0 && step < scene.steps,
            "--inside " + std::to_string(step) + ": expected a step from 0 to " + std::to_string(scene.steps - 1));
  require(draws || arguments.inside.empty(), "--inside: is about replays, expected --replay beside it");
  require(draws || !arguments.fps, "--fps: is about replays, expected --replay beside it");
  require(!arguments.fps || (*arguments.fps > 0.0 && std::isfinite(*arguments.fps)),
          "--fps " + to_text(arguments.fps.value_or(0.0)) + ": expected frames per simulated second > 0");
  if (!arguments.trajectory.empty()) check_trajectory_size(scene.model, scene.steps, arguments.trajectory);
  require(!scene.has_task || arguments.load_state.empty(),
          "--load-state: " + scene.name +
              " is a task, and a state does not know how far one is; expected a run from its start");
  Simulation simulation(std::move(scene.model), scene.options, arguments.scene.seed);
  if (!arguments.load_state.empty())
    simulation.state() = deserialize(read_file(arguments.load_state), simulation.model(), arguments.load_state);
  print_notes(loaded.notes);
  print_remarks(simulation.model().remarks);

  RunOptions options;
  options.steps = scene.steps;
  options.trajectory = !arguments.trajectory.empty();
  for (const Dump& dump : dumps) options.dump_steps.push_back(dump.step);
  std::optional<Replay> replay;
  if (draws) {
    ReplayOptions kept;
    if (arguments.fps) kept.fps = *arguments.fps;
    kept.inside = arguments.inside;
    kept.title = scene.name;
    replay.emplace(simulation.model(), make_looks(simulation.model(), loaded.looks), simulation.options().dt, kept);
    options.replay = &*replay;
  }
  const RunRecord record = run_with_progress(scene, simulation, std::move(options));

  bool stdout_taken = false;
  for (const std::string* path : {&arguments.json, &arguments.trajectory, &arguments.save_state, &arguments.mjcf,
                                  &arguments.replay, &arguments.pictures.png})
    stdout_taken = stdout_taken || *path == "-";
  std::fputs(run_summary(scene, simulation, record, !stdout_taken && use_colour()).c_str(),
             stdout_taken ? stderr : stdout);
  const std::string json = run_json(scene, simulation, record, arguments.scene.seed);
  const bool drawn = write_outputs(arguments, dumps, json, simulation, record, replay ? &*replay : nullptr);
  if (record.interrupted || !drawn) return kInterrupted;
  const bool missed = record.outcome.success && !*record.outcome.success;
  return arguments.strict && (missed || record.statistics.unconverged() > 0) ? kWorkFailed : kDone;
}

}  // namespace

Action add_run_command(CLI::App& command) {
  const auto o = std::make_shared<RunArguments>();
  add_scene_options(command, o->scene);
  expect_whole(command.add_option("--steps", o->scene.steps, "number of steps (default: as long as the scene lasts)"));
  expect_file(command.add_option("--json", o->json, "write figures as JSON (-: standard output)"));
  expect_file(command.add_option("--trajectory", o->trajectory,
                                 "write poses and velocities of all bodies at every step (.npz)"),
              ".npz");
  expect_file(command.add_option("--replay", o->replay,
                                 "write a page that plays the run in any browser, whole in one file (.html)"),
              ".html");
  expect_number(command.add_option("--fps", o->fps, "frames per simulated second of the replay (default 60)"));
  command.add_option("--inside", o->inside,
                     "steps that the replay holds with their problem, besides the three hardest; may be repeated");
  add_picture_options(command, o->pictures);
  command.add_option("--dump-problem", o->dumps,
                     "STEP=FILE: write the contact problem of a step, counted from 0 (.npz, .json, .hdf5); may be "
                     "repeated");
  expect_file(command.add_option("--save-state", o->save_state, "write the state after the last step"));
  command.add_option("--load-state", o->load_state, "go on from a saved state");
  command.add_flag("--strict", o->strict,
                   "exit 1 unless every step reaches the tolerance and the scene its goal; refuse files with elements "
                   "that have no effect");
  expect_file(command.add_option("--write-mjcf", o->mjcf, "write the model as MJCF, to open it in MuJoCo"));
  return [o] { return run_run(*o); };
}

}  // namespace almond::app
