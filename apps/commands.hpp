#pragma once
// The commands of the program. Each adds itself to the command line; the returned function does the work and gives the
// exit code. It is called after the command line has been read.

#include <functional>
#include <string>
#include <vector>

namespace CLI {
class App;
}

namespace almond::app {

using Action = std::function<int()>;

/// A command line that was read.
struct Understood {
  Action action;        // empty: there is nothing to do but to say `message`
  std::string message;  // one line on what was not understood, or the help or version that was asked for
  int code = 0;         // exit code of the message
};

/// Reads the arguments (without the program's name) and runs nothing.
[[nodiscard]] Understood understand(const std::vector<std::string>& arguments);

/// The program: what comes back is its exit code. Throws nothing.
[[nodiscard]] int run_program(const std::vector<std::string>& arguments);

Action add_solve_command(CLI::App& command);
Action add_demo_command(CLI::App& command);
Action add_bench_command(CLI::App& command);
Action add_run_command(CLI::App& command);
Action add_view_command(CLI::App& command);
Action add_compare_command(CLI::App& command);
Action add_inspect_command(CLI::App& command);
Action add_scenes_command(CLI::App& command);
Action add_verify_command(CLI::App& command);
Action add_soak_command(CLI::App& command);

}  // namespace almond::app
