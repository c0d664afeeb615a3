// The block-sparse factor of the Newton matrix against Eigen's simplicial and dense Cholesky, on the same matrices.

#include "almond/solver/factor.hpp"

#include <Eigen/Cholesky>
#include <Eigen/SparseCholesky>
#include <algorithm>
#include <cmath>
#include <type_traits>

#include "almond/base/timer.hpp"
#include "bench/benches.hpp"
#include "scenes/problems.hpp"

namespace almond::bench {
namespace {

using SparseMat = Eigen::SparseMatrix<double>;
using Simplicial = Eigen::SimplicialLLT<SparseMat>;  // orders by AMD

constexpr double kPenalty = 100.0;  // c of K_i = c/W̄_i I: every contact sticks, every row is active, no block is empty
constexpr int kDenseDofs = 1000;    // above, the dense factor is left out
constexpr int kSmallDofs = 100;     // below, one reading of the clock covers kBatch solves
constexpr int kBatch = 16;
constexpr int kLeastRounds = 3, kMostRounds = 200;

/// H x = rhs on one island, as the block factor wants it (K, padded) and as Eigen does (H, unpadded).
struct NewtonSystem {
  const Island* island = nullptr;
  std::vector<double> K;
  SparseMat H;
  VecX padded, rhs;
  int batch = 1;
};

/// Median milliseconds of one numeric factorisation and solve.
struct FactorTimes {
  double llt = kNaN, lu = kNaN, simplicial = kNaN, dense = kNaN;
  double difference = 0.0;  // largest between two answers, relative

