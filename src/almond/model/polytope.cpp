// Convex hulls by qhull, whose facets are merged into the flat polygons that contacts are clipped on.

#include <libqhull_r/qhull_ra.h>

#include <Eigen/Eigenvalues>
#include <Eigen/Geometry>
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <map>
#include <numeric>
#include <utility>

#include "almond/base/check.hpp"
#include "almond/model/shape.hpp"

namespace almond {
namespace {

// Facets belong to one face when it stays flat to this part of the size: noise of single precision in files.
constexpr double kFlatness = 1e-6;
constexpr double kFlatAngle = 1e-3;  // [rad]

using Polygon = std::vector<int>;

/// Twice the area times the normal (Newell): exact for flat polygons, an average for nearly flat ones.
Vec3 polygon_area(const std::vector<Vec3>& points, const Polygon& polygon) {
  Vec3 sum = Vec3::Zero();
  const Vec3& origin = points[polygon[0]];
  for (std::size_t k = 2; k < polygon.size(); ++k)
    sum += (points[polygon[k - 1]] - origin).cross(points[polygon[k]] - origin);
  return sum;
}

/// Extents along the principal axes, largest first: a flat set shows as a zero in any orientation.
Vec3 principal_extents(const std::vector<Vec3>& points) {
  Vec3 mean = Vec3::Zero();
  for (const Vec3& p : points) mean += p / static_cast<double>(points.size());
  Mat3 C = Mat3::Zero();
  for (const Vec3& p : points) C += (p - mean) * (p - mean).transpose();
  const Mat3 axes = Eigen::SelfAdjointEigenSolver<Mat3>(C).eigenvectors();
  Vec3 lower = Vec3::Constant(kInfinity), upper = Vec3::Constant(-kInfinity);
  for (const Vec3& p : points) {
    const Vec3 x = axes.transpose() * (p - mean);
    lower = lower.cwiseMin(x);
    upper = upper.cwiseMax(x);
  }
  Vec3 extent = upper - lower;
  std::sort(extent.data(), extent.data() + 3, std::greater<>());
  return extent;
}

std::string flat_message(const std::vector<Vec3>& points, const Vec3& extent) {
  return "convex hull: " + std::to_string(points.size()) + " points with extents " + to_text(extent[0]) + " x " +
         to_text(extent[1]) + " x " + to_text(extent[2]) + " do not span a volume";
}

/// Owns qhull's memory and the text of its complaints.
struct Qhull {
  qhT state;
  char* text = nullptr;
  std::size_t size = 0;
  std::FILE* log = open_memstream(&text, &size);

