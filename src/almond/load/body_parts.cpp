#include "almond/load/body_parts.hpp"

#include <Eigen/Eigenvalues>
#include <Eigen/QR>
#include <algorithm>
#include <cmath>
#include <map>

namespace almond {
namespace {

constexpr int kBodyRank = 6;              // a rigid body has six velocities
constexpr double kRounding = 1e-15;       // error of an entry of W as stored, relative to the largest
constexpr double kTolerance = 1e-12;      // of the sum of all parts
constexpr double kRankTolerance = 1e-11;  // pivots below this fraction of the largest count as zero
constexpr Eigen::Index kFewRows = 9;      // three contacts fix a body; fewer may show less than its rank

struct Known {
  MatX X;
  double error = 0.0;  // estimate, relative to scale
  bool exact = false;  // the body's own block; else it may hold a share of its neighbour's
};

struct Candidate {
  int cluster = -1, cls = -1;
  MatX X;
  double error = kInfinity;
  bool exact = false;
};

/// Pseudo-inverse by a rank-revealing orthogonal decomposition.
struct PseudoInverse {
  int rank = 0;
  MatX inverse;

  explicit PseudoInverse(const MatX& M) {
    Eigen::CompleteOrthogonalDecomposition<MatX> decomposition;
    decomposition.setThreshold(kRankTolerance);
    decomposition.compute(M);
    rank = static_cast<int>(decomposition.rank());
    inverse = decomposition.pseudoInverse();
  }
};

double smallest_eigenvalue(const MatX& X) {
  return Eigen::SelfAdjointEigenSolver<MatX>(X, Eigen::EigenvaluesOnly).eigenvalues()[0];
}

class Splitter {
 public:
  Splitter(SymmetricBlocks& W, const std::vector<std::vector<int>>& classes,
           const std::vector<std::vector<int>>& clusters, double scale, double max_error)
      : W_(W), rows_(classes), origin_(clusters), scale_(scale), max_error_(max_error), of_(classes.size()) {
    for (std::size_t a = 0; a < clusters.size(); ++a) {
      members_.push_back(clusters[a]);
      origins_.push_back({static_cast<int>(a)});
      for (const int t : clusters[a]) of_[t].push_back(static_cast<int>(a));
    }
    for (const std::vector<int>& rows : classes) D_.push_back(W.gather(rows, rows));
  }

  std::vector<BodyPart> run() {
    while (resolve_completions() || resolve_leaf(true) || assume_ground() || resolve_leaf(false) || merge_cheapest()) {
    }
    std::vector<BodyPart> parts;
    for (int a = 0; a < static_cast<int>(members_.size()); ++a) {
      while (!members_[a].empty() && !factor(a)) {
        if (!merge_with_neighbour(a)) return {};
      }
    }
    for (int a = 0; a < static_cast<int>(members_.size()); ++a) {
      if (!members_[a].empty() && parts_[a].R.cols() > 0) parts.push_back(std::move(parts_[a]));
    }
    return adds_up(parts) ? parts : std::vector<BodyPart>{};
  }

 private:
  [[nodiscard]] bool is_known(int a, int t) const { return known_.count({a, t}) > 0; }

  [[nodiscard]] std::vector<int> unknown_classes(int a) const {
    std::vector<int> unknown;
    for (const int t : members_[a]) {
      if (!is_known(a, t)) unknown.push_back(t);
    }
    return unknown;
  }

  [[nodiscard]] std::size_t count_rows(const std::vector<int>& set) const {
    std::size_t count = 0;
    for (const int t : set) count += rows_[t].size();
    return count;
  }

  /// Two classes of a merged cluster share a block of it only if they met in one of its original clusters.
  [[nodiscard]] bool coupled(int a, int t, int u) const {
    for (const int o : origins_[a]) {
      const auto has = [&](int x) { return std::binary_search(origin_[o].begin(), origin_[o].end(), x); };
      if (has(t) && has(u)) return true;
    }
    return false;
  }

