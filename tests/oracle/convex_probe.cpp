// Signed distances for tests in other languages. Reads pairs from standard input, one per line,
//
//   SHAPE POSE SHAPE POSE
//   SHAPE  sphere r | capsule r h | box x y z | cylinder r h | cone r h | ellipsoid x y z | hull n x1 y1 z1 ... xn yn
//   zn POSE   rotation matrix row by row, then the origin: 12 numbers
//
// and prints "gap nx ny nz converged" for each. With the argument `time` it prints the mean microseconds per pair
// instead, a line for all.

#include <chrono>
#include <cstdio>
#include <iostream>
#include <string>

#include "almond/base/check.hpp"
#include "almond/collision/convex.hpp"

namespace almond {
namespace {

double read(std::istream& in) {
  double value = 0.0;
  require(static_cast<bool>(in >> value), "number expected");
  return value;
}

Vec3 read_vector(std::istream& in) {
  const double x = read(in), y = read(in), z = read(in);
  return {x, y, z};
}

Shape read_shape(const std::string& kind, std::istream& in) {
  if (kind == "sphere") return Sphere{read(in)};
  if (kind == "box") return Box{read_vector(in)};
  if (kind == "ellipsoid") return Ellipsoid{read_vector(in)};
  if (kind == "hull") {
    std::vector<Vec3> points(static_cast<std::size_t>(read(in)));
    for (Vec3& p : points) p = read_vector(in);
    return ConvexMesh{make_polytope(points)};
  }
  const double radius = read(in), half_length = read(in);
  if (kind == "capsule") return Capsule{radius, half_length};
  if (kind == "cylinder") return Cylinder{radius, half_length};
  if (kind == "cone") return Cone{radius, half_length};
  throw Error("unknown shape '" + kind + "'");
}

Pose read_pose(std::istream& in) {
  Pose X;
  for (int i = 0; i < 3; ++i)
    for (int j = 0; j < 3; ++j) X.R(i, j) = read(in);
  X.p = read_vector(in);
  return X;
}

struct Pair {
  Shape a, b;
  Pose X_a, X_b;
};

int run(bool timed) {
  std::vector<Pair> pairs;
  for (std::string kind; std::cin >> kind;) {
    Pair& pair = pairs.emplace_back();
    pair.a = read_shape(kind, std::cin);
    pair.X_a = read_pose(std::cin);
    std::cin >> kind;
    pair.b = read_shape(kind, std::cin);
    pair.X_b = read_pose(std::cin);
  }
  ConvexWorkspace workspace;
  if (!timed) {
    for (const Pair& p : pairs) {
      const ConvexDistance d = signed_distance(p.a, p.X_a, p.b, p.X_b, workspace);
      std::printf("%.17g %.17g %.17g %.17g %d\n", d.gap, d.n.x(), d.n.y(), d.n.z(), d.converged ? 1 : 0);
    }
    return 0;
  }
  constexpr int kRepeats = 20;
  double sum = 0.0;
  const auto start = std::chrono::steady_clock::now();
  for (int k = 0; k < kRepeats; ++k)
    for (const Pair& p : pairs) sum += signed_distance(p.a, p.X_a, p.b, p.X_b, workspace).gap;
  const std::chrono::duration<double, std::micro> time = std::chrono::steady_clock::now() - start;
  std::printf("%.4f us per pair, checksum %.6g\n", time.count() / kRepeats / static_cast<double>(pairs.size()), sum);
  return 0;
}

}  // namespace
}  // namespace almond

int main(int argc, char** argv) {
  try {
    return almond::run(argc > 1 && std::string(argv[1]) == "time");
  } catch (const almond::Error& error) {
    std::fprintf(stderr, "convex_probe: %s\n", error.what());
    return 2;
  }
}
