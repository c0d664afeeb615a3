#include "almond/load/write_mjcf.hpp"

#include <Eigen/Eigenvalues>
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <numbers>

#include "almond/base/check.hpp"
#include "almond/base/text.hpp"
#include "almond/model/sdf_solid.hpp"

namespace almond {
namespace {

std::string text(double x) {
  char buffer[32];
  std::snprintf(buffer, sizeof buffer, "%.17g", x);
  return buffer;
}

template <class List>
std::string list(const List& values) {
  std::string out;
  for (const double x : values) out += (out.empty() ? "" : " ") + text(x);
  return out;
}

std::string escape(const std::string& name) {
  std::string out;
  for (const char c : name) {
    switch (c) {
      case '&':
        out += "&amp;";
        break;
      case '<':
        out += "&lt;";
        break;
      case '"':
        out += "&quot;";
        break;
      default:
        out += c;
    }
  }
  return out;
}

std::string attribute(const char* name, const std::string& value) {
  return std::string(" ") + name + "=\"" + escape(value) + "\"";
}
std::string attribute(const char* name, double value) { return attribute(name, text(value)); }
std::string pose(const Pose& X) {
  return attribute("pos", list(X.p)) + attribute("quat", list(matrix_to_quaternion(X.R)));
}

struct Writer {
  const Model& model;
  FileNotes& notes;
  std::vector<std::vector<int>> children, geoms;  // (bodies)
  std::string assets, worldbody;
  std::vector<const void*> meshes;  // written ones

