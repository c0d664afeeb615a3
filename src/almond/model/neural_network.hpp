#pragma once
// A multilayer perceptron with one output, for blocks of points: value and gradient by its inputs, without allocating.
//
// From a few points on they go side by side, 16 to a vector; fewer go one by one, with neurons side by side. Each
// neuron's sum runs over the same numbers in the same order either way: a point's bits do not depend on its company.

#include "almond/model/neural_weights.hpp"

namespace almond {

struct NetworkInput {
  float x[NeuralWeights::kFeatures];
};
struct NetworkOutput {
  float value;
  float g[NeuralWeights::kFeatures];  // ∂value / ∂x
};

class Network {
 public:
  Network() = default;
  explicit Network(const NeuralWeights& weights);

  void evaluate(const NetworkInput* in, int count, NetworkOutput* out) const;

 private:
  struct Layer {
    int in = 0, out = 0;
    int in_padded = 0, out_padded = 0;  // to whole vectors
    std::vector<float> W;               // (out, in_padded)
    std::vector<float> columns;         // (in, out_padded): transposed
    std::vector<float> a;               // (out_padded)
  };

  template <int V>
  void evaluate_lanes(const NetworkInput* in, int count, NetworkOutput* out) const;
  void evaluate_one(const NetworkInput& in, NetworkOutput& out) const;

  std::vector<Layer> layers_;
  float sharpness_ = 0.0f;
};

}  // namespace almond
