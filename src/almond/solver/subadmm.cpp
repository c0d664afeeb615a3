#include "almond/solver/subadmm.hpp"

#include <Eigen/Cholesky>
#include <algorithm>
#include <cmath>

#include "almond/solver/anderson.hpp"
#include "almond/solver/cone.hpp"

namespace almond {
namespace {

constexpr int kLanes = 8;

/// y[0..rows) += Σ_c x_c column_c for a column-major matrix; rows is a multiple of 8, four columns at a time.
inline void add_columns(const double* matrix, int rows, int columns, const double* x, double* y) {
  int c = 0;
  for (; c + 4 <= columns; c += 4) {
    const double *m0 = matrix + static_cast<std::ptrdiff_t>(c) * rows, *m1 = m0 + rows, *m2 = m1 + rows, *m3 = m2 + rows;
    const double x0 = x[c], x1 = x[c + 1], x2 = x[c + 2], x3 = x[c + 3];
    for (int r = 0; r < rows; ++r) y[r] += (x0 * m0[r] + x1 * m1[r]) + (x2 * m2[r] + x3 * m3[r]);
  }
  for (; c < columns; ++c) {
    const double* m = matrix + static_cast<std::ptrdiff_t>(c) * rows;
    const double xc = x[c];
    for (int r = 0; r < rows; ++r) y[r] += xc * m[r];
  }
}

/// acc[0..ld) += Σ_r s_r row_r for a row-major matrix.
template <int kWidth>
inline void add_rows(const double* matrix, int rows, int width, const double* s, double* acc) {
  const int ld = kWidth > 0 ? kWidth : width;
  int r = 0;
  for (; r + 4 <= rows; r += 4) {
    const double *m0 = matrix + static_cast<std::ptrdiff_t>(r) * ld, *m1 = m0 + ld, *m2 = m1 + ld, *m3 = m2 + ld;
    const double s0 = s[r], s1 = s[r + 1], s2 = s[r + 2], s3 = s[r + 3];
    for (int j = 0; j < ld; ++j) acc[j] += (s0 * m0[j] + s1 * m1[j]) + (s2 * m2[j] + s3 * m3[j]);
  }
  for (; r < rows; ++r) {
    const double* m = matrix + static_cast<std::ptrdiff_t>(r) * ld;
    for (int j = 0; j < ld; ++j) acc[j] += s[r] * m[j];
  }
}

class SubAdmm {
 public:
  SubAdmm(const Island& island, const SubAdmmOptions& options, SubAdmmWorkspace& workspace)
      : island_(island), options_(options), ws_(workspace) {}

  /// Padded layout of the side rows and which nodes take the G form.
  void lay_out();
  /// Ĵ, H and its inverse or G, for penalty c.
  void factor(double c);
  /// y = Ĵ v - λ with v = b + Jᵀλ.
  void start_from(const double* lambda, double* y);
  /// λ, s from y for constraints [begin, end).
  void project(const double* y, int begin, int end);
  /// y_next from y and s for nodes [begin, end).
  void update(const double* y, double* y_next, int begin, int end);
  void iterate(const double* y, double* y_next);
  void export_lambda(double* lambda) const;

  [[nodiscard]] int size() const { return size_; }
  /// ‖Ĵv - ẑ‖ and ‖ẑ‖ style residuals for the balance of β, from y and the y after it.
  void rescale(double c_new, double* y);

