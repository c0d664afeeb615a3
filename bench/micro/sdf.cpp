// Nanoseconds per query of signed distance functions, a block of points near the surface at a time, and what a grid
// costs to make: micro_sdf [workers]. CPU time of the calling thread.

#include <cstdio>
#include <cstdlib>
#include <random>

#include "almond/base/timer.hpp"
#include "almond/model/grid_sdf.hpp"
#include "almond/model/profile.hpp"
#include "almond/model/thread.hpp"

using namespace almond;

namespace {

double measure(const Sdf& sdf, double around) {
  const Aabb box = sdf.bounds();
  std::mt19937 engine(1);
  std::vector<SdfBlock> blocks(64);
  for (SdfBlock& block : blocks)
    while (block.count < SdfBlock::kSize) {
      Vec3 p;
      for (int k = 0; k < 3; ++k) p[k] = std::uniform_real_distribution(box.lower[k], box.upper[k])(engine);
      const SdfSample s = sdf.sample(p);
      p -= (s.d - std::uniform_real_distribution(-around, around)(engine)) * s.g;
      block.add(p);
    }
  double best = 1e300, sum = 0.0;
  for (int round = 0; round < 20; ++round) {
    const double start = thread_cpu_ms();
    for (SdfBlock& block : blocks) sdf.sample(block);
    best = std::min(best, 1e-3 * (thread_cpu_ms() - start));
    for (const SdfBlock& block : blocks) sum += block.d[0];
  }
  if (sum == 1e300) std::puts("");
  return 1e9 * best / (64.0 * SdfBlock::kSize);
}

void print(const char* name, const Sdf& sdf) { std::printf("%-24s %8.1f ns\n", name, measure(sdf, 1e-3)); }

void print_grid(const char* name, const SdfPtr& sdf, double edge, double cells, int workers) {
  TriangleSoup soup;
  sdf->add_surface({edge, 2e-6}, soup);
  const Vec3 extent = sdf->bounds().upper - sdf->bounds().lower;
  const double start = thread_cpu_ms();
  const auto grid = std::make_shared<const SdfGrid>(make_grid(soup, {extent.maxCoeff() / cells, 0.0, workers}));
  const double seconds = 1e-3 * (thread_cpu_ms() - start);
  const SdfPtr sampled = make_grid_sdf(grid, soup);
  std::mt19937 engine(2);
  double worst = 0.0, sum = 0.0, normal = 0.0;
  constexpr int kPoints = 20000;
  for (int i = 0; i < kPoints; ++i) {
    Vec3 p;
    for (int k = 0; k < 3; ++k) p[k] = std::uniform_real_distribution(-0.5, 0.5)(engine) * extent[k];
    p += 0.5 * (sdf->bounds().lower + sdf->bounds().upper);
    SdfSample s = sdf->sample(p);
    p -= s.d * s.g;
    s = sdf->sample(p);
    const SdfSample t = sampled->sample(p);
    worst = std::max(worst, std::abs(s.d - t.d));
    sum += (s.d - t.d) * (s.d - t.d);
    normal += (s.g - t.g).squaredNorm();
  }
  std::printf(
      "grid of %-10s %4.0f cells of %.3f mm, %7zu triangles: %6.2f s, %7.2f MB, %5.1f ns; at the surface off by %.2f "
      "um rms, %.1f um at most, normals by %.4f rad rms; slack %.4f\n",
      name, cells, 1e3 * grid->cell, soup.triangles.size(), seconds, 1e-6 * static_cast<double>(grid->bytes()),
      measure(*sampled, 1e-3), 1e6 * std::sqrt(sum / kPoints), 1e6 * worst, std::sqrt(normal / kPoints), grid->slack);
}

}  // namespace

int main(int argc, char** argv) {
  const int workers = argc > 1 ? std::atoi(argv[1]) : 1;
  const SdfPtr sphere = make_sphere_sdf(0.05), box = make_box_sdf(Vec3(0.05, 0.03, 0.02)),
               bowl = make_bowl(0.025, 0.07, 0.05, 0.004), bolt = make_bolt(find_thread("M48"));
  print("sphere", *sphere);
  print("box", *box);
  print("bowl", *bowl);
  print("bolt M48", *bolt);
  for (const double cells : {32.0, 64.0, 128.0, 256.0}) {
    print_grid("sphere", sphere, 1e-3, cells, workers);
    print_grid("box", box, 1.0, cells, workers);
    print_grid("bowl", bowl, 1e-3, cells, workers);
  }
  return 0;
}
