// Models with joints: pendulum, four-bar, rod on its tip, hanging chain, quadrupeds; and free bodies that spin.

#include <cmath>
#include <numbers>

#include "scenes/parts.hpp"
#include "scenes/random.hpp"

namespace almond::scenes {
namespace {

Mat3 box_inertia(double mass, const Vec3& half) {
  const Vec3 s = half.cwiseProduct(half) * (mass / 3.0);
  return Vec3(s.y() + s.z(), s.x() + s.z(), s.x() + s.y()).asDiagonal();
}

/// A rod of the given length from the body's origin along +x, on a hinge about y.
BodySpec make_rod(const std::string& name, int parent, const Vec3& at, double length, double mass) {
  BodySpec spec;
  spec.name = name;
  spec.parent = parent;
  spec.joint = make_joint(JointKind::kRevolute, Vec3::UnitY(), make_translation(at));
  spec.mass = mass;
  spec.com = Vec3(0.5 * length, 0.0, 0.0);
  spec.inertia = box_inertia(mass, Vec3(0.5 * length, 0.01, 0.01));
  return spec;
}

void start_at(ModelBuilder& builder, int joint, double q, double v = 0.0) {
  builder.set_start(joint, VecX::Constant(1, q));
  builder.set_start_velocity(joint, VecX::Constant(1, v));
}

struct Leg {
  double x, y;  // where the hip sits on the trunk
};

void add_robot(ModelBuilder& builder, const std::string& name, const Pose& X_WB, Random& random) {
  const Material material{0.6, 0.0};
  const auto link = [&](const std::string& part, int parent, const Joint& joint, double mass, const Vec3& com,
                        const Vec3& half, bool solid) {
    BodySpec spec;
    spec.name = name + "/" + part;
    spec.parent = parent;
    spec.joint = joint;
    spec.mass = mass;
    spec.com = com;
    spec.inertia = box_inertia(mass, half);
    const int body = builder.add_body(spec);
    if (solid) {
      GeomSpec geom;
      geom.body = body;
      geom.shape = Box{half};
      geom.X_BG = make_translation(com);
      geom.material = material;
      builder.add_geom(geom);
    }
    return body;
  };
  Joint root;
  root.X_PJ = X_WB;
  const int trunk = link("trunk", kGround, root, 13.7, Vec3::Zero(), Vec3(0.28, 0.09, 0.08), true);
  constexpr double kLimb = 0.25;
  for (const Leg& leg : {Leg{0.22, 0.09}, Leg{0.22, -0.09}, Leg{-0.22, 0.09}, Leg{-0.22, -0.09}}) {
    const double side = leg.y > 0.0 ? 1.0 : -1.0;
    const std::string tag = std::string(leg.x > 0.0 ? "front" : "rear") + (side > 0.0 ? "_left" : "_right");
    const auto hinge = [&](const Vec3& axis, const Vec3& at) {
      Joint joint = make_joint(JointKind::kRevolute, axis, make_translation(at));
      joint.damping = 0.3;
      joint.stiffness = 5.0;  // limp: it does not carry the trunk
      return joint;
    };
    Joint abduct = hinge(Vec3::UnitX(), Vec3(leg.x, leg.y, 0.0));
    const int hip = link(tag + "_hip", trunk, abduct, 1.1, Vec3(0.0, 0.03 * side, 0.0), Vec3(0.04, 0.04, 0.04), false);
    Joint swing = hinge(Vec3::UnitY(), Vec3(0.0, 0.06 * side, 0.0));
    swing.rest = 0.6;
    const int thigh =
        link(tag + "_thigh", hip, swing, 1.5, Vec3(0.0, 0.0, -0.5 * kLimb), Vec3(0.02, 0.015, 0.5 * kLimb), true);
    Joint knee = hinge(Vec3::UnitY(), Vec3(0.0, 0.0, -kLimb));
    knee.rest = -1.2;
    const int calf =
        link(tag + "_calf", thigh, knee, 0.25, Vec3(0.0, 0.0, -0.5 * kLimb), Vec3(0.01, 0.01, 0.5 * kLimb), true);
    GeomSpec foot;
    foot.body = calf;
    foot.shape = Sphere{0.027};
    foot.X_BG = make_translation(0.0, 0.0, -kLimb);
    foot.material = material;
    builder.add_geom(foot);
    start_at(builder, thigh, 0.6 + random.uniform(-0.1, 0.1));
    start_at(builder, calf, -1.2 + random.uniform(-0.1, 0.1));
  }
}

}  // namespace

Model make_pendulum_model(double angle) {
  ModelBuilder builder("pendulum");
  const int rod = builder.add_body(make_rod("rod", kGround, Vec3::Zero(), 1.0, 1.0));
  start_at(builder, rod, 0.5 * std::numbers::pi - angle);  // q = π/2 hangs down
  return builder.build();
}

Model make_top_model() {
  ModelBuilder builder("top");
  builder.set_gravity(Vec3::Zero());
  const int top = builder.add_solid("top", Box{Vec3(0.1, 0.05, 0.025)}, 1.0, {});
  VecX v = VecX::Zero(6);
  v.tail<3>() = Vec3(0.1, 10.0, 0.1);
  builder.set_start_velocity(top, v);
  return builder.build();
}

Model make_arm_model(double speed) {
  ModelBuilder builder("arm");
  builder.set_gravity(Vec3::Zero());
  int parent = kGround;
  for (int i = 0; i < 7; ++i) {
    BodySpec link;
    link.name = "link" + std::to_string(i + 1);
    link.parent = parent;
    link.joint = make_joint(JointKind::kRevolute, i % 2 == 0 ? Vec3::UnitZ() : Vec3::UnitY());
    link.joint.X_PJ.p = Vec3(0.0, 0.0, 0.15);
    link.mass = 2.0;
    link.com = Vec3(0.02, 0.0, 0.07);
    link.inertia = 0.005 * Mat3::Identity();
    parent = builder.add_body(link);
    start_at(builder, parent, 0.0, i % 3 == 0 ? -speed : speed);
  }
  return builder.build();
}

Model make_chain_model(double speed) {
  ModelBuilder builder("chain");
  builder.set_gravity(Vec3::Zero());
  int parent = kGround;
  for (int i = 0; i < 5; ++i) {
    BodySpec link;
    link.name = "link" + std::to_string(i + 1);
    link.parent = parent;
    if (i > 0) {
      link.joint = make_joint(i % 2 == 0 ? JointKind::kRevolute : JointKind::kBall, Vec3::UnitX());
      link.joint.X_PJ.p = Vec3(0.3, 0.0, 0.0);
      link.com = Vec3(0.15, 0.0, 0.0);
    }
    link.mass = 1.0;
    link.inertia = Vec3(0.01, 0.02, 0.025).asDiagonal();
    parent = builder.add_body(link);
    VecX v(num_velocities(link.joint.kind));
    for (Eigen::Index k = 0; k < v.size(); ++k) v[k] = speed * std::sin(3.0 * i + static_cast<double>(k) + 1.0);
    builder.set_start_velocity(parent, v);
  }
  return builder.build();
}

Model make_four_bar_model(double crank_speed) {
  ModelBuilder builder("four_bar");
  builder.set_gravity(Vec3::Zero());
  // Ground 1.0, crank 0.3, coupler 0.9, rocker 0.6 (Grashof: 0.3 + 1.0 < 0.9 + 0.6, the crank turns around).
  constexpr double kGroundLink = 1.0, kCrank = 0.3, kCoupler = 0.9, kRocker = 0.6;
  const int crank = builder.add_body(make_rod("crank", kGround, Vec3::Zero(), kCrank, 0.3));
  const int coupler = builder.add_body(make_rod("coupler", crank, Vec3(kCrank, 0.0, 0.0), kCoupler, 0.9));
  const int rocker = builder.add_body(make_rod("rocker", kGround, Vec3(kGroundLink, 0.0, 0.0), kRocker, 0.6));
  // Closed at crank angle 0: a triangle of coupler and rocker over what is left of the ground link. A positive turn
  // about y takes +x to -z, so the links point upwards at negative angles.
  const double base = kGroundLink - kCrank;
  const double alpha = std::acos((base * base + kCoupler * kCoupler - kRocker * kRocker) / (2.0 * base * kCoupler));
  const double beta = std::acos((base * base + kRocker * kRocker - kCoupler * kCoupler) / (2.0 * base * kRocker));
  // Velocities that keep the loop closed: tip of the coupler = tip of the rocker.
  const Vec2 r_crank(kCrank, 0.0), r_coupler(kCoupler * std::cos(alpha), kCoupler * std::sin(alpha));
  const Vec2 r_rocker(kRocker * std::cos(std::numbers::pi - beta), kRocker * std::sin(std::numbers::pi - beta));
  const auto turned = [](const Vec2& r) { return Vec2(r.y(), -r.x()); };  // velocity per rate about y, in (x, z)
  Eigen::Matrix2d m;
  m << turned(r_coupler), -turned(r_rocker);
  const Vec2 rates = m.inverse() * (-crank_speed * turned(r_crank));  // absolute rates of coupler and rocker
  start_at(builder, crank, 0.0, crank_speed);
  start_at(builder, coupler, -alpha, rates[0] - crank_speed);
  start_at(builder, rocker, -(std::numbers::pi - beta), rates[1]);
  Closure pin;
  pin.name = "pin";
  pin.a = coupler;
  pin.b = rocker;
  pin.X_a = make_translation(kCoupler, 0.0, 0.0);
  pin.X_b = make_translation(kRocker, 0.0, 0.0);
  builder.add_closure(pin);
  return builder.build();
}

Model make_painleve_model(double mu) {
  ModelBuilder builder("painleve");
  const Material material{mu, 0.0};
  builder.add_ground(Plane{}, {}, material);
  // A thin rod leaning at 70 degrees, its lower tip on the ground sliding in the direction in which it leans.
  constexpr double kHalf = 0.5, kRadius = 0.005;
  const double lean = 0.5 * std::numbers::pi - 70.0 * std::numbers::pi / 180.0;
  const Mat3 R = exp_so3(Vec3(0.0, -lean, 0.0));
  const double height = kHalf * std::cos(lean) + kRadius;
  const int rod = builder.add_solid("rod", Capsule{kRadius, kHalf}, 1.0, {R, Vec3(0.0, 0.0, height)}, material);
  VecX v = VecX::Zero(6);
  v[0] = 3.0;
  builder.set_start_velocity(rod, v);
  return builder.build();
}

Model make_hanging_chain_model(int links) {
  ModelBuilder builder("hanging_chain");
  constexpr double kLength = 1.0, kMass = 1.0;  // of all links [m, kg]
  const double length = kLength / links;
  int parent = kGround;
  for (int i = 0; i < links; ++i) {
    BodySpec link =
        make_rod("link" + std::to_string(i + 1), parent, Vec3(i > 0 ? length : 0.0, 0.0, 0.0), length, kMass / links);
    if (i % 2 == 1) link.joint = make_joint(JointKind::kRevolute, Vec3::UnitZ(), link.joint.X_PJ);
    link.inertia = box_inertia(link.mass, Vec3(0.5 * length, 0.005, 0.005));
    parent = builder.add_body(link);
    start_at(builder, parent, i > 0 ? 0.1 : 0.0);
  }
  return builder.build();
}

Model make_sticks_model(double spin, double height, std::uint64_t seed) {
  ModelBuilder builder("sticks");
  Random random(seed);
  const Material material{0.4, 0.0};
  builder.add_ground(Plane{}, {}, material);
  struct Stick {
    const char* name;
    Shape shape;
    double mass;
  };
  const Stick sticks[] = {{"rod", Cylinder{0.005, 0.5}, 0.6},
                          {"wire", Capsule{0.001, 0.5}, 0.025},
                          {"plate", Box{{0.3, 0.2, 0.001}}, 1.9},
                          {"needle", Capsule{0.0004, 0.04}, 0.0003}};
  int i = 0;
  for (const Stick& stick : sticks) {
    const int body = builder.add_solid(stick.name, stick.shape, stick.mass,
                                       {random.rotation(), Vec3(1.5 * i++, 0.0, height)}, material);
    VecX v = VecX::Zero(6);
    v.tail<3>() = spin * random.direction();
    builder.set_start_velocity(body, v);
  }
  return builder.build();
}

Model make_stop_model(double speed) {
  ModelBuilder builder("joint_stop");
  builder.set_gravity(Vec3::Zero());
  BodySpec arm = make_rod("arm", kGround, Vec3::Zero(), 0.5, 1.0);
  arm.joint.lower = -0.5;
  arm.joint.upper = 0.5;
  const int joint = builder.add_body(arm);
  start_at(builder, joint, 0.0, speed);
  return builder.build();
}

Model make_quadrupeds_model(int robots, std::uint64_t seed) {
  ModelBuilder builder("quadrupeds");
  Random random(seed);
  builder.add_ground(Plane{}, {}, Material{0.6, 0.0});
  const int side = static_cast<int>(std::ceil(std::cbrt(robots) - 1e-9));
  for (int i = 0; i < robots; ++i) {
    const Vec3 place(0.95 * (i % side), 0.6 * (i / side % side), 0.6 + 0.75 * (i / (side * side)));
    const Mat3 R = exp_so3(Vec3(random.uniform(-0.2, 0.2), random.uniform(-0.2, 0.2), random.uniform(-0.2, 0.2)));
    add_robot(builder, "robot" + std::to_string(i), {R, place}, random);
  }
  return builder.build();
}

}  // namespace almond::scenes
