// `almond bench paper`: the parts in the paper's order, and what they share.

#include "bench/paper.hpp"

#include <algorithm>
#include <cmath>
#include <functional>
#include <optional>
#include <set>

#include "almond/base/check.hpp"
#include "almond/base/text.hpp"
#include "almond/base/timer.hpp"
#include "almond/load/file_io.hpp"
#include "almond/view/capture.hpp"
#include "almond/view/page.hpp"
#include "almond/view/replay.hpp"

namespace almond::bench {

double quantile(std::vector<double> values, double share) {
  if (values.empty()) return kNaN;
  std::sort(values.begin(), values.end());
  const double at = share * static_cast<double>(values.size() - 1);
  const auto below = static_cast<std::size_t>(at), above = std::min(below + 1, values.size() - 1);
  // Infinite values are kept as such, not mixed.
  if (values[below] == values[above]) return values[below];
  return values[below] + (at - static_cast<double>(below)) * (values[above] - values[below]);
}

double mean(const std::vector<double>& values) {
  double sum = 0.0;
  for (const double value : values) sum += value;
  return values.empty() ? kNaN : sum / static_cast<double>(values.size());
}

bool is_about(double value, double paper, double factor) { return value >= paper / factor && value <= paper * factor; }

double late_by_early(const std::vector<double>& times) {
  if (times.size() < 4) return kNaN;
  const std::size_t last = times.size() - 1, third = last / 3;
  return (times[last] - times[last - third]) / std::max(times[third] - times[0], 1e-9);
}

double fit_exponent(const std::vector<Point>& points) {
  double n = 0.0, sx = 0.0, sy = 0.0, sxx = 0.0, sxy = 0.0;
  for (const Point& p : points) {
    if (!(p.x > 0.0 && p.y > 0.0)) continue;
    const double x = std::log(p.x), y = std::log(p.y);
    n += 1.0;
    sx += x;
    sy += y;
    sxx += x * x;
    sxy += x * y;
  }
  return (n * sxy - sx * sy) / (n * sxx - sx * sx);
}

Settings make_plain(SolverKind kind, int iterations, Settings from) {
  from.solver = kind;
  from.max_iterations = iterations;
  from.fixed_iterations = iterations > 0 && kind != SolverKind::kCanal;
  from.canal_polish = false;
  from.canal_c0 = kPlainCanalPenalty;
  from.admm_c0 = kPlainPenalty;
  from.admm_relax = 1.0;
  from.admm_anderson = 0;
  return from;
}

void add_plot(const Plot& plot, const std::string& name, Report& report) {
  report.figures.push_back({name, plot.title, "", to_svg(plot)});
}

void add_picture(Simulation& simulation, const PictureOptions& picture, const BenchOptions& options, Report& report) {
  if (!options.pictures) return;
  options.progress("drawing: " + picture.caption);
  CaptureOptions capture;
  capture.width = 960;
  capture.height = 640;
  capture.contacts = picture.contacts;
  const std::vector<double>& c = picture.camera;
  if (c.size() == 6) capture.camera = Camera{Vec3(c[0], c[1], c[2]), Vec3(c[3], c[4], c[5])};
  try {
    ReplayOptions plain;
    plain.hardest = 0;
    Replay replay(simulation.model(), make_looks(simulation.model(), picture.looks), simulation.options().dt, plain);
    replay.add_step(simulation, simulation.step());
    report.pictures.push_back({picture.caption, capture_png(make_page({replay.finish(simulation, {})}), capture)});
  } catch (const Error& error) {
    report.notes.push_back(std::string("no picture: ") + error.what());
  }
}

std::string make_sheet(const Report& report) {
  constexpr int kWidth = 420, kHeight = 300;
  std::string inside;
  int count = 0;
  for (const Report& part : report.parts)
    for (const Figure& figure : part.figures) {
      const int x = kWidth * (count % 2), y = kHeight * (count / 2);
      inside += "<svg x=\"" + std::to_string(x) + "\" y=\"" + std::to_string(y) + "\"" + figure.svg.substr(4) + "\n";
      ++count;
    }
  return "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"" + std::to_string(2 * kWidth) + "\" height=\"" +
         std::to_string(kHeight * ((count + 1) / 2)) + "\">\n" + inside + "</svg>";
}

constexpr const char* kProblems =
    R"(Contact problems of the paper's evaluation, by `almond bench paper --save`. Solve one: almond solve FILE --solver all

nut_neural_PP_WW   M48 nut on the neural bolt, place PP, wrench WW; nut_PP_WW: the same on the analytic bolt
dish_NN            pile of dishes, wrenches up to a tenth of a dish's weight; dish_moderate_NN: up to the weight;
                   dish_rough_NN: up to three times the weight
pourN_stepK        N balls poured from a bottle that a drive tilts, step K; robot_pourN_stepK: by a robot
laikagoN..., talosN...  N robots dropped in a heap

The format: docs/formats.md.
)";

