#include "almond/solver/recession.hpp"

#include <algorithm>
#include <cmath>

namespace almond {

bool is_recession_direction(const Island& island, const double* delta, std::vector<double>& scratch) {
  constexpr double kSmall = 1e-2;
  scratch.resize(island.side_rows + island.v_size);
  double *side = scratch.data(), *v = side + island.side_rows;
  scatter_rows(island, delta, side);
  multiply_JT(island, side, false, v);
  double motion = 0.0, forces = 0.0, gain = 0.0, q_delta = 0.0, outside = 0.0;
  for (int j = 0; j < island.v_size; ++j) motion += v[j] * v[j];
  for (int i = 0; i < island.num_constraints; ++i) {
    const Constraint& c = island.constraints[i];
    const double* d = delta + c.row;
    double size = 0.0;
    for (int r = 0; r < c.dim; ++r) {
      size += d[r] * d[r];
      gain += d[r] * island.q[c.row + r];
      q_delta += std::abs(d[r] * island.q[c.row + r]);
    }
    forces += island.w_bar[i] * size;
    if (c.dim == 3) {
      const double excess = std::sqrt(d[0] * d[0] + d[1] * d[1]) - island.mu[i] * d[2];
      outside += island.w_bar[i] * std::pow(std::max({0.0, -d[2], excess}), 2);
    } else {
      const int k = island.row_index(i);
      const bool beyond =
          (d[0] > 0.0 && std::isfinite(island.upper[k])) || (d[0] < 0.0 && std::isfinite(island.lower[k]));
      if (beyond || island.compliance[k] > 0.0) outside += island.w_bar[i] * size;
    }
  }
  return motion <= kSmall * kSmall * forces && outside <= kSmall * kSmall * forces && gain < -kSmall * q_delta;
}

bool proves_infeasible(const Island& island, const double* delta, std::vector<double>& scratch) {
  constexpr double kFast = 1e4;
  scratch.assign(island.rows + island.side_rows + island.v_size, 0.0);
  double *d = scratch.data(), *side = d + island.rows, *v = side + island.side_rows;
  for (int i = 0; i < island.num_contacts; ++i) d[3 * i + 2] = std::max(0.0, delta[3 * i + 2]);
  for (int i = island.num_contacts; i < island.num_constraints; ++i) {
    const int row = island.constraints[i].row, k = island.row_index(i);
    if (island.compliance[k] > 0.0) continue;
    const double up = std::isfinite(island.upper[k]) ? 0.0 : kInfinity;
    const double down = std::isfinite(island.lower[k]) ? 0.0 : -kInfinity;
    d[row] = std::clamp(delta[row], down, up);
  }
  scatter_rows(island, d, side);
  multiply_JT(island, side, false, v);
  double motion = 0.0, gain = 0.0;
  for (int j = 0; j < island.v_size; ++j) motion += v[j] * v[j];
  for (int r = 0; r < island.rows; ++r) gain += d[r] * island.e[r];
  return gain < -kFast * std::sqrt(motion) * std::max(island.b_norm, kEpsilon) && std::isfinite(gain);
}

}  // namespace almond
