#pragma once
// Distance of two convex cores that do not overlap, by Gilbert, Johnson and Keerthi.
//
//   v      point of a simplex of D = A - B nearest to the origin; every step adds w = s_D(-v) to the simplex and
//   reduces it stop   |v|² - vᵀw is the duality gap: |v| exceeds the distance by at most (|v|² - vᵀw) / |v|
//
// v is always a convex combination of points of D, so rounding can make it too long but never too short.

#include "almond/collision/support.hpp"

namespace almond {

/// Reduces the simplex to the face nearest to the origin and returns that point. With four points left the origin lies
/// inside.
Vec3 reduce_simplex(Simplex& simplex);

enum class GjkState : std::uint8_t { kApart, kTouching };

/// kApart: `result` holds the answer. kTouching: the cores overlap or are closer than a normal can be told from; the
/// simplex is where EPA begins.
GjkState solve_gjk(Difference& difference, Simplex& simplex, CoreDistance& result);

}  // namespace almond
