#pragma once
// Model: what the world is made of. Flat arrays, immutable once a ModelBuilder has built it.
//
// Every body hangs on its parent (or the ground) by one joint, so body and joint share an index, parents come first.
//   X_PB(q) = X_PJ · joint(q),    revolute: rotation by q about `axis` through `anchor`, both in the body's frame.
//
// Generalised positions q and velocities v, by joint kind:
//   fixed       q: -                          v: -
//   revolute    q: angle [rad]                v: rate                     (continuous: the same without limits)
//   prismatic   q: travel along axis [m]      v: rate
//   ball        q: quaternion w x y z of the body in the joint frame      v: angular velocity in the joint frame's axes
//   free        q: position of the body's origin, quaternion w x y z, in the parent's joint frame; the parent is the
//   ground
//               v: velocity of the body's *centre of mass*, angular velocity, both in world axes
//
// A *subsystem* is a tree of moving bodies rooted at the ground; its velocities are contiguous. Bodies that cannot move
// (welded to the ground, directly or through others) belong to none.

#include <limits>
#include <string>
#include <utility>
#include <vector>

#include "almond/base/pose.hpp"
#include "almond/model/shape.hpp"

namespace almond {

inline constexpr double kShortestTimeStep = 1e-9, kLongestTimeStep = 10.0;  // [s]: of what moves, not of atoms or stars

inline constexpr int kGround = -1;

enum class JointKind : std::uint8_t { kFixed, kFree, kBall, kRevolute, kContinuous, kPrismatic };
[[nodiscard]] const char* to_string(JointKind kind);
[[nodiscard]] int num_positions(JointKind kind);
[[nodiscard]] int num_velocities(JointKind kind);

struct Joint {
  std::string name;
  JointKind kind = JointKind::kFree;
  Pose X_PJ;                   // joint frame in the parent, where the body is at q = 0
  Vec3 axis = Vec3::UnitZ();   // unit, in the body's frame
  Vec3 anchor = Vec3::Zero();  // point of the axis, or centre of a ball joint, in the body's frame [m]
  double lower = -kInfinity, upper = kInfinity;  // [rad or m], hard; of a ball joint `upper`, of its rotation angle
  double damping = 0.0;                          // [N m s/rad or N s/m], implicit
  double armature = 0.0;                         // rotor inertia seen at the joint [kg m² or kg]
  double dry_friction = 0.0;                     // [N m or N]
  double stiffness = 0.0, rest = 0.0;            // spring to q = rest, implicit; revolute and prismatic only
  int q_begin = 0, v_begin = 0;                  // first entries in q and v
};

struct Body {
  std::string name;
  int parent = kGround;
  double mass = 0.0;            // [kg]
  Vec3 com = Vec3::Zero();      // centre of mass in the body's frame [m]
  Mat3 inertia = Mat3::Zero();  // about the centre of mass, body axes [kg m²]
  double gravcomp = 0.0;        // share of the weight that a force at the centre of mass takes off; 1: all
  int subsystem = -1;           // -1: cannot move
  int local = -1;               // index among the bodies of its subsystem
  int weld = kGround;           // the body at the root of those welded together with this one; kGround: static
};

struct Material {
  double mu = 0.5;           // friction coefficient [-]
  double restitution = 0.0;  // Newton's coefficient in [0, 1]
  bool smooth = false;       // no friction against another smooth one, whatever mu says
  int priority = 0;          // the friction of the higher of two counts alone
};

/// How two materials of one priority make one. Restitution is always the larger one.
enum class Combine : std::uint8_t { kGeometricMean, kMaximum, kMinimum };

struct Geom {
  std::string name;
  int body = kGround;
  Pose X_BG;
  Shape shape;
  Material material;
  std::uint32_t group = 1;  // a pair collides if each one's group meets the other's mask
  std::uint32_t mask = 0xffffffffU;
  double radius = 0.0;                    // about the geom's origin; infinite for a plane
  std::shared_ptr<const SdfSolid> solid;  // the shape as a signed distance function, where the model has any such
};

enum class DriveMode : std::uint8_t {
  kTorque,     // effort = feedforward
  kPosition,   // effort = k (target - q) - d v + feedforward
  kVelocity,   // effort = d (target_velocity - v) + feedforward
  kImpedance,  // effort = k (target - q) + d (target_velocity - v) + feedforward + gravity and bias of the tree
};
[[nodiscard]] const char* to_string(DriveMode mode);

/// A linear combination of joint positions, x = Σ coefficient q: coupled fingers, differentials.
struct Tendon {
  std::string name;
  std::vector<std::pair<int, double>> terms;     // (joint of one dof, coefficient), of at most two trees
  double lower = -kInfinity, upper = kInfinity;  // of x, hard
  double stiffness = 0.0, damping = 0.0;         // spring outside rest_lower to rest_upper, damper
  double rest_lower = 0.0, rest_upper = 0.0;
  double dry_friction = 0.0;
};

/// A motor on a joint of one dof, or on a tendon: then q and v above are the tendon's. All of it is solved implicitly,
/// together with the contacts.
struct Drive {
  std::string name;             // may be empty: the joint's or the tendon's
  int joint = -1, tendon = -1;  // one of them
  DriveMode mode = DriveMode::kTorque;
  double stiffness = 0.0;                                         // k [N m/rad or N/m]
  double damping = 0.0;                                           // d [N m s/rad or N s/m]
  double effort_limit = kInfinity, effort_middle = 0.0;           // effort stays in middle ± limit [N m or N]
  double target = 0.0, target_velocity = 0.0, feedforward = 0.0;  // inputs at the start
};

/// Spring and damper between two points: force along the line between them.
struct Spring {
  std::string name;
  int body_a = kGround, body_b = kGround;
  Vec3 point_a = Vec3::Zero(), point_b = Vec3::Zero();  // in the bodies' frames [m]
  double stiffness = 0.0;                               // [N/m]
  double damping = 0.0;                                 // [N s/m]
  double rest_length = 0.0;                             // [m]
};

enum class ClosureKind : std::uint8_t {
  kConnect,  // point_a of body a stays on point_b of body b: 3 rows
  kWeld,     // frame X_a of body a stays on frame X_b of body b: 6 rows
  kMimic,    // q(joint a) = ratio q(joint b) + offset: 1 row
  kTendon,   // x(tendon a) = ratio x(tendon b) + offset: 1 row
};

/// An equality constraint that closes a loop.
struct Closure {
  std::string name;
  ClosureKind kind = ClosureKind::kConnect;
  int a = kGround, b = kGround;  // bodies; kMimic: joints; kTendon: tendons
  Pose X_a, X_b;                 // kConnect uses the points only
  double ratio = 1.0, offset = 0.0;
};

/// Two geoms (a < b) that collide whatever groups and adjacency say, with this material.
struct GeomPair {
  int a = -1, b = -1;
  Material material;
};

/// A tree of moving bodies rooted at the ground.
struct TreeInfo {
  std::vector<int> bodies;      // parent before child
  std::vector<int> parent;      // (bodies) local index, -1: ground or a static body
  std::vector<int> dof_offset;  // (bodies + 1), local
  int v_begin = 0, dofs = 0;
  bool single = false;  // one free body: the light path
};

struct Model {
  std::string name;
  Vec3 gravity = Vec3(0.0, 0.0, -9.81);  // [m/s²]
  double time_step = 1.0 / 240.0;        // of a run that asks for no other [s]
  Combine friction_combine = Combine::kGeometricMean;
  std::vector<Body> bodies;
  std::vector<Joint> joints;  // (bodies)
  std::vector<Geom> geoms;
  std::vector<Tendon> tendons;
  std::vector<Drive> drives;
  std::vector<Spring> springs;
  std::vector<Closure> closures;
  std::vector<TreeInfo> trees;
  std::vector<std::pair<int, int>> excluded;  // pairs of bodies (a < b, kGround allowed) that never collide, sorted
  std::vector<std::pair<int, int>> included;  // pairs of bodies that collide though they are adjacent, sorted
  std::vector<GeomPair> pairs;                // pairs of geoms with a material of their own, sorted
  VecX q0, v0;                                // the state at the start
  int num_q = 0, num_v = 0;
  std::vector<std::string> remarks;  // what is allowed and looks like a mistake, one line each

  [[nodiscard]] int num_bodies() const { return static_cast<int>(bodies.size()); }
  [[nodiscard]] int num_geoms() const { return static_cast<int>(geoms.size()); }
  /// Index by name; throws Error with the nearest known name.
  [[nodiscard]] int body(const std::string& name) const;
  [[nodiscard]] int joint(const std::string& name) const;
  [[nodiscard]] int drive(const std::string& name) const;
};

/// Whether two geoms are tested for contact at all: not on bodies welded together, not both static, not on a body and
/// the one its joint hangs on (unless included), not excluded, groups and masks met.
[[nodiscard]] bool may_collide(const Model& model, int geom_a, int geom_b);

/// x of a tendon at q.
[[nodiscard]] double tendon_position(const Model& model, const Tendon& tendon, const VecX& q);

/// Pose of a body in its joint's frame X_PJ; `q` are the joint's own positions.
[[nodiscard]] Pose make_joint_pose(const Joint& joint, const double* q);

/// Friction and restitution of a pair of geoms.
[[nodiscard]] Material combine(const Model& model, int geom_a, int geom_b);

}  // namespace almond
