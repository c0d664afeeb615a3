#include "almond/load/scene_file.hpp"

#include <cmath>
#include <filesystem>
#include <limits>
#include <nlohmann/json.hpp>

#include "almond/base/check.hpp"
#include "almond/base/text.hpp"
#include "almond/load/file_io.hpp"
#include "almond/load/mesh_file.hpp"

namespace almond {
namespace {

using nlohmann::json;
namespace fs = std::filesystem;

/// An object of the file whose fields are asked for by name; what nobody asked for is refused in the end.
class Fields {
 public:
  Fields(const json& value, std::string place) : value_(value), place_(std::move(place)) {
    require(value.is_object(), place_ + ": is " + value.type_name() + ", expected an object { ... }");
  }
  ~Fields() = default;

  [[nodiscard]] std::string at(const std::string& key) const { return place_ + "." + key; }
  const json* find(const std::string& key) {
    known_.push_back(key);
    const auto found = value_.find(key);
    return found == value_.end() ? nullptr : &*found;
  }
  [[nodiscard]] const std::string& place() const { return place_; }

  void read(const std::string& key, std::string& out) {
    const json* value = find(key);
    if (value == nullptr) return;
    require(value->is_string(), at(key) + ": is " + value->dump().substr(0, 40) + ", expected a text");
    out = value->get<std::string>();
  }
  void read(const std::string& key, double& out) {
    const json* value = find(key);
    if (value != nullptr) out = number(*value, at(key));
  }
  void read(const std::string& key, bool& out) {
    const json* value = find(key);
    if (value == nullptr) return;
    require(value->is_boolean(), at(key) + ": is " + value->dump().substr(0, 40) + ", expected true or false");
    out = value->get<bool>();
  }
  template <int N>
  bool read(const std::string& key, Eigen::Matrix<double, N, 1>& out) {
    const json* value = find(key);
    if (value == nullptr) return false;
    const std::vector<double> list = numbers(*value, at(key));
    require(list.size() == N,
            at(key) + ": has " + std::to_string(list.size()) + " numbers, expected " + std::to_string(N));
    for (int i = 0; i < N; ++i) out[i] = list[i];
    return true;
  }

  /// Call last: a misspelt field is an error, not a default.
  void refuse_others() const {
    for (const auto& [key, value] : value_.items()) {
      if (std::find(known_.begin(), known_.end(), key) != known_.end() || key == "$schema" || key == "comment")
        continue;
      const std::string near = nearest_name(key, known_);
      throw Error(place_ + ": field " + quote(key) + " is unknown" +
                  (near.empty() ? "" : "; did you mean " + quote(near) + "?"));
    }
  }

  static double number(const json& value, const std::string& place) {
    require(value.is_number(), place + ": is " + value.dump().substr(0, 40) + ", expected a number");
    const double x = value.get<double>();
    require(std::isfinite(x), place + ": is " + to_text(x) + ", expected a finite number");
    return x;
  }
  static std::vector<double> numbers(const json& value, const std::string& place) {
    require(value.is_array(), place + ": is " + value.dump().substr(0, 40) + ", expected a list of numbers");
    std::vector<double> list;
    for (const json& item : value) list.push_back(number(item, place + "[" + std::to_string(list.size()) + "]"));
    return list;
  }

 private:
  const json& value_;
  std::string place_;
  std::vector<std::string> known_;
};

/// position, and one of rpy (about the fixed axes x, y, z, in this order) and quaternion (w x y z).
Pose read_pose(Fields& fields) {
  Pose X;
  fields.read<3>("position", X.p);
  Vec3 rpy;
  Vec4 q;
  const bool by_angles = fields.read<3>("rpy", rpy), by_quaternion = fields.read<4>("quaternion", q);
  require(!by_angles || !by_quaternion, fields.place() + ": has rpy and quaternion, expected one of them");
  if (by_angles)
    X.R = exp_so3(Vec3::UnitZ() * rpy[2]) * exp_so3(Vec3::UnitY() * rpy[1]) * exp_so3(Vec3::UnitX() * rpy[0]);
  if (by_quaternion) {
    require(std::abs(q.norm() - 1.0) < 1e-3,
            fields.at("quaternion") + ": has norm " + to_text(q.norm()) + ", expected 1 (w x y z)");
    X.R = quaternion_to_matrix(q.normalized());
  }
  return X;
}

void read_material(Fields& fields, Material& material) {
  fields.read("friction", material.mu);
  fields.read("restitution", material.restitution);
}

std::string resolve(const std::string& path, const std::string& folder) {
  return fs::path(path).is_absolute() || folder.empty() ? path : (fs::path(folder) / path).string();
}

Shape read_shape(Fields& fields, const std::string& folder, FileNotes& notes) {
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
    return ConvexMesh{load_hull(resolve(file, folder), Vec3::Constant(scale), notes)};
  }
  require(kind == "capsule" || kind == "cylinder" || kind == "cone",
          fields.at("shape") + ": is " + quote(kind) +
              ", expected sphere, box, capsule, cylinder, cone, ellipsoid, plane or mesh");
  expect(2, "[radius, length]");
  if (kind == "capsule") return Capsule{size[0], 0.5 * size[1]};
  if (kind == "cylinder") return Cylinder{size[0], 0.5 * size[1]};
  return Cone{size[0], 0.5 * size[1]};
}

SceneObject read_object(const json& value, const std::string& folder, const std::string& place) {
  Fields fields(value, place);
  SceneObject object;
  fields.read("name", object.name);
  object.shape = read_shape(fields, folder, object.notes);
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
  robot.path = resolve(robot.path, folder);
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
      options.search.push_back(resolve(item.get<std::string>(), folder));
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

json parse_json(const std::string& text, const std::string& place) {
  try {
    return json::parse(text);
  } catch (const json::exception& error) {
    std::string what = error.what();
    const std::size_t colon = what.find("] ");
    throw Error(place + ": is no JSON: " + (colon == std::string::npos ? what : what.substr(colon + 2)));
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

SceneFile parse_scene(const std::string& text, const std::string& folder, const std::string& place) {
  const json value = parse_json(text, place);
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
  read_list(fields, "objects",
            [&](const json& item, const std::string& at) { scene.objects.push_back(read_object(item, folder, at)); });
  fields.refuse_others();
  return scene;
}

SceneFile load_scene_file(const std::string& path) {
  return parse_scene(read_file(path), fs::path(path).parent_path().string(), path);
}

SceneObject parse_object(const std::string& text, const std::string& place) {
  return read_object(parse_json(text, place), "", place);
}

}  // namespace almond
