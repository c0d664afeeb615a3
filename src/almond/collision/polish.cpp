#include "almond/collision/polish.hpp"

#include <algorithm>
#include <cmath>

namespace almond {
namespace {

constexpr int kMaxSteps = 8;
constexpr int kMaxBranches = 3;
constexpr int kMaxRows = 2 + 1 + kMaxBranches - 1;  // normal, h, weights

using Tangent = Eigen::Matrix<double, 3, 2>;

/// A small square system, right-hand side in the last column.
struct System {
  int rows;
  double a[kMaxRows][kMaxRows + 1] = {};

  /// Gauss with row pivots; the solution replaces the last column. False when singular.
  bool solve() {
    for (int k = 0; k < rows; ++k) {
      int pivot = k;
      for (int i = k + 1; i < rows; ++i)
        if (std::abs(a[i][k]) > std::abs(a[pivot][k])) pivot = i;
      if (!(std::abs(a[pivot][k]) > 0.0)) return false;
      if (pivot != k) std::swap(a[pivot], a[k]);
      for (int i = 0; i < rows; ++i) {
        if (i == k) continue;
        const double factor = a[i][k] / a[k][k];
        for (int j = k; j <= rows; ++j) a[i][j] -= factor * a[k][j];
      }
    }
    for (int k = 0; k < rows; ++k) a[k][rows] /= a[k][k];
    return true;
  }
};

struct Branches {
  int count = 0;
  DifferencePoint point[kMaxBranches];
  double weight[kMaxBranches] = {};
};

/// Points of the same branch count once.
Branches find_branches(const Simplex& simplex) {
  Branches branches;
  for (int i = 0; i < simplex.count && i < kMaxBranches; ++i) {
    const DifferencePoint& p = simplex.point[i];
    int k = 0;
    while (k < branches.count && (branches.point[k].branch_a != p.branch_a || branches.point[k].branch_b != p.branch_b))
      ++k;
    if (k == branches.count) branches.point[branches.count++] = p;
    branches.weight[k] += simplex.weight[i];
  }
  return branches;
}

/// Whether h has a minimum here along the edge that two branches share, or around a smooth point. The matrix is
/// that of second derivatives over the sphere, in the tangent plane.
bool is_minimum(const Branches& branches, const Tangent& T, const Eigen::Matrix2d& M, double slack) {
  if (branches.count == 3) return true;
  if (branches.count == 2) {
    const Vec2 kink = T.transpose() * (branches.point[1].y - branches.point[0].y);
    const Vec2 along(-kink.y(), kink.x());
    return along.dot(M * along) >= -slack * along.squaredNorm();
  }
  // A valley floor, as along the axis of a cylinder, has a second derivative of zero.
  return M.trace() >= -slack && M.determinant() >= -slack * std::abs(M.trace());
}

}  // namespace

bool polish_normal(Difference& difference, const Simplex& simplex, const Vec3& start, CoreDistance& result) {
  Branches branches = find_branches(simplex);
  const int m = branches.count, rows = 2 + m;
  const double scale = difference.size() + difference.X_ab.p.norm();
  Vec3 n = start;
  double h = 0.0, last = kInfinity;
  for (int iteration = 0; iteration < kMaxSteps; ++iteration) {
    ++result.iterations;
    Mat3 J = Mat3::Zero();
    Vec3 nearest = Vec3::Zero();
    for (int k = 0; k < m; ++k) {
      DifferencePoint& p = branches.point[k];
      p = difference.branch_support(p.branch_a, p.branch_b, n);
      J += branches.weight[k] * difference.branch_jacobian(p.branch_a, p.branch_b, n);
      nearest += branches.weight[k] * p.y;
    }
    if (iteration == 0) h = n.dot(nearest);

    const Vec3 r = nearest - h * n;
    double residual = r.cwiseAbs().maxCoeff();
    for (int k = 1; k < m; ++k)
      residual = std::max(residual, std::abs(n.dot(branches.point[k].y - branches.point[0].y)));
    const Tangent T = make_frame(n).leftCols<2>();
    const Eigen::Matrix2d M = T.transpose() * J * T - h * Eigen::Matrix2d::Identity();
    if (residual <= 1e-15 * scale || (residual <= 1e-13 * scale && residual > 0.1 * last)) {
      for (int k = 0; k < m; ++k)
        if (!(branches.weight[k] >= -1e-9)) return false;
      // Another branch reaches farther: the answer is not made of these.
      if (!is_minimum(branches, T, M, 1e-9 * scale) || !(n.dot(difference.support(n).y) <= h + 1e-13 * scale))
        return false;
      result.gap = -h;
      result.n = n;
      result.p_a = result.p_b = Vec3::Zero();
      for (int k = 0; k < m; ++k) {
        result.p_a += branches.weight[k] * branches.point[k].a;
        result.p_b += branches.weight[k] * branches.point[k].b;
      }
      result.converged = true;
      return true;
    }
    if (!(residual < 0.5 * last)) return false;
    last = residual;

    // Unknowns: n moves by T δ, then h, then the weights of branches 2..m (the first takes what they leave).
    System system{rows};
    // The small addition keeps the matrix regular over a level valley floor and costs about one more step.
    const Tangent turn = J * T - (1.0 - 1e-7) * h * T;
    for (int i = 0; i < 3; ++i) {
      system.a[i][0] = turn(i, 0);
      system.a[i][1] = turn(i, 1);
      system.a[i][2] = -n[i];
      system.a[i][rows] = -r[i];
    }
    for (int k = 1; k < m; ++k) {
      const Vec3 edge = branches.point[k].y - branches.point[0].y;
      for (int i = 0; i < 3; ++i) system.a[i][2 + k] = edge[i];
      system.a[2 + k][0] = edge.dot(T.col(0));
      system.a[2 + k][1] = edge.dot(T.col(1));
      system.a[2 + k][rows] = -n.dot(edge);
    }
    if (!system.solve()) return false;
    const Vec2 turned(system.a[0][rows], system.a[1][rows]);
    if (!(turned.norm() < 0.5)) return false;
    n = (n + T * turned).normalized();
    h += system.a[2][rows];
    for (int k = 1; k < m; ++k) {
      branches.weight[k] += system.a[2 + k][rows];
      branches.weight[0] -= system.a[2 + k][rows];
    }
  }
  return false;
}

}  // namespace almond
