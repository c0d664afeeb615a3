#include "almond/collision/epa.hpp"

#include <Eigen/Geometry>
#include <algorithm>
#include <cmath>

#include "almond/collision/polish.hpp"

namespace almond {
namespace {

constexpr int kMaxIterations = EpaWorkspace::kMaxVertices - 4;
constexpr double kFlat = 1e-10;     // of the size: thinner differences count as flat
constexpr double kVisible = 1e-12;  // of the size: nearer points do not see a face, so new faces are no thinner
constexpr double kConverged = 1e-13, kConvergedCurved = 1e-12;  // of the size: where to stop
constexpr double kPolish = 1e-4;                                // of the size: bounds this close call Newton's method
constexpr double kSameValley = 0.9998;                          // cosine
constexpr double kConvergedEnough = 1e-9;                       // of the size: what counts as an answer

/// Sets plane and corners of a face; false when it has no area.
bool set_face(EpaWorkspace& w, int f, int i, int j, int k) {
  EpaFace& face = w.face[f];
  face.vertex = {i, j, k};
  const Vec3 &a = w.vertex[i].y, &b = w.vertex[j].y, &c = w.vertex[k].y;
  // At the corner between the two shorter edges rounding hurts least.
  const double ab = (b - a).squaredNorm(), bc = (c - b).squaredNorm(), ca = (a - c).squaredNorm();
  Vec3 n = ab >= bc && ab >= ca ? Vec3((a - c).cross(b - c))
           : bc >= ca           ? Vec3((b - a).cross(c - a))
                                : Vec3((c - b).cross(a - b));
  const double norm = n.norm();
  face.alive = norm > 0.0;
  face.settled = false;
  if (!face.alive) return false;
  face.n = n / norm;
  face.d = face.n.dot(a.squaredNorm() <= b.squaredNorm() ? (a.squaredNorm() <= c.squaredNorm() ? a : c)
                                                         : (b.squaredNorm() <= c.squaredNorm() ? b : c));
  return true;
}

/// Grows the simplex by the farthest of the points found along `directions`, measured by `distance`.
template <class Distance>
bool grow(Difference& difference, const Vec3* directions, int count, double least, const Distance& distance,
          Simplex& simplex) {
  DifferencePoint best;
  double far = least;
  for (int i = 0; i < count; ++i)
    for (const double s : {1.0, -1.0}) {
      const DifferencePoint p = difference.support(s * directions[i]);
      const double value = distance(p.y);
      if (value > far) far = value, best = p;
    }
  if (!(far > least)) return false;
  simplex.point[simplex.count++] = best;
  return true;
}

/// Completes the simplex to a tetrahedron. False when D is flat: then the cores do not overlap but touch, and a normal
/// of the flat set is the answer.
bool make_tetrahedron(Difference& difference, Simplex& simplex, Vec3& flat_normal) {
  const double least = kFlat * difference.size();
  static const Vec3 kAxes[3] = {Vec3::UnitX(), Vec3::UnitY(), Vec3::UnitZ()};
  const auto& p = simplex.point;
  if (simplex.count == 4) {
    // GJK may have enclosed the origin with a tetrahedron too thin to expand.
    const Vec3 n = (p[1].y - p[0].y).cross(p[2].y - p[0].y);
    if (!(std::abs(n.dot(p[3].y - p[0].y)) > least * n.norm()) || !(n.norm() > least * least)) simplex.count = 1;
  }
  if (simplex.count == 3) {
    const Vec3 n = (p[1].y - p[0].y).cross(p[2].y - p[0].y);
    if (!(n.norm() > least * (p[1].y - p[0].y).norm())) simplex.count = 1;
  }
  if (simplex.count == 2 && !((p[1].y - p[0].y).norm() > least)) simplex.count = 1;

  flat_normal = difference.X_ab.p.squaredNorm() > 0.0 ? Vec3(difference.X_ab.p.normalized()) : Vec3(Vec3::UnitZ());
  if (simplex.count == 1 &&
      !grow(
          difference, kAxes, 3, least, [&](const Vec3& y) { return (y - p[0].y).norm(); }, simplex))
    return false;
  if (simplex.count == 2) {
    const Mat3 frame = make_frame((p[1].y - p[0].y).normalized());
    const Vec3 across[2] = {frame.col(0), frame.col(1)};
    const Vec3 along = frame.col(2), toward = flat_normal - along.dot(flat_normal) * along;
    flat_normal = toward.norm() > 1e-6 ? Vec3(toward.normalized()) : across[0];
    if (!grow(
            difference, across, 2, least, [&](const Vec3& y) { return (y - p[0].y).cross(along).norm(); }, simplex))
      return false;
  }
  if (simplex.count == 3) {
    const Vec3 n = (p[1].y - p[0].y).cross(p[2].y - p[0].y).normalized();
    flat_normal = n.dot(difference.X_ab.p) < 0.0 ? Vec3(-n) : n;
    if (!grow(
            difference, &n, 1, least, [&](const Vec3& y) { return std::abs(n.dot(y - p[0].y)); }, simplex))
      return false;
  }
  return true;
}

bool start_polytope(const Simplex& simplex, EpaWorkspace& w) {
  for (int i = 0; i < 4; ++i) w.vertex[i] = simplex.point[i];
  w.num_vertices = w.num_faces = 4;
  w.num_free = 0;
  const auto& v = w.vertex;
  if ((v[1].y - v[0].y).cross(v[2].y - v[0].y).dot(v[3].y - v[0].y) > 0.0) std::swap(w.vertex[0], w.vertex[1]);
  // Now vertex 3 lies below the plane of 0, 1, 2.
  bool ok = set_face(w, 0, 0, 1, 2);
  ok = set_face(w, 1, 0, 3, 1) && ok;
  ok = set_face(w, 2, 1, 3, 2) && ok;
  ok = set_face(w, 3, 2, 3, 0) && ok;
  w.face[0].across = {1, 2, 3};
  w.face[1].across = {3, 2, 0};
  w.face[2].across = {1, 3, 0};
  w.face[3].across = {2, 1, 0};
  return ok;
}

/// Valleys of h whose bottom Newton's method has found.
struct Valleys {
  static constexpr int kMax = 4;
  int count = 0;
  Vec3 n[kMax];
  CoreDistance deepest;  // the one with the least overlap