  Qhull() { qh_zero(&state, log); }
  ~Qhull() {
    qh_freeqhull(&state, !qh_ALL);
    int long_count = 0, long_total = 0;
    qh_memfreeshort(&state, &long_count, &long_total);
    std::fclose(log);
    std::free(text);
  }
  Qhull(const Qhull&) = delete;
  Qhull& operator=(const Qhull&) = delete;
};

/// Facets of the hull as polygons of point indices, counterclockwise seen from outside.
std::vector<Polygon> hull_facets(const std::vector<Vec3>& points, const Vec3& extent) {
  // About their middle and at size one: qhull's rounding limits follow the largest coordinate.
  Vec3 lower = points[0], upper = points[0];
  for (const Vec3& p : points) {
    lower = lower.cwiseMin(p);
    upper = upper.cwiseMax(p);
  }
  const Vec3 middle = 0.5 * (lower + upper);
  std::vector<double> scaled;
  scaled.reserve(3 * points.size());
  for (const Vec3& p : points)
    for (int i = 0; i < 3; ++i) scaled.push_back((p[i] - middle[i]) / extent[0]);

  Qhull hull;
  qhT* qh = &hull.state;
  char command[] = "qhull Pp";
  const int status =
      qh_new_qhull(qh, 3, static_cast<int>(points.size()), scaled.data(), False, command, nullptr, hull.log);
  std::fflush(hull.log);
  if (status == qh_ERRsingular || status == qh_ERRprec) throw Error(flat_message(points, extent));
  if (status != 0)
    throw Error("convex hull: qhull failed on " + std::to_string(points.size()) +
                " points: " + std::string(hull.text, std::find(hull.text, hull.text + hull.size, '\n')));

  std::vector<Polygon> facets;
  facetT* facet;
  FORALLfacets {
    setT* corners = qh_facet3vertex(qh, facet);
    Polygon& polygon = facets.emplace_back();
    vertexT *vertex, **vertexp;
    FOREACHvertex_(corners) polygon.push_back(qh_pointid(qh, vertex->point));
    qh_settempfree(qh, &corners);
    const Vec3 outward(facet->normal[0], facet->normal[1], facet->normal[2]);
    if (polygon_area(points, polygon).dot(outward) < 0.0) std::reverse(polygon.begin(), polygon.end());
  }
  return facets;
}

using EdgeMap = std::map<std::pair<int, int>, int>;  // directed edge -> facet

EdgeMap map_edges(const std::vector<Polygon>& facets) {
  EdgeMap edges;
  for (int f = 0; f < static_cast<int>(facets.size()); ++f)
    for (std::size_t k = 0; k < facets[f].size(); ++k) edges[{facets[f][k], facets[f][(k + 1) % facets[f].size()]}] = f;
  return edges;
}

/// The outline of a group of facets, or nothing where it is not one simple loop.
Polygon outline(const std::vector<Polygon>& facets, const EdgeMap& edges, const std::vector<int>& group,
                const std::vector<int>& members) {
  std::map<int, int> next;
  for (const int f : members) {
    for (std::size_t k = 0; k < facets[f].size(); ++k) {
      const int v = facets[f][k], w = facets[f][(k + 1) % facets[f].size()];
      const auto across = edges.find({w, v});
      if (across != edges.end() && group[across->second] == group[f]) continue;
      if (!next.emplace(v, w).second) return {};
    }
  }
  if (next.size() < 3) return {};
  Polygon loop;
  for (int v = next.begin()->first; loop.size() < next.size(); v = next[v]) {
    if (!loop.empty() && v == loop.front()) return {};
    loop.push_back(v);
    if (!next.contains(v)) return {};
  }
  return loop;
}

/// Groups facets around the largest ones while they stay within kFlatness of its plane; returns the merged polygons.
std::vector<Polygon> merge_flat(const std::vector<Vec3>& points, const std::vector<Polygon>& facets, double size) {
  const EdgeMap edges = map_edges(facets);
  const int count = static_cast<int>(facets.size());
  std::vector<Vec3> areas(facets.size());
  for (int f = 0; f < count; ++f) areas[f] = polygon_area(points, facets[f]);
  std::vector<int> by_area(facets.size()), group(facets.size(), -1);
  std::iota(by_area.begin(), by_area.end(), 0);
  std::stable_sort(by_area.begin(), by_area.end(),
                   [&](int a, int b) { return areas[a].squaredNorm() > areas[b].squaredNorm(); });

  std::vector<Polygon> merged;
  for (const int seed : by_area) {
    if (group[seed] >= 0) continue;
    const Vec3 n = areas[seed].normalized(), origin = points[facets[seed][0]];
    const auto flat = [&](int f) {
      // A sliver has no direction to compare; its corners decide.
      const double area = areas[f].norm();
      const bool aligned = area < kFlatness * size * size || areas[f].dot(n) >= std::cos(kFlatAngle) * area;
      return aligned && std::all_of(facets[f].begin(), facets[f].end(),
                                    [&](int v) { return std::abs(n.dot(points[v] - origin)) <= kFlatness * size; });
    };
    std::vector<int> members{seed};
    group[seed] = seed;
    for (std::size_t i = 0; i < members.size(); ++i) {
      const Polygon& facet = facets[members[i]];
      for (std::size_t k = 0; k < facet.size(); ++k) {
        const auto across = edges.find({facet[(k + 1) % facet.size()], facet[k]});
        if (across == edges.end() || group[across->second] >= 0 || !flat(across->second)) continue;
        group[across->second] = seed;
        members.push_back(across->second);
      }
    }
    Polygon loop = outline(facets, edges, group, members);
    if (!loop.empty()) {
      merged.push_back(std::move(loop));
    } else {
      for (const int f : members) merged.push_back(facets[f]);
    }
  }
  return merged;
}

}  // namespace

std::shared_ptr<const Polytope> make_polytope(const std::vector<Vec3>& points) {
  if (points.size() < 4) throw Error("convex hull: " + std::to_string(points.size()) + " points, expected at least 4");
  for (std::size_t i = 0; i < points.size(); ++i)
    if (!points[i].allFinite()) throw Error("convex hull: point " + std::to_string(i) + " is not finite");
  const Vec3 extent = principal_extents(points);
  if (!(extent[2] > 1e-9 * extent[0])) throw Error(flat_message(points, extent));

  const std::vector<Polygon> facets = hull_facets(points, extent);
  std::vector<Polygon> faces = merge_flat(points, facets, extent[0]);
  // Faces start at their smallest vertex and are sorted, so that the numbering follows from the points alone.
  for (Polygon& face : faces) std::rotate(face.begin(), std::min_element(face.begin(), face.end()), face.end());
  std::sort(faces.begin(), faces.end());

  // Vertices in the order of the points; those inside a flat face are no longer needed.
  std::vector<int> number(points.size(), -1);
  for (const Polygon& face : faces)
    for (const int v : face) number[v] = 0;
  auto hull = std::make_shared<Polytope>();
  hull->center = Vec3::Zero();
  for (std::size_t v = 0; v < points.size(); ++v)
    if (number[v] == 0) {
      number[v] = static_cast<int>(hull->vertices.size());
      hull->vertices.push_back(points[v]);
    }
  for (const Vec3& p : hull->vertices) hull->center += p / static_cast<double>(hull->vertices.size());

  // Edges of the facets before merging stay as paths, so that climbing over neighbours finds the very top of a face
  // that is flat only nearly.
  hull->neighbors.resize(hull->vertices.size());
  const auto connect = [&](const std::vector<Polygon>& polygons) {
    for (const Polygon& polygon : polygons)
      for (std::size_t k = 0; k < polygon.size(); ++k) {
        const int v = number[polygon[k]], w = number[polygon[(k + 1) % polygon.size()]];
        if (v < 0 || w < 0) continue;
        hull->neighbors[v].push_back(w);
        hull->neighbors[w].push_back(v);
      }
  };
  connect(facets);
  connect(faces);
  for (std::vector<int>& list : hull->neighbors) {
    std::sort(list.begin(), list.end());
    list.erase(std::unique(list.begin(), list.end()), list.end());
  }
  for (Polygon& face : faces) {
    for (int& v : face) v = number[v];
    hull->normals.push_back(polygon_area(hull->vertices, face).normalized());
  }
  hull->faces = std::move(faces);
  return hull;
}

}  // namespace almond
