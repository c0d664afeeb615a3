#pragma once
// The paper's evaluation (Sec. VII), experiment by experiment: each becomes a part of one report.

#include <functional>

#include "bench/benches.hpp"
#include "scenes/file_scene.hpp"

namespace almond::bench {

// ---- contact problems, all from fixed seeds (paper_cases.cpp)

/// A nut pressed into the thread of an M48 bolt, `configurations` places with `wrenches` random ones at each.
[[nodiscard]] std::vector<BenchProblem> make_nut_cases(bool neural, int configurations, int wrenches,
                                                       const BenchOptions& options);
/// Bowl, bowl, plate and pot at rest, with a random wrench on each: forces up to `per_weight` times its weight.
[[nodiscard]] std::vector<BenchProblem> make_dish_cases(int count, double per_weight, const BenchOptions& options);
/// The paper does not say how large its wrenches are; these fit its figures, and those are harder.
inline constexpr double kGentle = 0.1, kModerate = 1.0, kRough = 3.0;
/// Robots of example-robot-data, dropped limp as a cube of robots.
struct Heap {
  const char* robot;  // "Laikago"
  const char* file;   // below the folder of robots
  int robots;
  double apart[3], height;  // [m]
  int least, most;          // contacts of its problems; 0: at least half as many as there ever are
};
inline constexpr Heap kHeaps[] = {
    {"Laikago", "laikago_description/urdf/laikago.urdf", 8, {0.75, 0.55, 0.65}, 0.5, 80, 100},
    {"Laikago", "laikago_description/urdf/laikago.urdf", 27, {0.75, 0.55, 0.65}, 0.5, 0, 0},
    {"Talos", "talos_data/robots/talos_full_v2_box.urdf", 8, {1.0, 1.2, 2.0}, 1.3, 0, 0}};
/// Problems of the fall, evenly over the steps with as many contacts as the heap asks for.
[[nodiscard]] std::vector<BenchProblem> make_heap_cases(const Heap& heap, int count, const BenchOptions& options);
/// Whether the robots are installed; else what to do.
[[nodiscard]] bool have_robots(std::string& why);
/// With what is only seen of the robots, for pictures. Throws Error without them.
[[nodiscard]] scenes::LoadedScene make_heap_scene(const Heap& heap, bool with_looks);

// ---- the parts

/// Sec. VII-A, Fig. 5: one step of a nut on its bolt.
[[nodiscard]] Report run_bolt_nut(const BenchOptions& options);
/// Dish cases with an answer, and those without.
struct DishCases {
  double per_weight = 0.0;
  std::vector<BenchProblem> feasible;
  Table jammed;
};
/// Gentle, moderate and rough ones.
[[nodiscard]] std::vector<DishCases> sort_dish_cases(const BenchOptions& options);
/// Sec. VII-B, Fig. 7: one step of a pile of dishes; Sec. VII-D, Table II on the same cases.
[[nodiscard]] Report run_dishes(const std::vector<DishCases>& cases, const BenchOptions& options);
[[nodiscard]] Report run_canal_ablation(const std::vector<DishCases>& cases, const BenchOptions& options);
/// Sec. VII-D, Table III.
[[nodiscard]] Report run_subadmm_ablation(const BenchOptions& options);
/// Sec. VII-C, Fig. 8, without the robot.
[[nodiscard]] Report run_pouring(const BenchOptions& options);
/// The same with the G1 that takes the bottle and pours.
[[nodiscard]] Report run_robot_pouring(const BenchOptions& options);
/// Sec. VII-A and VII-B: robots screw a nut on and pile dishes within a limit of time per step.
[[nodiscard]] Report run_robot_tasks(const BenchOptions& options);
/// Table I.
[[nodiscard]] Report run_engines(const BenchOptions& options);

// ---- tools

/// Writes problems as NAME.npz into options.save, if that is set.
void save_cases(const std::vector<BenchProblem>& cases, const BenchOptions& options);

/// As the paper has a method: nothing of ours that makes it faster. `iterations`: exactly so many; 0: as it likes.
[[nodiscard]] Settings make_plain(SolverKind kind, int iterations = 0, Settings from = {});
/// Penalties that the plain methods start with, free of units: SubADMM's at each contact in multiples of what balances
/// dynamics and constraints there, CANAL's in multiples of the inverse mean of the Delassus matrix's diagonal. The
/// paper has one density for all contacts and 1e4 in its own units; of simple choices these suit all of its scenes
/// best.
inline constexpr double kPlainPenalty = 3.0, kPlainCanalPenalty = 1000.0;

/// A picture of a simulation as it is; a note in the report where none can be drawn. Only for a page.
struct PictureOptions {
  std::string caption;
  std::vector<double> camera;  // position, target [m]
  bool contacts = false;
  std::vector<Look> looks = {};
};
void add_picture(Simulation& simulation, const PictureOptions& picture, const BenchOptions& options, Report& report);

[[nodiscard]] double quantile(std::vector<double> values, double share);
[[nodiscard]] double mean(const std::vector<double>& values);
/// Whether a value is that of the paper within a factor, up and down.
[[nodiscard]] bool is_about(double value, double paper, double factor);
/// Time of the last third of the steps by that of the first, from the times after each step (the first entry: before
/// all); NaN for fewer than three steps.
[[nodiscard]] double late_by_early(const std::vector<double>& times);
/// Exponent p of the best y = c x^p.
[[nodiscard]] double fit_exponent(const std::vector<Point>& points);
/// The figures of all parts, two in a row, as one drawing.
[[nodiscard]] std::string make_sheet(const Report& report);
/// Draws a plot into the report, and keeps it for the sheet.
void add_plot(const Plot& plot, const std::string& name, Report& report);

}  // namespace almond::bench
