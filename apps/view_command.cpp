// `almond view`: a scene or a robot file that runs while a browser looks at it, or a replay.

#include <fcntl.h>
#include <spawn.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <thread>
#include <utility>

#include "almond/base/check.hpp"
#include "almond/load/file_io.hpp"
#include "almond/view/browser.hpp"
#include "almond/view/page.hpp"
#include "almond/view/replay.hpp"
#include "almond/view/server.hpp"
#include "apps/commands.hpp"
#include "apps/common.hpp"
#include "apps/interrupt.hpp"
#include "apps/notes.hpp"
#include "apps/run_settings.hpp"

namespace almond::app {
namespace {

struct ViewArguments {
  SceneArguments scene;
  std::string host = "127.0.0.1";
  int port = 0;
  bool no_browser = false, no_wait = false;
};

LiveWorld make_world(const SceneArguments& arguments, bool first) {
  scenes::LoadedScene loaded = make_scene(arguments);
  if (first) {
    print_notes(loaded.notes);
    print_remarks(loaded.scene.model.remarks);
  }
  LiveWorld world;
  world.title = loaded.scene.name;
  world.looks = make_looks(loaded.scene.model, loaded.looks);
  world.model = std::move(loaded.scene.model);
  world.options = loaded.scene.options;
  world.seed = arguments.seed;
  world.control = std::move(loaded.scene.control);
  return world;
}

bool is_given(const char* variable) {
  const char* value = std::getenv(variable);
  return value != nullptr && *value != '\0';
}

/// False where there is no display, or nothing to open a page with. Not by std::system(), under which a Ctrl-C is lost.
bool open_browser(const std::string& address) {
  if (!is_given("DISPLAY") && !is_given("WAYLAND_DISPLAY")) return false;
  if (!have_program("xdg-open")) return false;
  std::string program = "xdg-open", page = address;
  char* words[] = {program.data(), page.data(), nullptr};
  posix_spawn_file_actions_t quiet;
  if (posix_spawn_file_actions_init(&quiet) != 0) return false;
  for (const int stream : {STDOUT_FILENO, STDERR_FILENO})
    posix_spawn_file_actions_addopen(&quiet, stream, "/dev/null", O_WRONLY, 0);
  pid_t process = 0;
  const bool started = posix_spawnp(&process, words[0], &quiet, nullptr, words, environ) == 0;
  posix_spawn_file_actions_destroy(&quiet);
  return started;
}

/// The replays of a file in our own page: whatever else the file holds, scripts say, would run where our pages do.
std::string page_of_replay(const std::string& file) {
  const std::vector<std::string> replays = replays_of_page(read_file(file), file);
  for (const std::string& replay : replays) static_cast<void>(replay_length(replay, file));
  return make_page(replays);
}

int run_view(ViewArguments& arguments) {
  std::unique_ptr<Live> live;
  std::string page;
  if (is_page(arguments.scene.name)) {
    page = page_of_replay(arguments.scene.name);
  } else {
    page = page_alone();
    arguments.scene.looks = true;
    live = std::make_unique<Live>(
        [&arguments, first = true]() mutable { return make_world(arguments.scene, std::exchange(first, false)); },
        !arguments.no_wait);
  }
  const InterruptGuard interrupt;
  Server server(arguments.host, arguments.port, std::move(page), live.get());
  std::printf("%s\n", server.address().c_str());
  std::fflush(stdout);
  const bool opened = !arguments.no_browser && open_browser(server.address());
  std::fprintf(stderr, "%s; Ctrl-C ends it\n", opened ? "opening it in the browser" : "open this address in a browser");
  while (!interrupt.raised()) std::this_thread::sleep_for(std::chrono::milliseconds(50));
  if (live) live->stop();
  server.stop();
  return kDone;
}

}  // namespace

Action add_view_command(CLI::App& command) {
  const auto o = std::make_shared<ViewArguments>();
  add_scene_options(command, o->scene);
  command.get_option("SCENE")->description(
      "a scene by name (almond scenes lists them), a file: .urdf, .xml, .mjcf, .json; or a replay to show: .html");
  command.add_option("--host", o->host, "address to listen at (default 127.0.0.1: this machine only)");
  expect_whole(command.add_option("--port", o->port, "port (default 0: the first free one from 8137)"));
  command.add_flag("--no-browser", o->no_browser, "only print the address");
  command.add_flag("--no-wait", o->no_wait, "run at once (default: from when the first page looks)");
  return [o] { return run_view(*o); };
}

}  // namespace almond::app
