#include "apps/common.hpp"

#include <sys/ioctl.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cerrno>
#include <charconv>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <functional>
#include <limits>
#include <map>
#include <optional>
#include <variant>

#include "almond/base/check.hpp"
#include "almond/base/text.hpp"
#include "almond/load/file_io.hpp"
#include "almond/solver/setting_fields.hpp"
#include "bench/benches.hpp"

namespace almond::app {
namespace {

namespace fs = std::filesystem;

constexpr const char* kWholeNumber = "a whole number of at most 2147483647";

[[noreturn]] void refuse(const std::string& key, const std::string& value, const std::string& expected) {
  throw Error("--set " + key + "=" + value + ": expected " + expected);
}

template <class Number>
std::optional<Number> parse_exactly(const std::string& text) {
  Number value{};
  const char *begin = text.data(), *end = begin + text.size();
  if (text.size() > 1 && text[0] == '+' && text[1] != '-') ++begin;
  const auto [stop, error] = std::from_chars(begin, end, value);
  return error == std::errc() && stop == end ? std::optional<Number>(value) : std::nullopt;
}

/// A whole number in any notation, such as 1000 or 1e3, that fits.
template <class Whole>
std::optional<Whole> parse_whole(const std::string& text) {
  if (const std::optional<Whole> value = parse_exactly<Whole>(text)) return value;
  const std::optional<double> value = parse_exactly<double>(text);
  constexpr auto kLowest = static_cast<double>(std::numeric_limits<Whole>::min());
  const double end = std::ldexp(1.0, std::numeric_limits<Whole>::digits);
  if (!value || !(*value >= kLowest && *value < end) || *value != std::floor(*value)) return std::nullopt;
  return static_cast<Whole>(*value);
}

/// `rewrite` gives the text as CLI11 reads it, or nothing.
template <class Rewrite>
void check_text(CLI::Option* option, Rewrite rewrite, const std::string& expected) {
  option->transform([name = option->get_name(), rewrite, expected](const std::string& text) {
    const std::optional<std::string> result = rewrite(text);
    require(result.has_value(), name + " " + quote(text) + ": expected " + expected);
    return *result;
  });
}

template <class Whole>
std::optional<std::string> rewrite_whole(const std::string& text) {
  const std::optional<Whole> value = parse_whole<Whole>(text);
  return value ? std::optional(std::to_string(*value)) : std::nullopt;
}

bool parse_bool(const std::string& key, const std::string& text) {
  if (text == "true" || text == "1" || text == "on") return true;
  if (text == "false" || text == "0" || text == "off") return false;
  refuse(key, text, "true or false");
}

/// A pipe, a terminal, /dev/null: written in place, since a rename would put a file where it is.
bool is_device(const std::string& path) {
  return fs::exists(path) && !fs::is_regular_file(path) && !fs::is_directory(path);
}

bool write_all(const std::string& bytes, std::FILE* out) {
  return std::fwrite(bytes.data(), 1, bytes.size(), out) == bytes.size() && std::fflush(out) == 0;
}

std::vector<std::string> split_at_commas(const std::string& text) {
  std::vector<std::string> parts;
  std::size_t start = 0;
  while (start <= text.size()) {
    const std::size_t end = std::min(text.find(',', start), text.size());
    if (end > start) parts.push_back(text.substr(start, end - start));
    start = end + 1;
  }
  return parts;
}

}  // namespace

void check_budget(double budget_ms) {
  require(std::isfinite(budget_ms) && budget_ms > 0.0,
          "--budget-ms " + to_text(budget_ms) + ": expected a finite number of milliseconds > 0");
}

void check_output(const std::string& option, const std::string& path) {
  if (path.empty() || path == "-" || is_device(path)) return;
  const fs::path folder = fs::path(path).has_parent_path() ? fs::path(path).parent_path() : fs::path(".");
  require(fs::is_directory(folder), option + " " + path + ": the folder " + quote(folder.string()) + " does not exist");
  require(!fs::is_directory(path), option + " " + path + ": is a folder, expected a file");
  // Permissions do not tell all: a file is made there and removed again.
  const PendingFile trial(path);
  std::FILE* made = std::fopen(trial.temporary().c_str(), "wb");
  require(made != nullptr, option + " " + path + ": the folder " + quote(folder.string()) + " cannot be written (" +
                               std::strerror(errno) + ")");
  std::fclose(made);
}

void check_output_folder(const std::string& option, const std::string& path) {
  if (path.empty()) return;
  fs::path own = fs::absolute(path).lexically_normal();
  if (!own.has_filename()) own = own.parent_path();  // of "folder/"
  const std::string above = own.parent_path().string();
  require(fs::is_directory(own.parent_path()),
          option + " " + path + ": the folder " + quote(above) + " does not exist");
  require(!fs::exists(own) || fs::is_directory(own), option + " " + path + ": is a file, expected a folder");
}

void write_output(const std::string& path, const std::string& bytes) {
  if (path.empty()) return;
  if (path == "-") {
    require(write_all(bytes, stdout), "standard output: cannot write");
  } else if (is_device(path)) {
    std::FILE* device = std::fopen(path.c_str(), "wb");
    const bool complete = device != nullptr && write_all(bytes, device);
    if (device != nullptr) std::fclose(device);
    require(complete, path + ": cannot write");
  } else {
    write_file(path, bytes);
  }
}

std::string terminal_line(const std::string& text) {
  constexpr std::size_t kMost = 2000;
  if (text.size() <= kMost) return printable(text);
  std::size_t end = kMost;
  while (kMost - end < 3 && (text[end] & 0xc0) == 0x80) --end;  // not within a character
  return printable(text.substr(0, end)) + "... (" + std::to_string(text.size() - end) + " bytes more)";
}

void say(const std::string& line) { std::fprintf(stderr, "%s\n", terminal_line(line).c_str()); }

Progress::Progress(double line_every_s) : terminal_(isatty(STDERR_FILENO) != 0), line_every_s_(line_every_s) {}

Progress::~Progress() { clear(); }

void Progress::show(const std::string& text) {
  if (!terminal_) {
    const double now = 1e-3 * watch_.elapsed_ms();
    if (!std::isfinite(line_every_s_) || now < next_line_s_) return;
    next_line_s_ = now + line_every_s_;
    say(text);
    return;
  }
  // A line that wraps could not be overwritten.
  winsize size{};
  const bool known = ioctl(STDERR_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 1;
  const std::string whole = terminal_line(text), line = known ? whole.substr(0, size.ws_col - 1U) : whole;
  std::fprintf(stderr, "\r\033[K\033[2m%s\033[0m", line.c_str());
  std::fflush(stderr);
  shown_ = true;
}

void Progress::clear() {
  if (!shown_) return;
  std::fputs("\r\033[K", stderr);
  std::fflush(stderr);
  shown_ = false;
}

bool use_colour() {
  const char* no_colour = std::getenv("NO_COLOR");
  return isatty(STDOUT_FILENO) != 0 && (no_colour == nullptr || *no_colour == '\0');
}

std::vector<SolverKind> parse_solvers(const std::vector<std::string>& names, std::vector<std::string>& paths) {
  std::vector<SolverKind> kinds;
  const auto add = [&kinds](SolverKind kind) {
    if (std::find(kinds.begin(), kinds.end(), kind) == kinds.end()) kinds.push_back(kind);
  };
  for (const std::string& entry : names) {
    if (entry == "all") {
      for (int k = 0; k < kNumSolverKinds; ++k) add(static_cast<SolverKind>(k));
      continue;
    }
    const bool is_path = entry.find_first_of("/.") != std::string::npos || fs::exists(entry);
    if (is_path) {
      paths.push_back(entry);
      continue;
    }
    const std::vector<std::string> parts = split_at_commas(entry);
    require(!parts.empty(), "--solver " + quote(entry) + ": expected names of solvers");
    for (const std::string& name : parts) add(solver_from_string(name));
  }
  return kinds;
}

void expect_number(CLI::Option* option) {
  const auto rewrite = [](const std::string& text) {
    return parse_exactly<double>(text) ? std::optional(text) : std::nullopt;
  };
  check_text(option, rewrite, "a number");
}

void expect_whole(CLI::Option* option) { check_text(option, rewrite_whole<int>, kWholeNumber); }

void expect_seed(CLI::Option* option) {
  check_text(option, rewrite_whole<std::uint64_t>, "a whole number of at least 0");
}

void expect_file(CLI::Option* option, const std::string& ending) {
  const auto rewrite = [ending](const std::string& text) {
    const bool fits = text == "-" || ending.empty() || fs::path(text).extension() == ending || is_device(text);
    return !text.empty() && fits ? std::optional(text) : std::nullopt;
  };
  check_text(option, rewrite, ending.empty() ? "the name of a file" : "a file ending in " + ending);
}

std::pair<std::string, std::string> split_assignment(const std::string& assignment) {
  const std::size_t equals = assignment.find('=');
  require(equals != std::string::npos, "--set " + quote(assignment) + ": expected key=value");
  return {assignment.substr(0, equals), assignment.substr(equals + 1)};
}

double parse_value(const std::string& key, const std::string& text) {
  const std::optional<double> value = parse_exactly<double>(text);
  if (!value) refuse(key, text, "a number");
  return *value;
}

bool is_page(const std::string& name) { return name.size() > 5 && name.compare(name.size() - 5, 5, ".html") == 0; }

double parse_number(const std::string& option, const std::string& text) {
  const std::optional<double> value = parse_exactly<double>(text);
  require(value.has_value() && std::isfinite(*value), option + ": expected a finite number");
  return *value;
}

int parse_whole_value(const std::string& key, const std::string& text) {
  const std::optional<int> value = parse_whole<int>(text);
  if (!value) refuse(key, text, kWholeNumber);
  return *value;
}

std::vector<std::string> setting_names() {
  std::vector<std::string> names;
  for (const auto& [name, field] : setting_fields()) names.push_back(name);
  return names;
}

void apply_setting(const std::string& assignment, Settings& settings) {
  const std::pair<std::string, std::string> split = split_assignment(assignment);
  const std::string &key = split.first, &value = split.second;
  const auto found = setting_fields().find(key);
  if (found == setting_fields().end()) {
    const std::vector<std::string> names = setting_names();
    const std::string near = nearest_name(key, names);
    std::string list;
    for (const std::string& name : names) list += (list.empty() ? "" : ", ") + name;
    throw Error("--set " + quote(key) + ": no such setting; " +
                (near.empty() ? "known: " + list : "did you mean " + near + "?"));
  }
  std::visit(
      [&](auto member) {
        using Value = std::remove_reference_t<decltype(settings.*member)>;
        if constexpr (std::is_same_v<Value, double>) {
          settings.*member = parse_value(key, value);
        } else if constexpr (std::is_same_v<Value, int>) {
          settings.*member = parse_whole_value(key, value);
        } else if constexpr (std::is_same_v<Value, bool>) {
          settings.*member = parse_bool(key, value);
        } else if constexpr (std::is_same_v<Value, InnerSolver>) {
          settings.*member = inner_from_string(value, "--set " + key + "=" + value);
        } else {
          settings.*member = solver_from_string(value);
        }
      },
      found->second);
}

std::vector<std::string> expand_inputs(const std::vector<std::string>& inputs) {
  std::vector<std::string> files;
  for (const std::string& input : inputs) {
    if (fs::is_directory(input)) {
      const std::vector<std::string> inside = bench::problem_files_in(input);
      require(!inside.empty(), input + ": no .hdf5, .h5, .npz or .json problem file in this folder");
      files.insert(files.end(), inside.begin(), inside.end());
      continue;
    }
    if (!fs::exists(input)) {
      const fs::path path(input), folder = path.has_parent_path() ? path.parent_path() : fs::path(".");
      std::error_code error;
      require(fs::is_directory(folder),
              input + ": no such file; the folder " + quote(folder.string()) + " does not exist");
      std::vector<std::string> neighbours;
      for (const auto& entry : fs::directory_iterator(folder, error))
        neighbours.push_back(entry.path().filename().string());
      const std::string near = nearest_name(path.filename().string(), neighbours);
      throw Error(input + ": no such file or folder" + (near.empty() ? "" : "; did you mean " + near + "?"));
    }
    files.push_back(input);
  }
  return files;
}

}  // namespace almond::app
