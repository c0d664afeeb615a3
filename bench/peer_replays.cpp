#include "bench/peer_replays.hpp"

#include <Eigen/Geometry>
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <filesystem>

#include "almond/base/check.hpp"
#include "almond/load/file_io.hpp"
#include "almond/load/npz.hpp"
#include "almond/view/page.hpp"
#include "almond/view/replay.hpp"
#include "scenes/file_scene.hpp"

namespace almond::bench {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t kMostSideBySide = 6;  // as many colours as the page has
constexpr double kDt = 1.0 / 240.0;

/// Those that ran, Almond and the rival first, then one of each kind before others of the same.
std::vector<const PeerRun*> choose_runs(const PeerRuns& runs, const std::string& scene, const std::string& rival) {
  std::vector<std::string> order = {"almond", rival, "mj_default", "mj_hard", "drake_sap", "bullet50"};
  for (const Engine& engine : all_engines()) order.push_back(engine.name);
  std::vector<const PeerRun*> chosen;
  for (const std::string& name : order) {
    const PeerRun* run = find_peer(runs, scene, name);
    if (run == nullptr || run->trail.empty() || !fs::exists(run->trail)) continue;
    if (std::find(chosen.begin(), chosen.end(), run) == chosen.end()) chosen.push_back(run);
  }
  if (chosen.size() > kMostSideBySide) chosen.resize(kMostSideBySide);
  return chosen;
}

std::string short_text(double value, const char* unit) {
  char buffer[64];
  std::snprintf(buffer, sizeof buffer, "%.3g%s", value, unit);
  return buffer;
}

std::vector<std::pair<std::string, std::string>> facts_of(const PeerRun& run) {
  struct Fact {
    const char *name, *figure, *unit;
  };
  static constexpr Fact kFacts[] = {
      {"step, median", "cpu.median", " ms"},          {"step, p95", "cpu.p95", " ms"},
      {"mean overlap", "judged.pen_mean_mm", " mm"},  {"deepest overlap", "judged.pen_worst_mm", " mm"},
      {"jitter", "judged.jitter_mm_s", " mm/s"},      {"residual e0 (referee)", "law.e0", " N s"},
      {"worst e0 (referee)", "law.e0_worst", " N s"}, {"Almond reports, worst", "certificate.max", " N s"}};
  std::vector<std::pair<std::string, std::string>> facts = {{"setting", find_engine(run.engine).about}};
  for (const Fact& fact : kFacts)
    if (run.has(fact.figure)) facts.emplace_back(fact.name, short_text(run.at(fact.figure), fact.unit));
  if (const std::string note = note_of(run); !note.empty()) facts.emplace_back("note", note);
  return facts;
}

/// The largest coordinate of a run [m].
double reach_of(const PeerRun& run) {
  const NpzArchive archive = NpzArchive::read(run.trail);
  double reach = 1.0;  // also the largest of a quaternion
  for (const double x : std::get<std::vector<double>>(archive.at("poses").data)) reach = std::max(reach, std::abs(x));
  return reach;
}

/// A colour for each body that stands on its own, the same in every picture; what hangs on it is lighter.
void paint(const Model& model, std::vector<Look>& looks) {
  static constexpr Color kColours[] = {{0.30, 0.52, 0.75, 1.0}, {0.91, 0.63, 0.29, 1.0}, {0.38, 0.66, 0.53, 1.0},
                                       {0.78, 0.42, 0.42, 1.0}, {0.58, 0.48, 0.73, 1.0}, {0.87, 0.78, 0.42, 1.0},
                                       {0.45, 0.68, 0.74, 1.0}};
  std::vector<std::size_t> roots;  // how many there were before, by body
  std::size_t count = 0;
  for (std::size_t b = 0; b < model.bodies.size(); ++b) {
    const int parent = model.bodies[b].parent;
    roots.push_back(parent < 0 ? count++ : roots[static_cast<std::size_t>(parent)]);
  }
  for (Look& look : looks) {
    if (look.body < 0) continue;
    const auto body = static_cast<std::size_t>(look.body);
    look.color = kColours[roots[body] % std::size(kColours)];
    if (model.bodies[body].parent >= 0)
      for (std::size_t k = 0; k < 3; ++k) (*look.color)[k] = 0.65 * (*look.color)[k] + 0.35;
  }
}

/// The body to keep in the picture: the only one, where it gets away in any of the runs; -1: none.
int choose_followed(const std::vector<const PeerRun*>& runs, const PeerScene& scene, const Model& model) {
  constexpr double kFar = 0.6;  // [m]; the bodies are a tenth of a metre large
  if (scene.bodies.size() != 1) return -1;
  for (const PeerRun* run : runs) {
    const NpzArchive archive = NpzArchive::read(run->trail);
    const auto& poses = std::get<std::vector<double>>(archive.at("poses").data);
    const double* last = poses.data() + poses.size() - 7;
    if (std::hypot(last[0] - poses[0], last[1] - poses[1], last[2] - poses[2]) > kFar)
      return model.body(scene.bodies.front());
  }
  return -1;
}

/// One engine's poses as a replay, up to where something is thrown farther than `far`.
std::string make_replay(const PeerRun& run, const PeerScene& scene, const Model& model, const std::vector<Look>& looks,
                        double far, int follow) {
  const NpzArchive archive = NpzArchive::read(run.trail);
  const auto& poses = std::get<std::vector<double>>(archive.at("poses").data);
  const auto& times = std::get<std::vector<double>>(archive.at("cpu_ms").data);
  const std::size_t width = 7 * scene.bodies.size(), frames = poses.size() / width;
  std::vector<std::size_t> bodies;
  for (const std::string& name : scene.bodies) bodies.push_back(static_cast<std::size_t>(model.body(name)));
  ReplayOptions options;
  options.title = run.engine + ", " + scene.name;
  options.follow = follow;
  options.hardest = 0;
  Replay replay(model, looks, kDt, options);
  Frame frame;
  frame.bodies.resize(model.bodies.size());
  StepReport report;  // what is known of a step: how long it took
  report.residual = report.natural_map = report.penetration = report.solve_ms = kNaN;
  report.contacts = report.iterations = -1;
  std::vector<std::pair<std::string, std::string>> facts = facts_of(run);
  for (std::size_t k = 0; k < frames; ++k) {
    const double* at = poses.data() + k * width;
    if (!std::all_of(at, at + width, [&](double x) { return std::abs(x) < far; })) {  // false for NaN, too
      facts.emplace_back("thrown",
                         "away at " + short_text(kDt * static_cast<double>(k), " s") + ", where its recording ends");
      break;
    }
    frame.step = static_cast<std::int64_t>(k);
    frame.time = kDt * static_cast<double>(k);
    for (std::size_t b = 0; b < bodies.size(); ++b, at += 7)
      frame.bodies[bodies[b]] = {Eigen::Quaterniond(at[3], at[4], at[5], at[6]).normalized().toRotationMatrix(),
                                 Vec3(at[0], at[1], at[2])};
    if (k < times.size()) {
      report.step_ms = times[k];
      replay.add_step(frame, report, kNaN);
    }
  }
  return replay.finish(frame, facts);
}

std::string link_to(const std::string& file, const std::string& page) {
  if (page.empty() || page == "-") return file;
  return fs::absolute(file).lexically_relative(fs::absolute(page).parent_path()).generic_string();
}

}  // namespace

