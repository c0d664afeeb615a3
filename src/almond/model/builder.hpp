#pragma once
// ModelBuilder: the only way to make a Model. Everything that can be wrong with a world is found here, and said with
// the element's name, the value and what was expected.
//
//   ModelBuilder builder;
//   builder.add_ground(Plane{});
//   const int box = builder.add_solid("box", Box{{0.05, 0.05, 0.05}}, 0.1, make_translation(0, 0, 0.05));
//   const Model model = builder.build();

#include <unordered_set>

#include "almond/model/model.hpp"

namespace almond {

struct BodySpec {
  std::string name;
  int parent = kGround;
  Joint joint;  // how it hangs on the parent: free by default; X_PJ of a free joint is where the body starts
  double mass = 0.0;
  Vec3 com = Vec3::Zero();
  Mat3 inertia = Mat3::Zero();
  double gravcomp = 0.0;
  bool from_file = false;  // taken as it is, with a remark where no real body has such an inertia
};

struct GeomSpec {
  std::string name;  // may be empty: made from the body's
  int body = kGround;
  Pose X_BG;
  Shape shape = Sphere{0.5};
  Material material;
  std::uint32_t group = 1, mask = 0xffffffffU;
};

/// The joint of a body with one dof, ready for BodySpec::joint.
[[nodiscard]] Joint make_joint(JointKind kind, const Vec3& axis, const Pose& X_PJ = {}, const std::string& name = "");

class ModelBuilder {
 public:
  explicit ModelBuilder(std::string name = "model");

  void set_gravity(const Vec3& gravity);
  void set_time_step(double seconds);
  /// Gravity and time step that a file asks for. What set_gravity and set_time_step say wins, before or after; else the
  /// first file does, and a remark names those that ask for something else.
  void suggest(const std::string& file, const Vec3& gravity, double time_step);
  void set_friction_combine(Combine combine);

  /// Bodies first their parents; returns the index, which is also the joint's.
  int add_body(const BodySpec& spec);
  int add_geom(const GeomSpec& spec);
  /// A free body that fills one shape evenly. Returns the body.
  int add_solid(const std::string& name, const Shape& shape, double mass, const Pose& X_WB,
                const Material& material = {});
  /// The same on a joint of its parent, the shape at X_BG in the body: a link of a robot.
  int add_link(const std::string& name, int parent, const Joint& joint, const Shape& shape, double mass,
               const Pose& X_BG = {}, const Material& material = {});
  /// A shape that cannot move. Returns the geom.
  int add_ground(const Shape& shape, const Pose& X_WG = {}, const Material& material = {});

  int add_tendon(const Tendon& tendon);
  int add_drive(const Drive& drive);
  int add_spring(const Spring& spring);
  int add_closure(const Closure& closure);
  /// Never collide / collide though adjacent. Bodies, kGround allowed.
  void exclude(int body_a, int body_b);
  void include(int body_a, int body_b);
  /// The same by a rule of a file's format: where the pair is excluded, that counts, and is no contradiction.
  void include_by_rule(int body_a, int body_b);
  /// Collide whatever groups and adjacency say, with a material of their own. Geoms.
  void add_pair(int geom_a, int geom_b, const Material& material);

  /// Start values of one joint, sizes as in model.hpp; a free joint's velocity is that of its centre of mass.
  void set_start(int joint, const VecX& q);
  void set_start_velocity(int joint, const VecX& v);
  /// Inputs of a drive at the start.
  void set_start_inputs(int drive, double target, double target_velocity, double feedforward);
  /// A remark for where one of these joints starts outside of its limits: how to start elsewhere.
  void advise_start(const std::vector<int>& joints, const std::string& advice);

  [[nodiscard]] const Model& so_far() const { return model_; }
  /// Checks what needs the whole (massless ends of chains, closures, start values), finds the trees, and hands over.
  /// What is allowed and looks like a mistake is told in Model::remarks.
  [[nodiscard]] Model build() const;

 private:
  Model model_;
  std::vector<VecX> start_q_, start_v_;  // (joints), empty: default
  struct Suggestion {
    std::string file;
    Vec3 gravity;
    double time_step;
  };
  struct Advice {
    std::vector<int> joints;
    std::string text;
  };
  std::vector<Suggestion> suggested_;
  std::vector<Advice> advice_;
  std::vector<std::pair<int, int>> included_by_rule_;
  bool has_gravity_ = false, has_time_step_ = false;  // set by a call
  struct Names {
    std::unordered_set<std::string> body, joint, geom, tendon, drive, spring, closure;
  } names_;
};

}  // namespace almond
