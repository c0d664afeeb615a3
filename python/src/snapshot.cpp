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
template <class Array>
void copy_to(const Array& from, Array& to) {
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
  std::string state = serialize(world.simulation.state()), script = read_memory(world.scene);
  Inputs& inputs = world.simulation.inputs();
  memory(state, inputs.target, inputs.target_velocity, inputs.feedforward, world.wrenches, script);
  const std::string bytes = kMark + memory.bytes();
  return bytes + checksum(bytes);
}

void restore_snapshot(const std::string& bytes, const World& world) {
  const Model& model = world.simulation.model();
  State& state = world.simulation.state();
  if (!bytes.starts_with(kMark)) {
    const State given = deserialize(bytes, model, "restore");
    require(!world.scene.has_task, "restore: is a state alone, which does not know how far the task of scene " +
                                       world.scene.name + " is; expected what save() returned");
    return assign(given, state);
  }
  constexpr std::size_t kSum = 32;
  require(bytes.size() >= kMark.size() + kSum, "restore: is cut off");
  const std::size_t end = bytes.size() - kSum;
  require(checksum(std::string_view(bytes).substr(0, end)) == bytes.substr(end),
          "restore: is damaged (the checksum differs)");
  scenes::Memory memory(bytes.substr(kMark.size(), end - kMark.size()));
  std::string state_bytes, script;
  Inputs inputs;
  MatXr wrenches;
  memory(state_bytes, inputs.target, inputs.target_velocity, inputs.feedforward, wrenches, script);
  const State given = deserialize(state_bytes, model, "restore");
  check_size(inputs.target.size(), world.simulation.inputs().target.size(), "drives");
  check_size(inputs.target_velocity.size(), world.simulation.inputs().target_velocity.size(), "drives");
  check_size(inputs.feedforward.size(), world.simulation.inputs().feedforward.size(), "drives");
  check_size(wrenches.size(), world.wrenches.size(), "numbers of wrenches");
  set_memory(world.scene, script);
  assign(given, state);
  assign(inputs, world.simulation.inputs());
  copy_to(wrenches, world.wrenches);
}

void restart(std::uint64_t seed, const std::string& memory, const World& world) {
  set_memory(world.scene, memory);
  assign(make_state(world.simulation.model(), seed), world.simulation.state());
  assign(make_inputs(world.simulation.model()), world.simulation.inputs());
  world.wrenches.setZero();
}

}  // namespace almond::python
