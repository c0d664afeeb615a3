#include "almond/view/live.hpp"

#include <chrono>
#include <cmath>
#include <condition_variable>
#include <cstdio>
#include <deque>
#include <map>
#include <mutex>
#include <nlohmann/json.hpp>
#include <optional>
#include <thread>

#include "almond/base/check.hpp"
#include "almond/base/text.hpp"
#include "almond/view/live_command.hpp"
#include "almond/view/live_controls.hpp"

namespace almond {
namespace {

using Json = nlohmann::ordered_json;
using Clock = std::chrono::steady_clock;

constexpr double kFrameMs = 1000.0 / 60.0;  // between snapshots
constexpr double kDragRate = 15.0;          // [rad/s] of the spring that drags a body, critically damped
constexpr double kDragLimit = 50.0;         // [m/s²] that it may give the whole tree
constexpr double kDragS = 0.3;              // a pull that is not renewed for so long belongs to a page that is gone
constexpr std::size_t kMostHands = 32, kMostOpened = 8;

/// A pull, and when it was last asked for.
struct Hand {
  Drag drag;
  Clock::time_point asked;
};

/// How far from a body's origin there may be something to take hold of [m].
double reach_of(const std::vector<Look>& looks, int body) {
  double reach = 0.0;
  for (const Look& look : looks)
    if (look.body == body) reach = std::max(reach, look.X_BG.p.norm() + bounding_radius(look.shape));
  return reach;
}

void append(const double* values, Eigen::Index count, const char* format, std::string& text) {
  char buffer[32];
  for (Eigen::Index i = 0; i < count; ++i) {
    if (text.back() != '[') text += ',';
    std::snprintf(buffer, sizeof buffer, format, std::isfinite(values[i]) ? values[i] : 0.0);
    text += buffer;
  }
}

/// The page rounds what it sends to six digits, which may lie past an end of its slider by as much.
void check_range(const Slider& slider, double value) {
  constexpr double kRounding = 1e-5;
  require(
      value >= slider.min - kRounding * std::abs(slider.min) && value <= slider.max + kRounding * std::abs(slider.max),
      "command set " + quote(slider.name) + ": " + to_text(value) + " is out of range, expected " +
          to_text(slider.min) + " to " + to_text(slider.max) + (slider.unit.empty() ? "" : " " + slider.unit));
}

}  // namespace

struct Live::Impl {
  std::function<LiveWorld()> make;
  LiveWorld world;
  std::unique_ptr<Simulation> simulation;
  VecX mu;  // (geoms) friction of the model as it was made

  mutable std::mutex mutex;  // of all below and of the simulation; held while a step runs
  std::condition_variable changed;
  std::deque<Command> commands;
  std::string snapshot;
  std::int64_t number = 0, worlds = 0, settings = 0;  // each grows when there is something new
  bool stopped = false, paused = false, held = false;
  bool stepped = false;  // the simulation's last() holds a step
  double speed = 1.0, friction = 1.0;
  std::map<std::string, Hand> hands;                     // by viewer
  std::map<std::string, Command> knobs;                  // what was set by hand, by name; kept over a reset
  std::map<int, double> driven;                          // inputs that were set by hand, by drive
  std::deque<std::shared_ptr<const StepInside>> opened;  // steps that were looked into, the newest last
  StepReport report;
  Frame frame;
  std::thread thread;

  // The clock of the run: simulated time `from` was at `since`.
  Clock::time_point since = Clock::now();
  double from = 0.0, real_time = 1.0;

  void start_world() {
    world = make();
    simulation = std::make_unique<Simulation>(world.model, world.options, world.seed);
    mu.resize(world.model.num_geoms());
    for (int g = 0; g < world.model.num_geoms(); ++g) mu[g] = world.model.geoms[g].material.mu;
    hands.clear();
    opened.clear();
    driven.clear();
    friction = 1.0;
    report = {};
    stepped = false;
    for (const auto& [name, command] : std::map(knobs)) set(command);
    record_state(*simulation, frame);
    restart_clock();
    ++worlds;
    ++settings;
  }

  /// Back to what the scene itself says.
  void forget_knobs() {
    knobs.clear();
    driven.clear();
    speed = friction = 1.0;
    simulation->inputs() = make_inputs(world.model);
    rebuild(world.model, world.options);
    ++settings;
  }

  void restart_clock() {
    since = Clock::now();
    from = simulation->state().time;
  }

