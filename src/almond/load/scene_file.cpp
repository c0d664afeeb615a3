#include "almond/load/scene_file.hpp"

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <limits>
#include <nlohmann/json.hpp>
#include <set>

#include "almond/base/check.hpp"
#include "almond/base/text.hpp"
#include "almond/load/file_io.hpp"
#include "almond/load/file_trust.hpp"
#include "almond/load/json_fields.hpp"
#include "almond/load/mesh_file.hpp"
#include "almond/load/sdf_json.hpp"

namespace almond {
namespace {

using nlohmann::json;
namespace fs = std::filesystem;

using Fields = JsonFields<json>;

void read_material(Fields& fields, Material& material) {
  fields.read("friction", material.mu);
  fields.read("restitution", material.restitution);
}

/// Where an object is read.
struct Context {
  const std::string& folder;
  const ShareProgress& progress;
  SdfTotals& totals;
};

Shape read_sdf_shape(const json& value, const std::string& place, const Context& context, SceneObject& object) {
  GridProgress progress;
  if (context.progress)
    progress = [&](double share) { context.progress(object.name.empty() ? place : object.name, share); };
  const SdfDescription read = parse_sdf(value.dump(), place, context.folder, object.notes, progress, &context.totals);
  try {
    return make_sdf_shape(read.sdf, read.surface.max_edge, read.surface.chord_error);
  } catch (const Error& error) {
    throw Error(place + ": " + error.what());
  }
}

Shape read_shape(Fields& fields, const Context& context, SceneObject& object) {
  if (const json* value = fields.find("shape"); value != nullptr && value->is_object())
    return read_sdf_shape(*value, fields.at("shape"), context, object);
  std::string kind, file;
  fields.read("shape", kind);
  fields.read("file", file);
  std::vector<double> size;
  if (const json* value = fields.find("size")) size = Fields::numbers(*value, fields.at("size"));
  const auto expect = [&](std::size_t count, const char* what) {
    require(size.size() == count,
            fields.at("size") + ": has " + std::to_string(size.size()) + " numbers, expected " + what);
  };
  if (kind == "sphere") {
    expect(1, "[radius]");
    return Sphere{size[0]};
  }
  if (kind == "box") {
    expect(3, "[x, y, z], the full edge lengths");
    return Box{0.5 * Vec3(size[0], size[1], size[2])};
  }
  if (kind == "ellipsoid") {
    expect(3, "[x, y, z], the radii");
    return Ellipsoid{Vec3(size[0], size[1], size[2])};
  }
  if (kind == "plane") {
    require(size.empty(), fields.at("size") + ": a plane has none");
    return Plane{};
  }
  if (kind == "mesh") {
    require(!file.empty(), fields.place() + ": a mesh needs a field \"file\"");
    double scale = 1.0;
    fields.read("scale", scale);
    return ConvexMesh{
        load_hull(named_file(file, context.folder, fields.at("file")), Vec3::Constant(scale), object.notes)};
  }
  require(
      kind == "capsule" || kind == "cylinder" || kind == "cone",
      fields.at("shape") + ": is " + quote(kind) +
          ", expected sphere, box, capsule, cylinder, cone, ellipsoid, plane, mesh, or an object { \"kind\": ... }");
  expect(2, "[radius, length]");
  if (kind == "capsule") return Capsule{size[0], 0.5 * size[1]};
  if (kind == "cylinder") return Cylinder{size[0], 0.5 * size[1]};
  return Cone{size[0], 0.5 * size[1]};
}

SceneObject read_object(const json& value, const std::string& place, const Context& context) {
  Fields fields(value, place);
  SceneObject object;
  fields.read("name", object.name);
  object.shape = read_shape(fields, context, object);
  object.X_WB = read_pose(fields);
  read_material(fields, object.material);
  double mass = kNaN;
  fields.read("mass", mass);
  if (!std::isnan(mass)) object.mass = mass;
  fields.read<6>("velocity", object.velocity);
  fields.refuse_others();
  return object;
}

SceneRobot read_robot(const json& value, const std::string& folder, const std::string& place) {
  Fields fields(value, place);
  SceneRobot robot;
  fields.read("file", robot.path);
  require(!robot.path.empty(), place + ": has no field \"file\"");
  robot.path = named_file(robot.path, folder, fields.at("file"));
  FileOptions& options = robot.options;
  fields.read("name", options.name);
  options.X_WF = read_pose(fields);
  std::string base = "file", meshes = "hull";
  fields.read("base", base);
  fields.read("meshes", meshes);
  options.base = base_from_string(base, fields.at("base"));
  options.meshes = mesh_use_from_string(meshes, fields.at("meshes"));
  fields.read("self_collision", options.self_collision);
  fields.read("keyframe", robot.keyframe);
  fields.read("hold", robot.hold);
  if (const json* joints = fields.find("joints")) {
    require(joints->is_object(), fields.at("joints") + ": expected an object of names and values");
    for (const auto& [name, start] : joints->items())
      options.joints[name] = Fields::number(start, fields.at("joints") + "." + name);
  }
  if (const json* search = fields.find("search")) {
    require(search->is_array(), fields.at("search") + ": expected a list of folders");
    for (const json& item : *search) {
      require(item.is_string(), fields.at("search") + ": is " + item.dump().substr(0, 40) + ", expected a folder");
      options.scene_search.push_back(named_file(item.get<std::string>(), folder, fields.at("search")));
    }
  }
  fields.refuse_others();
  return robot;
}

void read_floor(Fields& fields, SceneFile& scene) {
  const json* floor = fields.find("floor");
  if (floor == nullptr || (floor->is_boolean() && !floor->get<bool>())) return;
  if (*floor == "below") {
    scene.floor_below = true;
    return;
  }
  scene.floor = 0.0;
  if (floor->is_boolean()) return;
  if (floor->is_number()) {
    scene.floor = Fields::number(*floor, fields.at("floor"));
    return;
  }
  Fields inner(*floor, fields.at("floor"));
  double height = 0.0;
  inner.read("height", height);
  read_material(inner, scene.floor_material);
  inner.refuse_others();
  scene.floor = height;
}

/// A mesh that several objects are made of is spoken of once.
void drop_repeated_notes(std::vector<SceneObject>& objects) {
  std::set<std::string> said;
  for (SceneObject& object : objects) {
    std::vector<std::string>& lines = object.notes.said;
    lines.erase(std::remove_if(lines.begin(), lines.end(), [&](const auto& line) { return !said.insert(line).second; }),
                lines.end());
  }
}

template <class Read>
void read_list(Fields& fields, const std::string& key, Read read) {
  const json* list = fields.find(key);
  if (list == nullptr) return;
  require(list->is_array(), fields.at(key) + ": is " + list->type_name() + ", expected a list [ ... ]");
  for (std::size_t i = 0; i < list->size(); ++i) read((*list)[i], fields.at(key) + "[" + std::to_string(i) + "]");
}

}  // namespace

Base base_from_string(const std::string& text, const std::string& place) {
  if (text == "file") return Base::kAsInFile;
  if (text == "fixed") return Base::kFixed;
  require(text == "floating", place + ": is " + quote(text) + ", expected file, fixed or floating");
  return Base::kFloating;
}

MeshUse mesh_use_from_string(const std::string& text, const std::string& place) {
  if (text == "hull") return MeshUse::kHull;
  if (text == "triangles") return MeshUse::kTriangles;
  require(text == "none", place + ": is " + quote(text) + ", expected hull, triangles or none");
  return MeshUse::kNone;
}

SceneFile parse_scene(const std::string& text, const std::string& folder, const std::string& place,
                      const ShareProgress& progress) {
  const json value = parse_json<json>(text, place);
  Fields fields(value, place);
  double version = 0.0;
  fields.read("almond_scene", version);
  require(version == 1.0, place + ": \"almond_scene\" is " +
                              (value.contains("almond_scene") ? to_text(version) : "not there") +
                              ", expected 1 (a scene file says its version)");
  SceneFile scene;
  scene.name = fs::path(place).stem().string();
  fields.read("name", scene.name);
  Vec3 gravity;
  if (fields.read<3>("gravity", gravity)) scene.gravity = gravity;
  double dt = kNaN, steps = kNaN;
  fields.read("time_step", dt);
  fields.read("steps", steps);
  if (!std::isnan(dt)) scene.time_step = dt;
  if (!std::isnan(steps)) {
    require(steps >= 1.0 && steps <= std::numeric_limits<int>::max() && steps == std::floor(steps),
            fields.at("steps") + ": is " + to_text(steps) + ", expected a whole number of at least 1");
    scene.steps = static_cast<int>(steps);
  }
  read_floor(fields, scene);
  read_list(fields, "robots",
            [&](const json& item, const std::string& at) { scene.robots.push_back(read_robot(item, folder, at)); });
  SdfTotals totals;
  read_list(fields, "objects", [&](const json& item, const std::string& at) {
    scene.objects.push_back(read_object(item, at, {folder, progress, totals}));
  });
  drop_repeated_notes(scene.objects);
  fields.refuse_others();
  return scene;
}

SceneFile load_scene_file(const std::string& path, const ShareProgress& progress) {
  const std::string folder = fs::path(path).parent_path().string();
  return parse_scene(read_file(path), folder.empty() ? "." : folder, path, progress);
}

SceneObject parse_object(const std::string& text, const std::string& place, const ShareProgress& progress) {
  const std::string folder;
  SdfTotals totals;
  return read_object(parse_json<json>(text, place), place, {folder, progress, totals});
}

}  // namespace almond