  [[nodiscard]] bool holds(const Vec3& normal) const {
    for (int i = 0; i < count; ++i)
      if (n[i].dot(normal) > kSameValley) return true;
    return false;
  }
  void add(const CoreDistance& found) {
    if (count == 0 || found.gap > deepest.gap) deepest = found;
    n[count++] = found.n;
  }
};

int nearest_face(const EpaWorkspace& w) {
  int best = -1;
  for (int f = 0; f < w.num_faces; ++f)
    if (w.face[f].alive && !w.face[f].settled && (best < 0 || w.face[f].d < w.face[best].d)) best = f;
  return best;
}

/// Collects the faces that see the new vertex, starting at `seed`, and the edges around them. False if these edges do
/// not form one loop, which only rounding can do.
bool find_horizon(EpaWorkspace& w, int seed, const Vec3& y, double eps, int& num_visible, int& num_horizon) {
  num_visible = num_horizon = 0;
  int depth = 0;
  const auto remove = [&](int f) {
    w.face[f].alive = false;
    w.visible[num_visible++] = f;
    w.stack[depth++] = f;
  };
  remove(seed);
  while (depth > 0) {
    const int f = w.stack[--depth];
    for (const int g : w.face[f].across)
      if (w.face[g].alive && w.face[g].n.dot(y) - w.face[g].d > -eps) remove(g);
  }
  for (int i = 0; i < w.num_vertices; ++i) w.horizon_at[i] = -1;
  for (int i = 0; i < num_visible; ++i) {
    const EpaFace& face = w.face[w.visible[i]];
    for (int k = 0; k < 3; ++k) {
      const int g = face.across[k];
      if (!w.face[g].alive) continue;
      const int from = face.vertex[k], to = face.vertex[(k + 1) % 3];
      const auto& other = w.face[g].vertex;
      const int side = other[0] == to ? 0 : other[1] == to ? 1 : 2;
      if (w.horizon_at[from] >= 0) return false;
      w.horizon_at[from] = num_horizon;
      w.horizon[num_horizon++] = {g, side, from, to};
    }
  }
  if (num_horizon < 3) return false;
  int length = 0, at = w.horizon[0].from;
  do {
    const int edge = w.horizon_at[at];
    if (edge < 0) return false;
    at = w.horizon[edge].to;
    ++length;
  } while (at != w.horizon[0].from && length <= num_horizon);
  return length == num_horizon;
}

/// Replaces the faces that see vertex `index` by a fan around it.
bool add_vertex(EpaWorkspace& w, int seed, int index, double eps) {
  int num_visible = 0, num_horizon = 0;
  if (!find_horizon(w, seed, w.vertex[index].y, eps, num_visible, num_horizon)) return false;
  for (int i = 0; i < num_visible; ++i) w.free_face[w.num_free++] = w.visible[i];
  if (w.num_free + EpaWorkspace::kMaxFaces - w.num_faces < num_horizon) return false;

  int at = w.horizon[0].from, first = -1, previous = -1;
  for (int i = 0; i < num_horizon; ++i) {
    const EpaWorkspace::HorizonEdge edge = w.horizon[w.horizon_at[at]];
    const int f = w.num_free > 0 ? w.free_face[--w.num_free] : w.num_faces++;
    if (!set_face(w, f, edge.from, edge.to, index)) return false;
    w.face[f].across = {edge.face, -1, previous};
    w.face[edge.face].across[edge.side] = f;
    if (previous >= 0) w.face[previous].across[1] = f;
    if (first < 0) first = f;
    previous = f;
    at = edge.to;
  }
  w.face[previous].across[1] = first;
  w.face[first].across[2] = previous;
  return true;
}

/// Weights of the point where the normal through the origin meets a face, at distance d, and how far beside the face.
Simplex project_origin(const EpaWorkspace& w, const std::array<int, 3>& vertex, const Vec3& n, double d,
                       double& beside) {
  Simplex face;
  face.count = 3;
  for (int i = 0; i < 3; ++i) {
    face.point[i] = w.vertex[vertex[i]];
    face.point[i].y -= d * n;
  }
  beside = reduce_simplex(face).norm();
  return face;
}

/// The same over all triangles of the flat face that (n, d) belongs to: mostly one of them has the point.
Simplex project_on_plane(const EpaWorkspace& w, const std::array<int, 3>& vertex, const Vec3& n, double d, double size,
                         double& least) {
  Simplex best = project_origin(w, vertex, n, d, least);
  for (int f = 0; f < w.num_faces && least > 0.0; ++f) {
    const EpaFace& face = w.face[f];
    if (!face.alive || face.d > d + 1e-6 * size || face.n.dot(n) < 1.0 - 1e-8) continue;
    double beside = 0.0;
    const Simplex candidate = project_origin(w, face.vertex, n, d, beside);
    if (beside < least) least = beside, best = candidate;
  }
  return best;
}

/// Points of both cores from the normal alone: B is moved out until the cores are apart along n, and back.
void find_witnesses(Difference& difference, CoreDistance& result) {
  const Vec3 step = (1e-3 * difference.size() - result.gap) * result.n;
  Difference apart{difference.a, difference.b, {difference.X_ab.R, difference.X_ab.p + step}};
  Simplex simplex;
  CoreDistance seen;
  static_cast<void>(solve_gjk(apart, simplex, seen));
  const Vec3 middle = 0.5 * (seen.p_a + seen.p_b - step);
  result.p_a = middle - 0.5 * result.gap * result.n;
  result.p_b = middle + 0.5 * result.gap * result.n;
}

/// The origin on a corner of D, say the tip of a cone: every face there has d = 0 and none lies on D, while a direction
/// between them does. Tries their mean.
bool touches_corner(Difference& difference, const EpaWorkspace& w, double d, CoreDistance& result) {
  const double size = difference.size();
  Vec3 sum = Vec3::Zero();
  int count = 0;
  for (int f = 0; f < w.num_faces; ++f)
    if (w.face[f].alive && w.face[f].d <= d + 1e-10 * size) sum += w.face[f].n, ++count;
  const double length = sum.norm();
  if (count < 3 || !(length > 1e-3)) return false;
  const Vec3 n = sum / length;
  if (!(n.dot(difference.support(n).y) <= d + kConvergedCurved * size)) return false;
  result.gap = -d;
  result.n = n;
  result.converged = true;
  find_witnesses(difference, result);
  return true;
}

}  // namespace

void solve_epa(Difference& difference, const Simplex& start, EpaWorkspace& w, CoreDistance& result) {
  const double size = difference.size();
  Simplex simplex = start;
  Vec3 flat_normal;
  if (!make_tetrahedron(difference, simplex, flat_normal) || !start_polytope(simplex, w)) {
    // A flat difference: the cores touch at GJK's nearest points.
    result.gap = 0.0;
    result.n = flat_normal;
    result.p_a = result.p_b = Vec3::Zero();
    Simplex nearest = start;
    if (nearest.count == 4) nearest.count = 3;
    reduce_simplex(nearest);
    for (int i = 0; i < nearest.count; ++i) {
      result.p_a += nearest.weight[i] * nearest.point[i].a;
      result.p_b += nearest.weight[i] * nearest.point[i].b;
    }
    return;
  }

  double least_overlap = kInfinity, lower = -kInfinity, polish_below = kPolish, beside = 0.0;
  bool done = false;
  std::array<int, 3> corners{};
  Valleys valleys;
  for (int iteration = 0; iteration < kMaxIterations && !done; ++iteration) {
    const int f = nearest_face(w);
    // Nothing is left that could lie below the valleys found.
    if (f < 0 || (valleys.count > 0 && w.face[f].d >= -valleys.deepest.gap - kConvergedCurved * size)) break;
    const Vec3 n = w.face[f].n;
    const double d = w.face[f].d;
    const DifferencePoint p = difference.support(n);
    const double overlap = n.dot(p.y);
    lower = d;
    ++result.iterations;
    if (difference.curved() && iteration % 8 == 7 && touches_corner(difference, w, d, result)) return;
    done = overlap - d <= (difference.curved() ? kConvergedCurved : kConverged) * size;
    if (overlap < least_overlap || done) {
      least_overlap = overlap;
      result.gap = -d;
      result.n = n;
      corners = w.face[f].vertex;
    }
    if (done) break;
    if (difference.curved() && overlap - d < kPolish * size) {
      // A small face over a known valley cannot hide another one.
      w.face[f].settled = valleys.holds(n);
      if (!w.face[f].settled && overlap - d < polish_below * size && valleys.count < Valleys::kMax) {
        polish_below = 1e-2 * (overlap - d) / size;
        CoreDistance polished;
        const bool found =
            polish_normal(difference, project_on_plane(w, w.face[f].vertex, n, d, size, beside), n, polished);
        result.iterations += polished.iterations;
        if (found && -polished.gap <= overlap) {
          valleys.add(polished);
          polish_below = kPolish;
          w.face[f].settled = valleys.holds(n);
        }
      }
      if (w.face[f].settled) continue;
    }
    w.vertex[w.num_vertices++] = p;
    if (!add_vertex(w, f, w.num_vertices - 1, kVisible * size)) break;
  }
  if (!done && valleys.count == 0) {
    // Out of room, or rounding has spoilt the polytope: the best normal seen, sharpened if it can be.
    result.gap = -least_overlap;
    if (difference.curved() &&
        polish_normal(difference, project_on_plane(w, corners, result.n, least_overlap, size, beside), result.n,
                      result))
      return;
  }
  if (valleys.count > 0 && (!done || valleys.deepest.gap >= result.gap)) {
    const int spent = result.iterations;
    result = valleys.deepest;
    result.iterations = spent;
    return;
  }
  result.converged = done || least_overlap - lower <= kConvergedEnough * size;
  const Simplex face = project_on_plane(w, corners, result.n, -result.gap, size, beside);
  if (beside > 1e-9 * size) return find_witnesses(difference, result);
  result.p_a = result.p_b = Vec3::Zero();
  for (int i = 0; i < face.count; ++i) {
    result.p_a += face.weight[i] * face.point[i].a;
    result.p_b += face.weight[i] * face.point[i].b;
  }
}

}  // namespace almond
