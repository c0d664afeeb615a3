#include "almond/solver/pgs.hpp"

#include <Eigen/LU>
#include <algorithm>
#include <cmath>

#include "almond/solver/anderson.hpp"
#include "almond/solver/cone.hpp"
#include "almond/solver/lanes.hpp"
#include "almond/solver/ray.hpp"

namespace almond {
namespace {

constexpr double kLeastOmega = 0.125;
constexpr int kJamSweeps = 400;         // without progress before the ray is tried
constexpr int kClockGap = 8;            // sweeps between looks at the clock, at most,
constexpr int kClockVisits = 500;       // or as many visits of constraints
constexpr int kIdleSweeps = 20000;      // without progress before it gives up
constexpr double kJamViolation = 1e-6;  // natural map below which nothing is called jammed

/// The step after which w would be zero, if the cone permits it.
inline bool try_stick(const Island& island, int i, double omega, const PgsWorkspace& ws, const double* w, double* l,
                      double* d) {
  const double* G = &ws.inverse[9 * i];
  double x[3];
  for (int r = 0; r < 3; ++r) {
    d[r] = -omega * (G[3 * r] * w[0] + G[3 * r + 1] * w[1] + G[3 * r + 2] * w[2]);
    x[r] = l[r] + d[r];
  }
  const double radius = island.mu[i] * x[2];
  if (!(x[2] > 0.0 && x[0] * x[0] + x[1] * x[1] <= radius * radius)) return false;
  std::copy_n(x, 3, l);
  return true;
}

/// Newton's step on the normal, then on the tangent with the normal already moved; d is the change of λ. False: none.
inline bool step_contact(const Island& island, int i, double omega, const PgsWorkspace& ws, const double* w, double* l,
                         double* d) {
  if (!ws.inverse.empty() && try_stick(island, i, omega, ws, w, l, d)) return true;
  const double normal = std::max(0.0, l[2] - omega * ws.step_n[i] * w[2]);
  d[2] = normal - l[2];
  const double* W = &island.W[9 * i];
  const double step = omega * ws.step_t[i];
  const double x0 = l[0] - step * (w[0] + W[2] * d[2]), x1 = l[1] - step * (w[1] + W[5] * d[2]);
  const double radius = island.mu[i] * normal, norm2 = x0 * x0 + x1 * x1;
  const double scale = norm2 > radius * radius ? radius / std::sqrt(norm2) : 1.0;
  d[0] = scale * x0 - l[0];
  d[1] = scale * x1 - l[1];
  if (d[0] == 0.0 && d[1] == 0.0 && d[2] == 0.0) return false;
  l[0] += d[0];
  l[1] += d[1];
  l[2] = normal;
  return true;
}

/// Both sides are rigid bodies, or one and the ground: eight padded dofs, one register each.
void sweep_bodies(const Island& island, int i, double omega, const PgsWorkspace& ws, double* v, double* lambda) {
  const Constraint& c = island.constraints[i];
  const double* J0 = &island.J[c.J[0]];
  double* v0 = v + island.nodes[c.node[0]].v_begin;
  const Lanes x0 = lanes_at(v0);
  Lanes products[4] = {lanes_at(J0) * x0, lanes_at(J0 + kLanes) * x0, lanes_at(J0 + 2 * kLanes) * x0, Lanes{}};
  const double* J1 = nullptr;
  double* v1 = nullptr;
  if (c.num_sides == 2) {
    J1 = &island.J[c.J[1]];
    v1 = v + island.nodes[c.node[1]].v_begin;
    const Lanes x1 = lanes_at(v1);
    for (int r = 0; r < 3; ++r) products[r] += lanes_at(J1 + r * kLanes) * x1;
  }
  double w[4], d[3];
  add_lanes(products, w);
  for (int r = 0; r < 3; ++r) w[r] += island.e[3 * i + r];
  if (!step_contact(island, i, omega, ws, w, lambda + 3 * i, d)) return;
  lanes_at(v0) += d[0] * lanes_at(J0) + d[1] * lanes_at(J0 + kLanes) + d[2] * lanes_at(J0 + 2 * kLanes);
  if (v1 != nullptr)
    lanes_at(v1) += d[0] * lanes_at(J1) + d[1] * lanes_at(J1 + kLanes) + d[2] * lanes_at(J1 + 2 * kLanes);
}

/// Any two sides, of which one may be narrower than a register.
void sweep_trees(const Island& island, int i, double omega, const PgsWorkspace& ws, double* v, double* lambda) {
  const Constraint& c = island.constraints[i];
  Lanes products[4] = {};
  for (int s = 0; s < c.num_sides; ++s) {
    const Node& node = island.nodes[c.node[s]];
    const double *J = &island.J[c.J[s]], *x = v + node.v_begin;
    if (node.ld < kLanes) {
      for (int r = 0; r < 3; ++r)
        for (int k = 0; k < node.ld; ++k) products[r][k] += J[r * node.ld + k] * x[k];
      continue;
    }
    for (int k = 0; k < c.width[s]; k += kLanes)
      for (int r = 0; r < 3; ++r) products[r] += lanes_at(J + r * node.ld + k) * lanes_at(x + k);
  }
  double w[4], d[3];
  add_lanes(products, w);
  for (int r = 0; r < 3; ++r) w[r] += island.e[3 * i + r];
  if (!step_contact(island, i, omega, ws, w, lambda + 3 * i, d)) return;
  for (int s = 0; s < c.num_sides; ++s) {
    const Node& node = island.nodes[c.node[s]];
    const double *J0 = &island.J[c.J[s]], *J1 = J0 + node.ld, *J2 = J1 + node.ld;
    double* x = v + node.v_begin;
    if (node.ld < kLanes) {
      for (int k = 0; k < node.ld; ++k) x[k] += d[0] * J0[k] + d[1] * J1[k] + d[2] * J2[k];
      continue;
    }
    for (int k = 0; k < c.width[s]; k += kLanes)
      lanes_at(x + k) += d[0] * lanes_at(J0 + k) + d[1] * lanes_at(J1 + k) + d[2] * lanes_at(J2 + k);
  }
}

void sweep_contact(const Island& island, int i, double omega, const PgsWorkspace& ws, double* v, double* lambda) {
  const Constraint& c = island.constraints[i];
  const Node &first = island.nodes[c.node[0]], &second = island.nodes[c.node[c.num_sides - 1]];
  const bool bodies = first.ld == kLanes && second.ld == kLanes && (c.num_sides == 1 || c.node[0] != c.node[1]);
  bodies ? sweep_bodies(island, i, omega, ws, v, lambda) : sweep_trees(island, i, omega, ws, v, lambda);
}

void sweep_row(const Island& island, int i, double omega, double* v, double* lambda) {
  const Constraint& c = island.constraints[i];
  const int k = island.row_index(i);
  double& l = lambda[c.row];
  double w = island.e[c.row] + island.compliance[k] * l;
  for (int s = 0; s < c.num_sides; ++s) {
    const Node& node = island.nodes[c.node[s]];
    const double* J = &island.J[c.J[s]];
    const double* x = v + node.v_begin;
    for (int j = 0; j < node.ld; ++j) w += J[j] * x[j];
  }
  const double next = std::clamp(l - omega * w / island.w_bar[i], island.lower[k], island.upper[k]);
  const double d = next - l;
  if (d == 0.0) return;
  l = next;
  for (int s = 0; s < c.num_sides; ++s) {
    const Node& node = island.nodes[c.node[s]];
    const double* J = &island.J[c.J[s]];
    double* x = v + node.v_begin;
    for (int j = 0; j < node.ld; ++j) x[j] += d * J[j];
  }
}

/// Whether a step on the normal and one on the tangent are not the step to stick anyway, as they are for balls: both
/// tangents weigh the same, and neither feels the normal.
bool is_coupled(const Island& island) {
  constexpr double kCoupled = 1e-9;
  for (int i = 0; i < island.num_contacts; ++i) {
    const double *W = &island.W[9 * i], room = kCoupled * island.w_bar[i];
    if (std::max({std::abs(W[1]), std::abs(W[2]), std::abs(W[5]), std::abs(W[0] - W[4])}) > room) return true;
  }
  return false;
}

/// W_ii⁻¹ of all contacts.
void invert_blocks(const Island& island, std::vector<double>& inverse) {
  using Block = Eigen::Matrix<double, 3, 3, Eigen::RowMajor>;
  constexpr double kSingular = 1e-9;  // determinant by W̄³
  inverse.resize(9 * island.num_contacts);
  for (int i = 0; i < island.num_contacts; ++i) {
    const Eigen::Map<const Block> W(&island.W[9 * i]);
    Eigen::Map<Block> G(&inverse[9 * i]);
    const double w_bar = island.w_bar[i];
    if (W.determinant() > kSingular * w_bar * w_bar * w_bar) {
      G = W.inverse();
    } else {
      G.setConstant(kNaN);
    }
  }
}

void prepare(const Island& island, const double* lambda, bool stick, PgsWorkspace& ws) {
  ws.v.resize(island.v_size);
  ws.side.resize(island.side_rows);
  ws.step_n.resize(island.num_contacts);
  ws.step_t.resize(island.num_contacts);
  ws.inverse.clear();
  if (stick && is_coupled(island)) invert_blocks(island, ws.inverse);
  scatter_rows(island, lambda, ws.side.data());
  multiply_JT(island, ws.side.data(), true, ws.v.data());
  for (int i = 0; i < island.num_contacts; ++i) {
    const double* W = &island.W[9 * i];
    const double half = 0.5 * (W[0] + W[4]), diff = 0.5 * (W[0] - W[4]);
    const double largest = half + std::sqrt(diff * diff + W[1] * W[1]);
    ws.step_n[i] = W[8] > 0.0 ? 1.0 / W[8] : 0.0;
    ws.step_t[i] = largest > 0.0 ? 1.0 / largest : 0.0;
  }
}

/// Anderson over sweeps: the state is λ in units of sqrt(W̄), so that its norm is an energy.
class Accelerator {
 public:
  Accelerator(const Island& island, int memory, PgsWorkspace& ws)
      : island_(island), ws_(ws), memory_(std::min(memory, kMaxAnderson)), n_(island.rows) {
    if (memory_ < 2) return;
    ws_.history.resize(static_cast<std::size_t>(n_) * (memory_ + 2));
    ws_.saved.resize(2 * n_);
    ws_.weight.resize(n_);
    for (int i = 0; i < island.num_constraints; ++i) {
      const Constraint& c = island.constraints[i];
      for (int r = 0; r < c.dim; ++r) ws_.weight[c.row + r] = std::sqrt(island.w_bar[i]);
    }
  }
  [[nodiscard]] bool on() const { return memory_ >= 2; }

