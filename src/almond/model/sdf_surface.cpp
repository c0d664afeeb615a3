#include "almond/model/sdf_surface.hpp"

#include <Eigen/Eigenvalues>
#include <Eigen/Geometry>
#include <algorithm>
#include <cmath>
#include <numbers>

#include "almond/base/check.hpp"

namespace almond {
namespace {

constexpr double kPi = std::numbers::pi;

int count_steps(double length, double step) {
  return std::max(1, static_cast<int>(std::ceil(length / step * (1.0 - 1e-9))));
}

/// Where φ crosses zero between a and b, which it has with different signs.
Vec3 find_crossing(const Sdf& sdf, Vec3 a, Vec3 b, double da) {
  // In an order of their own, so that two triangles find the same point on the edge they share.
  if (std::lexicographical_compare(b.begin(), b.end(), a.begin(), a.end())) {
    std::swap(a, b);
    da = -da;
  }
  double low = 0.0, high = 1.0;
  for (int k = 0; k < 40; ++k) {
    const double middle = 0.5 * (low + high);
    const bool like_a = (sdf.value(a + middle * (b - a)) > 0.0) == (da > 0.0);
    (like_a ? low : high) = middle;
  }
  return a + 0.5 * (low + high) * (b - a);
}

int add_vertex(const Vec3& p, TriangleSoup& soup) {
  soup.vertices.push_back(p);
  return static_cast<int>(soup.vertices.size()) - 1;
}

}  // namespace

void append(const std::vector<Vec2>& points, std::vector<Vec2>& contour) {
  for (const Vec2& p : points)
    if (contour.empty() || (p - contour.back()).norm() > 1e-12) contour.push_back(p);
}

void add_segment(const Vec2& end, const SurfaceOptions& options, std::vector<Vec2>& contour) {
  const Vec2 start = contour.back();
  const int steps = count_steps((end - start).norm(), options.max_edge);
  for (int k = 1; k <= steps; ++k) contour.push_back(k == steps ? end : Vec2(start + k * (end - start) / steps));
}

std::vector<Vec2> sample_arc(const Vec2& center, double radius, double from, double to, const SurfaceOptions& options) {
  const double turn = 2.0 * kPi / count_sectors(radius, options);
  const int steps = count_steps(std::abs(to - from), turn);
  std::vector<Vec2> points;
  for (int k = 0; k <= steps; ++k) {
    const double angle = from + k * (to - from) / steps;
    points.push_back(center + radius * Vec2(std::cos(angle), std::sin(angle)));
  }
  return points;
}

int count_sectors(double r, const SurfaceOptions& options) {
  const double by_chord = kPi / std::acos(std::max(1.0 - options.chord_error / std::max(r, 1e-12), 0.0));
  const double by_edge = 2.0 * kPi * r / options.max_edge;
  return std::clamp(static_cast<int>(std::ceil(std::max(by_chord, by_edge))), 8, 4096);
}

void add_helical(const std::vector<Vec2>& contour, double lead, double from, double turns,
                 const SurfaceOptions& options, TriangleSoup& soup) {
  double r = 0.0;
  for (const Vec2& p : contour) r = std::max(r, p.x());
  const int steps = count_steps(turns, 1.0 / count_sectors(r, options));
  const int first = static_cast<int>(soup.vertices.size()), count = static_cast<int>(contour.size());
  const bool closed = lead == 0.0 && turns == 1.0;
  const int columns = closed ? steps : steps + 1;
  for (int j = 0; j < columns; ++j) {
    const double angle = from + 2.0 * kPi * turns * j / steps;
    for (const Vec2& p : contour) {
      // Points on the axis are one point.
      const double radius = p.x() > 1e-12 ? p.x() : 0.0;
      soup.vertices.emplace_back(radius * std::cos(angle), radius * std::sin(angle),
                                 p.y() + lead * angle / (2.0 * kPi));
    }
  }
  for (int j = 0; j < steps; ++j)
    for (int i = 0; i + 1 < count; ++i) {
      const int a = first + j * count + i, b = first + (j + 1) % columns * count + i;
      const bool low_tip = contour[i].x() <= 1e-12, high_tip = contour[i + 1].x() <= 1e-12;
      if (!low_tip) soup.triangles.push_back({a, b, b + 1});
      if (!high_tip) soup.triangles.push_back({a, b + 1, a + 1});
    }
}

void add_revolved(const std::vector<Vec2>& contour, const SurfaceOptions& options, TriangleSoup& soup) {
  add_helical(contour, 0.0, 0.0, 1.0, options, soup);
}

void add_parallelogram(const Vec3& center, const Vec3& u, const Vec3& v, const SurfaceOptions& options,
                       TriangleSoup& soup) {
  const int nu = count_steps(2.0 * u.norm(), options.max_edge), nv = count_steps(2.0 * v.norm(), options.max_edge);
  const int first = static_cast<int>(soup.vertices.size());
  for (int j = 0; j <= nv; ++j)
    for (int i = 0; i <= nu; ++i)
      soup.vertices.emplace_back(center + (2.0 * i / nu - 1.0) * u + (2.0 * j / nv - 1.0) * v);
  for (int j = 0; j < nv; ++j)
    for (int i = 0; i < nu; ++i) {
      const int a = first + j * (nu + 1) + i, b = a + nu + 1;
      soup.triangles.push_back({a, a + 1, b + 1});
      soup.triangles.push_back({a, b + 1, b});
    }
}

void add_triangle(const Vec3& a, const Vec3& b, const Vec3& c, const SurfaceOptions& options, TriangleSoup& soup) {
  const double longest = std::max({(b - a).norm(), (c - b).norm(), (a - c).norm()});
  const int n = count_steps(longest, options.max_edge);
  const auto vertex = [&](int i, int j) {  // i steps towards b, j towards c
    return add_vertex(a + (b - a) * (static_cast<double>(i) / n) + (c - a) * (static_cast<double>(j) / n), soup);
  };
  std::vector<int> row, next;
  for (int i = 0; i <= n; ++i) row.push_back(vertex(i, 0));
  for (int j = 1; j <= n; ++j) {
    next.clear();
    for (int i = 0; i <= n - j; ++i) next.push_back(vertex(i, j));
    for (int i = 0; i <= n - j; ++i) {
      soup.triangles.push_back({row[i], row[i + 1], next[i]});
      if (i > 0) soup.triangles.push_back({row[i], next[i], next[i - 1]});
    }
    row = next;
  }
}

void clip_surface(const Sdf& own, const Sdf& other, double sign, std::size_t first, TriangleSoup& soup) {
  std::vector<std::array<int, 3>> kept;
  const auto cut = [&](int i, int k, double di) {
    const Vec3 p = find_crossing(other, soup.vertices[i], soup.vertices[k], sign * di);
    const SdfSample s = own.sample(p);
    return add_vertex(p - s.d * s.g, soup);
  };
  for (std::size_t t = first; t < soup.triangles.size(); ++t) {
    const std::array<int, 3> corner = soup.triangles[t];
    double d[3];
    int inside = 0;
    for (int k = 0; k < 3; ++k) {
      d[k] = sign * other.value(soup.vertices[corner[k]]);
      inside += d[k] > 0.0 ? 1 : 0;
    }
    if (inside == 3) kept.push_back(corner);
    if (inside == 0 || inside == 3) continue;
    // The corner k that stands alone.
    int k = 0;
    while ((d[k] > 0.0) != (inside == 1)) ++k;
    const int a = corner[k], b = corner[(k + 1) % 3], c = corner[(k + 2) % 3];
    const int ab = cut(a, b, d[k]), ac = cut(a, c, d[k]);
    if (inside == 1) {
      kept.push_back({a, ab, ac});
    } else {
      kept.push_back({ab, b, c});
      kept.push_back({ab, c, ac});
    }
  }
  soup.triangles.resize(first);
  for (const auto& t : kept) {
    const Vec3 &a = soup.vertices[t[0]], &b = soup.vertices[t[1]], &c = soup.vertices[t[2]];
    if ((b - a).cross(c - a).norm() > 1e-12 * (b - a).squaredNorm()) soup.triangles.push_back(t);
  }
}

namespace {

/// Planes through points of the surface in one cell, and the vertex that fits them best.
struct CellPlanes {
  Mat3 A = Mat3::Zero();
  Vec3 b = Vec3::Zero(), mean = Vec3::Zero();
  int count = 0, vertex = -1;

