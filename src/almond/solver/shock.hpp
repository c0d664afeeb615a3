#pragma once
// When time is up: velocities that approach nowhere, at the price of momentum.
//
// What a solver leaves when it is cut off carries too little of a load that has to go through many light bodies, and a
// pile sinks into its table faster from step to step. Here bodies are stopped layer by layer from the ground up, each
// by impulses on itself alone, as if what it rests on were as firm as the ground (shock propagation: Guendelman,
// Bridson, Fedkiw 2003). λ stays as it was, so the certificate tells what is missing.

#include "almond/solver/island.hpp"

namespace almond {

struct ShockWorkspace {
  std::vector<int> layer, order;      // (nodes) steps from the ground; contacts, lower layers first
  std::vector<double> v, impulse, W;  // (v_size), (3 contacts), (9 contacts) of the sides that are pushed
};

/// ws.v (whitened) from the v and w = J v + e of λ. False: nothing rests on the ground. After `time_ms` it is enough
/// that little approaches; until then slip is brought to rest as well.
bool stop_approach(const Island& island, const double* lambda, const MeasureWorkspace& measured, ShockWorkspace& ws,
                   double time_ms = kInfinity);

}  // namespace almond
