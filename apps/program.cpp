// What a command line asks for.

#include <CLI/CLI.hpp>
#include <algorithm>
#include <map>
#include <memory>

#include "almond/base/text.hpp"
#include "apps/commands.hpp"
#include "apps/common.hpp"
#include "bench/commit.hpp"

namespace almond::app {
namespace {

std::string suggestion(const std::string& word, const std::vector<std::string>& known, const std::string& before = "") {
  const std::string near = nearest_name(word, known);
  return near.empty() ? "" : " (did you mean " + before + near + "?)";
}

/// An option of nearly that name. Dashes are no likeness.
std::string suggest_option(const std::string& word, const CLI::App& command) {
  std::vector<std::string> names;
  for (const CLI::Option* option : command.get_options()) {
    for (const std::string& name : option->get_lnames()) names.push_back(name);
  }
  return suggestion(word.substr(std::min(word.find_first_not_of('-'), word.size())), names, "--");
}

/// One line for what CLI11 could not read.
std::string describe(const CLI::ParseError& error, const CLI::App& program) {
  const std::vector<CLI::App*> chosen = program.get_subcommands();
  const CLI::App& command = chosen.empty() ? program : *chosen.front();
  const std::string help = "; see almond " + (chosen.empty() ? "" : command.get_name() + " ") + "--help";
  for (const std::string& extra : program.remaining(true)) {
    if (extra.rfind("-", 0) == 0) return extra + ": no such option" + suggest_option(extra, command) + help;
    return "unexpected argument " + quote(extra) + help;
  }
  std::string what = error.what();
  for (char& c : what) c = c == '\n' ? ' ' : c;
  return what + help;
}

}  // namespace

Understood understand(const std::vector<std::string>& arguments) {
  const auto program = std::make_shared<CLI::App>("Almond: exact Signorini-Coulomb contact for robots", "almond");
  const std::string commit = bench::built_from();
  program->set_version_flag("--version", "almond " ALMOND_VERSION + (commit.empty() ? "" : " (" + commit + ")"));
  program->get_formatter()->column_width(28);
  program->require_subcommand(1);
  const std::map<std::string, std::pair<const char*, Action (*)(CLI::App&)>> commands = {
      {"demo",
       {"solve built-in problems with every solver, live, and let a robot pile dishes; writes a page of curves and a "
        "replay",
        add_demo_command}},
      {"solve", {"solve contact problems from files and certify the answers", add_solve_command}},
      {"bench", {"measure solvers, and other people's, against targets", add_bench_command}},
      {"run", {"simulate a scene or a robot file: figures, trajectory, states, contact problems", add_run_command}},
      {"view", {"run a scene or a robot file in the browser, live, or show a replay", add_view_command}},
      {"compare",
       {"several runs side by side on one page: replays, or a scene by several solvers", add_compare_command}},
      {"inspect", {"show what a robot or scene file is made of", add_inspect_command}},
      {"scenes", {"list the scenes, or the parameters of one", add_scenes_command}},
      {"verify", {"measure laws of physics on this machine: a table of pass and fail", add_verify_command}},
      {"soak", {"push and drive every scene with every solver at random, and check every step", add_soak_command}},
  };
  // Only the command that is asked for gets its options: all of them take longer than most of what they would do.
  const auto asked =
      std::find_if(arguments.begin(), arguments.end(), [&](const auto& a) { return commands.contains(a); });
  Action action;
  std::vector<std::string> names;
  for (const auto& [name, entry] : commands) {
    CLI::App& command = *program->add_subcommand(name, entry.first);
    if (asked != arguments.end() && *asked == name) action = entry.second(command);
    names.push_back(name);
  }
  if (arguments.empty()) return {nullptr, program->help(), kBadInput};
  const std::string& first = arguments[0];
  if (first.rfind("-", 0) != 0 && !commands.contains(first))
    return {nullptr, quote(first) + ": no such command" + suggestion(first, names) + "; see almond --help", kBadInput};
  try {
    program->parse(std::vector<std::string>(arguments.rbegin(), arguments.rend()));
  } catch (const CLI::CallForHelp&) {
    return {nullptr, program->help(), kDone};
  } catch (const CLI::CallForVersion& version) {
    return {nullptr, std::string(version.what()) + "\n", kDone};
  } catch (const CLI::ParseError& error) {
    return {nullptr, describe(error, *program), kBadInput};
  }
  return {[program, action] { return action(); }, "", kDone};  // options live as long as the program
}

}  // namespace almond::app
