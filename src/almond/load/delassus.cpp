#include "almond/load/delassus.hpp"

#include <Eigen/Eigenvalues>
#include <algorithm>
#include <cmath>

#include "almond/base/check.hpp"
#include "almond/load/body_cover.hpp"
#include "almond/load/body_parts.hpp"

namespace almond {
namespace {

constexpr double kCoupled = 1e-13;    // blocks below this, relative to the diagonal ones, are rounding
constexpr double kTolerance = 1e-12;  // of a factor against W, relative to sqrt(W_ii W_jj)
constexpr std::int64_t kMaxEntries = std::int64_t{1} << 28;

/// Symmetric part of W with sorted rows, repeated entries added. `asymmetry` is max|W - Wᵀ| / max|W|.
Csr symmetric_part(const Csr& W, double& asymmetry) {
  std::vector<std::vector<std::pair<int, double>>> rows(static_cast<std::size_t>(W.rows));
  std::vector<std::vector<std::pair<int, double>>> skew(rows.size());
  for (int i = 0; i < W.rows; ++i) {
    for (int k = W.start[i]; k < W.start[i + 1]; ++k) {
      const int j = W.column[k];
      rows[i].emplace_back(j, 0.5 * W.value[k]);
      rows[j].emplace_back(i, 0.5 * W.value[k]);
      skew[i].emplace_back(j, W.value[k]);
      skew[j].emplace_back(i, -W.value[k]);
    }
  }
  Csr sym = Csr::empty(W.rows, W.cols);
  double largest = 0.0, difference = 0.0;
  const auto by_column = [](const auto& a, const auto& b) { return a.first < b.first; };
  for (std::size_t i = 0; i < rows.size(); ++i) {
    std::stable_sort(rows[i].begin(), rows[i].end(), by_column);
    std::stable_sort(skew[i].begin(), skew[i].end(), by_column);
    for (std::size_t k = 0; k < rows[i].size();) {
      const int column = rows[i][k].first;
      double sum = 0.0, skew_sum = 0.0;
      for (; k < rows[i].size() && rows[i][k].first == column; ++k) {
        sum += rows[i][k].second;
        skew_sum += skew[i][k].second;
      }
      difference = std::max(difference, std::abs(skew_sum));
      if (sum == 0.0) continue;
      largest = std::max(largest, std::abs(sum));
      sym.column.push_back(column);
      sym.value.push_back(sum);
    }
    sym.start[i + 1] = static_cast<int>(sym.column.size());
  }
  asymmetry = largest > 0.0 ? difference / largest : 0.0;
  require(std::isfinite(largest), "entries overflow when W is symmetrised");
  return sym;
}

/// Constraints as groups of rows: three per contact, one per equality row.
struct Groups {
  std::vector<int> start;   // (groups + 1)
  std::vector<int> of_row;  // (rows)
  Groups(int contacts, int rows) : start{0} {
    while (start.back() < rows) {
      const int size = start.back() < 3 * contacts ? 3 : 1;
      of_row.insert(of_row.end(), static_cast<std::size_t>(size), count());
      start.push_back(start.back() + size);
    }
  }
  [[nodiscard]] int count() const { return static_cast<int>(start.size()) - 1; }
  [[nodiscard]] std::vector<int> rows(const std::vector<int>& groups) const {
    std::vector<int> list;
    for (const int g : groups) {
      for (int row = start[g]; row < start[g + 1]; ++row) list.push_back(row);
    }
    return list;
  }
};

/// A power of two per row, equal within a group, that brings the diagonal blocks near 1: bodies of very different mass
/// are then told apart, and factored, with the same relative accuracy. Powers of two scale without rounding.
VecX find_units(const Csr& W, const Groups& groups) {
  VecX unit = VecX::Ones(W.rows);
  for (int g = 0; g < groups.count(); ++g) {
    double largest = 0.0;
    for (int row = groups.start[g]; row < groups.start[g + 1]; ++row) {
      for (int k = W.start[row]; k < W.start[row + 1]; ++k) {
        if (W.column[k] == row) largest = std::max(largest, W.value[k]);
      }
    }
    if (largest <= 0.0) continue;
    const double size = std::exp2(std::clamp(std::round(0.5 * std::log2(largest)), -400.0, 400.0));
    unit.segment(groups.start[g], groups.start[g + 1] - groups.start[g]).setConstant(size);
  }
  return unit;
}

Csr divide_by_units(Csr W, const VecX& unit) {
  for (int row = 0; row < W.rows; ++row) {
    for (int k = W.start[row]; k < W.start[row + 1]; ++k) W.value[k] /= unit[row] * unit[W.column[k]];
  }
  return W;
}

/// Sorted neighbours of each group, itself included.
std::vector<std::vector<int>> find_neighbours(const Csr& W, const Groups& groups) {
  std::vector<double> diagonal(static_cast<std::size_t>(groups.count()), 0.0);
  std::vector<std::vector<std::pair<int, double>>> blocks(diagonal.size());
  std::vector<double> size(diagonal.size(), 0.0);
  for (int g = 0; g < groups.count(); ++g) {
    for (int row = groups.start[g]; row < groups.start[g + 1]; ++row) {
      for (int k = W.start[row]; k < W.start[row + 1]; ++k) {
        const int h = groups.of_row[W.column[k]];
        if (size[h] == 0.0) blocks[g].emplace_back(h, 0.0);
        size[h] = std::max(size[h], std::abs(W.value[k]));
      }
    }
    for (auto& [h, value] : blocks[g]) {
      value = size[h];
      size[h] = 0.0;
      if (h == g) diagonal[g] = value;
    }
  }
  std::vector<std::vector<int>> neighbours(diagonal.size());
  for (int g = 0; g < groups.count(); ++g) {
    neighbours[g].push_back(g);
    for (const auto& [h, value] : blocks[g]) {
      if (h != g && value > kCoupled * std::sqrt(diagonal[g] * diagonal[h])) neighbours[g].push_back(h);
    }
    std::sort(neighbours[g].begin(), neighbours[g].end());
  }
  return neighbours;
}

std::vector<std::vector<int>> find_islands(const std::vector<std::vector<int>>& neighbours) {
  std::vector<std::vector<int>> islands;
  std::vector<bool> seen(neighbours.size(), false);
  for (std::size_t first = 0; first < neighbours.size(); ++first) {
    if (seen[first]) continue;
    seen[first] = true;
    std::vector<int> island = {static_cast<int>(first)};
    for (std::size_t at = 0; at < island.size(); ++at) {
      for (const int next : neighbours[island[at]]) {
        if (seen[next]) continue;
        seen[next] = true;
        island.push_back(next);
      }
    }
    std::sort(island.begin(), island.end());
    islands.push_back(std::move(island));
  }
  return islands;
}

struct Counts {
  int bodies = 0, whole_islands = 0, projected = 0;
  double most_negative = 0.0;  // eigenvalue removed, relative to the largest
};

/// The island as one part: Cholesky if W is semidefinite there up to rounding, else its eigenvectors without the
/// negative.
BodyPart factor_island(SymmetricBlocks& W, const VecX& unit, const std::vector<int>& rows, double scale,
                       Counts& counts) {
  const auto n = static_cast<std::int64_t>(rows.size());
  require(n * n <= kMaxEntries, "an island of " + std::to_string(n) +
                                    " rows does not split into bodies, and is too large to factor as a whole");
  BodyPart part;
  MatX P = W.gather(rows, rows);
  part.rows = rows;
  part.R = factor_semidefinite(P, 1e-14 * scale);
  const double error = (part.R * part.R.transpose() - P).cwiseAbs().maxCoeff();
  if (error <= kTolerance * scale) return part;
  // The nearest semidefinite matrix is meant in the units of the problem.
  const VecX size = unit(rows);
  P = (size.asDiagonal() * P * size.asDiagonal()).eval();
  const Eigen::SelfAdjointEigenSolver<MatX> eigen(P);
  require(eigen.info() == Eigen::Success, "the eigenvalues of an island do not converge");
  const VecX& values = eigen.eigenvalues();
  const double largest = std::max(values[n - 1], 0.0);
  counts.projected += 1;
  counts.most_negative = std::min(counts.most_negative, largest > 0.0 ? values[0] / largest : -1.0);
  Eigen::Index first = 0;
  while (first < n && values[first] <= 1e-14 * largest) ++first;
  part.R = size.cwiseInverse().asDiagonal() * eigen.eigenvectors().rightCols(n - first) *
           values.tail(n - first).cwiseMax(0.0).cwiseSqrt().asDiagonal();
  return part;
}

void split_island(SymmetricBlocks& W, const VecX& unit, const Groups& groups,
                  const std::vector<std::vector<int>>& neighbours, const std::vector<int>& island,
                  std::vector<BodyPart>& parts, Counts& counts) {
  const std::vector<int> rows = groups.rows(island);
  double scale = 0.0;
  for (const int row : rows) {
    for (int k = W.csr().start[row]; k < W.csr().start[row + 1]; ++k)
      scale = std::max(scale, std::abs(W.csr().value[k]));
  }
  if (scale == 0.0) return;

  const std::vector<std::vector<int>> twins = find_twins(neighbours, island);
  if (twins.size() > 1) {
    std::vector<int> class_of(neighbours.size(), -1);
    for (std::size_t t = 0; t < twins.size(); ++t) {
      for (const int g : twins[t]) class_of[g] = static_cast<int>(t);
    }
    std::vector<std::vector<int>> classes, graph;
    for (const std::vector<int>& twin : twins) {
      classes.push_back(groups.rows(twin));
      std::vector<int> around;
      for (const int g : neighbours[twin.front()]) {
        if (class_of[g] != class_of[twin.front()]) around.push_back(class_of[g]);
      }
      std::sort(around.begin(), around.end());
      around.erase(std::unique(around.begin(), around.end()), around.end());
      graph.push_back(std::move(around));
    }
    const std::vector<std::vector<int>> clusters = cover_by_bodies(graph);
    std::vector<BodyPart> found;
    if (clusters.size() > 1) found = split_into_bodies(W, classes, clusters, scale, kTolerance);
    if (!found.empty()) {
      counts.bodies += static_cast<int>(found.size());
      std::move(found.begin(), found.end(), std::back_inserter(parts));
      return;
    }
  }
  counts.whole_islands += twins.size() > 1 ? 1 : 0;
  counts.bodies += twins.size() > 1 ? 0 : 1;
  parts.push_back(factor_island(W, unit, rows, scale, counts));
}

void report_counts(const std::vector<BodyPart>& parts, const Counts& counts, std::size_t islands, LoadReport& report) {
  Eigen::Index largest = 0;
  for (const BodyPart& part : parts) largest = std::max(largest, part.R.cols());
  report.notes.push_back("bodies recovered from W: " + std::to_string(counts.bodies) + " in " +
                         std::to_string(islands) + " islands, " + std::to_string(counts.whole_islands) +
                         " islands kept whole, largest subsystem " + std::to_string(largest) + " dofs");
  if (counts.projected > 0) {
    report.notes.push_back("W projected onto the semidefinite matrices in " + std::to_string(counts.projected) +
                           " islands: it had negative eigenvalues down to " + to_text(counts.most_negative) +
                           " of the largest");
  }
}

/// One subsystem of unit mass per part.
ContactProblem build(const std::vector<BodyPart>& parts, const VecX& unit, const Groups& groups,
                     const std::vector<double>& q, const std::vector<double>& mu, LoadReport& report) {
  ContactProblem problem;
  std::vector<std::vector<SideInput>> sides(static_cast<std::size_t>(groups.count()));
  for (const BodyPart& part : parts) {
    const Eigen::Index dofs = part.R.cols();
    const int sub = problem.add_subsystem(MatX::Identity(dofs, dofs), VecX::Zero(dofs));
    for (std::size_t r = 0; r < part.rows.size();) {
      const int group = groups.of_row[part.rows[r]], size = groups.start[group + 1] - groups.start[group];
      const MatXr J = unit[part.rows[r]] * part.R.middleRows(static_cast<Eigen::Index>(r), size);
      r += static_cast<std::size_t>(size);
      if ((J.array() != 0.0).any()) sides[group].push_back({sub, J, -1, {}});
    }
  }
  int idle = 0;
  for (int g = 0; g < groups.count(); ++g) {
    const int rows = groups.start[g + 1] - groups.start[g];
    if (!sides[g].empty()) continue;
    // A constraint that acts on nothing keeps its place, with a block of zeros.
    if (problem.subsystems.empty()) problem.add_subsystem(MatX::Identity(1, 1), VecX::Zero(1));
    sides[g].push_back({0, MatXr::Zero(rows, problem.subsystems[0].dofs), -1, {}});
    ++idle;
  }
  for (int i = 0; i < static_cast<int>(mu.size()); ++i) {
    const Vec3 e(q[3 * i], q[3 * i + 1], q[3 * i + 2]);
    if (sides[i].size() == 1)
      problem.add_contact(mu[i], e, sides[i][0]);
    else
      problem.add_contact(mu[i], e, sides[i][0], sides[i][1]);
  }
  for (int g = static_cast<int>(mu.size()); g < groups.count(); ++g) problem.add_equality(q[groups.start[g]], sides[g]);
  if (idle > 0) report.notes.push_back(std::to_string(idle) + " constraint(s) act on nothing (W_ii = 0), kept");
  return problem;
}

}  // namespace

ContactProblem make_problem_from_delassus(const Csr& W, const std::vector<double>& q, const std::vector<double>& mu,
                                          LoadReport& report) {
  require(W.rows == W.cols && static_cast<int>(q.size()) == W.rows && 3 * mu.size() <= q.size(),
          "W is " + std::to_string(W.rows) + " x " + std::to_string(W.cols) + " with " + std::to_string(q.size()) +
              " values in q and " + std::to_string(mu.size()) + " contacts, expected three rows per contact at least");
  double asymmetry = 0.0;
  Csr sym = symmetric_part(W, asymmetry);
  if (asymmetry > 1e-12) {
    report.notes.push_back("W symmetrised: its transpose differed by up to " + to_text(asymmetry) +
                           " of the largest entry");
  }
  const Groups groups(static_cast<int>(mu.size()), W.rows);
  const VecX unit = find_units(sym, groups);
  sym = divide_by_units(std::move(sym), unit);
  const std::vector<std::vector<int>> neighbours = find_neighbours(sym, groups);
  const std::vector<std::vector<int>> islands = find_islands(neighbours);
  SymmetricBlocks blocks(sym);
  std::vector<BodyPart> parts;
  Counts counts;
  for (const std::vector<int>& island : islands) split_island(blocks, unit, groups, neighbours, island, parts, counts);
  report_counts(parts, counts, islands.size(), report);
  return build(parts, unit, groups, q, mu, report);
}

}  // namespace almond
