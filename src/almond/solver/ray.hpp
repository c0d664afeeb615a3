#pragma once
// The ray of impulses: what a slow augmented Lagrangian iteration does far ahead.
//
// When λ_{k+1} - λ_k = δ repeats, internal forces build up: Jᵀδ ≈ 0, nothing moves, and the law stays violated by the
// same amount until some contact changes its mode. Walking along λ + tδ while the natural map does not grow crosses
// such a phase at the price of a few measurements. If the map stays the same as far out as one looks, δ is a recession
// direction: no finite impulse removes the violation, the problem is jammed or infeasible.

#include "almond/solver/monitor.hpp"

namespace almond {

struct RayResult {
  double t = 0.0;          // best length, 0: nothing gained
  bool unbounded = false;  // the violation is the same all along
};

/// `monitor` must have observed λ last. Every point tried is observed, so the best is kept by the monitor as well.
RayResult walk_ray(const Island& island, const double* lambda, const double* delta, Monitor& monitor,
                   std::vector<double>& trial);

}  // namespace almond