  [[nodiscard]] double best_other() const { return std::isnan(dense) ? simplicial : std::min(simplicial, dense); }
};

std::vector<double> make_K(const Island& island) {
  std::vector<double> K;
  for (int i = 0; i < island.num_constraints; ++i) {
    const double k = kPenalty / island.w_bar[i];
    if (i < island.num_contacts) K.insert(K.end(), {k, 0.0, 0.0, 0.0, k, 0.0, 0.0, 0.0, k});
    if (i >= island.num_contacts) K.push_back(k);
  }
  return K;
}

/// H = I + Jᵀ K J over the unpadded dofs, exact zeros left out.
SparseMat make_H(const Island& island) {
  std::vector<int> offset = {0};
  for (const Node& node : island.nodes) offset.push_back(offset.back() + node.dofs);
  const auto J_of = [&](const Constraint& c, int s) {
    const Node& node = island.nodes[c.node[s]];
    const Eigen::OuterStride<> stride(node.ld);
    return Eigen::Map<const MatXr, 0, Eigen::OuterStride<>>(&island.J[c.J[s]], c.dim, node.dofs, stride);
  };
  std::vector<Eigen::Triplet<double>> entries;
  for (int k = 0; k < island.num_dofs; ++k) entries.emplace_back(k, k, 1.0);
  for (int i = 0; i < island.num_constraints; ++i) {
    const Constraint& c = island.constraints[i];
    for (int a = 0; a < c.num_sides; ++a) {
      for (int b = 0; b < c.num_sides; ++b) {
        const MatX block = kPenalty / island.w_bar[i] * J_of(c, a).transpose() * J_of(c, b);
        for (int row = 0; row < block.rows(); ++row) {
          for (int col = 0; col < block.cols(); ++col)
            entries.emplace_back(offset[c.node[a]] + row, offset[c.node[b]] + col, block(row, col));
        }
      }
    }
  }
  SparseMat H(island.num_dofs, island.num_dofs);
  H.setFromTriplets(entries.begin(), entries.end());
  H.prune([](Eigen::Index, Eigen::Index, double value) { return value != 0.0; });
  return H;
}

VecX unpad(const Island& island, const VecX& padded) {
  VecX out(island.num_dofs);
  int at = 0;
  for (const Node& node : island.nodes) {
    out.segment(at, node.dofs) = padded.segment(node.v_begin, node.dofs);
    at += node.dofs;
  }
  return out;
}

NewtonSystem make_system(const Island& island) {
  NewtonSystem system;
  system.island = &island;
  system.K = make_K(island);
  system.H = make_H(island);
  system.padded = VecX::Zero(island.v_size);
  for (const Node& node : island.nodes) {
    for (int k = node.v_begin; k < node.v_begin + node.dofs; ++k) system.padded[k] = std::cos(0.7 * k);
  }
  system.rhs = unpad(island, system.padded);
  system.batch = island.num_dofs < kSmallDofs ? kBatch : 1;
  return system;
}

// Every solve of a batch has a matrix and a factor of its own, whoever solves: nobody finds his data in the first
// cache.

/// Works in place, so the matrices are assembled anew off the clock. x: unpadded answer.
double time_blocks(const NewtonSystem& system, bool symmetric, std::vector<BlockFactor>& factors, VecX& x) {
  const Island& island = *system.island;
  std::vector<VecX> answers(factors.size(), system.padded);
  for (BlockFactor& factor : factors) factor.assemble(island, system.K.data(), symmetric);
  const Stopwatch watch;
  for (std::size_t k = 0; k < factors.size(); ++k) {
    const bool ok = symmetric ? factors[k].factor_llt() : factors[k].factor_lu();
    if (ok) factors[k].solve(island, answers[k].data());
  }
  const double ms = watch.elapsed_ms();
  x = unpad(island, answers.front());
  return ms / system.batch;
}

template <class Factor, class Matrix>
double time_eigen(const VecX& rhs, const std::vector<Matrix>& H, std::vector<Factor>& factors, VecX& x) {
  const Stopwatch watch;
  for (std::size_t k = 0; k < factors.size(); ++k) {
    if constexpr (std::is_same_v<Matrix, SparseMat>) factors[k].factorize(H[k]);
    if constexpr (std::is_same_v<Matrix, MatX>) factors[k].compute(H[k]);
    x = factors[k].solve(rhs);
  }
  return watch.elapsed_ms() / static_cast<double>(factors.size());
}

/// All contenders in turn, round by round, so that a busy machine slows them alike. What depends on the pattern alone
/// (order, layout, memory) is done before.
FactorTimes measure(const NewtonSystem& system, const BlockFactor& analysed, double budget_ms) {
  std::vector<BlockFactor> blocks(system.batch, analysed);
  std::vector<Simplicial> simplicial(system.batch);
  const std::vector<SparseMat> H_sparse(system.batch, system.H);
  for (Simplicial& factor : simplicial) factor.analyzePattern(system.H);
  const bool with_dense = system.H.rows() <= kDenseDofs;
  const std::vector<MatX> H_dense(with_dense ? system.batch : 0, MatX(with_dense ? system.H : SparseMat()));
  std::vector<Eigen::LLT<MatX>> dense(H_dense.size(), Eigen::LLT<MatX>(system.H.rows()));

  FactorTimes times;
  std::vector<double> llt_ms, lu_ms, simplicial_ms, dense_ms;
  VecX reference, x = system.rhs;
  const auto compare = [&] {
    times.difference = std::max(times.difference, (x - reference).norm() / reference.norm());
  };
  const Stopwatch clock;
  for (int round = 0; round < kMostRounds && (round < kLeastRounds || clock.elapsed_ms() < budget_ms); ++round) {
    llt_ms.push_back(time_blocks(system, true, blocks, reference));
    lu_ms.push_back(time_blocks(system, false, blocks, x));
    compare();
    simplicial_ms.push_back(time_eigen(system.rhs, H_sparse, simplicial, x));
    compare();
    if (!with_dense) continue;
    dense_ms.push_back(time_eigen(system.rhs, H_dense, dense, x));
    compare();
  }
  times.llt = median(llt_ms);
  times.lu = median(lu_ms);
  times.simplicial = median(simplicial_ms);
  times.dense = median(dense_ms);
  return times;
}

std::vector<BenchProblem> generated_problems(bool quick) {
  std::vector<scenes::NamedProblem> named = {scenes::make_nut(120, 1), scenes::make_tower(10, 1000.0)};
  for (const int blocks : {20, 40, 120}) named.push_back(scenes::make_block_pile(blocks, 1));
  for (const int spheres : {30, 100, 300}) named.push_back(scenes::make_spheres(spheres, 1));
  for (const int robots : {1, 8, 27}) named.push_back(scenes::make_quadrupeds(robots, 1));
  std::vector<BenchProblem> problems;
  for (scenes::NamedProblem& one : named) {
    if (quick && one.problem.num_dofs() > 300) continue;
    problems.push_back({one.name, std::move(one.problem), false});
  }
  return problems;
}

}  // namespace

void add_factor(const BenchOptions& options, const std::vector<BenchProblem>& files, Report& report) {
  Table table{
      "factor",
      "One Newton system: block-sparse factor against Eigen",
      "Largest island of each problem, one row for each size; H = I + J\u1d40KJ with all contacts sticking. Times "
      "in \u00b5s, medians of numeric factorisation and solve; the order of elimination is found before, H is "
      "there. Flops are those of the block LU with assembly; ratios are to the block LLT.",
      {"problem", "nodes", "dofs", "kflop", "block LLT", "block LU", "simplicial LLT", "dense LLT",
       "simplicial / block", "dense / block", "difference"},
      {}};
  std::vector<BenchProblem> problems = generated_problems(options.quick);
  problems.insert(problems.end(), files.begin(), files.end());
  std::vector<std::pair<std::size_t, int>> seen;  // nodes, dofs
  std::vector<std::string> slower;
  double least = kInfinity;
  for (const BenchProblem& problem : problems) {
    IslandWorkspace workspace;
    compile_islands(problem.problem, {}, workspace);
    if (workspace.count == 0) continue;
    const auto begin = workspace.islands.begin();
    const Island& island = *std::max_element(begin, begin + workspace.count,
                                             [](const Island& a, const Island& b) { return a.num_dofs < b.num_dofs; });
    const std::pair size(island.nodes.size(), island.num_dofs);
    if (std::find(seen.begin(), seen.end(), size) != seen.end()) continue;
    seen.push_back(size);
    options.progress("factor, " + problem.name);
    BlockFactor factor;
    factor.analyze(island);
    const FactorTimes t = measure(make_system(island), factor, options.quick ? 5.0 : 30.0);
    const double ratio = t.best_other() / t.llt;
    least = std::min(least, ratio);
    if (ratio < 1.0) slower.push_back(problem.name + " (" + std::to_string(island.num_dofs) + " dofs)");
    const auto ratio_of = [&](double ms) { return ratio_cell(ms / t.llt, ms < t.llt ? Tone::kBad : Tone::kPlain); };
    const auto micro_cell = [](double ms) {
      return std::isnan(ms) ? text_cell("-", Tone::kQuiet) : time_cell(1e3 * ms);
    };
    table.rows.push_back({text_cell(problem.name), count_cell(static_cast<double>(size.first)),
                          count_cell(island.num_dofs), time_cell(1e-3 * factor.flops()), micro_cell(t.llt),
                          micro_cell(t.lu), micro_cell(t.simplicial), micro_cell(t.dense), ratio_of(t.simplicial),
                          ratio_of(t.dense), residual_cell(t.difference)});
  }
  std::stable_sort(table.rows.begin(), table.rows.end(),
                   [](const auto& a, const auto& b) { return a[2].value < b[2].value; });
  const std::size_t all = table.rows.size();
  report.add_claim(
      "factor: the block LLT against Eigen's simplicial and dense LLT, same matrix, same run",
      "the fastest at every size",
      "the fastest at " + count_text(all - slower.size(), all, slower) + "; least ratio " + ratio_cell(least).text,
      slower.empty());
  report.tables.push_back(std::move(table));
}

}  // namespace almond::bench
