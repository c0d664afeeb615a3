// The closed-form operators: projections against their optimality conditions, the strict operator against the contact
// law, derivatives against finite differences, on random points and on the seams between the regions.

#include <gtest/gtest.h>

#include <Eigen/Eigenvalues>
#include <cmath>

#include "almond/solver/cone.hpp"
#include "scenes/random.hpp"

namespace almond {
namespace {

using scenes::Random;

constexpr int kPoints = 20000;
constexpr double kFrictions[] = {0.0, 1e-3, 0.3, 1.0, 5.0};

/// Points of all sizes, dense around the cone, its dual and their tips.
Vec3 random_point(Random& random) {
  Vec3 x = random.normal3();
  if (random.uniform() < 0.3) x.head<2>() *= random.uniform(0.0, 0.1);
  return std::pow(10.0, random.uniform(-3.0, 3.0)) * x;
}

TEST(Prox, IsTheClosestPointOfTheCone) {
  // λ = P(x) iff λ is in C, λ·(λ - x) = 0 and λ - x is in the dual cone {y : y_n >= μ‖y_t‖}.
  Random random(1);
  std::array<int, 3> count{};
  for (int k = 0; k < kPoints; ++k) {
    const double mu = kFrictions[k % 5];
    const Vec3 x = random_point(random);
    Vec3 lambda, again;
    ++count[static_cast<int>(project_prox(mu, x, lambda))];
    const double eps = 1e-14 * x.norm() * (1.0 + mu);
    EXPECT_LE(lambda.head<2>().norm(), mu * lambda[2] + eps);
    EXPECT_NEAR(lambda.dot(lambda - x), 0.0, eps * x.norm());
    const Vec3 y = lambda - x;
    EXPECT_GE(y[2], mu * y.head<2>().norm() - eps);
    project_prox(mu, lambda, again);
    EXPECT_LE((again - lambda).norm(), eps);
  }
  for (const int n : count) EXPECT_GT(n, kPoints / 20);
}

TEST(Strict, SatisfiesSignoriniAndCoulombExactly) {
  // With λ = T(x), x = λ_prev - β(Jv + e): the slack velocity is w = z + e = (λ - x)/β. (z, λ) obeys the law (5).
  Random random(2);
  std::array<int, 3> count{};
  for (int k = 0; k < kPoints; ++k) {
    const double mu = kFrictions[k % 5], beta = std::pow(10.0, random.uniform(-2.0, 4.0));
    const Vec3 x = random_point(random);
    Vec3 lambda;
    const ConeRegion region = project_strict(mu, x, lambda);
    ++count[static_cast<int>(region)];
    const Vec3 w = (lambda - x) / beta;
    EXPECT_GE(lambda[2], 0.0);
    EXPECT_GE(w[2], 0.0);
    EXPECT_EQ(lambda[2] * w[2], 0.0);
    const double shear = lambda.head<2>().norm(), slide = w.head<2>().norm();
    EXPECT_LE(shear, mu * lambda[2] * (1.0 + 4.0 * kEpsilon));
    // Friction opposes slip and is full then: μλ_n‖w_t‖ + λ_t·w_t = 0.
    EXPECT_NEAR(mu * lambda[2] * slide + lambda.head<2>().dot(w.head<2>()), 0.0,
                1e-14 * x.squaredNorm() * (1.0 + mu) / beta);
    if (region == ConeRegion::kStick) {
      EXPECT_EQ(slide, 0.0);
    }
    if (region == ConeRegion::kOpen) {
      EXPECT_EQ(lambda, Vec3(Vec3::Zero()));
    }
  }
  for (const int n : count) EXPECT_GT(n, kPoints / 20);
}

TEST(Operators, RegionByRegionByHand) {
  const double mu = 0.5;
  Vec3 lambda;
  EXPECT_EQ(project_strict(mu, Vec3(3.0, 4.0, -1.0), lambda), ConeRegion::kOpen);
  EXPECT_EQ(lambda, Vec3(0.0, 0.0, 0.0));
  EXPECT_EQ(project_strict(mu, Vec3(0.3, 0.4, 1.0), lambda), ConeRegion::kStick);  // on the boundary
  EXPECT_EQ(lambda, Vec3(0.3, 0.4, 1.0));
  EXPECT_EQ(project_strict(mu, Vec3(3.0, 4.0, 2.0), lambda), ConeRegion::kSlip);
  EXPECT_LE((lambda - Vec3(0.6, 0.8, 2.0)).norm(), 1e-15);

  EXPECT_EQ(project_prox(mu, Vec3(3.0, 4.0, -2.5), lambda), ConeRegion::kOpen);  // on the boundary of the polar cone
  EXPECT_EQ(lambda, Vec3(0.0, 0.0, 0.0));
  EXPECT_EQ(project_prox(mu, Vec3(0.3, 0.4, 1.0), lambda), ConeRegion::kStick);
  EXPECT_EQ(lambda, Vec3(0.3, 0.4, 1.0));
  EXPECT_EQ(project_prox(mu, Vec3(3.0, 4.0, 2.5), lambda), ConeRegion::kSlip);  // λ_n = (2.5 + 2.5)/1.25 = 4
  EXPECT_LE((lambda - Vec3(1.2, 1.6, 4.0)).norm(), 1e-14);
}

TEST(Operators, AgreeWhereNothingSlides) {
  // Stick, and without friction everywhere: the strict operator is the projection.
  Random random(3);
  for (int k = 0; k < 1000; ++k) {
    const Vec3 x = random_point(random);
    Vec3 strict, prox;
    project_strict(0.0, x, strict);
    project_prox(0.0, x, prox);
    EXPECT_EQ(strict, prox);
    if (project_prox(0.7, x, prox) != ConeRegion::kStick) continue;
    project_strict(0.7, x, strict);
    EXPECT_EQ(strict, prox);
  }
}

using Project = ConeRegion (*)(double, const Vec3&, Vec3&);
using Derive = ConeRegion (*)(double, const Vec3&, Mat3&);

struct Operator {
  const char* name;
  Project project;
  Derive derive;
};

class ConeOperator : public ::testing::TestWithParam<Operator> {};

INSTANTIATE_TEST_SUITE_P(Both, ConeOperator,
                         ::testing::Values(Operator{"strict", project_strict, strict_derivative},
                                           Operator{"prox", project_prox, prox_derivative}),
                         [](const auto& instance) { return instance.param.name; });

TEST_P(ConeOperator, DerivativeMatchesFiniteDifferences) {
  Random random(4);
  std::array<int, 3> count{};
  for (int k = 0; k < kPoints; ++k) {
    const double mu = kFrictions[k % 5];
    const Vec3 x = random.normal3();
    Mat3 D, difference;
    Vec3 plus, minus, lambda;
    const ConeRegion region = GetParam().derive(mu, x, D);
    const double h = 1e-6;
    bool inside = x.head<2>().norm() > 0.05;  // the curvature of x_t/‖x_t‖ is 1/‖x_t‖
    for (int j = 0; j < 3; ++j) {
      const Vec3 step = h * Vec3::Unit(j);
      const ConeRegion a = GetParam().project(mu, x + step, plus), b = GetParam().project(mu, x - step, minus);
      inside = inside && a == b && a == GetParam().project(mu, x, lambda);
      difference.col(j) = (plus - minus) / (2.0 * h);
    }
    if (!inside) continue;
    ++count[static_cast<int>(region)];
    EXPECT_LE((D - difference).norm(), 2e-8 * (1.0 + mu)) << "mu " << mu << " x " << x.transpose();
  }
  for (const int n : count) EXPECT_GT(n, kPoints / 20);
}

TEST_P(ConeOperator, IsSemismoothOnTheSeams) {
  // What Newton needs: T(x + hd) - T(x) - D(x + hd) hd = O(h²) also where T has a kink: cone surface, dual surface, the
  // plane λ_n = 0 and the tip.
  Random random(5);
  for (int k = 0; k < 2000; ++k) {
    const double mu = kFrictions[k % 5], angle = random.uniform(0.0, 6.2);
    const Vec3 t(std::cos(angle), std::sin(angle), 0.0), n = Vec3::UnitZ();
    const Vec3 seams[] = {mu * t + n, t - mu * n, t, Vec3::Zero(), n, -n};
    for (const Vec3& x : seams) {
      Vec3 at, there;
      Mat3 D;
      GetParam().project(mu, x, at);
      const Vec3 d = random.direction();
      for (const double h : {1e-3, 1e-4}) {
        GetParam().project(mu, x + h * d, there);
        GetParam().derive(mu, x + h * d, D);
        // Curvature of T: (μ x_n + ...)/‖x_t‖², bounded by 1/μ on the cone surface; on the axis T is linear or zero.
        const double bound = mu > 0.0 ? 8.0 * (1.0 + mu + 1.0 / mu) * h * h : 8.0 * h * h;
        EXPECT_LE((there - at - D * (h * d)).norm(), bound + 1e-14) << "mu " << mu << " x " << x.transpose();
      }
    }
  }
}

TEST_P(ConeOperator, DerivativeIsFiniteAtTheTips) {
  for (const double mu : kFrictions) {
    for (const Vec3& x : {Vec3(0, 0, 0), Vec3(0, 0, 1), Vec3(0, 0, -1), Vec3(0, 0, 1e-300), Vec3(1e-200, 0, 0),
                          Vec3(1e-160, 1e-160, -1e-300), Vec3(1e-200, 0, 1e-200), Vec3(1e150, 1e150, 1.0)}) {
      Mat3 D;
      Vec3 lambda;
      GetParam().derive(mu, x, D);
      GetParam().project(mu, x, lambda);
      EXPECT_TRUE(D.allFinite()) << "mu " << mu << " x " << x.transpose();
      EXPECT_TRUE(lambda.allFinite()) << "mu " << mu << " x " << x.transpose();
      EXPECT_LE(D.norm(), 3.0 + 2.0 * mu);
    }
  }
}

TEST(Prox, DerivativeIsSymmetricWithEigenvaluesInZeroOne) {
  Random random(6);
  for (int k = 0; k < kPoints; ++k) {
    Mat3 D;
    prox_derivative(kFrictions[k % 5], random_point(random), D);
    EXPECT_EQ((D - D.transpose()).norm(), 0.0);
    const Vec3 eigenvalues = Eigen::SelfAdjointEigenSolver<Mat3>(D, Eigen::EigenvaluesOnly).eigenvalues();
    EXPECT_GE(eigenvalues.minCoeff(), -1e-14);
    EXPECT_LE(eigenvalues.maxCoeff(), 1.0 + 1e-14);
  }
}

TEST(Rows, HardEqualityAndBoundedClamp) {
  EXPECT_EQ(project_row(2.0, 0.0, 0.0, kInfinity), 2.0);
  EXPECT_EQ(project_row(-2.0, 0.0, 0.0, kInfinity), 0.0);
  EXPECT_EQ(project_row(-2.0, 0.0, -kInfinity, kInfinity), -2.0);
  EXPECT_EQ(project_row(-2.0, 0.0, -0.5, 0.5), -0.5);
  EXPECT_EQ(project_row(0.25, 0.0, -0.5, 0.5), 0.25);
  EXPECT_EQ(project_row(1.0, 0.0, 0.0, 0.0), 0.0);  // a limit of zero: never any impulse
}

TEST(Rows, SoftObeysItsOwnLaw) {
  // λ = -k e - b z (4) with z = Jv + (u + λ)/β, u = -λ_prev; and the paper's closed form (15).
  Random random(7);
  for (int i = 0; i < 1000; ++i) {
    const double k = random.uniform(0.0, 100.0), b = random.uniform(0.01, 10.0), e = random.normal();
    const double beta = std::pow(10.0, random.uniform(-3.0, 5.0)), Jv = random.normal(), u = random.normal();
    const double x = -u - beta * (Jv + k / b * e);
    const double lambda = project_row(x, beta / b, -kInfinity, kInfinity);
    const double z = Jv + (u + lambda) / beta,
                 scale = std::abs(k * e) + b * std::abs(Jv) + b * std::abs(u) / beta + 1.0;
    EXPECT_NEAR(lambda, -k * e - b * z, 1e-13 * scale * (1.0 + b / beta));
    EXPECT_NEAR(lambda, -(b * (beta * Jv + u) + beta * k * e) / (b + beta), 1e-13 * scale);
  }
}

TEST(Rows, DerivativeMatchesFiniteDifferences) {
  Random random(8);
  for (int i = 0; i < 5000; ++i) {
    const double compliance = i % 2 == 0 ? 0.0 : random.uniform(0.1, 10.0), x = random.normal(), h = 1e-6;
    const double limits[][2] = {{0.0, kInfinity}, {-kInfinity, kInfinity}, {-0.3, 0.3}};
    for (const auto& [lower, upper] : limits) {
      const double value = x / (1.0 + compliance);
      if (std::abs(value - lower) < 1e-5 || std::abs(value - upper) < 1e-5) continue;
      const double slope =
          (project_row(x + h, compliance, lower, upper) - project_row(x - h, compliance, lower, upper)) / (2 * h);
      EXPECT_NEAR(row_derivative(x, compliance, lower, upper), slope, 1e-9);
    }
  }
}

}  // namespace
}  // namespace almond
