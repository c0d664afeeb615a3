#pragma once
// A URDF text as plain structs: what is in it, checked to be a tree, before anything is built of it.

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "almond/base/pose.hpp"
#include "almond/model/look.hpp"

namespace almond {

enum class UrdfShapeKind : std::uint8_t { kBox, kSphere, kCylinder, kCapsule, kMesh };

struct UrdfShape {
  UrdfShapeKind kind = UrdfShapeKind::kBox;
  Pose X_LG;                   // in the link
  Vec3 size = Vec3::Zero();    // box: edge lengths; others: radius, length (of a capsule: without its ends)
  std::string mesh;            // as in the file: package://...
  Vec3 scale = Vec3::Ones();   // of the mesh
  std::optional<Color> color;  // of a visual
  int line = 0;
};

struct UrdfLink {
  std::string name;
  int line = 0;
  bool has_inertial = false;
  double mass = 0.0;
  Vec3 com = Vec3::Zero();      // in the link
  Mat3 inertia = Mat3::Zero();  // about the centre of mass, link axes
  std::vector<UrdfShape> collisions, visuals;
  std::optional<double> friction;  // of its collisions, from <gazebo>
  std::vector<int> child_joints;   // sorted by name
};

enum class UrdfJointKind : std::uint8_t { kFixed, kRevolute, kContinuous, kPrismatic, kFloating, kPlanar };

struct UrdfLimits {
  double lower, upper;  // infinite where the file gives neither
  double effort, velocity;
};

struct UrdfMimic {
  std::string name;
  int joint;  // -1: there is none of that name
  double ratio, offset;
};

struct UrdfJoint {
  std::string name;
  int line = 0;
  UrdfJointKind kind = UrdfJointKind::kFixed;
  int parent = -1, child = -1;  // links
  Pose X_PJ;
  Vec3 axis = Vec3::UnitX();
  std::optional<UrdfLimits> limits;
  double damping = 0.0, friction = 0.0;
  std::optional<UrdfMimic> mimic;
};

struct UrdfDocument {
  std::string name;
  std::vector<UrdfLink> links;    // in the order of the file
  std::vector<UrdfJoint> joints;  // in the order of the file
  int root = -1;
  std::map<std::string, int> ignored;  // elements that nothing is made of
  std::vector<std::string> said;       // what its user should know of
};

struct XmlElement;
/// Friction of links; other <gazebo> elements are counted as ignored.
void read_gazebo(const std::vector<XmlElement>& elements, const std::string& text, const std::string& place,
                 UrdfDocument& document);  // urdf_gazebo.cpp

/// Throws Error, with place and line, for a number that urdfdom would not take. It puts such words into messages that
/// it then gives to printf as the format, so it gets none of them. urdf_numbers.cpp
void check_urdf_numbers(const std::vector<XmlElement>& elements, const std::string& place);

/// `place` is the file's name in messages. Throws Error with place, line and element for anything wrong.
[[nodiscard]] UrdfDocument parse_urdf(const std::string& text, const std::string& place);

}  // namespace almond