 private:
  const Island& island_;
  const SubAdmmOptions& options_;
  SubAdmmWorkspace& ws_;
  int size_ = 0;
};

void SubAdmm::lay_out() {
  const int count = static_cast<int>(island_.nodes.size());
  ws_.nodes.resize(count);
  int begin = 0, matrices = 0;
  for (int k = 0; k < count; ++k) {
    const Node& node = island_.nodes[k];
    SubAdmmNode& out = ws_.nodes[k];
    out.begin = begin;
    out.rows = node.side_rows;
    out.padded = (node.side_rows + kLanes - 1) / kLanes * kLanes;
    begin += out.padded;
    const double n = node.dofs, R = node.side_rows;
    out.dual = R * R <= 2.0 * R * n + n * n;
    if (out.dual) {
      out.G = matrices;
      matrices += out.padded * out.rows;
    } else {
      out.J = matrices;
      matrices += out.rows * node.ld;
      out.Jc = matrices;
      matrices += out.padded * node.dofs;
      out.H = matrices;
      matrices += node.ld * node.dofs;
    }
  }
  size_ = begin;
  ws_.matrices.resize(matrices);
  ws_.g0.assign(size_, 0.0);
  ws_.s.assign(size_, 0.0);
  ws_.Jv.assign(size_, 0.0);
  ws_.v.assign(island_.v_size, 0.0);
  ws_.slot.resize(2 * island_.num_constraints);
  for (int i = 0; i < island_.num_constraints; ++i) {
    const Constraint& c = island_.constraints[i];
    for (int s = 0; s < c.num_sides; ++s) {
      ws_.slot[2 * i + s] = ws_.nodes[c.node[s]].begin + c.slot[s] - island_.nodes[c.node[s]].side_begin;
    }
  }
  ws_.sqrt_beta.resize(island_.num_constraints);
  ws_.e_hat.resize(island_.rows);
  ws_.lambda.assign(island_.rows, 0.0);
}

void SubAdmm::factor(double c) {
  ws_.factored_c = c;
  for (int i = 0; i < island_.num_constraints; ++i) {
    const Constraint& con = island_.constraints[i];
    ws_.sqrt_beta[i] = std::sqrt(c / island_.w_bar[i]);
    for (int r = 0; r < con.dim; ++r) ws_.e_hat[con.row + r] = ws_.sqrt_beta[i] * island_.e[con.row + r];
  }
  // Row scales per side row of a node, found by walking the constraints once.
  ws_.work.assign(size_, 0.0);
  for (int i = 0; i < island_.num_constraints; ++i) {
    const Constraint& con = island_.constraints[i];
    for (int s = 0; s < con.num_sides; ++s) {
      for (int r = 0; r < con.dim; ++r) ws_.work[ws_.slot[2 * i + s] + r] = ws_.sqrt_beta[i];
    }
  }
  for (std::size_t k = 0; k < ws_.nodes.size(); ++k) {
    const Node& node = island_.nodes[k];
    const SubAdmmNode& a = ws_.nodes[k];
    const int n = node.dofs, R = a.rows;
    // Ĵᵀ as a column-major n x R matrix.
    if (ws_.H.rows() < n || ws_.H.cols() < 2 * R + n) {
      ws_.H.resize(std::max<Eigen::Index>(n, ws_.H.rows()), std::max<Eigen::Index>(2 * R + n, ws_.H.cols()));
    }
    Eigen::Ref<MatX> H = ws_.H.block(0, 0, n, n);
    auto JT = ws_.H.block(0, n, n, R);
    for (int r = 0; r < R; ++r) {
      const double scale = ws_.work[a.begin + r];
      const double* J = &island_.J[node.J_begin + r * node.ld];
      for (int j = 0; j < n; ++j) JT(j, r) = scale * J[j];
    }
    H.setIdentity();
    H.selfadjointView<Eigen::Lower>().rankUpdate(JT);
    Eigen::LLT<Eigen::Ref<MatX>> llt(H);
    if (a.dual) {  // G = (L⁻¹Ĵᵀ)ᵀ(L⁻¹Ĵᵀ), g0 = Ĵ H⁻¹ b
      auto X = ws_.H.block(0, n + R, n, R);
      X = JT;
      llt.matrixL().solveInPlace(X);
      MapMat G(&ws_.matrices[a.G], a.padded, R);
      G.setZero();
      G.topRows(R).noalias() = X.transpose() * X;
      MapVec b(&ws_.v[node.v_begin], n);
      b = MapConstVec(&island_.b[node.v_begin], n);
      llt.solveInPlace(b);
      MapVec(&ws_.g0[a.begin], R).noalias() = JT.transpose() * b;
    } else {
      for (int r = 0; r < R; ++r) {
        double* row = &ws_.matrices[a.J + r * node.ld];
        std::fill(row, row + node.ld, 0.0);
        for (int j = 0; j < n; ++j) row[j] = JT(j, r);
      }
      MapMat Jc(&ws_.matrices[a.Jc], a.padded, n);
      Jc.setZero();
      Jc.topRows(R) = JT.transpose();
      MapMat inverse(&ws_.matrices[a.H], node.ld, n);
      inverse.setZero();
      auto block = inverse.topRows(n);
      block.setIdentity();
      llt.solveInPlace(block);
    }
  }
}

void SubAdmm::start_from(const double* lambda, double* y) {
  scatter_rows(island_, lambda, ws_.s.data());  // unpadded scratch: side_rows <= size
  multiply_JT(island_, ws_.s.data(), true, ws_.v.data());
  multiply_J(island_, ws_.v.data(), ws_.Jv.data());
  std::fill(y, y + size_, 0.0);
  for (int i = 0; i < island_.num_constraints; ++i) {
    const Constraint& c = island_.constraints[i];
    const double scale = ws_.sqrt_beta[i];
    for (int s = 0; s < c.num_sides; ++s) {
      for (int r = 0; r < c.dim; ++r) {
        y[ws_.slot[2 * i + s] + r] = scale * ws_.Jv[c.slot[s] + r] - lambda[c.row + r] / scale;
      }
    }
  }
  std::fill(ws_.s.begin(), ws_.s.end(), 0.0);
}

void SubAdmm::project(const double* y, int begin, int end) {
  double* s = ws_.s.data();
  double* lambda = ws_.lambda.data();
  for (int i = begin; i < std::min(end, island_.num_contacts); ++i) {
    const int a = ws_.slot[2 * i];
    const double* e = &ws_.e_hat[3 * i];
    double x0 = e[0] + y[a], x1 = e[1] + y[a + 1], x2 = e[2] + y[a + 2], divide = -1.0;
    const bool two = island_.constraints[i].num_sides == 2;
    const int b = two ? ws_.slot[2 * i + 1] : a;
    if (two) {
      x0 += y[b];
      x1 += y[b + 1];
      x2 += y[b + 2];
      divide = -0.5;
    }
    x0 *= divide;
    x1 *= divide;
    x2 *= divide;
    const double normal = std::max(0.0, x2);
    const double radius = island_.mu[i] * normal, norm = std::sqrt(x0 * x0 + x1 * x1);
    const double scale = norm > radius ? radius / norm : 1.0;
    const double l0 = scale * x0, l1 = scale * x1;
    lambda[3 * i] = l0;
    lambda[3 * i + 1] = l1;
    lambda[3 * i + 2] = normal;
    s[a] = y[a] + 2.0 * l0;
    s[a + 1] = y[a + 1] + 2.0 * l1;
    s[a + 2] = y[a + 2] + 2.0 * normal;
    if (two) {
      s[b] = y[b] + 2.0 * l0;
      s[b + 1] = y[b + 1] + 2.0 * l1;
      s[b + 2] = y[b + 2] + 2.0 * normal;
    }
  }
  for (int i = std::max(begin, island_.num_contacts); i < end; ++i) {
    const Constraint& c = island_.constraints[i];
    const int k = island_.row_index(i);
    const double root = ws_.sqrt_beta[i];
    double sum = ws_.e_hat[c.row];
    for (int side = 0; side < c.num_sides; ++side) sum += y[ws_.slot[2 * i + side]];
    // (36), (37): clamp(-(Σy + ê) / (|Z| + βc)), bounds in scaled units.
    const double value = std::clamp(-sum / (c.num_sides + root * root * island_.compliance[k]), island_.lower[k] / root,
                                    island_.upper[k] / root);
    lambda[c.row] = value;
    for (int side = 0; side < c.num_sides; ++side) s[ws_.slot[2 * i + side]] = y[ws_.slot[2 * i + side]] + 2.0 * value;
  }
}

void SubAdmm::update(const double* y, double* y_next, int begin, int end) {
  const double r = options_.relax, keep = 1.0 - 0.5 * r;
  for (int k = begin; k < end; ++k) {
    const Node& node = island_.nodes[k];
    const SubAdmmNode& a = ws_.nodes[k];
    double* Jv = &ws_.Jv[a.begin];
    const double* s = &ws_.s[a.begin];
    if (a.dual) {
      std::copy_n(&ws_.g0[a.begin], a.padded, Jv);
      add_columns(&ws_.matrices[a.G], a.padded, a.rows, s, Jv);
    } else {
      alignas(64) double small[16] = {};
      double* acc = node.ld <= 8 ? small : &ws_.v[node.v_begin];
      std::copy_n(&island_.b[node.v_begin], node.ld, acc);
      std::fill(Jv, Jv + a.padded, 0.0);
      if (node.ld == 8) {
        add_rows<8>(&ws_.matrices[a.J], a.rows, 8, s, acc);
        alignas(64) double v[8] = {};
        add_columns(&ws_.matrices[a.H], 8, node.dofs, acc, v);
        add_columns(&ws_.matrices[a.Jc], a.padded, node.dofs, v, Jv);
      } else {
        add_rows<0>(&ws_.matrices[a.J], a.rows, node.ld, s, acc);
        double* v = Jv;  // v needs ld <= padded rows? use the tail of H's scratch instead
        static_cast<void>(v);
        const Eigen::Map<const MatX> inverse(&ws_.matrices[a.H], node.ld, node.dofs);
        const Eigen::Map<const MatX> Jc(&ws_.matrices[a.Jc], a.padded, node.dofs);
        MapVec x(acc, node.dofs);
        double stack[256];
        if (node.dofs <= 256) {
          MapVec out(stack, node.dofs);
          out.noalias() = inverse.topRows(node.dofs) * x;
          MapVec(Jv, a.padded).noalias() += Jc * out;
        } else {
          x = inverse.topRows(node.dofs) * x;  // Eigen makes the temporary
          MapVec(Jv, a.padded).noalias() += Jc * x;
        }
      }
    }
    const double* yk = y + a.begin;
    double* out = y_next + a.begin;
    for (int l = 0; l < a.padded; ++l) out[l] = r * (Jv[l] - 0.5 * s[l]) + keep * yk[l];
  }
}

void SubAdmm::iterate(const double* y, double* y_next) {
  const int nodes = static_cast<int>(ws_.nodes.size());
  if (options_.pool != nullptr && options_.pool->num_workers() > 1) {
    options_.pool->for_ranges(island_.num_constraints, [&](int b, int e, int) { project(y, b, e); });
    options_.pool->for_ranges(nodes, [&](int b, int e, int) { update(y, y_next, b, e); });
  } else {
    project(y, 0, island_.num_constraints);
    update(y, y_next, 0, nodes);
  }
}

void SubAdmm::export_lambda(double* lambda) const {
  for (int i = 0; i < island_.num_constraints; ++i) {
    const Constraint& c = island_.constraints[i];
    for (int r = 0; r < c.dim; ++r) lambda[c.row + r] = ws_.lambda[c.row + r] * ws_.sqrt_beta[i];
  }
}

// β changes: λ and v stay, y = Ĵv - λ in the new units. (Jv of the last update belongs to v.)
void SubAdmm::rescale(double c_new, double* y) {
  const double ratio = std::sqrt(c_new / ws_.factored_c);
  std::fill(y, y + size_, 0.0);
  for (int i = 0; i < island_.num_constraints; ++i) {
    const Constraint& c = island_.constraints[i];
    for (int s = 0; s < c.num_sides; ++s) {
      for (int r = 0; r < c.dim; ++r) {
        const int k = ws_.slot[2 * i + s] + r;
        y[k] = ratio * ws_.Jv[k] - ws_.lambda[c.row + r] / ratio;
      }
    }
  }
  factor(c_new);
}

double distance(const double* x, const double* y, int n) {
  double sum = 0.0;
  for (int i = 0; i < n; ++i) sum += (x[i] - y[i]) * (x[i] - y[i]);
  return std::sqrt(sum);
}

/// Unit-free primal and dual residuals, (42): ‖Ĵv - ẑ‖ and ‖ẑ - ẑ_old‖, for the balance of β.
struct Balance {
  double primal = 0.0, dual = 0.0;
};

Balance measure_balance(const Island& island, const SubAdmmWorkspace& ws, const double* y, const double* lambda_old,
                        const double* y_old) {
  double primal = 0.0, dual = 0.0, size_Jv = 0.0, size_z = 0.0, size_lambda = 0.0, size_q = 0.0;
  for (int i = 0; i < island.num_constraints; ++i) {
    const Constraint& c = island.constraints[i];
    for (int r = 0; r < c.dim; ++r) {
      const double q = ws.sqrt_beta[i] * island.q[c.row + r];
      size_q += q * q;
    }
    for (int s = 0; s < c.num_sides; ++s) {
      for (int r = 0; r < c.dim; ++r) {
        const int k = ws.slot[2 * i + s] + r;
        const double l = ws.lambda[c.row + r];
        const double z = y[k] + l, z_old = y_old[k] + lambda_old[c.row + r];
        primal += (ws.Jv[k] - z) * (ws.Jv[k] - z);
        dual += (z - z_old) * (z - z_old);
        size_Jv += ws.Jv[k] * ws.Jv[k];
        size_z += z * z;
        size_lambda += l * l;
      }
    }
  }
  const double size = std::sqrt(std::max({size_Jv, size_z, size_q}));
  return {std::sqrt(primal) / std::max(size, 1e-300), std::sqrt(dual) / std::max(std::sqrt(size_lambda), 1e-300)};
}

}  // namespace

Status solve_subadmm(const Island& island, const SubAdmmOptions& options, Monitor& monitor, SubAdmmWorkspace& ws,
                     double* lambda) {
  SubAdmm admm(island, options, ws);
  admm.lay_out();
  const bool keep = options.keep && ws.c > 0.0;
  if (!keep) ws.c = options.c0;
  admm.factor(ws.c);
  const int n = admm.size(), window = std::min(options.anderson, kMaxAnderson);
  const bool accelerate = window >= 2;
  const int columns = accelerate ? window + 2 : 2;
  ws.history.resize(static_cast<std::size_t>(n) * columns);
  ws.saved.resize(n);
  ws.f_old.assign(island.rows, 0.0);
  const auto column = [&](int k) { return ws.history.data() + static_cast<std::ptrdiff_t>(k) * n; };
  admm.start_from(lambda, column(0));

  int at = 0;                    // state of the current iteration
  int next_balance = 20, gap = 20, next_check = 20;
  double f_before = kInfinity;   // fixed-point residual before the last extrapolation
  bool extrapolated = false;
  int bad_extrapolations = 0;
  // Infeasibility: the fixed-point residual and the drift direction stand still.
  double stall_f = kInfinity;
  int stall_checks = 0, last_gain = 0;
  double gain_reference = kInfinity;

  for (int k = 1;; ++k) {
    double* y = column(at);
    double* y_next = column(at + 1);
    const bool balance_next = options.adapt && !options.fixed && k + 1 == next_balance;
    admm.iterate(y, y_next);
    ++monitor.iterations;
    ++monitor.admm_iterations;
    if (monitor.iterations % 1 == 0) {
      admm.export_lambda(lambda);
      monitor.trace(lambda, monitor.iterations);
    }
    const bool last = (options.max_iterations > 0 && k >= options.max_iterations) || monitor.out_of_iterations();
    if (options.fixed && last) {
      admm.export_lambda(lambda);
      monitor.observe(lambda);
      return Status::kMaxIterations;
    }

    // Safeguard: an extrapolation that made the residual grow is undone.
    if (extrapolated) {
      extrapolated = false;
      const double f = distance(y_next, y, n);
      if (!(f <= 2.0 * f_before)) {
        std::copy_n(ws.saved.data(), n, column(0));
        at = 0;
        ++bad_extrapolations;
        continue;
      }
      bad_extrapolations = 0;
    }
    if (balance_next) {
      std::copy(ws.lambda.begin(), ws.lambda.end(), ws.f_old.begin());
    }

    if (!options.fixed && (k >= next_check || last)) {
      admm.export_lambda(lambda);
      const double score = monitor.observe(lambda);
      if (score <= 1.0) return Status::kSolved;
      if (last) return Status::kMaxIterations;
      if (monitor.expired()) return Status::kTimeBudget;
      next_check = k + std::max(10, k / 20);
      const double f = distance(y_next, y, n);
      if (score < 0.9 * gain_reference) {
        gain_reference = score;
        last_gain = k;
      }
      static_cast<void>(f);
      static_cast<void>(stall_f);
      static_cast<void>(stall_checks);
    }

    if (options.adapt && !options.fixed && k == next_balance && k > 1) {
      // z_old needs the previous y and λ: they are column(at - 1) when the ring did not wrap just now.
      if (at > 0) {
        const Balance b = measure_balance(island, ws, y, ws.f_old.data(), column(at - 1));
        const double ratio = b.primal / std::max(b.dual, 1e-300);
        if (ratio > options.gamma || ratio < 1.0 / options.gamma) {
          const double step = std::clamp(std::sqrt(ratio), 0.1, 10.0);
          ws.c = std::clamp(ws.c * step, 1e-6, 1e8);
          admm.rescale(ws.c, column(0));
          at = 0;
          gap = static_cast<int>(1.5 * gap);
          next_balance = k + gap;
          continue;
        }
        gap = static_cast<int>(1.5 * gap);
        next_balance = k + gap;
      } else {
        ++next_balance;
      }
    }

    // Advance; at the end of the ring extrapolate or wrap.
    ++at;
    if (at + 1 < columns) continue;
    if (accelerate && bad_extrapolations < 5) {
      f_before = distance(column(at), column(at - 1), n);
      if (extrapolate(ws.history.data(), n, window, ws.saved.data())) {
        // ws.saved <- plain state, column(0) <- extrapolated one.
        double* plain = column(at);
        std::copy_n(ws.saved.data(), n, column(0));
        std::copy_n(plain, n, ws.saved.data());
        extrapolated = true;
        at = 0;
        continue;
      }
    }
    std::copy_n(column(at), n, column(0));
    at = 0;
  }
}

}  // namespace almond
