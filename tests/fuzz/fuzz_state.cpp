// States: what is let through fits the model and can be stepped on from. Read as they come, and with the checksum put
// right, so that damage gets past it.

#include "almond/base/check.hpp"
#include "almond/model/builder.hpp"
#include "almond/sim/step.hpp"
#include "fuzz/fuzz.hpp"

namespace almond::fuzz {
namespace {

Simulation make_simulation() {
  ModelBuilder builder;
  builder.add_ground(Plane{});
  builder.add_solid("cube", Box{{0.1, 0.1, 0.1}}, 1.0, make_translation(0.0, 0.0, 0.1));
  builder.add_solid("ball", Sphere{0.1}, 1.0, make_translation(0.0, 0.0, 0.3));
  BodySpec arm;
  arm.name = "arm";
  arm.joint = make_joint(JointKind::kRevolute, Vec3::UnitX());
  arm.joint.lower = -0.1;
  arm.joint.upper = 0.1;
  arm.joint.dry_friction = 0.1;
  arm.mass = 1.0;
  arm.inertia = Mat3::Identity() * 0.01;
  const int body = builder.add_body(arm);
  Drive drive;
  drive.joint = body;
  drive.mode = DriveMode::kPosition;
  drive.stiffness = 100.0;
  drive.damping = 20.0;
  builder.add_drive(drive);
  StepOptions options;
  options.solver.max_iterations = 8;  // states that no run leads to are hard to solve, and need not be
  return Simulation(builder.build(), options);
}

std::string repair_sum(std::string bytes) {
  std::uint64_t sum = 0xcbf29ce484222325ULL;
  if (bytes.size() < sizeof sum) return bytes;
  const std::size_t body = bytes.size() - sizeof sum;
  for (std::size_t i = 0; i < body; ++i) sum = (sum ^ static_cast<unsigned char>(bytes[i])) * 0x100000001b3ULL;
  std::memcpy(bytes.data() + body, &sum, sizeof sum);
  return bytes;
}

void go_on(Simulation& simulation, const std::string& bytes) {
  const State state = deserialize(bytes, simulation.model(), "input");
  check(serialize(state) == bytes, "a state that was let through is written as it was read");
  simulation.state() = state;
  static_cast<void>(simulation.step());
  check(simulation.state().q.allFinite() && simulation.state().v.allFinite(), "a step leaves finite numbers");
}

}  // namespace

void read_input(const std::string& input) {
  static Simulation simulation = make_simulation();
  try {
    go_on(simulation, input);
  } catch (const Error&) {
    go_on(simulation, repair_sum(input));
  }
}

std::vector<std::string> make_seeds() {
  Simulation simulation = make_simulation();
  std::vector<std::string> seeds = {serialize(simulation.state())};
  for (int i = 0; i < 60; ++i) static_cast<void>(simulation.step());
  seeds.push_back(serialize(simulation.state()));
  return seeds;
}

}  // namespace almond::fuzz
