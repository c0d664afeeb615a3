#include "almond/sim/next_problem.hpp"

#include "almond/base/check.hpp"
#include "almond/sim/assemble.hpp"
#include "almond/sim/held.hpp"
#include "almond/sim/independent.hpp"
#include "almond/sim/memory.hpp"
#include "almond/sim/second_look.hpp"

namespace almond {

ContactProblem next_problem(const Model& model, const StepOptions& options, const Inputs& inputs, const State& state) {
  require(state.q.size() == model.num_q && state.v.size() == model.num_v,
          "next problem: the state has " + std::to_string(state.q.size()) + " coordinates and " +
              std::to_string(state.v.size()) + " velocities, expected " + std::to_string(model.num_q) + " and " +
              std::to_string(model.num_v));
  require(inputs.target.size() == std::ssize(model.drives) &&
              (inputs.wrenches.empty() || inputs.wrenches.size() == model.bodies.size()),
          "next problem: inputs for " + std::to_string(inputs.target.size()) + " drives and wrenches for " +
              std::to_string(inputs.wrenches.size()) + " bodies, expected " + std::to_string(model.drives.size()) +
              " and 0 or " + std::to_string(model.bodies.size()));
  Kinematics kinematics;
  std::vector<GeomMotion> motion;
  CollisionWorkspace collision;
  Contacts contacts;
  Assembly assembly;
  IndependenceWorkspace independence;
  compute_kinematics(model, state.q, state.v, kinematics);
  recall_bearing(model, state, assembly.drift.bearing);
  compute_motion(model, kinematics, kinematics.V, options.dt, motion);
  recall_names(state, contacts.carried);
  detect_contacts(model, kinematics.X_WG, motion, options.collision, collision, contacts);
  leave_out_held(model, kinematics, contacts);
  assemble(model, state, kinematics, contacts, inputs, options, assembly);
  soften_closures(independence, assembly);
  return std::move(assembly.problem);
}

}  // namespace almond
