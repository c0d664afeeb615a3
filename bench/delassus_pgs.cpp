#include "bench/delassus_pgs.hpp"

#include <Eigen/Cholesky>
#include <Eigen/Eigenvalues>
#include <algorithm>
#include <cmath>

#include "almond/base/timer.hpp"
#include "almond/solver/certificate.hpp"

namespace almond::bench {
namespace {

/// One side of a constraint, whitened: L⁻¹Jᵀ with A = L Lᵀ of its subsystem.
struct WhiteSide {
  int item;
  MatX Y;
};

}  // namespace

DelassusPgs::DelassusPgs(const ContactProblem& problem, PgsStep step) {
  add_items(problem);
  form(problem, step);
  lambda_.setZero(problem.num_rows());
}

void DelassusPgs::add_items(const ContactProblem& problem) {
  int row = 0;
  q_.resize(problem.num_rows());
  for (const Contact& contact : problem.contacts) {
    Item item;
    item.row = row;
    item.dim = 3;
    item.mu = contact.mu;
    q_.segment<3>(row) = contact.e;
    items_.push_back(item);
    row += 3;
  }
  const auto add = [&](double e, double lower, double upper, double compliance) {
    Item item;
    item.row = row;
    item.dim = 1;
    item.lower = lower;
    item.upper = upper;
    item.compliance = compliance;
    q_[row++] = e;
    items_.push_back(item);
  };
  for (const Row& r : problem.hard) add(r.e, 0.0, kInfinity, 0.0);
  for (const Row& r : problem.soft) add(r.k * r.e / r.b, -r.limit, r.limit, 1.0 / r.b);
  for (const Row& r : problem.equality) add(r.e, -kInfinity, kInfinity, 0.0);
  for (const Row& r : problem.bounded) add(r.e, -r.limit, r.limit, 0.0);
}

void DelassusPgs::form(const ContactProblem& problem, PgsStep step) {
  const auto num_items = static_cast<int>(items_.size());
  std::vector<std::vector<WhiteSide>> sides(problem.subsystems.size());
  const auto collect = [&](int item, const std::array<Side, 2>& ends, int num_sides, int rows) {
    for (int s = 0; s < num_sides; ++s)
      sides[static_cast<std::size_t>(ends[s].subsystem)].push_back({item, problem.J(ends[s], rows).transpose()});
  };
  int item = 0;
  for (const Contact& contact : problem.contacts) collect(item++, contact.sides, contact.num_sides, 3);
  for (const auto* rows : {&problem.hard, &problem.soft, &problem.equality, &problem.bounded})
    for (const Row& row : *rows) collect(item++, row.sides, row.num_sides, 1);

  std::vector<std::vector<int>> neighbours(items_.size());
  for (std::size_t s = 0; s < sides.size(); ++s) {
    if (sides[s].empty()) continue;
    const Eigen::LLT<MatX> factor(problem.A(static_cast<int>(s)));
    const VecX free = factor.matrixL().solve(VecX(problem.b_of(static_cast<int>(s))));
    for (WhiteSide& side : sides[s]) {
      factor.matrixL().solveInPlace(side.Y);
      q_.segment(items_[side.item].row, items_[side.item].dim) += side.Y.transpose() * free;
      for (const WhiteSide& other : sides[s]) neighbours[side.item].push_back(other.item);
    }
  }
  // Where in its row of W each neighbour begins.
  std::vector<std::vector<int>> columns(items_.size());
  begin_.assign(items_.size() + 1, 0);
  std::size_t size = 0;
  for (int i = 0; i < num_items; ++i) {
    std::vector<int>& of = neighbours[i];
    std::sort(of.begin(), of.end());
    of.erase(std::unique(of.begin(), of.end()), of.end());
    int width = 0;
    for (const int j : of) {
      const bool joined =
          static_cast<int>(runs_.size()) > begin_[i] && runs_.back().row + runs_.back().length == items_[j].row;
      if (!joined) runs_.push_back({items_[j].row, 0});
      runs_.back().length += items_[j].dim;
      columns[i].push_back(width);
      width += items_[j].dim;
    }
    begin_[i + 1] = static_cast<int>(runs_.size());
    start_.push_back(size);
    width_.push_back(width);
    size += static_cast<std::size_t>(width) * items_[i].dim;
  }
  values_.assign(size, 0.0);
  const auto block = [&](int i, int j) {
    const auto at = std::lower_bound(neighbours[i].begin(), neighbours[i].end(), j) - neighbours[i].begin();
    return MapMatr(&values_[start_[i]], items_[i].dim, width_[i]).middleCols(columns[i][at], items_[j].dim);
  };
  for (const std::vector<WhiteSide>& of : sides)
    for (const WhiteSide& a : of)
      for (const WhiteSide& b : of) block(a.item, b.item) += a.Y.transpose() * b.Y;
  for (int i = 0; i < num_items; ++i) {
    Item& it = items_[i];
    if (neighbours[i].empty()) continue;
    const MatX W = block(i, i);
    if (it.dim == 1) {
      it.step = 1.0 / (W(0, 0) + it.compliance);
    } else if (step != PgsStep::kEach) {
      const double whole = step == PgsStep::kTrace ? W.trace() : W.selfadjointView<Eigen::Lower>().eigenvalues()[2];
      it.step_n = it.step_t = 1.0 / std::max(whole, 1e-300);
    } else {
      const double half = 0.5 * (W(0, 0) + W(1, 1)), diff = 0.5 * (W(0, 0) - W(1, 1));
      it.step_n = W(2, 2) > 0.0 ? 1.0 / W(2, 2) : 0.0;
      it.step_t = 1.0 / std::max(half + std::sqrt(diff * diff + W(0, 1) * W(0, 1)), 1e-300);
      it.coupling[0] = W(0, 2);
      it.coupling[1] = W(1, 2);
    }
  }
}

void DelassusPgs::sweep() {
  for (std::size_t i = 0; i < items_.size(); ++i) {
    const Item& it = items_[i];
    double w[3] = {0.0, 0.0, 0.0};
    for (int r = 0; r < it.dim; ++r) {
      w[r] = q_[it.row + r];
      const double* W = &values_[start_[i]] + static_cast<std::size_t>(r) * width_[i];
      for (int k = begin_[i]; k < begin_[i + 1]; ++k) {
        const Run& run = runs_[k];
        w[r] += MapConstVec(W, run.length).dot(lambda_.segment(run.row, run.length));
        W += run.length;
      }
    }
    double* l = &lambda_[it.row];
    if (it.dim == 1) {
      l[0] = std::clamp(l[0] - it.step * (w[0] + it.compliance * l[0]), it.lower, it.upper);
      continue;
    }
    const double before = l[2];
    l[2] = std::max(0.0, l[2] - it.step_n * w[2]);
    l[0] -= it.step_t * (w[0] + it.coupling[0] * (l[2] - before));
    l[1] -= it.step_t * (w[1] + it.coupling[1] * (l[2] - before));
    const double most = it.mu * l[2], size = std::sqrt(l[0] * l[0] + l[1] * l[1]);
    if (size > most) {
      l[0] *= most / size;
      l[1] *= most / size;
    }
  }
}

std::vector<double> time_delassus_pgs(const ContactProblem& problem, int sweeps, int runs) {
  std::vector<double> best;
  for (int run = 0; run < runs; ++run) {
    std::vector<double> times;
    const Stopwatch watch;
    DelassusPgs pgs(problem);
    times.push_back(watch.elapsed_ms());
    for (int k = 0; k < sweeps; ++k) {
      pgs.sweep();
      times.push_back(watch.elapsed_ms());
    }
    if (best.empty() || times.back() < best.back()) best = std::move(times);
  }
  return best;
}

double residual_after_sweeps(const ContactProblem& problem, PgsStep step, int sweeps) {
  DelassusPgs pgs(problem, step);
  for (int k = 0; k < sweeps; ++k) pgs.sweep();
  return make_certificate(problem, compute_velocity(problem, pgs.lambda()), pgs.lambda()).residual;
}

Run run_delassus_pgs(const BenchProblem& problem, double tol, double budget_ms) {
  constexpr int kEvery = 100;  // sweeps that are looked at one by one
  Run run;
  run.problem = problem.name;
  run.solver = "pgs on W";
  run.contacts = problem.problem.num_contacts();
  run.dofs = problem.problem.num_dofs();
  std::vector<TracePoint> points;
  Stopwatch watch;
  DelassusPgs pgs(problem.problem);
  double time = watch.elapsed_ms();
  int next = 0;
  for (int k = 0;; ++k) {
    if (k == next || time >= budget_ms) {
      run.certificate =
          make_certificate(problem.problem, compute_velocity(problem.problem, pgs.lambda()), pgs.lambda());
      points.push_back({time, k, run.certificate.natural_map, run.certificate.residual});
      run.iterations = k;
      run.time_ms = time;
      run.status = run.certificate.residual <= tol ? Status::kSolved : Status::kTimeBudget;
      if (run.status == Status::kSolved || time >= budget_ms) break;
      next = k < kEvery ? k + 1 : k + k / 10;
    }
    watch.restart();
    pgs.sweep();
    time += watch.elapsed_ms();
  }
  finish_curve(std::move(points), run);
  return run;
}

}  // namespace almond::bench