  /// Block of cluster a's part; diagonal blocks must be known.
  MatX block(int a, const std::vector<int>& R, const std::vector<int>& Q) {
    std::vector<int> rows, cols;
    for (const int t : R) rows.insert(rows.end(), rows_[t].begin(), rows_[t].end());
    for (const int u : Q) cols.insert(cols.end(), rows_[u].begin(), rows_[u].end());
    MatX M = W_.gather(rows, cols);
    Eigen::Index y = 0;
    for (const int t : R) {
      const auto height = static_cast<Eigen::Index>(rows_[t].size());
      Eigen::Index x = 0;
      for (const int u : Q) {
        const auto width = static_cast<Eigen::Index>(rows_[u].size());
        if (t == u)
          M.block(y, x, height, width) = known_.at({a, t}).X;
        else if (!coupled(a, t, u))
          M.block(y, x, height, width).setZero();
        x += width;
      }
      y += height;
    }
    return M;
  }

  [[nodiscard]] double input_error(int a, const std::vector<int>& set) const {
    double error = 0.0;
    for (const int t : set) {
      const auto found = known_.find({a, t});
      if (found != known_.end()) error = std::max(error, found->second.error);
    }
    return error;
  }

  /// X = W[T,Q] W[R,Q]⁺ W[R,T] with its error estimate.
  Candidate complete(int a, int t, const std::vector<int>& R, const std::vector<int>& Q, const PseudoInverse& pinv) {
    Candidate candidate;
    candidate.cluster = a;
    candidate.cls = t;
    const MatX left = block(a, {t}, Q) * pinv.inverse;
    const MatX right = pinv.inverse * block(a, R, {t});
    const MatX X = left * block(a, R, {t});
    // Rounding is amplified here; errors of known blocks are carried on (their growth shows in is_split and adds_up).
    candidate.error =
        std::max(input_error(a, R), input_error(a, Q)) + 0.1 * kRounding * (1.0 + left.norm()) * (1.0 + right.norm());
    candidate.X = 0.5 * (X + X.transpose());
    if ((X - X.transpose()).cwiseAbs().maxCoeff() > 100.0 * max_error_ * scale_) candidate.error = kInfinity;
    candidate.exact =
        pinv.rank == kBodyRank || (pinv.rank < kBodyRank && std::min(left.cols(), right.rows()) >= kFewRows);
    for (const int u : R) {
      const auto found = known_.find({a, u});
      if (found != known_.end() && !found->second.exact) candidate.exact = false;
    }
    return candidate;
  }

  /// Known classes serve on both sides, unknown ones on one of them: their diagonal blocks must not be needed.
  Candidate try_completion(int a, int t) {
    std::vector<int> R, Q, unknown;
    for (const int u : members_[a]) {
      if (u == t) continue;
      if (is_known(a, u)) {
        if (!known_.at({a, u}).exact) continue;
        R.push_back(u);
        Q.push_back(u);
      } else {
        unknown.push_back(u);
      }
    }
    std::stable_sort(unknown.begin(), unknown.end(),
                     [this](int x, int y) { return rows_[x].size() > rows_[y].size(); });
    for (const int u : unknown) (count_rows(R) <= count_rows(Q) ? R : Q).push_back(u);
    const std::size_t fewest = std::min(count_rows(R), count_rows(Q));
    if (fewest < kBodyRank) return {};
    const PseudoInverse pinv(block(a, R, Q));
    if (pinv.rank == 0) return {};
    Candidate candidate = complete(a, t, R, Q, pinv);
    if (!candidate.exact || (candidate.error <= max_error_ && !is_split(candidate))) candidate.error = kInfinity;
    return candidate;
  }

  /// try_completion(), repeated only when the cluster knows more than at the last time.
  const Candidate& cached_completion(int a, int t) {
    const std::size_t knowledge = members_[a].size() - unknown_classes(a).size();
    auto [at, is_new] = tried_.try_emplace({a, t});
    Tried& tried = at->second;
    if (is_new || tried.members != members_[a].size() || tried.knowledge != knowledge) {
      tried = {members_[a].size(), knowledge, try_completion(a, t)};
    }
    return tried.candidate;
  }

  /// Both X and D - X must be semidefinite.
  [[nodiscard]] bool is_split(const Candidate& candidate) const {
    const double floor = -10.0 * max_error_ * scale_;
    return smallest_eigenvalue(candidate.X) >= floor && smallest_eigenvalue(D_[candidate.cls] - candidate.X) >= floor;
  }

