// Signed distance functions: nanoseconds per query of every kind, and how far the neural bolt is off the analytic one.

#include <Eigen/Geometry>
#include <algorithm>
#include <cmath>
#include <numbers>
#include <numeric>

#include "almond/base/timer.hpp"
#include "almond/model/neural_sdf.hpp"
#include "almond/model/profile.hpp"
#include "almond/model/thread.hpp"
#include "bench/benches.hpp"
#include "scenes/random.hpp"

namespace almond::bench {
namespace {

using scenes::Random;

struct Kind {
  const char* name;
  SdfPtr sdf;
};

std::vector<Kind> make_kinds() {
  const MetricThread m48 = find_thread("M48");
  return {
      {"sphere", make_sphere_sdf(0.05)},
      {"box", make_box_sdf(Vec3(0.05, 0.03, 0.02))},
      {"capsule", make_capsule_sdf(0.03, 0.04)},
      {"cylinder", make_cylinder_sdf(0.03, 0.04)},
      {"cone", make_cone_sdf(0.03, 0.04)},
      {"ellipsoid", make_ellipsoid_sdf(Vec3(0.05, 0.03, 0.02))},
      {"hexagon", make_hexagon_sdf(0.06, 0.02)},
      {"box without a sphere", make_difference(make_box_sdf(Vec3(0.04, 0.04, 0.02)), make_sphere_sdf(0.03))},
      {"dish O-A-B", make_dish(Vec2(0.03, 0.0), Vec2(0.06, 0.04), 0.002)},
      {"bowl", make_bowl(0.025, 0.07, 0.05, 0.004)},
      {"bottle", make_bottle(0.035, 0.012, 0.10, 0.18, 0.003)},
      {"M48 thread", make_thread(m48.external(), -0.05, 0.0)},
      {"M48 nut", make_nut(m48)},
      {"M48 bolt", make_bolt(m48)},
      {"M48 bolt, neural", make_neural_bolt()},
  };
}

/// Points within 2 mm of the surface, where contacts are looked for.
std::vector<Vec3> make_near_points(const Sdf& sdf, int count) {
  const Aabb box = sdf.bounds();
  Random random(11);
  std::vector<Vec3> points;
  while (static_cast<int>(points.size()) < count) {
    Vec3 p;
    for (int i = 0; i < 3; ++i) p[i] = random.uniform(box.lower[i] - 2e-3, box.upper[i] + 2e-3);
    const SdfSample s = sdf.sample(p);
    p += (random.uniform(-2e-3, 2e-3) - s.d) * s.g;
    if (std::abs(sdf.value(p)) < 2e-3) points.push_back(p);
  }
  return points;
}

/// CPU nanoseconds per point, the best of some rounds, in blocks of at most `size`.
double time_per_point(const Sdf& sdf, const std::vector<Vec3>& points, int size, int rounds) {
  double best = kInfinity;
  for (int round = 0; round < rounds; ++round) {
    const double start = thread_cpu_ms();
    SdfBlock block;
    for (const Vec3& p : points) {
      block.add(p);
      if (block.count < size) continue;
      sdf.sample(block);
      block.count = 0;
    }
    best = std::min(best, thread_cpu_ms() - start);
  }
  return 1e6 * best / static_cast<double>(points.size());
}

void add_times(const BenchOptions& options, Report& report) {
  Table table;
  table.name = "queries";
  table.title = "Nanoseconds per query";
  table.caption =
      "Value and gradient at points within 2 mm of the surface, one thread: in blocks of 64, and one by one. CPU time, "
      "the best of some rounds.";
  table.columns = {"shape", "blocks ns", "single ns"};
  double analytic = kNaN, neural = kNaN;
  for (const Kind& kind : make_kinds()) {
    options.progress(kind.name);
    const std::vector<Vec3> points = make_near_points(*kind.sdf, 64 * (options.quick ? 16 : 128));
    const int rounds = options.quick ? 3 : 20;
    const double blocks = time_per_point(*kind.sdf, points, SdfBlock::kSize, rounds);
    const double single = time_per_point(*kind.sdf, points, 1, rounds);
    table.rows.push_back({text_cell(kind.name), time_cell(blocks), time_cell(single)});
    if (std::string(kind.name) == "M48 bolt") analytic = blocks;
    if (std::string(kind.name) == "M48 bolt, neural") neural = blocks;
  }
  report.tables.push_back(std::move(table));
  report.notes.push_back("in blocks, a query of the neural bolt costs " + ratio_cell(neural / analytic).text +
                         " one of the analytic bolt");
}

// ---- The neural bolt against the analytic one ----

struct Errors {
  std::vector<double> distance, angle;  // [µm], [degrees]

