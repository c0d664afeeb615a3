// Two convex facets are projected along n onto a plane; the shadows are intersected there by clipping one against the
// lines of the other (Sutherland and Hodgman), every corner keeping the name of what it came from. Heights along n are
// affine over each facet, so the gap at a corner is exact.

#include "almond/collision/patch.hpp"

#include <algorithm>
#include <array>
#include <cmath>

namespace almond {

namespace {

constexpr int kMaxCorners = 2 * Facet::kMax + 2;
constexpr double kRelativeTolerance = 1e-6;  // of the smaller facet: what lies this near to a line lies on it
constexpr double kSteep = 0.05;              // cosine below which a facet is seen from the side: an edge
constexpr double kParallel = 1e-3;           // sine below which two edges touch along a length

double cross2(const Vec2& a, const Vec2& b) { return a.x() * b.y() - a.y() * b.x(); }

/// A facet seen along n: corners in the plane (counterclockwise), height h(q) = h0 + gᵀ(q - c).
struct Shadow {
  int count = 0;
  std::array<Vec2, Facet::kMax> q;
  std::array<std::uint32_t, Facet::kMax> id;
  Vec2 c = Vec2::Zero(), g = Vec2::Zero();
  double h0 = 0.0;
  double extent = 0.0;  // largest distance from the first corner

  [[nodiscard]] double height(const Vec2& at) const { return h0 + g.dot(at - c); }
};

/// Heights along the chord from corner i to corner k.
void set_edge_heights(Shadow& shadow, const Vec2& qi, const Vec2& qk, double hi, double hk) {
  const Vec2 d = qk - qi;
  const double length2 = d.squaredNorm();
  shadow.c = qi;
  shadow.h0 = hi;
  shadow.g = length2 > 0.0 ? Vec2(d * ((hk - hi) / length2)) : Vec2(Vec2::Zero());
}

/// `frame` has columns (t1, t2, n); all coordinates are relative to `origin`.
void make_shadow(const Facet& facet, const Mat3& frame, const Vec3& origin, Shadow& shadow) {
  const int count = shadow.count = facet.count;
  std::array<double, Facet::kMax> h;
  Vec3 mean = Vec3::Zero();
  for (int k = 0; k < count; ++k) {
    const Vec3 local = frame.transpose() * (facet.vertex[k] - origin);
    shadow.q[k] = local.head<2>();
    h[k] = local.z();
    shadow.id[k] = facet.id[k];
    mean += local;
    shadow.extent = std::max(shadow.extent, (shadow.q[k] - shadow.q[0]).norm());
  }
  if (count == 0) return;
  if (count >= 3) {
    // Normal by Newell's sum: right for any planar polygon, and its length tells the area.
    Vec3 normal = Vec3::Zero();
    for (int k = 0; k < count; ++k) {
      const int next = k + 1 == count ? 0 : k + 1;
      const Vec3 u(shadow.q[k].x() - shadow.q[0].x(), shadow.q[k].y() - shadow.q[0].y(), h[k] - h[0]);
      const Vec3 w(shadow.q[next].x() - shadow.q[0].x(), shadow.q[next].y() - shadow.q[0].y(), h[next] - h[0]);
      normal += u.cross(w);
    }
    const double size = normal.norm();
    if (std::abs(normal.z()) > kSteep * size && size > kRelativeTolerance * shadow.extent * shadow.extent) {
      mean /= count;
      shadow.c = mean.head<2>();
      shadow.h0 = mean.z();
      shadow.g = -normal.head<2>() / normal.z();
      if (normal.z() < 0.0) {
        std::reverse(shadow.q.begin(), shadow.q.begin() + count);
        std::reverse(shadow.id.begin(), shadow.id.begin() + count);
      }
      return;
    }
    // Seen from the side: its longest chord stands for it.
    int best_i = 0, best_k = 1;
    double best = -1.0;
    for (int i = 0; i < count; ++i) {
      for (int k = i + 1; k < count; ++k) {
        const double length2 = (shadow.q[k] - shadow.q[i]).squaredNorm();
        if (length2 > best) best = length2, best_i = i, best_k = k;
      }
    }
    const Vec2 qi = shadow.q[best_i], qk = shadow.q[best_k];
    const double hi = h[best_i], hk = h[best_k];
    const std::uint32_t id_i = shadow.id[best_i], id_k = shadow.id[best_k];
    shadow.q[0] = qi, shadow.q[1] = qk;
    h[0] = hi, h[1] = hk;
    shadow.id[0] = id_i, shadow.id[1] = id_k;
    shadow.count = 2;
  }
  set_edge_heights(shadow, shadow.q[0], shadow.q[shadow.count - 1], h[0], h[shadow.count - 1]);
}

/// Corner of the common shadow. `edge` is the line that leaves it: >= 0 an edge of the clipped facet, < 0 edge ~edge of
/// the clipping one.
struct Corner {
  Vec2 q;
  std::uint32_t name;
  int edge;
};

struct Corners {
  int count = 0;
  std::array<Corner, kMaxCorners> item;
  void add(const Corner& corner) {
    if (count < kMaxCorners) item[count++] = corner;
  }
};

/// The shadow that is clipped and the one that clips. `flipped`: the clipped one belongs to a.
struct Clip {
  const Shadow& subject;
  const Shadow& window;
  bool flipped;
  double tolerance;

