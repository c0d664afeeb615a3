#include "almond/model/neural_network.hpp"

#include <algorithm>
#include <cmath>
#include <cstring>

namespace almond {
namespace {

constexpr int kLanes = 16, kWidth = NeuralWeights::kMaxWidth, kFeatures = NeuralWeights::kFeatures;
static_assert(kWidth % kLanes == 0);
typedef float Lanes __attribute__((vector_size(4 * kLanes)));

int pad(int n) { return (n + kLanes - 1) / kLanes * kLanes; }

inline void load(const float* from, Lanes& to) { std::memcpy(&to, from, sizeof to); }
inline void store(const Lanes& from, float* to) { std::memcpy(to, &from, sizeof from); }

// ---- Points side by side: x is (in, V), V vectors of points ----

/// Rows row .. row + R - 1 of y = A x + a; a: null for none. A has `stride` numbers a row.
template <int V, int R>
inline void multiply_rows(const float* A, int stride, const float* a, int in, int row, const Lanes* x, Lanes* y) {
  Lanes sum[R][V];
  for (int i = 0; i < R; ++i)
    for (int v = 0; v < V; ++v) sum[i][v] = Lanes{} + (a == nullptr ? 0.0f : a[row + i]);
  for (int k = 0; k < in; ++k)
    for (int i = 0; i < R; ++i)
      for (int v = 0; v < V; ++v) sum[i][v] += A[(row + i) * stride + k] * x[k * V + v];
  for (int i = 0; i < R; ++i)
    for (int v = 0; v < V; ++v) y[(row + i) * V + v] = sum[i][v];
}

template <int V>
void multiply(const float* A, int stride, const float* a, int out, int in, const Lanes* x, Lanes* y) {
  constexpr int kRows = V == 4 ? 4 : 8;  // as many sums as registers hold
  int row = 0;
  for (; row + kRows <= out; row += kRows) multiply_rows<V, kRows>(A, stride, a, in, row, x, y);
  for (; row < out; ++row) multiply_rows<V, 1>(A, stride, a, in, row, x, y);
}

// ---- One point, neurons side by side ----

/// V vectors of outputs from `at` on, of y = Aᵀ x + a; A: (in, stride).
template <int V>
inline void multiply_part(const float* A, int stride, const float* a, int in, int at, const float* x, float* y) {
  Lanes sum[V], column;
  for (int v = 0; v < V; ++v) {
    sum[v] = Lanes{};
    if (a != nullptr) load(a + at + v * kLanes, sum[v]);
  }
  for (int k = 0; k < in; ++k)
    for (int v = 0; v < V; ++v) {
      load(A + k * stride + at + v * kLanes, column);
      sum[v] += column * x[k];
    }
  for (int v = 0; v < V; ++v) store(sum[v], y + at + v * kLanes);
}

void multiply_one(const float* A, int stride, const float* a, int in, const float* x, float* y) {
  int at = 0;
  for (; at + 4 * kLanes <= stride; at += 4 * kLanes) multiply_part<4>(A, stride, a, in, at, x, y);
  for (; at + 2 * kLanes <= stride; at += 2 * kLanes) multiply_part<2>(A, stride, a, in, at, x, y);
  for (; at < stride; at += kLanes) multiply_part<1>(A, stride, a, in, at, x, y);
}

/// Squareplus in place, and its slope. `count`: whole vectors, so that no number is computed in another way.
void activate(float b, int count, float* y, float* slope) {
  for (int at = 0; at < count; at += kLanes) {
#pragma GCC ivdep
    for (int i = at; i < at + kLanes; ++i) {
      const float root = std::sqrt(y[i] * y[i] + b), value = 0.5f * (y[i] + root);
      y[i] = value;
      slope[i] = value / root;
    }
  }
}

}  // namespace

Network::Network(const NeuralWeights& weights) : sharpness_(static_cast<float>(weights.sharpness)) {
  for (const NeuralLayer& from : weights.layers) {
    Layer layer{from.in, from.out, pad(from.in), pad(from.out), {}, {}, {}};
    layer.W.assign(static_cast<std::size_t>(layer.out * layer.in_padded), 0.0f);
    layer.columns.assign(static_cast<std::size_t>(layer.in * layer.out_padded), 0.0f);
    layer.a.assign(static_cast<std::size_t>(layer.out_padded), 0.0f);
    for (int i = 0; i < from.out; ++i) {
      const float* row = from.A.data() + i * (from.in + 1);
      for (int k = 0; k < from.in; ++k)
        layer.W[i * layer.in_padded + k] = layer.columns[k * layer.out_padded + i] = row[k];
      layer.a[i] = row[from.in];
    }
    layers_.push_back(std::move(layer));
  }
}

template <int V>
void Network::evaluate_lanes(const NetworkInput* in, int count, NetworkOutput* out) const {
  constexpr int kPoints = V * kLanes;
  Lanes x[kWidth * V], y[kWidth * V], slopes[NeuralWeights::kMaxLayers - 1][kWidth * V];
  alignas(64) float turned[kFeatures][kPoints], value[kPoints];
  for (int i = 0; i < kPoints; ++i)
    for (int k = 0; k < kFeatures; ++k) turned[k][i] = in[std::min(i, count - 1)].x[k];
  std::memcpy(x, turned, sizeof turned);

  const int last = static_cast<int>(layers_.size()) - 1;
  Lanes *from = x, *to = y;
  for (int k = 0; k < last; ++k) {
    const Layer& layer = layers_[k];
    multiply<V>(layer.W.data(), layer.in_padded, layer.a.data(), layer.out, layer.in, from, to);
    activate(sharpness_, layer.out * kPoints, reinterpret_cast<float*>(to), reinterpret_cast<float*>(slopes[k]));
    std::swap(from, to);
  }
  const Layer& top = layers_[last];
  multiply<V>(top.W.data(), top.in_padded, top.a.data(), 1, top.in, from, to);
  std::memcpy(value, to, sizeof value);

  // Backwards: by the inputs of each layer.
  for (int i = 0; i < top.in; ++i)
    for (int v = 0; v < V; ++v) from[i * V + v] = top.W[i] * slopes[last - 1][i * V + v];
  for (int k = last - 1; k >= 0; --k) {
    const Layer& layer = layers_[k];
    multiply<V>(layer.columns.data(), layer.out_padded, nullptr, layer.in, layer.out, from, to);
    for (int i = 0; k > 0 && i < layer.in * V; ++i) to[i] *= slopes[k - 1][i];
    std::swap(from, to);
  }
  std::memcpy(turned, from, sizeof turned);
  for (int i = 0; i < count; ++i) {
    out[i].value = value[i];
    for (int k = 0; k < kFeatures; ++k) out[i].g[k] = turned[k][i];
  }
}

void Network::evaluate_one(const NetworkInput& in, NetworkOutput& out) const {
  alignas(64) float x[kWidth] = {}, y[kWidth], slopes[NeuralWeights::kMaxLayers - 1][kWidth];
  std::copy_n(in.x, kFeatures, x);
  const int last = static_cast<int>(layers_.size()) - 1;
  float *from = x, *to = y;
  for (int k = 0; k < last; ++k) {
    const Layer& layer = layers_[k];
    multiply_one(layer.columns.data(), layer.out_padded, layer.a.data(), layer.in, from, to);
    activate(sharpness_, layer.out_padded, to, slopes[k]);
    std::swap(from, to);
  }
  const Layer& top = layers_[last];
  multiply_one(top.columns.data(), top.out_padded, top.a.data(), top.in, from, to);
  out.value = to[0];

  for (int i = 0; i < top.in; ++i) from[i] = top.W[i] * slopes[last - 1][i];
  for (int k = last - 1; k >= 0; --k) {
    const Layer& layer = layers_[k];
    multiply_one(layer.W.data(), layer.in_padded, nullptr, layer.out, from, to);
    for (int i = 0; k > 0 && i < layer.in; ++i) to[i] *= slopes[k - 1][i];
    std::swap(from, to);
  }
  std::copy_n(from, kFeatures, out.g);
}

void Network::evaluate(const NetworkInput* in, int count, NetworkOutput* out) const {
  constexpr int kFew = 6;  // below, one by one is faster
  for (int at = 0; at < count;) {
    const int left = count - at;
    if (left > 2 * kLanes) {
      evaluate_lanes<4>(in + at, std::min(left, 4 * kLanes), out + at);
      at += 4 * kLanes;
    } else if (left > kLanes) {
      evaluate_lanes<2>(in + at, left, out + at);
      at += 2 * kLanes;
    } else if (left > kFew) {
      evaluate_lanes<1>(in + at, left, out + at);
      at += kLanes;
    } else {
      evaluate_one(in[at], out[at]);
      ++at;
    }
  }
}

}  // namespace almond
