#include "almond/collision/gjk.hpp"

#include <Eigen/Geometry>
#include <algorithm>
#include <cmath>

#include "almond/collision/polish.hpp"

namespace almond {
namespace {

constexpr int kMaxIterations = 64;
constexpr int kMaxStalls = 6;
constexpr double kTouching = 1e-12;  // of the size: nearer cores leave no digits of the normal

/// Weights of the point of a face nearest to the origin, and which of the points carry them.
struct Nearest {
  Vec3 v = Vec3::Zero();
  double distance2 = kInfinity;
  int count = 0;
  int index[3] = {};
  double weight[3] = {};
};

void take_if_nearer(const Nearest& candidate, Nearest& best) {
  if (candidate.distance2 < best.distance2) best = candidate;
}

Nearest nearest_on_segment(const DifferencePoint* p, int i, int j) {
  const Vec3 &a = p[i].y, &b = p[j].y;
  const Vec3 e = b - a;
  const double length2 = e.squaredNorm();
  // Measured from the nearer end, so that its small coordinates keep their digits.
  const bool from_a = a.squaredNorm() <= b.squaredNorm();
  double t = length2 > 0.0 ? (from_a ? -e.dot(a) : e.dot(b)) / length2 : 0.0;
  if (!from_a) t = 1.0 - t;
  Nearest result;
  if (!(t > 0.0) || !(t < 1.0)) {
    const int k = t > 0.0 ? j : i;
    result.count = 1;
    result.index[0] = k;
    result.weight[0] = 1.0;
    result.v = p[k].y;
  } else {
    result.count = 2;
    result.index[0] = i;
    result.index[1] = j;
    result.weight[0] = 1.0 - t;
    result.weight[1] = t;
    result.v = from_a ? Vec3(a + t * e) : Vec3(b - (1.0 - t) * e);
  }
  result.distance2 = result.v.squaredNorm();
  return result;
}

Nearest nearest_on_triangle(const DifferencePoint* p, int i, int j, int k) {
  const Vec3 &a = p[i].y, &b = p[j].y, &c = p[k].y;
  const Vec3 ab = b - a, ac = c - a, n = ab.cross(ac);
  const double n2 = n.squaredNorm();
  if (n2 > 0.0) {
    const double u = -n.dot(a.cross(ac)) / n2, w = -n.dot(ab.cross(a)) / n2;
    if (u > 0.0 && w > 0.0 && u + w < 1.0) {
      Nearest result;
      result.count = 3;
      result.index[0] = i;
      result.index[1] = j;
      result.index[2] = k;
      result.weight[0] = 1.0 - u - w;
      result.weight[1] = u;
      result.weight[2] = w;
      result.v = a + u * ab + w * ac;
      result.distance2 = result.v.squaredNorm();
      return result;
    }
  }
  Nearest best = nearest_on_segment(p, i, j);
  take_if_nearer(nearest_on_segment(p, j, k), best);
  take_if_nearer(nearest_on_segment(p, i, k), best);
  return best;
}

Nearest nearest_on_tetrahedron(const DifferencePoint* p, bool& inside) {
  static constexpr int kFaces[4][4] = {{0, 1, 2, 3}, {0, 1, 3, 2}, {0, 2, 3, 1}, {1, 2, 3, 0}};
  Nearest best;
  inside = true;
  double size2 = 0.0;
  for (int i = 0; i < 4; ++i) size2 = std::max(size2, p[i].y.squaredNorm());
  const double rounding = 4.0 * kEpsilon * std::sqrt(size2);
  for (const auto& f : kFaces) {
    const Vec3& a = p[f[0]].y;
    const Vec3 ab = p[f[1]].y - a, ac = p[f[2]].y - a, n = ab.cross(ac), opposite = p[f[3]].y - a;
    const double height = n.dot(opposite), origin = -n.dot(a);
    // Inside is said only where rounding cannot have decided it: the points carry errors of `rounding`, the normal of
    // `tilt`. In doubt the face is looked at, and a face that the origin lies on is near enough.
    const double tilt = rounding * (ab.norm() + ac.norm()), shift = rounding * n.norm();
    const bool certain =
        std::abs(height) > tilt * opposite.norm() + shift && std::abs(origin) > tilt * a.norm() + shift;
    if (certain && height * origin > 0.0) continue;
    inside = false;
    take_if_nearer(nearest_on_triangle(p, f[0], f[1], f[2]), best);
  }
  return best;
}

/// Direction from v to the origin. Near contact v itself has few digits left, so it is made exactly perpendicular to
/// the edge or face it lies on.
Vec3 make_normal(const Simplex& simplex, const Vec3& v, double distance) {
  const auto& p = simplex.point;
  const Vec3 n = -v / distance;
  if (simplex.count == 2) {
    const Vec3 e = p[1].y - p[0].y;
    const Vec3 across = n - e * (e.dot(n) / e.squaredNorm());
    if (across.norm() > 0.5) return across.normalized();
  }
  if (simplex.count == 3) {
    const Vec3 e = p[1].y - p[0].y, f = p[2].y - p[0].y, normal = e.cross(f);
    const double area = normal.norm(), length = std::max({e.norm(), f.norm(), (f - e).norm()});
    // A sliver's plane is known less well than v.
    if (area > distance * length) return normal * (normal.dot(n) < 0.0 ? -1.0 / area : 1.0 / area);
  }
  return n;
}

bool is_known(const Simplex& simplex, const Vec3& y) {
  for (int i = 0; i < simplex.count; ++i)
    if (simplex.point[i].y == y) return true;
  return false;
}

CoreDistance make_distance(const Simplex& simplex, const Vec3& n) {
  CoreDistance result;
  result.n = n;
  Vec3 v = Vec3::Zero();
  for (int i = 0; i < simplex.count; ++i) v += simplex.weight[i] * simplex.point[i].y;
  result.gap = -n.dot(v);
  for (int i = 0; i < simplex.count; ++i) {
    result.p_a += simplex.weight[i] * simplex.point[i].a;
    result.p_b += simplex.weight[i] * simplex.point[i].b;
  }
  return result;
}

}  // namespace

Vec3 reduce_simplex(Simplex& simplex) {
  Nearest nearest;
  const DifferencePoint* p = simplex.point;
  if (simplex.count == 1) {
    simplex.weight[0] = 1.0;
    return p[0].y;
  }
  if (simplex.count == 2) nearest = nearest_on_segment(p, 0, 1);
  if (simplex.count == 3) nearest = nearest_on_triangle(p, 0, 1, 2);
  if (simplex.count == 4) {
    bool inside = false;
    nearest = nearest_on_tetrahedron(p, inside);
    if (inside) return Vec3::Zero();
  }
  const Simplex old = simplex;
  simplex.count = nearest.count;
  for (int i = 0; i < nearest.count; ++i) {
    simplex.point[i] = old.point[nearest.index[i]];
    simplex.weight[i] = nearest.weight[i];
  }
  return nearest.v;
}

GjkState solve_gjk(Difference& difference, Simplex& simplex, CoreDistance& result) {
  const double size = difference.size();
  const Vec3 first = difference.X_ab.p.squaredNorm() > 0.0 ? difference.X_ab.p : Vec3(Vec3::UnitX());
  simplex.count = 1;
  simplex.point[0] = difference.support(first);
  simplex.weight[0] = 1.0;
  Vec3 v = simplex.point[0].y;
  CoreDistance best;
  double least_gap = kInfinity, polish_below = 1e-2;
  int stalls = 0;
  for (int iteration = 0; iteration < kMaxIterations && stalls < kMaxStalls; ++iteration) {
    const double distance = v.norm();
    if (distance <= kTouching * size) return GjkState::kTouching;
    ++result.iterations;
    const Vec3 n = make_normal(simplex, v, distance);
    const DifferencePoint w = difference.support(n);
    const double duality_gap = n.dot(w.y - v);
    if (duality_gap < least_gap) {
      least_gap = duality_gap;
      best = make_distance(simplex, n);
    }
    if (duality_gap <= 1e-14 * (size + distance) || is_known(simplex, w.y)) break;
    // Near the end smooth surfaces let the simplex close in by a constant factor only; Newton's method squares the
    // error.
    if (difference.curved() && duality_gap < polish_below * size) {
      polish_below = 1e-3 * duality_gap / size;
      // Only between cores apart is a valley the answer; EPA looks at all of them.
      CoreDistance polished;
      const bool found = polish_normal(difference, simplex, n, polished);
      result.iterations += polished.iterations;
      if (found && polished.gap > 0.0) {
        polished.iterations = result.iterations;
        result = polished;
        return GjkState::kApart;
      }
    }
    Simplex next = simplex;
    next.point[next.count++] = w;
    const Vec3 v_next = reduce_simplex(next);
    simplex = next;
    if (next.count == 4) return GjkState::kTouching;
    // The length of v stops to shrink while its direction still improves: a normal off by δ costs δ²/2 of it only.
    if (!(v_next.squaredNorm() < v.squaredNorm())) ++stalls;
    v = v_next;
  }
  best.converged = least_gap <= 1e-10 * (size + best.gap);
  // Too near for GJK's rounding, near enough for EPA.
  if (!best.converged && best.gap < 1e-6 * size) return GjkState::kTouching;
  best.iterations = result.iterations;
  result = best;
  return GjkState::kApart;
}

}  // namespace almond
