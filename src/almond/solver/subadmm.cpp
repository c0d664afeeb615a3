#include "almond/solver/subadmm.hpp"

#include <algorithm>
#include <cmath>

#include "almond/solver/recession.hpp"
#include "almond/solver/subadmm_sweep.hpp"

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
constexpr int kStallIterations = 20000;  // without progress, plus half of all iterations: stalled

class SubAdmm {
 public:
  SubAdmm(const Island& island, const SubAdmmOptions& options, Monitor& monitor, SubAdmmWorkspace& workspace,
          double* lambda)
      : island_(island),
        options_(options),
        monitor_(monitor),
        ws_(workspace),
        lambda_(lambda),
        sweep_(island, options, workspace) {}

  Status run();

 private:
  bool start();
  void iterate();
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
  SubAdmmSweep sweep_;

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
  sweep_.lay_out();
  compute_penalty_weights(island_, options_.pseudo_density, ws_.weight);
  if (!(options_.keep && ws_.c > 0.0)) ws_.c = options_.pseudo_density ? 1.0 : options_.c0;
  ws_.mark.resize(island_.rows);
  ws_.drift.resize(island_.rows);
  ws_.drift_before.resize(island_.rows);
  if (!sweep_.factor()) return false;
  sweep_.start_from(lambda_);
  return true;
}

void SubAdmm::iterate() {
  sweep_.iterate();
  ++monitor_.iterations;
  ++monitor_.admm_iterations;
  if (monitor_.tracing()) {
    sweep_.export_lambda(lambda_);
    monitor_.trace(lambda_, monitor_.iterations);
  }
}

bool SubAdmm::check(int k, bool last, Status& status) {
  sweep_.export_lambda(lambda_);
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
  if (sweep_.step() <= f_before_) {
    extrapolated_ = false;
    bad_extrapolations_ = 0;
    return false;
  }
  sweep_.go_to_first();
  double* to = sweep_.first();
  if (++shortened_ <= kShorter) {
    for (int i = 0; i < sweep_.size(); i += kLanes) {
      lanes_at(to + i) = lanes_at(&ws_.saved[i]) + kShorten * (lanes_at(to + i) - lanes_at(&ws_.saved[i]));
    }
    return true;
  }
  extrapolated_ = false;
  std::copy_n(ws_.saved.data(), sweep_.size(), to);
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
    for (int i = 0; i < sweep_.size(); i += kLanes)
      lanes_at(&ws_.z_old[i]) = 0.5 * (lanes_at(sweep_.y() + i) + lanes_at(&ws_.s[i]));
  }
  if (k != next_balance_) return false;
  if (sweep_.is_first()) {  // the state before is gone: two iterations later
    next_balance_ = k + 2;
    return false;
  }
  balance_gap_ += balance_gap_ / 2;
  next_balance_ = k + balance_gap_;
  const double r = options_.relax, keep = 1.0 - 0.5 * r, inverse = 1.0 / r;
  Lanes primal{}, dual{}, size_Jv{}, size_z{}, size_lambda{};
  for (int i = 0; i < sweep_.size(); i += kLanes) {
    const Lanes &yi = lanes_at(sweep_.y() + i), &si = lanes_at(&ws_.s[i]);
    const Lanes Jv = (lanes_at(sweep_.y_next() + i) - keep * yi) * inverse + 0.5 * si;
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
  double* to = sweep_.first();
  for (int i = 0; i < sweep_.size(); i += kLanes) {
    const Lanes l = 0.5 * (lanes_at(&ws_.s[i]) - lanes_at(sweep_.y() + i));
    lanes_at(to + i) = rescale * lanes_at(&ws_.z_old[i]) - back * l;
  }
  sweep_.go_to_first();
  refactor_ = true;
  return true;
}

/// To the next state; when the ring is full, extrapolate.
void SubAdmm::advance(int k) {
  sweep_.advance();
  if (!sweep_.is_full() || k < rest_until_ || stretch_ > 0 || careful_ == kPlainest) return;
  f_before_ = sweep_.step_before();
  if (!sweep_.extrapolate()) return;
  extrapolated_ = true;
  shortened_ = 0;
}

Status SubAdmm::run() {
  if (!start()) return Status::kNumericalError;
  for (int k = 1;; ++k) {
    iterate();
    const bool last = (options_.max_iterations > 0 && k >= options_.max_iterations) || monitor_.out_of_iterations();
    if (options_.fixed) {
      if (last) {
        sweep_.export_lambda(lambda_);
        monitor_.observe(lambda_);
        return Status::kMaxIterations;
      }
      if (!undo_extrapolation(k)) advance(k);
      continue;
    }
    Status status = Status::kMaxIterations;
    if ((k >= next_check_ || last) && check(k, last, status)) return status;
    if (jump_ || undo_extrapolation(k) || (options_.adapt && stretch_ == 0 && careful_ < kPlainest && rebalance(k))) {
      if (refactor_ && !sweep_.factor()) return Status::kNumericalError;
      if (jump_) {
        sweep_.start_from(lambda_);
        extrapolated_ = false;
      }
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
