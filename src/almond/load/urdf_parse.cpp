// Two readers see the text: urdfdom, whose word on values is the one ROS and Pinocchio take, and our own scan, which
// knows lines, counts what is passed over and finds what urdfdom lets through: loops, links with two parents. Numbers
// are judged before it sees them (urdf_numbers.cpp).

#include "almond/load/urdf_parse.hpp"

#include <console_bridge/console.h>
#include <urdf_model/model.h>
#include <urdf_parser/urdf_parser.h>

#include <algorithm>
#include <cmath>
#include <mutex>
#include <set>

#include "almond/base/check.hpp"
#include "almond/base/text.hpp"
#include "almond/load/xml_scan.hpp"

namespace almond {
namespace {

constexpr std::size_t kMaxLinks = 10'000, kMaxBytes = 64U << 20U;

using Elements = std::vector<XmlElement>;

/// Links and joints of the scan by name, with the k-th collision and visual of each link.
struct Outline {
  const std::string& place;
  const Elements& elements;
  std::map<std::string, int> links, joints;             // name -> element
  std::map<int, std::vector<int>> collisions, visuals;  // link element -> elements
  std::set<int> capsules;                               // elements of shapes

  [[nodiscard]] std::string at(int element) const {
    return place + ":" + std::to_string(elements[element].line) + ": ";
  }
};

bool is_capsule(const std::string& name) { return name == "capsule" || name == "drake:capsule"; }

/// Elements that something is made of, by the element they stand in.
bool has_effect(const std::string& parent, const std::string& name) {
  static const std::map<std::string, std::set<std::string>> kKnown = {
      {"robot", {"link", "joint"}},
      {"link", {"inertial", "collision"}},
      {"inertial", {"origin", "mass", "inertia"}},
      {"collision", {"origin", "geometry"}},
      {"geometry", {"box", "sphere", "cylinder", "capsule", "drake:capsule", "mesh"}},
      {"joint", {"origin", "parent", "child", "axis", "limit", "dynamics", "mimic"}},
  };
  const auto known = kKnown.find(parent);
  return known != kKnown.end() && known->second.contains(name);
}

/// The outermost ones only: a <transmission> counts once, whatever is in it. read_gazebo counts what is in <gazebo>.
std::map<std::string, int> count_ignored(const Elements& elements) {
  std::map<std::string, int> ignored;
  std::vector<bool> counted(elements.size()), in_gazebo(elements.size());
  for (std::size_t i = 1; i < elements.size(); ++i) {
    const int parent = elements[i].parent;
    const bool gazebo = elements[i].name == "gazebo" && parent == 0;
    if (gazebo || in_gazebo[parent]) {
      in_gazebo[i] = true;
      continue;
    }
    counted[i] = counted[parent] || !has_effect(elements[parent].name, elements[i].name);
    if (counted[i] && !counted[parent]) ++ignored[elements[i].name];
  }
  return ignored;
}

void add_named(const Outline& outline, int element, std::map<std::string, int>& names) {
  const XmlElement& e = outline.elements[element];
  const std::string* name = e.attribute("name");
  require(name != nullptr && !name->empty(), outline.at(element) + e.name + " without a name, expected one");
  const auto [first, fresh] = names.emplace(*name, element);
  require(fresh, outline.at(element) + e.name + " " + quote(*name) + ": the name is taken by line " +
                     std::to_string(outline.elements[first->second].line) + ", expected a new one");
}

Outline make_outline(const Elements& elements, const std::string& place) {
  Outline outline{place, elements, {}, {}, {}, {}, {}};
  require(elements[0].name == "robot",
          outline.at(0) + "the outermost element is <" + elements[0].name + ">, expected <robot>");
  bool xacro = false;
  for (int i = 1; i < static_cast<int>(elements.size()); ++i) {
    const XmlElement& e = elements[i];
    xacro = xacro || e.name.rfind("xacro:", 0) == 0;
    if (e.parent == 0 && e.name == "link") add_named(outline, i, outline.links);
    if (e.parent == 0 && e.name == "joint") add_named(outline, i, outline.joints);
    const bool in_link = elements[e.parent].parent == 0 && elements[e.parent].name == "link";
    if (in_link && e.name == "collision") outline.collisions[e.parent].push_back(i);
    if (in_link && e.name == "visual") outline.visuals[e.parent].push_back(i);
    if (is_capsule(e.name) && elements[e.parent].name == "geometry") outline.capsules.insert(i);
  }
  require(!outline.links.empty(),
          place + ": no links" +
              (xacro ? ", but xacro macros; expected what `xacro FILE` prints" : ", expected at least one <link>"));
  require(outline.links.size() <= kMaxLinks, place + ": " + std::to_string(outline.links.size()) +
                                                 " links, expected at most " + std::to_string(kMaxLinks));
  return outline;
}

int index_of(const std::map<std::string, int>& index, const std::string& name, const std::string& place,
             const char* what) {
  const auto found = index.find(name);
  if (found != index.end()) return found->second;
  std::vector<std::string> names;
  for (const auto& [known, number] : index) names.push_back(known);
  const std::string near = nearest_name(name, names);
  throw Error(place + what + " " + quote(name) + " does not exist" +
              (near.empty() ? "" : "; did you mean " + quote(near) + "?"));
}

/// The link that a joint's <parent> or <child> names.
int end_of(const Outline& outline, int joint, const char* which) {
  const std::string place = outline.at(joint) + "joint " + quote(*outline.elements[joint].attribute("name")) + ": ";
  for (int i = joint + 1; i < static_cast<int>(outline.elements.size()); ++i) {
    const XmlElement& e = outline.elements[i];
    if (e.parent < joint) break;
    const std::string* link = e.attribute("link");
    if (e.parent == joint && e.name == which && link != nullptr)
      return index_of(outline.links, *link, place, (std::string(which) + " link").c_str());
  }
  throw Error(place + "no <" + which + " link=\"...\"/>, expected one");
}

/// One root, no link with two parents, no loop. Returns the root's name. urdfdom would let loops through, and leak.
std::string check_tree(const Outline& outline) {
  const auto link_text = [&](int link) { return "link " + quote(*outline.elements[link].attribute("name")); };
  std::map<int, int> above;                  // child link -> joint
  std::map<int, std::vector<int>> children;  // link -> links
  for (const auto& [name, joint] : outline.joints) {
    const int parent = end_of(outline, joint, "parent"), child = end_of(outline, joint, "child");
    const auto [first, fresh] = above.emplace(child, joint);
    require(fresh, outline.at(joint) + "joint " + quote(name) + ": " + link_text(child) + " hangs on joint " +
                       quote(*outline.elements[first->second].attribute("name")) + " already, expected one parent");
    children[parent].push_back(child);
  }
  std::vector<int> roots;
  for (const auto& [name, link] : outline.links)
    if (!above.contains(link)) roots.push_back(link);
  std::sort(roots.begin(), roots.end());
  require(!roots.empty(), outline.place + ": every link hangs on another, expected one root");
  require(roots.size() == 1, roots.size() == 1
                                 ? ""
                                 : outline.at(roots[1]) + link_text(roots[1]) + ": no joint holds it, and none holds " +
                                       link_text(roots[0]) + ", expected one root");
  std::set<int> seen;
  std::vector<int> open = roots;
  while (!open.empty()) {
    const int link = open.back();
    open.pop_back();
    seen.insert(link);
    open.insert(open.end(), children[link].begin(), children[link].end());
  }
  for (const auto& [name, link] : outline.links)
    require(seen.contains(link), outline.at(link) + link_text(link) + ": is in a loop of joints, expected a tree");
  return *outline.elements[roots[0]].attribute("name");
}

/// urdfdom puts names into messages that it gives to printf as the format: it gets each % twice, and prints one.
std::string double_percents(const std::string& name) {
  std::string out;
  for (const char c : name) out.append(c == '%' ? 2 : 1, c);
  return out;
}

/// A name as the file has it, from the one that urdfdom has.
std::string halve_percents(const std::string& name) {
  std::string out;
  for (std::size_t i = 0; i < name.size(); ++i) {
    out += name[i];
    if (name.compare(i, 2, "%%") == 0) ++i;
  }
  return out;
}

/// urdfdom 3 knows no capsules: they pass as cylinders. Bytes that are no UTF-8 (comments in Latin 1) become '?', since
/// TinyXML stumbles over them, and % becomes %%.
std::string make_text_for_urdfdom(const std::string& text, const Outline& outline) {
  std::map<std::size_t, std::size_t> renamed;  // position -> length of the old name
  for (const int element : outline.capsules) {
    const XmlElement& e = outline.elements[element];
    renamed[e.open_name] = e.name.size();
    if (e.close_name > 0) renamed[e.close_name] = e.name.size();
  }
  std::string out;
  for (std::size_t i = 0; i < text.size();) {
    if (const auto found = renamed.find(i); found != renamed.end()) {
      out += "cylinder";
      i += found->second;
      continue;
    }
    const std::size_t percent = text[i] == '%' ? 1 : character_reference(text, i, '%');
    if (percent > 0) {
      out += "%%";
      i += percent;
      continue;
    }
    const auto c = static_cast<unsigned char>(text[i]);
    const std::size_t length = c < 0x80                ? 1
                               : c >= 0xc2 && c < 0xe0 ? 2
                               : c >= 0xe0 && c < 0xf0 ? 3
                               : c >= 0xf0 && c < 0xf5 ? 4
                                                       : 0;
    bool valid = length > 0 && i + length <= text.size();
    for (std::size_t k = 1; valid && k < length; ++k)
      valid = (static_cast<unsigned char>(text[i + k]) & 0xc0U) == 0x80U;
    if (valid) out.append(text, i, length);
    if (!valid) out += '?';
    i += valid ? length : 1;
  }
  return out;
}

/// urdfdom has it under another name.
constexpr const char* kNameLost =
    ": cannot be read, its name is no UTF-8 text; expected one without such bytes and &#...;";

/// Keeps what urdfdom would print.
class Listener : public console_bridge::OutputHandler {
 public:
  void log(const std::string& text, console_bridge::LogLevel level, const char* /*file*/, int /*line*/) override {
    if (level >= console_bridge::CONSOLE_BRIDGE_LOG_ERROR) errors.push_back(text);
  }
  std::vector<std::string> errors;
};

/// The line of the first link or joint that the message names, if any.
std::string place_of(const Outline& outline, const std::string& message) {
  for (const auto& [what, names] : {std::pair("link", &outline.links), std::pair("joint", &outline.joints)})
    for (const auto& [name, element] : *names)
      for (const char* quotes : {"[]", "''", "\"\""})
        if (message.find(quotes[0] + name + quotes[1]) != std::string::npos ||
            message.find(quotes[0] + double_percents(name) + quotes[1]) != std::string::npos)
          return outline.at(element) + what + " " + quote(name) + ": ";
  return outline.place + ": ";
}

std::string one_line(std::string text) {
  for (char& c : text)
    if (static_cast<unsigned char>(c) < 0x20) c = ' ';
  return text.substr(0, 400);
}

urdf::ModelInterfaceSharedPtr parse_with_urdfdom(const std::string& text, const Outline& outline) {
  static std::mutex mutex;  // the console is one for the process
  Listener listener;
  urdf::ModelInterfaceSharedPtr model;
  {
    const std::lock_guard lock(mutex);
    console_bridge::OutputHandler* previous = console_bridge::getOutputHandler();
    console_bridge::useOutputHandler(&listener);
    try {
      model = urdf::parseURDF(text);
    } catch (const std::exception& error) {
      listener.errors.emplace_back(error.what());
    }
    console_bridge::useOutputHandler(previous);
  }
  // It leaves out what it cannot read and goes on; half a link is no robot.
  if (model && listener.errors.empty()) return model;
  std::string all, said;
  for (std::size_t i = 0; i < listener.errors.size(); ++i) {
    all += listener.errors[i] + "\n";
    if (i < 3) said += (said.empty() ? "" : "; ") + one_line(halve_percents(listener.errors[i]));
  }
  throw Error(place_of(outline, all) + (said.empty() ? "not a robot" : said));
}

Vec3 to_vec(const urdf::Vector3& v) { return {v.x, v.y, v.z}; }

Pose to_pose(const urdf::Pose& pose) {
  double x = 0.0, y = 0.0, z = 0.0, w = 1.0;
  pose.rotation.getQuaternion(x, y, z, w);
  return {quaternion_to_matrix(Vec4(w, x, y, z).normalized()), to_vec(pose.position)};
}

UrdfShape to_shape(const urdf::GeometrySharedPtr& geometry, const urdf::Pose& origin, const Outline& outline,
                   int element) {
  UrdfShape shape;
  shape.line = outline.elements[element].line;
  shape.X_LG = to_pose(origin);
  require(geometry != nullptr, outline.at(element) + "no geometry, expected one");
  if (const auto* box = dynamic_cast<const urdf::Box*>(geometry.get())) {
    shape.kind = UrdfShapeKind::kBox;
    shape.size = to_vec(box->dim);
  } else if (const auto* sphere = dynamic_cast<const urdf::Sphere*>(geometry.get())) {
    shape.kind = UrdfShapeKind::kSphere;
    shape.size = Vec3(sphere->radius, 0.0, 0.0);
  } else if (const auto* cylinder = dynamic_cast<const urdf::Cylinder*>(geometry.get())) {
    const bool capsule = std::any_of(outline.capsules.begin(), outline.capsules.end(), [&](int e) {
      return outline.elements[outline.elements[e].parent].parent == element;
    });
    shape.kind = capsule ? UrdfShapeKind::kCapsule : UrdfShapeKind::kCylinder;
    shape.size = Vec3(cylinder->radius, cylinder->length, 0.0);
  } else if (const auto* mesh = dynamic_cast<const urdf::Mesh*>(geometry.get())) {
    shape.kind = UrdfShapeKind::kMesh;
    shape.mesh = halve_percents(mesh->filename);
    shape.scale = to_vec(mesh->scale);
  } else {
    throw Error(outline.at(element) + "a geometry of an unknown kind, expected box, sphere, cylinder, capsule or mesh");
  }
  return shape;
}

UrdfLink to_link(const urdf::Link& from, const Outline& outline) {
  UrdfLink link;
  link.name = halve_percents(from.name);
  const int element = outline.links.at(link.name);
  link.line = outline.elements[element].line;
  if (from.inertial) {
    const urdf::Inertial& i = *from.inertial;
    const Pose X = to_pose(i.origin);
    Mat3 I;
    I << i.ixx, i.ixy, i.ixz, i.ixy, i.iyy, i.iyz, i.ixz, i.iyz, i.izz;
    link.has_inertial = true;
    link.mass = i.mass;
    link.com = X.p;
    const Mat3 turned = X.R * I * X.R.transpose();
    link.inertia = 0.5 * (turned + turned.transpose());
  }
  const auto shapes = [&](const auto& array, const std::map<int, std::vector<int>>& places,
                          std::vector<UrdfShape>& to) {
    const auto found = places.find(element);
    for (std::size_t k = 0; k < array.size(); ++k) {
      const bool known = found != places.end() && k < found->second.size();
      to.push_back(to_shape(array[k]->geometry, array[k]->origin, outline, known ? found->second[k] : element));
    }
  };
  shapes(from.collision_array, outline.collisions, link.collisions);
  shapes(from.visual_array, outline.visuals, link.visuals);
  for (std::size_t k = 0; k < link.visuals.size(); ++k) {
    const urdf::MaterialSharedPtr& material = from.visual_array[k]->material;
    if (material && material->texture_filename.empty())
      link.visuals[k].color = Color{material->color.r, material->color.g, material->color.b, material->color.a};
  }
  return link;
}

UrdfJointKind to_kind(const urdf::Joint& joint, const std::string& place) {
  switch (joint.type) {
    case urdf::Joint::FIXED:
      return UrdfJointKind::kFixed;
    case urdf::Joint::REVOLUTE:
      return UrdfJointKind::kRevolute;
    case urdf::Joint::CONTINUOUS:
      return UrdfJointKind::kContinuous;
    case urdf::Joint::PRISMATIC:
      return UrdfJointKind::kPrismatic;
    case urdf::Joint::FLOATING:
      return UrdfJointKind::kFloating;
    case urdf::Joint::PLANAR:
      return UrdfJointKind::kPlanar;
    default:
      throw Error(place + "type unknown, expected fixed, revolute, continuous, prismatic, floating or planar");
  }
}

/// Whether the joint's <limit> has a lower or an upper end.
bool gives_range(const Outline& outline, int joint) {
  for (int i = joint + 1; i < static_cast<int>(outline.elements.size()); ++i) {
    const XmlElement& e = outline.elements[i];
    if (e.parent < joint) break;
    if (e.parent == joint && e.name == "limit")
      return e.attribute("lower") != nullptr || e.attribute("upper") != nullptr;
  }
  return false;
}

UrdfJoint to_joint(const urdf::Joint& from, const Outline& outline, const std::map<std::string, int>& links,
                   const std::map<std::string, int>& joints) {
  UrdfJoint joint;
  joint.name = halve_percents(from.name);
  const int element = outline.joints.at(joint.name);
  joint.line = outline.elements[element].line;
  const std::string place = outline.at(element) + "joint " + quote(joint.name) + ": ";
  joint.kind = to_kind(from, place);
  joint.parent = index_of(links, halve_percents(from.parent_link_name), place, "parent link");
  joint.child = index_of(links, halve_percents(from.child_link_name), place, "child link");
  joint.X_PJ = to_pose(from.parent_to_joint_origin_transform);
  joint.axis = to_vec(from.axis);
  if (from.limits) {
    const urdf::JointLimits& l = *from.limits;
    joint.limits = UrdfLimits{l.lower, l.upper, l.effort, l.velocity};
    // By the letter both are 0 then, and a pendulum could not swing; Drake, too, takes it as no limit.
    if (!gives_range(outline, element)) joint.limits->lower = -kInfinity, joint.limits->upper = kInfinity;
  }
  if (from.dynamics) {
    joint.damping = from.dynamics->damping;
    joint.friction = from.dynamics->friction;
  }
  if (from.mimic) {
    const std::string name = halve_percents(from.mimic->joint_name);
    const auto found = joints.find(name);
    joint.mimic =
        UrdfMimic{name, found == joints.end() ? -1 : found->second, from.mimic->multiplier, from.mimic->offset};
  }
  return joint;
}

}  // namespace

UrdfDocument parse_urdf(const std::string& text, const std::string& place) {
  require(text.size() <= kMaxBytes,
          place + ": has " + std::to_string(text.size() >> 20U) + " MB, expected at most 64 MB");
  require(text.find_first_not_of(" \t\r\n") != std::string::npos, place + ": is empty, expected a URDF file");
  const Elements elements = scan_xml(text, place);
  const Outline outline = make_outline(elements, place);
  const std::string root = check_tree(outline);
  check_urdf_numbers(elements, place);
  const urdf::ModelInterfaceSharedPtr model = parse_with_urdfdom(make_text_for_urdfdom(text, outline), outline);

  UrdfDocument document;
  document.name = halve_percents(model->getName());
  document.ignored = count_ignored(elements);
  const auto by_line = [&](const std::map<std::string, int>& names) {
    std::vector<std::pair<int, std::string>> order;
    for (const auto& [name, element] : names) order.emplace_back(element, name);
    std::sort(order.begin(), order.end());
    return order;
  };
  std::map<std::string, int> links, joints;
  for (const auto& [element, name] : by_line(outline.links)) {
    const urdf::LinkConstSharedPtr link = model->getLink(double_percents(name));
    require(link != nullptr, outline.at(element) + "link " + quote(name) + kNameLost);
    links[name] = static_cast<int>(document.links.size());
    document.links.push_back(to_link(*link, outline));
  }
  for (const auto& [element, name] : by_line(outline.joints)) joints.emplace(name, static_cast<int>(joints.size()));
  for (const auto& [element, name] : by_line(outline.joints)) {
    const urdf::JointConstSharedPtr joint = model->getJoint(double_percents(name));
    require(joint != nullptr, outline.at(element) + "joint " + quote(name) + kNameLost);
    document.joints.push_back(to_joint(*joint, outline, links, joints));
  }
  read_gazebo(elements, text, place, document);
  document.root = links.at(root);
  for (int j = 0; j < static_cast<int>(document.joints.size()); ++j)
    document.links[document.joints[j].parent].child_joints.push_back(j);
  for (UrdfLink& link : document.links)
    std::sort(link.child_joints.begin(), link.child_joints.end(),
              [&](int a, int b) { return document.joints[a].name < document.joints[b].name; });
  return document;
}

}  // namespace almond