  void record(const double* lambda) {
    double* y = column(count_++);
    for (int i = 0; i < n_; ++i) y[i] = ws_.weight[i] * lambda[i];
  }

  /// After a sweep. Moves λ when it is time to extrapolate, or back when the last one did harm; true if λ moved.
  bool after_sweep(double* lambda) {
    record(lambda);
    if (pending_) {
      pending_ = false;
      const double f = last_residual();
      if (!(f <= 2.0 * f_before_)) {  // undo
        std::copy_n(ws_.saved.data(), n_, lambda);
        count_ = 0;
        wait_ = 2 * wait_ + 1;
        record(lambda);
        return true;
      }
      wait_ = 0;
    }
    if (count_ < memory_ + 2) return false;
    f_before_ = last_residual();
    std::copy_n(lambda, n_, ws_.saved.data());
    count_ = 0;
    double* out = ws_.saved.data() + n_;
    if (skip_ > 0 || !extrapolate(ws_.history.data(), n_, memory_, out)) {
      skip_ = std::max(0, skip_ - 1);
      record(lambda);
      return false;
    }
    skip_ = wait_;
    for (int i = 0; i < n_; ++i) lambda[i] = out[i] / ws_.weight[i];
    project(lambda);
    pending_ = true;
    record(lambda);
    return true;
  }

