#include "almond/collision/sdf_pairs.hpp"

#include <algorithm>
#include <cmath>

namespace almond {
namespace {

constexpr std::uint32_t kInnerName = 0x40000000U, kSecondName = 0x80000000U;
constexpr double kStepPerRadius = 1e-3;  // a normal is probed this far from the surface
constexpr double kLeastCosine = 0.7;     // between the normals of two surfaces that face each other
constexpr double kFlat = 1e-5;           // of the radius: what a descent has to promise to be worth a step
constexpr double kOnSurface = 1e-7;      // of the radius: farther from its surface a point is none of it
constexpr double kSettled = 1e-9;        // of the radius: nearer to its surface it need not get
constexpr int kMostDescents = 8;

/// One shape's triangles in the frame of the other's function.
struct Search {
  const Sdf& field;
  const SdfSolid& other;
  Pose X;  // frame of the triangles in that of the function
  double margin, radius;
  const PairMotion& motion;
  const Pose& X_W;  // frame of the function in the world
  double side;      // 1: the function is a's, -1: b's
  bool one_way;     // the function's shape has no triangles that find what lies between corners of the other's
  SdfWorkspace& w;
  SdfCounts& counts;

  [[nodiscard]] Vec3 vertex(int v) const { return X * other.surface.vertices[v]; }
  /// Whether a point x of the other surface is near enough to count.
  [[nodiscard]] bool counts_at(const Vec3& x, const Vec3& n, double gap) const {
    return gap <= margin && (gap <= motion.unknown || gap <= motion.closing(X_W * x, side * (X_W.R * n)));
  }
};

/// Calls use(i, sample) for the points place(i), i < count, a block at a time.
template <class Place, class Use>
void sample_all(const Sdf& field, int count, const Place& place, const Use& use) {
  SdfBlock block;
  for (int begin = 0; begin < count; begin += SdfBlock::kSize) {
    block.count = std::min(SdfBlock::kSize, count - begin);
    for (int i = 0; i < block.count; ++i) block.set(i, place(begin + i));
    field.sample(block);
    for (int i = 0; i < block.count; ++i) use(begin + i, SdfSample{block.d[i], block.gradient(i)});
  }
}

/// Triangles whose boxes come within the margin: φ at the middle of a box bounds it from below.
void find_triangles(const Search& s) {
  SdfWorkspace& w = s.w;
  w.triangles.clear();
  w.frontier.assign(1, 0);
  const std::vector<SurfaceNode>& nodes = s.other.tree->nodes;
  while (!w.frontier.empty()) {
    w.next.clear();
    s.counts.nodes += static_cast<int>(w.frontier.size());
    sample_all(
        s.field, static_cast<int>(w.frontier.size()),
        [&](int i) -> Vec3 {
          const Aabb& box = nodes[w.frontier[i]].box;
          return s.X * Vec3(0.5 * (box.lower + box.upper));
        },
        [&](int i, const SdfSample& sample) {
          const int at = w.frontier[i];
          const SurfaceNode& node = nodes[at];
          const double reach = 0.5 * (node.box.upper - node.box.lower).norm();
          if (sample.d > (1.0 + s.field.slack()) * reach + s.margin + s.other.chord_error) return;
          if (node.count > 0) {
            w.triangles.insert(w.triangles.end(), s.other.tree->order.begin() + node.begin,
                               s.other.tree->order.begin() + node.begin + node.count);
          } else {
            w.next.push_back(at + 1);
            w.next.push_back(nodes[at + 1].skip);
          }
        });
    w.frontier.swap(w.next);
  }
  s.counts.triangles += static_cast<int>(w.triangles.size());
}

/// φ at the corners of these triangles, each once.
void sample_vertices(const Search& s) {
  SdfWorkspace& w = s.w;
  w.slot.resize(std::max(w.slot.size(), s.other.surface.vertices.size()), -1);
  w.vertices.clear();
  for (const int t : w.triangles)
    for (const int v : s.other.tree->vertices[t])
      if (w.slot[v] < 0) {
        w.slot[v] = static_cast<int>(w.vertices.size());
        w.vertices.push_back(v);
      }
  const int count = static_cast<int>(w.vertices.size());
  w.at_vertex.resize(w.vertices.size());
  w.place.resize(w.vertices.size());
  w.taken.assign(w.vertices.size(), 0);
  for (int i = 0; i < count; ++i) w.place[i] = s.vertex(w.vertices[i]);
  sample_all(
      s.field, count, [&](int i) -> const Vec3& { return w.place[i]; },
      [&](int i, const SdfSample& sample) { w.at_vertex[i] = sample; });
  s.counts.vertices += count;
}

/// Corners that are lowest on their triangles are contacts; triangles that fall off from their lowest corner are noted.
void take_corners(const Search& s) {
  SdfWorkspace& w = s.w;
  w.inner.clear();
  for (const int t : w.triangles) {
    int corner[3], low = 0;
    for (int k = 0; k < 3; ++k) {
      corner[k] = w.slot[s.other.tree->vertices[t][k]];
      if (w.at_vertex[corner[k]].d < w.at_vertex[corner[low]].d) low = k;
    }
    const int i = corner[low], j = corner[(low + 1) % 3], k = corner[(low + 2) % 3];
    const SdfSample& lowest = w.at_vertex[i];
    const Vec3 to_j = w.place[j] - w.place[i], to_k = w.place[k] - w.place[i];
    double fall = std::min(lowest.g.dot(to_j), lowest.g.dot(to_k));
    if (lowest.d + std::min(fall, 0.0) > s.margin + (s.one_way ? s.other.chord_error : 0.0)) continue;
    if (s.other.field != nullptr && (s.one_way || fall < -kFlat * s.radius)) {
      // The triangle is a chord. Along the surface itself φ falls by its gradient in the tangent plane.
      const Vec3 m = s.X.R * s.other.normals[w.vertices[i]], along = lowest.g - lowest.g.dot(m) * m;
      const double bulging = std::min(along.dot(to_j), along.dot(to_k));
      fall = s.one_way ? bulging : std::max(fall, bulging);
    }
    if (fall < -kFlat * s.radius) w.inner.push_back(t);
    if (w.taken[i] != 0 || fall < -kFlat * s.radius || !s.counts_at(w.place[i], lowest.g, lowest.d)) continue;
    w.taken[i] = 1;
    w.found.push_back({w.place[i], lowest.g, lowest.d, static_cast<std::uint32_t>(w.vertices[i])});
  }
  s.counts.inner += static_cast<int>(w.inner.size());
}

/// Frank-Wolfe: towards the corner that the gradient promises most from, as far as the slope at both ends says. 64
/// triangles at a time.
void descend(const Search& s) {
  SdfWorkspace& w = s.w;
  SdfBlock block;
  for (std::size_t begin = 0; begin < w.inner.size(); begin += SdfBlock::kSize) {
    const int count = static_cast<int>(std::min<std::size_t>(SdfBlock::kSize, w.inner.size() - begin));
    SdfContact best[SdfBlock::kSize];
    bool done[SdfBlock::kSize] = {};
    double scale[SdfBlock::kSize];
    const auto corner = [&](int i, int k) { return w.slot[s.other.tree->vertices[w.inner[begin + i]][k]]; };
    for (int i = 0; i < count; ++i) {
      int low = corner(i, 0);
      for (int k = 1; k < 3; ++k)
        if (w.at_vertex[corner(i, k)].d < w.at_vertex[low].d) low = corner(i, k);
      best[i] = {w.place[low], w.at_vertex[low].g, w.at_vertex[low].d,
                 kInnerName | static_cast<std::uint32_t>(w.inner[begin + i])};
      scale[i] = 1.0;
    }
    for (int round = 0; round < kMostDescents; ++round) {
      bool any = false;
      block.count = count;
      for (int i = 0; i < count; ++i) {
        int to = corner(i, 0);
        for (int k = 1; k < 3; ++k)
          if (best[i].n.dot(w.place[corner(i, k)] - w.place[to]) < 0.0) to = corner(i, k);
        const Vec3 d = w.place[to] - best[i].x;
        const double slope = best[i].n.dot(d), end = w.at_vertex[to].g.dot(d);
        done[i] = done[i] || slope >= -kFlat * s.radius;
        const double share = end <= 0.0 ? 1.0 : slope / (slope - end);
        block.set(i, done[i] ? best[i].x : Vec3(best[i].x + scale[i] * share * d));
        any = any || !done[i];
      }
      if (!any) break;
      s.field.sample(block);
      for (int i = 0; i < count; ++i) {
        if (done[i]) continue;
        if (block.d[i] < best[i].gap) {
          best[i].x = block.point(i);
          best[i].n = block.gradient(i);
          best[i].gap = block.d[i];
          scale[i] = 1.0;
        } else {
          scale[i] *= 0.25;
        }
      }
    }
    for (int i = 0; i < count; ++i)
      if (best[i].gap <= s.margin + s.other.chord_error) w.found.push_back(best[i]);
  }
}

/// A contact between corners on its way along the other shape's own surface.
struct Slide {
  Vec3 along = Vec3::Zero();  // ∇φ in the tangent plane of the other's surface
  double off = 0.0;           // its own φ, how far it is off that surface
};

/// Moves contacts onto the other shape's own surface by a few steps along its gradient, since near an edge one falls
/// short, and measures them there.
void settle(const Search& s, int count, SdfContact* contacts, Slide* slides) {
  constexpr int kMostSteps = 2;
  const Pose back = s.X.inverse();
  for (int step = 0;; ++step) {
    double worst = 0.0;
    sample_all(
        *s.other.field, count, [&](int i) -> Vec3 { return back * contacts[i].x; },
        [&](int i, const SdfSample& own) {
          slides[i] = {s.X.R * own.g, own.d};
          worst = std::max(worst, std::abs(own.d));
        });
    if (step == kMostSteps || worst <= kSettled * s.radius) break;
    for (int i = 0; i < count; ++i) contacts[i].x -= slides[i].off * slides[i].along;
  }
  sample_all(
      s.field, count, [&](int i) -> const Vec3& { return contacts[i].x; },
      [&](int i, const SdfSample& sample) {
        contacts[i].n = sample.g;
        contacts[i].gap = std::abs(slides[i].off) > kOnSurface * s.radius ? kInfinity : sample.d;
        slides[i].along = sample.g - sample.g.dot(slides[i].along) * slides[i].along;
      });
}

/// From what the triangles gave to the lowest points of the other shape's own surface: how the slope changes over a
/// short way tells how far it is.
void polish(const Search& s, std::size_t first) {
  constexpr int kBatch = SdfBlock::kSize;
  const double probe = 0.02 * s.other.max_edge;
  SdfContact tried[kBatch];
  Slide here[kBatch], there[kBatch];
  int of[kBatch];
  for (std::size_t begin = first; begin < s.w.found.size(); begin += kBatch) {
    SdfContact* const found = s.w.found.data() + begin;
    const int count = static_cast<int>(std::min<std::size_t>(kBatch, s.w.found.size() - begin));
    settle(s, count, found, here);
    int rest = 0;
    for (int i = 0; i < count; ++i) {
      const double slope = here[i].along.norm(), gain = slope * s.other.max_edge;
      if (gain <= kOnSurface * s.radius || found[i].gap - gain > s.margin) continue;
      tried[rest] = found[i];
      tried[rest].x -= probe / slope * here[i].along;
      of[rest++] = i;
    }
    settle(s, rest, tried, there);
    int moving = 0;
    for (int k = 0; k < rest; ++k) {
      const Vec3& along = here[of[k]].along;
      const double slope = along.norm(), bend = (slope - there[k].along.dot(along) / slope) / probe;
      if (!(bend > 0.0)) continue;
      tried[moving] = found[of[k]];
      tried[moving].x -= std::min(slope / bend, s.other.max_edge) / slope * along;
      of[moving++] = of[k];
    }
    settle(s, moving, tried, there);
    for (int k = 0; k < moving; ++k)
      if (tried[k].gap < found[of[k]].gap) found[of[k]] = tried[k];
  }
}

/// Keeps what faces the function's surface: where the normal, reversed, leads straight away from the other's. So edges
/// do not act sideways.
void keep_facing(const Search& s) {
  std::vector<SdfContact>& found = s.w.found;
  const auto drop_far = [&] {
    found.erase(
        std::remove_if(found.begin(), found.end(), [&](const SdfContact& c) { return !s.counts_at(c.x, c.n, c.gap); }),
        found.end());
  };
  drop_far();
  const Pose back = s.X.inverse();
  const double step = kStepPerRadius * s.radius;
  sample_all(
      *s.other.field, static_cast<int>(found.size()),
      [&](int i) -> Vec3 { return back * Vec3(found[i].x - step * found[i].n); },
      [&](int i, const SdfSample& sample) {
        if (sample.d < kLeastCosine * step) found[i].gap = kInfinity;
      });
  drop_far();
}

/// Contacts of b's surface with a's function, in a's frame.
void search(const SdfSolid& a, const Pose& X_a, const SdfSolid& b, const Pose& X_b, double side,
            const PairOptions& options, double radius, SdfWorkspace& w, SdfCounts& counts) {
  const Search s{*a.field,
                 b,
                 Pose{X_a.R.transpose() * X_b.R, X_a.R.transpose() * (X_b.p - X_a.p)},
                 options.margin,
                 radius,
                 options.motion,
                 X_a,
                 side,
                 a.surface.triangles.empty(),
                 w,
                 counts};
  w.found.clear();
  find_triangles(s);
  sample_vertices(s);
  take_corners(s);
  const std::size_t corners = w.found.size();
  descend(s);
  for (const int v : w.vertices) w.slot[v] = -1;
  if (b.field == nullptr) return;
  polish(s, corners);
  keep_facing(s);
}

/// Where a ball touches: points u of its surface with u = -∇φ, found from many sides at once by going there again and
/// again, which is Frank-Wolfe over the ball. The nearest point is among them.
void search_ball(const Sdf& field, const Vec3& center, double radius, double margin, SdfWorkspace& w) {
  constexpr int kRounds = 8;
  constexpr double kStill = 1e-4, kApart = 0.95;  // of directions: change, cosine
  w.found.clear();
  const SdfSample middle = field.sample(center);
  if (middle.d > radius + margin) return;
  SdfBlock block;
  Vec3 direction[SdfBlock::kSize], last[SdfBlock::kSize];
  int count = 0;
  direction[count++] = -middle.g;
  for (int i = -1; i <= 1; ++i)
    for (int j = -1; j <= 1; ++j)
      for (int k = -1; k <= 1; ++k)
        if (i != 0 || j != 0 || k != 0) direction[count++] = Vec3(i, j, k).normalized();
  for (int round = 0; round < kRounds; ++round) {
    block.count = 0;
    for (int i = 0; i < count; ++i) block.add(center + radius * direction[i]);
    field.sample(block);
    for (int i = 0; i < count; ++i) {
      last[i] = direction[i];
      direction[i] = -block.gradient(i).normalized();
    }
  }
  for (int i = 0; i < count; ++i) {
    if (!(block.d[i] <= margin) || (i > 0 && (direction[i] - last[i]).norm() > kStill)) continue;
    const Vec3 n = -direction[i];
    if (std::any_of(w.found.begin(), w.found.end(), [&](const SdfContact& c) { return c.n.dot(n) > kApart; })) continue;
    w.found.push_back({block.point(i), n, block.d[i], static_cast<std::uint32_t>(w.found.size())});
  }
}

/// What a ball meets on its way: near a wall every point of it is nearest to the wall, and a floor that it reaches
/// within the step is not seen from where it is. Each surface it would touch later becomes the plane it has there, with
/// the gap that the ball has to it now. `way`: of the ball in the frame of the function.
void search_way(const Sdf& field, const Vec3& center, const Vec3& way, double radius, double margin, SdfWorkspace& w) {
  constexpr double kPerRadius = 0.5, kApart = 0.95;  // between two looks; cosine
  const double length = way.norm();
  if (!(length > kPerRadius * radius) || !std::isfinite(length)) return;
  SdfBlock block;
  const int count = std::min(SdfBlock::kSize, static_cast<int>(length / (kPerRadius * radius)) + 1);
  for (int k = 1; k <= count; ++k) block.add(center + static_cast<double>(k) / count * way);
  field.sample(block);
  for (int k = 0; k < count; ++k) {
    if (block.d[k] < 0.0) break;  // its middle is inside: what comes next is the way out
    const Vec3 n = block.gradient(k);
    if (block.d[k] > radius + margin || n.dot(way) >= 0.0) continue;
    if (std::any_of(w.found.begin(), w.found.end(), [&](const SdfContact& c) { return c.n.dot(n) > kApart; })) continue;
    const double gap = block.d[k] - radius - n.dot(block.point(k) - center);
    w.found.push_back({center - radius * n, n, gap, static_cast<std::uint32_t>(w.found.size())});
  }
}

/// A ball at `p` against the function of a shape at X; side = 1: the function is a's, -1: b's.
void search_with_ball(const SdfSolid& solid, const Pose& X, const Vec3& p, double radius, double side,
                      const PairOptions& options, SdfWorkspace& w) {
  const Vec3 center = X.inverse() * p;
  search_ball(*solid.field, center, radius, options.margin, w);
  const PairMotion& m = options.motion;
  if (!std::isfinite(m.unknown)) return;
  const Vec3 way = m.shift + m.turn_b.cross(p - m.center_b) - m.turn_a.cross(p - m.center_a);
  search_way(*solid.field, center, side * (X.R.transpose() * way), radius, m.unknown, w);
}

/// Into the world; side = 1: the function is a's, -1: b's.
void hand_over(const Pose& X, double side, std::uint32_t name, const SdfWorkspace& w, Manifold& manifold) {
  for (const SdfContact& c : w.found) {
    const Vec3 n = X.R * c.n;
    manifold.points.push_back({X * c.x - 0.5 * c.gap * n, side * n, c.gap, c.feature | name});
  }
}

/// Two triangles meet in the points of the edge they share, and both shapes may have found the same point.
void merge_points(double distance, Manifold& manifold) {
  std::vector<ManifoldPoint>& points = manifold.points;
  std::size_t kept = 0;
  for (std::size_t i = 0; i < points.size(); ++i) {
    const ManifoldPoint point = points[i];
    // Only what lies between corners can coincide; corners come first and stand apart.
    bool same = false;
    if ((point.feature & (kInnerName | kSecondName)) != 0)
      for (std::size_t j = 0; j < kept && !same; ++j)
        same = (points[j].p - point.p).squaredNorm() < distance * distance && points[j].n.dot(point.n) > 0.99;
    if (!same) points[kept++] = point;
  }
  points.erase(points.begin() + static_cast<std::ptrdiff_t>(kept), points.end());
}

/// The half-space below z = 0.
struct PlaneSdf final : PointwiseSdf<PlaneSdf> {
  void at(double, double, double z, double& d, double& gx, double& gy, double& gz) const {
    d = z;
    gx = gy = 0.0;
    gz = 1.0;
  }
  [[nodiscard]] Aabb bounds() const override { return {Vec3::Constant(-kInfinity), Vec3(kInfinity, kInfinity, 0.0)}; }
  [[nodiscard]] std::string name() const override { return "plane"; }
  void add_surface(const SurfaceOptions&, TriangleSoup&) const override {}
};

const SdfSolid& plane_solid() {
  static const SdfSolid solid = [] {
    SdfSolid plane;
    plane.field = std::make_shared<PlaneSdf>();
    return plane;
  }();
  return solid;
}

}  // namespace

double sdf_overlap(const Geom& a, const Pose& X_a, const Geom& b, const Pose& X_b) {
  constexpr double kInwards = 5e-3;  // of the radius: where two surfaces coincide, what is below them tells
  if (a.solid == nullptr || b.solid == nullptr) return 0.0;
  double depth = 0.0;
  const auto look = [&](const SdfSolid& function, const Pose& X_f, const SdfSolid& corners, const Pose& X_c,
                        double inwards) {
    if (function.field == nullptr) return;
    const Pose X{X_f.R.transpose() * X_c.R, X_f.R.transpose() * (X_c.p - X_f.p)};
    const std::vector<Vec3>&vertices = corners.surface.vertices, &normals = corners.normals;
    for (const double way : {0.0, inwards}) {
      if (way > 0.0 && normals.size() != vertices.size()) continue;
      sample_all(
          *function.field, static_cast<int>(vertices.size()),
          [&](int i) -> Vec3 { return X * (way > 0.0 ? Vec3(vertices[i] - way * normals[i]) : vertices[i]); },
          [&](int, const SdfSample& sample) { depth = std::max(depth, -sample.d); });
    }
  };
  look(*a.solid, X_a, *b.solid, X_b, kInwards * b.radius);
  look(*b.solid, X_b, *a.solid, X_a, kInwards * a.radius);
  return depth;
}

SdfCounts collide_sdf(const Geom& a, const Pose& X_a, const Geom& b, const Pose& X_b, const PairOptions& options,
                      SdfWorkspace& w, Manifold& manifold) {
  SdfCounts counts;
  // A plane has no size of its own.
  const bool plane_a = std::holds_alternative<Plane>(a.shape), plane_b = std::holds_alternative<Plane>(b.shape);
  const double radius = plane_a ? b.radius : (plane_b ? a.radius : std::min(a.radius, b.radius));
  const auto* ball_a = std::get_if<Sphere>(&a.shape);
  const auto* ball_b = std::get_if<Sphere>(&b.shape);
  if (plane_a) {
    search(plane_solid(), X_a, *b.solid, X_b, 1.0, options, radius, w, counts);
    hand_over(X_a, 1.0, 0, w, manifold);
  } else if (plane_b) {
    search(plane_solid(), X_b, *a.solid, X_a, -1.0, options, radius, w, counts);
    hand_over(X_b, -1.0, 0, w, manifold);
  } else if (ball_b != nullptr) {
    search_with_ball(*a.solid, X_a, X_b.p, ball_b->radius, 1.0, options, w);
    hand_over(X_a, 1.0, 0, w, manifold);
  } else if (ball_a != nullptr) {
    search_with_ball(*b.solid, X_b, X_a.p, ball_a->radius, -1.0, options, w);
    hand_over(X_b, -1.0, 0, w, manifold);
  } else {
    if (a.solid->field != nullptr) {
      search(*a.solid, X_a, *b.solid, X_b, 1.0, options, radius, w, counts);
      hand_over(X_a, 1.0, 0, w, manifold);
    }
    if (b.solid->field != nullptr) {
      search(*b.solid, X_b, *a.solid, X_a, -1.0, options, radius, w, counts);
      hand_over(X_b, -1.0, kSecondName, w, manifold);
    }
    // Reduction passes over points that coincide anyway.
    if (static_cast<int>(manifold.points.size()) <= options.max_cloud) merge_points(kStepPerRadius * radius, manifold);
  }
  counts.points = static_cast<int>(manifold.points.size());
  reduce_cloud(options, w, manifold);
  return counts;
}

}  // namespace almond
