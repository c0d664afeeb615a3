// The surrogate of one augmented Lagrangian iteration: its residual is the gradient of h, its matrix the derivative of
// the residual, Newton on h descends, and the strict solution obeys r = 0 and the contact law. Against finite
// differences and dense matrices, with contacts, hard, soft, equality and bounded rows.

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "almond/solver/cone.hpp"
#include "almond/solver/surrogate.hpp"
#include "tests/solver/island_fixture.hpp"

namespace almond {
namespace {

using scenes::Random;
using testing::OneIsland;

ContactProblem make_mixed(std::uint64_t seed) {
  Random random(seed);
  return testing::make_graph_problem(
      {{6, 3, 7, 1}, {{0, 1}, {1, 2}, {2, -1}, {0, -1}, {2, 2}, {3, 0}, {1, -1}, {0, 2}}}, true, random);
}

/// x of every row from the definition: λ - β(Jv + e + p).
VecX make_x(const Island& island, const Surrogate& surrogate, bool with_p) {
  VecX x(island.rows);
  for (int i = 0; i < island.num_constraints; ++i) {
    const Constraint& c = island.constraints[i];
    for (int r = 0; r < c.dim; ++r) {
      const int k = c.row + r;
      x[k] = surrogate.anchor()[k] - surrogate.beta()[i] * (surrogate.Jv()[k] + island.e[k]);
    }
    if (with_p && c.dim == 3) x[c.row + 2] -= surrogate.beta()[i] * surrogate.p()[i];
  }
  return x;
}

/// h(v) of (22): ½‖v‖² - bᵀv + Σ ∫T/β. The integral is ‖λ‖²/(2β) for contacts and hard rows, (1 + βc)λ²/(2β) for soft
/// ones, and Huber's function for bounded ones.
double compute_h(const Island& island, const Surrogate& surrogate) {
  const MapConstVec v = testing::as_vector(surrogate.velocity()), lambda = testing::as_vector(surrogate.lambda());
  double h = 0.5 * v.squaredNorm() - testing::as_vector(island.b).dot(v);
  const VecX x = make_x(island, surrogate, true);
  for (int i = 0; i < island.num_constraints; ++i) {
    const Constraint& c = island.constraints[i];
    const double beta = surrogate.beta()[i];
    if (c.dim == 3) {
      h += lambda.segment<3>(c.row).squaredNorm() / (2.0 * beta);
      continue;
    }
    const int s = island.row_index(i);
    const double l = lambda[c.row];
    if (std::isfinite(island.upper[s]) && std::abs(x[c.row]) > island.upper[s]) {
      h += island.upper[s] * (std::abs(x[c.row]) - 0.5 * island.upper[s]) / beta;
    } else {
      h += (1.0 + beta * island.compliance[s]) * l * l / (2.0 * beta);
    }
  }
  return h;
}

/// A surrogate with random anchor, penalty and point.
struct Sample {
  Sample(const ContactProblem& problem, double c, std::uint64_t seed) : one(problem), random(seed) {
    surrogate.start(one.island());
    surrogate.set_penalty(c);
    surrogate.set_velocity(testing::random_velocity(one.island(), random).eval().data());
    surrogate.lag_p(1.0);
    const VecX anchor = testing::random_vector(one.island().rows, random);
    surrogate.set_anchor(anchor.data());
    surrogate.set_velocity(testing::random_velocity(one.island(), random).eval().data());
  }
  OneIsland one;
  Random random;
  Surrogate surrogate;
};

TEST(Surrogate, ResidualIsTheGradientOfH) {
  for (std::uint64_t seed = 1; seed <= 8; ++seed) {
    for (const double c : {0.1, 1.0, 30.0}) {
      Sample s(make_mixed(seed), c, seed);
      s.surrogate.evaluate(false);
      const VecX v = testing::as_vector(s.surrogate.velocity()), r = testing::as_vector(s.surrogate.r());
      const double step = 1e-5;
      for (const Node& node : s.one.island().nodes) {
        for (int k = node.v_begin; k < node.v_begin + node.dofs; ++k) {
          const auto h_at = [&](double offset) {
            VecX moved = v;
            moved[k] += offset;
            s.surrogate.set_velocity(moved.data());
            s.surrogate.evaluate(false);
            return compute_h(s.one.island(), s.surrogate);
          };
          // ∇h is Lipschitz with constant about c times the number of constraints: that times step bounds a kink.
          EXPECT_NEAR((h_at(step) - h_at(-step)) / (2.0 * step), r[k], step * (1.0 + 20.0 * c))
              << "seed " << seed << " c " << c;
        }
      }
    }
  }
}

TEST(Surrogate, ResidualFromItsDefinition) {
  for (const bool strict : {true, false}) {
    Sample s(make_mixed(3), 2.0, 3);
    const Island& island = s.one.island();
    const double norm = s.surrogate.evaluate(strict);
    const VecX x = make_x(island, s.surrogate, !strict);
    VecX T(island.rows);
    for (int i = 0; i < island.num_constraints; ++i) {
      const int row = island.constraints[i].row, k = island.row_index(i);
      Vec3 projected;
      if (i < island.num_contacts) {
        (strict ? project_strict : project_prox)(island.mu[i], x.segment<3>(row), projected);
        T.segment<3>(row) = projected;
      } else {
        T[row] = project_row(x[row], s.surrogate.beta()[i] * island.compliance[k], island.lower[k], island.upper[k]);
      }
    }
    const MatX J = testing::dense_J(island);
    const VecX r = testing::as_vector(s.surrogate.velocity()) - testing::as_vector(island.b) - J.transpose() * T;
    EXPECT_LE((testing::as_vector(s.surrogate.lambda()) - T).norm(), 1e-12 * (1.0 + T.norm()));
    EXPECT_LE((testing::as_vector(s.surrogate.r()) - r).norm(), 1e-12 * (1.0 + r.norm()));
    EXPECT_NEAR(norm, r.norm(), 1e-12 * (1.0 + r.norm()));
    // al = ‖(T - λ)/β‖.
    double al2 = 0.0;
    for (int i = 0; i < island.num_constraints; ++i) {
      const Constraint& c = island.constraints[i];
      const VecX change = (T - testing::as_vector(s.surrogate.anchor())).segment(c.row, c.dim) / s.surrogate.beta()[i];
      al2 += change.squaredNorm();
    }
    EXPECT_NEAR(s.surrogate.al_residual(), std::sqrt(al2), 1e-12 * (1.0 + std::sqrt(al2)));
  }
}

TEST(Surrogate, MatrixIsTheDerivativeOfTheResidual) {
  for (const bool strict : {true, false}) {
    for (std::uint64_t seed = 1; seed <= 5; ++seed) {
      Sample s(make_mixed(seed), 3.0, seed);
      s.surrogate.evaluate(strict);
      ASSERT_TRUE(s.surrogate.newton_direction(strict));
      const Island& island = s.one.island();
      const VecX v = testing::as_vector(s.surrogate.velocity());
      const VecX d = testing::random_velocity(island, s.random).normalized();
      VecX Hd(island.v_size), Hu(island.v_size), HTu(island.v_size);
      s.surrogate.multiply_H(d.data(), Hd.data());
      // Transposition: u·Hd = d·Hᵀu, and H is symmetric only for the proximal operator.
      const VecX u = testing::random_velocity(island, s.random).normalized();
      s.surrogate.multiply_H(u.data(), Hu.data());
      s.surrogate.multiply_HT(u.data(), HTu.data());
      EXPECT_NEAR(u.dot(Hd), d.dot(HTu), 1e-12 * Hd.norm());
      if (!strict) {
        EXPECT_LE((Hu - HTu).norm(), 1e-12 * Hu.norm());
      }
      // The Newton direction solves H d = -r, and its product J d is at hand.
      VecX Hn(island.v_size);
      const VecX newton = testing::as_vector(s.surrogate.direction()), r = testing::as_vector(s.surrogate.r());
      s.surrogate.multiply_H(newton.data(), Hn.data());
      EXPECT_LE((Hn + r).norm(), 1e-11 * (1.0 + r.norm()));
      const double step = 1e-6;
      VecX plus, minus;
      for (const double sign : {1.0, -1.0}) {
        s.surrogate.set_velocity((v + sign * step * d).eval().data());
        s.surrogate.evaluate(strict);
        (sign > 0.0 ? plus : minus) = testing::as_vector(s.surrogate.r());
      }
      EXPECT_LE(((plus - minus) / (2.0 * step) - Hd).norm(), 1e-6 * Hd.norm())
          << "strict " << strict << " seed " << seed;
    }
  }
}

TEST(Surrogate, EvaluationAlongADirectionIsTheOneThere) {
  for (const bool strict : {true, false}) {
    Sample s(make_mixed(4), 2.0, 4);
    s.surrogate.evaluate(strict);
    ASSERT_TRUE(s.surrogate.newton_direction(strict));
    const double there = s.surrogate.evaluate_at(strict, 0.37);
    const VecX r = testing::as_vector(s.surrogate.r());
    s.surrogate.move(0.37);
    EXPECT_NEAR(s.surrogate.evaluate(strict), there, 1e-13 * (1.0 + there));
    s.surrogate.refresh();
    s.surrogate.evaluate(strict);
    EXPECT_LE((testing::as_vector(s.surrogate.r()) - r).norm(), 1e-12 * (1.0 + r.norm()));
  }
}

TEST(Surrogate, ExactLineSearchEndsWhereTheSlopeVanishes) {
  for (std::uint64_t seed = 1; seed <= 5; ++seed) {
    Sample s(make_mixed(seed), 10.0, seed);
    s.surrogate.evaluate(false);
    // Along the gradient itself, which is far from the Newton step.
    const double before = testing::as_vector(s.surrogate.r()).squaredNorm();
    std::transform(s.surrogate.r().begin(), s.surrogate.r().end(), s.surrogate.direction().begin(), std::negate<>());
    s.surrogate.compute_direction_products();
    const double alpha = s.surrogate.line_search();
    EXPECT_GT(alpha, 0.0);
    s.surrogate.evaluate_at(false, alpha);
    const double slope = testing::as_vector(s.surrogate.r()).dot(testing::as_vector(s.surrogate.direction()));
    EXPECT_LE(std::abs(slope), 2e-10 * before);
  }
}

TEST(Surrogate, EveryConvexNewtonStepLowersH) {
  for (std::uint64_t seed = 1; seed <= 6; ++seed) {
    for (const double c : {1.0, 1e3, 1e6}) {
      Sample s(make_mixed(seed), c, seed);
      NewtonOptions options;
      options.max_steps = 1;
      options.tolerance = 1e-12 * s.one.island().b_norm;
      s.surrogate.evaluate(false);
      double h = compute_h(s.one.island(), s.surrogate);
      bool converged = false;
      for (int step = 0; step < 30 && !converged; ++step) {
        converged = s.surrogate.newton_convex(options, s.one.monitor).converged;
        const double next = compute_h(s.one.island(), s.surrogate);
        EXPECT_LE(next, h + 1e-12 * std::abs(h)) << "seed " << seed << " c " << c << " step " << step;
        h = next;
      }
      options.max_steps = 500;  // from anywhere, at any penalty: slow through many kinks, but it arrives
      EXPECT_TRUE(s.surrogate.newton_convex(options, s.one.monitor).converged) << "seed " << seed << " c " << c;
      EXPECT_GE(s.one.monitor.newton_steps, 1);
    }
  }
}

TEST(Surrogate, WithoutActiveConstraintsOneStepIsEnough) {
  // Contacts that open: v = b. Equality and soft rows only: the problem is linear.
  Random random(5);
  ContactProblem open, linear;
  for (ContactProblem* problem : {&open, &linear}) {
    for (const int n : {6, 4})
      problem->add_subsystem(testing::random_spd(n, random), testing::random_vector(n, random));
  }
  const auto sides = [&](int dim) {
    return std::vector<SideInput>{testing::make_side(0, testing::random_matrix(dim, 6, random)),
                                  testing::make_side(1, testing::random_matrix(dim, 4, random))};
  };
  for (int k = 0; k < 3; ++k) {
    const std::vector<SideInput> s = sides(3);
    open.add_contact(0.5, Vec3(0.0, 0.0, 1e3), s[0], s[1]);
    linear.add_equality(random.normal(), sides(1));
    linear.add_soft(random.normal(), 2.0, 0.5, sides(1));
  }
  for (const ContactProblem* problem : {&open, &linear}) {
    for (const bool strict : {true, false}) {
      OneIsland one(*problem);
      Surrogate surrogate;
      surrogate.start(one.island());
      surrogate.set_penalty(100.0);
      NewtonOptions options;
      options.tolerance = 1e-12 * one.island().b_norm;
      const NewtonResult result =
          strict ? surrogate.newton_strict(options, one.monitor) : surrogate.newton_convex(options, one.monitor);
      EXPECT_TRUE(result.converged);
      EXPECT_EQ(result.steps, 1);
      if (problem != &open) continue;
      EXPECT_LE((testing::as_vector(surrogate.velocity()) - testing::as_vector(one.island().b)).norm(), 1e-13);
    }
  }
}

TEST(Surrogate, StrictSolutionObeysResidualAndLaw) {
  int solved = 0;
  for (std::uint64_t seed = 1; seed <= 10; ++seed) {
    const ContactProblem problem = scenes::make_random(4, 8, 0.4, seed).problem;
    OneIsland one(problem);
    const Island& island = one.island();
    Surrogate surrogate;
    surrogate.start(island);
    surrogate.set_penalty(10.0);
    surrogate.set_velocity_from(one.lambda.data());
    NewtonOptions options;
    options.tolerance = 1e-12 * island.b_norm;
    if (!surrogate.newton_strict(options, one.monitor).converged) continue;  // no guarantee; most must succeed
    ++solved;
    surrogate.refresh();
    const double goal = std::max(options.tolerance, surrogate.rounding_floor());
    EXPECT_LE(surrogate.evaluate(true), 10.0 * goal);
    const VecX v = testing::as_vector(surrogate.velocity()), lambda = testing::as_vector(surrogate.lambda());
    EXPECT_LE((v - testing::as_vector(island.b) - testing::dense_J(island).transpose() * lambda).norm(), 10.0 * goal);
    const VecX x = make_x(island, surrogate, false);
    for (int i = 0; i < island.num_contacts; ++i) {  // z + e = (λ - x)/β
      const Vec3 w = (lambda - x).segment<3>(3 * i) / surrogate.beta()[i], l = lambda.segment<3>(3 * i);
      EXPECT_GE(l[2], 0.0);
      EXPECT_GE(w[2], 0.0);
      EXPECT_EQ(l[2] * w[2], 0.0);
      EXPECT_NEAR(island.mu[i] * l[2] * w.head<2>().norm() + l.dot(w), 0.0, 1e-12 * (1.0 + l.norm() * w.norm()));
    }
  }
  EXPECT_GE(solved, 7);
}

TEST(Surrogate, NoFrictionMakesBothFormsOne) {
  for (std::uint64_t seed = 1; seed <= 5; ++seed) {
    const ContactProblem problem = scenes::make_frictionless(4, 8, seed).problem;
    OneIsland one(problem);
    VecX v[2];
    for (const bool strict : {false, true}) {
      Surrogate surrogate;
      surrogate.start(one.island());
      surrogate.set_penalty(10.0);
      surrogate.set_velocity_from(one.lambda.data());
      surrogate.lag_p(1.0);
      EXPECT_EQ(surrogate.p_change(), 0.0);
      NewtonOptions options;
      options.tolerance = 1e-12 * one.island().b_norm;
      const NewtonResult result =
          strict ? surrogate.newton_strict(options, one.monitor) : surrogate.newton_convex(options, one.monitor);
      EXPECT_TRUE(result.converged) << strict;
      v[strict ? 1 : 0] = testing::as_vector(surrogate.velocity());
    }
    EXPECT_LE((v[0] - v[1]).norm(), 1e-10 * (1.0 + v[0].norm()));
  }
}

TEST(Surrogate, LagOfPIsDampedAndMeasured) {
  ContactProblem problem;
  problem.add_subsystem(Mat3::Identity(), Vec3(3.0, 4.0, -1.0));
  problem.add_contact(0.5, Vec3(3.0, 4.0, 0.0), testing::make_side(0, Mat3::Identity()));
  OneIsland one(problem);
  Surrogate surrogate;
  surrogate.start(one.island());
  surrogate.set_velocity_from(one.lambda.data());  // w_t = (6, 8): e counts
  surrogate.lag_p(0.5);
  EXPECT_NEAR(surrogate.p()[0], 2.5, 1e-14);
  surrogate.evaluate(false);
  ASSERT_GT(surrogate.lambda()[2], 0.0);
  EXPECT_NEAR(surrogate.p_change(), 2.5, 1e-14);
  surrogate.lag_p(1.0);
  EXPECT_NEAR(surrogate.p()[0], 5.0, 1e-14);
  surrogate.clear_p();
  EXPECT_EQ(surrogate.p()[0], 0.0);
}

}  // namespace
}  // namespace almond
