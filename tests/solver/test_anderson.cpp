// Anderson extrapolation: linear fixed points are found from as many steps as there are dimensions, the coefficients
// are those of an independent least-squares solver, and useless data are refused.

#include <gtest/gtest.h>

#include <Eigen/LU>
#include <Eigen/QR>
#include <cmath>

#include "almond/solver/anderson.hpp"
#include "tests/solver/island_fixture.hpp"

namespace almond {
namespace {

using scenes::Random;

/// Columns y_0 .. y_{m+1} of y <- M y + c.
MatX iterate(const MatX& M, const VecX& c, const VecX& start, int m) {
  MatX history(c.size(), m + 2);
  history.col(0) = start;
  for (int k = 0; k <= m; ++k) history.col(k + 1) = M * history.col(k) + c;
  return history;
}

MatX contraction(int n, double radius, Random& random) {
  const MatX Q = Eigen::HouseholderQR<MatX>(testing::random_matrix(n, n, random)).householderQ();
  VecX values(n);
  for (int i = 0; i < n; ++i) values[i] = radius * (i % 2 == 0 ? 1.0 : -1.0) * (1.0 - 0.6 * i / n);
  return Q * values.asDiagonal() * Q.transpose();
}

TEST(Anderson, LinearFixedPointInDimensionPlusOneSteps) {
  Random random(1);
  for (const double radius : {0.5, 0.99, 3.0}) {  // also where the iteration itself diverges
    for (const int n : {2, 3, 4}) {
      const MatX M = contraction(n, radius, random);
      const VecX c = testing::random_vector(n, random), start = testing::random_vector(n, random);
      const VecX fixed_point = (MatX::Identity(n, n) - M).lu().solve(c);
      const MatX history = iterate(M, c, start, n);
      VecX out(n);
      ASSERT_TRUE(extrapolate(history.data(), n, n, out.data()));
      const double before = (history.rightCols<1>() - fixed_point).norm();
      EXPECT_LE((out - fixed_point).norm(), 1e-3 * before) << "radius " << radius << " n " << n;
    }
  }
}

TEST(Anderson, MatchesLeastSquares) {
  // n over several cache blocks and not a multiple of one; γ by QR.
  Random random(2);
  for (const int m : {2, 5, 10, kMaxAnderson}) {
    const int n = 150;
    const MatX M = contraction(n, 0.95, random);
    const VecX c = testing::random_vector(n, random);
    const MatX y = iterate(M, c, testing::random_vector(n, random), m);
    const MatX f = y.rightCols(m + 1) - y.leftCols(m + 1);
    const MatX df = f.rightCols(m) - f.leftCols(m);
    const VecX gamma = df.householderQr().solve(f.col(m));
    const VecX expected = y.col(m + 1) - (y.rightCols(m) - y.middleCols(1, m)) * gamma;
    VecX out(n);
    ASSERT_TRUE(extrapolate(y.data(), n, m, out.data()));
    const double scale = f.col(m).norm();
    const auto residual = [&](const VecX& x) { return (M * x + c - x).norm(); };
    EXPECT_LT(residual(out), 0.6 * scale) << m;
    // Beyond ten columns df is dependent to rounding, and its normal equations cannot follow QR.
    if (m > 10) continue;
    EXPECT_NEAR(residual(out), residual(expected), 1e-2 * scale) << m;
    if (m > 5) continue;
    EXPECT_LE((out - expected).norm(), 1e-3 * (expected - y.col(m + 1)).norm()) << m;
  }
}

TEST(Anderson, UselessDataAreRefusedAndNothingIsWritten) {
  const int n = 3, m = 2;
  const auto refused = [&](const MatX& history) {
    VecX out = VecX::Constant(n, 42.0);
    const bool ok = extrapolate(history.data(), n, m, out.data());
    return !ok && out == VecX(VecX::Constant(n, 42.0));
  };
  EXPECT_TRUE(refused(MatX::Ones(n, m + 2)));  // converged: no differences
  MatX line(n, m + 2);
  for (int k = 0; k < m + 2; ++k) line.col(k).setConstant(k);  // a constant step has no fixed point
  EXPECT_TRUE(refused(line));
  Random random(3);
  for (const double bad : {kNaN, kInfinity, -kInfinity, 1e200}) {
    MatX history = testing::random_matrix(n, m + 2, random);
    history(1, 2) = bad;
    EXPECT_TRUE(refused(history)) << bad;
  }
  VecX out = VecX::Zero(n);
  EXPECT_FALSE(extrapolate(MatX::Ones(n, 3).eval().data(), n, 1, out.data()));  // too short a history
}

TEST(Anderson, NeverReturnsAnythingButNumbers) {
  Random random(4);
  for (int k = 0; k < 2000; ++k) {
    const int n = 1 + random.index(70), m = 2 + random.index(kMaxAnderson - 1);
    MatX history = testing::random_matrix(n, m + 2, random);
    for (int j = 0; j < m + 2; ++j)
      history.col(j) *= std::pow(10.0, random.uniform(-8.0, 8.0));  // explodes and collapses
    VecX out = VecX::Zero(n);
    extrapolate(history.data(), n, m, out.data());
    EXPECT_TRUE(out.allFinite());
  }
}

}  // namespace
}  // namespace almond
