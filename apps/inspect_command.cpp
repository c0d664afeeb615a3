// `almond inspect`: what a robot file or a scene is made of, before anything moves.

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <map>
#include <memory>
#include <nlohmann/json.hpp>

#include "almond/base/check.hpp"
#include "almond/base/text.hpp"
#include "almond/model/sdf_solid.hpp"
#include "apps/commands.hpp"
#include "apps/common.hpp"
#include "apps/run_settings.hpp"

namespace almond::app {
namespace {

using Json = nlohmann::ordered_json;

constexpr double kLargeRatio = 100.0;

struct InspectArguments {
  std::string name, json;
  FileArguments file;
};

/// A body and one it hangs on, or rests on through massless ones, whose masses differ much.
struct MassRatio {
  int light, heavy;
  double ratio;
};

std::vector<MassRatio> large_ratios(const Model& model) {
  std::vector<MassRatio> ratios;
  for (int b = 0; b < model.num_bodies(); ++b) {
    int above = model.bodies[b].parent;
    while (above >= 0 && model.bodies[above].mass == 0.0) above = model.bodies[above].parent;
    if (above < 0 || model.bodies[b].mass == 0.0 || model.bodies[above].subsystem < 0) continue;
    if (model.bodies[b].weld == model.bodies[above].weld) continue;  // one rigid body
    const double ratio = model.bodies[b].mass / model.bodies[above].mass;
    if (ratio > kLargeRatio) ratios.push_back({above, b, ratio});
    if (ratio < 1.0 / kLargeRatio) ratios.push_back({b, above, 1.0 / ratio});
  }
  std::sort(ratios.begin(), ratios.end(), [](const MassRatio& a, const MassRatio& b) { return a.ratio > b.ratio; });
  return ratios;
}

/// What decides the size of a shape: radius and half length, half edges, radii; of a mesh the number of its vertices.
std::vector<double> shape_size(const Shape& shape) {
  const auto list = [](const Vec3& v) { return std::vector<double>{v.x(), v.y(), v.z()}; };
  if (const auto* s = std::get_if<Sphere>(&shape)) return {s->radius};
  if (const auto* s = std::get_if<Capsule>(&shape)) return {s->radius, s->half_length};
  if (const auto* s = std::get_if<Cylinder>(&shape)) return {s->radius, s->half_length};
  if (const auto* s = std::get_if<Cone>(&shape)) return {s->radius, s->half_length};
  if (const auto* s = std::get_if<Box>(&shape)) return list(s->half);
  if (const auto* s = std::get_if<Ellipsoid>(&shape)) return list(s->radii);
  if (const auto* s = std::get_if<ConvexMesh>(&shape)) return {static_cast<double>(s->hull->vertices.size())};
  if (const auto* s = std::get_if<TriangleMesh>(&shape)) return {static_cast<double>(s->mesh->vertices.size())};
  if (const auto* s = std::get_if<SdfShape>(&shape)) return {static_cast<double>(s->solid->surface.vertices.size())};
  return {};
}

std::string number(double x) {
  char text[32];
  std::snprintf(text, sizeof text, "%.4g", x);
  return text;
}

/// "2 box, 1 mesh".
std::string shapes_text(const Model& model, int body) {
  std::map<std::string, int> counts;
  for (const Geom& geom : model.geoms)
    if (geom.body == body) ++counts[shape_name(geom.shape)];
  std::string text;
  for (const auto& [name, count] : counts) text += (text.empty() ? "" : ", ") + std::to_string(count) + " " + name;
  return text;
}

std::string joint_text(const Joint& joint) {
  std::string text = (joint.kind == JointKind::kFixed ? "" : printable(joint.name) + ": ") + to_string(joint.kind);
  if (joint.kind == JointKind::kBall) {
    if (std::isfinite(joint.upper)) text += " up to " + number(joint.upper);
  } else if (std::isfinite(joint.lower) || std::isfinite(joint.upper))
    text += " " + number(joint.lower) + " to " + number(joint.upper);
  if (joint.damping > 0.0) text += ", damping " + number(joint.damping);
  if (joint.armature > 0.0) text += ", armature " + number(joint.armature);
  if (joint.dry_friction > 0.0) text += ", friction " + number(joint.dry_friction);
  if (joint.stiffness > 0.0) text += ", spring " + number(joint.stiffness);
  return text;
}

void write_body(const Model& model, int body, int depth, std::string& text) {
  const Body& b = model.bodies[body];
  const std::string shapes = shapes_text(model, body);
  text += std::string(2 * static_cast<std::size_t>(depth) + 2, ' ') + printable(b.name) + "  " + number(b.mass) +
          " kg" + (b.gravcomp != 0.0 ? " of which " + number(100.0 * b.gravcomp) + " % are carried" : "") + "  [" +
          joint_text(model.joints[body]) + "]" + (shapes.empty() ? "" : "  " + shapes) + "\n";
  for (int child = body + 1; child < model.num_bodies(); ++child)
    if (model.bodies[child].parent == body) write_body(model, child, depth + 1, text);
}

double total_mass(const Model& model) {
  double mass = 0.0;
  for (const Body& body : model.bodies) mass += body.mass;
  return mass;
}

std::string tree_text(const scenes::LoadedScene& loaded) {
  const Model& model = loaded.scene.model;
  std::string text = printable(loaded.scene.name) + ": " + std::to_string(model.num_bodies()) + " bodies, " +
                     std::to_string(model.num_v) + " dofs, " + std::to_string(model.num_geoms()) + " geoms, " +
                     number(total_mass(model)) + " kg, time step " + number(1e3 * loaded.scene.options.dt) +
                     " ms, gravity (" + number(model.gravity.x()) + ", " + number(model.gravity.y()) + ", " +
                     number(model.gravity.z()) + ") m/s²\n";
  const std::string ground = shapes_text(model, kGround);
  if (!ground.empty()) text += "  ground: " + ground + "\n";
  for (int b = 0; b < model.num_bodies(); ++b)
    if (model.bodies[b].parent < 0) write_body(model, b, 0, text);
  const auto count = [&](std::size_t n, const char* what) {
    if (n > 0) text += "  " + std::to_string(n) + " " + what + (n == 1 ? "\n" : "s\n");
  };
  count(model.drives.size(), "drive");
  count(model.tendons.size(), "tendon");
  count(model.closures.size(), "closure");
  count(model.springs.size(), "spring");
  for (const MassRatio& r : large_ratios(model))
    text += "mass ratio: " + printable(model.bodies[r.heavy].name) + " is " + number(r.ratio) + " times as heavy as " +
            printable(model.bodies[r.light].name) + "\n";
  for (const std::string& note : loaded.notes.said) text += "note: " + terminal_line(note) + "\n";
  if (!loaded.notes.ignored.empty()) text += "without effect: " + terminal_line(ignored_text(loaded.notes)) + "\n";
  for (const std::string& remark : model.remarks) text += "remark: " + terminal_line(remark) + "\n";
  return text;
}

Json bound(double x) { return std::isfinite(x) ? Json(x) : Json(nullptr); }

template <class Vector>
Json list(const Vector& v) {
  Json json = Json::array();
  for (Eigen::Index i = 0; i < v.size(); ++i) json.push_back(v[i]);
  return json;
}

Json model_json(const scenes::LoadedScene& loaded) {
  const Model& model = loaded.scene.model;
  Json bodies = Json::array(), geoms = Json::array(), drives = Json::array(), ratios = Json::array();
  for (int b = 0; b < model.num_bodies(); ++b) {
    const Body& body = model.bodies[b];
    const Joint& joint = model.joints[b];
    const Mat3& I = body.inertia;
    bodies.push_back({{"name", body.name},
                      {"parent", body.parent < 0 ? Json(nullptr) : Json(model.bodies[body.parent].name)},
                      {"mass", body.mass},
                      {"com", {body.com.x(), body.com.y(), body.com.z()}},
                      {"gravcomp", body.gravcomp},
                      {"inertia", {I(0, 0), I(1, 1), I(2, 2), I(0, 1), I(0, 2), I(1, 2)}},
                      {"joint",
                       {{"name", joint.name},
                        {"kind", to_string(joint.kind)},
                        {"position", list(joint.X_PJ.p)},
                        {"quaternion", list(matrix_to_quaternion(joint.X_PJ.R))},
                        {"axis", list(joint.axis)},
                        {"start", list(model.q0.segment(joint.q_begin, num_positions(joint.kind)))},
                        {"lower", bound(joint.lower)},
                        {"upper", bound(joint.upper)},
                        {"damping", joint.damping},
                        {"armature", joint.armature},
                        {"dry_friction", joint.dry_friction},
                        {"stiffness", joint.stiffness}}}});
  }
  for (const Geom& geom : model.geoms)
    geoms.push_back({{"name", geom.name},
                     {"body", geom.body < 0 ? Json(nullptr) : Json(model.bodies[geom.body].name)},
                     {"shape", shape_name(geom.shape)},
                     {"size", shape_size(geom.shape)},
                     {"position", list(geom.X_BG.p)},
                     {"quaternion", list(matrix_to_quaternion(geom.X_BG.R))},
                     {"friction", geom.material.mu},
                     {"priority", geom.material.priority}});
  for (const Drive& drive : model.drives)
    drives.push_back({{"name", drive.name},
                      {"mode", to_string(drive.mode)},
                      {"stiffness", drive.stiffness},
                      {"damping", drive.damping},
                      {"effort_limit", bound(drive.effort_limit)},
                      {"effort_middle", drive.effort_middle}});
  for (const MassRatio& r : large_ratios(model))
    ratios.push_back(
        {{"heavy", model.bodies[r.heavy].name}, {"light", model.bodies[r.light].name}, {"ratio", r.ratio}});
  return {{"name", loaded.scene.name},        {"dofs", model.num_v},
          {"mass", total_mass(model)},        {"time_step", loaded.scene.options.dt},
          {"gravity", list(model.gravity)},   {"bodies", std::move(bodies)},
          {"geoms", std::move(geoms)},        {"drives", std::move(drives)},
          {"tendons", model.tendons.size()},  {"closures", model.closures.size()},
          {"mass_ratios", std::move(ratios)}, {"notes", loaded.notes.said},
          {"ignored", loaded.notes.ignored},  {"remarks", model.remarks}};
}

int run_inspect(const InspectArguments& arguments) {
  require(!arguments.name.empty(), "inspect: no file given; expected FILE.urdf, FILE.xml, FILE.json or a scene's name");
  check_output("--json", arguments.json);
  SceneArguments scene;
  scene.name = arguments.name;
  scene.file = arguments.file;
  const scenes::LoadedScene loaded = make_scene(scene);
  if (arguments.json != "-") std::fputs(tree_text(loaded).c_str(), stdout);
  write_output(arguments.json, model_json(loaded).dump(1) + "\n");
  return kDone;
}

}  // namespace

Action add_inspect_command(CLI::App& command) {
  const auto o = std::make_shared<InspectArguments>();
  command.add_option("FILE", o->name, "a robot or scene file (.urdf, .xml, .mjcf, .json), or a scene by name");
  command.add_option("--json", o->json, "write everything as JSON (-: standard output)");
  command.add_flag("--strict", o->file.strict, "refuse files with elements that have no effect");
  add_file_options(command, o->file);
  return [o] { return run_inspect(*o); };
}

}  // namespace almond::app
