// Proves that a model is refused with the element, the value and the expectation, that a refused element leaves no
// trace, and that trees, numbers and colliding pairs are as counted by hand.

#include <gtest/gtest.h>

#include "almond/model/builder.hpp"
#include "common/helpers.hpp"

namespace almond {
namespace {

using testing::error_of;

BodySpec make_link(const std::string& name, int parent = kGround, JointKind kind = JointKind::kRevolute) {
  BodySpec spec;
  spec.name = name;
  spec.parent = parent;
  spec.joint = make_joint(kind, Vec3::UnitY());
  spec.mass = 1.0;
  spec.inertia = Vec3(0.1, 0.1, 0.1).asDiagonal();
  return spec;
}

/// All that a refused element could have changed.
std::string contents(const ModelBuilder& builder) {
  const Model& m = builder.so_far();
  std::string text;
  for (const Body& body : m.bodies) text += body.name + ";";
  for (const Joint& joint : m.joints) text += joint.name + ";";
  for (const Geom& geom : m.geoms) text += geom.name + ";";
  for (const Drive& drive : m.drives) text += drive.name + ";";
  for (const Spring& spring : m.springs) text += spring.name + ";";
  for (const Closure& closure : m.closures) text += closure.name + ";";
  text += std::to_string(m.excluded.size()) + " " + std::to_string(m.included.size()) + " " + to_text(m.gravity.z());
  const Model built = builder.build();
  for (const double q : built.q0) text += " " + to_text(q);
  for (const double v : built.v0) text += " " + to_text(v);
  return text;
}

/// A free box, an arm of two links, a ball joint, a static post.
class Builder : public ::testing::Test {
 protected:
  Builder() {
    box = builder.add_solid("box", Box{Vec3(0.1, 0.1, 0.1)}, 1.0, make_translation(0.0, 0.0, 1.0));
    upper = builder.add_body(make_link("upper"));
    lower = builder.add_body(make_link("lower", upper));
    ball = builder.add_body(make_link("ball", lower, JointKind::kBall));
    post = builder.add_body(make_link("post", kGround, JointKind::kFixed));
    Drive drive;
    drive.name = "motor";
    drive.joint = upper;
    builder.add_drive(drive);
  }

  /// The action is refused with all of `words` in one line, and the model is as before.
  template <class Action>
  void refuses(Action action, const std::vector<std::string>& words) {
    const std::string before = contents(builder);
    const std::string message = error_of(action);
    EXPECT_NE(message, "") << "accepted, but expected: " << words[0];
    for (const std::string& word : words) EXPECT_NE(message.find(word), std::string::npos) << word << " in " << message;
    EXPECT_TRUE(message.find("expected") != std::string::npos || message.find("there are") != std::string::npos)
        << message;
    EXPECT_EQ(message.find('\n'), std::string::npos);
    EXPECT_EQ(contents(builder), before) << message;
  }

  template <class Change>
  void refuses_body(Change change, const std::vector<std::string>& words) {
    BodySpec spec = make_link("new");
    change(spec);
    refuses([&] { builder.add_body(spec); }, words);
    // The name is still free.
    ModelBuilder copy = builder;
    EXPECT_EQ(error_of([&] { copy.add_body(make_link("new")); }), "");
  }

