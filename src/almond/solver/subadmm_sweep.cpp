#include "almond/solver/subadmm_sweep.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>

namespace almond {
namespace {

// What an iteration costs, measured on two cores: decides whether workers pay.
constexpr double kMultiplyNs = 0.1, kConstraintNs = 10.0, kSharedNs = 120.0, kBarriersNs = 3000.0, kPays = 0.9;

}  // namespace

void SubAdmmSweep::lay_out() {
  almond::lay_out(island_, options_.tree_path, ws_.maps);
  almond::lay_out(island_, ws_.maps, ws_.slacks);
  size_ = ws_.maps.size;
  stride_ = size_ + Slacks::kExtra;
  num_blocks_ = (size_ + kAndersonBlock - 1) / kAndersonBlock;
  ws_.sums.resize(num_blocks_);
  ws_.partial.resize(num_blocks_);
  ws_.sqrt_beta.resize(island_.num_constraints);
  ws_.scale.assign(stride_, 0.0);
  ws_.node_ok.assign(island_.nodes.size(), 1);
  window_ = std::min(options_.anderson, kMaxAnderson);
  columns_ = window_ >= 2 ? window_ + 2 : 2;
  ws_.history.assign(static_cast<std::size_t>(stride_) * columns_, 0.0);
  ws_.s.assign(stride_, 0.0);
  ws_.z_old.resize(stride_);
  ws_.saved.resize(stride_);
  split_work();
}

/// Nodes of each worker, so that the costs are about the same. Where that does not pay, one does it all.
void SubAdmmSweep::split_work() {
  pool_ = options_.pool != nullptr && options_.pool->num_workers() > 1 ? options_.pool : nullptr;
  const int nodes = static_cast<int>(ws_.maps.nodes.size()), workers = pool_ != nullptr ? pool_->num_workers() : 1;
  double total = 0.0, sum = 0.0;
  for (const NodeMap& node : ws_.maps.nodes) total += node.cost;
  ws_.node_bounds.assign(workers + 1, nodes);
  ws_.node_bounds[0] = 0;
  for (int k = 0, worker = 1; k < nodes && worker < workers; ++k) {
    sum += ws_.maps.nodes[ws_.maps.order[k]].cost;
    while (worker < workers && sum * workers >= total * worker) ws_.node_bounds[worker++] = k + 1;
  }
  ws_.row_bounds.assign(workers + 1, size_);
  for (int w = 0; w < workers; ++w) {
    if (ws_.node_bounds[w] < nodes) ws_.row_bounds[w] = ws_.maps.nodes[ws_.maps.order[ws_.node_bounds[w]]].begin;
  }
  if (pool_ == nullptr) return;
  // Constraints between two workers move cache lines from core to core, twice per iteration.
  int shared = 0;
  const auto owner = [&](int side) {
    return std::upper_bound(ws_.row_bounds.begin() + 1, ws_.row_bounds.end() - 1, ws_.maps.slot[side]);
  };
  for (int i = 0; i < island_.num_constraints; ++i) {
    shared += island_.constraints[i].num_sides == 2 && owner(2 * i) != owner(2 * i + 1);
  }
  const double alone = kMultiplyNs * total + kConstraintNs * island_.num_constraints;
  const double together = alone / workers + kSharedNs * shared / workers + kBarriersNs;
  if (together > kPays * alone) {
    pool_ = nullptr;
    return;
  }
  split_units(ws_.slacks, ws_.row_bounds, ws_.unit_bounds);
}

bool SubAdmmSweep::factor() {
  for (int i = 0; i < island_.num_constraints; ++i) {
    const Constraint& c = island_.constraints[i];
    ws_.sqrt_beta[i] = std::sqrt(ws_.c * ws_.weight[i]);
    for (int s = 0; s < c.num_sides; ++s) std::fill_n(&ws_.scale[ws_.maps.slot[2 * i + s]], c.dim, ws_.sqrt_beta[i]);
  }
  set_penalty(island_, ws_.sqrt_beta, ws_.slacks);
  const auto factor_range = [&](int begin, int end) {
    for (int p = begin; p < end; ++p) {
      const int k = ws_.maps.order[p];
      ws_.node_ok[k] = factor_node(island_, k, ws_.scale.data(), ws_.maps);
    }
  };
  if (pool_ != nullptr) {
    pool_->for_ranges(pool_->num_workers(),
                      [&](int begin, int end, int) { factor_range(ws_.node_bounds[begin], ws_.node_bounds[end]); });
  } else {
    factor_range(0, static_cast<int>(ws_.maps.nodes.size()));
  }
  return std::find(ws_.node_ok.begin(), ws_.node_ok.end(), 0) == ws_.node_ok.end();
}

void SubAdmmSweep::start_from(const double* lambda) {
  // In the order of the island first: its side rows are fewer than the padded ones.
  double *side = ws_.s.data(), *v = ws_.maps.t.data(), *Jv = ws_.saved.data();
  scatter_rows(island_, lambda, side);
  multiply_JT(island_, side, true, v);
  multiply_J(island_, v, Jv);
  at_ = 0;
  for (int i = 0; i < island_.num_constraints; ++i) {
    const Constraint& c = island_.constraints[i];
    const double scale = ws_.sqrt_beta[i];
    for (int s = 0; s < c.num_sides; ++s) {
      double* to = y() + ws_.maps.slot[2 * i + s];
      for (int r = 0; r < c.dim; ++r) to[r] = scale * Jv[c.slot[s] + r] - lambda[c.row + r] / scale;
    }
  }
  std::fill(ws_.s.begin(), ws_.s.end(), 0.0);
}

template <class F>
void SubAdmmSweep::for_blocks(F&& f) {
  if (pool_ == nullptr) {
    f(0, num_blocks_);
    return;
  }
  const auto block_at = [&](int worker) {
    return worker == pool_->num_workers() ? num_blocks_ : ws_.row_bounds[worker] / kAndersonBlock;
  };
  pool_->for_ranges(pool_->num_workers(), [&](int begin, int end, int) { f(block_at(begin), block_at(end)); });
}

double SubAdmmSweep::distance(const double* x, const double* y) {
  for_blocks([&](int begin, int end) {
    for (int b = begin; b < end; ++b) {
      Lanes sum{};
      for (int i = b * kAndersonBlock; i < std::min((b + 1) * kAndersonBlock, size_); i += kLanes) {
        const Lanes d = lanes_at(x + i) - lanes_at(y + i);
        sum += d * d;
      }
      ws_.partial[b] = add_lanes(sum);
    }
  });
  return std::sqrt(std::accumulate(ws_.partial.begin(), ws_.partial.end(), 0.0));
}

bool SubAdmmSweep::extrapolate() {
  const double* history = ws_.history.data();
  for_blocks([&](int begin, int end) {
    for (int b = begin; b < end; ++b) compute_anderson_sums(history, stride_, window_, b * kAndersonBlock, ws_.sums[b]);
  });
  double gamma[kMaxAnderson];
  if (!fit_anderson(ws_.sums.data(), num_blocks_, window_, gamma)) return false;
  for_blocks([&](int begin, int end) {
    const int first = begin * kAndersonBlock, last = std::min(end * kAndersonBlock, size_);
    combine_anderson(history, stride_, window_, gamma, first, last, column(0));
    std::copy(y() + first, y() + last, &ws_.saved[first]);
  });
  at_ = 0;
  return true;
}

void SubAdmmSweep::update_nodes(int begin, int end) {
  const double r = options_.relax, keep = 1.0 - 0.5 * r;
  for (int p = begin; p < end; ++p) {
    const int k = ws_.maps.order[p];
    const NodeMap& a = ws_.maps.nodes[k];
    const double *s = &ws_.s[a.begin], *from = y() + a.begin;
    double* to = y_next() + a.begin;
    apply_node(island_, k, s, ws_.maps, to);
    for (int l = 0; l < a.padded; l += kLanes) {
      lanes_at(to + l) = r * (lanes_at(to + l) - 0.5 * lanes_at(s + l)) + keep * lanes_at(from + l);
    }
  }
}

void SubAdmmSweep::iterate() {
  if (pool_ == nullptr) {
    project(ws_.slacks, 0, ws_.slacks.num_units(), y(), ws_.s.data());
    update_nodes(0, static_cast<int>(ws_.maps.nodes.size()));
  } else {
    const int stride = pool_->num_workers() + 1;
    pool_->for_ranges(pool_->num_workers(), [&](int begin, int end, int) {
      for (int list = 0; list < Slacks::kLists; ++list) {
        const int* bounds = &ws_.unit_bounds[list * stride];
        project(ws_.slacks, bounds[begin], bounds[end], y(), ws_.s.data());
      }
    });
    pool_->for_ranges(pool_->num_workers(),
                      [&](int begin, int end, int) { update_nodes(ws_.node_bounds[begin], ws_.node_bounds[end]); });
  }
}

}  // namespace almond