  /// The same state under other laws: gravity, friction, time step, solver.
  void rebuild(Model model, const StepOptions& options) {
    options.validate();
    auto next = std::make_unique<Simulation>(std::move(model), options, world.seed);
    next->state() = simulation->state();
    next->inputs() = simulation->inputs();
    simulation = std::move(next);
    stepped = false;
    restart_clock();
  }

  [[nodiscard]] std::vector<Slider> sliders() const { return make_sliders(simulation->model()); }

  double& drive_input(int d) {
    Inputs& inputs = simulation->inputs();
    switch (simulation->model().drives[d].mode) {
      case DriveMode::kTorque:
        return inputs.feedforward[d];
      case DriveMode::kVelocity:
        return inputs.target_velocity[d];
      default:
        return inputs.target[d];
    }
  }

  double value_of(const Slider& slider) {
    const StepOptions& options = simulation->options();
    if (slider.group == "drives") return drive_input(std::stoi(slider.name.substr(5)));
    if (slider.name == "speed") return speed;
    if (slider.name == "gravity") return simulation->model().gravity.norm();
    if (slider.name == "friction") return friction;
    if (slider.name == "dt") return options.dt;
    if (slider.name == "budget_ms") return options.solver.budget_ms;
    if (slider.name == "max_iterations") return options.solver.max_iterations;
    return options.solver.tol;
  }

  void set(const Command& command) {
    change(command);
    if (command.name.rfind("drive", 0) != 0) knobs[command.name] = command;
    ++settings;
  }

  void change(const Command& command) {
    StepOptions options = simulation->options();
    if (command.name == "solver") {
      options.solver.solver = solver_from_string(command.text);
      rebuild(simulation->model(), options);
      return;
    }
    for (const Slider& slider : sliders()) {
      if (slider.name != command.name) continue;
      const double value = std::clamp(command.value, slider.min, slider.max);
      if (slider.group == "drives") {
        driven[std::stoi(slider.name.substr(5))] = value;
        return;
      }
      if (slider.name == "speed") {
        speed = value;
        restart_clock();
        return;
      }
      Model model = simulation->model();
      if (slider.name == "gravity") {
        const double now = model.gravity.norm();
        model.gravity = now > 0.0 ? Vec3(model.gravity * (value / now)) : Vec3(0.0, 0.0, -value);
        if (value == 0.0) model.gravity = Vec3(0.0, 0.0, 0.0);
      } else if (slider.name == "friction") {
        friction = value;
        for (int g = 0; g < model.num_geoms(); ++g) model.geoms[g].material.mu = value * mu[g];
        for (std::size_t p = 0; p < model.pairs.size(); ++p)
          model.pairs[p].material.mu = value * world.model.pairs[p].material.mu;
      } else if (slider.name == "dt") {
        options.dt = value;
      } else if (slider.name == "budget_ms") {
        options.solver.budget_ms = value;
      } else if (slider.name == "max_iterations") {
        options.solver.max_iterations = static_cast<int>(std::lround(value));
      } else {
        options.solver.tol = value;
      }
      rebuild(std::move(model), options);
      return;
    }
  }

  void obey(const Command& command) {
    switch (command.kind) {
      case Command::Kind::kPlay:
        paused = held = false;
        restart_clock();
        break;
      case Command::Kind::kPause:
        paused = true;
        break;
      case Command::Kind::kStep:
        paused = true;
        advance();
        break;
      case Command::Kind::kReset:
        start_world();
        break;
      case Command::Kind::kSet:
        set(command);
        break;
      case Command::Kind::kDefaults:
        forget_knobs();
        break;
      case Command::Kind::kDrag:
        if (command.drag.body < simulation->model().num_bodies() &&
            (hands.size() < kMostHands || hands.count(command.viewer) > 0))
          hands[command.viewer] = {command.drag, Clock::now()};
        break;
      case Command::Kind::kRelease:
        hands.erase(command.viewer);
        break;
    }
  }

  void pull() {
    const Clock::time_point now = Clock::now();
    for (auto it = hands.begin(); it != hands.end();)
      it = std::chrono::duration<double>(now - it->second.asked).count() > kDragS ? hands.erase(it) : std::next(it);
    simulation->inputs().wrenches.clear();
    for (const auto& [viewer, hand] : hands) pull_by(hand.drag);
  }

