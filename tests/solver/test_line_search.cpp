// The exact line search finds the root of a slope: against closed forms, kinks, and slopes that have no root.

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "almond/solver/line_search.hpp"

namespace almond {
namespace {

TEST(LineSearch, QuadraticIsSolvedExactly) {
  for (const double root : {1e-6, 0.1, 1.0, 3.0, 1e5}) {
    int evaluations = 0;
    const double alpha = find_step([&](double a, double& curvature) {
      ++evaluations;
      curvature = 2.0;
      return 2.0 * (a - root);
    });
    EXPECT_NEAR(alpha, root, 1e-10 * root);
    EXPECT_LE(evaluations, 4 + static_cast<int>(std::max(0.0, std::log2(root)) + 1.0));
  }
}

TEST(LineSearch, NewtonStepOfLengthOneCostsTwoEvaluations) {
  int evaluations = 0;
  EXPECT_EQ(find_step([&](double a, double& curvature) {
              ++evaluations;
              curvature = 5.0;
              return 5.0 * (a - 1.0);
            }),
            1.0);
  EXPECT_EQ(evaluations, 2);
}

TEST(LineSearch, KinksOfAnAugmentedLagrangianSlope) {
  // φ' = -1 + ε α + Σ β max(0, α - k_i): the slope of a nearly flat direction that runs into contacts at k_i.
  for (const double beta : {1e-3, 1.0, 1e4, 1e8}) {
    for (const double first : {1e-4, 0.3, 20.0}) {
      const double kinks[] = {first, 1.5 * first, 4.0 * first};
      int evaluations = 0;
      const auto slope = [&](double a, double& curvature) {
        ++evaluations;
        double value = -1.0 + 1e-3 * a;
        curvature = 1e-3;
        for (const double kink : kinks) {
          value += beta * std::max(0.0, a - kink);
          curvature += a > kink ? beta : 0.0;
        }
        return value;
      };
      const double alpha = find_step(slope);
      EXPECT_LE(evaluations, 80);
      // The root by plain bisection.
      double low = 0.0, high = 1e4, unused = 0.0;
      for (int k = 0; k < 200; ++k) (slope(0.5 * (low + high), unused) < 0.0 ? low : high) = 0.5 * (low + high);
      EXPECT_NEAR(alpha, low, 1e-9 * low) << "beta " << beta << " first kink " << first;
    }
  }
}

TEST(LineSearch, StaircaseOfSaturatingRows) {
  // Rows that go from one bound to the other, one after the other: steep, flat, steep, flat.
  for (const int stairs : {3, 50, 400}) {
    for (const double share : {0.05, 0.5, 0.93}) {  // where along the stairs the root lies
      const auto slope = [&](double a, double& curvature) {
        double value = -share + 1e-9 * a;
        curvature = 1e-9;
        for (int k = 0; k < stairs; ++k) {
          const double height = 10.0 * (a - (k + 0.9) / stairs);
          value += std::clamp(height, 0.0, 1.0 / stairs);
          curvature += height > 0.0 && height < 1.0 / stairs ? 10.0 : 0.0;
        }
        return value;
      };
      double unused = 0.0;
      EXPECT_LE(std::abs(slope(find_step(slope), unused)), 2e-10 * share) << stairs << " " << share;
    }
  }
}

TEST(LineSearch, WithoutCurvatureItBisects) {
  for (const double curvature_said : {0.0, 1e-12}) {
    const auto slope = [&](double a, double& curvature) {
      curvature = curvature_said;
      return std::atan(10.0 * (a - 0.37));
    };
    double unused = 0.0;
    EXPECT_LE(std::abs(slope(find_step(slope), unused)), 1e-9);
  }
}

TEST(LineSearch, NoRootEndsAndStaysFinite) {
  for (const double limit : {-1.0, -1e-3}) {
    int evaluations = 0;
    const double alpha = find_step([&](double, double& curvature) {
      ++evaluations;
      curvature = 0.0;
      return limit;
    });
    EXPECT_TRUE(std::isfinite(alpha));
    EXPECT_GT(alpha, 1.0);
    EXPECT_LE(evaluations, 100);
  }
}

TEST(LineSearch, FlatOrUphillStartTakesTheNewtonStep) {
  for (const double start : {0.0, 1.0, std::nan("")}) {
    EXPECT_EQ(find_step([&](double, double& curvature) {
                curvature = 1.0;
                return start;
              }),
              1.0);
  }
}

}  // namespace
}  // namespace almond
