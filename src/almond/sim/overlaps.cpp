#include "almond/sim/overlaps.hpp"

#include <algorithm>
#include <map>

#include "almond/collision/sdf_pairs.hpp"
#include "almond/sim/held.hpp"

namespace almond {

std::vector<Overlap> find_overlaps(const Model& model, const VecX& q, double depth) {
  Kinematics kin;
  compute_kinematics(model, q, VecX::Zero(model.num_v), kin);
  CollisionWorkspace workspace;
  Contacts contacts;
  detect_contacts(model, kin.X_WG, std::vector<GeomMotion>(model.geoms.size()), {}, workspace, contacts);
  std::map<std::pair<int, int>, Overlap> found;
  for (const ContactPoint& point : contacts.points) {
    if (-point.gap <= depth) continue;
    Overlap& overlap = found[std::minmax(point.body_a, point.body_b)];
    if (-point.gap > overlap.depth)
      overlap = {std::min(point.body_a, point.body_b),
                 std::max(point.body_a, point.body_b),
                 point.geom_a,
                 point.geom_b,
                 -point.gap,
                 !can_open(model, kin, point)};
  }
  // Signed distance shapes may lie in each other without a contact.
  for (int i = 0; i < model.num_geoms(); ++i)
    for (int k = i + 1; k < model.num_geoms(); ++k) {
      const Geom &a = model.geoms[i], &b = model.geoms[k];
      if (!meets_sdf(a, b) || !may_collide(model, i, k)) continue;
      if ((kin.X_WG[k].p - kin.X_WG[i].p).norm() > a.radius + b.radius) continue;
      const double inside = sdf_overlap(a, kin.X_WG[i], b, kin.X_WG[k]);
      if (inside <= depth) continue;
      Overlap& overlap = found[std::minmax(a.body, b.body)];
      if (inside > overlap.depth) overlap = {std::min(a.body, b.body), std::max(a.body, b.body), i, k, inside};
    }
  std::vector<Overlap> overlaps;
  for (const auto& [bodies, overlap] : found) overlaps.push_back(overlap);
  return overlaps;
}

}  // namespace almond