  void accept(const Candidate& candidate) {
    const int a = candidate.cluster, t = candidate.cls;
    known_[{a, t}] = {candidate.X, candidate.error, candidate.exact};
    MatX rest = D_[t] - candidate.X;
    if (of_[t].size() == 1) {
      if (rest.cwiseAbs().maxCoeff() <= 100.0 * std::max(candidate.error, kRounding) * scale_) {
        known_[{a, t}].X = D_[t];  // the other body is the ground
        return;
      }
      // A body that no other class touches.
      of_[t].push_back(static_cast<int>(members_.size()));
      members_.push_back({t});
      origins_.push_back({});
    }
    const int b = of_[t][0] == a ? of_[t][1] : of_[t][0];
    known_[{b, t}] = {std::move(rest), candidate.error, candidate.exact};
  }

  /// Accurate completions first; a pass is repeated from the strictest level after each success.
  bool resolve_completions() {
    for (double level = std::min(1e-14, max_error_); level <= 1.001 * max_error_; level *= 10.0) {
      bool any = false;
      for (int a = 0; a < static_cast<int>(members_.size()); ++a) {
        for (const int t : unknown_classes(a)) {
          if (is_known(a, t)) continue;
          const Candidate& candidate = cached_completion(a, t);
          if (candidate.error > level) continue;
          accept(candidate);
          any = true;
        }
      }
      if (any) return true;
    }
    return false;
  }

  /// A body with one unknown class left. Full rank of the known ones first, then the smallest error.
  bool resolve_leaf(bool only_exact) {
    Candidate best;
    int best_rank = -1;
    for (int a = 0; a < static_cast<int>(members_.size()); ++a) {
      const std::vector<int> unknown = unknown_classes(a);
      if (unknown.size() != 1 || members_[a].size() < 2) continue;
      std::vector<int> K;
      for (const int u : members_[a]) {
        if (u != unknown[0]) K.push_back(u);
      }
      const PseudoInverse pinv(block(a, K, K));
      const Candidate candidate = complete(a, unknown[0], K, K, pinv);
      const int rank = std::min(pinv.rank, kBodyRank);
      if (candidate.error > max_error_ || (only_exact && !candidate.exact) || !is_split(candidate)) continue;
      if (rank > best_rank || (rank == best_rank && candidate.error < best.error)) {
        best = candidate;
        best_rank = rank;
      }
    }
    if (best_rank < 0) return false;
    accept(best);
    return true;
  }

  /// A class in one cluster only belongs to it entirely: its other body is most likely the ground. Where it is a body
  /// that nothing else touches, the cluster gets that one's velocities too, or merge_with_neighbour() repairs it.
  bool assume_ground() {
    int best_a = -1, best_t = -1;
    std::size_t best_unknown = 0;
    for (int a = 0; a < static_cast<int>(members_.size()); ++a) {
      const std::vector<int> unknown = unknown_classes(a);
      for (const int t : unknown) {
        if (of_[t].size() > 1) continue;
        const bool fewer = best_a < 0 || unknown.size() < best_unknown;
        if (fewer || (unknown.size() == best_unknown && rows_[t].size() > rows_[best_t].size())) {
          best_a = a;
          best_t = t;
          best_unknown = unknown.size();
        }
      }
    }
    if (best_a < 0) return false;
    accept({best_a, best_t, D_[best_t], 0.0, true});
    return true;
  }

  /// Merges the two bodies of the unknown class that gives the smallest cluster; the class is then inside it.
  bool merge_cheapest() {
    int best = -1;
    std::size_t best_rows = 0;
    for (int t = 0; t < static_cast<int>(of_.size()); ++t) {
      if (of_[t].empty() || is_known(of_[t][0], t)) continue;
      std::size_t total = 0;
      for (const int a : of_[t]) total += count_rows(members_[a]);
      if (best < 0 || total < best_rows) {
        best = t;
        best_rows = total;
      }
    }
    if (best < 0) return false;
    merge(of_[best][0], of_[best][1]);
    return true;
  }

