// What every solver does with a compiled island: products with its sparse J, and how far λ is from the law.

#include <algorithm>
#include <cmath>

#include "almond/solver/cone.hpp"
#include "almond/solver/island.hpp"
#include "almond/solver/lanes.hpp"

namespace almond {
namespace {

/// out = J x for a node of eight padded dofs: a rigid body.
void multiply_body(const double* J, const double* x, int rows, double* out) {
  const Lanes v = lanes_at(x);
  int r = 0;
  for (; r + 4 <= rows; r += 4, J += 4 * kLanes) {
    const Lanes products[4] = {lanes_at(J) * v, lanes_at(J + kLanes) * v, lanes_at(J + 2 * kLanes) * v,
                               lanes_at(J + 3 * kLanes) * v};
    add_lanes(products, out + r);
  }
  for (; r < rows; ++r, J += kLanes) out[r] = add_lanes(lanes_at(J) * v);
}

/// g += Jᵀ s, as four sums side by side.
void add_body_transposed(const double* J, const double* s, int rows, double* g) {
  Lanes sum[4] = {lanes_at(g), Lanes{}, Lanes{}, Lanes{}};
  int r = 0;
  for (; r + 4 <= rows; r += 4, J += 4 * kLanes) {
    for (int k = 0; k < 4; ++k) sum[k] += s[r + k] * lanes_at(J + k * kLanes);
  }
  for (; r < rows; ++r, J += kLanes) sum[0] += s[r] * lanes_at(J);
  lanes_at(g) = (sum[0] + sum[1]) + (sum[2] + sum[3]);
}

}  // namespace

void multiply_J(const Island& island, const double* v, double* side) {
  for (const Node& node : island.nodes) {
    const double* x = v + node.v_begin;
    const double* J = &island.J[node.J_begin];
    double* out = side + node.side_begin;
    if (node.ld == kLanes) {
      multiply_body(J, x, node.side_rows, out);
      continue;
    }
    if (node.ld > kLanes) {
      multiply_transposed(J, node.ld, node.ld, node.side_rows, x, out);
      continue;
    }
    for (int r = 0; r < node.side_rows; ++r, J += node.ld)
      out[r] = (J[0] * x[0] + J[1] * x[1]) + (J[2] * x[2] + J[3] * x[3]);
  }
}

void multiply_JT(const Island& island, const double* side, bool add_b, double* out) {
  if (add_b) {
    std::copy(island.b.begin(), island.b.end(), out);
  } else {
    std::fill(out, out + island.v_size, 0.0);
  }
  for (const Node& node : island.nodes) {
    const double* J = &island.J[node.J_begin];
    double* g = out + node.v_begin;
    const double* s = side + node.side_begin;
    if (node.ld == kLanes) {
      add_body_transposed(J, s, node.side_rows, g);
    } else if (node.ld > kLanes) {
      combine_columns(J, node.ld, node.side_rows, s, g, g);
    } else {
      for (int r = 0; r < node.side_rows; ++r, J += node.ld)
        for (int j = 0; j < kLanes / 2; ++j) g[j] += s[r] * J[j];
    }
  }
}

void scatter_rows(const Island& island, const double* rows, double* side) {
  for (const Constraint& c : island.constraints) {
    for (int s = 0; s < c.num_sides; ++s) {
      for (int r = 0; r < c.dim; ++r) side[c.slot[s] + r] = rows[c.row + r];
    }
  }
}

void gather_sides(const Island& island, const double* side, bool add_e, double* rows) {
  for (const Constraint& c : island.constraints) {
    for (int r = 0; r < c.dim; ++r) {
      double w = add_e ? island.e[c.row + r] : 0.0;
      w += side[c.slot[0] + r];
      if (c.num_sides == 2) w += side[c.slot[1] + r];
      rows[c.row + r] = w;
    }
  }
}

Residuals measure(const Island& island, const double* lambda, MeasureWorkspace& ws) {
  ws.side.resize(island.side_rows);
  ws.v.resize(island.v_size);
  ws.w.resize(island.rows);
  if (std::all_of(lambda, lambda + island.rows, [](double x) { return x == 0.0; })) {
    ws.v = island.b;
    ws.w = island.q;
  } else {
    scatter_rows(island, lambda, ws.side.data());
    multiply_JT(island, ws.side.data(), true, ws.v.data());
    multiply_J(island, ws.v.data(), ws.side.data());
    gather_sides(island, ws.side.data(), true, ws.w.data());
  }

  Residuals sum;
  for (int i = 0; i < island.num_contacts; ++i) {
    const Eigen::Map<const Vec3> l(lambda + 3 * i), w(ws.w.data() + 3 * i);
    const double mu = island.mu[i], w_bar = island.w_bar[i];
    Vec3 projected;
    Vec3 x = l - w / w_bar;
    x[2] -= mu * std::sqrt(w[0] * w[0] + w[1] * w[1]) / w_bar;
    project_prox(mu, x, projected);
    sum.natural2 += (l - projected).squaredNorm() * w_bar * w_bar;
    project_strict(mu, l - w, projected);
    sum.residual2 += (l - projected).squaredNorm();
  }
  for (int i = island.num_contacts; i < island.num_constraints; ++i) {
    const int k = island.row_index(i), row = island.constraints[i].row;
    const double l = lambda[row], c = island.compliance[k], w = ws.w[row] + c * l, w_bar = island.w_bar[i];
    const double natural = l - std::clamp(l - w / w_bar, island.lower[k], island.upper[k]);
    sum.natural2 += natural * natural * w_bar * w_bar;
    const double paper = l - project_row(l - ws.w[row], c, island.lower[k], island.upper[k]);
    sum.residual2 += paper * paper;
  }
  return sum;
}

}  // namespace almond