 private:
  double* column(int k) { return ws_.history.data() + static_cast<std::ptrdiff_t>(k) * n_; }
  double last_residual() {
    const double *a = column(count_ - 2), *b = column(count_ - 1);
    double sum = 0.0;
    for (int i = 0; i < n_; ++i) sum += (b[i] - a[i]) * (b[i] - a[i]);
    return std::sqrt(sum);
  }
  void project(double* lambda) const {
    for (int i = 0; i < island_.num_contacts; ++i) {
      Eigen::Map<Vec3> l(lambda + 3 * i);
      Vec3 projected;
      project_strict(island_.mu[i], l, projected);
      l = projected;
    }
    for (int i = island_.num_contacts; i < island_.num_constraints; ++i) {
      const int k = island_.row_index(i);
      double& l = lambda[island_.constraints[i].row];
      l = std::clamp(l, island_.lower[k], island_.upper[k]);
    }
  }

  const Island& island_;
  PgsWorkspace& ws_;
  int memory_, n_, count_ = 0, wait_ = 0, skip_ = 0;
  bool pending_ = false;
  double f_before_ = kInfinity;
};

/// How many sweeps it takes to a score of 1, at the rate since the last power of two.
class Forecast {
 public:
  double sweeps(int sweep, double score) {
    double all = sweep;
    if (mark_ > 0) all += score < score_ ? (sweep - mark_) * std::log(score) / std::log(score_ / score) : kInfinity;
    if (sweep >= 2 * mark_) {
      mark_ = sweep;
      score_ = score;
    }
    return all;
  }

