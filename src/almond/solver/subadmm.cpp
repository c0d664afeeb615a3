#include "almond/solver/subadmm.hpp"

#include <algorithm>
#include <cmath>

#include "almond/solver/anderson.hpp"
#include "almond/solver/recession.hpp"

namespace almond {
namespace {

constexpr int kFirstCheck = 20, kFirstBalance = 20;
constexpr int kBadExtrapolations = 5;  // in a row, then plain iterations for a while
constexpr int kFirstRest = 50;
constexpr int kTired = 500;  // iterations without progress after which extrapolation rests for as long, then longer
constexpr int kShorter = 2;  // attempts with a step kShorten as long
constexpr double kShorten = 0.125;
constexpr double kGain = 0.9;           // a score this much better is progress
constexpr int kPatience = 400;          // iterations without progress, plus as many as there were before: restart
constexpr double kLost = 10.0;          // if the score also is this much worse than the best
constexpr int kStretch = 15;            // plain iterations over which the drift of λ is compared
constexpr int kStretches = 8;           // then the drift is no drift
constexpr int kFirstJamTest = 60;       // iterations before the first jam test
constexpr double kJamViolation = 1e-5;  // natural map below which nothing counts as a jam
constexpr double kRunaway = 10.0;       // where the drift leads to, in sizes of λ: suspicious, and proven
constexpr double kJammed = 1e3;
constexpr double kCarefulC = 0.05, kCarefulMaxC = 10.0;
constexpr int kCarefulIterations = 1000;
constexpr int kPlainest = 2;
constexpr int kClockGap = 16;              // iterations between looks at the clock,
constexpr double kSlowCost = 1e6;          // unless one has so many multiply-adds
constexpr int kStallIterations = 20000;    // without progress, plus half of all iterations: stalled
constexpr double kParallelCost = 40000.0;  // multiply-adds of an iteration that pay for two barriers

double distance(const double* x, const double* y, int n) {
  Lanes sum{};
  for (int i = 0; i < n; i += kLanes) {
    const Lanes d = lanes_at(x + i) - lanes_at(y + i);
    sum += d * d;
  }
  return std::sqrt(add_lanes(sum));
}

class SubAdmm {
 public:
  SubAdmm(const Island& island, const SubAdmmOptions& options, Monitor& monitor, SubAdmmWorkspace& workspace,
          double* lambda)
      : island_(island), options_(options), monitor_(monitor), ws_(workspace), lambda_(lambda) {}

  Status run();

 private:
  double* column(int k) { return ws_.history.data() + static_cast<std::ptrdiff_t>(k) * stride_; }
  double* y() { return column(at_); }
  double* y_next() { return column(at_ + 1); }

  bool start();
  bool factor();
  void start_from_lambda();
  void split_work();
  void iterate();
  void update_nodes(int begin, int end);
  void export_current() { export_lambda(island_, ws_.slacks, ws_.sqrt_beta, y(), lambda_); }
  /// Measures λ; true if the run ends, with the status.
  bool check(int k, bool last, Status& status);
  bool jam_test(int k);
  void restart_carefully(int k);
  void return_from_careful(int k);
  void restart(int k, double c);
  bool undo_extrapolation(int k);
  /// Changes c if the residuals are out of balance; true if the state was made anew.
  bool rebalance(int k);
  void advance(int k);

  const Island& island_;
  const SubAdmmOptions& options_;
  Monitor& monitor_;
  SubAdmmWorkspace& ws_;
  double* lambda_;
  WorkerPool* pool_ = nullptr;
  int size_ = 0, stride_ = 0, columns_ = 2, window_ = 0;

