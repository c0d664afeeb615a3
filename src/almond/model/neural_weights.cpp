#include "almond/model/neural_weights.hpp"

#include <bit>
#include <cmath>
#include <cstdint>
#include <cstring>

#include "almond/base/check.hpp"

// The shipped weights as bytes of the program.
asm(".section .rodata\n"
    ".global almond_bolt_begin\n.global almond_bolt_end\n"
    "almond_bolt_begin:\n.incbin \"" ALMOND_BOLT_WEIGHTS
    "\"\n"
    "almond_bolt_end:\n.byte 0\n"
    ".text\n");
extern "C" const char almond_bolt_begin[], almond_bolt_end[];

namespace almond {
namespace {

static_assert(std::endian::native == std::endian::little, "weights are read as they lie in the file");

constexpr std::string_view kMagic = "ALMONDNN";
constexpr std::uint32_t kVersion = 1;

std::uint64_t checksum(std::string_view bytes) {
  std::uint64_t h = 0xCBF29CE484222325u;
  for (std::size_t at = 0; at + 4 <= bytes.size(); at += 4) {
    std::uint32_t word = 0;
    std::memcpy(&word, bytes.data() + at, 4);
    h = (h ^ word) * 0x100000001B3u;
  }
  return h;
}

class Reader {
 public:
  Reader(std::string_view bytes, const std::string& label) : left_(bytes), label_(label) {}

  template <class T>
  void read(T* to, std::size_t count) {
    check(left_.size() >= count * sizeof(T), "cut off");
    std::memcpy(to, left_.data(), count * sizeof(T));
    left_.remove_prefix(count * sizeof(T));
  }
  template <class T>
  T read() {
    T value;
    read(&value, 1);
    return value;
  }
  [[nodiscard]] std::size_t left() const { return left_.size(); }
  void check(bool ok, const std::string& what) const { require(ok, label_ + ": " + what); }

 private:
  std::string_view left_;
  const std::string& label_;
};

void check_numbers(const NeuralWeights& w, const Reader& in) {
  const auto positive = [&](double value, const char* what) {
    in.check(std::isfinite(value) && value > 0.0, std::string(what) + " is " + to_text(value) + ", expected > 0");
  };
  const auto ordered = [&](double low, double high, const char* what) {
    in.check(std::isfinite(low) && std::isfinite(high) && low < high,
             std::string(what) + " goes from " + to_text(low) + " to " + to_text(high) + ", expected a range");
  };
  positive(w.pitch, "pitch");
  positive(w.r_middle, "middle radius");
  positive(w.r_scale, "scale of r");
  positive(w.end.scale, "scale of the end");
  positive(w.runout.scale, "scale of the run-out");
  positive(w.inner_radius, "inner radius");
  positive(w.band, "band");
  positive(w.guard, "guard");
  positive(w.unit, "unit");
  positive(w.sharpness, "sharpness");
  positive(w.slack, "slack");
  positive(w.fade_from, "inner radius of the angle");
  ordered(w.fade_from, w.fade_to, "where the angle fades in");
  ordered(w.end.low, w.end.high, "end");
  ordered(w.runout.low, w.runout.high, "run-out");
  ordered(w.inner_radius, w.outer_radius, "surface");
}

}  // namespace

NeuralWeights read_neural_weights(std::string_view bytes, const std::string& label) {
  Reader in(bytes, label);
  char magic[8] = {};
  in.check(bytes.size() >= sizeof magic && bytes.substr(0, sizeof magic) == kMagic, "no file of network weights");
  in.read(magic, sizeof magic);
  const auto version = in.read<std::uint32_t>();
  in.check(version == kVersion, "version " + std::to_string(version) + ", expected " + std::to_string(kVersion));

  NeuralWeights w;
  const auto count = in.read<std::uint32_t>();
  in.check(count >= 2 && count <= NeuralWeights::kMaxLayers,
           std::to_string(count) + " layers, expected 2 to " + std::to_string(NeuralWeights::kMaxLayers));
  std::uint32_t sizes[NeuralWeights::kMaxLayers + 1] = {};
  in.read(sizes, count + 1);
  in.check(sizes[0] == NeuralWeights::kFeatures && sizes[count] == 1,
           std::to_string(sizes[0]) + " inputs and " + std::to_string(sizes[count]) + " outputs, expected 5 and 1");
  std::size_t floats = 0;
  for (std::uint32_t k = 0; k < count; ++k) {
    in.check(sizes[k + 1] >= 1 && sizes[k + 1] <= NeuralWeights::kMaxWidth,
             "layer " + std::to_string(k) + " has " + std::to_string(sizes[k + 1]) + " outputs, expected 1 to " +
                 std::to_string(NeuralWeights::kMaxWidth));
    floats += std::size_t{sizes[k + 1]} * (sizes[k] + 1);
  }

  double* const numbers[] = {&w.pitch,        &w.fade_from,    &w.fade_to,      &w.r_middle,   &w.r_scale,
                             &w.end.low,      &w.end.high,     &w.end.scale,    &w.runout.low, &w.runout.high,
                             &w.runout.scale, &w.outer_radius, &w.inner_radius, &w.band,       &w.guard,
                             &w.unit,         &w.sharpness,    &w.slack};
  for (double* number : numbers) *number = in.read<double>();
  in.check(in.left() == 4 * floats + 8, std::to_string(in.left()) + " bytes of weights, expected " +
                                            std::to_string(4 * floats + 8) + " for these layers");
  std::uint64_t sum = 0;
  std::memcpy(&sum, bytes.data() + bytes.size() - 8, 8);
  in.check(sum == checksum(bytes.substr(0, bytes.size() - 8)), "damaged, the checksum differs");

  check_numbers(w, in);
  for (std::uint32_t k = 0; k < count; ++k) {
    NeuralLayer layer{static_cast<int>(sizes[k]), static_cast<int>(sizes[k + 1]), {}};
    layer.A.resize(std::size_t{sizes[k + 1]} * (sizes[k] + 1));
    in.read(layer.A.data(), layer.A.size());
    for (const float a : layer.A)
      in.check(std::isfinite(a), "layer " + std::to_string(k) + " has a weight that is not finite");
    w.layers.push_back(std::move(layer));
  }
  return w;
}

std::string_view bolt_weights() {
  return {almond_bolt_begin, static_cast<std::size_t>(almond_bolt_end - almond_bolt_begin)};
}

}  // namespace almond