  [[nodiscard]] std::uint32_t name_subject(int k) const {
    return flipped ? name_vertex_a(subject.id[k]) : name_vertex_b(subject.id[k]);
  }
  [[nodiscard]] std::uint32_t name_window(int k) const {
    return flipped ? name_vertex_b(window.id[k]) : name_vertex_a(window.id[k]);
  }
  [[nodiscard]] std::uint32_t name_cross(int edge_subject, int edge_window) const {
    const std::uint32_t s = subject.id[edge_subject], w = window.id[edge_window];
    return flipped ? name_crossing(s, w) : name_crossing(w, s);
  }
  /// The crossing of `edge` (as in Corner) with edge j of the window.
  [[nodiscard]] std::uint32_t name_meeting(int edge, int j) const {
    if (edge >= 0) return name_cross(edge, j);
    const int other = ~edge;
    return name_window(j == (other + 1) % window.count ? j : other == (j + 1) % window.count ? other : j);
  }
  /// Outward unit normal of edge j of the window; false where the edge has no length.
  [[nodiscard]] bool edge_normal(int j, Vec2& outward) const {
    const Vec2 d = window.q[(j + 1) % window.count] - window.q[j];
    const double length = d.norm();
    if (!(length > tolerance)) return false;
    outward = Vec2(d.y(), -d.x()) / length;
    return true;
  }
};

/// Polygon within polygon. Corners on a line (within the tolerance) are kept as they are and no crossing is made beside
/// them, so aligned faces keep the names of their vertices. Returns whichever buffer holds the answer.
const Corners& clip_polygon(const Clip& clip, Corners& one, Corners& other) {
  Corners *corners = &one, *next = &other;
  for (int k = 0; k < clip.subject.count; ++k) corners->add({clip.subject.q[k], clip.name_subject(k), k});
  for (int j = 0; j < clip.window.count && corners->count > 0; ++j) {
    Vec2 outward;
    if (!clip.edge_normal(j, outward)) continue;
    next->count = 0;
    double d = outward.dot(corners->item[0].q - clip.window.q[j]);
    for (int k = 0; k < corners->count; ++k) {
      const Corner& from = corners->item[k];
      const Corner& to = corners->item[k + 1 == corners->count ? 0 : k + 1];
      const double d_to = outward.dot(to.q - clip.window.q[j]);
      const bool from_in = d <= clip.tolerance, to_in = d_to <= clip.tolerance;
      if (from_in) next->add(from);
      if (from_in != to_in) {
        const bool strict = std::min(d, d_to) < -clip.tolerance;
        const int edge = from_in ? ~j : from.edge;
        if (strict) {
          next->add({from.q + (to.q - from.q) * (d / (d - d_to)), clip.name_meeting(from.edge, j), edge});
        } else if (from_in) {
          next->item[next->count - 1].edge = edge;
        }
      }
      d = d_to;
    }
    std::swap(corners, next);
  }
  return *corners;
}

/// Edge or point within polygon.
void clip_edge(const Clip& clip, Corners& corners) {
  const bool point = clip.subject.count == 1 || clip.subject.extent <= 0.0;
  const Vec2 start = clip.subject.q[0];
  const Vec2 d = point ? Vec2(Vec2::Zero()) : Vec2(clip.subject.q[1] - start);
  double low = 0.0, high = 1.0;
  std::uint32_t name_low = clip.name_subject(0), name_high = clip.name_subject(clip.subject.count - 1);
  for (int j = 0; j < clip.window.count; ++j) {
    Vec2 outward;
    if (!clip.edge_normal(j, outward)) continue;
    const double d0 = outward.dot(start - clip.window.q[j]), rate = outward.dot(d);
    const double d1 = d0 + rate;
    if (std::min(d0, d1) > clip.tolerance) return;
    if (d0 > clip.tolerance && -d0 / rate > low) low = -d0 / rate, name_low = clip.name_cross(0, j);
    if (d1 > clip.tolerance && -d0 / rate < high) high = -d0 / rate, name_high = clip.name_cross(0, j);
  }
  const double slack = clip.subject.extent > 0.0 ? clip.tolerance / clip.subject.extent : 0.0;
  if (low > high + slack) return;
  corners.add({start + low * d, name_low, 0});
  if (!point && high > low + slack) corners.add({start + high * d, name_high, 0});
}

/// Edge or point against edge or point. Parallel edges share a length, others cross in one point.
void meet_edges(const Clip& clip, Corners& corners) {
  const Shadow &s = clip.subject, &w = clip.window;
  if (s.count == 1 || s.extent <= clip.tolerance) return corners.add({s.q[0], clip.name_subject(0), 0});
  if (w.count == 1 || w.extent <= clip.tolerance) return corners.add({w.q[0], clip.name_window(0), 0});
  const Vec2 u = s.q[1] - s.q[0], v = w.q[1] - w.q[0], r = w.q[0] - s.q[0];
  const double uu = u.squaredNorm(), sine = cross2(u, v);
  if (sine * sine > kParallel * kParallel * uu * v.squaredNorm()) {
    const double t = cross2(r, v) / sine, x = cross2(r, u) / sine;
    const double slack_t = clip.tolerance / s.extent, slack_x = clip.tolerance / w.extent;
    if (t < -slack_t || t > 1.0 + slack_t || x < -slack_x || x > 1.0 + slack_x) return;
    return corners.add({s.q[0] + std::clamp(t, 0.0, 1.0) * u, clip.name_cross(0, 0), 0});
  }
  double t0 = r.dot(u) / uu, t1 = (w.q[1] - s.q[0]).dot(u) / uu;
  int first = 0, second = 1;
  if (t0 > t1) std::swap(t0, t1), std::swap(first, second);
  const double slack = clip.tolerance / s.extent;
  const double low = t0 > slack ? t0 : 0.0, high = t1 < 1.0 - slack ? t1 : 1.0;
  if (low > high + slack) return;
  corners.add({s.q[0] + low * u, t0 > slack ? clip.name_window(first) : clip.name_subject(0), 0});
  if (high > low + slack) {
    corners.add({s.q[0] + high * u, t1 < 1.0 - slack ? clip.name_window(second) : clip.name_subject(1), 0});
  }
}

}  // namespace

std::uint32_t name_vertex_a(std::uint32_t id) { return 0x40000000U | (id & 0x3fffffffU); }
std::uint32_t name_vertex_b(std::uint32_t id) { return id & 0x3fffffffU; }
std::uint32_t name_crossing(std::uint32_t edge_a, std::uint32_t edge_b) {
  return 0x80000000U | ((edge_a & 0x7fffU) << 15) | (edge_b & 0x7fffU);
}

int add_patch(const Facet& a, const Facet& b, const Vec3& n, const PairOptions& options, Manifold& manifold) {
  if (a.count == 0 || b.count == 0) return 0;
  const Mat3 frame = make_frame(n);
  const Vec3 origin = a.vertex[0];
  Shadow shadow_a, shadow_b;
  make_shadow(a, frame, origin, shadow_a);
  make_shadow(b, frame, origin, shadow_b);

  const double smaller = std::min(a.count > 1 ? shadow_a.extent : kInfinity, b.count > 1 ? shadow_b.extent : kInfinity);
  const double larger = std::max(shadow_a.extent, shadow_b.extent);
  const double tolerance = (smaller < kInfinity ? kRelativeTolerance * smaller : 0.0) + 8.0 * kEpsilon * larger;
  // The window has to be a polygon if there is one; otherwise the choice changes nothing but the order.
  const bool flipped = shadow_a.count < 3 && shadow_b.count >= 3;
  const Clip clip = flipped ? Clip{shadow_a, shadow_b, true, tolerance} : Clip{shadow_b, shadow_a, false, tolerance};
  Corners one, other;
  if (clip.window.count < 3) {
    meet_edges(clip, one);
  } else if (clip.subject.count < 3) {
    clip_edge(clip, one);
  }
  const bool polygons = clip.window.count >= 3 && clip.subject.count >= 3;
  const Corners& corners = polygons ? clip_polygon(clip, one, other) : one;

  const int first = static_cast<int>(manifold.points.size());
  for (int k = 0; k < corners.count; ++k) {
    const Corner& corner = corners.item[k];
    const double h_a = shadow_a.height(corner.q), h_b = shadow_b.height(corner.q);
    if (!(h_b - h_a <= options.margin)) continue;
    const Vec3 p = origin + frame * Vec3(corner.q.x(), corner.q.y(), 0.5 * (h_a + h_b));
    manifold.points.push_back({p, n, h_b - h_a, corner.name});
  }
  reduce_points(first, n, options.max_points, manifold);
  return static_cast<int>(manifold.points.size()) - first;
}

void reduce_points(int first, const Vec3& n, int max_points, Manifold& manifold) {
  const int count = static_cast<int>(manifold.points.size()) - first;
  if (count <= max_points) return;
  ManifoldPoint* const points = manifold.points.data() + first;
  const double tie = 1.0 + 1e-6;

  double extent = 0.0, lowest = kInfinity;
  for (int k = 0; k < count; ++k) {
    extent = std::max(extent, (points[k].p - points[0].p).norm());
    lowest = std::min(lowest, points[k].gap);
  }
  int deepest = 0;
  while (!(points[deepest].gap <= lowest + 1e-5 * extent) && deepest + 1 < count) ++deepest;

  // Chosen points move to the front, counterclockwise about n; those left keep their order behind them.
  const auto choose = [&](int from, int to) { std::rotate(points + to, points + from, points + from + 1); };
  choose(deepest, 0);
  int far = 1;
  double best = 0.0;
  for (int k = 1; k < count; ++k) {
    const double distance = (points[k].p - points[0].p).squaredNorm();
    if (distance > best * tie) best = distance, far = k;
  }
  choose(far, 1);
  int chosen = 2;
  while (chosen < max_points) {
    int pick = -1, place = chosen;
    best = 0.0;
    for (int k = chosen; k < count; ++k) {
      // Area gained: the largest triangle outside an edge of what is chosen.
      for (int i = 0; i < chosen; ++i) {
        const Vec3& from = points[i].p;
        const Vec3& to = points[i + 1 == chosen ? 0 : i + 1].p;
        const double area = n.dot((points[k].p - from).cross(to - from));
        if (pick < 0 || area > best + (tie - 1.0) * std::abs(best)) best = area, pick = k, place = i + 1;
      }
    }
    choose(pick, place);
    ++chosen;
  }
  manifold.spare.insert(manifold.spare.end(), manifold.points.begin() + first + chosen, manifold.points.end());
  manifold.points.erase(manifold.points.begin() + first + chosen, manifold.points.end());
}

}  // namespace almond
