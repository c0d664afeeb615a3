#pragma once
// A free rigid body turns: Euler's equations and the attitude, solved to rounding for any inertia, speed and time.
//
//   I ω̇ = (I ω) × ω,    Ṫ = ½ T ∘ (0, ω),    T(0) = 1          all in the axes of the body: R(h) = R(0) T(h)
//
// In principal axes both are products of two unknowns, so their Taylor series follow from Cauchy products, term by
// term until the terms are lost to rounding. A long way is gone in pieces of a third of a radian. There is no case of
// its own for symmetric bodies, for thin ones or near the separatrix.

#include "almond/base/pose.hpp"

namespace almond {

struct FreeTurn {
  Vec4 turn = Vec4(1.0, 0.0, 0.0, 0.0);  // T(h), quaternion (w, x, y, z)
  Vec3 momentum = Vec3::Zero();          // T(h)ᵀ I ω: that of the start in the axes of the end [kg m²/s]
  Vec3 omega = Vec3::Zero();             // I⁻¹ momentum [rad/s]
  Vec3 way = Vec3::Zero();               // |way| about way [rad] is the same turn; of all such, the one next to h ω
};

/// From the angular velocity `omega` about the centre, for the time h; both in the axes of `inertia`. Beyond 256 rad a
/// body stops to turn: nobody can tell, and the work stays bounded.
[[nodiscard]] FreeTurn turn_freely(const Mat3& inertia, const Vec3& omega, double h);

}  // namespace almond
