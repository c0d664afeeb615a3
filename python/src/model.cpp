// Models built in code: shapes, bodies, joints, drives.

#include <cmath>

#include "almond/base/text.hpp"
#include "almond/load/mjcf.hpp"
#include "almond/load/scene_file.hpp"
#include "almond/load/sdf_json.hpp"
#include "almond/load/urdf.hpp"
#include "almond/model/builder.hpp"
#include "almond/model/sdf_solid.hpp"
#include "parts.hpp"

namespace almond::python {
namespace {

/// A body or joint by name or number; None is the ground.
int find_body(const Model& model, nb::handle which, const std::string& argument) {
  if (which.is_none()) return kGround;
  if (nb::isinstance<nb::str>(which)) {
    const auto name = nb::cast<std::string>(which);
    for (int k = 0; k < model.num_bodies(); ++k)
      if (model.bodies[k].name == name) return k;
    for (int k = 0; k < model.num_bodies(); ++k)
      if (model.joints[k].name == name) return k;
    std::vector<std::string> known;
    for (const Body& body : model.bodies) known.push_back(body.name);
    refuse_name(name, known, "body (" + argument + ")");
  }
  int index = 0;
  if (!nb::try_cast(which, index) || index < kGround || index >= model.num_bodies())
    raise_value_error(argument + ": is " + nb::cast<std::string>(nb::repr(which)) +
                      ", expected a name, None for the ground, or an index below " +
                      std::to_string(model.num_bodies()));
  return index;
}

const Joint& find_joint(const Model& model, nb::handle which) {
  const int index = find_body(model, which, "joint");
  if (index < 0) raise_value_error("joint: is the ground, expected a joint");
  return model.joints[static_cast<std::size_t>(index)];
}

template <class Kind>
Kind by_name(const std::string& text, const std::string& argument, std::initializer_list<Kind> all) {
  std::vector<std::string> known;
  for (const Kind kind : all) {
    if (text == to_string(kind)) return kind;
    known.emplace_back(to_string(kind));
  }
  refuse_name(text, known, argument);
}

Material read_material(double mu, double restitution) { return Material{mu, restitution}; }

std::vector<Vec3> read_points(nb::handle value, const std::string& name) {
  const Array array = read_array(value, name, {-1, 3});
  std::vector<Vec3> points(array.shape(0));
  for (std::size_t k = 0; k < points.size(); ++k)
    points[k] = Vec3(array.data()[3 * k], array.data()[3 * k + 1], array.data()[3 * k + 2]);
  return points;
}

Shape checked(Shape shape, const std::string& place) {
  check_shape(shape, place);
  return shape;
}

void add_shapes(nb::module_& m) {
  nb::class_<Shape>(m, "Shape", "A shape for collision, in its own frame.")
      .def_prop_ro(
          "kind", [](const Shape& s) { return std::string(shape_name(s)); }, "sphere, box, ...")
      .def("__repr__", [](const Shape& s) { return std::string("<almond.Shape: ") + shape_name(s) + ">"; });
  m.def(
      "Sphere", [](double radius) { return checked(Sphere{radius}, "Sphere"); }, nb::arg("radius"), "A ball.");
  m.def(
      "Capsule",
      [](double radius, double half_length) {
        return checked(Capsule{radius, half_length}, "Capsule");
      },
      nb::arg("radius"), nb::arg("half_length"),
      "A cylinder along z with a half ball at each end; half_length without them.");
  m.def(
      "Cylinder",
      [](double radius, double half_length) {
        return checked(Cylinder{radius, half_length}, "Cylinder");
      },
      nb::arg("radius"), nb::arg("half_length"), "A cylinder along z.");
  m.def(
      "Cone",
      [](double radius, double half_length) {
        return checked(Cone{radius, half_length}, "Cone");
      },
      nb::arg("radius"), nb::arg("half_length"), "A cone along z, its apex at z = half_length.");
  m.def(
      "Plane", [] { return Shape(Plane{}); }, "The half-space z <= 0, a floor.");
  m.def(
      "Box", [](nb::handle half) { return checked(Box{read_vec3(half, "half")}, "Box"); }, nb::arg("half"),
      "A box with the half edge lengths (x, y, z).");
  m.def(
      "Ellipsoid", [](nb::handle radii) { return checked(Ellipsoid{read_vec3(radii, "radii")}, "Ellipsoid"); },
      nb::arg("radii"), "An ellipsoid with the half axes (x, y, z).");
  m.def(
      "Hull", [](nb::handle points) { return Shape(ConvexMesh{make_polytope(read_points(points, "points"))}); },
      nb::arg("points"), "The convex hull of points (n, 3).");
  m.def(
      "Mesh",
      [](nb::handle vertices, nb::handle triangles) {
        TriangleSoup soup;
        soup.vertices = read_points(vertices, "vertices");
        const Array corners = read_array(triangles, "triangles", {-1, 3});
        for (std::size_t k = 0; k < corners.size(); ++k)
          if (const double c = corners.data()[k]; c != std::floor(c) || std::abs(c) > 2e9)
            raise_value_error("triangles: entry " + std::to_string(k) + " is " + to_text(c) +
                              ", expected whole numbers, of vertices");
        for (std::size_t k = 0; k < corners.shape(0); ++k)
          soup.triangles.push_back({static_cast<int>(corners.data()[3 * k]),
                                    static_cast<int>(corners.data()[3 * k + 1]),
                                    static_cast<int>(corners.data()[3 * k + 2])});
        return checked(make_triangle_mesh(std::move(soup)), "Mesh");
      },
      nb::arg("vertices"), nb::arg("triangles"), "A surface of triangles (m, 3), counterclockwise seen from outside.");
  m.def(
      "HeightField",
      [](nb::handle heights, double half_x, double half_y) {
        const Array array = read_array(heights, "heights", {-1, -1});
        auto grid = std::make_shared<HeightGrid>();
        grid->rows = static_cast<int>(array.shape(0));
        grid->columns = static_cast<int>(array.shape(1));
        grid->half_x = half_x;
        grid->half_y = half_y;
        grid->height.assign(array.data(), array.data() + array.size());
        return checked(HeightField{std::move(grid)}, "HeightField");
      },
      nb::arg("heights"), nb::arg("half_x"), nb::arg("half_y"),
      "Terrain: heights (rows along y, columns along x) over a rectangle of 2 half_x by 2 half_y.");
  m.def(
      "sdf_from_json",
      [](const std::string& text, const std::string& folder) {
        FileNotes notes;
        SdfDescription d = parse_sdf(text, "Sdf", folder, notes);
        return Shape(make_sdf_shape(d.sdf, d.surface.max_edge, d.surface.chord_error));
      },
      nb::arg("text"), nb::arg("folder") = "", "See almond.Sdf.");
}

int add_body(ModelBuilder& self, const std::string& name, nb::handle parent, const std::string& joint,
             const std::string& joint_name, nb::handle axis, nb::handle anchor, nb::handle position,
             nb::handle quaternion, double mass, nb::handle com, nb::handle inertia, double lower, double upper,
             double damping, double armature, double dry_friction, double stiffness, double rest, double gravcomp) {
  BodySpec spec;
  spec.name = name;
  spec.parent = find_body(self.so_far(), parent, "parent");
  using enum JointKind;
  spec.joint.kind = by_name<JointKind>(joint, "joint", {kFixed, kFree, kBall, kRevolute, kContinuous, kPrismatic});
  spec.joint.name = joint_name;
  spec.joint.X_PJ = read_pose(position, quaternion);
  if (!axis.is_none()) spec.joint.axis = read_vec3(axis, "axis");
  if (!anchor.is_none()) spec.joint.anchor = read_vec3(anchor, "anchor");
  spec.joint.lower = lower;
  spec.joint.upper = upper;
  spec.joint.damping = damping;
  spec.joint.armature = armature;
  spec.joint.dry_friction = dry_friction;
  spec.joint.stiffness = stiffness;
  spec.joint.rest = rest;
  spec.mass = mass;
  if (!com.is_none()) spec.com = read_vec3(com, "com");
  if (!inertia.is_none()) spec.inertia = read_inertia(inertia, "inertia");
  spec.gravcomp = gravcomp;
  return self.add_body(spec);
}

int add_drive(ModelBuilder& self, nb::handle joint, const std::string& mode, double stiffness, double damping,
              double effort_limit, double target, const std::string& name) {
  Drive drive;
  drive.joint = find_body(self.so_far(), joint, "joint");
  using enum DriveMode;
  drive.mode = by_name<DriveMode>(mode, "mode", {kTorque, kPosition, kVelocity, kImpedance});
  drive.stiffness = stiffness;
  drive.damping = damping;
  drive.effort_limit = effort_limit;
  drive.target = target;
  drive.name = name;
  return self.add_drive(drive);
}

FileOptions read_file_options(const std::string& name, const std::string& base, const std::string& meshes,
                              nb::handle position, nb::handle quaternion, const std::vector<std::string>& search,
                              const nb::dict& joints) {
  FileOptions options;
  options.name = name;
  options.base = base_from_string(base, "base");
  options.meshes = mesh_use_from_string(meshes, "meshes");
  options.X_WF = read_pose(position, quaternion);
  options.search = search;
  for (const auto& [key, value] : joints) {
    const std::string joint = read_name(key, "joints");
    options.joints[joint] = read_number(value, joint);
  }
  return options;
}

void add_builder(nb::module_& m) {
  nb::class_<ModelBuilder>(m, "ModelBuilder", "Builds a Model; what is wrong with a world is a ValueError here.")
      .def(
          "__init__", [](ModelBuilder* self, nb::handle name) { new (self) ModelBuilder(read_text(name, "name")); },
          nb::arg("name").none() = "model", nb::sig("def __init__(self, name: str = 'model') -> None"),
          "An empty world under gravity.")
      .def(
          "set_gravity", [](ModelBuilder& self, nb::handle g) { self.set_gravity(read_vec3(g, "gravity")); },
          nb::arg("gravity"), "Acceleration (x, y, z) [m/s²]; (0, 0, -9.81) unless set, or the first MJCF file's.")
      .def("set_time_step", &ModelBuilder::set_time_step, nb::arg("seconds"),
           "Of simulations without a dt [s]; 1/240 unless set, or the first MJCF file's.")
      .def("add_body", &add_body, nb::arg("name"), nb::arg("parent").none() = nb::none(), nb::arg("joint") = "free",
           nb::kw_only(), nb::arg("joint_name") = "", nb::arg("axis") = nb::none(), nb::arg("anchor") = nb::none(),
           nb::arg("position") = nb::none(), nb::arg("quaternion") = nb::none(), nb::arg("mass") = 0.0,
           nb::arg("com") = nb::none(), nb::arg("inertia") = nb::none(), nb::arg("lower") = -kInfinity,
           nb::arg("upper") = kInfinity, nb::arg("damping") = 0.0, nb::arg("armature") = 0.0,
           nb::arg("dry_friction") = 0.0, nb::arg("stiffness") = 0.0, nb::arg("rest") = 0.0, nb::arg("gravcomp") = 0.0,
           "A body on a joint at `position` and `quaternion` (w, x, y, z) in its parent; returns its index.\n"
           "gravcomp: share of its weight that a force takes off it.")
      .def(
          "add_geom",
          [](ModelBuilder& self, nb::handle body, const Shape& shape, nb::handle position, nb::handle quaternion,
             double mu, double restitution, const std::string& name, std::uint32_t group, std::uint32_t mask,
             int priority) {
            GeomSpec spec;
            spec.name = name;
            spec.body = find_body(self.so_far(), body, "body");
            spec.X_BG = read_pose(position, quaternion);
            spec.shape = shape;
            spec.material = read_material(mu, restitution);
            spec.material.priority = priority;
            spec.group = group;
            spec.mask = mask;
            return self.add_geom(spec);
          },
          nb::arg("body").none(), nb::arg("shape"), nb::kw_only(), nb::arg("position") = nb::none(),
          nb::arg("quaternion") = nb::none(), nb::arg("mu") = 0.5, nb::arg("restitution") = 0.0, nb::arg("name") = "",
          nb::arg("group") = 1U, nb::arg("mask") = 0xffffffffU, nb::arg("priority") = 0,
          "A shape on a body (None: the ground). Two geoms may touch where each one's group is in the other's mask.\n"
          "The friction of the one with the higher priority counts.")
      .def(
          "add_solid",
          [](ModelBuilder& self, const std::string& name, const Shape& shape, double mass, nb::handle position,
             nb::handle quaternion, double mu, double restitution) {
            return self.add_solid(name, shape, mass, read_pose(position, quaternion), read_material(mu, restitution));
          },
          nb::arg("name"), nb::arg("shape"), nb::arg("mass"), nb::arg("position") = nb::none(), nb::kw_only(),
          nb::arg("quaternion") = nb::none(), nb::arg("mu") = 0.5, nb::arg("restitution") = 0.0,
          "A free body that fills one shape evenly; returns its index.")
      .def(
          "add_ground",
          [](ModelBuilder& self, const Shape& shape, nb::handle position, nb::handle quaternion, double mu,
             double restitution) {
            return self.add_ground(shape, read_pose(position, quaternion), read_material(mu, restitution));
          },
          nb::arg("shape"), nb::arg("position") = nb::none(), nb::kw_only(), nb::arg("quaternion") = nb::none(),
          nb::arg("mu") = 0.5, nb::arg("restitution") = 0.0, "A shape that cannot move; returns the geom.")
      .def("add_drive", &add_drive, nb::arg("joint"), nb::arg("mode") = "position", nb::kw_only(),
           nb::arg("stiffness") = 0.0, nb::arg("damping") = 0.0, nb::arg("effort_limit") = kInfinity,
           nb::arg("target") = 0.0, nb::arg("name") = "",
           "A motor of a joint; returns its index. Its effort, by mode: torque: feedforward; position: stiffness "
           "(target - q) -\n"
           "damping v + feedforward; velocity: damping (target_velocity - v) + feedforward; impedance: stiffness "
           "(target - q) +\n"
           "damping (target_velocity - v) + feedforward, and what holds the tree against gravity.")
      .def(
          "add_spring",
          [](ModelBuilder& self, const std::string& name, nb::handle a, nb::handle b, nb::handle point_a,
             nb::handle point_b, double stiffness, double damping, double rest_length) {
            Spring spring;
            spring.name = name;
            spring.body_a = find_body(self.so_far(), a, "body_a");
            spring.body_b = find_body(self.so_far(), b, "body_b");
            spring.point_a = read_vec3(point_a, "point_a");
            spring.point_b = read_vec3(point_b, "point_b");
            spring.stiffness = stiffness;
            spring.damping = damping;
            spring.rest_length = rest_length;
            return self.add_spring(spring);
          },
          nb::arg("name"), nb::arg("body_a").none(), nb::arg("body_b").none(), nb::arg("point_a"), nb::arg("point_b"),
          nb::kw_only(), nb::arg("stiffness"), nb::arg("damping") = 0.0, nb::arg("rest_length") = 0.0,
          "A spring and damper between a point of one body and one of another [N/m, N s/m, m].")
      .def(
          "add_connect",
          [](ModelBuilder& self, const std::string& name, nb::handle a, nb::handle b, nb::handle point_a,
             nb::handle point_b) {
            Closure closure;
            closure.name = name;
            closure.a = find_body(self.so_far(), a, "body_a");
            closure.b = find_body(self.so_far(), b, "body_b");
            closure.X_a.p = read_vec3(point_a, "point_a");
            closure.X_b.p = read_vec3(point_b, "point_b");
            return self.add_closure(closure);
          },
          nb::arg("name"), nb::arg("body_a").none(), nb::arg("body_b").none(), nb::arg("point_a"), nb::arg("point_b"),
          "A point of one body stays on a point of the other.")
      .def(
          "add_weld",
          [](ModelBuilder& self, const std::string& name, nb::handle a, nb::handle b, nb::handle position,
             nb::handle quaternion) {
            Closure closure;
            closure.name = name;
            closure.kind = ClosureKind::kWeld;
            closure.a = find_body(self.so_far(), a, "body_a");
            closure.b = find_body(self.so_far(), b, "body_b");
            closure.X_a = read_pose(position, quaternion);
            return self.add_closure(closure);
          },
          nb::arg("name"), nb::arg("body_a").none(), nb::arg("body_b").none(), nb::arg("position") = nb::none(),
          nb::arg("quaternion") = nb::none(),
          "The frame of body_b stays at `position` and `quaternion` in that of body_a, without a joint: loops of "
          "rigid parts.")
      .def(
          "add_mimic",
          [](ModelBuilder& self, const std::string& name, nb::handle joint, nb::handle follows, double ratio,
             double offset) {
            Closure closure;
            closure.name = name;
            closure.kind = ClosureKind::kMimic;
            closure.a = find_body(self.so_far(), joint, "joint");
            closure.b = find_body(self.so_far(), follows, "follows");
            closure.ratio = ratio;
            closure.offset = offset;
            return self.add_closure(closure);
          },
          nb::arg("name"), nb::arg("joint"), nb::arg("follows"), nb::arg("ratio") = 1.0, nb::arg("offset") = 0.0,
          "One joint follows another: q = ratio * q of follows + offset.")
      .def(
          "exclude",
          [](ModelBuilder& self, nb::handle a, nb::handle b) {
            self.exclude(find_body(self.so_far(), a, "a"), find_body(self.so_far(), b, "b"));
          },
          nb::arg("a").none(), nb::arg("b").none(), "These two never collide.")
      .def(
          "set_start",
          [](ModelBuilder& self, nb::handle joint, nb::handle q) {
            const nb::object array = nb::module_::import_("numpy").attr("atleast_1d")(to_array(q, "q"));
            self.set_start(find_body(self.so_far(), joint, "joint"), read_vector(array, "q"));
          },
          nb::arg("joint"), nb::arg("q"),
          "Positions of a joint at the start; a free one has p and a quaternion w x y z.")
      .def(
          "set_start_velocity",
          [](ModelBuilder& self, nb::handle joint, nb::handle v) {
            const nb::object array = nb::module_::import_("numpy").attr("atleast_1d")(to_array(v, "v"));
            self.set_start_velocity(find_body(self.so_far(), joint, "joint"), read_vector(array, "v"));
          },
          nb::arg("joint"), nb::arg("v"), "Velocities of a joint at the start.")
      .def(
          "add_urdf",
          [](ModelBuilder& self, const nb::object& path, const std::string& name, const std::string& base,
             const std::string& meshes, nb::handle position, nb::handle quaternion,
             const std::vector<std::string>& search, const nb::dict& joints) {
            FileNotes notes;
            const auto file = nb::cast<std::string>(nb::str(path));
            add_urdf(self, file, read_file_options(name, base, meshes, position, quaternion, search, joints), notes);
            return tell_notes(file, notes);
          },
          nb::arg("path"), nb::kw_only(), nb::arg("name") = "", nb::arg("base") = "fixed", nb::arg("meshes") = "hull",
          nb::arg("position") = nb::none(), nb::arg("quaternion") = nb::none(),
          nb::arg("search") = std::vector<std::string>{}, nb::arg("joints") = nb::dict(),
          "Adds a URDF robot; returns what is worth knowing about the file, one line each.")
      .def(
          "add_mjcf",
          [](ModelBuilder& self, const nb::object& path, const std::string& name, const std::string& meshes,
             nb::handle position, nb::handle quaternion, const nb::dict& joints, const std::string& keyframe) {
            FileNotes notes;
            const auto file = nb::cast<std::string>(nb::str(path));
            const MjcfFile added =
                add_mjcf(self, file, read_file_options(name, "file", meshes, position, quaternion, {}, joints), notes);
            if (!keyframe.empty()) start_at_keyframe(self, added, keyframe);
            return tell_notes(file, notes);
          },
          nb::arg("path"), nb::kw_only(), nb::arg("name") = "", nb::arg("meshes") = "hull",
          nb::arg("position") = nb::none(), nb::arg("quaternion") = nb::none(), nb::arg("joints") = nb::dict(),
          nb::arg("keyframe") = "",
          "Adds an MJCF file, with its gravity and time step where none were set and it is the first; returns what is "
          "worth\nknowing about it. keyframe: where it starts, and with which controls.")
      .def("build", &ModelBuilder::build, "The model; raises ValueError for what is wrong with the whole.");
}

template <class Items>
std::vector<std::string> names_of(const Items& items) {
  std::vector<std::string> names;
  for (const auto& item : items) names.push_back(item.name);
  return names;
}

std::string list_of(const std::vector<std::string>& names) {
  std::string list;
  for (const std::string& name : names) list += (list.empty() ? "" : ", ") + name;
  return list;
}

/// What a drive is called: its own name, or that of what it moves.
std::vector<std::string> drive_names(const Model& model) {
  std::vector<std::string> names;
  for (const Drive& drive : model.drives)
    names.push_back(!drive.name.empty() ? drive.name
                    : drive.joint >= 0  ? model.joints[drive.joint].name
                                        : model.tendons[drive.tendon].name);
  return names;
}

/// By its name, or by that of the joint that no other drive moves.
int find_drive(const Model& model, const std::string& name) {
  std::vector<std::string> names = drive_names(model);
  const auto found = std::find(names.begin(), names.end(), name);
  if (found != names.end()) return static_cast<int>(found - names.begin());
  std::vector<int> movers;
  for (int k = 0; k < static_cast<int>(model.drives.size()); ++k)
    if (model.drives[k].joint >= 0 && model.joints[model.drives[k].joint].name == name) movers.push_back(k);
  if (movers.size() == 1) return movers[0];
  if (movers.size() > 1) {
    std::vector<std::string> both;
    for (const int k : movers) both.push_back(names[k]);
    raise_value_error(quote(name) + ": this joint has " + std::to_string(movers.size()) +
                      " drives, expected the name of one: " + list_of(both));
  }
  std::vector<std::string> joints = names_of(model.joints);
  if (std::find(joints.begin(), joints.end(), name) != joints.end())
    raise_value_error(quote(name) + ": this joint has no drive, expected one of those that have: " +
                      (names.empty() ? std::string("none has") : list_of(names)));
  for (const Drive& drive : model.drives)
    if (drive.joint >= 0 && std::find(names.begin(), names.end(), model.joints[drive.joint].name) == names.end())
      names.push_back(model.joints[drive.joint].name);
  refuse_name(name, names, "drive or driven joint");
}

}  // namespace

std::vector<std::string> tell_notes(const std::string& path, const FileNotes& notes) {
  std::vector<std::string> lines = notes.said;
  for (const auto& [kind, count] : notes.ignored)
    lines.push_back(std::to_string(count) + " " + kind + " without effect");
  const std::string lost = elements_text(lost_elements(notes));
  if (!lost.empty()) nb::module_::import_("almond._errors").attr("warn")(path + ": without effect in Almond: " + lost);
  return lines;
}

void add_model(nb::module_& m) {
  add_shapes(m);
  add_builder(m);
  nb::class_<Model>(m, "Model", "What the world is made of; does not change.")
      .def_ro("name", &Model::name, "Of the model.")
      .def_ro("num_q", &Model::num_q, "Length of q.")
      .def_ro("num_v", &Model::num_v, "Length of v: degrees of freedom.")
      .def_prop_ro("num_bodies", &Model::num_bodies, "Bodies, each with the joint that carries it.")
      .def_prop_ro(
          "gravity", [](const Model& model) { return to_numpy(VecX(model.gravity)); }, "[m/s²].")
      .def_ro("time_step", &Model::time_step, "Of simulations without a dt [s].")
      .def_prop_ro(
          "q0", [](const Model& model) { return to_numpy(model.q0); }, "Positions at the start.")
      .def_prop_ro(
          "v0", [](const Model& model) { return to_numpy(model.v0); }, "Velocities at the start.")
      .def_prop_ro(
          "body_names", [](const Model& model) { return names_of(model.bodies); }, "In the order of body_poses().")
      .def_prop_ro(
          "joint_names", [](const Model& model) { return names_of(model.joints); }, "One per body.")
      .def_prop_ro(
          "geom_bodies",
          [](const Model& model) {
            std::vector<int> bodies;
            for (const Geom& geom : model.geoms) bodies.push_back(geom.body);
            return to_numpy(bodies);
          },
          "Body of each geom, -1 for the ground.")
      .def_prop_ro(
          "geom_names", [](const Model& model) { return names_of(model.geoms); },
          "In the order that contacts() counts.")
      .def_prop_ro("drive_names", &drive_names, "In the order of target; a drive without a name has its joint's.")
      .def_prop_ro(
          "drive_modes",
          [](const Model& model) {
            std::vector<std::string> modes;
            for (const Drive& drive : model.drives) modes.emplace_back(to_string(drive.mode));
            return modes;
          },
          "torque, position, velocity or impedance, in the order of target; see ModelBuilder.add_drive.")
      .def_prop_ro(
          "remarks", [](const Model& model) { return model.remarks; },
          "What looks like a mistake in it, one line each.")
      .def("body", &Model::body, nb::arg("name"), "Index of a body by name.")
      .def("joint", &Model::joint, nb::arg("name"), "Index of a joint by name.")
      .def("drive", &find_drive, nb::arg("name"), "Index of a drive by its name or that of the joint it moves.")
      .def(
          "q_slice",
          [](const Model& model, nb::handle joint) {
            const Joint& j = find_joint(model, joint);
            return nb::slice(j.q_begin, j.q_begin + num_positions(j.kind), 1);
          },
          nb::arg("joint"), "Where a joint's positions lie in q.")
      .def(
          "v_slice",
          [](const Model& model, nb::handle joint) {
            const Joint& j = find_joint(model, joint);
            return nb::slice(j.v_begin, j.v_begin + num_velocities(j.kind), 1);
          },
          nb::arg("joint"), "Where a joint's velocities lie in v.")
      .def(
          "joint_limits",
          [](const Model& model) {
            MatXr limits(model.num_bodies(), 2);
            for (int k = 0; k < model.num_bodies(); ++k) limits.row(k) << model.joints[k].lower, model.joints[k].upper;
            return matrix_to_numpy(std::move(limits));
          },
          "(bodies, 2): lower and upper of each joint.")
      .def(
          "masses",
          [](const Model& model) {
            VecX mass(model.num_bodies());
            for (int k = 0; k < model.num_bodies(); ++k) mass[k] = model.bodies[k].mass;
            return to_numpy(mass);
          },
          "Of each body [kg].")
      .def("__repr__", [](const Model& model) {
        return "<almond.Model " + model.name + ": " + std::to_string(model.num_bodies()) + " bodies, " +
               std::to_string(model.num_v) + " dofs, " + std::to_string(model.num_geoms()) + " geoms, " +
               std::to_string(model.drives.size()) + " drives>";
      });
}

}  // namespace almond::python
