// Proves the turn of free bodies against the closed form of a symmetric top, against an integration of the attitude in
// extended precision, and against conservation of energy and momentum: for thin rods, wires, plates, needles and coins,
// from 0.1 to 1000 rad/s and from 0.1 to 50 ms.

#include <gtest/gtest.h>

#include <array>
#include <cmath>

#include "almond/dynamics/forces.hpp"
#include "almond/dynamics/free_turn.hpp"
#include "almond/model/builder.hpp"
#include "almond/sim/step.hpp"
#include "common/helpers.hpp"

namespace almond {
namespace {

using testing::tolerance;
using LongMat = Eigen::Matrix<long double, 3, 3>;
using LongVec = Eigen::Matrix<long double, 3, 1>;

struct Thing {
  const char* name;
  Vec3 moments;  // [kg m²]
};

/// Household things, ratios of a million, nearly symmetric ones, and one with the separatrix in reach.
const std::array<Thing, 8> kThings = {{{"steel rod of 5 mm", {7.5e-6, 0.05, 0.05}},
                                       {"wire of 1 mm", {2.0833e-3, 2.0833e-3, 1.25e-8}},
                                       {"needle, 1e6", {1.0, 1e-6, 1.0}},
                                       {"flat needle, 1e6", {1e-6, 1.0, 1.0 + 1e-6}},
                                       {"ruler", {1e-5, 8.3e-3, 8.31e-3}},
                                       {"plate", {0.083, 0.021, 0.104}},
                                       {"coin", {1.0e-6, 1.0e-6, 1.9999e-6}},
                                       {"brick", {1.0, 2.0, 2.5}}}};
const std::array<double, 4> kSteps = {1e-4, 1.0 / 240.0, 1.0 / 60.0, 0.05};
const std::array<double, 5> kSpeeds = {0.1, 1.0, 10.0, 100.0, 1000.0};

/// Tumbling, about each axis but for a little, and on the separatrix.
std::array<Vec3, 5> directions(const Vec3& moments) {
  const Vec3& I = moments;
  const double edge = std::sqrt(std::max(0.0, I[0] * (I[1] - I[0]) / (I[2] * std::max(I[2] - I[1], 1e-300))));
  return {Vec3(1.0, 0.7, -0.4).normalized(), Vec3(1.0, 1e-3, 1e-3), Vec3(1e-3, 1.0, -1e-3), Vec3(-1e-3, 1e-3, 1.0),
          std::isfinite(edge) ? Vec3(1.0, 1e-9, edge).normalized() : Vec3(0.5, 0.5, 0.7)};
}

Simulation make_free(const Vec3& moments, const Vec3& omega, double dt, double theta) {
  ModelBuilder builder;
  builder.set_gravity(Vec3::Zero());
  BodySpec spec;
  spec.name = "body";
  spec.mass = 0.6;
  spec.com = Vec3(0.1, -0.2, 0.05);
  const Mat3 axes = exp_so3(Vec3(0.3, 0.4, 0.5));
  spec.inertia = moments.asDiagonal();
  const int body = builder.add_body(spec);
  VecX q(7), v = VecX::Zero(6);
  q << Vec3::Zero(), matrix_to_quaternion(axes);
  v.tail<3>() = axes * omega;
  builder.set_start(body, q);
  builder.set_start_velocity(body, v);
  StepOptions options;
  options.dt = dt;
  options.theta = theta;
  return Simulation(builder.build(), options);
}

Vec3 spin_of(Simulation& sim) {
  const Kinematics& kin = sim.kinematics();
  return kin.X_WB[0].R * (sim.model().bodies[0].inertia * (kin.X_WB[0].R.transpose() * sim.state().v.tail<3>()));
}

TEST(FreeTurn, ThinBodiesKeepEnergyAndMomentum) {
  int count = 0;
  for (const Thing& thing : kThings) {
    for (const double dt : kSteps) {
      for (const double speed : kSpeeds) {
        const Vec3 direction = directions(thing.moments)[static_cast<std::size_t>(count++ % 5)];
        Simulation sim = make_free(thing.moments, speed * direction, dt, dt > 0.01 ? 0.5 : 0.0);
        const double energy = sim.energy().kinetic;
        const Vec3 spin = spin_of(sim);
        double gain = 0.0, turned = 0.0;
        for (int i = 0; i < 1000; ++i) {
          ASSERT_EQ(sim.step().status, Status::kSolved);
          gain = std::max(gain, std::abs(sim.energy().kinetic / energy - 1.0));
          turned = std::max(turned, (spin_of(sim) - spin).norm() / spin.norm());
        }
        const auto place = [&] {
          return std::string(thing.name) + " at " + std::to_string(speed) + " rad/s, " + std::to_string(dt) + " s";
        };
        // ω is rounded at every step; of a needle that spins about its axis, times the ratio of its inertias.
        EXPECT_LE(gain, tolerance(1e-9)) << place() << ", " << direction.transpose();
        EXPECT_LE(turned, tolerance(1e-9)) << place() << ", " << direction.transpose();
      }
    }
  }
}

/// T(h) by extrapolation of midpoint rules on ω̇ = I⁻¹ (Iω × ω), Ṫ = T ω×, in pieces of a tenth of a radian.
LongMat integrate(const Vec3& moments, const Vec3& omega, double h) {
  constexpr int kOrders = 8;
  using Motion = Eigen::Matrix<long double, 3, 4>;  // T, ω
  const LongVec I = moments.cast<long double>();
  const auto rate = [&](const Motion& x) -> Motion {
    const LongVec w = x.col(3), L = I.cwiseProduct(w);
    Motion out;
    out.col(0) = w[2] * x.col(1) - w[1] * x.col(2);
    out.col(1) = w[0] * x.col(2) - w[2] * x.col(0);
    out.col(2) = w[1] * x.col(0) - w[0] * x.col(1);
    out.col(3) = LongVec(L.cross(w)).cwiseQuotient(I);
    return out;
  };
  Motion x = Motion::Identity();
  x.col(3) = omega.cast<long double>();
  const int pieces = 1 + static_cast<int>(h * omega.norm() / 0.1);
  const long double length = static_cast<long double>(h) / pieces;
  for (int piece = 0; piece < pieces; ++piece) {
    std::array<Motion, kOrders> table;
    for (int k = 0; k < kOrders; ++k) {
      const int n = 2 * (k + 1);
      const long double step = length / n;
      Motion before = x, now = x + step * rate(x);
      for (int i = 1; i < n; ++i) {
        const Motion next = before + 2.0L * step * rate(now);
        before = now;
        now = next;
      }
      table[k] = 0.5L * (now + before + step * rate(now));
      for (int j = k - 1; j >= 0; --j) {
        const long double ratio = static_cast<long double>(n) / (2 * (j + 1));
        table[j] = table[j + 1] + (table[j + 1] - table[j]) / (ratio * ratio - 1.0L);
      }
    }
    x = table[0];
  }
  return x.leftCols<3>();
}

TEST(FreeTurn, FollowsTheEquationsOfMotion) {
  for (const Thing& thing : kThings) {
    for (const double angle : {1e-3, 0.1, 1.0, 7.0, 50.0}) {
      for (const Vec3& direction : directions(thing.moments)) {
        if (angle > 10.0 && direction[1] != directions(thing.moments)[0][1]) continue;  // unstable axes: exp(angle)
        const Vec3 omega = 20.0 * direction;
        const double h = angle / omega.norm();
        const FreeTurn turn = turn_freely(thing.moments.asDiagonal(), omega, h);
        const Mat3 exact = integrate(thing.moments, omega, h).cast<double>();
        // On the separatrix errors grow like exp(angle).
        const double bound = std::abs(direction[1]) < 1e-6 ? 1e-6 : 1e-13 * (1.0 + 10.0 * angle);
        EXPECT_LE((quaternion_to_matrix(turn.turn) - exact).norm(), tolerance(bound))
            << thing.name << " by " << angle << " rad, " << direction.transpose();
        EXPECT_LE((exp_so3(turn.way) - exact).norm(), tolerance(bound + 1e-14 * angle)) << thing.name << " " << angle;
      }
    }
  }
}

TEST(FreeTurn, SymmetricTopIsTheClosedForm) {
  // It precesses about L at |L| / I⊥ and spins about its axis at what is left.
  const Vec3 moments(0.03, 0.03, 0.05), omega(3.0, -2.0, 11.0), L = moments.cwiseProduct(omega);
  for (const double h : {1e-3, 0.05, 1.0, 4.0}) {
    const Mat3 exact = exp_so3(h * L / moments[0]) * exp_so3(h * (omega[2] - L[2] / moments[0]) * Vec3::UnitZ());
    const FreeTurn turn = turn_freely(moments.asDiagonal(), omega, h);
    EXPECT_LE((quaternion_to_matrix(turn.turn) - exact).norm(), tolerance(1e-14 * (10.0 + 11.0 * h))) << h;
    EXPECT_NEAR(turn.omega[2], omega[2], tolerance(1e-13 * omega.norm())) << h;
  }
}

TEST(FreeTurn, TurnedAxesGiveTheSame) {
  const Vec3 moments(1e-4, 0.02, 0.02005), omega(30.0, 2.0, -7.0);
  const Mat3 axes = exp_so3(Vec3(0.2, -1.0, 0.6));
  Mat3 inertia = axes * moments.asDiagonal() * axes.transpose();
  inertia = 0.5 * (inertia + Mat3(inertia.transpose()));
  const FreeTurn plain = turn_freely(moments.asDiagonal(), omega, 0.05),
                 turned = turn_freely(inertia, axes * omega, 0.05);
  EXPECT_LE((turned.omega - axes * plain.omega).norm(), tolerance(1e-11));
  EXPECT_LE((turned.way - axes * plain.way).norm(), tolerance(1e-12));
}

TEST(FreeTurn, NoSpeedIsTooMuch) {
  for (const double speed : {1e4, 1e8, 1e12}) {
    const Vec3 moments(1e-5, 0.8, 0.80001), omega = speed * Vec3(0.3, 0.8, 0.5), L = moments.cwiseProduct(omega);
    const FreeTurn turn = turn_freely(moments.asDiagonal(), omega, 0.05);
    EXPECT_NEAR(turn.omega.dot(turn.momentum) / omega.dot(L), 1.0, 1e-9) << speed;
    EXPECT_NEAR(turn.momentum.norm() / L.norm(), 1.0, tolerance(1e-14)) << speed;
    EXPECT_TRUE(turn.way.allFinite()) << speed;
  }
}

/// A wire or needle that falls on a floor and tumbles there.
TEST(FreeTurn, DroppedThingsGainNoEnergy) {
  for (const double radius : {0.0005, 0.001, 0.005}) {
    for (const double dt : {1e-3, 1.0 / 240.0, 1.0 / 60.0}) {
      for (const double restitution : {0.0, 0.8}) {
        ModelBuilder builder;
        Material material;
        material.restitution = restitution;
        builder.add_ground(Plane{}, {}, material);
        const int body = builder.add_solid("wire", Capsule{radius, 0.5}, 0.025,
                                           {exp_so3(Vec3(0.3, 0.4, 0.5)), Vec3(0.0, 0.0, 1.0)}, material);
        VecX v(6);
        v << 0.0, 0.0, 0.0, 1.0, 3.0, 20.0;
        builder.set_start_velocity(body, v);
        StepOptions options;
        options.dt = dt;
        Simulation sim(builder.build(), options);
        const double start = sim.energy().total();
        for (int i = 0; i < 1000; ++i) {
          sim.step();
          // Euler's fall has g dt v / 2 too much on the way up.
          const double swing = 0.5 * 0.025 * 9.81 * dt * std::abs(sim.state().v[2]);
          ASSERT_LE(sim.energy().total(), start + swing + 1e-6 * start)
              << radius << " m, " << dt << " s, restitution " << restitution << ", step " << i;
        }
      }
    }
  }
}

}  // namespace
}  // namespace almond