  /// A spring from the point that was grabbed to where the hand is.
  void pull_by(const Drag& drag) {
    Inputs& inputs = simulation->inputs();
    const Model& model = simulation->model();
    const int tree = model.bodies[drag.body].subsystem;
    if (tree < 0) return;
    double mass = 0.0;
    for (const int body : model.trees[tree].bodies) mass += model.bodies[body].mass;
    const Kinematics& kin = simulation->kinematics();
    const Pose& X_WB = kin.X_WB[drag.body];
    const Vec3 point = X_WB * drag.local;
    Vec3 force = mass * (kDragRate * kDragRate * (drag.target - point) -
                         2.0 * kDragRate * point_velocity(model, kin, drag.body, point));
    const double most = kDragLimit * mass;
    if (force.norm() > most) force *= most / force.norm();
    inputs.wrenches.resize(model.bodies.size());
    Wrench& sum = inputs.wrenches[drag.body];
    sum.force += force;
    sum.torque += (point - X_WB * model.bodies[drag.body].com).cross(force);
  }

  void advance() {
    if (world.control) world.control(*simulation);
    for (const auto& [drive, value] : driven) drive_input(drive) = value;
    pull();
    report = simulation->step();
    stepped = true;
    record_step(*simulation, frame);
  }

  /// Steps until the simulated time has caught up with the clock, but not longer than a frame takes.
  void keep_up() {
    const Clock::time_point begin = Clock::now();
    const auto elapsed = [](Clock::time_point t) { return std::chrono::duration<double>(Clock::now() - t).count(); };
    while (simulation->state().time - from < speed * elapsed(since)) {
      advance();
      if (1e3 * elapsed(begin) > kFrameMs) break;
    }
    const double wall = elapsed(since), done = simulation->state().time - from;
    if (wall > 0.5) {  // too slow or not: measured anew twice a second, and what was missed is not caught up
      real_time = done / wall;
      restart_clock();
    }
  }

  void publish() {
    const Model& model = simulation->model();
    const Kinematics& kin = simulation->kinematics();
    std::string p = "[", q = "[", contacts = "[";
    for (int b = 0; b < model.num_bodies(); ++b) {
      const Vec4 rotation = matrix_to_quaternion(kin.X_WB[b].R);
      append(kin.X_WB[b].p.data(), 3, "%.6g", p);
      append(rotation.data(), 4, "%.5g", q);
    }
    for (const FrameContact& c : frame.contacts) {
      if (contacts.back() != '[') contacts += ',';
      std::string row = "[";
      append(c.p.data(), 3, "%.6g", row);
      append(c.n.data(), 3, "%.4g", row);
      append(c.force.data(), 3, "%.4g", row);
      const double rest[] = {static_cast<double>(c.mode), c.residual, c.mu, static_cast<double>(c.geom_a),
                             static_cast<double>(c.geom_b)};
      append(rest, 3, "%.3g", row);
      append(rest + 3, 2, "%.0f", row);
      contacts += row + "]";
    }
    Json values = {{"residual", report.residual},
                   {"contacts", report.contacts},
                   {"iterations", report.iterations},
                   {"step time", report.step_ms},
                   {"solve time", report.solve_ms},
                   {"energy", simulation->energy().total()},
                   {"penetration", 1e3 * report.penetration}};
    if (!model.closures.empty()) values["opening"] = 1e3 * report.opening;
    const std::string status = std::string(to_string(report.status)) + (report.passed > 0 ? ", passed" : "");
    const Json head = {{"step", simulation->state().steps},
                       {"time", simulation->state().time},
                       {"paused", paused},
                       {"status", status},
                       {"real_time", real_time},
                       {"world", worlds}};
    snapshot = head.dump();
    snapshot.pop_back();
    snapshot += ",\"values\":" + values.dump() + ",\"p\":" + p + "],\"q\":" + q + "],\"contacts\":" + contacts + "]}";
    ++number;
    changed.notify_all();
  }

