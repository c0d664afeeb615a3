#pragma once
// Random numbers that are the same everywhere: the engine is specified by the standard, its distributions are not.

#include <cmath>
#include <cstdint>
#include <random>

#include "almond/base/spatial.hpp"

namespace almond::scenes {

class Random {
 public:
  explicit Random(std::uint64_t seed) : engine_(seed) {}

  /// Uniform in [0, 1) with 53 random bits.
  double uniform() { return static_cast<double>(engine_() >> 11) * 0x1.0p-53; }
  double uniform(double low, double high) { return low + (high - low) * uniform(); }
  /// 0 .. count-1.
  int index(int count) { return static_cast<int>(uniform() * count); }
  /// Standard normal by Box and Muller.
  double normal() {
    const double radius = std::sqrt(-2.0 * std::log(1.0 - uniform()));
    return radius * std::cos(2.0 * 3.14159265358979323846 * uniform());
  }
  Vec3 normal3() {
    const double x = normal(), y = normal(), z = normal();
    return {x, y, z};
  }
  Vec3 direction() { return normal3().normalized(); }
  Mat3 rotation() { return exp_so3(uniform(0.0, 3.0) * direction()); }

 private:
  std::mt19937_64 engine_;
};

}  // namespace almond::scenes