  void merge(int a, int b) {
    for (const int t : members_[b]) {
      const bool shared = std::binary_search(members_[a].begin(), members_[a].end(), t);
      if (shared) {
        of_[t] = {a};
        known_.erase({b, t});
        known_[{a, t}] = {D_[t], 0.0, true};
        continue;
      }
      std::replace(of_[t].begin(), of_[t].end(), b, a);
      const auto moved = known_.find({b, t});
      if (moved != known_.end()) {
        known_[{a, t}] = std::move(moved->second);
        known_.erase(moved);
      }
    }
    std::vector<int> joined;
    std::set_union(members_[a].begin(), members_[a].end(), members_[b].begin(), members_[b].end(),
                   std::back_inserter(joined));
    members_[a] = std::move(joined);
    members_[b].clear();
    origins_[a].insert(origins_[a].end(), origins_[b].begin(), origins_[b].end());
  }

  /// Factors the part of cluster a; false if it is not semidefinite up to rounding.
  bool factor(int a) {
    parts_.resize(members_.size());
    BodyPart& part = parts_[a];
    part.rows.clear();
    for (const int t : members_[a]) part.rows.insert(part.rows.end(), rows_[t].begin(), rows_[t].end());
    const MatX P = block(a, members_[a], members_[a]);
    part.R = factor_semidefinite(P, 0.1 * kTolerance * scale_);
    const MatX error = P - part.R * part.R.transpose();
    return error.cwiseAbs().maxCoeff() <= 0.25 * kTolerance * scale_;
  }

  /// Joins cluster a with the one across its least certain class: what one has too little, the other has too much.
  bool merge_with_neighbour(int a) {
    int best = -1;
    for (const int t : members_[a]) {
      if (of_[t].size() < 2) continue;
      const auto rank = [&](int x) { return std::pair(!known_.at({a, x}).exact, known_.at({a, x}).error); };
      if (best < 0 || rank(t) > rank(best)) best = t;
    }
    if (best < 0) return false;
    merge(a, of_[best][0] == a ? of_[best][1] : of_[best][0]);
    return true;
  }

  /// Row by row, Σ R Rᵀ against W.
  [[nodiscard]] bool adds_up(const std::vector<BodyPart>& parts) const {
    const Csr& W = W_.csr();
    std::map<int, std::vector<std::pair<const BodyPart*, Eigen::Index>>> parts_of_row;
    for (const std::vector<int>& rows : rows_) {
      for (const int row : rows) parts_of_row[row];
    }
    for (const BodyPart& part : parts) {
      for (std::size_t r = 0; r < part.rows.size(); ++r) {
        parts_of_row[part.rows[r]].emplace_back(&part, static_cast<Eigen::Index>(r));
      }
    }
    VecX sum = VecX::Zero(W.cols);
    for (const auto& [row, owners] : parts_of_row) {
      for (int k = W.start[row]; k < W.start[row + 1]; ++k) sum[W.column[k]] -= W.value[k];
      for (const auto& [part, r] : owners) {
        const VecX product = part->R * part->R.row(r).transpose();
        for (std::size_t c = 0; c < part->rows.size(); ++c) sum[part->rows[c]] += product[static_cast<Eigen::Index>(c)];
      }
      double worst = 0.0;
      const auto test = [&](int col) {
        worst = std::max(worst, std::abs(sum[col]));
        sum[col] = 0.0;
      };
      for (int k = W.start[row]; k < W.start[row + 1]; ++k) test(W.column[k]);
      for (const auto& [part, r] : owners) {
        for (const int col : part->rows) test(col);
      }
      if (!(worst <= kTolerance * scale_)) return false;
    }
    return true;
  }

  SymmetricBlocks& W_;
  const std::vector<std::vector<int>>& rows_;    // of each class
  const std::vector<std::vector<int>>& origin_;  // clusters before any merge
  double scale_, max_error_;
  std::vector<std::vector<int>> members_, origins_;  // of each cluster: classes; original clusters
  std::vector<std::vector<int>> of_;                 // of each class: its clusters
  std::vector<MatX> D_;                              // of each class: diagonal block of W
  std::map<std::pair<int, int>, Known> known_;       // (cluster, class)
  struct Tried {
    std::size_t members = 0, knowledge = 0;
    Candidate candidate;
  };
  std::map<std::pair<int, int>, Tried> tried_;
  std::vector<BodyPart> parts_;  // of each cluster, once factored
};

}  // namespace

std::vector<BodyPart> split_into_bodies(SymmetricBlocks& W, const std::vector<std::vector<int>>& classes,
                                        const std::vector<std::vector<int>>& clusters, double scale, double max_error) {
  return Splitter(W, classes, clusters, scale, max_error).run();
}

}  // namespace almond
