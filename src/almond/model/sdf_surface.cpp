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

/// Whole steps, as a double: what is asked for may be far too many. One where nothing is asked for (step = 0).
double count_steps(double length, double step) {
  return step > 0.0 ? std::max(1.0, std::ceil(length / step * (1.0 - 1e-9))) : 1.0;
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
  const double count = count_steps((end - start).norm(), options.max_edge);
  check_triangle_count(count, options);
  const int steps = static_cast<int>(count);
  for (int k = 1; k <= steps; ++k) contour.push_back(k == steps ? end : Vec2(start + k * (end - start) / steps));
}

std::vector<Vec2> sample_arc(const Vec2& center, double radius, double from, double to, const SurfaceOptions& options) {
  const double count = count_steps(std::abs(to - from), 2.0 * kPi / count_sectors(radius, options));
  check_triangle_count(count, options);
  const int steps = static_cast<int>(count);
  std::vector<Vec2> points;
  for (int k = 0; k <= steps; ++k) {
    const double angle = from + k * (to - from) / steps;
    points.push_back(center + radius * Vec2(std::cos(angle), std::sin(angle)));
  }
  return points;
}

double count_sectors(double r, const SurfaceOptions& options) {
  // A chord over the angle 2a lies r (1 - cos a) = 2 r sin²(a/2) below its arc.
  const double half = std::sqrt(std::min(0.5 * options.chord_error / std::max(r, 1e-12), 0.5));
  const double by_chord = 0.5 * kPi / std::asin(half), by_edge = 2.0 * kPi * r / options.max_edge;
  return std::max(std::ceil(std::max(by_chord, by_edge) * (1.0 - 1e-12)), 8.0);
}

void check_triangle_count(double count, const SurfaceOptions& options) {
  require(count <= kMostTriangles,
          "surface: max_edge is " + to_text(options.max_edge) + " m and chord_error " + to_text(options.chord_error) +
              " m, which makes " + (std::isfinite(count) ? to_text(count) : "endlessly many") +
              " triangles or more, expected at most " + to_text(kMostTriangles) + ": larger ones");
}