  ModelBuilder builder;
  int box, upper, lower, ball, post;
};

TEST_F(Builder, RefusesMasses) {
  refuses_body([](BodySpec& s) { s.mass = -2.5; }, {"body \"new\"", "mass is -2.5", "finite and >= 0"});
  refuses_body([](BodySpec& s) { s.mass = kNaN; }, {"body \"new\"", "mass is nan"});
  refuses_body([](BodySpec& s) { s.mass = kInfinity; }, {"body \"new\"", "mass is inf", "finite and >= 0"});
  refuses_body([](BodySpec& s) { s.mass = 0.0; }, {"body \"new\"", "mass is 0", "0.1", "mass > 0"});
  refuses_body([](BodySpec& s) { s.com.x() = kNaN; }, {"body \"new\"", "centre of mass is (nan, 0, 0)", "finite"});
  for (const double mass : {0.0, -1.0, kNaN, kInfinity})
    refuses([&] { builder.add_solid("new", Sphere{0.1}, mass, {}); },
            {"body \"new\"", "mass is " + to_text(mass), "finite and > 0"});
}

TEST_F(Builder, RefusesInertias) {
  refuses_body([](BodySpec& s) { s.inertia(0, 1) = 0.05; }, {"body \"new\"", "(0.1, 0.05, 0)", "symmetric"});
  refuses_body([](BodySpec& s) { s.inertia(2, 2) = -0.1; }, {"body \"new\"", "-0.1", "> 0"});
  refuses_body([](BodySpec& s) { s.inertia.setZero(); }, {"body \"new\"", "(0, 0, 0)", "> 0"});
  refuses_body([](BodySpec& s) { s.inertia(1, 1) = kNaN; }, {"body \"new\"", "nan", "finite"});
  // Turned, so that the rule has to be checked on the principal moments.
  refuses_body(
      [](BodySpec& s) {
        const Mat3 R = exp_so3(Vec3(0.3, -0.8, 0.5));
        s.inertia = R * Vec3(0.1, 0.2, 0.31).asDiagonal() * R.transpose();
      },
      {"body \"new\"", "0.31", "sum of the others"});
  BodySpec disc = make_link("disc");  // the limit of the rule
  disc.inertia = Vec3(0.1, 0.2, 0.3).asDiagonal();
  EXPECT_EQ(error_of([&] { builder.add_body(disc); }), "");
}

TEST_F(Builder, RefusesNames) {
  refuses_body([](BodySpec& s) { s.name = ""; }, {"body 5", "empty"});
  refuses_body([](BodySpec& s) { s.name = "box"; }, {"body \"box\"", "taken", "new one"});
  refuses_body([](BodySpec& s) { s.joint.name = "lower"; }, {"joint \"lower\"", "taken"});
  GeomSpec geom;
  geom.name = builder.so_far().geoms[0].name;
  refuses([&] { builder.add_geom(geom); }, {"geom \"box/0\"", "taken"});
  Drive drive;
  drive.name = "motor";
  drive.joint = lower;
  refuses([&] { builder.add_drive(drive); }, {"drive \"motor\"", "taken"});
  Spring spring;
  spring.body_a = box;
  spring.stiffness = 1.0;
  refuses([&] { builder.add_spring(spring); }, {"spring 0", "empty"});
  Closure closure;
  closure.a = box;
  refuses([&] { builder.add_closure(closure); }, {"closure 0", "empty"});
}

TEST_F(Builder, RefusesJoints) {
  refuses_body([](BodySpec& s) { s.joint.lower = 1.2, s.joint.upper = -1.2; },
               {"joint \"new\"", "1.2 to -1.2", "lower one first"});
  refuses_body([](BodySpec& s) { s.joint.upper = kNaN; }, {"joint \"new\"", "upper is nan"});
  refuses_body([](BodySpec& s) { s.joint.lower = kInfinity; }, {"joint \"new\"", "lower is inf", "a number or -inf"});
  refuses_body([](BodySpec& s) { s.joint.upper = -kInfinity; }, {"joint \"new\"", "upper is -inf", "a number or inf"});
  refuses_body([](BodySpec& s) { s.joint.kind = static_cast<JointKind>(77); },
               {"joint \"new\"", "kind is 77", "revolute"});
  refuses_body([](BodySpec& s) { s.joint.axis.setZero(); }, {"joint \"new\"", "axis is (0, 0, 0)", "direction"});
  refuses_body([](BodySpec& s) { s.joint.axis.y() = kInfinity; }, {"joint \"new\"", "inf", "finite"});
  refuses_body([](BodySpec& s) { s.joint.X_PJ.R(0, 0) = 1.1; }, {"joint \"new\"", "X_PJ", "0.21"});
  refuses_body([](BodySpec& s) { s.joint.X_PJ.R(0, 0) = -1.0; }, {"joint \"new\"", "X_PJ", "determinant is -1"});
  refuses_body([](BodySpec& s) { s.joint.X_PJ.R(0, 0) = kNaN; }, {"joint \"new\"", "X_PJ"});
  refuses_body([](BodySpec& s) { s.joint.X_PJ.p.z() = kNaN; }, {"joint \"new\"", "X_PJ", "nan"});
  refuses_body([](BodySpec& s) { s.joint.anchor.z() = kNaN; }, {"joint \"new\"", "anchor", "nan"});
  for (const JointKind kind : {JointKind::kBall, JointKind::kContinuous, JointKind::kFree, JointKind::kFixed})
    refuses_body([&](BodySpec& s) { s.joint.kind = kind, s.joint.lower = -1.0; },
                 {"joint \"new\"", to_string(kind), "limits", "none"});
  refuses_body([&](BodySpec& s) { s.parent = box, s.joint.kind = JointKind::kFree; },
               {"joint \"new\"", "free", "ground"});
  refuses_body([](BodySpec& s) { s.joint.damping = -0.25; }, {"joint \"new\"", "damping is -0.25", ">= 0"});
  refuses_body([](BodySpec& s) { s.joint.armature = kInfinity; },
               {"joint \"new\"", "armature is inf", "finite and >= 0"});
  refuses_body([](BodySpec& s) { s.joint.dry_friction = kNaN; }, {"joint \"new\"", "dry_friction is nan", ">= 0"});
  refuses_body([](BodySpec& s) { s.joint.stiffness = -3.0; }, {"joint \"new\"", "stiffness is -3", ">= 0"});
  refuses_body([](BodySpec& s) { s.joint.rest = kNaN; }, {"joint \"new\"", "rest is nan"});
  refuses_body([](BodySpec& s) { s.joint.kind = JointKind::kBall, s.joint.stiffness = 1.0; },
               {"joint \"new\"", "stiffness is 1 on a ball joint", "expected 0"});
  const std::pair<double Joint::*, const char*> fields[] = {{&Joint::damping, "damping"},
                                                            {&Joint::armature, "armature"},
                                                            {&Joint::dry_friction, "dry_friction"},
                                                            {&Joint::stiffness, "stiffness"}};
  for (const JointKind kind : {JointKind::kFree, JointKind::kFixed})
    for (const auto& [field, name] : fields)
      refuses_body([&, member = field](BodySpec& s) { s.joint.kind = kind, s.joint.*member = 1.0; },
                   {"joint \"new\"", std::string(name) + " is 1 on a " + to_string(kind) + " joint", "expected 0"});
}

TEST_F(Builder, RefusesIndices) {
  for (const int index : {-2, 5, 1000}) {
    const std::string text = " " + std::to_string(index) + " does not exist";
    refuses_body([&](BodySpec& s) { s.parent = index; }, {"body \"new\"", "parent" + text, "there are 5"});
    GeomSpec geom;
    geom.name = "shape";
    geom.body = index;
    refuses([&] { builder.add_geom(geom); }, {"geom \"shape\"", "body" + text});
    Spring spring;
    spring.name = "spring";
    spring.body_b = index;
    spring.stiffness = 1.0;
    refuses([&] { builder.add_spring(spring); }, {"spring \"spring\"", "body" + text});
    Closure closure;
    closure.name = "tie";
    closure.b = index;
    refuses([&] { builder.add_closure(closure); }, {"closure \"tie\"", "body" + text});
    refuses([&] { builder.exclude(box, index); }, {"excluded pair", "body" + text});
    refuses([&] { builder.include(index, box); }, {"included pair", "body" + text});
    refuses([&] { builder.set_start(index, VecX::Zero(1)); }, {"start", "joint" + text});
    refuses([&] { builder.set_start_velocity(index, VecX::Zero(1)); }, {"start velocity", "joint" + text});
  }
  Drive drive;
  drive.name = "new";
  drive.joint = -1;  // the ground has no joint
  refuses([&] { builder.add_drive(drive); }, {"drive \"new\"", "joint -1 does not exist", "there are 5"});
  // What has no name is called by its number.
  drive.name.clear();
  refuses([&] { builder.add_drive(drive); }, {"drive 1: joint -1 does not exist"});
  GeomSpec geom;
  geom.body = 9;
  refuses([&] { builder.add_geom(geom); }, {"geom 1: body 9 does not exist"});
  refuses([&] { builder.add_solid("", Sphere{-1.0}, 1.0, {}); }, {"body 5: radius is -1"});
}

TEST_F(Builder, RefusesGeoms) {
  const auto refuses_geom = [&](auto change, const std::vector<std::string>& words) {
    GeomSpec geom;
    geom.name = "shape";
    change(geom);
    refuses([&] { builder.add_geom(geom); }, words);
  };
  refuses_geom([](GeomSpec& g) { g.material.mu = -0.1; }, {"geom \"shape\"", "mu is -0.1", ">= 0"});
  refuses_geom([](GeomSpec& g) { g.material.mu = kInfinity; }, {"geom \"shape\"", "mu is inf", "finite and >= 0"});
  refuses_geom([](GeomSpec& g) { g.material.restitution = 1.5; }, {"geom \"shape\"", "restitution is 1.5", "0 to 1"});
  refuses_geom([](GeomSpec& g) { g.material.restitution = kNaN; }, {"geom \"shape\"", "restitution is nan", "0 to 1"});
  refuses_geom([](GeomSpec& g) { g.X_BG.R *= 2.0; }, {"geom \"shape\"", "X_BG", "3"});
  refuses_geom([](GeomSpec& g) { g.shape = Sphere{-1.0}; }, {"geom \"shape\"", "-1"});
  refuses_geom([](GeomSpec& g) { g.shape = Box{Vec3(1.0, 0.0, 1.0)}; }, {"geom \"shape\"", "0"});
  // A solid is refused as a whole, with its body.
  refuses([&] { builder.add_solid("new", Sphere{0.1}, 1.0, {}, Material{-1.0, 0.0}); }, {"geom \"new/1\"", "mu is -1"});
  refuses([&] { builder.add_solid("new", Sphere{0.0}, 1.0, {}); }, {"body \"new\"", "0"});
  for (const Shape& shape : {Shape(Plane{}), Shape(HeightField{std::make_shared<const HeightGrid>(
                                                 HeightGrid{2, 2, 1.0, 1.0, std::vector<double>(4, 0.0)})})})
    refuses([&] { builder.add_solid("new", shape, 1.0, {}); },
            {"body \"new\"", std::string("a ") + shape_name(shape) + " has no finite volume", "expected a solid"});
  const Joint hinge = make_joint(JointKind::kRevolute, Vec3::UnitY(), {}, "hinge");
  refuses([&] { builder.add_link("new", lower, hinge, Sphere{0.1}, 1.0, {}, Material{-1.0, 0.0}); }, {"mu is -1"});
  refuses([&] { builder.add_link("new", lower, hinge, Sphere{0.1}, 1.0, make_translation(kNaN, 0.0, 0.0)); },
          {"body \"new\"", "X_BG", "nan"});
  refuses([&] { builder.add_link("new", 17, hinge, Sphere{0.1}, 1.0); }, {"body \"new\"", "parent 17 does not exist"});
  EXPECT_EQ(error_of([&] { builder.add_link("link", lower, hinge, Sphere{0.1}, 1.0); }), "");
  EXPECT_EQ(error_of([&] { builder.add_solid("new", Sphere{0.1}, 1.0, {}); }), "");
}

TEST_F(Builder, ALinkHasTheInertiaOfItsShapeWhereItIs) {
  const Vec3 h(0.2, 0.03, 0.02), at(0.3, 0.1, -0.2);
  const double mass = 1.7;
  const Pose X = make_rotation(Vec3(1.0, 2.0, -1.0).normalized(), 0.7, at);
  const int link = builder.add_link("link", upper, make_joint(JointKind::kPrismatic, Vec3::UnitX()), Box{h}, mass, X);
  const Body& body = builder.so_far().bodies[link];
  EXPECT_EQ(body.parent, upper);
  EXPECT_EQ(builder.so_far().joints[link].kind, JointKind::kPrismatic);
  EXPECT_LT((body.com - at).norm(), 1e-15);
  // About any axis: ∑ a² m/3 (h² - hₖ²) over the edges, with the axis's components a along them.
  const Vec3 axis = Vec3(0.3, -0.5, 0.8).normalized(), along = X.R.transpose() * axis;
  const double exact = mass / 3.0 * (h.squaredNorm() - along.cwiseProduct(h).squaredNorm());
  EXPECT_NEAR(axis.dot(body.inertia * axis), exact, 1e-15);
  EXPECT_LT((builder.so_far().geoms.back().X_BG.p - at).norm(), 1e-15);
}

TEST_F(Builder, SaysWhatOverflows) {
  // The square of a size is needed everywhere, its fifth power for an inertia.
  const std::string square = error_of([&] { builder.add_ground(Sphere{1e200}); });
  EXPECT_EQ(square,
            "geom \"ground/1\": the sphere reaches 1e+200 m from its origin, the square of which overflows, expected a "
            "smaller one");
  const auto refuses_solid = [&](const Shape& shape, double mass, const std::vector<std::string>& words) {
    refuses([&] { builder.add_solid("new", shape, mass, {}); }, words);
    EXPECT_EQ(error_of([&] { builder.add_solid("new", shape, mass, {}); }).find("nan"), std::string::npos);
  };
  const Vec3 edges = Vec3::Constant(1e70);
  refuses_solid(Sphere{1e200}, 1.0, {"body \"new\"", "1e+200 m", "overflows"});
  refuses_solid(Box{edges}, 1.0, {"body \"new\"", "inertia of a box", "1.73205e+70 m", "overflows"});
  refuses_solid(ConvexMesh{make_polytope(
                    {Vec3::Zero(), edges.x() * Vec3::UnitX(), edges.x() * Vec3::UnitY(), edges.x() * Vec3::UnitZ()})},
                1.0, {"body \"new\"", "inertia of a convex mesh", "overflows"});
  refuses_solid(Sphere{1e-70}, 1.0, {"body \"new\"", "inertia of a sphere", "1e-70 m", "underflows"});
  refuses_solid(Sphere{1e10}, 1e300, {"body \"new\"", "a sphere of mass 1e+300", "overflows"});
}

TEST_F(Builder, RefusesDrivesSpringsClosures) {
  const auto refuses_drive = [&](auto change, const std::vector<std::string>& words) {
    Drive drive;
    drive.name = "new";
    drive.joint = lower;
    change(drive);
    refuses([&] { builder.add_drive(drive); }, words);
  };
  refuses_drive([&](Drive& d) { d.joint = box; }, {"drive \"new\"", "joint \"box\" is free", "revolute"});
  refuses_drive([&](Drive& d) { d.joint = ball; }, {"drive \"new\"", "joint \"ball\" is ball", "revolute"});
  refuses_drive([&](Drive& d) { d.joint = post; }, {"drive \"new\"", "joint \"post\" is fixed", "revolute"});
  refuses_drive([](Drive& d) { d.stiffness = -1.0; }, {"drive \"new\"", "stiffness is -1", ">= 0"});
  refuses_drive([](Drive& d) { d.damping = kNaN; }, {"drive \"new\"", "damping is nan", ">= 0"});
  refuses_drive([](Drive& d) { d.effort_limit = 0.0; }, {"drive \"new\"", "effort_limit is 0", "> 0"});
  refuses_drive([](Drive& d) { d.effort_limit = kNaN; }, {"drive \"new\"", "effort_limit is nan", "> 0"});
  refuses_drive([](Drive& d) { d.target = kInfinity; }, {"drive \"new\"", "target is inf"});
  refuses_drive([](Drive& d) { d.feedforward = kNaN; }, {"drive \"new\"", "feedforward is nan"});
  refuses_drive([](Drive& d) { d.mode = static_cast<DriveMode>(9); },
                {"drive \"new\"", "mode is 9", "torque, position, velocity or impedance"});
  refuses_drive([](Drive& d) { d.mode = DriveMode::kPosition, d.damping = 1.0; },
                {"drive \"new\"", "stiffness is 0", "> 0 for a position drive"});
  refuses_drive([](Drive& d) { d.mode = DriveMode::kVelocity, d.stiffness = 1.0; },
                {"drive \"new\"", "damping is 0", "> 0 for a velocity drive"});

  const auto refuses_spring = [&](auto change, const std::vector<std::string>& words) {
    Spring spring;
    spring.name = "new";
    spring.body_b = box;
    spring.stiffness = 1.0;
    change(spring);
    refuses([&] { builder.add_spring(spring); }, words);
  };
  refuses_spring([&](Spring& s) { s.body_a = box; }, {"spring \"new\"", "one body", "two"});
  refuses_spring([](Spring& s) { s.stiffness = -1.0; }, {"spring \"new\"", "stiffness is -1"});
  refuses_spring([](Spring& s) { s.stiffness = 0.0; }, {"spring \"new\"", "0", "> 0"});
  refuses_spring([](Spring& s) { s.rest_length = -0.1; }, {"spring \"new\"", "rest_length is -0.1"});
  refuses_spring([](Spring& s) { s.point_a.x() = kNaN; }, {"spring \"new\"", "point_a", "nan"});

  const auto refuses_closure = [&](auto change, const std::vector<std::string>& words) {
    Closure closure;
    closure.name = "new";
    closure.a = upper;
    closure.b = box;
    change(closure);
    refuses([&] { builder.add_closure(closure); }, words);
  };
  refuses_closure([&](Closure& c) { c.b = upper; }, {"closure \"new\"", "on itself", "two"});
  refuses_closure([](Closure& c) { c.kind = static_cast<ClosureKind>(4); },
                  {"closure \"new\"", "kind is 4", "connect, weld, mimic or tendon"});
  refuses_closure([&](Closure& c) { c.kind = ClosureKind::kMimic, c.b = upper; },
                  {"closure \"new\"", "joint on itself"});
  refuses_closure([&](Closure& c) { c.kind = ClosureKind::kMimic; },
                  {"closure \"new\"", "\"box\" is free", "revolute"});
  refuses_closure([&](Closure& c) { c.kind = ClosureKind::kMimic, c.b = kGround; }, {"closure \"new\"", "joint -1"});
  refuses_closure([](Closure& c) { c.X_a.R.setZero(); }, {"closure \"new\"", "X_a"});
  refuses_closure([](Closure& c) { c.X_b.p.y() = kInfinity; }, {"closure \"new\"", "X_b", "inf"});
  refuses_closure([](Closure& c) { c.ratio = kNaN; }, {"closure \"new\"", "ratio is nan"});
}

TEST_F(Builder, RefusesStartsAndGravity) {
  refuses([&] { builder.set_start(upper, VecX::Zero(2)); }, {"joint \"upper\"", "2 values", "expected 1"});
  refuses([&] { builder.set_start(upper, VecX::Constant(1, kNaN)); }, {"joint \"upper\"", "(nan)", "finite"});
  refuses([&] { builder.set_start(ball, VecX::Constant(4, 0.6)); }, {"joint \"ball\"", "norm 1.2", "expected 1"});
  VecX q = VecX::Zero(7);
  refuses([&] { builder.set_start(box, q); }, {"joint \"box\"", "norm 0", "expected 1"});
  refuses([&] { builder.set_start_velocity(box, VecX::Zero(7)); }, {"joint \"box\"", "7 values", "expected 6"});
  refuses([&] { builder.set_start_velocity(lower, VecX::Constant(1, kInfinity)); }, {"joint \"lower\"", "(inf)"});
  refuses([&] { builder.set_gravity(Vec3(0.0, kNaN, 0.0)); }, {"gravity", "(0, nan, 0)", "finite"});
  refuses([&] { builder.set_friction_combine(static_cast<Combine>(3)); }, {"friction_combine is 3", "maximum"});
}

TEST_F(Builder, RefusesMasslessEnds) {
  BodySpec spec = make_link("feather", lower);
  spec.mass = 0.0;
  spec.inertia.setZero();
  ModelBuilder copy = builder;
  const int feather = copy.add_body(spec);
  const std::string message = error_of([&] { static_cast<void>(copy.build()); });
  EXPECT_EQ(message, "body \"feather\": mass is 0 and nothing with mass hangs on it, expected mass > 0");
  copy.add_body(make_link("tip", feather));
  EXPECT_EQ(error_of([&] { static_cast<void>(copy.build()); }), "");
  spec.joint.armature = 0.1;  // a rotor is inertia enough
  EXPECT_EQ(error_of([&] { builder.add_body(spec), static_cast<void>(builder.build()); }), "");
}

TEST_F(Builder, NamesWhatMayHaveNoName) {
  Drive drive;
  drive.joint = lower;
  EXPECT_EQ(builder.so_far().drives[builder.add_drive(drive)].name, "lower");
  GeomSpec geom;
  geom.body = upper;
  EXPECT_EQ(builder.so_far().geoms[builder.add_geom(geom)].name, "upper/1");
}

TEST_F(Builder, NormalisesWhatIsNearlyUnit) {
  BodySpec spec = make_link("new");
  spec.joint.axis = Vec3(0.0, 3.0, 4.0);
  EXPECT_NEAR((builder.so_far().joints[builder.add_body(spec)].axis - Vec3(0.0, 0.6, 0.8)).norm(), 0.0, 1e-15);
  VecX q(4);
  q << 1.0 + 5e-7, 0.0, 0.0, 0.0;
  builder.set_start(ball, q);
  const Model model = builder.build();
  EXPECT_EQ(model.q0[model.joints[ball].q_begin], 1.0);
}

// ---------------------------------------------------------------- trees and numbers

TEST(Trees, InterleavedRobotsAreNumberedTreeByTree) {
  ModelBuilder builder;
  const int a = builder.add_body(make_link("a", kGround, JointKind::kFree));
  const int b = builder.add_body(make_link("b", kGround, JointKind::kRevolute));
  const int a1 = builder.add_body(make_link("a1", a, JointKind::kBall));
  const int b1 = builder.add_body(make_link("b1", b, JointKind::kPrismatic));
  const int a2 = builder.add_body(make_link("a2", a1, JointKind::kRevolute));
  const int c = builder.add_solid("c", Sphere{0.1}, 1.0, make_translation(1.0, 2.0, 3.0));
  builder.set_start(b1, VecX::Constant(1, 0.25));
  builder.set_start_velocity(a2, VecX::Constant(1, -4.0));
  const Model model = builder.build();

  ASSERT_EQ(model.trees.size(), 3U);
  EXPECT_EQ(model.trees[0].bodies, (std::vector<int>{a, a1, a2}));
  EXPECT_EQ(model.trees[0].parent, (std::vector<int>{-1, 0, 1}));
  EXPECT_EQ(model.trees[0].dof_offset, (std::vector<int>{0, 6, 9, 10}));
  EXPECT_EQ(model.trees[1].bodies, (std::vector<int>{b, b1}));
  EXPECT_EQ(model.trees[1].dof_offset, (std::vector<int>{0, 1, 2}));
  EXPECT_EQ(model.trees[2].bodies, (std::vector<int>{c}));
  const int v_begin[3] = {0, 10, 12}, dofs[3] = {10, 2, 6};
  for (int t = 0; t < 3; ++t) {
    EXPECT_EQ(model.trees[t].v_begin, v_begin[t]);
    EXPECT_EQ(model.trees[t].dofs, dofs[t]);
    EXPECT_EQ(model.trees[t].single, t == 2);
  }
  EXPECT_EQ(model.num_q, 7 + 4 + 1 + 1 + 1 + 7);
  EXPECT_EQ(model.num_v, 18);
  const int q_begin[6] = {0, 12, 7, 13, 11, 14}, first[6] = {0, 10, 6, 11, 9, 12}, local[6] = {0, 0, 1, 1, 2, 0};
  for (const int j : {a, b, a1, b1, a2, c}) {
    EXPECT_EQ(model.joints[j].q_begin, q_begin[j]) << j;
    EXPECT_EQ(model.joints[j].v_begin, first[j]) << j;
    EXPECT_EQ(model.bodies[j].local, local[j]) << j;
  }
  VecX q0(21);
  q0 << 0, 0, 0, 1, 0, 0, 0, /*a1*/ 1, 0, 0, 0, /*a2*/ 0, /*b*/ 0, /*b1*/ 0.25, /*c*/ 1, 2, 3, 1, 0, 0, 0;
  EXPECT_EQ(model.q0, q0);
  EXPECT_EQ(model.v0[9], -4.0);
  EXPECT_EQ(model.v0.cwiseAbs().sum(), 4.0);
}

TEST(Trees, WeldedAndStaticBodies) {
  ModelBuilder builder;
  const int base = builder.add_body(make_link("base", kGround, JointKind::kFixed));
  const int stand = builder.add_body(make_link("stand", base, JointKind::kFixed));
  const int arm = builder.add_body(make_link("arm", stand));
  const int tool = builder.add_body(make_link("tool", arm, JointKind::kFixed));
  const int tip = builder.add_body(make_link("tip", tool, JointKind::kFixed));
  const int finger = builder.add_body(make_link("finger", tip, JointKind::kPrismatic));
  const int second = builder.add_body(make_link("second", stand));
  const int crate = builder.add_body(make_link("crate", kGround, JointKind::kFree));
  const int lid = builder.add_body(make_link("lid", crate, JointKind::kFixed));
  const Model model = builder.build();
  for (const int b : {base, stand}) {
    EXPECT_EQ(model.bodies[b].subsystem, -1);
    EXPECT_EQ(model.bodies[b].weld, kGround);
  }
  for (const int b : {arm, tool, tip}) EXPECT_EQ(model.bodies[b].weld, arm);
  EXPECT_EQ(model.bodies[finger].weld, finger);
  EXPECT_EQ(model.bodies[lid].weld, crate);
  // Two trees on one static stand, and a free body that is no longer a single one.
  ASSERT_EQ(model.trees.size(), 3U);
  EXPECT_EQ(model.trees[0].bodies, (std::vector<int>{arm, tool, tip, finger}));
  EXPECT_EQ(model.trees[0].parent, (std::vector<int>{-1, 0, 1, 2}));
  EXPECT_EQ(model.trees[0].dof_offset, (std::vector<int>{0, 1, 1, 1, 2}));
  EXPECT_EQ(model.trees[1].bodies, (std::vector<int>{second}));
  EXPECT_FALSE(model.trees[1].single);
  EXPECT_EQ(model.trees[2].bodies, (std::vector<int>{crate, lid}));
  EXPECT_FALSE(model.trees[2].single);
  EXPECT_EQ(model.num_v, 2 + 1 + 6);
}

TEST(Trees, StartIsInsideTheLimits) {
  ModelBuilder builder;
  BodySpec spec = make_link("arm");
  spec.joint.lower = 0.5;
  spec.joint.upper = 0.7;
  builder.add_body(spec);
  EXPECT_EQ(builder.build().q0[0], 0.5);
}

TEST(Trees, FindsByNameAndProposesTheNearest) {
  ModelBuilder builder;
  builder.add_body(make_link("shoulder"));
  const Model model = builder.build();
  EXPECT_EQ(model.body("shoulder"), 0);
  EXPECT_EQ(model.joint("shoulder"), 0);
  EXPECT_EQ(error_of([&] { static_cast<void>(model.body("sholder")); }),
            "no body is called \"sholder\"; did you mean \"shoulder\"?");
  EXPECT_NE(error_of([&] { static_cast<void>(model.drive("shoulder")); }), "");
}

// ---------------------------------------------------------------- pairs that may collide

/// Floor; static base; arm of two links on the base with a tool welded to the second; a free crate with a lid.
class Pairs : public ::testing::Test {
 protected:
  Pairs() {
    floor = builder.add_ground(Plane{});
    wall = builder.add_ground(Box{Vec3(1.0, 1.0, 1.0)});
    base = add("base", kGround, JointKind::kFixed);
    upper = add("upper", base, JointKind::kRevolute);
    lower = add("lower", upper, JointKind::kRevolute);
    tool = add("tool", lower, JointKind::kFixed);
    finger = add("finger", tool, JointKind::kPrismatic);
    crate = add("crate", kGround, JointKind::kFree);
    lid = add("lid", crate, JointKind::kFixed);
    door = add("door", kGround, JointKind::kRevolute);
  }
  /// The body and its geom; geoms are numbered two after bodies.
  int add(const std::string& name, int parent, JointKind kind) {
    const int body = builder.add_body(make_link(name, parent, kind));
    GeomSpec geom;
    geom.body = body;
    geom.group = group;
    geom.mask = mask;
    builder.add_geom(geom);
    return body;
  }
  bool collide(int body_a, int body_b) {
    const Model model = builder.build();
    const bool result = may_collide(model, body_a + 2, body_b + 2);
    EXPECT_EQ(may_collide(model, body_b + 2, body_a + 2), result) << "not symmetric";
    return result;
  }
  bool collide_ground(int geom, int body) {
    const Model model = builder.build();
    EXPECT_EQ(may_collide(model, body + 2, geom), may_collide(model, geom, body + 2)) << "not symmetric";
    return may_collide(model, geom, body + 2);
  }

