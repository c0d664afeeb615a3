// Robot files for tests in other languages: one line of JSON per request of standard input,
//   PATH fixed|floating hulls|no-meshes [SEED...]
// with the model, what the reader said, and for each seed a state, the poses, the mass matrix and the forces with and
// without velocity; or {"error": ...}. A path must hold no space.

#include <cstdio>
#include <cstdlib>
#include <iostream>
#include <nlohmann/json.hpp>
#include <sstream>

#include "almond/base/check.hpp"
#include "almond/dynamics/forces.hpp"
#include "almond/load/urdf.hpp"
#include "almond/sim/assemble.hpp"
#include "common/random_tree.hpp"
#include "oracle/probe_json.hpp"

namespace almond {
namespace {

using nlohmann::json;
using testing::list;
using testing::rows;

/// JSON has no infinity.
json finite(double x) { return std::isfinite(x) ? json(x) : json(x > 0.0 ? 1e300 : -1e300); }

json write_model(const Model& model, const UrdfRobot& robot, const FileNotes& notes) {
  json bodies = json::array(), closures = json::array(), motors = json::array(), hulls = json::array();
  double mass = 0.0;
  for (int b = 0; b < model.num_bodies(); ++b) {
    const Body& body = model.bodies[b];
    const Joint& joint = model.joints[b];
    mass += body.mass;
    bodies.push_back({{"name", body.name},
                      {"joint", joint.name},
                      {"parent", body.parent},
                      {"kind", to_string(joint.kind)},
                      {"lower", finite(joint.lower)},
                      {"upper", finite(joint.upper)},
                      {"damping", joint.damping},
                      {"friction", joint.dry_friction},
                      {"mass", body.mass},
                      {"com", list(body.com)},
                      {"inertia", rows(body.inertia)},
                      {"q_begin", joint.q_begin},
                      {"v_begin", joint.v_begin}});
  }
  for (const Closure& c : model.closures)
    closures.push_back(
        {{"a", model.joints[c.a].name}, {"b", model.joints[c.b].name}, {"ratio", c.ratio}, {"offset", c.offset}});
  for (const UrdfRobot::Motor& m : robot.motors)
    motors.push_back(
        {{"joint", model.joints[m.joint].name}, {"effort", finite(m.effort)}, {"velocity", finite(m.velocity)}});
  for (const Geom& geom : model.geoms)
    if (const auto* mesh = std::get_if<ConvexMesh>(&geom.shape)) hulls.push_back(mesh->hull->vertices.size());
  return {{"name", robot.name},
          {"root", robot.root},
          {"mass", mass},
          {"num_q", model.num_q},
          {"num_v", model.num_v},
          {"bodies", bodies},
          {"closures", closures},
          {"motors", motors},
          {"geoms", model.num_geoms()},
          {"hulls", hulls},
          {"visuals", robot.visuals.size()},
          {"said", notes.said},
          {"ignored", notes.ignored},
          {"remarks", model.remarks},
          {"gravity", list(model.gravity)}};
}

/// Without dampers, which would be part of the matrix and the forces.
json write_state(Model model, std::uint64_t seed) {
  for (Joint& joint : model.joints) joint.damping = 0.0;

  scenes::Random random(seed);
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
  return {{"q", list(state.q)}, {"v", list(state.v)}, {"poses", poses}, {"M", rows(make_dense_A(assembly.problem))},
          {"f", list(f)},       {"c", list(c)}};
}

json probe(const std::string& request) {
  std::istringstream words(request);
  std::string path, base, meshes;
  words >> path >> base >> meshes;
  FileOptions options;
  options.base = base == "floating" ? Base::kFloating : Base::kFixed;
  options.meshes = meshes == "hulls" ? MeshUse::kHull : MeshUse::kNone;
  FileNotes notes;
  try {
    ModelBuilder builder;
    const UrdfRobot robot = add_urdf(builder, path, options, notes);
    const Model model = builder.build();
    json out = write_model(model, robot, notes);
    out["states"] = json::array();
    for (std::uint64_t seed = 0; words >> seed;) out["states"].push_back(write_state(model, seed));
    return out;
  } catch (const Error& error) {
    return {{"error", error.what()}};
  }
}

}  // namespace
}  // namespace almond

int main() {
  for (std::string line; std::getline(std::cin, line);)
    std::printf("%s\n", almond::probe(line).dump(-1, ' ', false, nlohmann::json::error_handler_t::replace).c_str());
  return 0;
}
