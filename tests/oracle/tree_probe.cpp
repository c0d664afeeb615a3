// Random trees for tests in other languages: for each seed given, one line of JSON with the model, a state, the poses,
// the mass matrix and the forces with and without velocity.

#include <cstdio>
#include <cstdlib>
#include <nlohmann/json.hpp>

#include "almond/dynamics/forces.hpp"
#include "almond/sim/assemble.hpp"
#include "common/random_tree.hpp"
#include "oracle/probe_json.hpp"

namespace almond {
namespace {

using nlohmann::json;
using testing::list;
using testing::rows;

json write_model(const Model& model) {
  json out = json::array();
  for (int b = 0; b < model.num_bodies(); ++b) {
    const Body& body = model.bodies[b];
    const Joint& joint = model.joints[b];
    out.push_back({{"parent", body.parent},
                   {"kind", to_string(joint.kind)},
                   {"R", rows(joint.X_PJ.R)},
                   {"p", list(joint.X_PJ.p)},
                   {"axis", list(joint.axis)},
                   {"anchor", list(joint.anchor)},
                   {"mass", body.mass},
                   {"com", list(body.com)},
                   {"inertia", rows(body.inertia)},
                   {"q_begin", joint.q_begin},
                   {"v_begin", joint.v_begin},
                   {"single", body.subsystem >= 0 && model.trees[body.subsystem].single}});
  }
  return out;
}

json probe(std::uint64_t seed) {
  using enum JointKind;
  const Model model = testing::make_random_trees(seed, 3 + static_cast<int>(seed % 8),
                                                 {kRevolute, kPrismatic, kBall, kFree, kFixed}, false);
  scenes::Random random(seed + 500);
  State state;
  testing::random_state(model, random, state.q, state.v);
  Kinematics kin;
  compute_kinematics(model, state.q, state.v, kin);
  Assembly assembly;
  assemble(model, state, kin, {}, make_inputs(model), StepOptions{}, assembly);
  json poses = json::array();
  for (const Pose& X : kin.X_WB) poses.push_back({{"R", rows(X.R)}, {"p", list(X.p)}});
  ForceWorkspace workspace;
  VecX f, c;
  compute_forces(model, kin, {}, workspace, f);
  compute_velocity_products(model, kin, workspace, c);
  return {{"gravity", list(model.gravity)},
          {"bodies", write_model(model)},
          {"q", list(state.q)},
          {"v", list(state.v)},
          {"poses", poses},
          {"M", rows(make_dense_A(assembly.problem))},
          {"f", list(f - c)},
          {"f_rest", list(f)}};
}

}  // namespace
}  // namespace almond

int main(int argc, char** argv) {
  for (int i = 1; i < argc; ++i) std::printf("%s\n", almond::probe(std::strtoull(argv[i], nullptr, 10)).dump().c_str());
  return 0;
}
