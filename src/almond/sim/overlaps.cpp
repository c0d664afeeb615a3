#include "almond/sim/overlaps.hpp"

#include <algorithm>
#include <map>

#include "almond/dynamics/kinematics.hpp"

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
      overlap = {std::min(point.body_a, point.body_b), std::max(point.body_a, point.body_b), point.geom_a, point.geom_b,
                 -point.gap};
  }
  std::vector<Overlap> overlaps;
  for (const auto& [bodies, overlap] : found) overlaps.push_back(overlap);
  return overlaps;
}

}  // namespace almond
