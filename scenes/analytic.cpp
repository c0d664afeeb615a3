// Problems whose answer is known by hand, and two that have none.

#include <Eigen/LU>
#include <cmath>

#include "scenes/problems.hpp"
#include "scenes/random.hpp"
#include "scenes/rigid_scene.hpp"

namespace almond::scenes {
namespace {

constexpr double kStep = 0.01;  // [s]
constexpr double kPi = 3.14159265358979323846;

struct Box {
  RigidBody body;
  Vec3 edges;
};

Box make_box(double mass, const Vec3& edges, const Vec3& position) {
  Box box;
  box.edges = edges;
  box.body.mass = mass;
  box.body.inertia = make_box_inertia(mass, edges);
  box.body.position = position;
  return box;
}

/// Contacts under the four lower corners of the box; `a` is what it stands on.
void add_face_contacts(ContactProblem& problem, const std::vector<RigidBody>& bodies, int a, int b, const Vec3& edges,
                       double mu) {
  for (const double x : {-0.5, 0.5})
    for (const double y : {-0.5, 0.5}) {
      const Vec3 corner = bodies[b].position + edges.cwiseProduct(Vec3(x, y, -0.5));
      add_point_contact(problem, bodies, a, b, corner, Mat3::Identity(), mu, Vec3::Zero());
    }
}

Vec6 weight_impulse(const RigidBody& body) { return make_impulse(Vec3(0.0, 0.0, -kGravity * body.mass), kStep); }

NamedProblem finish(std::string name, ContactProblem problem, VecX expected_v, bool feasible = true) {
  problem.name = name;
  return {std::move(name), std::move(problem), std::move(expected_v), feasible};
}

SideInput make_scalar_side(int subsystem, double J) {
  SideInput side;
  side.subsystem = subsystem;
  side.J = MatXr::Constant(1, 1, J);
  return side;
}

/// Edges of the boxes of a tower.
Vec3 tower_edges() { return {0.2, 0.2, 0.1}; }

}  // namespace

NamedProblem make_slope_block(double angle_deg, double mu, double speed) {
  const double angle = angle_deg * kPi / 180.0;
  Box box = make_box(2.0, Vec3(0.4, 0.4, 0.2), Vec3(0.0, 0.0, 0.1));
  box.body.velocity = Vec3(speed, 0.0, 0.0);
  ContactProblem problem;
  const Vec3 gravity = kGravity * Vec3(std::sin(angle), 0.0, -std::cos(angle));
  add_body(problem, box.body, make_impulse(box.body.mass * gravity, kStep));
  add_face_contacts(problem, {box.body}, kGround, 0, box.edges, mu);
  VecX v = VecX::Zero(6);
  v[0] = std::max(0.0, speed + kGravity * kStep * (std::sin(angle) - mu * std::cos(angle)));
  return finish("slope_block", std::move(problem), v);
}

NamedProblem make_dropped_box(double speed) {
  Box box = make_box(1.5, Vec3(0.3, 0.2, 0.4), Vec3(0.0, 0.0, 0.2));
  box.body.velocity = Vec3(0.0, 0.0, -speed);
  ContactProblem problem;
  add_body(problem, box.body, weight_impulse(box.body));
  add_face_contacts(problem, {box.body}, kGround, 0, box.edges, 0.5);
  return finish("dropped_box", std::move(problem), VecX::Zero(6));
}

NamedProblem make_spinning_box(double mu, double spin) {
  Box box = make_box(1.0, Vec3(0.3, 0.3, 0.1), Vec3(0.0, 0.0, 0.05));
  box.body.spin = Vec3(0.0, 0.0, spin);
  ContactProblem problem;
  add_body(problem, box.body, weight_impulse(box.body));
  add_face_contacts(problem, {box.body}, kGround, 0, box.edges, mu);
  // Friction acts at the radius of the corners, however the weight is shared among them.
  const double radius = 0.15 * std::sqrt(2.0);
  VecX v = VecX::Zero(6);
  v[5] = std::max(0.0, spin - mu * box.body.mass * kGravity * kStep * radius / box.body.inertia(2, 2));
  return finish("spinning_box", std::move(problem), v);
}

NamedProblem make_thrown_sphere(double mu, double speed) {
  const double radius = 0.1;
  RigidBody ball;
  ball.mass = 0.7;
  ball.inertia = make_sphere_inertia(ball.mass, radius);
  ball.position = Vec3(0.0, 0.0, radius);
  ball.velocity = Vec3(speed, 0.0, 0.0);
  ContactProblem problem;
  add_body(problem, ball, weight_impulse(ball));
  add_point_contact(problem, {ball}, kGround, 0, Vec3::Zero(), Mat3::Identity(), mu, Vec3::Zero());
  // Friction changes v by -f/m and the slip v - ω r by -3.5 f/m; it stops growing when the slip is gone.
  const double loss = std::min(mu * kGravity * kStep, speed / 3.5);
  VecX v = VecX::Zero(6);
  v[0] = speed - loss;
  v[4] = 2.5 * loss / radius;
  return finish("thrown_sphere", std::move(problem), v);
}

NamedProblem make_painleve_rod(double mu) {
  const double half = 0.5, angle = std::atan(2.0), speed = 2.0;
  RigidBody rod;
  rod.mass = 1.0;
  const Vec3 axis(std::cos(angle), 0.0, std::sin(angle));
  rod.inertia = rod.mass * half * half / 3.0 * (Mat3::Identity() - 0.999 * axis * axis.transpose());
  rod.position = half * axis;
  rod.velocity = Vec3(-speed, 0.0, 0.0);
  ContactProblem problem;
  add_body(problem, rod, weight_impulse(rod));
  add_point_contact(problem, {rod}, kGround, 0, Vec3::Zero(), Mat3::Identity(), mu, Vec3::Zero());

  // Sticking impulse if it lies in the friction cone, else sliding on in -x with the normal velocity zero.
  const MatX A = make_dense_A(problem), J = make_dense_J(problem);
  const VecX b = MapConstVec(problem.b.data(), 6);
  const Eigen::PartialPivLU<MatX> lu(A);
  const Mat3 W = J * lu.solve(J.transpose());
  const Vec3 w = J * lu.solve(b);
  Vec3 lambda = -W.partialPivLu().solve(w);
  if (lambda.head<2>().norm() > mu * lambda[2]) {
    lambda[2] = -w[2] / (W(2, 2) + mu * W(2, 0));
    lambda.head<2>() = mu * lambda[2] * Vec2::UnitX();
  }
  return finish("painleve_rod", std::move(problem), lu.solve(b + J.transpose() * lambda));
}

NamedProblem make_tower(int boxes, double mass_ratio) {
  ContactProblem problem;
  std::vector<RigidBody> bodies;
  const Vec3 edges = tower_edges();
  for (int i = 0; i < boxes; ++i) {
    const double mass = i + 1 == boxes ? mass_ratio : 1.0;
    bodies.push_back(make_box(mass, edges, Vec3(0.0, 0.0, (i + 0.5) * edges.z())).body);
    add_body(problem, bodies.back(), weight_impulse(bodies.back()));
  }
  for (int i = 0; i < boxes; ++i) add_face_contacts(problem, bodies, i - 1, i, edges, 0.5);
  return finish("tower", std::move(problem), VecX::Zero(6 * boxes));
}

NamedProblem make_squeezed_tower(int boxes, int squeezed) {
  NamedProblem named = make_tower(boxes, 1.0);
  std::vector<RigidBody> bodies(static_cast<std::size_t>(boxes));
  const Vec3 edges = tower_edges();
  for (int i = 0; i < boxes; ++i) bodies[i].position = Vec3(0.0, 0.0, (i + 0.5) * edges.z());
  // w_n = v·n - 0.1 on both sides: the sum of the two is negative whatever v is.
  for (const double side : {-1.0, 1.0}) {
    const Vec3 point = bodies[squeezed].position + Vec3(0.5 * side * edges.x(), 0.0, 0.0);
    add_point_contact(named.problem, bodies, kGround, squeezed, point, make_frame(Vec3(-side, 0.0, 0.0)), 0.5,
                      Vec3(0.0, 0.0, -0.1));
  }
  return finish("squeezed_tower_" + std::to_string(boxes) + "_" + std::to_string(squeezed), std::move(named.problem),
                VecX(), false);
}

NamedProblem make_redundant_box(int copies) {
  NamedProblem named = make_dropped_box(1.0);
  const ContactProblem single = named.problem;
  for (int copy = 1; copy < copies; ++copy)
    for (const Contact& contact : single.contacts) {
      SideInput side;
      side.subsystem = 0;
      side.J = single.J(contact.sides[0], 3);
      named.problem.add_contact(contact.mu, contact.e, side);
    }
  RigidBody body;
  body.position = Vec3(0.0, 0.0, 0.2);
  add_point_contact(named.problem, {body}, kGround, 0, Vec3::Zero(), Mat3::Identity(), 0.5, Vec3::Zero());
  return finish("redundant_box", std::move(named.problem), named.expected_v);
}

NamedProblem make_weightless(int bodies) {
  ContactProblem problem;
  std::vector<RigidBody> balls(static_cast<std::size_t>(bodies));
  const double radius = 0.05;
  for (int i = 0; i < bodies; ++i) {
    balls[i].inertia = make_sphere_inertia(1.0, radius);
    balls[i].position = Vec3(0.0, 0.0, (2 * i + 1) * radius);
    add_body(problem, balls[i], Vec6::Zero());
  }
  for (int i = 0; i < bodies; ++i)
    add_point_contact(problem, balls, i - 1, i, Vec3(0.0, 0.0, 2.0 * i * radius), Mat3::Identity(), 0.4, Vec3::Zero());
  return finish("weightless", std::move(problem), VecX::Zero(6 * bodies));
}

NamedProblem make_no_contacts(int bodies, std::uint64_t seed) {
  Random random(seed);
  ContactProblem problem;
  VecX v(6 * bodies);
  for (int i = 0; i < bodies; ++i) {
    RigidBody body;
    body.mass = random.uniform(0.5, 2.0);
    body.inertia = make_box_inertia(body.mass, Vec3(0.1, 0.2, 0.3));
    body.velocity = random.normal3();
    body.spin = random.normal3();
    add_body(problem, body, weight_impulse(body));
    v.segment<6>(6 * i) << body.velocity - Vec3(0.0, 0.0, kGravity * kStep), body.spin;
  }
  return finish("no_contacts", std::move(problem), v);
}

NamedProblem make_scalar_rows() {
  ContactProblem problem;
  // One coordinate each: inertia m, free velocity u.
  const auto add = [&problem](double m, double u) {
    return problem.add_subsystem(MatX::Constant(1, 1, m), VecX::Constant(1, m * u));
  };
  VecX v(9);
  // Hard: v + e >= 0 stops it, or leaves it alone.
  problem.add_hard(0.5, {make_scalar_side(add(2.0, -3.0), 1.0)});
  v[0] = -0.5;
  problem.add_hard(0.5, {make_scalar_side(add(2.0, 1.0), 1.0)});
  v[1] = 1.0;
  // Soft: m v = m u - J (k e + b J v).
  problem.add_soft(0.2, 3.0, 0.4, {make_scalar_side(add(1.5, 2.0), 2.0)});
  v[2] = (1.5 * 2.0 - 2.0 * 3.0 * 0.2) / (1.5 + 4.0 * 0.4);
  // Equality: 4 v + e = 0.
  problem.add_equality(2.0, {make_scalar_side(add(0.3, 7.0), 4.0)});
  v[3] = -0.5;
  // Dry friction: brakes at its limit, and holds when it can.
  problem.add_bounded(0.0, 0.6, {make_scalar_side(add(1.2, 2.0), 1.0)});
  v[4] = 2.0 - 0.6 / 1.2;
  problem.add_bounded(0.0, 0.6, {make_scalar_side(add(1.2, -0.2), 1.0)});
  v[5] = 0.0;
  // A drive of limited effort towards v = 3.
  problem.add_bounded(-3.0, 0.5, {make_scalar_side(add(2.0, 1.0), 1.0)});
  v[6] = 1.25;
  // Two carts that collide and stay together.
  const int behind = add(1.0, 4.0), ahead = add(3.0, 0.0);
  problem.add_hard(0.0, {make_scalar_side(ahead, 1.0), make_scalar_side(behind, -1.0)});
  v[7] = v[8] = 1.0;
  return finish("scalar_rows", std::move(problem), v);
}

NamedProblem make_wedge_jam() {
  // Walls at ±alpha from the vertical, mu > tan(alpha): sliding out, friction pulls back more than the walls push, so
  // no impulse reaches the speed that both biases demand.
  const double alpha = 20.0 * kPi / 180.0, mu = 0.6, bias = -0.2;
  ContactProblem problem;
  const Vec3 fall(0.0, 0.0, -kGravity * kStep);
  problem.add_subsystem(Mat3::Identity(), fall);
  for (const double sign : {1.0, -1.0}) {
    SideInput side;
    side.subsystem = 0;
    side.J = make_frame(Vec3(sign * std::cos(alpha), 0.0, std::sin(alpha))).transpose();
    problem.add_contact(mu, Vec3(0.0, 0.0, bias), side);
  }
  return finish("wedge_jam", std::move(problem), VecX(), false);
}

NamedProblem make_opposed_penetrations() {
  const double radius = 0.1;
  RigidBody ball;
  ball.inertia = make_sphere_inertia(1.0, radius);
  ball.position = Vec3(0.0, 0.0, radius);
  ball.velocity = Vec3(0.3, 0.0, 0.0);
  ContactProblem problem;
  add_body(problem, ball, weight_impulse(ball));
  const Vec3 e(0.0, 0.0, -0.1);
  add_point_contact(problem, {ball}, kGround, 0, Vec3::Zero(), Mat3::Identity(), 0.5, e);
  add_point_contact(problem, {ball}, kGround, 0, Vec3(0.0, 0.0, 2.0 * radius), make_frame(-Vec3::UnitZ()), 0.5, e);
  return finish("opposed_penetrations", std::move(problem), VecX(), false);
}

}  // namespace almond::scenes
