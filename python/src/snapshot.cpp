#include "snapshot.hpp"

#include <algorithm>

#include "almond/load/sha256.hpp"
#include "scenes/memory.hpp"

namespace almond::python {
namespace {

const std::string kMark = "almondP1";

std::string checksum(std::string_view bytes) {
  Sha256 sum;
  sum.add(bytes);
  const auto digest = sum.finish();
  return {digest.begin(), digest.end()};
}

/// In place, so that views of the arrays stay.
template <class From, class To>
void copy_to(const From& from, To& to) {
  std::copy_n(from.data(), from.size(), to.data());
}

void assign(const State& from, State& to) {
  copy_to(from.q, to.q);
  copy_to(from.v, to.v);
  to.time = from.time;
  to.steps = from.steps;
  to.contacts = from.contacts;
  to.rows = from.rows;
  to.rng = from.rng;
}

void check_size(Eigen::Index given, Eigen::Index expected, const char* what) {
  require(given == expected,
          "restore: has " + std::to_string(given) + " " + what + ", the simulation has " + std::to_string(expected));
}

}  // namespace

void assign(const Inputs& from, Inputs& to) {
  copy_to(from.target, to.target);
  copy_to(from.target_velocity, to.target_velocity);
  copy_to(from.feedforward, to.feedforward);
}

std::string read_memory(const scenes::Scene& scene) {
  scenes::Memory memory;
  if (scene.remember) scene.remember(memory);
  return memory.bytes();
}

void set_memory(const scenes::Scene& scene, const std::string& bytes) {
  if (!scene.remember) return require(bytes.empty(), "restore: is of a scene with a script, expected one without");
  const std::string before = read_memory(scene);
  scenes::Memory memory(bytes);
  try {
    scene.remember(memory);
    require(memory.done(), "what a scene remembers: has bytes behind its end");
  } catch (const Error& error) {
    scenes::Memory back(before);
    scene.remember(back);
    throw Error(std::string("restore: ") + error.what());
  }
}

std::string take_snapshot(const World& world) {
  scenes::Memory memory;
  std::string state = serialize(world.state), script = world.scene == nullptr ? "" : read_memory(*world.scene);
  MatXr wrenches = world.wrenches;
  memory(state, world.inputs.target, world.inputs.target_velocity, world.inputs.feedforward, wrenches, script);
  const std::string bytes = kMark + memory.bytes();
  return bytes + checksum(bytes);
}

Snapshot read_snapshot(const std::string& bytes, const World& world) {
  Snapshot snapshot;
  if (!bytes.starts_with(kMark)) {
    snapshot.state = deserialize(bytes, world.model, "restore");
    snapshot.has_inputs = false;
    require(world.scene == nullptr || !world.scene->has_task,
            "restore: is a state alone, which does not know how far the task of scene " +
                (world.scene == nullptr ? "" : world.scene->name) + " is; expected what save() returned");
    return snapshot;
  }
  constexpr std::size_t kSum = 32;
  require(bytes.size() >= kMark.size() + kSum, "restore: is cut off");
  const std::size_t end = bytes.size() - kSum;
  require(checksum(std::string_view(bytes).substr(0, end)) == bytes.substr(end),
          "restore: is damaged (the checksum differs)");
  scenes::Memory memory(bytes.substr(kMark.size(), end - kMark.size()));
  std::string state;
  Inputs& inputs = snapshot.inputs;
  memory(state, inputs.target, inputs.target_velocity, inputs.feedforward, snapshot.wrenches, snapshot.script);
  snapshot.state = deserialize(state, world.model, "restore");
  check_size(inputs.target.size(), world.inputs.target.size(), "drives");
  check_size(inputs.target_velocity.size(), world.inputs.target_velocity.size(), "drives");
  check_size(inputs.feedforward.size(), world.inputs.feedforward.size(), "drives");
  check_size(snapshot.wrenches.size(), world.wrenches.size(), "numbers of wrenches");
  require(world.scene != nullptr || snapshot.script.empty(),
          "restore: is of a scene with a script, expected one without");
  return snapshot;
}

void restore(const Snapshot& snapshot, World world) {
  if (snapshot.has_inputs && world.scene != nullptr) set_memory(*world.scene, snapshot.script);
  assign(snapshot.state, world.state);
  if (!snapshot.has_inputs) return;
  assign(snapshot.inputs, world.inputs);
  copy_to(snapshot.wrenches, world.wrenches);
}

void restart(std::uint64_t seed, const std::string& memory, World world) {
  if (world.scene != nullptr) set_memory(*world.scene, memory);
  assign(make_state(world.model, seed), world.state);
  assign(make_inputs(world.model), world.inputs);
  world.wrenches.setZero();
}

}  // namespace almond::python