  int at_ = 0;  // state of the current iteration
  bool slow_ = false;
  bool extrapolated_ = false;
  int shortened_ = 0;                                            // how often the last extrapolation was
  int bad_extrapolations_ = 0;                                   // in a row
  int rest_ = kFirstRest, long_rest_ = kTired, rest_until_ = 0;  // plain iterations after too many
  double f_before_ = kInfinity;                                  // fixed-point residual before the last extrapolation
  int next_check_ = kFirstCheck, next_balance_ = kFirstBalance, balance_gap_ = kFirstBalance;
  double best_ = kInfinity;  // score
  int last_gain_ = 0;
  int jam_gap_ = kFirstJamTest, next_jam_test_ = kFirstJamTest;
  int stretch_ = 0;        // > 0: a jam test is under way, plain iterations only
  int careful_ = 0;        // how often restarted with a small penalty; the second time it and all else stay plain
  bool returned_ = false;  // and back again
  int careful_until_ = 0;
  double c_before_ = 0.0, score_before_ = 0.0;
  bool jump_ = false, refactor_ = false;  // go on from λ, with a new penalty
};

bool SubAdmm::start() {
  lay_out(island_, options_.tree_path, ws_.maps);
  lay_out(island_, ws_.maps, ws_.slacks);
  size_ = ws_.maps.size;
  stride_ = size_ + Slacks::kExtra;
  compute_penalty_weights(island_, options_.pseudo_density, ws_.weight);
  if (!(options_.keep && ws_.c > 0.0)) ws_.c = options_.pseudo_density ? 1.0 : options_.c0;
  ws_.sqrt_beta.resize(island_.num_constraints);
  ws_.scale.assign(stride_, 0.0);
  ws_.node_ok.assign(island_.nodes.size(), 1);
  window_ = std::min(options_.anderson, kMaxAnderson);
  columns_ = window_ >= 2 ? window_ + 2 : 2;
  ws_.history.assign(static_cast<std::size_t>(stride_) * columns_, 0.0);
  ws_.s.assign(stride_, 0.0);
  ws_.z_old.resize(stride_);
  ws_.saved.resize(stride_);
  ws_.mark.resize(island_.rows);
  ws_.drift.resize(island_.rows);
  ws_.drift_before.resize(island_.rows);
  split_work();
  if (!factor()) return false;
  start_from_lambda();
  return true;
}

/// Nodes of each worker, so that the costs are about the same. Small islands stay on one.
void SubAdmm::split_work() {
  double total = 0.0;
  for (const NodeMap& node : ws_.maps.nodes) total += node.cost;
  slow_ = total >= kSlowCost;
  pool_ =
      options_.pool != nullptr && options_.pool->num_workers() > 1 && total >= kParallelCost ? options_.pool : nullptr;
  const int workers = pool_ != nullptr ? pool_->num_workers() : 1, nodes = static_cast<int>(ws_.maps.nodes.size());
  ws_.node_bounds.assign(workers + 1, nodes);
  ws_.node_bounds[0] = 0;
  double sum = 0.0;
  for (int k = 0, worker = 1; k < nodes && worker < workers; ++k) {
    sum += ws_.maps.nodes[k].cost;
    while (worker < workers && sum * workers >= total * worker) ws_.node_bounds[worker++] = k + 1;
  }
}

bool SubAdmm::factor() {
  for (int i = 0; i < island_.num_constraints; ++i) {
    const Constraint& c = island_.constraints[i];
    ws_.sqrt_beta[i] = std::sqrt(ws_.c * ws_.weight[i]);
    for (int s = 0; s < c.num_sides; ++s) std::fill_n(&ws_.scale[ws_.maps.slot[2 * i + s]], c.dim, ws_.sqrt_beta[i]);
  }
  set_penalty(island_, ws_.sqrt_beta, ws_.slacks);
  const auto factor_range = [&](int begin, int end) {
    for (int k = begin; k < end; ++k) ws_.node_ok[k] = factor_node(island_, k, ws_.scale.data(), ws_.maps);
  };
  if (pool_ != nullptr) {
    pool_->for_ranges(pool_->num_workers(),
                      [&](int begin, int end, int) { factor_range(ws_.node_bounds[begin], ws_.node_bounds[end]); });
  } else {
    factor_range(0, static_cast<int>(ws_.maps.nodes.size()));
  }
  return std::find(ws_.node_ok.begin(), ws_.node_ok.end(), 0) == ws_.node_ok.end();
}

/// y = Ĵ v - λ with v = b + Jᵀλ.
void SubAdmm::start_from_lambda() {
  // In the order of the island first: its side rows are fewer than the padded ones.
  double *side = ws_.s.data(), *v = ws_.maps.t.data(), *Jv = ws_.saved.data();
  scatter_rows(island_, lambda_, side);
  multiply_JT(island_, side, true, v);
  multiply_J(island_, v, Jv);
  at_ = 0;
  extrapolated_ = false;
  for (int i = 0; i < island_.num_constraints; ++i) {
    const Constraint& c = island_.constraints[i];
    const double scale = ws_.sqrt_beta[i];
    for (int s = 0; s < c.num_sides; ++s) {
      double* to = y() + ws_.maps.slot[2 * i + s];
      for (int r = 0; r < c.dim; ++r) to[r] = scale * Jv[c.slot[s] + r] - lambda_[c.row + r] / scale;
    }
  }
  std::fill(ws_.s.begin(), ws_.s.end(), 0.0);
}

void SubAdmm::update_nodes(int begin, int end) {
  const double r = options_.relax, keep = 1.0 - 0.5 * r;
  for (int k = begin; k < end; ++k) {
    const NodeMap& a = ws_.maps.nodes[k];
    const double *s = &ws_.s[a.begin], *from = y() + a.begin;
    double* to = y_next() + a.begin;
    apply_node(island_, k, s, ws_.maps, to);
    for (int l = 0; l < a.padded; l += kLanes) {
      lanes_at(to + l) = r * (lanes_at(to + l) - 0.5 * lanes_at(s + l)) + keep * lanes_at(from + l);
    }
  }
}

void SubAdmm::iterate() {
  const int units = ws_.slacks.num_units();
  if (pool_ == nullptr) {
    project(ws_.slacks, 0, units, y(), ws_.s.data());
    update_nodes(0, static_cast<int>(ws_.maps.nodes.size()));
  } else {
    pool_->for_ranges(units, [&](int begin, int end, int) { project(ws_.slacks, begin, end, y(), ws_.s.data()); });
    pool_->for_ranges(pool_->num_workers(),
                      [&](int begin, int end, int) { update_nodes(ws_.node_bounds[begin], ws_.node_bounds[end]); });
  }
  ++monitor_.iterations;
  ++monitor_.admm_iterations;
  if (monitor_.tracing()) {
    export_current();
    monitor_.trace(lambda_, monitor_.iterations);
  }
}

bool SubAdmm::check(int k, bool last, Status& status) {
  export_current();
  const double score = monitor_.observe(lambda_);
  if (score < kGain * best_) {
    best_ = score;
    last_gain_ = k;
    next_jam_test_ = std::max(next_jam_test_, k + kFirstJamTest);
  }
  next_check_ = k + std::max(10, k / 20);
  if (score <= 1.0) {
    status = Status::kSolved;
  } else if (!std::isfinite(score)) {
    status = Status::kNumericalError;
  } else if (last) {
    status = Status::kMaxIterations;
  } else if (monitor_.expired()) {
    status = Status::kTimeBudget;
  } else if (jam_test(k)) {
    status = Status::kInfeasible;
  } else if (k - last_gain_ > kStallIterations + k / 2) {
    status = Status::kStalled;
  } else {
    if (careful_ > 0 && k > careful_until_ && monitor_.best_score() >= score_before_) return_from_careful(k);
    if (k - std::max(last_gain_, rest_until_) > kTired) {  // extrapolating in circles
      rest_until_ = k + long_rest_;
      long_rest_ *= 2;
    }
    const bool lost = k - last_gain_ > kPatience + last_gain_ && score > kLost * monitor_.best_score();
    if (lost && careful_ == 0 && !returned_) restart_carefully(k);
    return false;
  }
  return true;
}

/// λ was observed just now. Calls come kStretch plain iterations apart, until λ moved the same way twice or it is clear
/// that it does not. True: it runs away although it came from small λ, and its direction proves that it may.
bool SubAdmm::jam_test(int k) {
  if (stretch_ == 0 && (k < next_jam_test_ || monitor_.last_natural() < kJamViolation)) return false;
  double change = 0.0, size = 0.0, lambda_size = 0.0;
  if (stretch_ > 0) {
    std::swap(ws_.drift, ws_.drift_before);
    for (int i = 0; i < island_.rows; ++i) {
      ws_.drift[i] = lambda_[i] - ws_.mark[i];
      change += std::pow(ws_.drift[i] - ws_.drift_before[i], 2);
      size += ws_.drift[i] * ws_.drift[i];
      lambda_size += lambda_[i] * lambda_[i];
    }
  }
  std::copy_n(lambda_, island_.rows, ws_.mark.begin());
  // A geometric series of such steps would end at |drift| / (relative change).
  const double goal = careful_ == kPlainest ? kJammed : kRunaway;
  const bool runs_away = stretch_ > 1 && size > goal * std::sqrt(change * lambda_size);
  if (!runs_away && stretch_ < kStretches) {
    ++stretch_;
    next_check_ = k + kStretch;
    return false;
  }
  stretch_ = 0;
  jam_gap_ *= 2;
  next_jam_test_ = k + jam_gap_;
  if (!runs_away) return false;
  if (careful_ < kPlainest) {
    restart_carefully(k);
    return false;
  }
  if (!is_recession_direction(island_, ws_.drift.data(), ws_.trial)) return false;
  monitor_.force_best(lambda_);
  return true;
}

/// A large penalty can press bodies into a wedge that holds only because they are pressed: friction grows with the
/// internal forces, and λ runs away although there is a solution. A small penalty from λ = 0 does not get there.
void SubAdmm::restart_carefully(int k) {
  if (careful_ == 0) {
    c_before_ = ws_.c;
    score_before_ = monitor_.best_score();
  }
  ++careful_;
  careful_until_ = 2 * k + kCarefulIterations;
  std::fill_n(lambda_, island_.rows, 0.0);
  restart(k, std::min(ws_.c, kCarefulC));
}

/// The careful run found nothing better: back to where it began.
void SubAdmm::return_from_careful(int k) {
  careful_ = 0;
  returned_ = true;
  std::copy_n(monitor_.best_lambda(), island_.rows, lambda_);
  restart(k, c_before_);
  jam_gap_ = 2 * k;
  next_jam_test_ = k + jam_gap_;
}

void SubAdmm::restart(int k, double c) {
  ws_.c = c;
  best_ = kInfinity;
  last_gain_ = k;
  jump_ = refactor_ = true;
  bad_extrapolations_ = rest_until_ = 0;
  jam_gap_ = kFirstJamTest;
  next_jam_test_ = k + jam_gap_;
  balance_gap_ = kFirstBalance;
  next_balance_ = k + balance_gap_;
}

/// An extrapolation that made the residual grow went too far: a shorter one, twice, or none. It is the active set that
/// changes on the way, so the direction is good up to there.
bool SubAdmm::undo_extrapolation(int k) {
  if (!extrapolated_) return false;
  if (distance(y_next(), y(), size_) <= f_before_) {
    extrapolated_ = false;
    bad_extrapolations_ = 0;
    return false;
  }
  at_ = 0;
  double* to = column(0);
  if (++shortened_ <= kShorter) {
    for (int i = 0; i < size_; i += kLanes) {
      lanes_at(to + i) = lanes_at(&ws_.saved[i]) + kShorten * (lanes_at(to + i) - lanes_at(&ws_.saved[i]));
    }
    return true;
  }
  extrapolated_ = false;
  std::copy_n(ws_.saved.data(), size_, to);
  if (++bad_extrapolations_ >= kBadExtrapolations) {
    bad_extrapolations_ = 0;
    rest_until_ = k + rest_;
    rest_ *= 2;
  }
  return true;
}

// (42), (43) with residuals relative to what they are differences of: ‖Ĵv - z‖ and ‖z - z_old‖.
bool SubAdmm::rebalance(int k) {
  if (k > next_balance_) next_balance_ = k + 1;  // passed over by an undone extrapolation or a jam test
  if (k + 1 == next_balance_) {
    for (int i = 0; i < size_; i += kLanes) lanes_at(&ws_.z_old[i]) = 0.5 * (lanes_at(y() + i) + lanes_at(&ws_.s[i]));
  }
  if (k != next_balance_) return false;
  if (at_ == 0) {  // the state before is gone: two iterations later
    next_balance_ = k + 2;
    return false;
  }
  balance_gap_ += balance_gap_ / 2;
  next_balance_ = k + balance_gap_;
  const double r = options_.relax, keep = 1.0 - 0.5 * r, inverse = 1.0 / r;
  Lanes primal{}, dual{}, size_Jv{}, size_z{}, size_lambda{};
  for (int i = 0; i < size_; i += kLanes) {
    const Lanes &yi = lanes_at(y() + i), &si = lanes_at(&ws_.s[i]);
    const Lanes Jv = (lanes_at(y_next() + i) - keep * yi) * inverse + 0.5 * si;
    const Lanes z = 0.5 * (yi + si), l = 0.5 * (si - yi), dz = z - lanes_at(&ws_.z_old[i]);
    lanes_at(&ws_.z_old[i]) = Jv;
    primal += (Jv - z) * (Jv - z);
    dual += dz * dz;
    size_Jv += Jv * Jv;
    size_z += z * z;
    size_lambda += l * l;
  }
  double size_q = 0.0;
  for (int i = 0; i < island_.num_constraints; ++i) {
    const Constraint& c = island_.constraints[i];
    for (int l = 0; l < c.dim; ++l) size_q += ws_.c * ws_.weight[i] * island_.q[c.row + l] * island_.q[c.row + l];
  }
  const double size = std::sqrt(std::max({add_lanes(size_Jv), add_lanes(size_z), size_q}));
  const double theta_p = std::sqrt(add_lanes(primal)) / std::max(size, 1e-300);
  const double theta_d = std::sqrt(add_lanes(dual)) / std::max(std::sqrt(add_lanes(size_lambda)), 1e-300);
  const double ratio = theta_p / std::max(theta_d, 1e-300);
  if (ratio <= options_.gamma && ratio >= 1.0 / options_.gamma) return false;

  // λ and v stay; y = Ĵv - λ in the new units.
  const double c_old = ws_.c;
  ws_.c = std::clamp(ws_.c * std::clamp(std::sqrt(ratio), 0.1, 10.0), 1e-6, careful_ > 0 ? kCarefulMaxC : 1e8);
  const double rescale = std::sqrt(ws_.c / c_old), back = 1.0 / rescale;
  double* to = column(0);
  for (int i = 0; i < size_; i += kLanes) {
    const Lanes l = 0.5 * (lanes_at(&ws_.s[i]) - lanes_at(y() + i));
    lanes_at(to + i) = rescale * lanes_at(&ws_.z_old[i]) - back * l;
  }
  at_ = 0;
  refactor_ = true;
  return true;
}

/// To the next state; at the end of the ring extrapolate, or wrap.
void SubAdmm::advance(int k) {
  ++at_;
  if (at_ + 1 < columns_) return;
  double* plain = column(at_);
  at_ = 0;
  if (window_ >= 2 && k >= rest_until_ && stretch_ == 0 && careful_ < kPlainest) {
    f_before_ = distance(plain, plain - stride_, size_);
    if (extrapolate(ws_.history.data(), stride_, window_, ws_.saved.data())) {
      std::swap_ranges(plain, plain + size_, ws_.saved.data());  // saved: plain state; its place: the extrapolated one
      std::copy_n(plain, size_, column(0));
      extrapolated_ = true;
      shortened_ = 0;
      return;
    }
  }
  std::copy_n(plain, size_, column(0));
}

Status SubAdmm::run() {
  if (!start()) return Status::kNumericalError;
  for (int k = 1;; ++k) {
    iterate();
    const bool last = (options_.max_iterations > 0 && k >= options_.max_iterations) || monitor_.out_of_iterations();
    if (options_.fixed) {
      if (last || (k % kClockGap == 0 && monitor_.stopped())) {
        export_current();
        monitor_.observe(lambda_);
        return Status::kMaxIterations;
      }
      if (!undo_extrapolation(k)) advance(k);
      continue;
    }
    Status status = Status::kMaxIterations;
    const bool late = (slow_ || k % kClockGap == 0) && monitor_.expired();
    if ((k >= next_check_ || last || late) && check(k, last, status)) return status;
    if (jump_ || undo_extrapolation(k) || (options_.adapt && stretch_ == 0 && careful_ < kPlainest && rebalance(k))) {
      if (refactor_ && !factor()) return Status::kNumericalError;
      if (jump_) start_from_lambda();
      jump_ = refactor_ = false;
      continue;
    }
    advance(k);
  }
}

}  // namespace

Status solve_subadmm(const Island& island, const SubAdmmOptions& options, Monitor& monitor, SubAdmmWorkspace& ws,
                     double* lambda) {
  return SubAdmm(island, options, monitor, ws, lambda).run();
}

}  // namespace almond
