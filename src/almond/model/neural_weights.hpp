#pragma once
// The network of a threaded rod, and the file it lies in.
//
// A point (r, θ, z) is seen as five numbers: r; |s| and s², where s = z - hθ, measured from the nearest crest, is what
// a screw motion leaves unchanged; z near the end of the rod; z near the thread's run-out. Hidden layers are
// squareplus, (y + √(y² + b)) / 2. File, little-endian:
//
//   "ALMONDNN", u32 version, u32 layers L, u32 sizes[L + 1], f64 numbers[18] in the order of NeuralWeights, per layer
//   f32 (out, in + 1) row by row with the bias last, u64 FNV-1a over the 32-bit words before it

#include <string>
#include <string_view>
#include <vector>

namespace almond {

/// A part of the axis on which z matters: it is clamped to it, and (z - middle) / scale is seen.
struct NeuralWindow {
  double low = 0.0, high = 0.0, scale = 0.0;  // [m]
};

struct NeuralLayer {
  int in = 0, out = 0;
  std::vector<float> A;  // (out, in + 1): weights, bias
};

struct NeuralWeights {
  static constexpr int kFeatures = 5, kMaxWidth = 96, kMaxLayers = 5;

  double pitch = 0.0;                     // [m]
  double fade_from = 0.0, fade_to = 0.0;  // radii between which s fades in; nearer to the axis it is not seen [m]
  double r_middle = 0.0, r_scale = 0.0;   // r is seen as (r - middle) / scale [m]
  NeuralWindow end, runout;               // of z
  double outer_radius = 0.0;              // the rod lies in this cylinder, up to z = 0 ...
  double inner_radius = 0.0;              // ... and holds this one [m]
  double band = 0.0;                      // answers are good up to this distance [m]
  double guard = 0.0;                     // room between network and cylinders, about its largest error [m]
  double unit = 0.0;                      // of the network's output [m]
  double sharpness = 0.0;                 // b of squareplus
  double slack = 0.0;                     // by how much |∇φ| may exceed 1, measured after training
  std::vector<NeuralLayer> layers;        // the last one has one output and is linear
};

/// Throws Error, beginning with `label`, for bytes that are no such file, of another version, or damaged.
[[nodiscard]] NeuralWeights read_neural_weights(std::string_view bytes, const std::string& label);

/// The shipped file of the M48x5 6g bolt, as bytes.
[[nodiscard]] std::string_view bolt_weights();

}  // namespace almond