void check_replays(const std::string& folder) {
  if (folder.empty()) return;
  static_cast<void>(page_alone());
  std::error_code error;
  fs::create_directories(folder, error);
  require(!error, "--replays " + folder + ": cannot make this folder: " + error.message());
}

void write_replays(const PeerPart& part, const PeerRuns& runs, const std::map<std::string, PeerScene>& scenes,
                   const std::string& folder, const std::string& page, Report& report) {
  for (const std::string& name : part.scenes) {
    const std::vector<const PeerRun*> chosen = choose_runs(runs, name, part.rival);
    if (chosen.empty()) continue;
    const PeerScene& scene = scenes.at(name);
    const scenes::LoadedScene loaded = scenes::load_scene(scenes::describe_file(scene.mjcf), true);
    const Model& model = loaded.scene.model;
    std::vector<Look> looks = make_looks(model, loaded.looks);
    paint(model, looks);
    // What Almond's bodies reach is what there is to see: a robot that another engine threw away would make all small.
    const double far = chosen.front()->engine == "almond" ? 3.0 * reach_of(*chosen.front()) : 50.0;
    std::vector<std::string> replays;
    const int follow = choose_followed(chosen, scene, model);
    for (const PeerRun* run : chosen) replays.push_back(make_replay(*run, scene, model, looks, far, follow));
    const std::string file = folder + "/" + name + ".html";
    write_file(file, make_page(replays));
    report.links.emplace_back(name, link_to(file, page));
  }
}

}  // namespace almond::bench
