#pragma once
// What the commands share: outputs, the progress line, solver names and settings from the command line.

#include <string>
#include <utility>
#include <vector>

#include "almond/base/timer.hpp"
#include "almond/solver/result.hpp"

namespace CLI {
class Option;
}

namespace almond::app {

// Exit codes of the program.
inline constexpr int kDone = 0;
inline constexpr int kWorkFailed = 1;
inline constexpr int kBadInput = 2;
inline constexpr int kInterrupted = 130;  // 128 + SIGINT, as shells count

/// Throws Error when `path` cannot be written later: its folder is missing or closed, or it is a folder itself. Called
/// before the work, so that hours are not lost to a typing error. Empty and "-" (standard output) pass.
void check_output(const std::string& option, const std::string& path);
/// The same for a folder that is made when there is something to put into it: the one that it lies in must be there.
void check_output_folder(const std::string& option, const std::string& path);
/// Throws Error unless a time limit for one solve is finite and positive.
void check_budget(double budget_ms);
/// Writes to standard output for "-", else under a temporary name that is then renamed. Empty: nothing.
void write_output(const std::string& path, const std::string& bytes);

/// One line for a terminal: what files and other libraries say in it gives no orders, and is cut after 2000 bytes.
[[nodiscard]] std::string terminal_line(const std::string& text);
/// The same on standard error, with its end.
void say(const std::string& line);

/// One line on standard error that is overwritten. When that is not a terminal: silent, or a line of its own at once
/// and then every `line_every_s` seconds.
class Progress {
 public:
  explicit Progress(double line_every_s = kInfinity);
  ~Progress();
  Progress(const Progress&) = delete;
  Progress& operator=(const Progress&) = delete;
  void show(const std::string& text);
  void clear();

 private:
  bool terminal_;
  bool shown_ = false;
  double line_every_s_;
  double next_line_s_ = 0.0;  // on the watch
  Stopwatch watch_;
};

/// Colours on standard output: only on a terminal, and not under NO_COLOR.
[[nodiscard]] bool use_colour();

/// `names` may hold commas and "all". Entries that are no solver but name an existing file or folder are moved to
/// `paths`: an option that takes many values also takes the arguments behind it. Throws Error for anything else.
[[nodiscard]] std::vector<SolverKind> parse_solvers(const std::vector<std::string>& names,
                                                    std::vector<std::string>& paths);

/// What an option takes, refused otherwise with the option, the value and what was expected.
void expect_number(CLI::Option* option);
/// An int, also written as 1e3.
void expect_whole(CLI::Option* option);
/// 0 or more, 64 bits, also written as 1e3.
void expect_seed(CLI::Option* option);

/// The name of a file to write, with this ending where there is one to expect; -: standard output.
void expect_file(CLI::Option* option, const std::string& ending = "");

/// Key and value of --set. Throws Error where there is no "=".
[[nodiscard]] std::pair<std::string, std::string> split_assignment(const std::string& assignment);
/// The number in --set key=text. Throws Error where it is none.
/// Whether a name is that of a page, which may hold replays: .html.
[[nodiscard]] bool is_page(const std::string& name);

/// A finite number as the value of an option.
[[nodiscard]] double parse_number(const std::string& option, const std::string& text);
[[nodiscard]] double parse_value(const std::string& key, const std::string& text);
/// The same for a whole number, which may be written as 1e3.
[[nodiscard]] int parse_whole_value(const std::string& key, const std::string& text);

/// key=value with a field of Settings as key. Throws Error naming the nearest field.
void apply_setting(const std::string& assignment, Settings& settings);
/// The keys that apply_setting knows.
[[nodiscard]] std::vector<std::string> setting_names();

/// Files as they are, folders as the problem files in them. Throws Error for what is not there, with the nearest name.
[[nodiscard]] std::vector<std::string> expand_inputs(const std::vector<std::string>& inputs);

}  // namespace almond::app
