#pragma once
// Shapes of revolution: a profile in the half plane (r, z), r >= 0, turned about z.
//
//   φ(x) = φ2(√(x² + y²), z)                                                                       (Appendix B)
//   dish    φ2(p) = min(dist(p, OA), dist(p, AB), ...) - d: everything within d of a path            (45)
//   solid   φ2(p) = ± distance to a closed polygon

#include "almond/model/sdf.hpp"

namespace almond {

/// A point of a path, and how the line to the next one bends: bulge = tan(angle / 4) of the arc, > 0 to the right of
/// the chord, 0 a straight line, ±1 half a circle.
struct PathPoint {
  double r = 0.0, z = 0.0;  // [m]
  double bulge = 0.0;
};

/// All points within `padding` of a path turned about z. A path that begins at r = 0 makes a vessel or a plate, one
/// that does not a ring or tube. Throws Error for fewer than two points, r < 0, a padding that is not positive.
[[nodiscard]] SdfPtr make_dish(std::vector<PathPoint> path, double padding);

/// The paper's module: path O-A-B from the origin, padding d.
[[nodiscard]] SdfPtr make_dish(const Vec2& a, const Vec2& b, double padding);

/// The solid whose profile is a polygon, counterclockwise in (r, z). Edges along the axis are no surface.
[[nodiscard]] SdfPtr make_revolved_solid(std::vector<Vec2> polygon);

// Tableware in a few numbers; standing on z = 0, open at the top [m].
[[nodiscard]] SdfPtr make_bowl(double foot_radius, double rim_radius, double height, double wall);
[[nodiscard]] SdfPtr make_plate(double foot_radius, double rim_radius, double height, double wall);
[[nodiscard]] SdfPtr make_pot(double radius, double height, double wall);
[[nodiscard]] SdfPtr make_cup(double foot_radius, double rim_radius, double height, double wall);
[[nodiscard]] SdfPtr make_bottle(double radius, double neck_radius, double shoulder, double height, double wall);
/// A bowl whose inside is part of a sphere of radius `inner_radius`, `height` deep; its lowest inner point at the
/// origin.
[[nodiscard]] SdfPtr make_round_bowl(double inner_radius, double height, double wall);

}  // namespace almond
