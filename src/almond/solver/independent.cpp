#include "almond/solver/independent.hpp"

#include <algorithm>
#include <cmath>

#include "almond/solver/whiten.hpp"

namespace almond {
namespace {

constexpr std::size_t kMostRows = 400;
constexpr double kDependent = 1e-9;  // of the largest W_ii of the closure

/// Rows U⁻¹ Jᵀ of all sides on a subsystem; false if its A has no factor.
bool whiten_sides(const ContactProblem& problem, int subsystem, IndependenceWorkspace& w) {
  w.side_row.clear();
  w.Z.clear();
  for (std::size_t i = 0; i < problem.equality.size(); ++i) {
    const Row& row = problem.equality[i];
    for (int s = 0; s < row.num_sides; ++s) {
      if (row.sides[s].subsystem != subsystem) continue;
      const MapConstMatr J = problem.J(row.sides[s], 1);
      w.side_row.push_back(static_cast<int>(i));
      w.Z.insert(w.Z.end(), J.data(), J.data() + J.size());
    }
  }
  if (w.side_row.empty()) return true;
  const MapConstMat A = problem.A(subsystem);
  const auto n = static_cast<int>(A.cols());
  w.U.assign(A.data(), A.data() + A.size());
  if (!factor_upper(w.U.data(), n)) return false;
  w.inverse.resize(static_cast<std::size_t>(n));
  for (int k = 0; k < n; ++k) w.inverse[k] = 1.0 / w.U[static_cast<std::size_t>(k) * n + k];
  solve_upper_rows(w.U.data(), n, w.inverse.data(), w.Z.data(), n, static_cast<int>(w.side_row.size()));
  return true;
}

/// W = J A⁻¹ Jᵀ over all equality rows, subsystem by subsystem.
bool compute_delassus(const ContactProblem& problem, IndependenceWorkspace& w) {
  const auto count = static_cast<Eigen::Index>(problem.equality.size());
  w.W.setZero(count, count);
  for (std::size_t t = 0; t < problem.subsystems.size(); ++t) {
    if (!whiten_sides(problem, static_cast<int>(t), w)) return false;
    const int n = problem.subsystems[t].dofs;
    const auto z = [&](std::size_t side) { return MapConstVec(w.Z.data() + side * n, n); };
    for (std::size_t a = 0; a < w.side_row.size(); ++a)
      for (std::size_t b = 0; b < w.side_row.size(); ++b)
        if (w.side_row[b] <= w.side_row[a]) w.W(w.side_row[a], w.side_row[b]) += z(a).dot(z(b));
  }
  w.W.triangularView<Eigen::StrictlyUpper>() = w.W.transpose();
  return true;
}

bool has_lever(const ContactProblem& problem, const Row& row) {
  for (int s = 0; s < row.num_sides; ++s)
    if (problem.J(row.sides[s], 1).cwiseAbs().maxCoeff() > kNoLever) return true;
  return false;
}

/// Largest W_ii of the same closure and the same unit; infinite where no joint moves the row.
void compute_scales(const ContactProblem& problem, const std::vector<int>& closure, IndependenceWorkspace& w) {
  const auto count = static_cast<Eigen::Index>(closure.size());
  w.scale.setZero(count);
  for (Eigen::Index i = 0; i < count; ++i)
    for (Eigen::Index k = 0; k < count; ++k)
      if (closure[k] == closure[i]) w.scale[i] = std::max(w.scale[i], w.W(k, k));
  for (Eigen::Index i = 0; i < count; ++i)
    if (!has_lever(problem, problem.equality[i])) w.scale[i] = kInfinity;
}

void find_independent(IndependenceWorkspace& w) {
  const Eigen::Index count = w.W.rows();
  w.left = w.W.diagonal();
  w.L.resize(count, count);
  w.kept.assign(static_cast<std::size_t>(count), 0);
  for (Eigen::Index rank = 0; rank < count; ++rank) {
    Eigen::Index pivot = -1;
    double best = kDependent;
    for (Eigen::Index i = 0; i < count; ++i) {
      if (w.kept[i] != 0 || !(w.left[i] > best * w.scale[i])) continue;
      best = w.left[i] / w.scale[i];
      pivot = i;
    }
    if (pivot < 0) return;
    w.kept[pivot] = 1;
    const double root = std::sqrt(w.left[pivot]);
    for (Eigen::Index i = 0; i < count; ++i) {
      if (w.kept[i] != 0 && i != pivot) continue;
      double entry = w.W(i, pivot);
      for (Eigen::Index m = 0; m < rank; ++m) entry -= w.L(i, m) * w.L(pivot, m);
      w.L(i, rank) = entry / root;
      if (i != pivot) w.left[i] -= w.L(i, rank) * w.L(i, rank);
    }
  }
}

}  // namespace

bool soften_equalities(const std::vector<int>& closure, IndependenceWorkspace& w, ContactProblem& problem) {
  std::vector<Row>& rows = problem.equality;
  if (rows.empty() || rows.size() > kMostRows || !compute_delassus(problem, w)) return false;
  compute_scales(problem, closure, w);
  find_independent(w);
  for (std::size_t i = 0; i < rows.size(); ++i) {
    if (w.kept[i] == 0) continue;
    Row row = rows[i];
    row.k = row.b = 1.0 / (kClosureCompliance * w.scale[static_cast<Eigen::Index>(i)]);
    problem.soft.push_back(row);
  }
  rows.clear();
  return true;
}

}  // namespace almond