  void add(const SdfSample& a, const SdfSample& b) {
    distance.push_back(1e6 * std::abs(a.d - b.d));
    const double chord = std::min(0.5 * (a.g - b.g).norm(), 1.0);
    angle.push_back(360.0 / std::numbers::pi * std::asin(chord));
  }
};

double mean(const std::vector<double>& values) {
  return std::accumulate(values.begin(), values.end(), 0.0) / static_cast<double>(values.size());
}

double quantile(std::vector<double> values, double q) {
  const auto at = values.begin() + static_cast<std::ptrdiff_t>(q * static_cast<double>(values.size() - 1));
  std::nth_element(values.begin(), at, values.end());
  return *at;
}

/// Whether the normal turns by less than 15 degrees over 0.2 mm in each direction: no edge or valley is near.
bool is_smooth(const Sdf& sdf, const Vec3& p, const Vec3& normal) {
  SdfBlock block;
  for (int i = 0; i < 3; ++i)
    for (const double side : {-2e-4, 2e-4}) block.add(p + side * Vec3::Unit(i));
  sdf.sample(block);
  for (int i = 0; i < block.count; ++i)
    if (block.gradient(i).dot(normal) < std::cos(15.0 * std::numbers::pi / 180.0)) return false;
  return true;
}

void add_neural_errors(const BenchOptions& options, Report& report) {
  options.progress("neural bolt");
  const MetricThread m48 = find_thread("M48");
  const SdfPtr analytic = make_taught_bolt(), neural = make_neural_bolt();
  const double low = -2.5 * m48.diameter, reach = 2e-3, rod = 0.5 * m48.diameter + reach;
  Random random(5);
  Errors shell, smooth, skin, smooth_skin;
  const int count = options.quick ? 20000 : 400000;
  while (static_cast<int>(shell.angle.size()) < count) {
    // Evenly in the volume around the rod; the head is analytic in both.
    const Vec3 p(random.uniform(-rod, rod), random.uniform(-rod, rod), random.uniform(low + reach, reach));
    const SdfSample a = analytic->sample(p);
    if (std::abs(a.d) > reach) continue;
    const SdfSample n = neural->sample(p);
    const bool is_plain = is_smooth(*analytic, p, a.g);
    shell.add(a, n);
    if (is_plain) smooth.add(a, n);
    if (std::abs(a.d) > 1e-4) continue;
    skin.add(a, n);
    if (is_plain) smooth_skin.add(a, n);
  }
  Table table;
  table.name = "neural";
  table.title = "The neural M48 bolt against the analytic one";
  table.caption =
      "Distances in um, normals in degrees, at points evenly in the volume around thread, chamfer, run-out and shank. "
      "Away from edges: where the analytic normal "
      "turns by less than 15 degrees over 0.2 mm.";
  table.columns = {"where", "points", "um mean", "um 99 %", "um max", "degrees mean", "degrees 99 %", "degrees max"};
  const auto add_row = [&](const char* name, const Errors& e) {
    table.rows.push_back({text_cell(name), count_cell(static_cast<double>(e.angle.size())), time_cell(mean(e.distance)),
                          time_cell(quantile(e.distance, 0.99)), time_cell(quantile(e.distance, 1.0)),
                          time_cell(mean(e.angle)), time_cell(quantile(e.angle, 0.99)),
                          time_cell(quantile(e.angle, 1.0))});
  };
  add_row("within 2 mm of the surface", shell);
  add_row("within 2 mm, away from edges", smooth);
  add_row("within 0.1 mm of the surface", skin);
  add_row("within 0.1 mm, away from edges", smooth_skin);
  report.tables.push_back(std::move(table));
  const double mean_um = mean(shell.distance), max_um = quantile(shell.distance, 1.0), degrees = mean(smooth.angle);
  report.add_claim("neural bolt: mean error within 2 mm of the surface", "5 um", time_cell(mean_um).text + " um",
                   mean_um <= 5.0);
  report.add_claim("neural bolt: largest error within 2 mm", "50 um", time_cell(max_um).text + " um", max_um <= 50.0);
  report.add_claim("neural bolt: mean error of normals away from edges", "1 degree", time_cell(degrees).text,
                   degrees <= 1.0);
}

}  // namespace

Report bench_sdf(const BenchOptions& options) {
  Report report;
  report.name = "sdf";
  report.title = "Almond: signed distance functions";
  report.lead =
      "What a query costs, kind by kind, how far the neural bolt is off the analytic one, and what contacts cost.";
  report.facts = machine_facts();
  add_times(options, report);
  add_neural_errors(options, report);
  add_sdf_contacts(options, report);
  return report;
}

}  // namespace almond::bench