  void run() {
    Clock::time_point next = Clock::now();
    bool fresh = true;
    std::unique_lock lock(mutex);
    while (!stopped) {
      while (!commands.empty()) {
        const Command command = std::move(commands.front());
        commands.pop_front();
        try {
          obey(command);
        } catch (const Error&) {  // a value that the world does not take leaves it as it is
        }
        fresh = true;
      }
      const bool runs = !paused && !held;
      if (runs) keep_up();
      if (runs || fresh) publish();
      fresh = false;
      next = std::max(next + std::chrono::microseconds(static_cast<int>(1e3 * kFrameMs)), Clock::now());
      changed.wait_until(lock, next, [this] { return stopped || ((paused || held) && !commands.empty()); });
    }
  }
};

Live::Live(std::function<LiveWorld()> make, bool held) : impl_(std::make_unique<Impl>()) {
  impl_->make = std::move(make);
  impl_->held = held;
  impl_->start_world();
  impl_->thread = std::thread([this] { impl_->run(); });
}

Live::~Live() { stop(); }

void Live::stop() {
  {
    const std::lock_guard lock(impl_->mutex);
    impl_->stopped = true;
  }
  impl_->changed.notify_all();
  if (impl_->thread.joinable()) impl_->thread.join();
}

void Live::post(const std::string& text) {
  constexpr std::size_t kMostCommands = 1000;
  Command command = parse_command(text);
  {
    const std::lock_guard lock(impl_->mutex);
    if (command.kind == Command::Kind::kSet && command.name == "solver") {
      static_cast<void>(solver_from_string(command.text));
    } else if (command.kind == Command::Kind::kSet) {
      const std::vector<Slider> sliders = impl_->sliders();
      const auto slider =
          std::find_if(sliders.begin(), sliders.end(), [&](const Slider& s) { return s.name == command.name; });
      require(slider != sliders.end(), "command set " + quote(command.name) + ": no such control");
      require(command.text.empty(), "command set " + quote(command.name) + ": expected a number");
      check_range(*slider, command.value);
    } else if (command.kind == Command::Kind::kDrag) {
      require(command.drag.body >= 0 && command.drag.body < impl_->simulation->model().num_bodies(),
              "command drag: no body " + std::to_string(command.drag.body));
      // A lever far longer than the body would tear it apart.
      require(command.drag.local.norm() <= 1.1 * reach_of(impl_->world.looks, command.drag.body) + 1e-3,
              "command drag: the point is not on the body");
    }
    if (impl_->commands.size() >= kMostCommands) return;
    impl_->commands.push_back(std::move(command));
  }
  impl_->changed.notify_all();
}

std::string Live::wait_for_snapshot(std::int64_t& seen, double timeout_ms) {
  std::unique_lock lock(impl_->mutex);
  impl_->changed.wait_for(lock, std::chrono::duration<double, std::milli>(timeout_ms),
                          [&] { return impl_->stopped || impl_->number > seen; });
  if (impl_->stopped || impl_->number <= seen) return {};
  seen = impl_->number;
  return impl_->snapshot;
}

void Live::let_go() {
  const std::lock_guard lock(impl_->mutex);
  if (!impl_->held) return;
  impl_->held = false;
  impl_->restart_clock();
}

std::int64_t Live::world_number() const {
  const std::lock_guard lock(impl_->mutex);
  return impl_->worlds;
}

std::int64_t Live::controls_number() const {
  const std::lock_guard lock(impl_->mutex);
  return impl_->settings;
}

std::string Live::scene() {
  const std::lock_guard lock(impl_->mutex);
  return make_still(*impl_->simulation, impl_->world.looks, impl_->world.title, {});
}

std::string Live::controls() {
  const std::lock_guard lock(impl_->mutex);
  std::vector<Slider> sliders = impl_->sliders();
  for (Slider& slider : sliders) slider.value = impl_->value_of(slider);
  return controls_json(sliders, impl_->simulation->options().solver.solver);
}

std::string Live::inside() {
  const auto inside = std::make_shared<StepInside>();
  Settings settings;
  std::int64_t world = 0;
  {
    const std::lock_guard lock(impl_->mutex);
    require(impl_->stepped, "no step was done yet");
    *inside = record_inside(*impl_->simulation);
    settings = impl_->simulation->options().solver;
    world = impl_->worlds;
  }
  add_traces(settings, *inside);  // without holding up the simulation
  const std::lock_guard lock(impl_->mutex);
  if (world == impl_->worlds) {
    impl_->opened.push_back(inside);
    if (impl_->opened.size() > kMostOpened) impl_->opened.pop_front();
  }
  return inside_json(*inside, impl_->simulation->model(), impl_->world.title);
}

std::string Live::problem(std::optional<std::int64_t> step) {
  std::shared_ptr<const StepInside> found;
  {
    const std::lock_guard lock(impl_->mutex);
    require(step || impl_->stepped, "no step was done yet");
    if (!step) found = std::make_shared<StepInside>(record_inside(*impl_->simulation));
    for (const auto& each : impl_->opened)
      if (step == each->step) found = each;
  }
  require(found != nullptr, "step " + std::to_string(step.value_or(0)) + " is not kept any more: look into a new one");
  return inside_npz(*found);
}

}  // namespace almond
