#pragma once
// The contacts of one pair of shapes, before friction and names of geoms are known.

#include <Eigen/Geometry>
#include <algorithm>
#include <cstdint>
#include <span>
#include <vector>

#include "almond/base/pose.hpp"
#include "almond/collision/contact_point.hpp"
#include "almond/model/shape.hpp"

namespace almond {

struct ManifoldPoint {
  Vec3 p;                 // world, midway between the surfaces [m]
  Vec3 n;                 // unit, world, from a to b
  double gap;             // along n [m]
  std::uint32_t feature;  // names the point within the pair, the same over steps while the same features touch
};

struct Manifold {
  std::vector<ManifoldPoint> points;  // capacity is kept from pair to pair
  std::vector<ManifoldPoint> spare;   // points left out by reduction
  int suspicious = 0;                 // depths cut because they exceed the size of the shapes

  void clear() {
    points.clear();
    spare.clear();
    suspicious = 0;
  }
};

/// How points of b move past a until the next look, as far as that is known: by `shift` and the turns about the
/// origins.
struct PairMotion {
  Vec3 shift = Vec3::Zero();                              // [m]
  Vec3 turn_a = Vec3::Zero(), turn_b = Vec3::Zero();      // [rad]
  Vec3 center_a = Vec3::Zero(), center_b = Vec3::Zero();  // world [m]
  double unknown = kInfinity;  // any point may come nearer by this [m]; infinite: nothing is known

  /// The gap that can close at p, normal n from a to b.
  [[nodiscard]] double closing(const Vec3& p, const Vec3& n) const {
    const Vec3 way = shift + turn_b.cross(p - center_b) - turn_a.cross(p - center_a);
    return unknown + std::max(0.0, -n.dot(way));
  }
};

struct PairOptions {
  double margin = 0.0;  // report points with gap <= margin [m]
  int max_points = 8;   // of one flat patch
  int max_cloud = 120;  // of a pair of signed distance shapes
  PairMotion motion = {};
  std::span<const ContactName> carried = {};  // of the pair, sorted: points that reduction keeps first
};

}  // namespace almond
