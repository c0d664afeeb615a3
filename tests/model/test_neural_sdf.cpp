// The neural bolt against the analytic one it was trained on, and its weights against damage.

#include <gtest/gtest.h>

#include <Eigen/Geometry>
#include <algorithm>
#include <cmath>
#include <cstring>
#include <numbers>

#include "almond/base/check.hpp"
#include "almond/model/neural_sdf.hpp"
#include "almond/model/thread.hpp"
#include "scenes/random.hpp"
#include "tests/common/allocation.hpp"

namespace almond {
namespace {

using scenes::Random;

std::vector<Vec3> make_points(int count) {
  Random random(21);
  std::vector<Vec3> points;
  for (int k = 0; k < count; ++k) {
    const double r = random.uniform(0.0, 0.03), angle = random.uniform(-4.0, 4.0);
    points.emplace_back(r * std::cos(angle), r * std::sin(angle), random.uniform(-0.125, 0.006));
  }
  return points;
}

// Bounds: the figures of docs/neural_sdf.md, rounded up.
TEST(NeuralBolt, IsCloseToTheAnalyticOne) {
  const SdfPtr analytic = make_taught_bolt(), neural = make_neural_bolt();
  double sum = 0.0, largest = 0.0, turned = 0.0;
  int count = 0;
  for (const Vec3& p : make_points(40000)) {
    const SdfSample a = analytic->sample(p), n = neural->sample(p);
    if (std::abs(a.d) > 2e-3) continue;
    const double error = std::abs(a.d - n.d);
    sum += error;
    largest = std::max(largest, error);
    turned += 2.0 * std::asin(std::min(0.5 * (a.g - n.g).norm(), 1.0)) * 180.0 / std::numbers::pi;
    ++count;
  }
  ASSERT_GT(count, 5000);
  EXPECT_LT(sum / count, 3e-6);
  EXPECT_LT(largest, 50e-6);
  EXPECT_LT(turned / count, 1.5);  // edges and valleys, where the network rounds, among them
}

TEST(NeuralBolt, HasTheSameSignAndNeverPromisesMoreRoomThanThereIs) {
  const SdfPtr analytic = make_taught_bolt(), neural = make_neural_bolt();
  for (const Vec3& p : make_points(20000)) {
    const double a = analytic->value(p), n = neural->value(p);
    if (std::abs(a) > 5e-5) {
      EXPECT_EQ(a > 0.0, n > 0.0) << p.transpose();
    }
    if (a > 0.0) {
      EXPECT_LE(n, a + 5e-5) << p.transpose();
    }
  }
  for (const double far : {0.05, 1.0, 1e3}) {
    const double d = neural->value(Vec3(0.0, 0.0, far));
    EXPECT_LE(d, far);
    EXPECT_GE(d, far - 1e-4);  // the guard of the outer cylinder
  }
}

// Where network and cylinders take turns: along lines through all of it, values follow the point.
TEST(NeuralBolt, HasNoJumps) {
  const SdfPtr neural = make_neural_bolt();
  Random random(4);
  for (int k = 0; k < 60; ++k) {
    const Vec3 a(random.uniform(-0.05, 0.05), random.uniform(-0.05, 0.05), random.uniform(-0.16, 0.02));
    const Vec3 b(random.uniform(-0.05, 0.05), random.uniform(-0.05, 0.05), random.uniform(-0.16, 0.02));
    const int steps = 4000;
    double before = neural->value(a);
    for (int i = 1; i <= steps; ++i) {
      const double now = neural->value(a + (b - a) * (static_cast<double>(i) / steps));
      EXPECT_LE(std::abs(now - before), (1.0 + neural->slack()) * (b - a).norm() / steps + 1e-9);
      before = now;
    }
  }
}

TEST(NeuralBolt, GivesTheSameBitsInAnyCompany) {
  const SdfPtr neural = make_neural_bolt();
  const std::vector<Vec3> points = make_points(SdfBlock::kSize);
  SdfBlock all;
  for (const Vec3& p : points) all.add(p);
  neural->sample(all);
  for (const int size : {1, 2, 5, 7, 15, 16, 17, 31, 33, 40, 49, 63}) {
    for (int begin = 0; begin < SdfBlock::kSize; begin += size) {
      SdfBlock part;
      for (int i = begin; i < std::min(begin + size, SdfBlock::kSize); ++i) part.add(points[i]);
      neural->sample(part);
      for (int i = 0; i < part.count; ++i) {
        EXPECT_EQ(part.d[i], all.d[begin + i]) << size;
        EXPECT_EQ(part.gradient(i), all.gradient(begin + i)) << size;
      }
    }
  }
}

TEST(NeuralBolt, DoesNotAllocate) {
  if (!testing::can_count_allocations()) GTEST_SKIP() << "allocations cannot be counted in this build";
  const SdfPtr neural = make_neural_bolt();
  SdfBlock block;
  for (const Vec3& p : make_points(SdfBlock::kSize)) block.add(p);
  const testing::AllocationCounter counter;
  neural->sample(block);
  EXPECT_EQ(counter.count(), 0);
}

// The normal given is the direction in which the values grow; single precision leaves nanometres of noise in them.
// Where the network rounds an edge, its gradient is shorter than 1 and the normal given is not.
TEST(NeuralBolt, HasNormalsThatFitItsValues) {
  const SdfPtr neural = make_neural_bolt();
  const double h = 3e-6;
  std::vector<double> turned, shortened;
  for (const Vec3& p : make_points(20000)) {
    const SdfSample s = neural->sample(p);
    if (std::abs(s.d) > 2e-3) continue;
    Vec3 slope;
    for (int i = 0; i < 3; ++i)
      slope[i] = (neural->value(p + h * Vec3::Unit(i)) - neural->value(p - h * Vec3::Unit(i))) / (2.0 * h);
    turned.push_back((slope.normalized() - s.g).norm());
    shortened.push_back(std::abs(slope.norm() - 1.0));
  }
  ASSERT_GT(turned.size(), 2000u);
  std::sort(turned.begin(), turned.end());
  std::sort(shortened.begin(), shortened.end());
  EXPECT_LT(turned[turned.size() * 99 / 100], 0.01);
  EXPECT_LT(shortened[shortened.size() / 2], 0.01);
  EXPECT_LT(shortened[shortened.size() * 9 / 10], 0.03);
}

// A nut in the middle of its play, half a turn off its bolt's end: each point of its thread is as far from the bolt as
// from the analytic one, to much less than the play.
TEST(NeuralBolt, GivesANutTheGapsOfTheAnalyticOne) {
  const MetricThread m48 = find_thread("M48");
  const SdfPtr analytic = make_taught_bolt(), neural = make_neural_bolt();
  TriangleSoup soup;
  make_nut(m48)->add_surface({2e-3, 1e-4}, soup);
  for (const double z : {-0.0415, -0.055, -0.003}) {
    const Pose X = make_rotation(Vec3::UnitZ(), engaged_angle(m48, z), Vec3(0.0, 0.0, z));
    double largest = 0.0, sum = 0.0;
    int count = 0;
    for (const auto& triangle : soup.triangles) {
      const Vec3 p = X * soup.vertices[triangle[0]];
      const double a = analytic->value(p);
      EXPECT_GT(a, 0.0);
      if (a > 1e-3) continue;
      const double error = std::abs(neural->value(p) - a);
      largest = std::max(largest, error);
      sum += error;
      ++count;
    }
    ASSERT_GT(count, 1000) << z;
    EXPECT_LT(largest, 20e-6) << z;
    EXPECT_LT(sum / count, 2e-6) << z;
  }
}

// ---- The file ----

std::string error_of(const std::string& bytes) {
  try {
    static_cast<void>(read_neural_weights(bytes, "file"));
  } catch (const Error& error) {
    return error.what();
  }
  return "";
}

/// The checksum set right again, as a file would have it that was written wrongly rather than damaged.
std::string sign(std::string bytes) {
  std::uint64_t h = 0xCBF29CE484222325u;
  for (std::size_t at = 0; at + 12 <= bytes.size(); at += 4) {
    std::uint32_t word = 0;
    std::memcpy(&word, bytes.data() + at, 4);
    h = (h ^ word) * 0x100000001B3u;
  }
  std::memcpy(bytes.data() + bytes.size() - 8, &h, 8);
  return bytes;
}

template <class T>
std::string with(std::string bytes, std::size_t at, T value) {
  std::memcpy(bytes.data() + at, &value, sizeof value);
  return sign(std::move(bytes));
}

TEST(NeuralWeights, DamagedFilesAreRefused) {
  const std::string good(bolt_weights());
  EXPECT_EQ(error_of(good), "");
  EXPECT_EQ(sign(good), good);
  EXPECT_EQ(error_of(""), "file: no file of network weights");
  EXPECT_EQ(error_of("solid bolt\nfacet normal"), "file: no file of network weights");
  EXPECT_EQ(error_of(good.substr(0, 9)), "file: cut off");
  EXPECT_NE(error_of(good.substr(0, good.size() - 4)).find("bytes of weights, expected"), std::string::npos);
  EXPECT_NE(error_of(good + "more").find("bytes of weights, expected"), std::string::npos);
  EXPECT_EQ(error_of(with(good, 8, 2u)), "file: version 2, expected 1");
  EXPECT_EQ(error_of(with(good, 12, 9u)), "file: 9 layers, expected 2 to 5");
  EXPECT_EQ(error_of(with(good, 16, 4u)), "file: 4 inputs and 1 outputs, expected 5 and 1");
  EXPECT_EQ(error_of(with(good, 20, 4000000000u)), "file: layer 0 has 4000000000 outputs, expected 1 to 96");
  EXPECT_EQ(error_of(with(good, good.size() - 12, std::nanf(""))), "file: layer 3 has a weight that is not finite");
  EXPECT_EQ(error_of(with(good, 16 + 4 * 5, -1.0)), "file: pitch is -1, expected > 0");
  std::string flipped = good;
  flipped[good.size() / 2] = static_cast<char>(flipped[good.size() / 2] ^ 8);
  EXPECT_EQ(error_of(flipped), "file: damaged, the checksum differs");
}

// Any byte changed, any length: refused, with a line that names the file.
TEST(NeuralWeights, NoDamageGoesUnseen) {
  const std::string good(bolt_weights());
  Random random(77);
  for (int k = 0; k < 2000; ++k) {
    std::string bad = good;
    if (k % 4 == 0) {
      bad.resize(static_cast<std::size_t>(random.index(static_cast<int>(good.size()))));
    } else {
      const int at = random.index(k % 2 == 0 ? 200 : static_cast<int>(good.size()));
      bad[at] = static_cast<char>(bad[at] ^ (1 + random.index(255)));
    }
    EXPECT_EQ(error_of(bad).rfind("file: ", 0), 0u);
  }
  // Headers that are signed but senseless: an error, or weights that can be asked.
  for (int k = 0; k < 500; ++k) {
    const std::size_t at = 8 + 4 * static_cast<std::size_t>(random.index(42));
    const std::string bad = with(good, at, static_cast<std::uint32_t>(random.uniform(0.0, 4294967295.0)));
    try {
      const NeuralWeights weights = read_neural_weights(bad, "file");
      static_cast<void>(make_neural_sdf(weights, -1e9)->value(Vec3(0.02, 0.0, -0.02)));
    } catch (const Error& error) {
      EXPECT_FALSE(std::string(error.what()).empty());
    }
  }
}

TEST(NeuralWeights, TheRodEndsBelowItsThread) {
  const NeuralWeights weights = read_neural_weights(bolt_weights(), "file");
  EXPECT_THROW(static_cast<void>(make_neural_sdf(weights, -0.05)), Error);
  EXPECT_THROW(static_cast<void>(make_neural_sdf(weights, kNaN)), Error);
}

}  // namespace
}  // namespace almond