 private:
  int mark_ = 0;
  double score_ = kInfinity;
};

}  // namespace

Status solve_pgs(const Island& island, const PgsOptions& options, Monitor& monitor, PgsWorkspace& ws, double* lambda) {
  prepare(island, lambda, options.stick, ws);
  double omega = options.omega;
  int next_check = 4, last_gain = 0, next_jam_test = 0;
  ws.anchor.assign(lambda, lambda + island.rows);
  double reference = kInfinity;  // score to improve on
  Forecast forecast;
  const int clock_gap = std::clamp(kClockVisits / std::max(1, island.num_constraints), 1, kClockGap);
  Accelerator accelerator(island, options.fixed ? 0 : options.anderson, ws);
  if (accelerator.on()) accelerator.record(lambda);
  for (int sweep = 1;; ++sweep) {
    for (int i = 0; i < island.num_contacts; ++i) sweep_contact(island, i, omega, ws, ws.v.data(), lambda);
    for (int i = island.num_contacts; i < island.num_constraints; ++i) sweep_row(island, i, omega, ws.v.data(), lambda);
    ++monitor.iterations;
    ++monitor.pgs_sweeps;
    if (accelerator.on() && accelerator.after_sweep(lambda)) {
      scatter_rows(island, lambda, ws.side.data());
      multiply_JT(island, ws.side.data(), true, ws.v.data());
    }
    monitor.trace(lambda, monitor.iterations);
    const bool last = (options.max_sweeps > 0 && sweep >= options.max_sweeps) || monitor.out_of_iterations();
    if (options.fixed) {
      if (!last && !(sweep % kClockGap == 0 && monitor.stopped())) continue;
      monitor.observe(lambda);
      return Status::kMaxIterations;
    }
    const bool late = sweep % clock_gap == 0 && monitor.expired();
    if (!last && !late && sweep < next_check) continue;

    next_check = sweep + std::max(4, sweep / 8);
    const double score = monitor.observe(lambda);
    if (score <= 1.0) return Status::kSolved;
    if (!std::isfinite(score)) return Status::kNumericalError;
    if (last) return Status::kMaxIterations;
    if (monitor.expired()) return Status::kTimeBudget;
    if (options.probe > 0) {
      const double all = forecast.sweeps(sweep, score);
      if (sweep >= options.least && all > options.probe) return Status::kMaxIterations;
    }
    // v drifts by rounding over many sweeps: take the one the measurement made from λ.
    std::copy(monitor.last().v.begin(), monitor.last().v.end(), ws.v.begin());
    if (score < 0.9 * reference) {
      reference = score;
      last_gain = next_jam_test = sweep;
      ws.anchor.assign(lambda, lambda + island.rows);
      continue;
    }
    const int idle = sweep - last_gain;
    if (idle > 200 + last_gain && omega > kLeastOmega) {  // a limit cycle: slower steps
      omega *= 0.5;
      last_gain = sweep;
      reference = score;
    }
    if (sweep - next_jam_test > kJamSweeps) {  // λ grows and nothing else happens?
      next_jam_test = 2 * sweep;
      ws.trial.resize(island.rows);
      for (int i = 0; i < island.rows; ++i) ws.trial[i] = lambda[i] - ws.anchor[i];
      std::swap(ws.anchor, ws.trial);  // the direction; its old content is not needed any more
      const bool jammed = monitor.last_natural() > kJamViolation &&
                          walk_ray(island, lambda, ws.anchor.data(), monitor, ws.trial).unbounded;
      if (jammed) {
        monitor.force_best(lambda);
        return Status::kInfeasible;
      }
      ws.anchor.assign(lambda, lambda + island.rows);
    }
    if (omega <= kLeastOmega && idle > kIdleSweeps + last_gain) return Status::kStalled;
  }
}

}  // namespace almond
