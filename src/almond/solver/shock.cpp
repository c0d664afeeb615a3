#include "almond/solver/shock.hpp"

#include <algorithm>
#include <cmath>
#include <utility>

#include "almond/base/timer.hpp"

namespace almond {
namespace {

constexpr int kSweeps = 20;         // per layer, at most,
constexpr int kLateSweeps = 2;      // and when time is up this many, or
constexpr int kLatePushes = 2000;   // what makes up as many pushes of contacts
constexpr double kStopped = 1e-7;   // change of velocity in a sweep that ends them [m/s]
constexpr double kTouching = 1e-3;  // opening speed up to which one rests on the other [m/s]
constexpr int kNone = 1 << 30;      // not reached

/// Steps from the ground, over contacts that bear or hardly open.
void find_layers(const Island& island, const double* lambda, const double* w, ShockWorkspace& ws) {
  ws.layer.assign(island.nodes.size(), kNone);
  const auto matters = [&](int i) { return lambda[3 * i + 2] > 0.0 || w[3 * i + 2] < kTouching; };
  for (int i = 0; i < island.num_contacts; ++i)
    if (island.constraints[i].num_sides == 1 && matters(i)) ws.layer[island.constraints[i].node[0]] = 1;
  for (bool changed = true; changed;) {
    changed = false;
    for (int i = 0; i < island.num_contacts; ++i) {
      const Constraint& c = island.constraints[i];
      if (c.num_sides < 2 || !matters(i)) continue;
      int &a = ws.layer[c.node[0]], &b = ws.layer[c.node[1]];
      if (a > b + 1 && b != kNone) {
        a = b + 1;
        changed = true;
      } else if (b > a + 1 && a != kNone) {
        b = a + 1;
        changed = true;
      }
    }
  }
}

int layer_of(const Island& island, int i, const ShockWorkspace& ws) {
  const Constraint& c = island.constraints[i];
  return c.num_sides == 1 ? ws.layer[c.node[0]] : std::max(ws.layer[c.node[0]], ws.layer[c.node[1]]);
}

/// W of one contact as far as sides of `layer` make it up.
void fill_W(const Island& island, int i, int layer, ShockWorkspace& ws) {
  const Constraint& c = island.constraints[i];
  double* W = &ws.W[9 * i];
  std::fill_n(W, 9, 0.0);
  for (int s = 0; s < c.num_sides; ++s) {
    if (ws.layer[c.node[s]] != layer) continue;
    const int ld = island.nodes[c.node[s]].ld;
    const double* J = &island.J[c.J[s]];
    for (int r = 0; r < 3; ++r)
      for (int q = 0; q < 3; ++q)
        for (int k = 0; k < ld; ++k) W[3 * r + q] += J[r * ld + k] * J[q * ld + k];
  }
}

/// One contact, with impulses on the sides of `layer` only; friction may reach what the normal impulses of λ and of
/// these allow together. Returns by how much its velocity changes along the normal and in all.
std::pair<double, double> push(const Island& island, int i, int layer, const double* lambda, ShockWorkspace& ws) {
  const Constraint& c = island.constraints[i];
  double w[3] = {island.e[3 * i], island.e[3 * i + 1], island.e[3 * i + 2]};
  for (int s = 0; s < c.num_sides; ++s) {
    const Node& node = island.nodes[c.node[s]];
    const double *J = &island.J[c.J[s]], *v = &ws.v[node.v_begin];
    for (int k = 0; k < node.ld; ++k) {
      w[0] += J[k] * v[k];
      w[1] += J[node.ld + k] * v[k];
      w[2] += J[2 * node.ld + k] * v[k];
    }
  }
  const double *W = &ws.W[9 * i], *held = lambda + 3 * i;
  double *l = &ws.impulse[3 * i], d[3];
  if (!(W[8] > 0.0) || (w[2] >= 0.0 && l[2] == 0.0 && held[2] <= 0.0)) return {0.0, 0.0};
  d[2] = std::max(0.0, l[2] - w[2] / W[8]) - l[2];
  const double step = 1.0 / std::max(W[0] + W[4], 1e-300), most = island.mu[i] * (held[2] + l[2] + d[2]);
  const double t0 = held[0] + l[0] - step * (w[0] + W[2] * d[2]), t1 = held[1] + l[1] - step * (w[1] + W[5] * d[2]);
  const double shear = std::sqrt(t0 * t0 + t1 * t1), shrink = shear > most ? most / shear : 1.0;
  d[0] = shrink * t0 - held[0] - l[0];
  d[1] = shrink * t1 - held[1] - l[1];
  for (int r = 0; r < 3; ++r) l[r] += d[r];
  for (int s = 0; s < c.num_sides; ++s) {
    if (ws.layer[c.node[s]] != layer) continue;
    const Node& node = island.nodes[c.node[s]];
    const double* J = &island.J[c.J[s]];
    double* v = &ws.v[node.v_begin];
    for (int k = 0; k < node.ld; ++k) v[k] += d[0] * J[k] + d[1] * J[node.ld + k] + d[2] * J[2 * node.ld + k];
  }
  const double normal = W[8] * std::abs(d[2]);
  return {normal, normal + (W[0] + W[4]) * (std::abs(d[0]) + std::abs(d[1]))};
}

}  // namespace

bool stop_approach(const Island& island, const double* lambda, const MeasureWorkspace& measured, ShockWorkspace& ws,
                   double time_ms) {
  if (island.num_contacts == 0) return false;  // joint limits alone
  const Stopwatch watch;
  const int late_sweeps = std::max(kLateSweeps, kLatePushes / island.num_contacts);
  find_layers(island, lambda, measured.w.data(), ws);
  ws.v = measured.v;
  ws.order.clear();
  for (int i = 0; i < island.num_contacts; ++i)
    if (layer_of(island, i, ws) != kNone) ws.order.push_back(i);
  if (ws.order.empty()) return false;
  std::sort(ws.order.begin(), ws.order.end(), [&](int a, int b) {
    const int of_a = layer_of(island, a, ws), of_b = layer_of(island, b, ws);
    return of_a != of_b ? of_a < of_b : a < b;
  });
  ws.impulse.assign(3 * static_cast<std::size_t>(island.num_contacts), 0.0);
  ws.W.resize(9 * static_cast<std::size_t>(island.num_contacts));
  for (std::size_t begin = 0; begin < ws.order.size();) {
    const int layer = layer_of(island, ws.order[begin], ws);
    std::size_t end = begin;
    while (end < ws.order.size() && layer_of(island, ws.order[end], ws) == layer) ++end;
    for (std::size_t k = begin; k < end; ++k) fill_W(island, ws.order[k], layer, ws);
    double change = kInfinity;
    for (int sweep = 0; sweep < kSweeps && change > kStopped; ++sweep) {
      const bool late = watch.elapsed_ms() > time_ms;  // then it is enough that little approaches
      if (late && sweep >= late_sweeps) break;
      change = 0.0;
      for (std::size_t k = begin; k < end; ++k) {
        const auto [normal, all] = push(island, ws.order[k], layer, lambda, ws);
        change = std::max(change, late ? normal : all);
      }
    }
    begin = end;
  }
  return true;
}

}  // namespace almond
