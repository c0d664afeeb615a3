#include "almond/collision/convex.hpp"

#include <algorithm>
#include <cmath>

#include "almond/collision/convex_workspace.hpp"
#include "almond/collision/primitives.hpp"

namespace almond {

ConvexWorkspace::ConvexWorkspace() : impl(std::make_unique<Impl>()) {}
ConvexWorkspace::~ConvexWorkspace() = default;
ConvexWorkspace::ConvexWorkspace(ConvexWorkspace&&) noexcept = default;
ConvexWorkspace& ConvexWorkspace::operator=(ConvexWorkspace&&) noexcept = default;

ConvexDistance compute_distance(const Core& a, const Pose& X_a, const Core& b, const Pose& X_b,
                                EpaWorkspace& workspace) {
  // In the frame of a: the answer does not depend on where in the world the pair lies.
  Difference difference{a, b, Pose{X_a.R.transpose() * X_b.R, X_a.R.transpose() * (X_b.p - X_a.p)}};
  Simplex simplex;
  CoreDistance core;
  if (solve_gjk(difference, simplex, core) == GjkState::kTouching) solve_epa(difference, simplex, workspace, core);

  ConvexDistance result;
  result.converged = core.converged;
  result.gap = core.gap - a.radius - b.radius;
  result.n = X_a.R * core.n;
  // Midway between the core's points, so that both surfaces lie half a gap from it.
  const Vec3 middle = X_a * Vec3(0.5 * (core.p_a + core.p_b)) + 0.5 * (a.radius - b.radius) * result.n;
  result.p_a = middle - 0.5 * result.gap * result.n;
  result.p_b = middle + 0.5 * result.gap * result.n;
  return result;
}

ConvexDistance signed_distance(const Shape& a, const Pose& X_a, const Shape& b, const Pose& X_b,
                               ConvexWorkspace& workspace) {
  return compute_distance(make_core(a), X_a, make_core(b), X_b, workspace.impl->epa);
}

void collide_convex(const Shape& a, const Pose& X_a, const Shape& b, const Pose& X_b, const PairOptions& options,
                    ConvexWorkspace& workspace, Manifold& manifold) {
  const Core core_a = make_core(a), core_b = make_core(b);
  const double reach = core_a.extent + core_a.radius + core_b.extent + core_b.radius;
  if ((X_b.p - X_a.p).squaredNorm() > std::pow(reach + options.margin, 2)) return;
  const ConvexDistance distance = compute_distance(core_a, X_a, core_b, X_b, workspace.impl->epa);
  if (!(distance.gap <= options.margin)) return;

  Facet &facet_a = workspace.impl->facet_a, &facet_b = workspace.impl->facet_b;
  make_facet(a, X_a, distance.n, facet_a);
  make_facet(b, X_b, -distance.n, facet_b);
  const Vec3 p = 0.5 * (distance.p_a + distance.p_b);
  // A corner is the closest point itself, named after the corner.
  if (facet_a.count == 1 || facet_b.count == 1) {
    const std::uint32_t name = facet_a.count > 1   ? name_vertex_b(facet_b.id[0])
                               : facet_b.count > 1 ? name_vertex_a(facet_a.id[0])
                                                   : name_crossing(facet_a.id[0], facet_b.id[0]);
    manifold.points.push_back({p, distance.n, distance.gap, name});
    return;
  }
  const int first = static_cast<int>(manifold.points.size());
  add_patch(facet_a, facet_b, distance.n, options, manifold);
  double least = kInfinity;
  for (std::size_t i = first; i < manifold.points.size(); ++i) least = std::min(least, manifold.points[i].gap);
  // Facets are polygons and may stand off from a curved rim or miss each other: the closest points are never left out.
  if (!(least <= distance.gap + 1e-9)) {
    manifold.points.push_back({p, distance.n, distance.gap, kClosestFeature});
    reduce_points(first, distance.n, options.max_points, manifold);
  }
}

}  // namespace almond