void add_helical(const std::vector<Vec2>& contour, double lead, double from, double turns,
                 const SurfaceOptions& options, TriangleSoup& soup) {
  double r = 0.0;
  for (const Vec2& p : contour) r = std::max(r, p.x());
  const double sectors = count_steps(turns, 1.0 / count_sectors(r, options));
  const auto strips = static_cast<double>(contour.size()) - 1.0;
  check_triangle_count(static_cast<double>(soup.triangles.size()) + 2.0 * sectors * strips, options);
  const int steps = static_cast<int>(sectors);
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
  const double along_u = count_steps(2.0 * u.norm(), options.max_edge),
               along_v = count_steps(2.0 * v.norm(), options.max_edge);
  check_triangle_count(static_cast<double>(soup.triangles.size()) + 2.0 * along_u * along_v, options);
  const int nu = static_cast<int>(along_u), nv = static_cast<int>(along_v);
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
  const double count = count_steps(longest, options.max_edge);
  if (count > 1.0) check_triangle_count(static_cast<double>(soup.triangles.size()) + count * count, options);
  const int n = static_cast<int>(count);
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

namespace {

/// Of the corners of triangles on `own`, which lie on the side of `other` that is kept.
class Sides {
 public:
  Sides(const Sdf& own, const Sdf& other, double sign, Coincident coincident, std::size_t first,
        const TriangleSoup& soup)
      : own_(own), other_(other), sign_(sign), coincident_(coincident), soup_(soup) {
    d_.assign(soup.vertices.size(), kNaN);
    Aabb box;
    SdfBlock block;
    int number[SdfBlock::kSize];
    const auto flush = [&] {
      other.sample(block);
      for (int i = 0; i < block.count; ++i) d_[number[i]] = sign * block.d[i];
      block.count = 0;
    };
    for (std::size_t t = first; t < soup.triangles.size(); ++t)
      for (const int v : soup.triangles[t]) {
        if (!std::isnan(d_[v])) continue;
        d_[v] = 0.0;  // asked for
        box.add(soup.vertices[v]);
        number[block.count] = v;
        block.add(soup.vertices[v]);
        if (block.count == SdfBlock::kSize) flush();
      }
    if (block.count > 0) flush();
    near_ = kNear * (box.upper - box.lower).norm();
  }

  /// The corner k of a triangle.
  [[nodiscard]] bool keeps(const std::array<int, 3>& corner, int k) const {
    const double d = d_[corner[k]];
    return std::abs(d) > near_ ? d > 0.0 : keeps_near(corner, k);
  }
  /// Where `other` is crossed between a corner that is kept and one that is not.
  [[nodiscard]] Vec3 find_cut(int kept, int dropped) const {
    Vec3 a = soup_.vertices[kept], b = soup_.vertices[dropped];
    // In an order of their own, so that two triangles find the same point on the edge they share.
    const bool swapped = std::lexicographical_compare(b.begin(), b.end(), a.begin(), a.end());
    if (swapped) std::swap(a, b);
    // Along a coincident part, up to where the surfaces part, not to where rounding says so.
    const bool kept_near = std::abs(d_[kept]) <= near_, dropped_near = std::abs(d_[dropped]) <= near_;
    const double least = kept_near == dropped_near ? 0.0 : (kept_near ? -near_ : near_);
    double low = 0.0, high = 1.0;
    for (int n = 0; n < 40; ++n) {
      const double middle = 0.5 * (low + high);
      const bool like_a = (sign_ * other_.value(a + middle * (b - a)) > least) != swapped;
      (like_a ? low : high) = middle;
    }
    return a + 0.5 * (low + high) * (b - a);
  }

 private:
  static constexpr double kNear = 1e-9;     // of the size of the triangles: what counts as on the surface
  static constexpr double kInwards = 0.02;  // of the way to the middle: where a corner on the surface looks from

  /// A corner on both surfaces belongs to what the triangle does next to it.
  [[nodiscard]] bool keeps_near(const std::array<int, 3>& corner, int k) const {
    const Vec3 &a = soup_.vertices[corner[k]], &b = soup_.vertices[corner[(k + 1) % 3]],
               &c = soup_.vertices[corner[(k + 2) % 3]];
    Vec3 p = a + kInwards * ((a + b + c) / 3.0 - a);
    const SdfSample mine = own_.sample(p);
    p -= mine.d * mine.g;  // off the chord
    const SdfSample s = other_.sample(p);
    if (std::abs(s.d) > near_) return sign_ * s.d > 0.0;
    const double alike = s.g.dot((b - a).cross(c - a).normalized());
    return (coincident_ == Coincident::kKeepAlike && alike > 0.5) ||
           (coincident_ == Coincident::kKeepOpposed && alike < -0.5);
  }

  const Sdf &own_, &other_;
  double sign_, near_ = 0.0;
  Coincident coincident_;
  const TriangleSoup& soup_;
  std::vector<double> d_;  // (vertices) sign φ(other)
};

}  // namespace

void clip_surface(const Sdf& own, const Sdf& other, double sign, Coincident coincident, std::size_t first,
                  TriangleSoup& soup) {
  std::vector<std::array<int, 3>> kept;
  const Sides sides(own, other, sign, coincident, first, soup);
  const auto cut = [&](int i, int k, bool keeps_i) {
    const Vec3 p = keeps_i ? sides.find_cut(i, k) : sides.find_cut(k, i);
    const SdfSample s = own.sample(p);
    return add_vertex(p - s.d * s.g, soup);
  };
  for (std::size_t t = first; t < soup.triangles.size(); ++t) {
    const std::array<int, 3> corner = soup.triangles[t];
    bool keeps[3];
    int inside = 0;
    for (int k = 0; k < 3; ++k) {
      keeps[k] = sides.keeps(corner, k);
      inside += keeps[k] ? 1 : 0;
    }
    if (inside == 3) kept.push_back(corner);
    if (inside == 0 || inside == 3) continue;
    // The corner k that stands alone.
    int k = 0;
    while (keeps[k] != (inside == 1)) ++k;
    const int a = corner[k], b = corner[(k + 1) % 3], c = corner[(k + 2) % 3];
    const int ab = cut(a, b, keeps[k]), ac = cut(a, c, keeps[k]);
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
  require(size.prod() < kMostCells, "surface: max_edge is " + to_text(h) + " m, which divides the box of the " +
                                        sdf.name() + " into " + to_text(size.prod()) + " cells, expected at most " +
                                        to_text(kMostCells) + ": a larger one");
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
