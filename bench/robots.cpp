// `almond bench robots`: robot files of other people's packages against Pinocchio and MuJoCo, and how they fall.

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <fstream>
#include <map>
#include <nlohmann/json.hpp>

#include "almond/base/check.hpp"
#include "almond/load/file_io.hpp"
#include "bench/benches.hpp"
#include "bench/process.hpp"
#include "bench/robot_answers.hpp"
#include "bench/robot_falls.hpp"
#include "bench/scripts.hpp"

namespace almond::bench {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;

constexpr double kAgreement = 1e-9;
constexpr double kLimitS = 120.0;    // of one robot, in each of its parts
constexpr int kOfPeers = 10;         // columns
constexpr std::size_t kAtOnce = 10;  // files for one process of the script

double number(const json& value) { return value.is_number() ? value.get<double>() : kNaN; }

struct RobotRow {
  std::string path, name;
  Fall fall;
  std::string answer;  // for the script, until it has run
  json peer;           // the line of peers_robots.py; null: it did not run

  [[nodiscard]] double error(const char* key) const { return peer.contains(key) ? number(peer[key]) : kNaN; }
  [[nodiscard]] bool compared() const { return peer.contains("differences"); }
  /// Of a motion at θ = 0 (0) or ½ (1); null: there is none.
  [[nodiscard]] json motion(std::size_t which) const {
    if (!peer.contains("motion") || !peer["motion"].contains("orders")) return {};
    return peer["motion"]["orders"][which];
  }
};

/// What the other library refuses is not compared: it is no fault of ours, nor a success.
bool is_row(const RobotRow& row) { return row.fall.refused.empty() && row.fall.dofs > 0; }

std::string request_of(const std::string& path, const BenchOptions& options) {
  const json seeds = options.quick ? json{1} : json{1, 2};
  const json motion = {{"seed", 1},
                       {"seconds", 1.0},
                       {"steps", 240},
                       {"most", options.quick ? 1920 : 15360},
                       {"thetas", {0.0, 0.5}},
                       {"budget_s", kLimitS / 2.0}};
  return json{{"file", path}, {"base", "floating"}, {"seeds", seeds}, {"motion", motion}}.dump();
}

/// Runs the script on some rows. Where it ends early, the file it was at is told so and the others have their turn.
void ask_peers(const std::string& python, std::vector<RobotRow*> rows) {
  const TemporaryFolder folder;
  const std::string in = folder.path() + "/answers", out = folder.path() + "/differences";
  while (!rows.empty()) {
    std::ofstream answers(in);
    for (const RobotRow* row : rows) answers << row->answer << "\n";
    answers.close();
    const ProcessResult result = run_process({python, find_script("peers_robots.py"), in, out},
                                             1e3 * kLimitS * static_cast<double>(rows.size()));
    std::ifstream lines(out);
    std::size_t done = 0;
    for (std::string line; done < rows.size() && std::getline(lines, line); ++done) {
      json parsed = json::parse(line, nullptr, false);
      if (parsed.is_discarded()) break;  // killed while it wrote
      rows[done]->peer = std::move(parsed);
    }
    if (done < rows.size()) {
      rows[done]->peer = {{"refused", result.timed_out ? "not done in time" : "ended early: " + result.errors}};
      ++done;
    }
    rows.erase(rows.begin(), rows.begin() + static_cast<std::ptrdiff_t>(done));
    std::error_code ignored;
    fs::remove(out, ignored);
  }
}

Cell figure(double value) {
  if (std::isfinite(value) && std::abs(value) >= 0.01) return time_cell(value);
  return residual_cell(value);
}

std::vector<Cell> cells_of(const RobotRow& row) {
  const Fall& fall = row.fall;
  std::vector<Cell> cells = {text_cell(row.name), count_cell(fall.bodies), count_cell(fall.dofs), figure(fall.mass)};
  const auto quiet = [] { return text_cell("-", Tone::kQuiet); };
  if (!row.compared()) {
    cells.insert(cells.end(), kOfPeers, quiet());
  } else {
    const std::size_t different = row.peer["differences"].size();
    cells.push_back(different == 0 ? text_cell("same") : text_cell(row.peer["differences"][0], Tone::kBad));
    for (const char* key : {"pose", "mass matrix", "bias"}) {
      const double error = row.error(key);
      cells.push_back(residual_cell(error, error <= kAgreement ? Tone::kPlain : Tone::kBad));
    }
    for (const std::size_t which : {0, 1}) {
      const json motion = row.motion(which);
      if (motion.is_null()) {
        cells.insert(cells.end(), 2, quiet());
        continue;
      }
      cells.push_back(residual_cell(number(motion["first"])));
      const Tone tone = motion["agrees"] ? Tone::kPlain : Tone::kBad;
      // Ends that agree to rounding have no order.
      if (motion["order"].is_null()) {
        cells.push_back(text_cell(motion["agrees"] ? "exact" : "-", tone));
      } else {
        char text[32];
        std::snprintf(text, sizeof text, "%.2f", motion["order"].get<double>());
        cells.push_back({text, motion["order"], tone});
      }
    }
    for (const char* key : {"fastest", "growth"})
      cells.push_back(row.motion(0).is_null() ? quiet() : figure(number(row.peer["motion"][key])));
  }
  const std::string unsolved =
      std::to_string(fall.unsolved) + " of " + std::to_string(fall.steps) + (fall.in_time() ? "" : ", stopped");
  cells.push_back(count_cell(fall.contacts));
  cells.push_back(text_cell(unsolved, fall.unsolved == 0 && fall.in_time() ? Tone::kPlain : Tone::kBad));
  cells.push_back(figure(fall.start_mm));
  cells.push_back(figure(fall.deepest_mm));
  cells.back().tone = fall.deepest_mm <= kMostOverlap ? Tone::kPlain : Tone::kBad;
  cells.push_back(time_cell(fall.median_step_ms));
  return cells;
}

Table make_table(const RobotSource& source, const std::vector<RobotRow>& rows) {
  Table table;
  table.name = source.name;
  table.title = source.name;
  table.columns = {"file",
                   "bodies",
                   "dofs",
                   "mass [kg]",
                   "limits",
                   "pose error",
                   "M error",
                   "bias error",
                   "motion error",
                   "order",
                   "leapfrog error",
                   "leapfrog order",
                   "fastest [rad/s, m/s]",
                   "growth",
                   "contacts",
                   "steps not solved",
                   "overlap at the start [mm]",
                   "deepest overlap [mm]",
                   "median step [ms]"};
  for (const RobotRow& row : rows)
    if (is_row(row)) table.rows.push_back(cells_of(row));
  return table;
}

/// Counts how many rows of those that count are good, and adds the claim. Nothing counts: no claim.
template <class Counts, class Good>
void add_count(const std::vector<RobotRow>& rows, Report& report, const std::string& claim, const std::string& expected,
               const Counts& counts, const Good& good) {
  std::size_t all = 0;
  std::vector<std::string> missing;
  for (const RobotRow& row : rows) {
    if (!counts(row)) continue;
    ++all;
    if (!good(row)) missing.push_back(row.name);
  }
  if (all > 0) report.add_claim(claim, expected, count_text(all - missing.size(), all, missing), missing.empty());
}

void add_claims(const std::vector<RobotRow>& rows, double seconds, Report& report) {
  const auto compared = [](const RobotRow& row) { return row.compared(); };
  add_count(
      rows, report, "what Pinocchio or MuJoCo reads is read, with the same mass, dofs and limits", "every file",
      [](const RobotRow& row) { return !row.peer.is_null() && !row.peer.contains("refused"); },
      [](const RobotRow& row) { return row.compared() && row.peer["differences"].empty(); });
  add_count(rows, report, "poses, mass matrices and bias forces at random states", "within 1e-9, every file", compared,
            [](const RobotRow& row) {
              return row.error("pose") <= kAgreement && row.error("mass matrix") <= kAgreement &&
                     row.error("bias") <= kAgreement;
            });
  const char* names[] = {"free motion over 1 s at θ = 0", "free motion over 1 s at θ = 1/2"};
  const char* orders[] = {"converges to theirs with order 1", "converges to theirs with order 2"};
  for (const std::size_t which : {0, 1}) {
    add_count(
        rows, report, names[which], orders[which],
        [&](const RobotRow& row) { return is_row(row) && row.peer.contains("motion"); },
        [&](const RobotRow& row) {
          const json motion = row.motion(which);
          return !motion.is_null() && motion["agrees"].get<bool>();
        });
  }
  char claim[80];
  std::snprintf(claim, sizeof claim, "%.3g s of fall on a floor", seconds);
  add_count(rows, report, claim, "every step solved, all finite, no overlap above 1 mm but what a file starts with",
            is_row, [](const RobotRow& row) { return row.fall.good(); });
}

/// Why a row is no row, or not compared.
void add_refusals(const std::vector<RobotRow>& rows, const std::string& source, Table& refused) {
  for (const RobotRow& row : rows) {
    const std::string library = is_urdf(row.path) ? "Pinocchio" : "MuJoCo";
    std::string theirs = row.peer.is_null() ? "not asked" : row.peer.value("refused", "reads it");
    if (row.peer.contains("motion") && row.peer["motion"].contains("error"))
      theirs = "motion: " + row.peer["motion"]["error"].get<std::string>();
    if (row.fall.refused.empty() && (theirs == "reads it" || theirs == "not asked")) continue;
    std::string ours = row.fall.refused.empty() ? "reads it" : row.fall.refused;
    for (std::string* text : {&ours, &theirs})
      if (const std::size_t at = text->find(row.path); at != std::string::npos)
        text->replace(at, row.path.size(), row.name);
    refused.rows.push_back(
        {text_cell(source), text_cell(row.name), text_cell(ours), text_cell(library + ": " + theirs)});
  }
}

/// Which formats there is a library for.
struct Libraries {
  std::string python;
  bool pinocchio = false, mujoco = false;
};

Libraries find_libraries(const BenchOptions& options, Report& report) {
  Libraries found;
  found.python = find_python();
  if (options.peers == "none") return found;
  std::string why;
  found.pinocchio = can_import(found.python, "scipy, pinocchio", why);
  if (!found.pinocchio) report.notes.push_back("Pinocchio is left out (PyPI packages pin and scipy): " + why);
  found.mujoco = can_import(found.python, "scipy, mujoco", why);
  if (!found.mujoco) report.notes.push_back("MuJoCo is left out (PyPI packages mujoco and scipy): " + why);
  return found;
}

std::string say_fall(const RobotRow& row) {
  if (!row.fall.refused.empty()) return row.name + ": not read";
  std::string text = row.name + ": " + std::to_string(row.fall.dofs) + " dofs, " + std::to_string(row.fall.unsolved) +
                     " of " + std::to_string(row.fall.steps) + " steps not solved, deepest overlap " +
                     figure(row.fall.deepest_mm).text + " mm";
  return row.fall.in_time() ? text : text + ", stopped after " + std::to_string(std::lround(kLimitS)) + " s";
}

std::vector<RobotSource> find_sources(const BenchOptions& options, const std::string& python) {
  if (options.folders.empty()) return installed_robots(python);
  std::vector<RobotSource> sources;
  for (const std::string& folder : options.folders) sources.push_back({folder, folder, true, true});
  return sources;
}

/// "37 of 142": over all sources.
struct Count {
  std::size_t done = 0, all = 0;
};

/// Lets every file fall and compares it, some at a time.
std::vector<RobotRow> run_files(const std::vector<std::string>& files, const Libraries& libraries, double seconds,
                                const BenchOptions& options, Count& count) {
  std::vector<RobotRow> rows(files.size());
  std::vector<RobotRow*> waiting;
  for (std::size_t k = 0; k < rows.size(); ++k) {
    RobotRow& row = rows[k];
    row.path = files[k];
    const fs::path path = row.path;
    row.name = (path.parent_path().filename() / path.filename()).string();
    options.progress(std::to_string(++count.done) + " of " + std::to_string(count.all) + " " + row.name);
    row.fall = let_fall(row.path, seconds, kLimitS);
    if (is_row(row) || !row.fall.refused.empty()) options.say(say_fall(row));
    if (is_urdf(row.path) ? libraries.pinocchio : libraries.mujoco) {
      row.answer = answer_robot_request(request_of(row.path, options));
      waiting.push_back(&row);
    }
    if (waiting.size() < kAtOnce && k + 1 < rows.size()) continue;
    options.progress("comparing " + std::to_string(waiting.size()) + " files");
    ask_peers(libraries.python, waiting);
    for (RobotRow* done : waiting) done->answer.clear();
    waiting.clear();
  }
  return rows;
}

}  // namespace