  ModelBuilder builder;
  std::uint32_t group = 1, mask = 0xffffffffU;
  int floor, wall, base, upper, lower, tool, finger, crate, lid, door;
};

TEST_F(Pairs, AdjacentLinksDoNotCollide) {
  EXPECT_FALSE(collide(base, upper));
  EXPECT_FALSE(collide(upper, lower));
  EXPECT_FALSE(collide(upper, tool)) << "the tool is part of the lower link";
  EXPECT_FALSE(collide(tool, finger));
  EXPECT_FALSE(collide(lower, finger)) << "the finger hangs on what is welded to the lower link";
  EXPECT_TRUE(collide(base, lower));
  EXPECT_TRUE(collide(upper, finger));
}

TEST_F(Pairs, RobotsCollideWithTheFloor) {
  for (const int body : {upper, lower, tool, finger, crate, lid}) {
    EXPECT_TRUE(collide_ground(floor, body)) << body;
    EXPECT_TRUE(collide_ground(wall, body)) << body;
    EXPECT_EQ(collide(body, crate), body != crate && body != lid) << body;
  }
  EXPECT_TRUE(collide_ground(floor, door)) << "a door on the ground may be blocked by the ground's own shapes";
}

TEST_F(Pairs, StaticAndWeldedPairsDoNotCollide) {
  EXPECT_FALSE(collide_ground(floor, base));
  EXPECT_FALSE(may_collide(builder.build(), floor, wall));
  EXPECT_FALSE(collide(lower, tool));
  EXPECT_FALSE(collide(crate, lid));
  EXPECT_FALSE(collide(base, base));
}

TEST_F(Pairs, Included) {
  builder.include(lower, upper);
  EXPECT_TRUE(collide(upper, lower));
  EXPECT_FALSE(collide(base, upper));
  builder.include(base, upper);
  EXPECT_TRUE(collide(base, upper));
  builder.include(crate, lid);
  EXPECT_FALSE(collide(crate, lid)) << "what cannot move against each other never collides";
}

TEST_F(Pairs, Excluded) {
  builder.exclude(crate, kGround);
  EXPECT_FALSE(collide_ground(floor, crate));
  EXPECT_TRUE(collide_ground(floor, lid)) << "pairs of bodies, not of welds";
  builder.exclude(finger, upper);
  EXPECT_FALSE(collide(upper, finger));
  builder.include(finger, upper);
  EXPECT_FALSE(collide(upper, finger)) << "excluded wins";
}

TEST_F(Pairs, GroupsAndMasksMustMeetBothWays) {
  group = 2, mask = 4;
  const int a = add("a", kGround, JointKind::kFree);
  group = 4, mask = 2;
  const int b = add("b", kGround, JointKind::kFree);
  group = 4, mask = 1;
  const int c = add("c", kGround, JointKind::kFree);
  EXPECT_TRUE(collide(a, b));
  EXPECT_FALSE(collide(a, c)) << "c does not look at group 2";
  EXPECT_FALSE(collide(a, crate)) << "a does not look at group 1";
  EXPECT_TRUE(collide(c, crate));
  EXPECT_FALSE(collide_ground(floor, a));
}

TEST(Materials, Combine) {
  ModelBuilder builder;
  builder.add_ground(Plane{}, {}, Material{0.2, 0.3});
  builder.add_solid("ball", Sphere{0.1}, 1.0, {}, Material{0.8, 0.1});
  const auto pair = [&](Combine how) {
    builder.set_friction_combine(how);
    const Model model = builder.build();
    return combine(model, 0, 1);
  };
  EXPECT_DOUBLE_EQ(pair(Combine::kGeometricMean).mu, 0.4);
  EXPECT_EQ(pair(Combine::kMaximum).mu, 0.8);
  EXPECT_EQ(pair(Combine::kMinimum).mu, 0.2);
  EXPECT_EQ(pair(Combine::kMinimum).restitution, 0.3);
}

/// The friction of the higher priority counts, as if there were no other; of equal ones the rule of the model does.
TEST(Materials, PriorityDecidesFriction) {
  for (const Combine how : {Combine::kGeometricMean, Combine::kMaximum, Combine::kMinimum}) {
    for (const auto& [first, second] : {std::pair(0, 1), std::pair(-2, -1), std::pair(3, 7)}) {
      for (const bool smooth : {false, true}) {
        ModelBuilder builder;
        builder.set_friction_combine(how);
        builder.add_ground(Plane{}, {}, Material{0.2, 0.3, false, first});
        builder.add_solid("ball", Sphere{0.1}, 1.0, {}, Material{0.8, 0.1, smooth, second});
        const Model model = builder.build();
        for (const auto& [a, b] : {std::pair(0, 1), std::pair(1, 0)}) {
          EXPECT_EQ(combine(model, a, b).mu, smooth ? 0.0 : 0.8);
          EXPECT_EQ(combine(model, a, b).restitution, 0.3);
        }
        builder.add_pair(0, 1, Material{0.6});
        EXPECT_EQ(combine(builder.build(), 0, 1).mu, 0.6) << "a pair of its own overrides";
      }
    }
  }
}

/// What is set wins, then the first file; a remark names those that ask for something else.
TEST(World, GravityAndTimeStepComeFromTheFirstFileUnlessSet) {
  const Vec3 moon(0.0, 0.0, -1.62), own(0.0, 1.0, 0.0);
  ModelBuilder builder;
  EXPECT_EQ(builder.build().time_step, 1.0 / 240.0);
  builder.suggest("moon.xml", moon, 0.002);
  builder.suggest("earth.xml", Vec3(0.0, 0.0, -9.81), 0.001);
  builder.suggest("moon2.xml", moon, 0.002);
  const Model model = builder.build();
  EXPECT_EQ(model.gravity, moon);
  EXPECT_EQ(model.time_step, 0.002);
  EXPECT_EQ(model.remarks, (std::vector<std::string>{
                               "earth.xml: its gravity (0, 0, -9.81) m/s² gives way to (0, 0, -1.62) m/s² of moon.xml",
                               "earth.xml: its time step of 0.001 s gives way to 0.002 s of moon.xml"}));
  for (const bool before : {true, false}) {
    ModelBuilder set;
    if (!before) set.suggest("moon.xml", moon, 0.002);
    set.set_gravity(own);
    set.set_time_step(0.005);
    if (before) set.suggest("moon.xml", moon, 0.002);
    set.suggest("earth.xml", Vec3(0.0, 0.0, -9.81), 0.001);
    EXPECT_EQ(set.build().gravity, own);
    EXPECT_EQ(set.build().time_step, 0.005);
    EXPECT_EQ(set.build().remarks, std::vector<std::string>{});
  }
  for (const double step : {0.0, -0.001, kInfinity, kNaN}) {
    EXPECT_THROW(builder.set_time_step(step), Error);
    EXPECT_THROW(builder.suggest("f.xml", moon, step), Error);
  }
}

}  // namespace
}  // namespace almond