  void indent(int depth) { worldbody.append(2 * static_cast<std::size_t>(depth), ' '); }
};

/// A massless link that only carries another one.
bool folds(const Writer& w, int body) {
  return w.model.bodies[body].mass == 0.0 && w.model.joints[body].kind != JointKind::kFree &&
         w.model.joints[body].kind != JointKind::kFixed && w.geoms[body].empty() && w.children[body].size() == 1 &&
         w.model.joints[w.children[body][0]].kind != JointKind::kFixed;
}

/// Name of a mesh asset; written the first time it is asked for.
std::string mesh_asset(Writer& w, const void* key, const std::vector<Vec3>& vertices,
                       const std::vector<std::array<int, 3>>& faces) {
  for (std::size_t i = 0; i < w.meshes.size(); ++i)
    if (w.meshes[i] == key && key != nullptr) return "mesh" + std::to_string(i);
  const std::string name = "mesh" + std::to_string(w.meshes.size());
  w.meshes.push_back(key);
  std::string points, corners;
  for (const Vec3& v : vertices) points += (points.empty() ? "" : "  ") + list(v);
  for (const auto& f : faces)
    corners +=
        (corners.empty() ? "" : "  ") + std::to_string(f[0]) + " " + std::to_string(f[1]) + " " + std::to_string(f[2]);
  w.assets += "    <mesh" + attribute("name", name) + attribute("vertex", points) +
              (faces.empty() ? "" : attribute("face", corners)) + attribute("inertia", "convex") + "/>\n";
  return name;
}

std::string cone_asset(Writer& w, const Cone& cone) {
  constexpr int kCorners = 32;
  std::vector<Vec3> vertices = {Vec3(0.0, 0.0, cone.half_length)};
  for (int i = 0; i < kCorners; ++i) {
    const double angle = 2.0 * std::numbers::pi * i / kCorners;
    vertices.emplace_back(cone.radius * std::cos(angle), cone.radius * std::sin(angle), -cone.half_length);
  }
  ++w.notes.ignored["roundness of a cone (32 corners)"];
  return mesh_asset(w, nullptr, vertices, {});
}

std::string shape(Writer& w, const Shape& shape) {
  const auto sized = [](const char* type, const std::string& size) {
    return attribute("type", type) + attribute("size", size);
  };
  if (const auto* s = std::get_if<Sphere>(&shape)) return sized("sphere", text(s->radius));
  if (const auto* s = std::get_if<Capsule>(&shape))
    return sized("capsule", text(s->radius) + " " + text(s->half_length));
  if (const auto* s = std::get_if<Cylinder>(&shape))
    return sized("cylinder", text(s->radius) + " " + text(s->half_length));
  if (const auto* s = std::get_if<Box>(&shape)) return sized("box", list(s->half));
  if (const auto* s = std::get_if<Ellipsoid>(&shape)) return sized("ellipsoid", list(s->radii));
  if (std::holds_alternative<Plane>(shape)) return sized("plane", "0 0 1");
  if (const auto* s = std::get_if<Cone>(&shape))
    return attribute("type", "mesh") + attribute("mesh", cone_asset(w, *s));
  if (const auto* s = std::get_if<ConvexMesh>(&shape))
    return attribute("type", "mesh") + attribute("mesh", mesh_asset(w, s->hull.get(), s->hull->vertices, {}));
  if (const auto* s = std::get_if<TriangleMesh>(&shape)) {
    ++w.notes.ignored["hollows of a triangle mesh (MuJoCo takes the convex hull)"];
    return attribute("type", "mesh") +
           attribute("mesh", mesh_asset(w, s->mesh.get(), s->mesh->vertices, s->mesh->triangles));
  }
  if (const auto* s = std::get_if<SdfShape>(&shape)) {
    ++w.notes.ignored["hollows of a signed distance shape (MuJoCo takes the convex hull)"];
    return attribute("type", "mesh") +
           attribute("mesh", mesh_asset(w, s->solid.get(), s->solid->surface.vertices, s->solid->surface.triangles));
  }
  const HeightGrid& grid = *std::get<HeightField>(shape).grid;
  const auto [low, high] = std::minmax_element(grid.height.begin(), grid.height.end());
  const double range = std::max(*high - *low, 1e-6);
  std::vector<double> elevation;  // row by row from the far end, as MuJoCo lists them
  for (int i = grid.rows - 1; i >= 0; --i)
    for (int j = 0; j < grid.columns; ++j) elevation.push_back((grid.height[i * grid.columns + j] - *low) / range);
  const std::string name = "hfield" + std::to_string(w.meshes.size());
  w.meshes.push_back(nullptr);
  w.assets += "    <hfield" + attribute("name", name) + attribute("nrow", std::to_string(grid.rows)) +
              attribute("ncol", std::to_string(grid.columns)) +
              attribute("size", text(grid.half_x) + " " + text(grid.half_y) + " " + text(range) + " 1") +
              attribute("elevation", list(elevation)) + "/>\n";
  return attribute("type", "hfield") + attribute("hfield", name);
}

void write_geom(Writer& w, int g, int depth) {
  const Geom& geom = w.model.geoms[g];
  Pose X = geom.X_BG;
  if (const auto* field = std::get_if<HeightField>(&geom.shape)) {  // MuJoCo's begins at its lowest point
    const auto& heights = field->grid->height;
    X = X * make_translation(0.0, 0.0, *std::min_element(heights.begin(), heights.end()));
  }
  if (geom.material.restitution > 0.0) ++w.notes.ignored["restitution of a geom"];
  const std::string form = shape(w, geom.shape);
  w.indent(depth);
  w.worldbody += "<geom" + attribute("name", geom.name) + form + pose(X) +
                 attribute("condim", geom.material.smooth ? "1" : "3") +
                 attribute("friction", text(geom.material.mu) + " 0 0");
  if (geom.material.priority != 0) w.worldbody += attribute("priority", std::to_string(geom.material.priority));
  if (geom.group != 1 || geom.mask != 0xffffffffU)
    w.worldbody += attribute("contype", std::to_string(static_cast<std::int32_t>(geom.group))) +
                   attribute("conaffinity", std::to_string(static_cast<std::int32_t>(geom.mask)));
  w.worldbody += "/>\n";
}

/// A joint whose axis and anchor are given in the frame B; X_AB is where B lies in the joint's own body.
void write_joint(Writer& w, const Joint& joint, const Pose& X_AB, int depth) {
  if (joint.kind == JointKind::kFixed) return;
  w.indent(depth);
  if (joint.kind == JointKind::kFree) {
    w.worldbody += "<freejoint" + attribute("name", joint.name) + "/>\n";
    return;
  }
  const char* type = joint.kind == JointKind::kBall ? "ball" : joint.kind == JointKind::kPrismatic ? "slide" : "hinge";
  w.worldbody += "<joint" + attribute("name", joint.name) + attribute("type", type) +
                 attribute("pos", list(Vec3(X_AB.inverse() * joint.anchor)));
  if (joint.kind == JointKind::kBall && std::isfinite(joint.upper))
    w.worldbody += attribute("range", "0 " + text(joint.upper));
  if (joint.kind != JointKind::kBall) {
    w.worldbody += attribute("axis", list(Vec3(X_AB.R.transpose() * joint.axis)));
    const bool lower = std::isfinite(joint.lower), upper = std::isfinite(joint.upper);
    constexpr double kFar = 1e10;  // a bound that is never met
    if (lower || upper)
      w.worldbody += attribute("range", text(lower ? joint.lower : -kFar) + " " + text(upper ? joint.upper : kFar));
    if (joint.stiffness > 0.0)
      w.worldbody += attribute("stiffness", joint.stiffness) + attribute("springref", joint.rest);
  }
  if (joint.damping > 0.0) w.worldbody += attribute("damping", joint.damping);
  if (joint.armature > 0.0) w.worldbody += attribute("armature", joint.armature);
  if (joint.dry_friction > 0.0) w.worldbody += attribute("frictionloss", joint.dry_friction);
  w.worldbody += "/>\n";
}

/// Pose of a body in its parent with all joints at zero; of a free one, at the start.
Pose rest_pose(const Model& model, int body) {
  const Joint& joint = model.joints[body];
  if (joint.kind == JointKind::kFree) return make_joint_pose(joint, model.q0.data() + joint.q_begin);
  return joint.X_PJ;
}

/// A link called "world", of which URDF has many, is not MuJoCo's.
std::string body_name(const Model& model, int body) {
  if (body < 0) return "world";
  std::string name = model.bodies[body].name;
  while (name == "world" ||
         (name != model.bodies[body].name &&
          std::any_of(model.bodies.begin(), model.bodies.end(), [&](const Body& b) { return b.name == name; })))
    name += "_link";
  return name;
}

/// MuJoCo takes no inertia but that of a real body: moments above 0, the largest at most the sum of the others.
Mat3 make_acceptable(Writer& w, const Mat3& inertia) {
  constexpr double kSmallest = 1e-6;  // of the largest moment
  constexpr double kLeast = 1e-14;    // [kg m²]: MuJoCo takes anything smaller for 0
  constexpr double kRounding = 1e-10;
  const Eigen::SelfAdjointEigenSolver<Mat3> eigen(inertia);
  Vec3 moments = eigen.eigenvalues();
  const double largest = moments.maxCoeff();
  if (moments[0] >= kLeast && moments[0] + moments[1] >= (1.0 - kRounding) * moments[2]) return inertia;
  moments = moments.cwiseMax(std::max(kSmallest * largest, 10.0 * kLeast));
  moments[1] = std::max(moments[1], moments[2] * (1.0 + kSmallest) - moments[0]);
  w.notes.ignored["inertia of a body, changed to one that MuJoCo takes"] += 1;
  const Mat3 R = eigen.eigenvectors();
  return R * moments.asDiagonal() * R.transpose();
}

void write_body(Writer& w, int body, Pose X_PB, int depth) {
  // Joints of folded bodies above, outermost first, in the frame of the one that carries the mass.
  std::vector<int> chain = {body};
  while (folds(w, chain.back())) {
    chain.push_back(w.children[chain.back()][0]);
  }
  std::vector<Pose> X_to_last(chain.size());
  for (std::size_t i = chain.size() - 1; i-- > 0;) X_to_last[i] = rest_pose(w.model, chain[i + 1]) * X_to_last[i + 1];
  X_PB = X_PB * X_to_last[0];
  const int last = chain.back();
  const Body& b = w.model.bodies[last];
  w.indent(depth);
  w.worldbody += "<body" + attribute("name", body_name(w.model, last)) + pose(X_PB) +
                 (b.gravcomp != 0.0 ? attribute("gravcomp", b.gravcomp) : "") + ">\n";
  for (std::size_t i = 0; i < chain.size(); ++i) write_joint(w, w.model.joints[chain[i]], X_to_last[i], depth + 1);
  if (b.mass > 0.0) {
    const Mat3 I = make_acceptable(w, b.inertia);
    const double full[6] = {I(0, 0), I(1, 1), I(2, 2), I(0, 1), I(0, 2), I(1, 2)};
    w.indent(depth + 1);
    w.worldbody += "<inertial" + attribute("pos", list(b.com)) + attribute("mass", b.mass) +
                   attribute("fullinertia", list(full)) + "/>\n";
  }
  for (const int g : w.geoms[last]) write_geom(w, g, depth + 1);
  for (std::size_t i = 0; i < w.model.springs.size(); ++i) {
    const Spring& spring = w.model.springs[i];
    for (const auto& [on, point, end] :
         {std::tuple(spring.body_a, spring.point_a, "/a"), std::tuple(spring.body_b, spring.point_b, "/b")}) {
      if (on != last) continue;
      w.indent(depth + 1);
      w.worldbody += "<site" + attribute("name", spring.name + end) + attribute("pos", list(point)) + "/>\n";
    }
  }
  for (const int child : w.children[last]) write_body(w, child, rest_pose(w.model, child), depth + 1);
  w.indent(depth);
  w.worldbody += "</body>\n";
}

std::string write_contacts(const Model& model) {
  std::string out;
  for (const auto& [a, b] : model.excluded)
    if (a != b)
      out +=
          "    <exclude" + attribute("body1", body_name(model, a)) + attribute("body2", body_name(model, b)) + "/>\n";
  for (const GeomPair& pair : model.pairs)
    out += "    <pair" + attribute("geom1", model.geoms[pair.a].name) + attribute("geom2", model.geoms[pair.b].name) +
           attribute("condim", "3") +
           attribute("friction", text(pair.material.mu) + " " + text(pair.material.mu) + " 0 0 0") + "/>\n";
  return out.empty() ? "" : "  <contact>\n" + out + "  </contact>\n";
}

std::string write_tendons(const Model& model) {
  std::string out;
  for (const Tendon& tendon : model.tendons) {
    out += "    <fixed" + attribute("name", tendon.name);
    if (std::isfinite(tendon.lower) && std::isfinite(tendon.upper))
      out += attribute("range", text(tendon.lower) + " " + text(tendon.upper));
    if (tendon.stiffness > 0.0)
      out += attribute("stiffness", tendon.stiffness) +
             attribute("springlength", text(tendon.rest_lower) + " " + text(tendon.rest_upper));
    if (tendon.damping > 0.0) out += attribute("damping", tendon.damping);
    if (tendon.dry_friction > 0.0) out += attribute("frictionloss", tendon.dry_friction);
    out += ">\n";
    for (const auto& [joint, coefficient] : tendon.terms)
      out += "      <joint" + attribute("joint", model.joints[joint].name) + attribute("coef", coefficient) + "/>\n";
    out += "    </fixed>\n";
  }
  for (const Spring& spring : model.springs)
    out += "    <spatial" + attribute("name", spring.name) + attribute("stiffness", spring.stiffness) +
           attribute("damping", spring.damping) + attribute("springlength", spring.rest_length) + ">\n      <site" +
           attribute("site", spring.name + "/a") + "/><site" + attribute("site", spring.name + "/b") +
           "/>\n    </spatial>\n";
  return out.empty() ? "" : "  <tendon>\n" + out + "  </tendon>\n";
}

std::string write_equality(const Model& model) {
  std::string out;
  for (const Closure& closure : model.closures) {
    const std::string name = attribute("name", closure.name);
    const std::string poly = attribute("polycoef", text(closure.offset) + " " + text(closure.ratio) + " 0 0 0");
    switch (closure.kind) {
      case ClosureKind::kConnect:
      case ClosureKind::kWeld: {
        const bool weld = closure.kind == ClosureKind::kWeld;
        // The point on b, and where b lies in a.
        const Pose X_ab = closure.X_a * closure.X_b.inverse();
        out += std::string("    <") + (weld ? "weld" : "connect") + name +
               attribute("body1", body_name(model, closure.a)) + attribute("body2", body_name(model, closure.b));
        out += weld ? attribute("relpose", list(X_ab.p) + " " + list(matrix_to_quaternion(X_ab.R))) +
                          attribute("anchor", list(closure.X_b.p))
                    : attribute("anchor", list(closure.X_a.p));
        out += "/>\n";
        break;
      }
      case ClosureKind::kMimic:
        out += "    <joint" + name + attribute("joint1", model.joints[closure.a].name) +
               (closure.ratio == 0.0 ? "" : attribute("joint2", model.joints[closure.b].name)) + poly + "/>\n";
        break;
      case ClosureKind::kTendon:
        out += "    <tendon" + name + attribute("tendon1", model.tendons[closure.a].name) +
               (closure.ratio == 0.0 ? "" : attribute("tendon2", model.tendons[closure.b].name)) + poly + "/>\n";
        break;
    }
  }
  return out.empty() ? "" : "  <equality>\n" + out + "  </equality>\n";
}

std::string write_actuators(const Model& model, FileNotes& notes) {
  std::string out;
  for (const Drive& drive : model.drives) {
    const bool holds = drive.mode == DriveMode::kPosition || drive.mode == DriveMode::kImpedance;
    const char* kind = holds ? "position" : drive.mode == DriveMode::kVelocity ? "velocity" : "motor";
    out += std::string("    <") + kind + attribute("name", drive.name) +
           (drive.tendon >= 0 ? attribute("tendon", model.tendons[drive.tendon].name)
                              : attribute("joint", model.joints[drive.joint].name));
    if (holds) out += attribute("kp", drive.stiffness) + attribute("kv", drive.damping);
    if (drive.mode == DriveMode::kVelocity) out += attribute("kv", drive.damping);
    if (std::isfinite(drive.effort_limit))
      out += attribute("forcerange", text(drive.effort_middle - drive.effort_limit) + " " +
                                         text(drive.effort_middle + drive.effort_limit));
    out += "/>\n";
    if (drive.mode == DriveMode::kImpedance) ++notes.ignored["gravity compensation of an impedance drive"];
  }
  return out.empty() ? "" : "  <actuator>\n" + out + "  </actuator>\n";
}

/// q0 and v0 in MuJoCo's numbers, in the order of the bodies written.
void write_start(const Writer& w, int body, std::string& qpos, std::string& qvel) {
  const Model& model = w.model;
  const Joint& joint = model.joints[body];
  const VecX q = model.q0.segment(joint.q_begin, num_positions(joint.kind));
  VecX v = model.v0.segment(joint.v_begin, num_velocities(joint.kind));
  if (joint.kind == JointKind::kBall) v.head<3>() = quaternion_to_matrix(q).transpose() * Vec3(v);
  if (joint.kind == JointKind::kFree) {
    const Mat3 R = quaternion_to_matrix(q.tail<4>());
    const Vec3 omega = v.tail<3>();
    v.head<3>() -= omega.cross(R * model.bodies[body].com);
    v.tail<3>() = R.transpose() * omega;
  }
  if (q.size() > 0) qpos += " " + list(q);
  if (v.size() > 0) qvel += " " + list(v);
  for (const int child : w.children[body]) write_start(w, child, qpos, qvel);
}

}  // namespace

std::string write_mjcf(const Model& model, double time_step, FileNotes& notes) {
  Writer w{model, notes, {}, {}, {}, {}, {}};
  w.children.resize(model.bodies.size());
  w.geoms.resize(model.bodies.size());
  std::vector<int> roots;
  for (int b = 0; b < model.num_bodies(); ++b)
    (model.bodies[b].parent < 0 ? roots : w.children[model.bodies[b].parent]).push_back(b);
  for (int g = 0; g < model.num_geoms(); ++g) {
    if (model.geoms[g].body >= 0)
      w.geoms[model.geoms[g].body].push_back(g);
    else
      write_geom(w, g, 2);
  }
  for (const Spring& spring : model.springs) {
    for (const auto& [on, point, end] :
         {std::tuple(spring.body_a, spring.point_a, "/a"), std::tuple(spring.body_b, spring.point_b, "/b")})
      if (on < 0)
        w.worldbody += "    <site" + attribute("name", spring.name + end) + attribute("pos", list(point)) + "/>\n";
  }
  const auto mu_differs = [&](const Geom& geom) { return geom.material.mu != model.geoms[0].material.mu; };
  if (model.friction_combine != Combine::kMaximum && std::any_of(model.geoms.begin(), model.geoms.end(), mu_differs))
    notes.ignored["way to combine friction (MuJoCo takes the larger coefficient)"] += 1;
  std::string qpos, qvel;
  for (const int root : roots) {
    write_body(w, root, rest_pose(model, root), 2);
    write_start(w, root, qpos, qvel);
  }
  std::string out = "<mujoco" + attribute("model", model.name) + ">\n";
  out += "  <compiler angle=\"radian\" autolimits=\"true\" inertiafromgeom=\"false\"/>\n";
  out += "  <option" + attribute("timestep", time_step) + attribute("gravity", list(model.gravity)) +
         " cone=\"elliptic\"/>\n";
  if (!w.assets.empty()) out += "  <asset>\n" + w.assets + "  </asset>\n";
  out += "  <worldbody>\n" + w.worldbody + "  </worldbody>\n";
  out += write_contacts(model) + write_tendons(model) + write_equality(model) + write_actuators(model, notes);
  if (!qpos.empty())
    out += "  <keyframe>\n    <key name=\"start\" qpos=\"" + qpos.substr(1) + "\" qvel=\"" + qvel.substr(1) +
           "\"/>\n  </keyframe>\n";
  return out + "</mujoco>\n";
}

}  // namespace almond