Report bench_robots(const BenchOptions& options) {
  Report report;
  report.name = "robots";
  report.title = "Almond: other people's robots";
  report.lead =
      "Robot files read by us and by Pinocchio (URDF) or MuJoCo (MJCF): mass, dofs, limits, poses, mass matrix and "
      "bias "
      "forces at random states, and where gravity and inertia alone bring them in 1 s. Then each falls on a floor.";
  report.facts = machine_facts();
  const double seconds = options.quick ? 0.5 : 2.0;
  const Libraries libraries = find_libraries(options, report);
  const std::vector<RobotSource> sources = find_sources(options, libraries.python);
  std::vector<RobotFiles> files;
  Count count;
  int passed_over = 0;
  for (const RobotSource& source : sources) {
    files.push_back(find_robot_files(source));
    count.all += files.back().files.size();
    passed_over += files.back().passed_over;
    require(options.folders.empty() || !files.back().files.empty(),
            source.folder + ": no robot files (*.urdf, *.xml with <mujoco>) in this folder");
  }
  if (count.all == 0)
    report.notes.push_back(
        "no robot files: none of example-robot-data, gymnasium, dm_control and robosuite lies beside " +
        libraries.python + "; `make peers` installs them, or name a folder");

  Table refused;
  refused.name = "refused";
  refused.title = "Not read, or not compared";
  refused.columns = {"where", "file", "here", "there"};
  std::vector<RobotRow> everything;
  for (std::size_t s = 0; s < sources.size(); ++s) {
    const std::vector<RobotRow> rows = run_files(files[s].files, libraries, seconds, options, count);
    report.tables.push_back(make_table(sources[s], rows));
    add_refusals(rows, sources[s].name, refused);
    everything.insert(everything.end(), rows.begin(), rows.end());
  }
  add_claims(everything, seconds, report);
  if (!refused.rows.empty()) report.tables.push_back(refused);
  const auto still = std::count_if(everything.begin(), everything.end(),
                                   [](const RobotRow& row) { return row.fall.refused.empty() && row.fall.dofs == 0; });
  if (still > 0) report.notes.push_back(std::to_string(still) + " files without degrees of freedom are not listed");
  if (passed_over > 0)
    report.notes.push_back(std::to_string(passed_over) + " .xml files that are no MJCF models were passed over");
  return report;
}

}  // namespace almond::bench
