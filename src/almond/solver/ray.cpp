#include "almond/solver/ray.hpp"

#include <algorithm>
#include <cmath>

namespace almond {

RayResult walk_ray(const Island& island, const double* lambda, const double* delta, Monitor& monitor,
                   std::vector<double>& trial) {
  constexpr double kFarRay = 1e4;  // in sizes of λ
  constexpr double kSame = 1e-6;   // relative growth of the map that counts as none
  double size = 0.0, step = 0.0;
  for (int i = 0; i < island.rows; ++i) {
    size += lambda[i] * lambda[i];
    step += delta[i] * delta[i];
  }
  const double start = monitor.last_natural();
  if (!(step > 0.0) || !std::isfinite(size + step + start)) return {};
  const double t_max = kFarRay * std::sqrt(std::max(size, step) / step);
  double best = start, best_t = 0.0, high = 0.0;
  trial.resize(island.rows);
  const auto natural_at = [&](double t) {
    for (int i = 0; i < island.rows; ++i) trial[i] = lambda[i] + t * delta[i];
    monitor.observe(trial.data());
    return monitor.last_natural();
  };
  for (double t = 1.0;; t *= 2.0) {
    const double natural = natural_at(t);
    if (!(natural <= best * (1.0 + kSame))) {
      high = t;
      break;
    }
    best = natural;
    best_t = t;
    if (t > t_max) {
      return {best_t, best > 0.99 * start};
    }
  }
  double low = best_t;
  for (int k = 0; k < 6; ++k) {
    const double t = 0.5 * (low + high), natural = natural_at(t);
    if (natural <= best * (1.0 + kSame)) {
      best = natural;
      best_t = low = t;
    } else {
      high = t;
    }
  }
  return {best_t, false};
}

}  // namespace almond
