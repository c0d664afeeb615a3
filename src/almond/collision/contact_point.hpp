#pragma once
// What collision detection hands on: points where two shapes touch or are about to.

#include <compare>
#include <cstdint>
#include <vector>

#include "almond/base/types.hpp"

namespace almond {

/// One point of contact. The normal points from geom a to geom b; moving b along it opens the gap.
struct ContactPoint {
  int geom_a = -1, geom_b = -1;  // a < b
  int body_a = -1, body_b = -1;
  Vec3 p = Vec3::Zero();   // world, midway between the two surfaces [m]
  Vec3 n = Vec3::UnitZ();  // unit, world
  double gap = 0.0;        // [m], < 0: overlap
  double mu = 0.0, restitution = 0.0;
  std::uint32_t feature = 0;  // with the geoms, names the contact over steps: the same corner on the same face, ...
  Vec3 apart = Vec3::Zero();  // from the place on a to that on b, where these are to meet from the side, not along n
  [[nodiscard]] Vec3 on_a() const { return p - 0.5 * apart; }
  [[nodiscard]] Vec3 on_b() const { return p + 0.5 * apart; }
};

/// What names a contact over steps.
struct ContactName {
  int geom_a, geom_b;
  std::uint32_t feature;
  auto operator<=>(const ContactName&) const = default;
};

struct Contacts {
  std::vector<ContactName> carried;  // in: what bore load in the last step, sorted; reduction keeps it where it can
  std::vector<ContactPoint> points;  // sorted by (geom_a, geom_b, feature), no two equal
  std::vector<ContactPoint> spare;   // points left out where a flat contact has more than its share
  int pairs_tested = 0;              // pairs that passed the broad phase
  int suspicious = 0;                // depths that exceed the shapes' size and were cut
};

}  // namespace almond
