// Random problems of free rigid bodies. Feasible: built backwards from an answer, or with gaps that are not negative
// (then v = 0 violates nothing).

#include <algorithm>
#include <array>
#include <cmath>

#include "scenes/packing.hpp"
#include "scenes/problems.hpp"
#include "scenes/random.hpp"
#include "scenes/rigid_scene.hpp"

namespace almond::scenes {
namespace {

constexpr double kPi = 3.14159265358979323846;

NamedProblem finish(std::string name, ContactProblem problem, VecX expected_v = {}) {
  problem.name = name;
  return {std::move(name), std::move(problem), std::move(expected_v), true};
}

RigidBody make_random_body(Random& random, double spread) {
  RigidBody body;
  body.mass = std::exp(random.uniform(-0.7, 0.7));
  const Vec3 edges(random.uniform(0.1, 0.3), random.uniform(0.1, 0.3), random.uniform(0.1, 0.3));
  const Mat3 R = random.rotation();
  body.inertia = R * make_box_inertia(body.mass, edges) * R.transpose();
  body.position = spread * random.normal3();
  return body;
}

/// One pair (w, λ) that obeys the Signorini-Coulomb law: open, sticking or sliding.
void draw_law(Random& random, double mu, Vec3& w, Vec3& lambda) {
  w.setZero();
  lambda.setZero();
  const double draw = random.uniform(), angle = random.uniform(0.0, 2.0 * kPi);
  const Vec2 direction(std::cos(angle), std::sin(angle));
  if (draw < 0.3) {
    w << random.uniform(0.1, 1.0) * direction, random.uniform(0.05, 1.0);
    return;
  }
  lambda[2] = random.uniform(0.1, 1.0);
  if (draw < 0.65 && mu > 0.0) {
    lambda.head<2>() = random.uniform(0.0, 0.9) * mu * lambda[2] * direction;
  } else {
    w.head<2>() = random.uniform(0.1, 1.0) * direction;
    lambda.head<2>() = -mu * lambda[2] * direction;
  }
}

/// Geometry first (b = 0, e = 0), then a law-abiding (v, λ), then b = A v - Jᵀλ and e = w - J v.
NamedProblem make_backwards(std::string name, int num_bodies, int num_contacts, double mu, std::uint64_t seed) {
  Random random(seed);
  ContactProblem problem;
  std::vector<RigidBody> bodies;
  for (int i = 0; i < num_bodies; ++i) {
    bodies.push_back(make_random_body(random, 0.3));
    add_body(problem, bodies.back(), Vec6::Zero());
  }
  for (int i = 0; i < num_contacts; ++i) {
    const int b = i < num_bodies ? i : random.index(num_bodies);
    const int a = random.index(num_bodies + 1) - 1;
    const Vec3 partner = a == kGround || a == b ? bodies[b].position + 0.2 * random.direction() : bodies[a].position;
    const Vec3 point = 0.5 * (bodies[b].position + partner) + 0.05 * random.normal3();
    const Vec3 normal = (bodies[b].position - partner).normalized() + 0.25 * random.direction();
    add_point_contact(problem, bodies, a == b ? kGround : a, b, point, make_frame(normal.normalized()), mu,
                      Vec3::Zero());
  }
  VecX v(problem.num_dofs()), lambda(problem.num_rows());
  for (int i = 0; i < v.size(); ++i) v[i] = random.normal();
  const MatX J = make_dense_J(problem);
  const VecX Jv = J * v;
  for (int i = 0; i < num_contacts; ++i) {
    Vec3 w, impulse;
    draw_law(random, mu, w, impulse);
    problem.contacts[i].e = w - Jv.segment<3>(3 * i);
    lambda.segment<3>(3 * i) = impulse;
  }
  const VecX b = make_dense_A(problem) * v - J.transpose() * lambda;
  problem.b.assign(b.begin(), b.end());
  return finish(std::move(name), std::move(problem), mu == 0.0 ? v : VecX());
}

}  // namespace

NamedProblem make_random(int bodies, int contacts, double mu, std::uint64_t seed) {
  return make_backwards("random", bodies, contacts, mu, seed);
}

NamedProblem make_frictionless(int bodies, int contacts, std::uint64_t seed) {
  return make_backwards("frictionless", bodies, contacts, 0.0, seed);
}

NamedProblem make_nut(int contacts, std::uint64_t seed) {
  Random random(seed);
  const double radius = 0.024, pitch = 0.005, height = 0.038;
  const double lead = pitch / (2.0 * kPi);  // rise per radian
  RigidBody nut;
  nut.mass = 0.3;
  nut.inertia = Vec3(1.75e-4, 1.75e-4, 2.8e-4).asDiagonal();  // ring 48 to 75 mm wide, 38 mm high
  ContactProblem problem;
  add_body(problem, nut, Vec6::Zero());
  for (int i = 0; i < contacts; ++i) {
    const double turn = random.uniform(-0.5, 0.5) * height / lead;
    const double r = radius + random.uniform(-1e-3, 1e-3);
    const double flank = random.uniform() < 0.5 ? 1.0 : -1.0;
    const Vec3 radial(std::cos(turn), std::sin(turn), 0.0);
    const Vec3 forward(-std::sin(turn), std::cos(turn), 0.0);
    // 60° thread: the flank's normal leans 30° from the axis outwards, and with the lead angle along the helix.
    const Vec3 axial = (Vec3::UnitZ() - lead / r * forward).normalized();
    const Vec3 normal = flank * std::cos(kPi / 6.0) * axial + std::sin(kPi / 6.0) * radial + 0.03 * random.normal3();
    add_point_contact(problem, {nut}, kGround, 0, r * radial + Vec3(0.0, 0.0, lead * turn),
                      make_frame(normal.normalized()), random.uniform(0.1, 0.3), Vec3::Zero());
  }
  // Backwards from an answer: the nut turns along the helix, with some play; half of the contacts carry load and slide
  // (all of them: one rigid body moves), the others open. b and e_n follow, e_t = 0.
  Vec6 v;
  const double spin = 5.0 * random.normal();
  v << 0.005 * random.normal3() + Vec3(0.0, 0.0, lead * spin), 0.05 * random.normal3() + Vec3(0.0, 0.0, spin);
  const VecX Jv = make_dense_J(problem) * v;
  VecX lambda = VecX::Zero(problem.num_rows());
  for (int i = 0; i < contacts; ++i) {
    const Vec3 w = Jv.segment<3>(3 * i);
    const bool open = random.uniform() < 0.5;
    problem.contacts[i].e[2] = (open ? random.uniform(0.0, 0.03) : 0.0) - w[2];
    if (open) continue;
    const double normal = -0.1 / contacts * std::log(1.0 - random.uniform());  // 50 N for a millisecond, shared
    lambda.segment<3>(3 * i) << -problem.contacts[i].mu * normal * w.head<2>().normalized(), normal;
  }
  const VecX b = make_dense_A(problem) * v - make_dense_J(problem).transpose() * lambda;
  problem.b.assign(b.begin(), b.end());
  return finish("nut", std::move(problem));
}

NamedProblem make_spheres(int spheres, std::uint64_t seed) {
  Random random(seed);
  const double dt = 1.0 / 240.0, radius = 0.005, density = 1e4, mu = 0.3;
  const double mass = density * 4.0 / 3.0 * kPi * radius * radius * radius;
  const Packing packing = pack_spheres(spheres, radius, random);
  ContactProblem problem;
  std::vector<RigidBody> balls(static_cast<std::size_t>(spheres));
  for (int i = 0; i < spheres; ++i) {
    balls[i].mass = mass;
    balls[i].inertia = make_sphere_inertia(mass, radius);
    balls[i].position = packing.centres[i];
    balls[i].velocity = 0.005 * random.normal3();
    balls[i].spin = 0.2 * random.normal3();
    add_body(problem, balls[i], make_impulse(Vec3(0.0, 0.0, -kGravity * mass), dt));
  }
  for (const Touch& touch : packing.touches)
    add_point_contact(problem, balls, touch.a, touch.b, touch.point, make_frame(touch.normal), mu,
                      Vec3(0.0, 0.0, std::max(0.0, touch.gap) / dt));
  return finish("spheres", std::move(problem));
}

NamedProblem make_block_pile(int blocks, std::uint64_t seed) {
  Random random(seed);
  const double dt = 0.01;
  const Vec3 edges(0.2, 0.1, 0.08);
  const int width = std::max(1, static_cast<int>(std::ceil(std::sqrt(blocks))));
  ContactProblem problem;
  std::vector<RigidBody> bodies;
  // A wall in running bond: every second layer is shifted by half a block, so a block rests on two.
  for (int i = 0; i < blocks; ++i) {
    const int layer = i / width, column = i % width;
    RigidBody body;
    body.mass = std::exp(random.uniform(-1.5, 1.5));
    body.inertia = make_box_inertia(body.mass, edges);
    body.position = Vec3((column + 0.5 * (layer % 2)) * edges.x(), 0.0, (layer + 0.5) * edges.z());
    body.velocity = 0.05 * random.normal3();
    const Vec3 push = 3.0 * body.mass * random.normal3();
    add_body(problem, body, make_impulse(push - Vec3(0.0, 0.0, kGravity * body.mass), dt));
    bodies.push_back(body);
  }
  const auto add_patch = [&](int a, int b, double low, double high) {
    for (const double x : {low, high})
      for (const double y : {-0.5 * edges.y(), 0.5 * edges.y()}) {
        const Vec3 point(x, y, bodies[b].position.z() - 0.5 * edges.z());
        const double gap = random.uniform() < 0.3 ? random.uniform(0.0, 1e-3) : 0.0;
        add_point_contact(problem, bodies, a, b, point, Mat3::Identity(), 0.5, Vec3(0.0, 0.0, gap / dt));
      }
  };
  for (int b = 0; b < blocks; ++b) {
    const double left = bodies[b].position.x() - 0.5 * edges.x(), right = left + edges.x();
    if (b < width) add_patch(kGround, b, left, right);
    for (int a = std::max(0, b / width - 1) * width; a < b / width * width; ++a) {
      const double low = std::max(left, bodies[a].position.x() - 0.5 * edges.x());
      const double high = std::min(right, bodies[a].position.x() + 0.5 * edges.x());
      if (high - low > 0.01 * edges.x()) add_patch(a, b, low, high);
    }
  }
  return finish("block_pile", std::move(problem));
}

std::vector<NamedProblem> demo_problems() {
  std::vector<NamedProblem> problems;
  problems.push_back(make_slope_block(20.0, 0.5, 0.0));
  problems.back().name = "slope_sticks";
  problems.push_back(make_slope_block(35.0, 0.5, 0.0));
  problems.back().name = "slope_slides";
  problems.push_back(make_thrown_sphere(0.3, 1.0));
  problems.push_back(make_painleve_rod(2.0));
  problems.push_back(make_redundant_box(3));
  problems.push_back(make_tower(5, 1e4));
  problems.push_back(make_frictionless(5, 12, 1));
  problems.push_back(make_nut(120, 1));
  problems.push_back(make_block_pile(16, 1));
  problems.push_back(make_spheres(45, 1));
  problems.push_back(make_closed_chain(6, 1));
  problems.push_back(make_quadrupeds(4, 1));
  problems.push_back(make_wedge_jam());
  problems.push_back(make_opposed_penetrations());
  for (NamedProblem& named : problems) named.problem.name = named.name;
  return problems;
}

}  // namespace almond::scenes
