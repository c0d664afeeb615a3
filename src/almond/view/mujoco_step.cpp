#include "almond/view/mujoco_step.hpp"

#include <algorithm>

namespace almond {
namespace {

ContactMode mode_of(const MujocoContact& contact) {
  constexpr double kEdge = 1.0 - 1e-6;  // of the cone, to rounding
  const double normal = contact.force.dot(contact.n);
  const double sideways = (contact.force - normal * contact.n).norm();
  if (!(normal > 0.0)) return ContactMode::kOpen;
  return sideways < kEdge * contact.mu * normal ? ContactMode::kStick : ContactMode::kSlip;
}

}  // namespace

StepReport step_by_mujoco(MujocoRun& run, Simulation& simulation, Frame& frame) {
  record_state(simulation, frame);
  const Inputs& inputs = simulation.inputs();
  run.set_drives(inputs.target, inputs.target_velocity, inputs.feedforward);
  MujocoStep did;
  StepReport report;
  if (!run.step(did)) {
    report.status = Status::kNumericalError;
    return report;
  }
  for (const MujocoContact& c : did.contacts) {
    const ContactMode mode = mode_of(c);
    frame.contacts.push_back({.geom_a = c.geom_a,
                              .geom_b = c.geom_b,
                              .p = c.p,
                              .n = c.n,
                              .force = c.force,
                              .mode = mode,
                              .gap = c.gap,
                              .residual = kNaN,
                              .mu = c.mu});
    report.active += mode == ContactMode::kOpen ? 0 : 1;
    report.penetration = std::max(report.penetration, -c.gap);
  }
  report.contacts = static_cast<int>(did.contacts.size());
  report.iterations = did.iterations;
  report.step_ms = did.step_ms;
  report.residual = report.natural_map = report.solve_ms = report.collide_ms = kNaN;
  State& state = simulation.state();
  run.read_state(state.q, state.v);
  state.time += simulation.options().dt;
  ++state.steps;
  return report;
}

}  // namespace almond
