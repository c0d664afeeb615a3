#pragma once
// All that the next step of a simulation depends on besides its model and options: the state, what drives and bodies
// are told, and what the scene's script remembers.

#include "almond/sim/step.hpp"
#include "scenes/scene.hpp"

namespace almond::python {

struct World {
  const Model& model;
  State& state;
  Inputs& inputs;
  Eigen::Map<MatXr> wrenches;  // (bodies, 6)
  const scenes::Scene* scene;  // nullptr: a world without a script
};

struct Snapshot {
  State state;
  Inputs inputs;
  MatXr wrenches;
  std::string script;
  bool has_inputs = true;  // else the state alone, of `almond run --save-state`
};

/// What the script remembers, as bytes; empty where it remembers nothing.
[[nodiscard]] std::string read_memory(const scenes::Scene& scene);
void set_memory(const scenes::Scene& scene, const std::string& bytes);

/// As bytes with a mark and a checksum.
[[nodiscard]] std::string take_snapshot(const World& world);
/// Throws Error where it does not fit the world.
[[nodiscard]] Snapshot read_snapshot(const std::string& bytes, const World& world);
/// Back to it, in place: views of the arrays stay. A state alone leaves inputs and wrenches as they are. Throws Error
/// where the script does not take its part, and leaves the world as it was.
void restore(const Snapshot& snapshot, World world);

/// In place: views of the arrays stay. Wrenches are left as they are.
void assign(const Inputs& from, Inputs& to);

/// The start: of the model, of the drives, without wrenches, of the script.
void restart(std::uint64_t seed, const std::string& memory, World world);

}  // namespace almond::python