  void add(const Vec3& p, const Vec3& n) {
    A += n * n.transpose();
    b += n * n.dot(p);
    mean += p;
    ++count;
  }
  /// min Σ (nᵀ(x - p))², as near to the mean of the points as the planes leave it free.
  [[nodiscard]] Vec3 solve() const {
    const Vec3 m = mean / count;
    const Eigen::SelfAdjointEigenSolver<Mat3> eigen(A);
    const Vec3 rest = b - A * m;
    Vec3 x = m;
    for (int k = 0; k < 3; ++k) {
      const double value = eigen.eigenvalues()[k];
      if (value < 0.02 * eigen.eigenvalues()[2]) continue;
      const Vec3 u = eigen.eigenvectors().col(k);
      x += u * (u.dot(rest) / value);
    }
    return x;
  }
};

}  // namespace

void add_contoured(const Sdf& sdf, const SurfaceOptions& options, TriangleSoup& soup) {
  constexpr double kMostCells = 3e7;
  Aabb box = sdf.bounds();
  require(box.lower.allFinite() && box.upper.allFinite(), sdf.name() + ": the shape is not bounded");
  const double h = options.max_edge;
  box.lower.array() -= 1.5 * h;
  box.upper.array() += 1.5 * h;
  const Vec3 size = (box.upper - box.lower) / h;
  require(size.prod() < kMostCells, sdf.name() + ": triangles of " + std::to_string(h) +
                                        " m need more than 3e7 cells, expected a larger max_edge");
  const int nx = static_cast<int>(std::ceil(size.x())), ny = static_cast<int>(std::ceil(size.y())),
            nz = static_cast<int>(std::ceil(size.z()));
  const auto node = [&](int i, int j, int k) { return (static_cast<std::size_t>(k) * (ny + 1) + j) * (nx + 1) + i; };
  const auto place = [&](int i, int j, int k) -> Vec3 { return box.lower + h * Vec3(i, j, k); };
  std::vector<double> value(node(nx, ny, nz) + 1);
  SdfBlock block;
  for (int k = 0; k <= nz; ++k)
    for (int j = 0; j <= ny; ++j)
      for (int begin = 0; begin <= nx; begin += SdfBlock::kSize) {
        block.count = 0;
        for (int i = begin; i <= std::min(nx, begin + SdfBlock::kSize - 1); ++i) block.add(place(i, j, k));
        sdf.sample(block);
        std::copy_n(block.d, block.count, &value[node(begin, j, k)]);
      }

  std::vector<CellPlanes> planes;
  std::vector<int> cell_planes(value.size(), -1);  // by the lower corner
  struct Quad {
    std::size_t cell[4];
    bool flip;
  };
  std::vector<Quad> quads;
  for (int k = 1; k < nz; ++k)
    for (int j = 1; j < ny; ++j)
      for (int i = 1; i < nx; ++i) {
        const double here = value[node(i, j, k)];
        for (int axis = 0; axis < 3; ++axis) {
          const std::size_t step[3] = {node(1, 0, 0), node(0, 1, 0), node(0, 0, 1)};
          const std::size_t at = node(i, j, k), next = at + step[axis];
          if ((here > 0.0) == (value[next] > 0.0)) continue;
          const Vec3 p = find_crossing(sdf, place(i, j, k), place(i, j, k) + h * Vec3::Unit(axis), here);
          const Vec3 n = sdf.sample(p).g;
          const std::size_t u = step[(axis + 1) % 3], v = step[(axis + 2) % 3];
          const Quad quad{{at - u - v, at - v, at, at - u}, here > 0.0};
          for (const std::size_t cell : quad.cell) {
            if (cell_planes[cell] < 0) {
              cell_planes[cell] = static_cast<int>(planes.size());
              planes.emplace_back();
            }
            planes[cell_planes[cell]].add(p, n);
          }
          quads.push_back(quad);
        }
      }
  for (std::size_t cell = 0; cell < cell_planes.size(); ++cell) {
    if (cell_planes[cell] < 0) continue;
    CellPlanes& p = planes[cell_planes[cell]];
    const int i = static_cast<int>(cell % (nx + 1)), j = static_cast<int>(cell / (nx + 1) % (ny + 1)),
              k = static_cast<int>(cell / (static_cast<std::size_t>(nx + 1) * (ny + 1)));
    const Vec3 low = place(i, j, k);
    Vec3 x = p.solve().cwiseMax(low).cwiseMin(low + Vec3::Constant(h));
    for (int round = 0; round < 2; ++round) {
      const SdfSample s = sdf.sample(x);
      x -= s.d * s.g;
    }
    p.vertex = add_vertex(x, soup);
  }
  for (const Quad& quad : quads) {
    int v[4];
    for (int k = 0; k < 4; ++k) v[k] = planes[cell_planes[quad.cell[k]]].vertex;
    if (quad.flip) std::swap(v[1], v[3]);
    soup.triangles.push_back({v[0], v[1], v[2]});
    soup.triangles.push_back({v[0], v[2], v[3]});
  }
}

}  // namespace almond
