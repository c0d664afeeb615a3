#include "almond/model/sdf.hpp"

#include <algorithm>
#include <cmath>
#include <numbers>
#include <numeric>

#include "almond/base/check.hpp"
#include "almond/model/profile.hpp"
#include "almond/model/sdf_surface.hpp"

namespace almond {
namespace {

void check_positive(double value, const char* what) {
  require(std::isfinite(value) && value > 0.0,
          std::string(what) + " is " + to_text(value) + ", expected finite and > 0");
}

Aabb centered(const Vec3& half) { return {-half, half}; }

/// Distance to a box of any dimension, given what each coordinate lies beyond the face: q = |x| - half. Writes the
/// distance and ∂d/∂q.
inline double box_distance(double q0, double q1, double q2, double& g0, double& g1, double& g2) {
  const double m0 = std::max(q0, 0.0), m1 = std::max(q1, 0.0), m2 = std::max(q2, 0.0);
  const double length = std::sqrt(m0 * m0 + m1 * m1 + m2 * m2), inverse = 1.0 / std::max(length, 1e-300);
  const double inner = std::max(q0, std::max(q1, q2));
  const bool outside = length > 0.0, first = q0 >= inner, second = !first && q1 >= inner;
  g0 = outside ? m0 * inverse : (first ? 1.0 : 0.0);
  g1 = outside ? m1 * inverse : (second ? 1.0 : 0.0);
  g2 = outside ? m2 * inverse : (first || second ? 0.0 : 1.0);
  return outside ? length : inner;
}

struct SphereSdf final : PointwiseSdf<SphereSdf> {
  double radius = 0.0;
  void at(double x, double y, double z, double& d, double& gx, double& gy, double& gz) const {
    const double r = std::sqrt(x * x + y * y + z * z), inverse = 1.0 / std::max(r, 1e-300);
    d = r - radius;
    gx = x * inverse;
    gy = y * inverse;
    gz = r > 0.0 ? z * inverse : 1.0;
  }
  [[nodiscard]] Aabb bounds() const override { return centered(Vec3::Constant(radius)); }
  [[nodiscard]] std::string name() const override { return "sphere"; }
  void add_surface(const SurfaceOptions& options, TriangleSoup& soup) const override {
    add_revolved(sample_arc(Vec2::Zero(), radius, -0.5 * std::numbers::pi, 0.5 * std::numbers::pi, options), options,
                 soup);
  }
};

struct BoxSdf final : PointwiseSdf<BoxSdf> {
  double hx = 0.0, hy = 0.0, hz = 0.0;
  void at(double x, double y, double z, double& d, double& gx, double& gy, double& gz) const {
    double g0, g1, g2;
    d = box_distance(std::abs(x) - hx, std::abs(y) - hy, std::abs(z) - hz, g0, g1, g2);
    gx = std::copysign(g0, x);
    gy = std::copysign(g1, y);
    gz = std::copysign(g2, z);
  }
  [[nodiscard]] Aabb bounds() const override { return centered(Vec3(hx, hy, hz)); }
  [[nodiscard]] std::string name() const override { return "box"; }
  void add_surface(const SurfaceOptions& options, TriangleSoup& soup) const override {
    const Vec3 half(hx, hy, hz);
    for (int axis = 0; axis < 3; ++axis)
      for (const double side : {-1.0, 1.0}) {
        const int u = (axis + 1) % 3, v = (axis + 2) % 3;
        const Vec3 center = side * half[axis] * Vec3::Unit(axis);
        add_parallelogram(center, half[u] * Vec3::Unit(u), side * half[v] * Vec3::Unit(v), options, soup);
      }
  }
};

struct CapsuleSdf final : PointwiseSdf<CapsuleSdf> {
  double radius = 0.0, half = 0.0;
  void at(double x, double y, double z, double& d, double& gx, double& gy, double& gz) const {
    const double w = z - std::min(std::max(z, -half), half);
    const double r = std::sqrt(x * x + y * y + w * w), inverse = 1.0 / std::max(r, 1e-300);
    d = r - radius;
    gx = r > 0.0 ? x * inverse : 1.0;
    gy = y * inverse;
    gz = w * inverse;
  }
  [[nodiscard]] Aabb bounds() const override { return centered(Vec3(radius, radius, half + radius)); }
  [[nodiscard]] std::string name() const override { return "capsule"; }
  void add_surface(const SurfaceOptions& options, TriangleSoup& soup) const override {
    std::vector<Vec2> contour = sample_arc(Vec2(0.0, -half), radius, -0.5 * std::numbers::pi, 0.0, options);
    add_segment(Vec2(radius, half), options, contour);
    append(sample_arc(Vec2(0.0, half), radius, 0.0, 0.5 * std::numbers::pi, options), contour);
    add_revolved(contour, options, soup);
  }
};

struct CylinderSdf final : PointwiseSdf<CylinderSdf> {
  double radius = 0.0, half = 0.0;
  void at(double x, double y, double z, double& d, double& gx, double& gy, double& gz) const {
    const double r = std::sqrt(x * x + y * y), inverse = 1.0 / std::max(r, 1e-300);
    double g0, g1, g2;
    d = box_distance(r - radius, std::abs(z) - half, -kInfinity, g0, g1, g2);
    gx = r > 0.0 ? g0 * x * inverse : g0;
    gy = g0 * y * inverse;
    gz = std::copysign(g1, z);
  }
  [[nodiscard]] Aabb bounds() const override { return centered(Vec3(radius, radius, half)); }
  [[nodiscard]] std::string name() const override { return "cylinder"; }
  void add_surface(const SurfaceOptions& options, TriangleSoup& soup) const override {
    std::vector<Vec2> contour{Vec2(0.0, -half)};
    add_segment(Vec2(radius, -half), options, contour);
    add_segment(Vec2(radius, half), options, contour);
    add_segment(Vec2(0.0, half), options, contour);
    add_revolved(contour, options, soup);
  }
};

/// The closest point x of an ellipsoid to p has x_i = e_i² p_i / (t + e_i²), where t is the largest root of
/// F(t) = Σ (e_i p_i / (t + e_i²))² - 1. F is convex and falls: Newton's method from the left never overshoots.
struct EllipsoidSdf final : PointwiseSdf<EllipsoidSdf> {
  static constexpr double kFineChord = 2e-5;  // of the unit sphere
  double ex = 0.0, ey = 0.0, ez = 0.0;
  void at(double x, double y, double z, double& d, double& gx, double& gy, double& gz) const {
    constexpr int kSteps = 24;
    constexpr double kTiny = 1e-9;  // points on a plane of symmetry are taken a hair off it
    const double px = std::max(std::abs(x), kTiny * ex), py = std::max(std::abs(y), kTiny * ey),
                 pz = std::max(std::abs(z), kTiny * ez);
    const double xx = ex * ex, yy = ey * ey, zz = ez * ez;
    double t = std::max(ex * px - xx, std::max(ey * py - yy, ez * pz - zz));
    for (int k = 0; k < kSteps; ++k) {
      const double ix = 1.0 / (t + xx), iy = 1.0 / (t + yy), iz = 1.0 / (t + zz);
      const double ax = ex * px * ix, ay = ey * py * iy, az = ez * pz * iz;
      const double f = ax * ax + ay * ay + az * az - 1.0;
      t += std::max(0.5 * f / (ax * ax * ix + ay * ay * iy + az * az * iz), 0.0);
    }
    const double cx = px / (t + xx), cy = py / (t + yy), cz = pz / (t + zz);  // normal, times a factor
    const double dx = px - xx * cx, dy = py - yy * cy, dz = pz - zz * cz;
    const double inverse = 1.0 / std::sqrt(cx * cx + cy * cy + cz * cz);
    d = std::copysign(std::sqrt(dx * dx + dy * dy + dz * dz), t);
    gx = std::copysign(cx * inverse, x);
    gy = std::copysign(cy * inverse, y);
    gz = std::copysign(cz * inverse, z);
  }
  [[nodiscard]] Aabb bounds() const override { return centered(Vec3(ex, ey, ez)); }
  [[nodiscard]] double slack() const override { return 1e-6; }
  [[nodiscard]] std::string name() const override { return "ellipsoid"; }
  void add_surface(const SurfaceOptions& options, TriangleSoup& soup) const override {
    // A sphere, stretched: chords are longest where the curvature is largest.
    const Vec3 radii(ex, ey, ez);
    const double largest = radii.maxCoeff(), smallest = radii.minCoeff();
    // No finer than any ellipsoid needs: a chord's error grows at most by the longest radius.
    const double chord = std::max(options.chord_error * smallest / (largest * largest),
                                  std::min(options.chord_error / largest, kFineChord));
    const SurfaceOptions finer{options.max_edge / largest, chord};
    const std::size_t first = soup.vertices.size();
    SphereSdf ball;
    ball.radius = 1.0;
    ball.add_surface(finer, soup);
    for (std::size_t i = first; i < soup.vertices.size(); ++i) soup.vertices[i] = soup.vertices[i].cwiseProduct(radii);
  }
};

struct HexagonSdf final : PointwiseSdf<HexagonSdf> {
  double apothem = 0.0, half = 0.0;
  void at(double x, double y, double z, double& d, double& gx, double& gy, double& gz) const {
    // Folded into the twelfth between the middle of a flat, at 0°, and a corner, at 30°.
    constexpr double kCos = 0.86602540378443864676, kSin = 0.5, kTan = 0.57735026918962576451;
    const double ax = std::abs(x), ay = std::abs(y);
    const bool mirrored = ay > kTan * ax;
    const double along = 2.0 * (kCos * ax + kSin * ay);
    const double mx = mirrored ? along * kCos - ax : ax, my = mirrored ? along * kSin - ay : ay;
    // Outside a corner both faces of it are beyond: the vector to the corner.
    const double qx = mx - apothem, qy = std::abs(my) - apothem * kTan, qz = std::abs(z) - half;
    const double over = std::max(qy, 0.0);
    const double flat = qx > 0.0 ? std::sqrt(qx * qx + over * over) : qx, inverse = 1.0 / std::max(flat, 1e-300);
    const double fx = qx > 0.0 ? qx * inverse : 1.0, fy = qx > 0.0 ? std::copysign(over * inverse, my) : 0.0;
    double g0, g1, g2;
    d = box_distance(flat, qz, -kInfinity, g0, g1, g2);
    const double back = 2.0 * (kCos * fx + kSin * fy);
    gx = std::copysign(1.0, x) * g0 * (mirrored ? back * kCos - fx : fx);
    gy = std::copysign(1.0, y) * g0 * (mirrored ? back * kSin - fy : fy);
    gz = std::copysign(g1, z);
  }
  [[nodiscard]] Aabb bounds() const override { return centered(Vec3(apothem, apothem / kCos30, half)); }
  [[nodiscard]] std::string name() const override { return "hexagon"; }
  void add_surface(const SurfaceOptions& options, TriangleSoup& soup) const override {
    const double side = apothem * kTan30;
    for (int k = 0; k < 6; ++k) {
      const double a = k * std::numbers::pi / 3.0;
      const Vec3 n(std::cos(a), std::sin(a), 0.0), u(-std::sin(a), std::cos(a), 0.0);
      add_parallelogram(apothem * n, side * u, half * Vec3::UnitZ(), options, soup);
      for (const double z : {-half, half}) {
        const Vec3 corner0 = apothem * n - side * u + z * Vec3::UnitZ(), corner1 = corner0 + 2.0 * side * u;
        const Vec3 middle = z * Vec3::UnitZ();
        if (z > 0.0) {
          add_triangle(middle, corner0, corner1, options, soup);
        } else {
          add_triangle(middle, corner1, corner0, options, soup);
        }
      }
    }
  }
  static constexpr double kCos30 = 0.86602540378443864676, kTan30 = 0.57735026918962576451;
};

// ---- Operations ----

// What is asked of children is asked once, when the operation is made: a shape that is part of others many times over
// would otherwise be asked at every level by all that hold it.
struct Operation : Sdf {
  Aabb box;
  bool is_exact = false;
  double most_slack = 0.0;
  using Sdf::sample;
  [[nodiscard]] Aabb bounds() const final { return box; }
  [[nodiscard]] bool exact() const final { return is_exact; }
  [[nodiscard]] double slack() const final { return most_slack; }
};

struct OffsetSdf final : Operation {
  SdfPtr child;
  double r = 0.0;
  using Sdf::sample;
  void sample(SdfBlock& b) const override {
    child->sample(b);
    for (int i = 0; i < b.count; ++i) b.d[i] -= r;
  }
  [[nodiscard]] std::string name() const override { return "offset of " + child->name(); }
};

struct PosedSdf final : Operation {
  SdfPtr child;
  Pose X, back;
  using Sdf::sample;
  void sample(SdfBlock& b) const override {
    SdfBlock inner;
    inner.count = b.count;
    for (int i = 0; i < b.count; ++i) inner.set(i, back * b.point(i));
    child->sample(inner);
    for (int i = 0; i < b.count; ++i) {
      const Vec3 g = X.R * inner.gradient(i);
      b.d[i] = inner.d[i];
      b.gx[i] = g.x();
      b.gy[i] = g.y();
      b.gz[i] = g.z();
    }
  }
  [[nodiscard]] std::string name() const override { return child->name(); }
  void add_surface(const SurfaceOptions& options, TriangleSoup& soup) const override {
    const std::size_t first = soup.vertices.size();
    child->add_surface(options, soup);
    for (std::size_t i = first; i < soup.vertices.size(); ++i) soup.vertices[i] = X * soup.vertices[i];
  }
};

/// Takes over b's answers where they are below (sign = 1) or where minus them is above (sign = -1).
template <class Better>
void merge(const SdfBlock& from, double sign, const Better& better, SdfBlock& to) {
  for (int i = 0; i < to.count; ++i) {
    const double d = sign * from.d[i];
    const bool take = better(d, to.d[i]);
    to.d[i] = take ? d : to.d[i];
    to.gx[i] = take ? sign * from.gx[i] : to.gx[i];
    to.gy[i] = take ? sign * from.gy[i] : to.gy[i];
    to.gz[i] = take ? sign * from.gz[i] : to.gz[i];
  }
}

void copy_points(const SdfBlock& from, SdfBlock& to) {
  to.count = from.count;
  std::copy_n(from.x, from.count, to.x);
  std::copy_n(from.y, from.count, to.y);
  std::copy_n(from.z, from.count, to.z);
}

/// Whether some point of the block is nearer to a box than its answer so far.
bool may_be_nearer(const SdfBlock& b, const Aabb& box) {
  int any = 0;
  for (int i = 0; i < b.count; ++i) {
    const double x = std::max(std::max(box.lower.x() - b.x[i], b.x[i] - box.upper.x()), 0.0),
                 y = std::max(std::max(box.lower.y() - b.y[i], b.y[i] - box.upper.y()), 0.0),
                 z = std::max(std::max(box.lower.z() - b.z[i], b.z[i] - box.upper.z()), 0.0);
    const double d = std::max(b.d[i], 0.0);
    any |= static_cast<int>(x * x + y * y + z * z <= d * d);
  }
  return any != 0;
}

/// Boxes of a union's children, halved down to single ones: a node's children are the next node and `second`.
struct BoxNode {
  Aabb box;
  int child = -1, second = -1;
};

void add_box_node(const std::vector<Aabb>& boxes, int* begin, int* end, std::vector<BoxNode>& nodes) {
  const auto number = nodes.size();
  Aabb all, centers;
  for (const int* k = begin; k < end; ++k) {
    all.lower = all.lower.cwiseMin(boxes[*k].lower);
    all.upper = all.upper.cwiseMax(boxes[*k].upper);
    centers.add(boxes[*k].lower + boxes[*k].upper);
  }
  nodes.push_back({all, end - begin == 1 ? *begin : -1, -1});
  if (end - begin == 1) return;
  int axis = 0;
  (centers.upper - centers.lower).maxCoeff(&axis);
  int* middle = begin + (end - begin) / 2;
  std::nth_element(begin, middle, end, [&](int i, int j) {
    return boxes[i].lower[axis] + boxes[i].upper[axis] < boxes[j].lower[axis] + boxes[j].upper[axis];
  });
  add_box_node(boxes, begin, middle, nodes);
  nodes[number].second = static_cast<int>(nodes.size());
  add_box_node(boxes, middle, end, nodes);
}

struct UnionSdf final : Operation {
  static constexpr std::size_t kFew = 8;  // children that are asked one after the other
  std::vector<SdfPtr> children;
  std::vector<Aabb> boxes;     // (children)
  std::vector<BoxNode> nodes;  // where there are more than a few
  using Sdf::sample;
  void sample(SdfBlock& b) const override {
    SdfBlock other;
    copy_points(b, other);
    const auto ask = [&](std::size_t k) {
      if (!may_be_nearer(b, boxes[k])) return;
      children[k]->sample(other);
      merge(
          other, 1.0, [](double d, double best) { return d < best; }, b);
    };
    if (nodes.empty()) {
      children[0]->sample(b);
      for (std::size_t k = 1; k < children.size(); ++k) ask(k);
      return;
    }
    std::fill_n(b.d, b.count, kInfinity);
    int open[64], top = 0;
    open[top++] = 0;
    const auto squared = [&](int node) {
      const Vec3 p = b.point(0);
      return (nodes[node].box.lower - p).cwiseMax(p - nodes[node].box.upper).cwiseMax(0.0).squaredNorm();
    };
    while (top > 0) {
      const int node = open[--top], first = node + 1, second = nodes[node].second;
      if (nodes[node].child >= 0) {
        ask(static_cast<std::size_t>(nodes[node].child));
      } else if (may_be_nearer(b, nodes[node].box)) {
        const bool in_order = squared(first) <= squared(second);
        open[top++] = in_order ? second : first;
        open[top++] = in_order ? first : second;
      }
    }
  }
  [[nodiscard]] std::string name() const override { return "union"; }
  void add_surface(const SurfaceOptions& options, TriangleSoup& soup) const override {
    add_clipped(children, 1.0, options, soup);
  }

