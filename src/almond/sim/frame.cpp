#include "almond/sim/frame.hpp"

#include "almond/solver/cone.hpp"
#include "almond/solver/contact_velocity.hpp"

namespace almond {
void record_step(const StepWorkspace& last, const State& state, double dt, Frame& frame) {
  frame.step = state.steps - 1;
  frame.time = state.time - dt;
  frame.bodies = last.kinematics.X_WB;
  frame.contacts.resize(last.contacts.points.size());
  const ContactProblem& problem = last.assembly.problem;
  const int constraints = problem.num_contacts() + problem.num_scalar_rows();
  for (std::size_t i = 0; i < frame.contacts.size(); ++i) {
    const ContactPoint& point = last.contacts.points[i];
    const Contact& contact = problem.contacts[i];
    const Vec3 lambda = last.solution.lambda.segment<3>(static_cast<Eigen::Index>(3 * i));
    Vec3 projected;
    project_strict(contact.mu, lambda - contact_velocity(problem, contact, last.solution.v), projected);
    frame.contacts[i] = {.geom_a = point.geom_a,
                         .geom_b = point.geom_b,
                         .p = point.p,
                         .n = point.n,
                         .force = last.assembly.frames[i] * lambda / last.dt,
                         .mode = last.solution.certificate.mode[i],
                         .gap = point.gap,
                         .residual = (lambda - projected).norm() / constraints,
                         .mu = contact.mu};
  }
}

void record_step(const Simulation& simulation, Frame& frame) {
  record_step(simulation.last(), simulation.state(), simulation.options().dt, frame);
}

void record_state(Simulation& simulation, Frame& frame) {
  frame.step = simulation.state().steps;
  frame.time = simulation.state().time;
  frame.bodies = simulation.kinematics().X_WB;
  frame.contacts.clear();
}

}  // namespace almond
