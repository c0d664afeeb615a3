// Reads MJCF files and says what became of them, for tests/oracle/test_mjcf.py to compare with MuJoCo. Each line of
// standard input is a request {"file", "states": [{"qpos", "qvel"}], "export"}, each line of output its answer.

#include <iostream>
#include <nlohmann/json.hpp>

#include "almond/dynamics/forces.hpp"
#include "almond/load/file_io.hpp"
#include "almond/load/mjcf.hpp"
#include "almond/load/write_mjcf.hpp"
#include "almond/sim/assemble.hpp"
#include "oracle/probe_json.hpp"

namespace almond {
namespace {

using nlohmann::json;
using testing::list;
using testing::rows;

json probe_state(const Model& model, const MjcfFile& file, const json& request) {
  const std::vector<double> qpos = request.at("qpos"), qvel = request.at("qvel");
  State state = make_state(model);
  for (std::size_t j = 0; j < file.joints.size(); ++j) {
    const Joint& joint = model.joints[file.joints[j]];
    state.q.segment(joint.q_begin, num_positions(joint.kind)) = joint_position(joint, qpos.data() + file.qpos[j], {});
    state.v.segment(joint.v_begin, num_velocities(joint.kind)) =
        joint_velocity(model.bodies[file.joints[j]], joint, qpos.data() + file.qpos[j], qvel.data() + file.dof[j], {});
  }
  Kinematics kin;
  compute_kinematics(model, state.q, state.v, kin);
  Assembly assembly;
  StepOptions options;
  options.dt = 1e-300;  // no implicit terms: A = M
  assemble(model, state, kin, {}, make_inputs(model), options, assembly);
  ForceWorkspace workspace;
  VecX f, c;
  compute_forces(model, kin, {}, workspace, f);
  compute_velocity_products(model, kin, workspace, c);
  json poses = json::array();
  for (const int body : file.bodies) {
    const Pose X = body < 0 ? Pose{} : kin.X_WB[body];
    poses.push_back({{"p", list(X.p)}, {"R", rows(X.R)}});
  }
  return {{"poses", poses},
          {"v", list(state.v)},
          {"M", rows(make_dense_A(assembly.problem))},
          {"f", list(f)},
          {"c", list(c)}};
}

json answer(const json& request) {
  ModelBuilder builder;
  FileNotes notes;
  FileOptions options;
  options.meshes = MeshUse::kNone;
  const MjcfFile file = add_mjcf(builder, request.at("file"), options, notes);
  builder.set_gravity(file.gravity);
  const Model model = builder.build();
  json joints = json::array();
  for (const int joint : file.joints) {
    const Joint& j = model.joints[joint];
    json bounds = json::array();
    for (const double bound : {j.lower, j.upper}) bounds.push_back(std::isfinite(bound) ? json(bound) : json(nullptr));
    joints.push_back({{"kind", to_string(j.kind)},
                      {"v_begin", j.v_begin},
                      {"com", list(model.bodies[joint].com)},
                      {"range", bounds}});
  }
  double mass = 0.0;
  for (const Body& body : model.bodies) mass += body.mass;
  json states = json::array();
  for (const json& state : request.at("states")) states.push_back(probe_state(model, file, state));
  if (request.contains("export")) write_file(request.at("export"), write_mjcf(model, file.time_step, notes));
  return {{"mass", mass},     {"nv", model.num_v}, {"nq", model.num_q},
          {"joints", joints}, {"states", states},  {"ignored", notes.ignored}};
}

}  // namespace
}  // namespace almond

int main() {
  std::string line;
  while (std::getline(std::cin, line)) {
    nlohmann::json out;
    try {
      out = almond::answer(nlohmann::json::parse(line));
    } catch (const std::exception& error) {
      out = {{"error", error.what()}};
    }
    std::cout << out.dump() << std::endl;
  }
  return 0;
}