  static double largest_slack(const std::vector<SdfPtr>& children) {
    double slack = 0.0;
    for (const SdfPtr& child : children) slack = std::max(slack, child->slack());
    return slack;
  }
  /// The children's surfaces, each where sign * φ of all others is positive. Where surfaces coincide, that of the
  /// first.
  static void add_clipped(const std::vector<SdfPtr>& children, double sign, const SurfaceOptions& options,
                          TriangleSoup& soup) {
    for (std::size_t k = 0; k < children.size(); ++k) {
      TriangleSoup own;
      children[k]->add_surface(options, own);
      Aabb box = box_of(own);
      for (std::size_t other = 0; other < children.size() && !own.triangles.empty(); ++other) {
        // What a union's part lies outside the box of does not cut it.
        if (other == k || (sign > 0.0 && !box.overlaps(children[other]->bounds()))) continue;
        clip_surface(*children[k], *children[other], sign, k < other ? Coincident::kKeepAlike : Coincident::kDrop, 0,
                     own);
        box = box_of(own);
      }
      append_soup(own, soup);
      check_triangle_count(static_cast<double>(soup.triangles.size()), options);
    }
  }

 private:
  static Aabb box_of(const TriangleSoup& soup) {
    Aabb box;
    for (const auto& triangle : soup.triangles)
      for (const int v : triangle) box.add(soup.vertices[v]);
    return box;
  }
  static void append_soup(const TriangleSoup& from, TriangleSoup& to) {
    const int first = static_cast<int>(to.vertices.size());
    to.vertices.insert(to.vertices.end(), from.vertices.begin(), from.vertices.end());
    for (const auto& [i, j, k] : from.triangles) to.triangles.push_back({first + i, first + j, first + k});
  }
};

struct IntersectionSdf final : Operation {
  std::vector<SdfPtr> children;
  using Sdf::sample;
  void sample(SdfBlock& b) const override {
    SdfBlock other;
    copy_points(b, other);
    children[0]->sample(b);
    for (std::size_t k = 1; k < children.size(); ++k) {
      children[k]->sample(other);
      merge(
          other, 1.0, [](double d, double best) { return d > best; }, b);
    }
  }
  [[nodiscard]] std::string name() const override { return "intersection"; }
  void add_surface(const SurfaceOptions& options, TriangleSoup& soup) const override {
    UnionSdf::add_clipped(children, -1.0, options, soup);
  }
};

struct DifferenceSdf final : Operation {
  SdfPtr a, b;
  using Sdf::sample;
  void sample(SdfBlock& block) const override {
    SdfBlock other;
    copy_points(block, other);
    a->sample(block);
    b->sample(other);
    merge(
        other, -1.0, [](double d, double best) { return d > best; }, block);
  }
  [[nodiscard]] std::string name() const override { return "difference"; }
  void add_surface(const SurfaceOptions& options, TriangleSoup& soup) const override {
    std::size_t first = soup.triangles.size();
    a->add_surface(options, soup);
    clip_surface(*a, *b, 1.0, Coincident::kKeepOpposed, first, soup);
    first = soup.triangles.size();
    b->add_surface(options, soup);
    clip_surface(*b, *a, -1.0, Coincident::kDrop, first, soup);
    for (std::size_t t = first; t < soup.triangles.size(); ++t) std::swap(soup.triangles[t][1], soup.triangles[t][2]);
  }
};

bool is_empty(const Aabb& box) { return (box.lower.array() >= box.upper.array()).any(); }

void check_children(const std::vector<SdfPtr>& children, const char* what) {
  require(!children.empty(), std::string(what) + " of nothing, expected at least one shape");
  for (std::size_t k = 0; k < children.size(); ++k)
    require(children[k] != nullptr, std::string(what) + ": shape " + std::to_string(k) + " is missing");
}

}  // namespace

void Sdf::add_surface(const SurfaceOptions& options, TriangleSoup& soup) const { add_contoured(*this, options, soup); }

SdfSample Sdf::sample(const Vec3& p) const {
  SdfBlock block;
  block.add(p);
  sample(block);
  return {block.d[0], block.gradient(0)};
}

SdfPtr make_sphere_sdf(double radius) {
  check_positive(radius, "radius");
  auto sdf = std::make_shared<SphereSdf>();
  sdf->radius = radius;
  return sdf;
}

SdfPtr make_box_sdf(const Vec3& half) {
  for (const double h : half) check_positive(h, "half edge");
  auto sdf = std::make_shared<BoxSdf>();
  sdf->hx = half.x();
  sdf->hy = half.y();
  sdf->hz = half.z();
  return sdf;
}

SdfPtr make_capsule_sdf(double radius, double half_length) {
  check_positive(radius, "radius");
  require(std::isfinite(half_length) && half_length >= 0.0,
          "half length is " + to_text(half_length) + ", expected finite and >= 0");
  auto sdf = std::make_shared<CapsuleSdf>();
  sdf->radius = radius;
  sdf->half = half_length;
  return sdf;
}

SdfPtr make_cylinder_sdf(double radius, double half_length) {
  check_positive(radius, "radius");
  check_positive(half_length, "half length");
  auto sdf = std::make_shared<CylinderSdf>();
  sdf->radius = radius;
  sdf->half = half_length;
  return sdf;
}

SdfPtr make_cone_sdf(double radius, double half_length) {
  check_positive(radius, "radius");
  check_positive(half_length, "half length");
  return make_revolved_solid({Vec2(0.0, -half_length), Vec2(radius, -half_length), Vec2(0.0, half_length)});
}

SdfPtr make_ellipsoid_sdf(const Vec3& radii) {
  for (const double r : radii) check_positive(r, "radius");
  auto sdf = std::make_shared<EllipsoidSdf>();
  sdf->ex = radii.x();
  sdf->ey = radii.y();
  sdf->ez = radii.z();
  return sdf;
}

SdfPtr make_hexagon_sdf(double across_flats, double half_height) {
  check_positive(across_flats, "width across flats");
  check_positive(half_height, "half height");
  auto sdf = std::make_shared<HexagonSdf>();
  sdf->apothem = 0.5 * across_flats;
  sdf->half = half_height;
  return sdf;
}

SdfPtr make_offset(SdfPtr child, double r) {
  check_children({child}, "offset");
  require(std::isfinite(r), "offset is " + to_text(r) + ", expected a finite number");
  auto sdf = std::make_shared<OffsetSdf>();
  sdf->box = child->bounds();
  sdf->box.lower.array() -= r;
  sdf->box.upper.array() += r;
  sdf->is_exact = child->exact() && r >= 0.0;
  sdf->most_slack = child->slack();
  sdf->child = std::move(child);
  sdf->r = r;
  return sdf;
}

SdfPtr make_posed(SdfPtr child, const Pose& X) {
  check_children({child}, "pose");
  const double off = (X.R.transpose() * X.R - Mat3::Identity()).norm(), volume = X.R.determinant();
  require(X.p.allFinite(), "pose: position is (" + to_text(X.p.x()) + ", " + to_text(X.p.y()) + ", " +
                               to_text(X.p.z()) + "), expected finite numbers");
  require(off < 1e-6 && volume > 0.0, "pose: the matrix has a determinant of " + to_text(volume) +
                                          " and axes off right angles and unit lengths by " + to_text(off) +
                                          ", expected a rotation");
  auto sdf = std::make_shared<PosedSdf>();
  const Aabb box = child->bounds();
  for (int k = 0; k < 8; ++k)
    sdf->box.add(X * Vec3((k & 1) != 0 ? box.upper.x() : box.lower.x(), (k & 2) != 0 ? box.upper.y() : box.lower.y(),
                          (k & 4) != 0 ? box.upper.z() : box.lower.z()));
  sdf->is_exact = child->exact();
  sdf->most_slack = child->slack();
  sdf->child = std::move(child);
  sdf->X = X;
  sdf->back = X.inverse();
  return sdf;
}

SdfPtr make_union(std::vector<SdfPtr> children) {
  check_children(children, "union");
  auto sdf = std::make_shared<UnionSdf>();
  sdf->is_exact = true;
  for (const SdfPtr& child : children) {
    const Aabb box = child->bounds();
    sdf->boxes.push_back(box);
    if (is_empty(box)) continue;
    sdf->box.add(box.lower);
    sdf->box.add(box.upper);
    sdf->is_exact = sdf->is_exact && child->exact();
  }
  if (children.size() > UnionSdf::kFew) {
    std::vector<int> order(children.size());
    std::iota(order.begin(), order.end(), 0);
    add_box_node(sdf->boxes, order.data(), order.data() + order.size(), sdf->nodes);
  }
  sdf->most_slack = UnionSdf::largest_slack(children);
  sdf->children = std::move(children);
  return sdf;
}

SdfPtr make_intersection(std::vector<SdfPtr> children) {
  check_children(children, "intersection");
  auto sdf = std::make_shared<IntersectionSdf>();
  sdf->box = children[0]->bounds();
  for (const SdfPtr& child : children) {
    const Aabb box = child->bounds();
    sdf->box.lower = sdf->box.lower.cwiseMax(box.lower);
    sdf->box.upper = sdf->box.upper.cwiseMin(box.upper);
  }
  sdf->most_slack = UnionSdf::largest_slack(children);
  sdf->children = std::move(children);
  return sdf;
}

SdfPtr make_difference(SdfPtr a, SdfPtr b) {
  check_children({a, b}, "difference");
  auto sdf = std::make_shared<DifferenceSdf>();
  sdf->box = a->bounds();
  sdf->most_slack = std::max(a->slack(), b->slack());
  sdf->a = std::move(a);
  sdf->b = std::move(b);
  return sdf;
}

}  // namespace almond
