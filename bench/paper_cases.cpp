// Contact problems of the paper's single-step tests, made by simulation from fixed seeds.

#include <algorithm>
#include <cctype>
#include <cmath>
#include <filesystem>

#include "almond/base/check.hpp"
#include "almond/load/installed_robots.hpp"
#include "almond/load/problem_file.hpp"
#include "almond/model/neural_sdf.hpp"
#include "almond/model/thread.hpp"
#include "almond/sim/next_problem.hpp"
#include "almond/solver/solve.hpp"
#include "bench/paper.hpp"
#include "scenes/parts.hpp"
#include "scenes/random.hpp"

namespace almond::bench {
namespace {

using scenes::Random;

Vec3 random_direction(Random& random) {
  Vec3 u;
  do {
    for (double& x : u) x = random.uniform(-1.0, 1.0);
  } while (u.norm() > 1.0 || u.norm() < 1e-3);
  return u.normalized();
}

Wrench random_wrench(Random& random, double force, double torque) {
  Wrench wrench;
  wrench.force = random.uniform(0.0, force) * random_direction(random);
  wrench.torque = random.uniform(0.0, torque) * random_direction(random);
  return wrench;
}

BenchProblem take_problem(const Simulation& sim, const Inputs& inputs, const State& state, std::string name) {
  BenchProblem result;
  result.problem = next_problem(sim.model(), sim.options(), inputs, state);
  result.problem.name = result.name = std::move(name);
  return result;
}

std::string numbered(const std::string& name, int number) {
  char text[16];
  std::snprintf(text, sizeof text, "%02d", number);
  return name + text;
}

/// Heads up, at a place of the thread and as it fits there.
Model make_nut_on_bolt(const SdfShape& bolt, const SdfShape& nut, double mass, double below) {
  const MetricThread m48 = find_thread("M48");
  ModelBuilder builder("nut");
  Material material;
  material.mu = 0.2;
  builder.add_ground(bolt, {}, material);
  builder.add_solid("nut", nut, mass, make_rotation(Vec3::UnitZ(), engaged_angle(m48, -below), Vec3(0.0, 0.0, -below)),
                    material);
  return builder.build();
}

}  // namespace

std::vector<BenchProblem> make_nut_cases(bool neural, int configurations, int wrenches, const BenchOptions& options) {
  constexpr int kSettle = 24, kMostTries = 40;
  constexpr double kForce = 100.0, kTorque = 5.0;  // [N], [N m]
  constexpr int kNumerous = 100;
  const MetricThread m48 = find_thread("M48");
  const SdfShape bolt = make_sdf_shape(neural ? make_neural_bolt() : make_bolt(m48)),
                 nut = make_sdf_shape(make_nut(m48));
  const double mass = solid_properties(nut, 7850.0).mass;
  std::vector<BenchProblem> cases;
  Random random(48);
  for (int found = 0, tries = 0; found < configurations; ++tries) {
    require(tries < kMostTries * configurations,
            "nut cases: too few places with " + std::to_string(kNumerous) + " contacts");
    options.progress(std::string("nut on the ") + (neural ? "neural" : "analytic") + " bolt, place " +
                     std::to_string(found + 1));
    Simulation sim(make_nut_on_bolt(bolt, nut, mass, random.uniform(0.6, 1.4) * m48.diameter));
    sim.inputs().wrenches = {random_wrench(random, kForce, kTorque)};
    for (int k = 0; k < kSettle; ++k) static_cast<void>(sim.step());
    Random pushes(static_cast<std::uint64_t>(1000 + tries));
    Inputs inputs = sim.inputs();
    std::vector<BenchProblem> here;
    for (int k = 0; k < wrenches; ++k) {
      inputs.wrenches = {random_wrench(pushes, kForce, kTorque)};
      here.push_back(
          take_problem(sim, inputs, sim.state(), numbered(neural ? "nut_neural_" : "nut_", found) + numbered("_", k)));
    }
    if (here.front().problem.num_contacts() < kNumerous) continue;
    ++found;
    for (BenchProblem& problem : here) cases.push_back(std::move(problem));
  }
  return cases;
}

std::vector<BenchProblem> make_dish_cases(int count, double per_weight, const BenchOptions& options) {
  constexpr int kSettle = 480;
  constexpr double kLever = 0.05;  // [m]
  options.progress("dishes come to rest");
  Simulation sim(scenes::make_pile_model(5.0, 0.5));
  for (int k = 0; k < kSettle; ++k) static_cast<void>(sim.step());
  Random random(4);
  std::vector<BenchProblem> cases;
  Inputs inputs = sim.inputs();
  const std::string name =
      per_weight <= kGentle ? "dish_" : (per_weight <= kModerate ? "dish_moderate_" : "dish_rough_");
  for (int k = 0; k < count; ++k) {
    inputs.wrenches.clear();
    for (const Body& body : sim.model().bodies) {
      const double force = per_weight * body.mass * scenes::kGravity;
      inputs.wrenches.push_back(random_wrench(random, force, kLever * force));
    }
    cases.push_back(take_problem(sim, inputs, sim.state(), numbered(name, k)));
  }
  return cases;
}

std::vector<DishCases> sort_dish_cases(const BenchOptions& options) {
  std::vector<DishCases> sets;
  for (const double per_weight : {kGentle, kModerate, kRough}) {
    DishCases set;
    set.per_weight = per_weight;
    const std::vector<BenchProblem> all = make_dish_cases(options.quick ? 10 : 100, per_weight, options);
    save_cases(all, options);
    for (const BenchProblem& problem : all) {
      options.progress(problem.name + "  is there an answer");
      Settings settings;
      settings.budget_ms = 1000.0;
      Workspace workspace;
      Solution solution;
      if (solve(problem.problem, settings, workspace, solution) == Status::kInfeasible) {
        set.jammed.rows.push_back(
            {text_cell(problem.name), text_cell(to_string(solution.status)), time_cell(solution.info.time_ms)});
      } else {
        set.feasible.push_back(problem);
      }
    }
    sets.push_back(std::move(set));
  }
  return sets;
}

bool have_robots(std::string& why) {
  try {
    static_cast<void>(need_installed_robot(kHeaps[0].file));
    return true;
  } catch (const Error& error) {
    why = error.what();
    return false;
  }
}

scenes::LoadedScene make_heap_scene(const Heap& heap, bool with_looks) {
  const std::string file = need_installed_robot(heap.file);
  SceneFile description;
  description.name = "heap";
  description.floor = 0.0;
  description.floor_material.mu = 0.6;
  const int side = static_cast<int>(std::ceil(std::cbrt(heap.robots) - 1e-9));
  Random random(8);
  for (int i = 0; i < heap.robots; ++i) {
    SceneRobot robot;
    robot.path = file;
    robot.options.name = "robot" + std::to_string(i);
    robot.options.base = Base::kFloating;
    const Vec3 place(heap.apart[0] * (i % side), heap.apart[1] * (i / side % side),
                     heap.height + heap.apart[2] * (i / (side * side)));
    const Vec3 tilt(random.uniform(-0.3, 0.3), random.uniform(-0.3, 0.3), random.uniform(-0.5, 0.5));
    robot.options.X_WF = make_rotation(tilt.normalized(), tilt.norm(), place);
    description.robots.push_back(std::move(robot));
  }
  return scenes::load_scene(description, with_looks);
}

std::vector<BenchProblem> make_heap_cases(const Heap& heap, int count, const BenchOptions& options) {
  constexpr int kSteps = 480;
  Simulation sim(make_heap_scene(heap, false).scene.model);
  std::vector<State> states;
  std::vector<int> contacts;
  for (int k = 0; k < kSteps; ++k) {
    options.progress(std::to_string(heap.robots) + " " + heap.robot + " fall, step " + std::to_string(k));
    states.push_back(sim.state());
    contacts.push_back(sim.step().contacts);
  }
  // Evenly over the time in which they lie on the ground and on each other.
  const int ever = *std::max_element(contacts.begin(), contacts.end());
  const int least = heap.least > 0 ? heap.least : ever / 2, most = heap.most > 0 ? heap.most : ever;
  std::vector<int> busy;
  for (int k = 0; k < kSteps; ++k)
    if (contacts[k] >= least && contacts[k] <= most) busy.push_back(k);
  require(!busy.empty(), std::string(heap.robot) + ": no step of the fall has " + std::to_string(least) + " to " +
                             std::to_string(most) + " contacts, at most " + std::to_string(ever));
  std::vector<BenchProblem> cases;
  std::string name = heap.robot + std::to_string(heap.robots);
  name[0] = static_cast<char>(std::tolower(name[0]));
  for (int k = 0; k < count; ++k) {
    const int step = busy[busy.size() * static_cast<std::size_t>(k) / static_cast<std::size_t>(count)];
    cases.push_back(take_problem(sim, sim.inputs(), states[step], numbered(name + "_", k)));
  }
  return cases;
}

void save_cases(const std::vector<BenchProblem>& cases, const BenchOptions& options) {
  if (options.save.empty()) return;
  std::error_code error;
  std::filesystem::create_directories(options.save, error);
  require(!error, options.save + ": cannot make this folder: " + error.message());
  for (const BenchProblem& problem : cases) {
    options.progress("writing " + problem.name);
    save_problem(problem.problem, (std::filesystem::path(options.save) / (problem.name + ".npz")).string());
  }
}

}  // namespace almond::bench
