#include "bench/robot_answers.hpp"

#include <cmath>
#include <filesystem>
#include <nlohmann/json.hpp>

#include "almond/base/timer.hpp"
#include "almond/load/file_io.hpp"
#include "almond/load/mjcf.hpp"
#include "almond/load/urdf.hpp"
#include "almond/load/write_mjcf.hpp"
#include "almond/sim/step.hpp"
#include "scenes/random_state.hpp"

namespace almond::bench {
namespace {

using nlohmann::json;

template <class Vector>
json list(const Vector& v) {
  json out = json::array();
  for (const double x : v) out.push_back(x);
  return out;
}

template <class Matrix>
json rows(const Matrix& m) {
  json out = json::array();
  for (Eigen::Index i = 0; i < m.rows(); ++i) out.push_back(list(VecX(m.row(i))));
  return out;
}

/// JSON has no infinity.
json finite(double x) { return std::isfinite(x) ? json(x) : json(x > 0.0 ? 1e300 : -1e300); }

constexpr double kSame = 1e-9;  // ends of motions that differ by rounding
constexpr double kNear = 0.1;   // and those that are near enough to have an order
constexpr double kOfOrder = 0.1;

struct Robot {
  Model model, free;  // as read; what gravity and inertia alone make of it
  bool is_mjcf = false;
  UrdfRobot urdf;
  MjcfFile mjcf;
  FileNotes notes;
};

Model without_constraints(Model model) {
  for (Joint& joint : model.joints) {
    joint.lower = -kInfinity;
    joint.upper = kInfinity;
    joint.damping = joint.dry_friction = joint.stiffness = 0.0;
  }
  model.geoms.clear();
  model.pairs.clear();
  model.drives.clear();
  model.springs.clear();
  model.closures.clear();
  model.tendons.clear();
  return model;
}

Robot read_robot(const json& request) {
  Robot robot;
  const std::string path = request.at("file");
  FileOptions options;
  options.meshes = request.value("meshes", "none") == "hulls" ? MeshUse::kHull : MeshUse::kNone;
  ModelBuilder builder;
  robot.is_mjcf = std::filesystem::path(path).extension() != ".urdf";
  if (robot.is_mjcf) {
    robot.mjcf = add_mjcf(builder, path, options, robot.notes);
    builder.set_gravity(robot.mjcf.gravity);
  } else {
    options.base = request.value("base", "fixed") == "floating" ? Base::kFloating : Base::kFixed;
    robot.urdf = add_urdf(builder, path, options, robot.notes);
  }
  robot.model = builder.build();
  robot.free = without_constraints(robot.model);
  return robot;
}

json write_bodies(const Model& model) {
  json bodies = json::array();
  for (int b = 0; b < model.num_bodies(); ++b) {
    const Body& body = model.bodies[b];
    const Joint& joint = model.joints[b];
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
  return bodies;
}

json write_model(const Robot& robot) {
  const Model& model = robot.model;
  double mass = 0.0;
  for (const Body& body : model.bodies) mass += body.mass;
  json out = {{"mass", mass},
              {"num_q", model.num_q},
              {"num_v", model.num_v},
              {"bodies", write_bodies(model)},
              {"geoms", model.num_geoms()},
              {"gravity", list(model.gravity)},
              {"said", robot.notes.said},
              {"ignored", robot.notes.ignored},
              {"remarks", model.remarks}};
  if (robot.is_mjcf) {
    out["joints"] = robot.mjcf.joints;  // of the file: the body each became
    return out;
  }
  out["closures"] = out["motors"] = out["hulls"] = json::array();
  for (const Closure& c : model.closures)
    out["closures"].push_back(
        {{"a", model.joints[c.a].name}, {"b", model.joints[c.b].name}, {"ratio", c.ratio}, {"offset", c.offset}});
  for (const UrdfRobot::Motor& m : robot.urdf.motors)
    out["motors"].push_back(
        {{"joint", model.joints[m.joint].name}, {"effort", finite(m.effort)}, {"velocity", finite(m.velocity)}});
  for (const Geom& geom : model.geoms)
    if (const auto* mesh = std::get_if<ConvexMesh>(&geom.shape)) out["hulls"].push_back(mesh->hull->vertices.size());
  out["name"] = robot.urdf.name;
  out["visuals"] = robot.urdf.num_visuals;
  return out;
}

/// A random state, and in `numbers` what the other library is to be told of it.
State random_start(const Robot& robot, std::uint64_t seed, json& numbers) {
  const Model& model = robot.free;
  scenes::Random random(seed);
  State state = make_state(model);
  scenes::random_state(model, random, state.q, state.v);
  if (robot.is_mjcf) {
    // The same kinds of joints in MuJoCo's numbers, which are taken over joint by joint.
    VecX qpos(model.num_q), qvel(model.num_v);
    for (std::size_t j = 0; j < robot.mjcf.joints.size(); ++j) {
      const int b = robot.mjcf.joints[j];
      const Joint& joint = model.joints[b];
      const int nq = num_positions(joint.kind), nv = num_velocities(joint.kind);
      qpos.segment(robot.mjcf.qpos[j], nq) = state.q.segment(joint.q_begin, nq);
      qvel.segment(robot.mjcf.dof[j], nv) = state.v.segment(joint.v_begin, nv);
      const double *position = qpos.data() + robot.mjcf.qpos[j], *velocity = qvel.data() + robot.mjcf.dof[j];
      state.q.segment(joint.q_begin, nq) = joint_position(joint, position, {});
      state.v.segment(joint.v_begin, nv) = joint_velocity(model.bodies[b], joint, position, velocity, {});
    }
    numbers = {{"q", list(qpos)}, {"v", list(qvel)}};
  } else {
    numbers = {{"q", list(state.q)}, {"v", list(state.v)}};
  }
  return state;
}

json write_poses(const Robot& robot, const Kinematics& kin) {
  json poses = json::array();
  const auto write = [&poses](const Pose& X) { poses.push_back({{"R", rows(X.R)}, {"p", list(X.p)}}); };
  if (!robot.is_mjcf) {
    for (const Pose& X : kin.X_WB) write(X);
  }
  for (const int body : robot.mjcf.bodies) write(body < 0 ? Pose{} : kin.X_WB[body]);
  return poses;
}

json write_state(const Robot& robot, std::uint64_t seed) {
  const Model& model = robot.free;
  json out;
  const State state = random_start(robot, seed, out);
  Kinematics kin;
  compute_kinematics(model, state.q, state.v, kin);
  Assembly assembly;
  assemble(model, state, kin, {}, make_inputs(model), StepOptions{}, assembly);
  ForceWorkspace workspace;
  VecX f, c;
  compute_forces(model, kin, {}, workspace, f);
  compute_velocity_products(model, kin, workspace, c);
  out["poses"] = write_poses(robot, kin);
  out["M"] = rows(make_dense_A(assembly.problem));  // nothing implicit acts: A = M
  out["f"] = list(f);
  out["c"] = list(c);
  return out;
}

/// Where the motion from `start` ends after this number of steps.
Kinematics move_freely(const Model& model, const State& start, double seconds, double theta, int steps) {
  StepOptions options;
  options.dt = seconds / steps;
  options.theta = theta;
  Simulation simulation(model, options);
  simulation.state() = start;
  for (int i = 0; i < steps; ++i) simulation.step();
  return simulation.kinematics();
}

double distance(const Kinematics& a, const Kinematics& b) {
  double worst = 0.0;
  for (std::size_t k = 0; k < a.X_WB.size(); ++k) {
    worst = std::max(worst, (a.X_WB[k].R - b.X_WB[k].R).cwiseAbs().maxCoeff());
    worst = std::max(worst, (a.X_WB[k].p - b.X_WB[k].p).cwiseAbs().maxCoeff());
  }
  return worst;
}

/// Halves the step until the ends come together at the rate of the order, or faster where the first order vanishes; at
/// most down to `most` steps, or as long as `budget_s` allows.
json write_ends(const Robot& robot, const State& start, const json& request, double theta) {
  const auto regular = [theta](double order) {
    return std::abs(order - 2.0) < kOfOrder || (theta != 0.5 && std::abs(order - 1.0) < kOfOrder);
  };
  const int most = request.at("most");
  const double budget_ms = 1e3 * request.value("budget_s", 1e9);
  const Stopwatch watch;
  json ends = json::array();
  Kinematics before;
  double last = kInfinity;
  for (int steps = request.at("steps"); steps <= most; steps *= 2) {
    const Kinematics end = move_freely(robot.free, start, request.at("seconds"), theta, steps);
    ends.push_back({{"theta", theta}, {"steps", steps}, {"poses", write_poses(robot, end)}});
    const double now = ends.size() > 1 ? distance(before, end) : kInfinity;
    if (now < kSame || (now < kNear && regular(std::log2(last / now)))) break;
    if (ends.size() > 1 && 3.0 * watch.elapsed_ms() > budget_ms) break;  // the next takes twice as long as all so far
    before = end;
    last = now;
  }
  return ends;
}

json write_motion(const Robot& robot, const json& request) {
  json out;
  const State start = random_start(robot, request.at("seed"), out);
  out["seconds"] = request.at("seconds");
  out["ends"] = json::array();
  for (const double theta : request.at("thetas"))
    for (json& end : write_ends(robot, start, request, theta)) out["ends"].push_back(std::move(end));
  return out;
}

json answer(const json& request) {
  const Robot robot = read_robot(request);
  json out = {{"file", request.at("file")}, {"base", request.value("base", "fixed")}, {"model", write_model(robot)}};
  out["states"] = json::array();
  for (const std::uint64_t seed : request.value("seeds", std::vector<std::uint64_t>{}))
    out["states"].push_back(write_state(robot, seed));
  if (request.contains("motion")) out["motion"] = write_motion(robot, request.at("motion"));
  if (request.contains("export")) {
    FileNotes notes;
    write_file(request.at("export"), write_mjcf(robot.model, robot.mjcf.time_step, notes));
  }
  return out;
}

}  // namespace

std::string answer_robot_request(const std::string& request) {
  json in, out;
  try {
    in = json::parse(request);
    out = answer(in);
  } catch (const std::exception& error) {
    out = {{"error", error.what()}};
    if (in.contains("file")) out["file"] = in["file"];
  }
  return out.dump(-1, ' ', false, json::error_handler_t::replace);
}

}  // namespace almond::bench
