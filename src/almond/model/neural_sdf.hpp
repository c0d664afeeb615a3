#pragma once
// A threaded rod whose signed distance is a neural network, a multilayer perceptron in single precision.
// Trained by tools/train_bolt_sdf.py on the analytic thread (thread.hpp); figures are in docs/neural_sdf.md.
//
// The network N is trusted between two cylinders only, one that holds the rod, at distance F, and one in it, at K:
//
//   φ = clamp(clamp(N, -band, band), F - guard, K + guard)
//
// which is continuous whatever N says, has the right sign but for N's error near the surface, and changes no faster
// than the point moves, as far as N does not. The gradient given is that of φ made a unit vector; where φ is cut off at
// ± band, that of the cylinder's distance.

#include "almond/model/neural_weights.hpp"
#include "almond/model/thread.hpp"

namespace almond {

/// The rod from z = 0 down to `low`. Triangles are those of `outline` moved onto the network's surface; without an
/// outline the surface is found by dual contouring. Throws Error for a `low` above the rod's run-out.
[[nodiscard]] SdfPtr make_neural_sdf(NeuralWeights weights, double low, SdfPtr outline = nullptr);

/// What the shipped network was taught, and is measured against: the analytic M48 bolt, united with one whose thread
/// goes on inside the shank. The solid is the same, but where thread and shank meet, their union alone knows of little
/// depth.
[[nodiscard]] SdfPtr make_taught_bolt(const BoltOptions& options = {});

/// The M48 bolt, like make_bolt(find_thread("M48")): the shipped network, and a hexagonal head.
[[nodiscard]] SdfPtr make_neural_bolt();

}  // namespace almond