Report bench_paper(const BenchOptions& options) {
  save_cases({}, options);  // before minutes of work: can it be written to
  Report report;
  report.name = "paper";
  report.title = "Almond: the paper's evaluation";
  report.lead =
      "Every table and figure of the evaluation of \u201cVariations of Augmented Lagrangian for Robotic Multi-Contact "
      "Simulation\u201d (Lee et al.): what the paper "
      "says, what this program measures here, and whether the claim holds. Times are of one thread of this machine; "
      "residuals are the paper's, \u2016Jv\u0302 - z\u2016 / contacts with v\u0302 = A\u207b\u00b9(b + J\u1d40\u03bb) "
      "and a "
      "penalty of one, which makes them impulses [N s]. All scenes have the paper's step of 1/240 s; its times are of "
      "an "
      "i5-13600KF. Plain methods are the paper's, with one choice of ours: the penalties at the start, which it gives "
      "as a "
      "rule or in its own units, are 3 times what balances a contact for SubADMM and 1000, free of units, for CANAL "
      "everywhere; tables show what others give.";
  report.facts = machine_facts();
  const Stopwatch watch;
  const double before = time_cholesky_300();
  std::optional<std::vector<DishCases>> dishes;  // two parts share them
  const auto dish_cases = [&]() -> const std::vector<DishCases>& {
    return dishes ? *dishes : dishes.emplace(sort_dish_cases(options));
  };
  const std::vector<std::pair<std::string, std::function<Report()>>> parts = {
      {"engines", [&] { return run_engines(options); }},
      {"bolt_nut", [&] { return run_bolt_nut(options); }},
      {"dishes", [&] { return run_dishes(dish_cases(), options); }},
      {"robot_tasks", [&] { return run_robot_tasks(options); }},
      {"pouring", [&] { return run_pouring(options); }},
      {"robot_pouring", [&] { return run_robot_pouring(options); }},
      {"canal_ablation", [&] { return run_canal_ablation(dish_cases(), options); }},
      {"subadmm_ablation", [&] { return run_subadmm_ablation(options); }}};
  const std::set<std::string> wanted(options.parts.begin(), options.parts.end());
  std::set<std::string> unknown = wanted;
  std::string names;
  for (const auto& [name, run] : parts) {
    unknown.erase(name);
    names += (names.empty() ? "" : ", ") + name;
  }
  if (!unknown.empty()) throw Error("bench paper: no part " + quote(*unknown.begin()) + ", expected one of " + names);
  for (const auto& [name, run] : parts)
    if (wanted.empty() || wanted.contains(name)) report.parts.push_back(run());
  if (!options.save.empty()) write_file(options.save + "/README.txt", kProblems);
  report.sheet = make_sheet(report);
  const double cholesky = 0.5 * (before + time_cholesky_300());
  report.lead +=
      " The yardstick of this machine, a dense Cholesky of 300x300, takes " + time_cell(cholesky).text + " ms.";
  report.facts.emplace_back("yardstick", time_cell(cholesky).text + " ms for a dense Cholesky of 300x300");
  report.facts.emplace_back(
      "size", !wanted.empty() ? (options.quick ? "quick, some parts" : "full, some parts")
              : options.quick
                  ? "quick: 10 cases of each bolt and of each strength of wrenches instead of 100, balls up "
                    "to 27, one turn of the nut, 5 problems of 8 Laikago; left out are the dish-piling "
                    "robot, methods that pour by themselves, 27 Laikago, 8 Talos"
                  : "full");
  report.facts.emplace_back("duration", count_cell(watch.elapsed_ms() / 1e3).text + " s");
  return report;
}

}  // namespace almond::bench
