// What contacts of signed distance shapes cost: scenes at work, step by step, and the pairs of a nut and of a pile
// apart.

#include <algorithm>

#include "almond/base/timer.hpp"
#include "almond/collision/sdf_pairs.hpp"
#include "bench/benches.hpp"
#include "scenes/scene.hpp"

namespace almond::bench {
namespace {

struct PairTimes {
  SdfCounts counts;
  double search_ms = 0.0, reduce_ms = 0.0;
  int pairs = 0, kept = 0;
};

/// All pairs of a model at a state, each looked at many times.
PairTimes time_pairs(const Model& model, const Kinematics& kin, int rounds) {
  PairTimes sum;
  SdfWorkspace workspace;
  Manifold manifold;
  for (int i = 0; i < model.num_geoms(); ++i)
    for (int k = i + 1; k < model.num_geoms(); ++k) {
      const Geom &a = model.geoms[i], &b = model.geoms[k];
      if (!may_collide(model, i, k) || a.solid == nullptr || b.solid == nullptr) continue;
      PairOptions options;
      options.margin = 0.01 * std::min(a.radius, b.radius);
      std::vector<double> all, reducing;
      for (int round = 0; round < rounds; ++round) {
        options.max_cloud = 120;
        manifold.clear();
        const Stopwatch watch;
        const SdfCounts counts = collide_sdf(a, kin.X_WG[i], b, kin.X_WG[k], options, workspace, manifold);
        all.push_back(watch.elapsed_ms());
        // The same cloud again, to reduce it alone.
        manifold.points.insert(manifold.points.end(), manifold.spare.begin(), manifold.spare.end());
        manifold.spare.clear();
        const Stopwatch part;
        reduce_cloud(options, workspace, manifold);
        reducing.push_back(part.elapsed_ms());
        if (round > 0) continue;
        sum.counts.nodes += counts.nodes;
        sum.counts.triangles += counts.triangles;
        sum.counts.vertices += counts.vertices;
        sum.counts.inner += counts.inner;
        sum.counts.points += counts.points;
      }
      if (manifold.points.empty()) continue;
      ++sum.pairs;
      sum.kept += static_cast<int>(manifold.points.size());
      sum.search_ms += median(all) - median(reducing);
      sum.reduce_ms += median(reducing);
    }
  return sum;
}

}  // namespace

void add_sdf_contacts(const BenchOptions& options, Report& report) {
  Table steps, pairs;
  steps.name = "contacts";
  steps.title = "Steps with signed distance contacts";
  steps.caption =
      "Medians over a run with the default setting, one thread; found and kept: contacts before and after reduction to "
      "120 per pair.";
  steps.columns = {"scene", "steps", "found", "kept", "collide ms", "solve ms", "step ms", "deepest um", "not solved"};
  pairs.name = "search";
  pairs.title = "Their pairs at the last of these states";
  pairs.caption =
      "Sums over the pairs that touch: what was looked at, and the time of the search and of the reduction.";
  pairs.columns = {"scene",    "pairs", "boxes", "triangles", "corners",
                   "descents", "found", "kept",  "search ms", "reduce ms"};
  struct Case {
    const char* label;
    const char* scene;
    std::vector<std::pair<std::string, double>> values;
  };
  const Case cases[] = {{"M48 nut, turning", "nut", {{"mu", 0.02}}},
                        {"M48 nut, locked", "nut", {{"mu", 0.15}}},
                        {"M20 nut, turning", "nut", {{"size", 20.0}, {"mu", 0.02}}},
                        {"four stacked dishes", "pile", {}},
                        {"45 balls into a cup", "pour", {}}};
  for (const Case& run : cases) {
    options.progress(run.label);
    const scenes::Scene scene = scenes::make_scene(run.scene, run.values);
    Simulation sim(scene.model, scene.options);
    const int count = options.quick ? 60 : 480;
    std::vector<double> found, kept, collide, solve, step;
    double deepest = 0.0, unsolved = 0.0;
    for (int i = 0; i < count; ++i) {
      if (scene.control) scene.control(sim);
      const StepReport report_of_step = sim.step();
      found.push_back(report_of_step.contacts + report_of_step.reduced_contacts);
      kept.push_back(report_of_step.contacts);
      collide.push_back(report_of_step.collide_ms);
      solve.push_back(report_of_step.solve_ms);
      step.push_back(report_of_step.step_ms);
      if (i > 10) deepest = std::max(deepest, 1e6 * report_of_step.penetration);
      unsolved += report_of_step.status == Status::kSolved ? 0.0 : 1.0;
    }
    steps.rows.push_back({text_cell(run.label), count_cell(count), count_cell(median(found)), count_cell(median(kept)),
                          time_cell(median(collide)), time_cell(median(solve)), time_cell(median(step)),
                          time_cell(deepest), count_cell(unsolved)});
    if (std::string(run.scene) == "pour") continue;
    const PairTimes t = time_pairs(sim.model(), sim.kinematics(), options.quick ? 5 : 50);
    pairs.rows.push_back({text_cell(run.label), count_cell(t.pairs), count_cell(t.counts.nodes),
                          count_cell(t.counts.triangles), count_cell(t.counts.vertices), count_cell(t.counts.inner),
                          count_cell(t.counts.points), count_cell(t.kept), time_cell(t.search_ms),
                          time_cell(t.reduce_ms)});
    if (std::string(run.label) == "M48 nut, locked" || std::string(run.scene) == "pile")
      report.add_claim(std::string("collision of ") + run.label, "1 ms", time_cell(median(collide)).text + " ms",
                       median(collide) <= 1.0);
  }
  report.tables.push_back(std::move(steps));
  report.tables.push_back(std::move(pairs));
}

}  // namespace almond::bench
